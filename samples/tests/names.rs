//! Names for addresses as a user meets them: `symbolize` on a log and on text,
//! backtraces of `view`, links to source lines, folded stacks.

use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that logged, and its log.
struct Case {
    folder: tempfile::TempDir,
    log: PathBuf,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let built = &Workshop::open().library;
        let compile = |compiler: &str, source: &str, name: &str, flags: &[&str]| {
            let image = folder.path().join(name);
            let mut command = Command::new(compiler);
            command.args(["-O1", "-g"]).args(flags);
            command.arg(root.join("samples/tests/sites").join(source));
            command.arg("-o").arg(&image).arg("-I");
            command
                .arg(root.join("logger/capi/include"))
                .arg("-L")
                .arg(built);
            command.args(["-llogdef", "-ldl"]);
            run(command.arg(format!("-Wl,-rpath,{}", built.display())));
            image
        };
        let host = compile("cc", "host.c", "host", &["-fPIE", "-pie"]);
        let plugin = compile("c++", "plugin.cc", "plugin.so", &["-fPIC", "-shared"]);
        let log = folder.path().join("host.log");
        run(Command::new(host).arg(&log).arg(plugin));
        Case { folder, log }
    }

    /// What the command prints; `{}` stands for the log.
    fn logdef(&self, words: &str) -> String {
        let mut command = Workshop::open().command("logdef");
        for word in words.split(' ') {
            command.arg(word.replace("{}", self.log.to_str().unwrap()));
        }
        let output = run(command.stdin(File::open(&self.log).unwrap()));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Lines without the stack frame of the logger, which only is there where it is not
/// optimized.
fn frames(shown: &str) -> Vec<&str> {
    let frames = shown.lines().filter(|line| line.starts_with("    #"));
    frames
        .filter(|line| !line.contains("logdef_emit"))
        .collect()
}

#[test]
fn a_log_is_symbolized_from_a_file_and_from_standard_input() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    let shown = case.logdef("symbolize {}");
    assert_eq!(case.logdef("symbolize"), shown);
    let records: Vec<_> = shown.lines().filter(|line| line.starts_with('2')).collect();
    // Those with backtraces: five errors and one that asks for it.
    assert_eq!(records.len(), 6, "{shown}");
    assert!(!shown.contains("INFO"), "{shown}");
    for wanted in [
        "complain at ",
        "host.c:14 (inlined)",
        "report at ",
        "int depot::shelve<int>(int, void (*)(int)) at ",
        "plugin.cc:15 in plugin.so+0x",
        "compare at ",
        "qsort",
        "main at ",
    ] {
        assert!(shown.contains(wanted), "no {wanted}\n{shown}");
    }
}

#[test]
fn backtraces_show_in_full_in_short_or_not_at_all() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    let full = case.logdef("view {} --backtrace full --level error");
    let short = case.logdef("view {} --backtrace short --level error");
    let none = case.logdef("view {} --backtrace none --level error");
    assert!(frames(&none).is_empty() && none.lines().count() == 5);
    // Below main is the C library.
    assert!(full.contains("__libc_start_main") && !short.contains("__libc_start_main"));
    assert!(frames(&short).iter().all(|line| !line.contains(" in ")));
    let last = frames(&short).last().unwrap().to_owned();
    assert!(last.contains("main at "), "{last}");
}

#[test]
fn source_lines_are_links_on_request() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    let plain = case.logdef("view {} --level error");
    assert!(!plain.contains('\x1b'));
    let linked = case.logdef("view {} --level error --hyperlinks");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let source = root.join("samples/tests/sites/host.c");
    let source = source.to_str().unwrap();
    let link = format!(
        "\x1b]8;;file://{}{}#14\x1b\\{source}:14\x1b]8;;\x1b\\",
        host.trim(),
        source.replace(' ', "%20")
    );
    // Before the message, and in the backtrace.
    assert!(
        linked.contains(&format!("{link}: 4 is too many")),
        "{linked}"
    );
    assert!(
        linked.contains(&format!("complain at {link} (inlined)")),
        "{linked}"
    );
    // Without the links it is the same.
    let mut rest = linked.as_str();
    let mut stripped = String::new();
    while let Some((before, behind)) = rest.split_once("\x1b]8;;") {
        stripped.push_str(before);
        rest = behind.split_once("\x1b\\").unwrap().1;
    }
    assert_eq!(stripped + rest, plain);
}

