//! What `logdef sites` lists: every log call of a program or library, whatever
//! compiled and linked it, stripped or not. The sources say behind each call
//! how its line must read.

use logdef_samples::skip::has;
use logdef_samples::workshop::{Workshop, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the sources. Compilers run in it, so that the images name
/// files as they are named there.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sites")
}

/// Lines of a listing.
#[derive(Default)]
struct Expected {
    /// Those that must be there.
    all: BTreeSet<String>,
    /// Those that may.
    more: BTreeSet<String>,
}

impl Expected {
    /// What the comments in some sources say.
    fn of(names: &[&str]) -> Expected {
        let mut expected = Expected::default();
        for name in names {
            let source = std::fs::read_to_string(sources().join(name)).unwrap();
            for (number, line) in source.lines().enumerate() {
                if !line.contains("LOGDEF")
                    && !line.contains("logdef!")
                    && !line.contains("logdef_")
                {
                    continue;
                }
                for comment in line.split(" // ").skip(1) {
                    let place = format!("{name}:{}: ", number + 1);
                    match comment.trim_end().strip_prefix("? ") {
                        Some(optional) => expected.more.insert(place + optional),
                        None => expected.all.insert(place + comment.trim_end()),
                    };
                }
            }
        }
        assert!(expected.all.len() > 5);
        expected
    }

    fn assert_is(&self, image: &Path, how: &str) {
        let listed = run(Workshop::open().command("logdef").arg("sites").arg(image));
        let listed = String::from_utf8(listed.stdout).unwrap();
        // clang says which folder a header is in.
        let plain = |line: &str| line.trim_start_matches("./").to_owned();
        let lines: Vec<String> = listed.lines().map(plain).collect();
        let found: BTreeSet<String> = lines.iter().cloned().collect();
        assert_eq!(lines.len(), found.len(), "{how}: twice\n{listed}");
        let missing: Vec<_> = self.all.difference(&found).collect();
        let unknown = found.difference(&self.all);
        let wrong: Vec<_> = unknown.filter(|line| !self.more.contains(*line)).collect();
        assert!(
            missing.is_empty() && wrong.is_empty(),
            "{how}: missing {missing:#?}, wrong {wrong:#?}"
        );
    }
}

fn slow() -> bool {
    std::env::var_os("LOGDEF_MATRIX").is_some_and(|value| value == "1")
}

/// Flags to compile and link with.
const FLAGS: [&str; 9] = [
    "-O0 -fPIE -pie",
    "-O2 -fPIE -pie -flto",
    "-O2 -fPIE -pie -ffunction-sections -fdata-sections -Wl,--gc-sections",
    "-O3 -fno-pic -no-pie",
    "-O2 -fPIC -shared -DSHARED",
    "-O1 -g -fPIE -pie -Wl,-z,pack-relative-relocs",
    "-Os -fno-pic -no-pie -flto -ffunction-sections -Wl,--gc-sections",
    "-O3 -fPIC -shared -DSHARED -fvisibility=hidden -flto",
    "-O0 -fPIC -shared -DSHARED -Wl,--gc-sections",
];

#[test]
fn every_log_call_of_c_and_cpp_is_listed_however_it_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let c: &[&str] = &["sites.c", "other.c"];
    let languages = [
        ("C", c, ["gcc", "clang"]),
        ("C++", &["sites.cc"], ["g++", "clang++"]),
    ];
    let mut built = 0;
    for (language, units, compilers) in languages {
        let expected = Expected::of(&[units, &["sites.h"]].concat());
        for (turn, flags) in FLAGS.into_iter().enumerate() {
            // Each compiler with its makers' linker first: only they know each
            // other well enough to optimize at link time.
            let tools = [(0, "bfd"), (1, "lld"), (0, "lld"), (1, "bfd")];
            let fit = if flags.contains("-flto") {
                &tools[..2]
            } else {
                &tools
            };
            let chosen = if slow() {
                fit
            } else {
                &fit[turn % fit.len()..][..1]
            };
            for &(compiler, linker) in chosen {
                let compiler = compilers[compiler];
                let relr = flags.contains("pack-relative") && linker == "lld";
                if relr || !has(compiler) || !has(format!("ld.{linker}")) {
                    continue;
                }
                let image = folder.path().join("image");
                let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../logger/capi/include");
                let mut command = Command::new(compiler);
                command
                    .current_dir(sources())
                    .args(units)
                    .arg("-o")
                    .arg(&image);
                command
                    .args(flags.split(' '))
                    .arg(format!("-fuse-ld={linker}"));
                command
                    .arg("-I")
                    .arg(include)
                    .arg("-L")
                    .arg(&Workshop::open().library);
                run(command.arg("-llogdef"));
                let how = format!("{language}, {compiler} {flags}, {linker}");
                expected.assert_is(&image, &how);
                run(Command::new("strip").arg(&image));
                expected.assert_is(&image, &format!("{how}, stripped"));
                built += 1;
            }
        }
    }
    println!("{built} images");
    assert!(built > 0);
}

