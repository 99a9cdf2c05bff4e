//! `sites`: every log call of a program or library, from the section that the compiler filled.

use crate::args::{Answer, Images};
use crate::failure::Failure;
use crate::log;
use crate::output::Output;
use crate::show::escape;
use crate::show::json::{Object, list, push_string};
use logdef_symbolizer::{CallSite, Image};
use logdef_wire::Level;
use logdef_wire::site::{ANY_LEVEL, flags};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// `sites`: whose log calls to list.
#[derive(Debug, clap::Args)]
pub struct Sites {
    /// Programs and libraries
    #[arg(value_name = "IMAGE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub answer: Answer,
    #[command(flatten)]
    pub images: Images,
}

impl Sites {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let locator = log::locator(&self.images);
        let mut output = Output::new();
        for path in &self.files {
            let unreadable = |why: String| Failure::Unreadable(why);
            let image = locator
                .open(path)
                .map_err(|error| unreadable(error.to_string()))?;
            if image.is_debug_file() {
                return Err(unreadable(format!(
                    "{} has debug information only: its call sites are in the program",
                    path.display()
                )));
            }
            let listed = lines(&image);
            if listed.is_empty() {
                log::say(&format!("{}: no log calls in it", path.display()));
            }
            let unread = image.call_sites().unread();
            if unread > 0 {
                log::say(&format!(
                    "{}: {unread} records of call sites cannot be understood",
                    path.display()
                ));
            }
            for line in &listed {
                if self.answer.is_json() {
                    line.push_json(path.as_os_str().as_encoded_bytes(), &mut output);
                } else {
                    line.push_text(&mut output.buffer);
                }
                output.line()?;
            }
            for complaint in image.complaints() {
                log::say(&complaint);
            }
        }
        output.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A call in the source. An inline function has a site in each unit that uses
/// it; those are equal.
struct Line<'i> {
    site: &'i CallSite,
    function: Option<String>,
    copies: u64,
}

/// The sites of an image, equal ones once, by file, line and format.
fn lines(image: &Image) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for site in image.call_sites() {
        let function = image.function_of(site);
        let same = |line: &&mut Line<'_>| {
            let other = line.site;
            line.function == function
                && (&other.file.bytes, other.line) == (&site.file.bytes, site.line)
                && (&other.format.bytes, other.level) == (&site.format.bytes, site.level)
                && (&other.module, &other.kinds) == (&site.module, &site.kinds)
                && other.flags == site.flags
        };
        // Equal ones stand together, but for those that differ in a detail.
        let near = lines.iter_mut().rev().take(64);
        match near.into_iter().find(same) {
            Some(line) => line.copies += 1,
            None => lines.push(Line {
                site,
                function,
                copies: 1,
            }),
        }
    }
    lines
}

/// The level of a site's records; each of those calls has its own whose site has none.
fn level_of(site: &CallSite) -> String {
    match site.level {
        Level(ANY_LEVEL) => "any".to_owned(),
        level => level.to_string(),
    }
}

impl Line<'_> {
    /// `file:line: LEVEL "format" (kinds) in function [module]`.
    fn push_text(&self, out: &mut Vec<u8>) {
        let site = self.site;
        escape::push(&site.file.bytes, out);
        // Writing to a vector does not fail.
        let _ = write!(out, ":{}: {:<5} \"", site.line, level_of(site));
        escape::push(&site.format.bytes, out);
        let _ = write!(out, "\" ({})", self.kinds().join(", "));
        if let Some(function) = &self.function {
            out.extend_from_slice(b" in ");
            escape::push(function.as_bytes(), out);
        }
        if let Some(module) = &site.module {
            out.extend_from_slice(b" [");
            escape::push(module, out);
            out.push(b']');
        }
        for mark in self.marks() {
            let _ = write!(out, ", {mark}");
        }
        out.push(b'\n');
    }

    fn push_json(&self, image: &[u8], output: &mut Output) {
        let site = self.site;
        let out = &mut output.buffer;
        let mut object = Object::begin(out);
        object.string("image", image);
        object.string("file", &site.file.bytes);
        object.number("line", Some(site.line.into()));
        object.string("level", level_of(site).as_bytes());
        object.string("format", &site.format.bytes);
        let kinds = self.kinds();
        list(object.key("args"), kinds.iter(), |kind, out| {
            push_string(kind.as_bytes(), out);
        });
        object.text("function", self.function.as_deref().map(str::as_bytes));
        object.text("module", site.module.as_deref());
        for mark in self.marks() {
            object.bool(mark, true);
        }
        if self.copies > 1 {
            object.number("copies", Some(self.copies));
        }
        object.number("address", Some(site.address.0));
        object.end();
        out.push(b'\n');
    }

    fn kinds(&self) -> Vec<String> {
        let name = |kind: &logdef_wire::site::ArgKind| match kind.name() {
            Some(name) => name.to_owned(),
            None => format!("kind {}", kind.0),
        };
        self.site.kinds.iter().map(name).collect()
    }

    fn marks(&self) -> Vec<&'static str> {
        let marks = [
            (flags::BACKTRACE, "backtrace"),
            (flags::NO_BACKTRACE, "no_backtrace"),
            (flags::LIMITED, "limited"),
        ];
        let is_set = |(flag, _): &(u8, _)| self.site.flags & flag != 0;
        let set = marks.into_iter().filter(is_set);
        set.map(|(_, mark)| mark).collect()
    }
}
