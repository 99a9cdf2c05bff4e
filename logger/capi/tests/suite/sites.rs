//! The section of the call sites, as compilers and linkers leave it: every record
//! that was written came from a site in it, sites are eight-byte aligned and whole,
//! those never reached are there, and no linker drops one whose code it keeps.

use crate::compilers::skip::skip;
use crate::compilers::{CLANG, GCC, Toolchain, compile_clean, recorder, run, slow, source};
use crate::compilers::{cpp_toolchains, works};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One way to compile and link the image of `tests/c/image.c`.
struct Build<'b> {
    directory: &'b Path,
    cc: &'b str,
    cxx: &'b str,
    compile: &'b [&'b str],
    link: Vec<&'b str>,
    walks: bool,
}

impl Build<'_> {
    fn name(&self) -> String {
        format!(
            "{} {} {:?} {:?}",
            self.cc, self.cxx, self.compile, self.link
        )
    }

    /// Compiles the image's objects.
    fn objects(&self) -> Vec<PathBuf> {
        ["calls.c", "image.c", "calls.cc", "other.cc"]
            .into_iter()
            .map(|file| {
                let compiler = if file.ends_with(".c") {
                    self.cc
                } else {
                    self.cxx
                };
                let object = self
                    .directory
                    .join(file)
                    .with_extension(format!("{}.o", file.rsplit('.').next().unwrap()));
                let mut arguments: Vec<OsString> = vec!["-c".into(), source(file).into()];
                arguments.extend(self.compile.iter().map(OsString::from));
                if self.walks {
                    arguments.push("-DWALK".into());
                }
                if !self.compile.contains(&"-fPIC") {
                    arguments.push("-DPROGRAM".into());
                }
                arguments.extend(["-o".into(), object.clone().into()]);
                compile_clean(compiler, arguments);
                object
            })
            .collect()
    }

    /// Links them, runs the program, and returns what it printed and the image.
    fn run(&self, objects: &[PathBuf], recorder: &[String]) -> (Printed, PathBuf) {
        let program = self.directory.join("program");
        let library = self.directory.join("libimage.so");
        let shared = self.compile.contains(&"-fPIC");
        let image = if shared { &library } else { &program };
        let mut arguments: Vec<OsString> = objects.iter().map(OsString::from).collect();
        arguments.extend(self.compile.iter().chain(&self.link).map(OsString::from));
        if shared {
            arguments.push("-shared".into());
        }
        arguments.extend(recorder.iter().map(OsString::from));
        arguments.extend(["-o".into(), image.into()]);
        compile_clean(self.cxx, arguments);
        if shared {
            let mut arguments: Vec<OsString> =
                vec![source("main.c").into(), library.clone().into()];
            arguments.extend(recorder.iter().map(OsString::from));
            arguments.extend(["-o".into(), program.clone().into()]);
            compile_clean(self.cc, arguments);
        }
        let printed = run(&program)
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect();
        (printed, image.clone())
    }
}

type Printed = BTreeMap<String, u64>;

/// How many records the section of an image holds.
fn sites_in(image: &Path) -> u64 {
    let data = std::fs::read(image).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = file.section_by_name(logdef_wire::site::SECTION).unwrap();
    let size = logdef_wire::site::SIZE as u64;
    assert_eq!(section.size() % size, 0);
    assert_eq!(section.address() % 8, 0);
    section.size() / size
}

const LINKERS: &[(&str, &str)] = &[
    ("-fuse-ld=bfd", "ld.bfd"),
    ("-fuse-ld=gold", "ld.gold"),
    ("-fuse-ld=lld", "ld.lld"),
];

/// Flags to compile with, flags to link with, whether whole programs are seen.
type Flags = (&'static [&'static str], &'static [&'static str], bool);

const FLAGS: &[Flags] = &[
    (&["-O0", "-fPIE"], &["-pie"], false),
    (&["-O3", "-fno-pic"], &["-no-pie"], false),
    (&["-O2", "-fPIC"], &[], false),
    (
        &["-O2", "-fPIE", "-ffunction-sections", "-fdata-sections"],
        &["-pie", "-Wl,--gc-sections"],
        true,
    ),
];

const MORE_FLAGS: &[Flags] = &[
    (&["-O1", "-fPIE"], &["-pie"], false),
    (&["-O3", "-fPIE"], &["-pie"], false),
    (&["-O0", "-fno-pic"], &["-no-pie"], false),
    (&["-O0", "-fPIC"], &[], false),
    (&["-O3", "-fPIC", "-fvisibility=hidden"], &[], false),
    (
        &["-Os", "-fno-pic", "-ffunction-sections", "-fdata-sections"],
        &["-no-pie", "-Wl,--gc-sections"],
        true,
    ),
];

