//! Symbolizer markup: lines of text in which a program that cannot name its own code has left
//! elements such as `{{{bt:0:0x12345678:ra}}}`, after others that say which modules it had loaded
//! where. The format is Fuchsia's, and LLVM's `llvm-symbolizer --filter-markup` reads it too.
//!
//! | element | shown as |
//! |---|---|
//! | `reset` | nothing; forgets modules and mappings |
//! | `module:ID:NAME:elf:BUILD_ID` | the module and the file found for it, or why none |
//! | `mmap:ADDRESS:SIZE:load:ID:FLAGS:MODULE_ADDRESS` | nothing; remembers the mapping |
//! | `bt:NUMBER:ADDRESS[:ra\|pc]` | a line for each function there, innermost first |
//! | `pc:ADDRESS[:ra\|pc]` | `function[file:line]` |
//! | `data:ADDRESS` | the variable there |
//! | `symbol:NAME` | the name, demangled |
//!
//! What is not understood stays as it was. One pass, one line at a time.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::sync::Arc;

use logdef_wire::Svma;

use crate::find::locator::Locator;
use crate::fingerprint::{Fingerprint, Hex};
use crate::image::Image;
use crate::names::StackFrame;
use crate::names::address::AddressKind;
use crate::names::demangle::demangle;
use crate::text::printable::Printable;

/// Most modules and most mappings to remember between two resets.
const MOST: usize = 1 << 16;

/// A line that has grown to this many bytes gets no more names.
const LONGEST_LINE: usize = 1 << 20;

/// Longest text before a backtrace element to repeat on each of its lines.
const LONGEST_PREFIX: usize = 256;

/// Turns markup into text. Feed it the lines of one log in order.
#[derive(Debug)]
pub struct MarkupFilter {
    locator: Locator,
    modules: HashMap<u64, Module>,
    /// By first address.
    mappings: BTreeMap<u64, Mapping>,
    /// By build ID, over resets: another run of the same program needs no second look.
    images: HashMap<Vec<u8>, Result<Arc<Image>, String>>,
}

#[derive(Debug)]
struct Module {
    name: String,
    build_id: Vec<u8>,
}

#[derive(Debug)]
struct Mapping {
    size: u64,
    module: u64,
    /// The SVMA of the mapping's first byte.
    svma: u64,
}

/// An address that lies in a module.
struct Place<'a> {
    module: &'a Module,
    svma: Svma,
    image: Option<Arc<Image>>,
}

impl MarkupFilter {
    /// A filter that takes the images of modules from `locator`, by build ID.
    pub fn new(locator: Locator) -> MarkupFilter {
        MarkupFilter {
            locator,
            modules: HashMap::new(),
            mappings: BTreeMap::new(),
            images: HashMap::new(),
        }
    }

    /// What stands for `line`, which comes without its newline: usually one line, more for a
    /// backtrace element with inlined functions, `None` if the line only carried context.
    pub fn line(&mut self, line: &str) -> Option<String> {
        let mut shown = String::new();
        let mut rest = line;
        let mut is_silent = false;
        while let Some((before, element, after)) = next_element(rest) {
            if shown.len() > LONGEST_LINE {
                break;
            }
            shown.push_str(before);
            match self.element(&element) {
                Answer::Text(text) => shown.push_str(&text),
                Answer::Silence => is_silent = true,
                Answer::Lines(lines) => {
                    // Every line of the backtrace gets what stood before the element.
                    let prefix = shown.rsplit('\n').next().unwrap_or("");
                    let prefix = if prefix.len() <= LONGEST_PREFIX {
                        prefix
                    } else {
                        ""
                    };
                    let prefix = prefix.to_owned();
                    shown.push_str(&lines.join(&format!("\n{prefix}")));
                }
                Answer::Raw => shown.push_str(element.raw),
            }
            rest = after;
        }
        shown.push_str(rest);
        (!is_silent || !shown.trim().is_empty()).then_some(shown)
    }

    fn element(&mut self, element: &Element<'_>) -> Answer {
        let fields: Vec<&str> = element.fields.split(':').collect();
        let answer = match (element.tag, &fields[..]) {
            ("reset", [""]) => {
                self.modules.clear();
                self.mappings.clear();
                Some(Answer::Silence)
            }
            ("module", [id, name, "elf", build_id, ..]) => self.module(id, name, build_id),
            ("mmap", [address, size, "load", module, _flags, svma, ..]) => {
                self.mapping(address, size, module, svma)
            }
            ("bt", [number, address]) => self.backtrace(number, address, "ra"),
            ("bt", [number, address, kind]) => self.backtrace(number, address, kind),
            ("pc", [address]) => self.code(address, "pc"),
            ("pc", [address, kind]) => self.code(address, kind),
            ("data", [address]) => self.data(address),
            ("symbol", [_, ..]) => {
                let readable = demangle(element.fields);
                Some(Answer::Text(Printable(&readable).to_string()))
            }
            _ => None,
        };
        answer.unwrap_or(Answer::Raw)
    }