#[test]
fn every_log_call_of_rust_is_listed_however_it_was_built() {
    let folder = tempfile::tempdir().unwrap();
    let expected = Expected::of(&["sites.rs"]);
    // Nothing but the symbol table has the names of functions.
    let without = |line: &String| {
        let (call, rest) = line.split_once(") in ").unwrap();
        format!("{call}) {}", &rest[rest.find('[').unwrap()..])
    };
    let stripped = Expected {
        all: expected.all.iter().map(without).collect(),
        more: BTreeSet::new(),
    };
    let built = &Workshop::open().built;
    let libraries = std::fs::read_dir(built.join("deps")).unwrap().flatten();
    let ours = libraries.filter(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        name.starts_with("liblogdef-") && name.ends_with(".rlib")
    });
    let newest = ours.max_by_key(|entry| entry.metadata().unwrap().modified().unwrap());
    let library = newest.expect("the workshop built it").path();
    let image = folder.path().join("image");
    for (flags, linker) in [
        ("", "bfd"),
        ("-O", "lld"),
        ("-Copt-level=s -Ccodegen-units=1", "bfd"),
        ("-O -Crelocation-model=static", "bfd"),
        ("-Crelocation-model=static", "lld"),
        ("-O -Clink-dead-code", "bfd"),
    ] {
        if linker == "lld" && !has("ld.lld") {
            continue;
        }
        let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
        command
            .current_dir(sources())
            .args(["--edition", "2024", "sites.rs", "-o"])
            .arg(&image);
        command.args(flags.split(' ').filter(|flag| !flag.is_empty()));
        command.arg(format!("-Clink-arg=-fuse-ld={linker}"));
        command
            .arg("--extern")
            .arg(format!("logdef={}", library.display()));
        command
            .arg("-L")
            .arg(format!("dependency={}", built.join("deps").display()));
        run(&mut command);
        expected.assert_is(&image, &format!("rustc {flags}, {linker}"));
        run(Command::new("strip").arg(&image));
        stripped.assert_is(&image, &format!("rustc {flags}, {linker}, stripped"));
    }
}

/// Whole-program optimization: everything is built again, so only where there is time.
#[test]
#[ignore = "takes minutes: .ci/nightly runs it"]
fn every_log_call_of_rust_is_listed_after_optimization_at_link_time() {
    let folder = tempfile::tempdir().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "logdef-samples",
        "--bin",
        "orders",
    ]);
    command
        .args(["--config", "profile.release.lto=\"fat\"", "--target-dir"])
        .arg(folder.path());
    run(&mut command);
    let orders = folder.path().join("release/orders");
    let listed = run(Workshop::open().command("logdef").arg("sites").arg(orders));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 5, "{listed}");
    for (line, call) in lines.iter().zip([
        "INFO  \"%zu clerks open the shop\" (unsigned) in orders::main",
        "INFO  \"the shop closes\" () in orders::main",
        "INFO  \"order %lu: %u x %s, %.2f EUR, by %s in %.3f ms\"",
        "WARN  \"order %lu turned down: %s\" (unsigned, string)",
        "ERROR \"order %lu asks for no %s at all\" (unsigned, string)",
    ]) {
        assert!(
            line.starts_with("samples/src/bin/orders.rs:") && line.contains(call),
            "{line}"
        );
    }
}

#[test]
fn a_debug_file_and_a_program_that_does_not_log_are_distinguished() {
    let folder = tempfile::tempdir().unwrap();
    let workshop = Workshop::open();
    let debug = folder.path().join("logdef.debug");
    let mut objcopy = Command::new("objcopy");
    run(objcopy
        .arg("--only-keep-debug")
        .arg(workshop.built.join("orders"))
        .arg(&debug));
    let sites = |image: &Path| {
        workshop
            .command("logdef")
            .arg("sites")
            .arg(image)
            .output()
            .unwrap()
    };
    let refused = sites(&debug);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has debug information only"));
    let silent = sites("/bin/sh".as_ref());
    assert!(silent.status.success() && silent.stdout.is_empty());
    assert!(String::from_utf8_lossy(&silent.stderr).contains("no log calls in it"));
}
