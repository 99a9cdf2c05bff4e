//! Logs that have lost all logdefs and preambles: with the images at hand `logdef
//! view` shows what it shows of the undamaged log, backtraces included.

use logdef_samples::copy::copy_program;
use logdef_samples::frames;
use logdef_samples::workshop::{Workshop, has_cpp, run};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that do not log.
const SILENT: [&str; 2] = ["libc.so", "liblogdef.so"];
const DATA: u8 = 127;
const MODULE: u8 = 4;

/// A folder with programs and logs, and one with what the reader is given.
struct Case {
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("images")).unwrap();
        Case { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a source of `sites` into `images`.
    fn compile(&self, source: &str, name: &str, flags: &str) -> PathBuf {
        let compiler = if source.ends_with(".cc") { "c++" } else { "cc" };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let built = &Workshop::open().library;
        let image = self.path("images").join(name);
        let mut command = Command::new(compiler);
        command.current_dir(root.join("samples/tests/sites"));
        command
            .args(flags.split(' '))
            .arg(source)
            .arg("-o")
            .arg(&image);
        command.arg("-I").arg(root.join("logger/capi/include"));
        command.arg("-L").arg(built).args(["-llogdef", "-ldl"]);
        command.arg(format!("-Wl,-rpath,{}", built.display()));
        run(&mut command);
        image
    }

    /// The log of two runs, joined.
    fn log(&self, program: &Path, args: &[&OsStr]) -> Vec<u8> {
        let mut joined = Vec::new();
        for turn in ["first.log", "second.log"] {
            let path = self.path(turn);
            run(Command::new(program).arg(&path).args(args));
            joined.extend(std::fs::read(path).unwrap());
        }
        joined
    }

    /// What `view` shows of a log; short backtraces with nothing but the folder of images to
    /// look in, full ones also with the system's libraries.
    /// Threads go by their numbers: names stand in the log alone.
    fn view(&self, log: &[u8], backtrace: &str) -> String {
        let path = self.path("shown.log");
        std::fs::write(&path, log).unwrap();
        let images = self.path("images");
        let shown = run(Workshop::open()
            .command("logdef")
            .args(["view", "--backtrace", backtrace])
            .args((backtrace == "short").then_some("--no-logged-paths"))
            .arg("--image-dir")
            .arg(&images)
            .arg("--debug-dir")
            .arg(&images)
            .arg(&path));
        let shown = String::from_utf8(shown.stdout).unwrap();
        let nameless = shown.lines().map(|line| match line.split_once(" [") {
            Some((before, rest)) if !line.starts_with(' ') => {
                let number = rest.find('/').unwrap();
                format!("{before} [{}", &rest[number..])
            }
            _ => line.to_owned(),
        });
        nameless.collect::<Vec<_>>().join("\n")
    }

    /// Fails unless the log reads the same after all frames are destroyed but those
    /// of records with the tags to keep.
    fn assert_rebuilt(&self, log: &[u8], keep: impl Fn(u8) -> bool, backtrace: &str) -> String {
        let whole = self.view(log, backtrace);
        let mut damaged = log.to_vec();
        let mut destroyed = 0;
        for frame in frames::scan(log) {
            if !keep(frame.tag) {
                damaged[frame.range].fill(0xaa);
                destroyed += 1;
            }
        }
        assert!(destroyed > 10, "{destroyed}");
        // What stands between so much damage is marked, and nothing else is changed by it.
        let rebuilt = self
            .view(&damaged, backtrace)
            .replace(": [recovered] ", ": ");
        // Nothing in the records says where libraries are that do not log themselves. (The
        // logger is in backtraces only where it is not optimized.) Their stack frames are
        // addresses then, or have a name, and lines where debug files are installed.
        let told = |text: &str| {
            let lines = text.lines().filter(|line| !is_of_a_silent_library(line));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(told(&rebuilt), told(&whole));
        whole
    }
}

/// Whether a line shows a stack frame of a library that does not log, or an address alone.
fn is_of_a_silent_library(line: &str) -> bool {
    let module = line.rsplit_once(" in ").map_or("", |(_, module)| module);
    let is_frame = line.starts_with("    ");
    let is_address = line.starts_with("    #") && line.contains(" 0x");
    let has_source_of_the_system = line.contains(" at ./");
    is_frame
        && (is_address
            || has_source_of_the_system
            || SILENT.iter().any(|name| module.starts_with(name)))
}

/// Everything is gone but the records themselves.
fn data_only(tag: u8) -> bool {
    tag == DATA
}

/// Moves the debug information of an image to another file.
fn split_off(image: &Path, debug: &Path, link: bool) {
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(image)
        .arg(debug));
    run(Command::new("strip").arg(image));
    if link {
        let mut objcopy = Command::new("objcopy");
        run(objcopy
            .arg(format!("--add-gnu-debuglink={}", debug.display()))
            .arg(image));
    }
}

