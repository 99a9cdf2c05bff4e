//! Plain text with addresses, as crash handlers print them. Each address that belongs to an image is
//! followed by what was found there. Two forms are understood:
//!
//! - hexadecimal numbers after `0x` that lie in code of an image whose place is known;
//! - what glibc's `backtrace_symbols` prints: `path(+0x1234) [0x55…]`, `path(symbol+0x12) [0x55…]`,
//!   and for programs that are not position-independent `path() [0x401234]` and `path[0x401234]`.
//!   These name the image themselves, so its place need not be known.

pub(crate) mod maps;
pub(crate) mod markup;
pub(crate) mod printable;

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Write};
use std::sync::Arc;

use logdef_wire::Svma;

use crate::image::Image;
use crate::names::address::AddressKind;
use crate::text::markup::Shown;

/// An image and where it was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The program or library that was loaded.
    pub image: Arc<Image>,
    /// Address in the process minus link-time address; 0 for a program that is not
    /// position-independent.
    pub load_bias: u64,
}

/// Finds the image that a text calls by this path.
pub type FindImage<'a> = Box<dyn FnMut(&str) -> Option<Arc<Image>> + 'a>;

/// Names the addresses in lines of text.
pub struct TextFilter<'a> {
    images: Vec<Loaded>,
    kind: AddressKind,
    find: FindImage<'a>,
    found: HashMap<String, Option<Arc<Image>>>,
}

/// Most paths in a text to look for.
const PATHS: usize = 4096;

impl<'a> TextFilter<'a> {
    /// A filter that knows where `images` are, and takes addresses for what `kind` says.
    pub fn new(images: Vec<Loaded>, kind: AddressKind) -> TextFilter<'a> {
        TextFilter {
            images,
            kind,
            find: Box::new(|_| None),
            found: HashMap::new(),
        }
    }

    /// Lets the filter look for images that a text names. Paths in a text are whatever its writer
    /// wants: `find` decides which may be opened.
    pub fn with_images(mut self, find: FindImage<'a>) -> TextFilter<'a> {
        self.find = find;
        self
    }

    /// `line` with names after the addresses in it.
    pub fn line(&mut self, line: &str) -> String {
        let mut named = String::with_capacity(line.len());
        let mut rest = line;
        while let Some((before, digits, after)) = next_address(rest) {
            named.push_str(before);
            named.push_str("0x");
            named.push_str(digits);
            rest = after;
            let Ok(address) = u64::from_str_radix(digits, 16) else {
                continue;
            };
            if let Some(place) = Place::around(before, after)
                && let Some(names) = self.names_at(&place, address)
            {
                named.push_str(&rest[..place.ends]);
                rest = &rest[place.ends..];
                named.push_str(&names);
            } else if let Some(names) = self.names_of(address) {
                named.push_str(&names);
            }
        }
        named.push_str(rest);
        named
    }

    /// What went wrong with the debug files of the images that were asked, a line each.
    pub fn complaints(&self) -> Vec<String> {
        let given = self.images.iter().map(|loaded| &loaded.image);
        let found = self.found.values().flatten();
        complaints(given.chain(found))
    }

    /// What is at an address of the process.
    fn names_of(&self, address: u64) -> Option<String> {
        self.images.iter().find_map(|loaded| {
            let svma = Svma(address.wrapping_sub(loaded.load_bias));
            names(&loaded.image, svma, self.kind)
        })
    }

    /// What is at a place in an image that the text names.
    fn names_at(&mut self, place: &Place<'_>, number: u64) -> Option<String> {
        let image = self.image(place.path)?;
        let svma = match place.from {
            From::Start => Svma(number),
            From::Symbol(name) => Svma(image.symbol(name)?.0.wrapping_add(number)),
            From::Nowhere if image.is_movable() => return None,
            From::Nowhere => Svma(number),
        };
        names(&image, svma, self.kind)
    }

    fn image(&mut self, path: &str) -> Option<Arc<Image>> {
        if let Some(found) = self.found.get(path) {
            return found.clone();
        }
        if self.found.len() >= PATHS {
            return None;
        }
        let found = (self.find)(path);
        self.found.insert(path.to_owned(), found.clone());
        found
    }
}

/// What went wrong with images, each line once.
fn complaints<'i>(images: impl Iterator<Item = &'i Arc<Image>>) -> Vec<String> {
    let lines: BTreeSet<String> = images.flat_map(|image| image.complaints()).collect();
    lines.into_iter().collect()
}

impl fmt::Debug for TextFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextFilter")
            .field("images", &self.images)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

/// What stands around a number in the lines of `backtrace_symbols`.
#[derive(Debug, PartialEq, Eq)]
struct Place<'t> {
    path: &'t str,
    from: From<'t>,
    /// Where the place ends, in bytes after the number.
    ends: usize,
}