    fn module(&mut self, id: &str, name: &str, build_id: &str) -> Option<Answer> {
        let id = number(id)?;
        let build_id = bytes(build_id)?;
        if self.modules.len() >= MOST {
            return None;
        }
        let found = match self.image(name, &build_id) {
            Ok(image) => Printable(&image.path().to_string_lossy()).to_string(),
            Err(why) => why,
        };
        let text = format!(
            "[module {id} {}, build ID {}: {found}]",
            Printable(name),
            Hex(&build_id)
        );
        let name = name.to_owned();
        self.modules.insert(id, Module { name, build_id });
        Some(Answer::Text(text))
    }

    fn mapping(&mut self, address: &str, size: &str, module: &str, svma: &str) -> Option<Answer> {
        let mapping = Mapping {
            size: number(size)?,
            module: number(module)?,
            svma: number(svma)?,
        };
        if self.mappings.len() >= MOST || !self.modules.contains_key(&mapping.module) {
            return None;
        }
        self.mappings.insert(number(address)?, mapping);
        Some(Answer::Silence)
    }

    fn backtrace(&mut self, index: &str, address: &str, kind: &str) -> Option<Answer> {
        let (index, address, kind) = (number(index)?, number(address)?, address_kind(kind)?);
        let place = self.place(address, kind)?;
        let mut lines = Vec::new();
        let found = place
            .image
            .as_ref()
            .map(|image| image.symbolize(place.svma, kind));
        let frames = found.as_ref().map_or(&[][..], |found| found.frames());
        let module = Printable(&place.module.name);
        for (depth, frame) in frames.iter().enumerate() {
            // The function that really is there has the plain number, those inlined into it
            // numbers after a dot.
            let number = match frames.len() - 1 - depth {
                0 => format!("#{index}"),
                inlined => format!("#{index}.{inlined}"),
            };
            let svma = place.svma;
            lines.push(format!(
                "   {number:<6}{address:#018x} in {} <{module}+{svma:#x}>",
                Shown(frame)
            ));
        }
        if lines.is_empty() {
            let (number, svma) = (format!("#{index}"), place.svma);
            lines.push(format!(
                "   {number:<6}{address:#018x} in <{module}+{svma:#x}>"
            ));
        }
        Some(Answer::Lines(lines))
    }

    fn code(&mut self, address: &str, kind: &str) -> Option<Answer> {
        let (address, kind) = (number(address)?, address_kind(kind)?);
        let place = self.place(address, kind)?;
        let found = place.image?.symbolize(place.svma, kind);
        let frame = found.frames().first()?;
        let mut text = Printable(frame.function.as_deref()?).to_string();
        if let Some(file) = &frame.file {
            let line = frame.line.unwrap_or(0);
            write!(text, "[{}:{line}]", Printable(file)).ok()?;
        }
        Some(Answer::Text(text))
    }

    fn data(&mut self, address: &str) -> Option<Answer> {
        let place = self.place(number(address)?, AddressKind::Exact)?;
        let (name, offset) = place.image?.variable_at(place.svma)?;
        let name = Printable(&name).to_string();
        Some(Answer::Text(match offset {
            0 => name,
            offset => format!("{name}+{offset:#x}"),
        }))
    }

    /// The module around `address`. A return address may be just past the end of its mapping.
    fn place(&mut self, address: u64, kind: AddressKind) -> Option<Place<'_>> {
        let probe = kind.probe(Svma(address)).0;
        let (start, mapping) = self.mappings.range(..=probe).next_back()?;
        if probe - start >= mapping.size {
            return None;
        }
        let svma = Svma((address - start).checked_add(mapping.svma)?);
        let id = mapping.module;
        let module = self.modules.get(&id)?;
        let (name, build_id) = (module.name.clone(), module.build_id.clone());
        let image = self.image(&name, &build_id).ok();
        Some(Place {
            module: &self.modules[&id],
            svma,
            image,
        })
    }

    /// What went wrong with the debug files of the images that were asked, a line each. Images
    /// that were not found are said so in the text.
    pub fn complaints(&self) -> Vec<String> {
        super::complaints(self.images.values().filter_map(|it| it.as_ref().ok()))
    }

    fn image(&mut self, name: &str, build_id: &[u8]) -> Result<Arc<Image>, String> {
        if let Some(known) = self.images.get(build_id) {
            return known.clone();
        }
        let wanted = Fingerprint {
            build_id: Some(build_id.to_vec()),
            ..Fingerprint::default()
        };
        let found = self.locator.for_symbols(name.as_bytes(), &wanted);
        let found = found.map(Arc::new).map_err(|error| error.to_string());
        if self.images.len() < MOST {
            self.images.insert(build_id.to_vec(), found.clone());
        }
        found
    }
}

/// What to put in place of an element.
enum Answer {
    Text(String),
    Lines(Vec<String>),
    Silence,
    Raw,
}

/// `{{{tag:fields}}}`.
struct Element<'a> {
    raw: &'a str,
    tag: &'a str,
    fields: &'a str,
}