fn build_id_path(image: &Path) -> String {
    let notes = run(Command::new("readelf").arg("-n").arg(image));
    let notes = String::from_utf8(notes.stdout).unwrap();
    let id = notes.split("Build ID: ").nth(1).unwrap();
    let id = id.split_whitespace().next().unwrap();
    format!(".build-id/{}/{}.debug", &id[..2], &id[2..])
}

#[test]
fn c_and_cpp_with_a_loaded_library_read_the_same_from_their_records_alone() {
    if !has_cpp() {
        return;
    }
    for (how, flags) in [
        ("position-independent", "-O2 -g -fPIE -pie"),
        ("fixed", "-O1 -g -fno-pic -no-pie"),
        ("plain", "-O0 -g -fPIE -pie"),
        ("with a debug link", "-O2 -g -fPIE -pie"),
        ("with a build ID directory", "-O2 -g -fPIE -pie"),
        ("fixed with a debug link", "-O2 -g -fno-pic -no-pie"),
    ] {
        let case = Case::new();
        let host = case.compile("host.c", "host", flags);
        let plugin = case.compile("plugin.cc", "plugin.so", "-O2 -g -fPIC -shared");
        let images = case.path("images");
        for image in [&host, &plugin] {
            let name = image.file_name().unwrap().to_str().unwrap();
            if how.ends_with("debug link") {
                split_off(image, &images.join(format!("{name}.debug")), true);
            } else if how.ends_with("directory") {
                split_off(image, &images.join(build_id_path(image)), false);
            }
        }
        let log = case.log(&host, &[plugin.as_os_str()]);
        let whole = case.assert_rebuilt(&log, data_only, "short");
        // The undamaged log has what it should have.
        for wanted in [
            "host.c:47: turn 3 gives",
            "plugin.cc:15: 1.500000 does not fit",
            "complain at ",
            "int depot::shelve<double>(double, void (*)(int))",
            "main at ",
        ] {
            assert!(whole.contains(wanted), "{how}: no {wanted}\n{whole}");
        }
        assert_eq!(whole.matches(" done with 0.50").count(), 2, "{how}");
    }
}

#[test]
fn rust_reads_the_same_from_its_records_alone() {
    let case = Case::new();
    let orders = case.path("images").join("orders");
    copy_program(&Workshop::open().built.join("orders"), &orders);
    let args = [OsStr::new("0"), OsStr::new("40")];
    let log = case.log(&orders, &args);
    let whole = case.assert_rebuilt(&log, data_only, "short");
    assert!(whole.contains("asks for no tea at all"), "{whole}");
    // Inlined, it has its plain name where a build keeps line tables only.
    assert!(whole.contains("pack at "), "{whole}");
}

/// Modules say where everything was, silent libraries too.
#[test]
fn with_module_records_every_backtrace_reads_the_same_in_full() {
    if !has_cpp() {
        return;
    }
    let case = Case::new();
    let host = case.compile("host.c", "host", "-O2 -g -fPIE -pie");
    let plugin = case.compile("plugin.cc", "plugin.so", "-O2 -g -fPIC -shared");
    let log = case.log(&host, &[plugin.as_os_str()]);
    let records = frames::scan(&log);
    assert!(records.iter().any(|frame| frame.tag == MODULE));
    let whole = case.assert_rebuilt(&log, |tag| [DATA, MODULE].contains(&tag), "full");
    assert!(whole.contains("qsort"), "{whole}");
}