/// What the number counts from.
#[derive(Debug, PartialEq, Eq)]
enum From<'t> {
    /// Where the image is loaded.
    Start,
    /// A symbol.
    Symbol(&'t str),
    /// Nothing: it is an address in the process.
    Nowhere,
}

impl<'t> Place<'t> {
    fn around(before: &'t str, after: &'t str) -> Option<Place<'t>> {
        if let Some(before) = before.strip_suffix('+')
            && let Some(behind) = after.strip_prefix(')')
        {
            let (path, symbol) = before.rsplit_once('(')?;
            let from = match symbol {
                "" => From::Start,
                symbol => From::Symbol(symbol),
            };
            // The address in brackets says the same again.
            let again = behind.strip_prefix(' ').unwrap_or(behind);
            let again = again.strip_prefix("[0x").and_then(|it| it.split_once(']'));
            let ends = after.len() - again.map_or(behind, |(_, rest)| rest).len();
            let path = last_word(path)?;
            return Some(Place { path, from, ends });
        }
        let path = before.strip_suffix('[')?;
        let path = path.strip_suffix("() ").unwrap_or(path);
        after.starts_with(']').then_some(Place {
            path: last_word(path)?,
            from: From::Nowhere,
            ends: 1,
        })
    }
}

fn last_word(text: &str) -> Option<&str> {
    let mut words = text.rsplit(char::is_whitespace);
    words.next().filter(|word| !word.is_empty())
}

/// What is at an address of an image, in angle brackets, innermost first.
fn names(image: &Image, svma: Svma, kind: AddressKind) -> Option<String> {
    if !image.is_code(kind.probe(svma)) {
        return None;
    }
    let found = image.symbolize(svma, kind);
    let mut names = String::new();
    for (index, frame) in found.frames().iter().enumerate() {
        let before = if index == 0 { " <" } else { ", inlined into " };
        write!(names, "{before}{}", Shown(frame)).ok()?;
    }
    (!names.is_empty()).then(|| names + ">")
}

/// Splits `text` around the digits of its first hexadecimal number, from the `0x` on. What
/// continues a word, as in `v0x10`, is no number.
fn next_address(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find("0x")?;
        let digits = &text[start + 2..];
        let length = digits
            .find(|it: char| !it.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        let is_part = |it: char| it.is_alphanumeric() || it == '_';
        let begins = !text[..start].ends_with(is_part);
        let ends = !digits[length..].starts_with(is_part);
        if begins && ends && (1..=16).contains(&length) {
            let (digits, after) = digits.split_at(length);
            return Some((&text[..start], digits, after));
        }
        from = start + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_hexadecimal_numbers_are_addresses() {
        let parts = |text| next_address(text).map(|(_, digits, after)| (digits, after));
        assert_eq!(parts("at 0x12aF, then"), Some(("12aF", ", then")));
        assert_eq!(parts("[0x0]"), Some(("0", "]")));
        assert_eq!(parts("v0x10 10x20 0x 0xg 0x12z (+0x7)"), Some(("7", ")")));
        assert_eq!(parts("0x11112222333344445"), None);
        assert_eq!(parts("0x"), None);
        assert_eq!(parts("é0x1é 0x2é"), None);
    }

    #[test]
    fn without_images_a_line_stays_as_it_is() {
        let line = "crash at 0x1234 (0xffffffffffffffff)";
        assert_eq!(
            TextFilter::new(Vec::new(), AddressKind::Exact).line(line),
            line
        );
    }

    #[test]
    fn the_lines_of_backtrace_symbols_are_taken_apart() {
        let place = |line| {
            let (before, _, after) = next_address(line).unwrap();
            Place::around(before, after)
        };
        let found = |path, from, ends| Some(Place { path, from, ends });
        assert_eq!(
            place("#1 ./prog(+0x1234) [0x5555] x"),
            found("./prog", From::Start, ") [0x5555]".len())
        );
        assert_eq!(
            place("/lib/c.so(qsort_r+0x12)"),
            found("/lib/c.so", From::Symbol("qsort_r"), 1)
        );
        assert_eq!(
            place("prog(main+0x1)[0x5555]"),
            found("prog", From::Symbol("main"), ")[0x5555]".len())
        );
        assert_eq!(place("prog() [0x401]"), found("prog", From::Nowhere, 1));
        assert_eq!(place("x prog[0x401]"), found("prog", From::Nowhere, 1));
        assert_eq!(place("(+0x1)"), None);
        assert_eq!(place("prog [0x401]"), None);
        assert_eq!(place("at 0x401"), None);
    }
}