#[test]
fn provenance_is_shown_where_the_log_is_not_the_source() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    assert!(!case.logdef("view {} --provenance").contains("rebuilt"));
    let log = std::fs::read(&case.log).unwrap();
    let mut bare = Vec::new();
    for frame in logdef_samples::frames::scan(&log) {
        if frame.is_data() {
            bare.extend_from_slice(&log[frame.range]);
        }
    }
    std::fs::write(&case.log, bare).unwrap();
    let dir = case.folder.path().to_str().unwrap();
    let rebuilt = case.logdef(&format!("view {{}} --provenance --image-dir {dir}"));
    let mark = "(format rebuilt) (file rebuilt)";
    assert!(
        rebuilt.contains(&format!("done with 0.50 {mark}")),
        "{rebuilt}"
    );
    let missing = case.logdef("view {} --provenance");
    let mark = "(format missing) (file missing)";
    assert!(missing.contains(mark), "{missing}");
}

#[test]
fn folded_stacks_count_by_call_site_and_level() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    let folded = case.logdef("export --to folded {} -o -");
    let without = folded.replace("logdef_emit;", "");
    let line = |part: &str| {
        let mut lines = without.lines().filter(|line| line.contains(part));
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("no {part}\n{folded}"));
        assert_eq!(lines.next(), None, "{part}\n{folded}");
        line.to_owned()
    };
    // Without a backtrace the site alone, its level first.
    assert!(line("host.c:19 8").starts_with("INFO "));
    assert!(line("WARN ").ends_with("host.c:49 1"));
    // Outermost first, inlined functions as if they were called.
    let error = line("report;complain;ERROR ");
    assert!(
        error.starts_with("_start;") && error.ends_with("host.c:14 2"),
        "{error}"
    );
    assert!(error.contains(";main;work;"), "{error}");
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        assert!(count.parse::<u64>().unwrap() > 0 && !stack.ends_with(';'));
    }
}

#[test]
fn text_with_addresses_is_named_by_mappings_bases_and_paths() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../symbolizer/tests/programs/crash.c");
    let crash = folder.path().join("crash");
    run(Command::new("gcc")
        .args(["-O0", "-g", "-pie", "-fPIE"])
        .arg(source)
        .arg("-o")
        .arg(&crash));
    let printed = |args: &[&str]| {
        let output = run(Command::new(&crash).args(args));
        String::from_utf8(output.stdout).unwrap()
    };
    let symbolize = |text: &str, args: &[&str]| {
        let path = folder.path().join("text");
        std::fs::write(&path, text).unwrap();
        let output = run(Workshop::open()
            .command("logdef")
            .arg("symbolize")
            .args(args)
            .arg(path));
        String::from_utf8(output.stdout).unwrap()
    };
    let wanted = [
        " <innermost ",
        "crash.c:8:",
        " <outer ",
        " <main ",
        "crash.c:20:",
    ];
    let assert_named = |named: &str| {
        for wanted in wanted {
            assert!(named.contains(wanted), "no {wanted} in {named}");
        }
    };

    // glibc's own lines name the image.
    let lines = printed(&[]);
    assert_named(&symbolize(&lines, &[]));
    let nowhere = symbolize(&lines, &["--no-logged-paths"]);
    assert_eq!(nowhere, lines);
    let dir = folder.path().to_str().unwrap();
    let elsewhere = lines.replace(crash.to_str().unwrap(), "/gone/crash");
    assert_named(&symbolize(
        &elsewhere,
        &["--image-dir", dir, "--no-logged-paths"],
    ));

    // For raw addresses the place of the image has to be given.
    let both = printed(&["maps"]);
    let (raw, maps) = both.split_once("\n\n").unwrap();
    assert_eq!(symbolize(raw, &[]).trim(), raw.trim());
    let list = folder.path().join("maps");
    std::fs::write(&list, maps).unwrap();
    assert_named(&symbolize(raw, &["--maps", list.to_str().unwrap()]));
    let ours = maps.lines().find(|line| line.ends_with("/crash")).unwrap();
    let base = ours.split('-').next().unwrap();
    let image = format!("{}@0x{base}", crash.display());
    assert_named(&symbolize(raw, &["--image", &image]));

    // A process that runs: the address in the text is in none of its images.
    let pid = std::process::id().to_string();
    assert_eq!(
        symbolize("at 0x10, done", &["--pid", &pid]),
        "at 0x10, done\n"
    );
}
