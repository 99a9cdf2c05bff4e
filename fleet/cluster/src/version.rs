//! What a coordinator and a worker say of themselves before they work together. They do only if both say the
//! same: a plan of another version could mean something else, and hashes of another machine send rows elsewhere.

use datafusion::DATAFUSION_VERSION;

/// This build and its protocol. The number goes up with each change of what travels between the two.
const BUILD: &str = concat!("logdef-sql ", env!("CARGO_PKG_VERSION"), " protocol 1");

/// The header of a request in which a coordinator, or a worker that asks another, says its version.
pub(crate) const HEADER: &str = "logdef-version";

/// The version of this program.
#[must_use]
pub fn version() -> String {
    let arch = std::env::consts::ARCH;
    format!("{BUILD}, DataFusion {DATAFUSION_VERSION}, {arch}")
}

/// Why a peer that says `theirs` is refused, if it is. `theirs` comes from the network.
pub(crate) fn refuse(peer: &str, theirs: &str) -> Option<String> {
    let ours = version();
    if theirs == ours {
        return None;
    }
    let theirs = match theirs {
        "" => "no version".to_owned(),
        theirs => format!(
            "\"{}\"",
            theirs
                .chars()
                .take(100)
                .collect::<String>()
                .escape_default()
        ),
    };
    Some(format!(
        "{peer} says it is {theirs}, and this is \"{ours}\": use one build on all machines"
    ))
}

#[cfg(test)]
mod tests {
    use super::{refuse, version};

    #[test]
    fn only_the_same_version_is_taken() {
        assert_eq!(refuse("x", &version()), None);
        assert!(refuse("the worker x", "").unwrap().contains("no version"));
        let hostile = refuse("x", "\u{1b}[2J").unwrap();
        assert!(!hostile.contains('\u{1b}'), "{hostile}");
    }
}
