//! `tests/c/behaviour.c` checks itself; here it is compiled as C and as C++, and
//! run.

use crate::compilers::{Language, compile_clean, recorder, run, slow, source, toolchains};
use std::ffi::OsString;

#[test]
fn calls_behave_as_documented() {
    let directory = tempfile::tempdir().unwrap();
    let link = recorder(directory.path());
    let program = directory.path().join("behaviour");
    let levels: &[&str] = if slow() {
        &["-O0", "-O1", "-O2", "-O3", "-Os"]
    } else {
        &["-O0", "-O2"]
    };
    for toolchain in toolchains() {
        for (language, flags) in [
            (Language::C, ["-std=c11", "-xc"]),
            (Language::Cpp, ["-std=c++11", "-xc++"]),
        ] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            for level in levels {
                let mut arguments: Vec<OsString> = flags.map(OsString::from).to_vec();
                arguments.extend([level.into(), source("behaviour.c").into()]);
                arguments.extend(["-xnone".into(), "-o".into(), program.clone().into()]);
                arguments.extend(link.iter().map(OsString::from));
                compile_clean(compiler, arguments);
                run(&program);
            }
        }
    }
}

/// A call below the level that is compiled leaves nothing in the program.
#[test]
fn a_cut_call_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    let object = directory.path().join("cut.o");
    let cut = directory.path().join("cut.c");
    std::fs::write(
        &cut,
        "#define LOGDEF_MIN_LEVEL WARN\n\
         #include <logdef.h>\n\
         void cut(int i);\n\
         void cut(int i) {\n\
             LOGDEF(INFO, \"this was cut %d\", i);\n\
             LOGDEF(WARN, \"this was kept %d\", i);\n\
         }\n",
    )
    .unwrap();
    for toolchain in toolchains() {
        for (language, flag) in [(Language::C, "-xc"), (Language::Cpp, "-xc++")] {
            let Some(compiler) = toolchain.compiler(language) else {
                continue;
            };
            let mut arguments: Vec<OsString> = vec![flag.into(), "-O1".into(), "-c".into()];
            arguments.extend([cut.clone().into(), "-o".into(), object.clone().into()]);
            compile_clean(compiler, arguments);
            let object = std::fs::read(&object).unwrap();
            let contains = |text: &str| object.windows(text.len()).any(|at| at == text.as_bytes());
            assert!(contains("this was kept"));
            assert!(!contains("this was cut"), "{toolchain} {flag}");
        }
    }
}
