//! A test that cannot run here says so by `samples/src/skip.rs`, so that it fails where `LOGDEF_REQUIRE=1`, or Cargo
//! counts it as ignored: none passes for want of a tool or of a variable.

use super::source;

const HELPER: &str = "samples/src/skip.rs";

/// Whether a file of tests leaves one out in a way of its own, and which.
fn own_way(text: &str) -> Option<&'static str> {
    let is_in = |words: &str| text.contains(words);
    if is_in(concat!("\"LOGDEF_", "REQUIRE\"")) {
        return Some("it reads LOGDEF_REQUIRE");
    }
    if is_in(concat!("println!(\"skip", "ped")) || is_in(concat!("print!(\"skip", "ped")) {
        return Some("it prints that something is skipped");
    }
    let mut variables = text.split("env::var").skip(1);
    let is_test = text.contains("#[test]");
    (is_test && variables.any(returns_without)).then_some("it returns without a variable")
}

/// Whether what follows is a variable of the environment without which a function returns, and says nothing.
fn returns_without(rest: &str) -> bool {
    let Some((before, block)) = rest.split_once('{') else {
        return false;
    };
    let block = block.split("};").next().unwrap();
    let is_else = before.trim_end().ends_with("else") && !before.contains(';');
    is_else && block.contains("return") && !block.contains("skip")
}

#[test]
fn every_test_that_cannot_run_says_so_through_one_function() {
    let (mut users, mut wrong) = (0, Vec::new());
    for (file, text) in source::with_comments() {
        let is_checked = file.ends_with(".rs") && file != HELPER && !file.contains("/benches/");
        // Strings are looked at, so comments are too: this file's are in pieces.
        let way = own_way(&text).filter(|_| is_checked);
        wrong.extend(way.map(|way| format!("{file}: {way}")));
        users += usize::from(text.contains("samples/src/skip.rs\"]\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(users > 6, "only {users} files take in {HELPER}");
}

#[test]
fn ways_of_its_own_are_found() {
    let test = |code: &str| format!("#[test]\nfn a() {{ {code} }}");
    let own = |code: &str| own_way(&test(code)).is_some();
    assert!(own(concat!(
        "let Some(a) = std::env::",
        "var_os(\"A\") else { return; };"
    )));
    assert!(!own(
        "let Ok(a) = std::env::var(\"A\") else { return skip(\"no A\"); };"
    ));
    assert!(!own("let a = env::var(\"A\"); if a { return; }"));
    assert!(own(concat!("eprintln!(\"skip", "ped: no A\");")));
    assert!(own(concat!("env::var(\"LOGDEF_", "REQUIRE\")")));
}
