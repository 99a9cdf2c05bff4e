//! Leaving out a test that this machine cannot run. Other packages' tests include this
//! file by its path.

/// Says that a test, or a part of one, is left out for want of `what`. Where
/// `LOGDEF_REQUIRE=1`, as in `.ci/run`, that fails: a run that is green has run all.
#[track_caller]
pub fn skip(what: impl core::fmt::Display) {
    let required = std::env::var_os("LOGDEF_REQUIRE").is_some_and(|value| value == "1");
    assert!(!required, "cannot run here (LOGDEF_REQUIRE=1): {what}");
    println!("skipped: {what}");
}

/// Whether a program is installed, so that it starts. Says that what needs it is left out if it is not.
#[allow(dead_code, reason = "not every package that includes this file asks")]
#[track_caller]
pub fn has(program: impl AsRef<std::ffi::OsStr>) -> bool {
    let program = program.as_ref();
    let mut asked = std::process::Command::new(program);
    let has = asked.arg("--version").output().is_ok();
    if !has {
        skip(format_args!("{} is not installed", program.display()));
    }
    has
}
