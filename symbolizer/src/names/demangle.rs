//! Linkage names as their authors wrote them: Rust (both manglings) and C++ (Itanium ABI).

use std::borrow::Cow;
use std::fmt;

use cpp_demangle::{DemangleOptions, ParseOptions};

use crate::image::contain::contained;

/// Longest name to take apart; longer ones stay as they are.
const LONGEST_INPUT: usize = 32 << 10;

/// Longest result. A mangled name can say "the same again" of itself, so that twenty letters more
/// make the result a thousand times longer.
const LONGEST_OUTPUT: usize = 64 << 10;

/// How deep a C++ name may nest before it is left alone.
const DEEPEST: u32 = 128;

/// The readable form of a linkage name, or the name itself if it is not mangled, not understood or
/// unreasonably long. Rust names lose their hash.
pub fn demangle(name: &str) -> Cow<'_, str> {
    let is_mangled = ["_R", "_Z"].iter().any(|prefix| name.starts_with(prefix));
    if !is_mangled || name.len() > LONGEST_INPUT {
        return Cow::Borrowed(name);
    }
    match contained(|| rust(name).or_else(|| cpp(name))).flatten() {
        Some(readable) => Cow::Owned(readable),
        None => Cow::Borrowed(name),
    }
}

fn rust(name: &str) -> Option<String> {
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut readable = Bounded::default();
    fmt::write(&mut readable, format_args!("{symbol:#}")).ok()?;
    Some(readable.0)
}

fn cpp(name: &str) -> Option<String> {
    let parse = ParseOptions::default().recursion_limit(DEEPEST);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &parse).ok()?;
    let options = DemangleOptions::new().recursion_limit(DEEPEST);
    let mut readable = Bounded::default();
    symbol.structured_demangle(&mut readable, &options).ok()?;
    let readable = readable.0;
    Some(special(name, &readable).unwrap_or(readable))
}

/// What compilers make for a class, in the words that all other tools have for it.
fn special(name: &str, readable: &str) -> Option<String> {
    let (what, of) = readable
        .strip_prefix('{')?
        .strip_suffix(")}")?
        .split_once('(')?;
    match what {
        "vtable" => Some(format!("vtable for {of}")),
        "vtt" => Some(format!("VTT for {of}")),
        "virtual override thunk" => {
            // In front of the function is by how much `this` moves.
            let (_, function) = of.split_once("}, ")?;
            let kind = if name.starts_with("_ZTh") {
                "non-virtual"
            } else {
                "virtual"
            };
            Some(format!("{kind} thunk to {function}"))
        }
        _ => None,
    }
}

/// Text that refuses to grow beyond [`LONGEST_OUTPUT`].
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_OUTPUT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_cpp_names_become_readable() {
        for (name, readable) in [
            ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN3FooD2Ev", "Foo::~Foo()"),
            ("_Z3addIiET_S0_S0_", "int add<int>(int, int)"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
            ),
            ("_ZTV3Foo", "vtable for Foo"),
            ("_ZTT3Foo", "VTT for Foo"),
            ("_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar()"),
            ("_ZTv0_n24_N3Foo3barEv", "virtual thunk to Foo::bar()"),
            (
                "_ZL6helperi.constprop.0",
                "helper(int) [clone .constprop.0]",
            ),
        ] {
            assert_eq!(demangle(name), readable);
        }
    }

    #[test]
    fn other_names_stay_as_they_are() {
        for name in [
            "main",
            "",
            "__do_global_dtors_aux",
            "_Z",
            "_ZN",
            "_R",
            "_Znonsense",
            "é",
        ] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn a_name_that_doubles_itself_is_left_alone() {
        // Each level is a pair of the level before, twice.
        let mut name = String::from("_Z1fSt4pairIiiE");
        let mut previous = String::from("S_");
        for level in 0..60 {
            name.push_str(&format!("St4pairI{previous}{previous}E"));
            previous = format!("S{}_", base36(level));
        }
        let readable = demangle(&name);
        assert!(readable.len() <= LONGEST_OUTPUT);
    }

    #[test]
    fn deep_nesting_does_not_end_the_stack() {
        let name = format!("_Z1f{}i", "P".repeat(20_000));
        assert_eq!(demangle(&name), name);
        let name = format!("_RNv{}C1a1b", "Nv".repeat(10_000));
        assert!(demangle(&name).len() <= LONGEST_OUTPUT);
    }

    fn base36(number: usize) -> String {
        let digit = |value: usize| char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value]);
        if number < 36 {
            digit(number).to_string()
        } else {
            format!("{}{}", base36(number / 36 - 1), digit(number % 36))
        }
    }
}
