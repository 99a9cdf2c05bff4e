//! The header and the calls of `tests/c` under all warnings.

use crate::compilers::{
    Language, WARNINGS, compile_clean, cpp_toolchains, package, slow, source, toolchains,
};
use std::ffi::OsString;

const C: &[&str] = &["-std=c11", "-std=gnu11", "-std=c17"];
const CPP: &[&str] = &["-std=c++11", "-std=c++17", "-std=gnu++17", "-std=c++20"];
const LEVELS: &[&str] = &["-O0", "-O1", "-O2", "-O3"];
const MODES: &[&[&str]] = &[
    &["-fPIE"],
    &["-fno-pic"],
    &["-fPIC", "-fvisibility=hidden"],
    &["-fPIC", "-flto"],
    &["-fsanitize=address,undefined"],
    &["-ffunction-sections", "-fdata-sections"],
];

/// Every standard, with levels and modes that differ from one to the next; all
/// of all in the slow suite.
fn compile_all(file: &str, language: Language, standards: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let object = directory.path().join("calls.o");
    let mut turn = 0;
    for toolchain in toolchains() {
        let Some(compiler) = toolchain.compiler(language) else {
            continue;
        };
        for standard in standards {
            for (nth, level) in LEVELS.iter().enumerate() {
                for (mth, mode) in MODES.iter().enumerate() {
                    if !slow() && (nth + turn) % LEVELS.len() + (mth + turn) % MODES.len() > 0 {
                        continue;
                    }
                    let mut arguments: Vec<OsString> = vec![standard.into(), level.into()];
                    arguments.extend(mode.iter().chain(WARNINGS).map(OsString::from));
                    arguments.extend(["-c".into(), source(file).into()]);
                    arguments.extend(["-o".into(), object.clone().into()]);
                    compile_clean(compiler, arguments);
                }
            }
            turn += 1;
        }
    }
}

#[test]
fn c_calls_compile_clean_in_every_standard() {
    compile_all("calls.c", Language::C, C);
}

#[test]
fn cpp_calls_compile_clean_in_every_standard() {
    compile_all("calls.cc", Language::Cpp, CPP);
}

#[test]
fn behaviour_compiles_clean_as_c_and_as_cpp() {
    compile_all("behaviour.c", Language::C, &["-std=c11"]);
    let file = source("behaviour.c");
    for toolchain in cpp_toolchains() {
        let mut arguments: Vec<OsString> = vec!["-std=c++17".into(), "-xc++".into()];
        arguments.extend(WARNINGS.iter().map(OsString::from));
        arguments.extend(["-fsyntax-only".into(), file.clone().into()]);
        compile_clean(toolchain.cxx, arguments);
    }
}

#[test]
fn key_values_compile_clean_in_every_standard() {
    compile_all("key_values.c", Language::C, C);
    let file = source("key_values.c");
    for toolchain in cpp_toolchains() {
        for standard in CPP {
            let mut arguments: Vec<OsString> = vec![standard.into(), "-xc++".into()];
            arguments.extend(WARNINGS.iter().map(OsString::from));
            arguments.extend(["-fsyntax-only".into(), file.clone().into()]);
            compile_clean(toolchain.cxx, arguments);
        }
    }
}

/// As the first and only include, and twice, and within `extern "C"` as some
/// headers of C programs do it; where `char` has a sign, and where it has none.
#[test]
fn the_header_stands_alone() {
    let header = package().join("include/logdef.h");
    let with_sign = |standard| ["-fsigned-char", "-funsigned-char"].map(|sign| [standard, sign]);
    for toolchain in toolchains() {
        for (language, name, standards) in [(Language::C, "c", C), (Language::Cpp, "c++", CPP)] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            for options in standards.iter().copied().flat_map(with_sign) {
                let mut arguments: Vec<OsString> = options.map(OsString::from).into();
                arguments.extend(["-x", name, "-fsyntax-only"].map(OsString::from));
                arguments.extend(WARNINGS.iter().map(OsString::from));
                for _ in 0..2 {
                    arguments.extend(["-include".into(), header.clone().into()]);
                }
                arguments.push(source("main.c").into());
                compile_clean(compiler, arguments);
            }
        }
    }
    for toolchain in cpp_toolchains() {
        let mut arguments: Vec<OsString> = WARNINGS.iter().map(OsString::from).collect();
        arguments.extend(["-fsyntax-only".into(), source("wrapped.cc").into()]);
        compile_clean(toolchain.cxx, arguments);
    }
}
