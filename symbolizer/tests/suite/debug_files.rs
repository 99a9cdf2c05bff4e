//! Debug information that is somewhere else: every arrangement gives the names that the unstripped
//! program gives, and a file that does not belong is refused with a line that says so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, chain, compile, have, run, symbol};
use logdef_symbolizer::{AddressKind, Image, Loaded, Locator, Options, Svma, TextFilter};

/// A program with full debug information, and what every arrangement of it must answer.
struct Case {
    dir: tempfile::TempDir,
    answers: Vec<(Svma, Vec<String>)>,
}

impl Case {
    fn new(flags: &str) -> Case {
        Case::build("gcc", flags)
    }

    fn build(compiler: &str, flags: &str) -> Case {
        let dir = tempfile::tempdir().unwrap();
        let program = compile(dir.path(), compiler, flags, "chain.c", "program");
        let answers = answers(&program, &support::open(&program));
        assert!(
            answers
                .iter()
                .any(|(_, chain)| chain[0] == "innermost chain.c:9"),
            "{answers:?}"
        );
        Case { dir, answers }
    }

    fn path(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn run(&self, tool: &str, args: &[&str]) {
        run(self.dir.path(), tool, args);
    }

    fn locator(&self, debug_dir: &str) -> Locator {
        Locator::new(Options {
            debug_dirs: vec![self.path(debug_dir)],
            ..Options::default()
        })
    }

    fn assert_names(&self, locator: &Locator, how: &str) {
        let image = locator.open(&self.path("program")).unwrap();
        for (address, expected) in &self.answers {
            assert_eq!(&chain(&image, *address), expected, "{how}");
        }
        assert_eq!(image.complaints(), [""; 0], "{how}");
    }

    /// Takes the debug information out of `program` and puts it into `debug`.
    fn split_off(&self, debug: &str) {
        self.path(debug);
        self.run("objcopy", &["--only-keep-debug", "program", debug]);
        self.run("strip", &["program"]);
    }

    fn build_id(&self) -> String {
        let image = support::open(&self.path("program"));
        let id = image.build_id().unwrap();
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A program whose debug information is in a `.dwo` file beside it.
    fn new_split(compiler: &str, debug: &str) -> Case {
        Case::build(compiler, &format!("-O1 {debug} -gsplit-dwarf"))
    }

    fn dwo(&self) -> PathBuf {
        // Compilers differ in the name.
        let names = ["program-chain.dwo", "chain.dwo"];
        let mut paths = names.map(|name| self.path(name)).into_iter();
        paths.find(|path| path.exists()).unwrap()
    }
}

fn answers(program: &Path, image: &Image) -> Vec<(Svma, Vec<String>)> {
    let mut answers = Vec::new();
    for function in ["outer", "fail", "main"] {
        let (start, size) = symbol(program, function);
        for offset in 0..size {
            let address = Svma(start.0 + offset);
            answers.push((address, chain(image, address)));
        }
    }
    answers
}

#[test]
fn a_debug_link_is_followed_to_every_customary_place() {
    for debug in [
        "program.debug",
        ".debug/program.debug",
        "lib/debug/DIR/program.debug",
        "lib/debug/program.debug",
    ] {
        let case = Case::new("-O1 -g -Wl,--build-id=none");
        let dir = case.dir.path().canonicalize().unwrap();
        let debug = debug.replace("/DIR", dir.to_str().unwrap());
        case.split_off(&debug);
        case.run(
            "objcopy",
            &[&format!("--add-gnu-debuglink={debug}"), "program"],
        );
        case.assert_names(&case.locator("lib/debug"), &debug);
    }
}

#[test]
fn a_build_id_directory_needs_no_debug_link() {
    let case = Case::new("-O1 -g");
    let id = case.build_id();
    case.split_off(&format!(
        "lib/debug/.build-id/{}/{}.debug",
        &id[..2],
        &id[2..]
    ));
    case.assert_names(&case.locator("lib/debug"), "build ID");
}

#[test]
fn a_debug_file_that_does_not_belong_is_refused_with_the_reason() {
    let case = Case::new("-O1 -g");
    let id = case.build_id();
    case.split_off("program.debug");
    case.run("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    // The right name, another build.
    compile(case.dir.path(), "gcc", "-g -O2", "chain.c", "other");
    let place = case.path(&format!(
        "lib/debug/.build-id/{}/{}.debug",
        &id[..2],
        &id[2..]
    ));
    fs::copy(case.path("other"), &place).unwrap();
    // The right file, one bit flipped.
    let mut bytes = fs::read(case.path("program.debug")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(case.path("program.debug"), bytes).unwrap();

    let image = case
        .locator("lib/debug")
        .open(&case.path("program"))
        .unwrap();
    assert_eq!(chain(&image, case.answers[0].0), [""; 0]);
    let complaints = image.complaints();
    assert_eq!(complaints.len(), 2, "{complaints:?}");
    assert!(complaints[0].contains("has build ID"), "{complaints:?}");
    assert!(complaints[1].contains("has CRC"), "{complaints:?}");
}

#[test]
fn a_debug_file_that_is_named_and_nowhere_is_said_to_be() {
    let case = Case::new("-O1 -g");
    case.split_off("program.debug");
    case.run("objcopy", &["--add-gnu-debuglink=program.debug", "program"]);
    fs::remove_file(case.path("program.debug")).unwrap();
    let program = case.path("program");
    let missing = format!(
        "{}: its debug file program.debug was not found",
        program.display()
    );
    let image = case.locator("lib/debug").open(&program).unwrap();
    assert_eq!(image.complaints(), [""; 0]);
    chain(&image, case.answers[0].0);
    assert_eq!(image.complaints(), [missing.as_str()]);
    // Naming addresses in text uses the same look-up.
    let image = case.locator("lib/debug").open(&program).unwrap();
    let loaded = Loaded {
        image: image.into(),
        load_bias: 0,
    };
    let mut filter = TextFilter::new(vec![loaded], AddressKind::Exact);
    filter.line(&format!("0x{:x}", case.answers[0].0.0));
    assert_eq!(filter.complaints(), [missing.as_str()]);
    // A program that was never promised one has nothing missing.
    case.run("objcopy", &["--remove-section=.gnu_debuglink", "program"]);
    let image = case.locator("lib/debug").open(&program).unwrap();
    chain(&image, case.answers[0].0);
    assert_eq!(image.complaints(), [""; 0]);
}

#[test]
fn sections_may_be_compressed_with_zlib_or_zstd() {
    for format in ["zlib", "zlib-gnu", "zstd"] {
        let case = Case::new("-O1 -g");
        let compress = format!("--compress-debug-sections={format}");
        case.run("objcopy", &[&compress, "program"]);
        case.assert_names(&Locator::new(Options::default()), format);
    }
}

#[test]
fn split_units_are_found_beside_the_image_or_where_they_were_compiled() {
    for debug in ["-gdwarf-4", "-gdwarf-5"] {
        // As if built elsewhere: the recorded directory is gone.
        let case = Case::new_split("gcc", debug);
        case.assert_names(&Locator::new(Options::default()), debug);

        let dwo = case.dwo();
        let name = dwo.file_name().unwrap();
        fs::rename(&dwo, case.path("lib/debug/unit.dwo")).unwrap();
        let image = support::open(&case.path("program"));
        let lines_only: Vec<_> = chain(&image, case.answers[0].0);
        assert_eq!(lines_only, ["outer chain.c:17"]);
        assert!(image.complaints()[0].contains("is missing"));

        fs::rename(
            case.path("lib/debug/unit.dwo"),
            case.path("lib/debug").join(name),
        )
        .unwrap();
        case.assert_names(&case.locator("lib/debug"), debug);

        // The recorded path is taken only from those who are trusted.
        let trusting = Locator::new(Options {
            use_logged_paths: true,
            ..Options::default()
        });
        let moved = case.path("away/program");
        fs::rename(case.path("program"), &moved).unwrap();
        fs::rename(case.path("lib/debug").join(name), &dwo).unwrap();
        let (address, _) = *case
            .answers
            .iter()
            .find(|(_, chain)| chain.len() == 3)
            .unwrap();
        let image = trusting.open(&moved).unwrap();
        assert_eq!(chain(&image, address).len(), 3);
        assert_eq!(image.complaints(), [""; 0]);
        assert_eq!(chain(&support::open(&moved), address).len(), 1);
    }
}

#[test]
fn a_package_of_split_units_stands_in_for_them() {
    if !have("llvm-dwp") {
        return;
    }
    // llvm-dwp 14 does not end on what gcc writes for DWARF 5.
    for (compiler, debug) in [("gcc", "-gdwarf-4"), ("clang", "-gdwarf-5")] {
        if !have(compiler) {
            continue;
        }
        let case = Case::new_split(compiler, debug);
        let dwo = case.dwo();
        let args = ["60", "llvm-dwp", dwo.to_str().unwrap(), "-o", "program.dwp"];
        case.run("timeout", &args);
        fs::remove_file(dwo).unwrap();
        case.assert_names(&Locator::new(Options::default()), debug);
    }
}

#[test]
fn a_symbol_table_packed_into_a_stripped_image_names_static_functions() {
    if !have("xz") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = compile(dir.path(), "gcc", "-O1", "chain.c", "program");
    let (fail, size) = symbol(&path, "fail");
    let end = Svma(fail.0 + size - 1);
    let keep = ["-S", "--keep-symbol=fail", "program", "mini"];
    run(dir.path(), "objcopy", &keep);
    run(dir.path(), "strip", &["program"]);
    assert_eq!(chain(&support::open(&path), end), [""; 0]);
    let original = fs::read(dir.path().join("mini")).unwrap();
    run(dir.path(), "xz", &["mini"]);
    let add = ["--add-section=.gnu_debugdata=mini.xz", "program"];
    run(dir.path(), "objcopy", &add);
    assert_eq!(chain(&support::open(&path), end), ["fail ?:0"]);

    // Limits hold here too.
    let mut options = Options::default();
    options.limits.unpacked_size = original.len() as u64;
    let image = Locator::new(options).open(&path).unwrap();
    assert_eq!(chain(&image, end), [""; 0]);
}

#[test]
fn what_several_debug_files_share_is_found() {
    if !have("dwz") {
        // The test below does without.
        return;
    }
    let case = Case::new("-O1 -g");
    fs::copy(case.path("program"), case.path("twin")).unwrap();
    case.run("dwz", &["-m", "common.debug", "program", "twin"]);
    case.assert_names(&Locator::new(Options::default()), "beside");

    fs::rename(
        case.path("common.debug"),
        case.path("lib/debug/.dwz/common.debug"),
    )
    .unwrap();
    case.assert_names(&case.locator("lib/debug"), "in .dwz");

    compile(case.dir.path(), "gcc", "-g", "chain.c", "common.debug");
    let image = support::open(&case.path("program"));
    chain(&image, case.answers[0].0);
    assert!(image.complaints()[0].contains("has build ID"));
}

#[test]
fn a_supplementary_file_is_linked_in_gnus_way_and_in_that_of_dwarf_5() {
    for standard in ["", " -DSTANDARD"] {
        let dir = tempfile::tempdir().unwrap();
        let build = |flags: &str, name: &str| {
            let flags = format!("{flags}{standard}");
            compile(dir.path(), "gcc", &flags, "shared_names.S", name)
        };
        let program = build("-no-pie -nostartfiles -Wl,-e,main", "program");
        let (main, _) = symbol(&program, "main");
        let middle = Svma(main.0 + 1);
        let locator = Locator::new(Options {
            debug_dirs: vec![dir.path().join("lib/debug")],
            ..Options::default()
        });
        let ask = || {
            let image = locator.open(&program).unwrap();
            (chain(&image, middle), image.complaints())
        };
        // The symbol table still has a name.
        let (names, _) = ask();
        assert_eq!(names, ["main ?:0"]);

        let common = build("-c -DCOMMON", "common.debug");
        let named = (vec!["name_of_the_common_file ?:0".to_owned()], vec![]);
        assert_eq!(ask(), named, "beside it{standard}");
        let elsewhere = dir.path().join("lib/debug/.dwz/common.debug");
        fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
        fs::rename(&common, &elsewhere).unwrap();
        assert_eq!(ask(), named, "in .dwz{standard}");

        // The right name, another file: one byte of its ID differs.
        let mut bytes = fs::read(&elsewhere).unwrap();
        let id = [0xde, 0xad, 0xbe, 0xef];
        let at = bytes.windows(4).position(|window| window == id).unwrap();
        bytes[at] ^= 1;
        fs::write(&elsewhere, bytes).unwrap();
        let (names, complaints) = ask();
        assert_eq!(names, ["main ?:0"]);
        assert!(
            complaints[0].contains("common.debug has build ID dfadbeef"),
            "{complaints:?}"
        );
    }
}