/// Link-time optimisation, for which compiler and linker must know each other.
const WHOLE: &[(Toolchain, Flags)] = &[
    (GCC, (&["-O2", "-flto", "-fPIE"], &["-pie"], true)),
    (GCC, (&["-O3", "-flto", "-fPIC"], &[], true)),
    (
        CLANG,
        (&["-O2", "-flto", "-fPIE"], &["-pie", "-fuse-ld=lld"], true),
    ),
    (
        CLANG,
        (&["-O2", "-flto=thin", "-fPIC"], &["-fuse-ld=lld"], true),
    ),
];

#[test]
fn every_record_comes_from_a_site_in_the_section() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = recorder(directory.path());
    let linkers: Vec<&str> = LINKERS
        .iter()
        .filter(|(_, program)| works(program))
        .map(|(flag, _)| *flag)
        .collect();
    let mut records = None;
    let mut check = |toolchain: &Toolchain, flags: &Flags, linkers: &[&str]| {
        let mut build = Build {
            directory: directory.path(),
            cc: toolchain.cc,
            cxx: toolchain.cxx,
            compile: flags.0,
            link: Vec::new(),
            walks: true,
        };
        let objects = build.objects();
        for linker in linkers {
            build.link = flags.1.iter().chain(Some(linker)).copied().collect();
            let name = build.name();
            let (printed, image) = build.run(&objects, &recorder);
            assert_eq!(printed["strays"], 0, "{name}");
            assert_eq!(printed["sites"], sites_in(&image), "{name}");
            assert_eq!(
                printed["records"],
                *records.get_or_insert(printed["records"]),
                "{name}"
            );
            assert!(
                printed["sites"] - printed["copies"] >= 100,
                "{name}: {printed:?}"
            );
            // All but two sites are reached once they are what they are in the
            // source: merged functions left no records behind.
            if toolchain.cc == GCC.cc && flags.0.contains(&"-O0") {
                assert_eq!(printed["sites"], printed["asked"] + 2, "{name}");
            }
            // It is never called; only an optimizer that sees the whole program may drop it.
            assert!(flags.2 || printed["never"] == 1, "{name}: {printed:?}");
        }
    };
    for toolchain in cpp_toolchains() {
        let more = if slow() { MORE_FLAGS } else { &[] };
        for (turn, flags) in FLAGS.iter().chain(more).enumerate() {
            if slow() {
                check(toolchain, flags, &linkers);
            } else {
                let linker = linkers.get(turn % linkers.len().max(1)).unwrap_or(&"-O1");
                check(toolchain, flags, &[linker]);
            }
        }
    }
    let whole = WHOLE.iter().step_by(if slow() { 1 } else { 2 });
    for (toolchain, flags) in whole {
        let linker_is_there = !flags.1.contains(&"-fuse-ld=lld") || works("ld.lld");
        if linker_is_there && works(toolchain.cc) && works(toolchain.cxx) {
            // A flag that changes nothing, where the linker is chosen already.
            check(toolchain, flags, &["-O2"]);
        }
    }
}

/// Without start and stop symbols nothing but code refers to the records.
#[test]
fn sites_live_as_long_as_their_code() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = recorder(directory.path());
    for toolchain in cpp_toolchains() {
        let build = Build {
            directory: directory.path(),
            cc: toolchain.cc,
            cxx: toolchain.cxx,
            compile: &["-O2", "-fPIE", "-ffunction-sections", "-fdata-sections"],
            link: vec!["-pie", "-Wl,--gc-sections"],
            walks: false,
        };
        let (printed, image) = build.run(&build.objects(), &recorder);
        assert!(sites_in(&image) >= printed["asked"], "{}", build.name());
    }
}

/// C by one compiler and C++ by the other, in one image.
#[test]
fn records_of_two_compilers_share_the_section() {
    let toolchains: Vec<_> = cpp_toolchains().collect();
    let [a, b] = toolchains[..] else {
        skip("there are not two compilers of C and C++");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let recorder = recorder(directory.path());
    for (cc, cxx) in [(a.cc, b.cxx), (b.cc, a.cxx)] {
        let build = Build {
            directory: directory.path(),
            cc,
            cxx,
            compile: &["-O2", "-fPIE"],
            link: vec!["-pie"],
            walks: true,
        };
        let (printed, image) = build.run(&build.objects(), &recorder);
        assert_eq!(printed["strays"], 0);
        assert_eq!(printed["sites"], sites_in(&image));
    }
}
