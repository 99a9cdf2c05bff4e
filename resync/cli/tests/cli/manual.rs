//! `completions`, `man`, `symbolize`, help.

use crate::fixture::*;

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = run(command().args(["completions", shell]), b"");
        assert_eq!(done.status, 0);
        assert!(done.out.contains("recover"), "{shell}");
    }
}

#[test]
fn the_manual_describes_every_verb() {
    let done = run(command().arg("man"), b"");
    assert_eq!(done.status, 0);
    for verb in [
        "view", "check", "stats", "recover", "merge", "dump", "export", "serve", "stream", "send",
    ] {
        assert!(done.out.contains(verb), "{verb}");
    }
    assert!(done.out.contains("Exit status"));
}

#[test]
fn text_without_addresses_passes_as_it_is() {
    let done = run(command().arg("symbolize"), b"a line\n{{{reset}}}\nanother");
    assert_eq!((done.status, &*done.out), (0, "a line\nanother\n"));
}

#[test]
fn help_goes_to_standard_output() {
    let done = run(command().arg("--help"), b"");
    assert_eq!((done.status, &*done.err), (0, ""));
    assert!(done.out.contains("Exit status:\n  0  "));
}

#[test]
fn one_option_chooses_the_form_of_every_answer() {
    let files = Files::new();
    let path = files.put("app.log", &example().bytes);
    let out = |words: &str| logdef(words, &path).out;
    for verb in ["check", "stats"] {
        let json = out(&format!("{verb} -o json {{}}"));
        assert!(json.starts_with('{'), "{json}");
        assert_eq!(out(&format!("{verb} --json {{}}")), json);
        assert_eq!(
            out(&format!("{verb} {{}}")),
            out(&format!("{verb} -o text {{}}"))
        );
    }
    assert_eq!(out("-o text {}"), out("{}"));
    assert_eq!(logdef("check -o json --json {}", &path).status, 2);
}
