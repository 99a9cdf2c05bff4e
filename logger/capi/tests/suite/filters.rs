//! Filters in the environment and by call, for modules, files and lines, in a C
//! program and in a C++ library that it loads afterwards.

use crate::compilers::{cpp_toolchains, source};
use crate::decode::messages;
use crate::installed::build;
use std::process::Command;

#[test]
fn filters_reach_libraries_that_are_loaded_later() {
    let text = std::fs::read_to_string(source("filters.c")).unwrap();
    let line = text.lines().position(|line| line.contains("this line"));
    let filter = format!("off,net=debug,c/filters.c:{}=on", line.unwrap() + 1);
    for toolchain in cpp_toolchains() {
        let directory = tempfile::tempdir().unwrap();
        let plugin = directory.path().join("libplugin.so");
        let program = directory.path().join("program");
        build(
            toolchain.cxx,
            &["-shared", "-fPIC"],
            &[source("filters.cc")],
            &plugin,
        );
        let define = format!("-DPLUGIN=\"{}\"", plugin.display());
        build(toolchain.cc, &[&define], &[source("filters.c")], &program);
        let log = directory.path().join("log");
        let status = Command::new(&program)
            .arg(&log)
            .env("LOGDEF", &filter)
            .status();
        assert!(status.unwrap().success());
        let mut found: Vec<_> = messages(&log)
            .iter()
            .map(|message| (message.args[0].int(), message.format.replace(" %d", "")))
            .collect();
        found.sort();
        let expected = [
            (0, "net debugs"),
            (0, "plugin's net debugs"),
            (0, "this line"),
            (1, "plugin warns"),
            (2, "net debugs"),
            (2, "plugin debugs"),
            (2, "plugin warns"),
            (2, "plugin's net debugs"),
            (2, "this line"),
            (2, "traces"),
            (2, "wrapper"),
        ];
        let expected = expected.map(|(round, text)| (round, text.to_owned()));
        assert_eq!(found, expected, "{toolchain}");
    }
}