/// Splits `text` around its first element. Braces may be nested by accident; the innermost count.
fn next_element(text: &str) -> Option<(&str, Element<'_>, &str)> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find("}}}")?;
        if let Some(start) = text[from..end].rfind("{{{") {
            let start = from + start;
            let inside = &text[start + 3..end];
            let (tag, fields) = inside.split_once(':').unwrap_or((inside, ""));
            let is_tag = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_';
            if !tag.is_empty() && tag.bytes().all(is_tag) {
                let (raw, after) = (&text[start..end + 3], &text[end + 3..]);
                return Some((&text[..start], Element { raw, tag, fields }, after));
            }
        }
        from = end + 1;
    }
}

/// A number as the format writes them: decimal, or hexadecimal after `0x`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn address_kind(text: &str) -> Option<AddressKind> {
    match text {
        "ra" => Some(AddressKind::ReturnAddress),
        "pc" => Some(AddressKind::Exact),
        _ => None,
    }
}

/// Bytes from pairs of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if text.is_empty() || !text.len().is_multiple_of(2) || text.len() > 128 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}

/// A stack frame as `function file:line:column`.
pub(crate) struct Shown<'a>(pub &'a StackFrame);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StackFrame {
            function,
            file,
            line,
            column,
            ..
        } = self.0;
        write!(f, "{}", Printable(function.as_deref().unwrap_or("??")))?;
        if let Some(file) = file {
            write!(f, " {}", Printable(file))?;
            for number in [line, column].into_iter().flatten() {
                write!(f, ":{number}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::locator::Options;

    fn filter() -> MarkupFilter {
        MarkupFilter::new(Locator::new(Options::default()))
    }

    #[test]
    fn text_without_elements_stays_as_it_is() {
        for line in [
            "",
            "plain",
            "{{{",
            "}}}",
            "{{{Not a tag}}}",
            "{{{unknown:1}}}",
            "{{{bt}}} {{{bt:x:0x1}}} {{{pc:0x1:zz}}}",
            "{{{bt:0:0x1234}}} without a mapping",
            "{{{{{{",
            "}}}}}}",
            "}}}{{{",
            "{{{é}}}",
            "json {\"a\":{\"b\":{}}}",
        ] {
            assert_eq!(filter().line(line).as_deref(), Some(line));
        }
    }

    #[test]
    fn symbols_are_demangled_where_they_stand() {
        let shown = filter().line("in {{{symbol:_ZN3FooD2Ev}}}, {{{symbol:main}}}!");
        assert_eq!(shown.as_deref(), Some("in Foo::~Foo(), main!"));
        let nested = filter().line("{{{x {{{symbol:_Z1fv}}}");
        assert_eq!(nested.as_deref(), Some("{{{x f()"));
    }

    #[test]
    fn braces_without_end_are_passed_in_linear_time() {
        let braces = "{".repeat(1 << 20) + &"}".repeat(1 << 20);
        assert_eq!(filter().line(&braces), Some(braces));
        let elements = "{{{symbol:_Z1fv}}}".repeat(1 << 18);
        let shown = filter().line(&elements).unwrap();
        assert!(shown.len() <= elements.len() && shown.starts_with("f()f()"));
    }

    #[test]
    fn a_module_without_a_file_still_gives_offsets() {
        let mut filter = filter();
        assert_eq!(filter.line("{{{reset}}}"), None);
        let module = filter.line("{{{module:1:libc.so:elf:83238ab56ba10497}}}");
        assert_eq!(
            module.as_deref(),
            Some(
                "[module 1 libc.so, build ID 83238ab56ba10497: no image for libc.so: \
                 no file of that name in the directories searched]"
            )
        );
        let mapping = "{{{mmap:0x7acba69d5000:0x5a000:load:1:rx:0x1000}}}";
        assert_eq!(filter.line(mapping), None);
        assert_eq!(
            filter.line("[x] {{{bt:3:0x7acba69d5010:pc}}}").as_deref(),
            Some("[x]    #3    0x00007acba69d5010 in <libc.so+0x1010>")
        );
        // One past the end is inside for a return address only.
        let ends = [
            "0x7acba6a2f000:ra",
            "0x7acba6a2f000:pc",
            "0x7acba6a2f001:ra",
        ];
        let known = ends.map(|end| {
            let line = format!("{{{{{{bt:0:{end}}}}}}}");
            filter.line(&line).unwrap() != line
        });
        assert_eq!(known, [true, false, false]);
        assert_eq!(filter.line("{{{reset}}}"), None);
        let line = "{{{bt:3:0x7acba69d5010:pc}}}";
        assert_eq!(filter.line(line).as_deref(), Some(line));
        // Another process has another module of this number, and no mapping yet.
        filter.line("{{{module:1:other.so:elf:00}}}");
        assert_eq!(filter.line(line).as_deref(), Some(line));
    }

    #[test]
    fn build_ids_are_pairs_of_hexadecimal_digits() {
        assert_eq!(bytes("00fF1a"), Some(vec![0, 255, 26]));
        for text in ["", "0", "0g", "+1", "é", &"00".repeat(65)] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
