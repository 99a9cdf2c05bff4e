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
