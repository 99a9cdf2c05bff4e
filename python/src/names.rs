//! What records of one call have in common, looked up once for all of them. Knows no rows.

use crate::text::lossy;
use logdef_resync::Resolved;
use logdef_wire::{Magic, Run, Svma};
use std::collections::HashMap;
use std::rc::Rc;

/// Calls that are remembered; then all are looked up again.
const CALLS: usize = 1 << 14;
/// Arguments that have names.
const ARGUMENTS: usize = 256;

/// What a call is called, and its arguments.
#[derive(Debug)]
pub struct Names {
    pub site: Option<String>,
    pub file: Option<String>,
    pub function: Option<String>,
    pub module: Option<String>,
    pub target: Option<String>,
    pub format: Option<String>,
    /// The names that the program gave, or else those guessed from `key=%d`.
    pub arguments: Vec<Option<String>>,
}

impl Names {
    fn of(record: &Resolved<'_>) -> Names {
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| lossy(bytes).into_owned());
        let file = text(record.source_file());
        let site = file.as_ref().map(|file| match record.source_line() {
            Some(line) => format!("{file}:{line}"),
            None => file.clone(),
        });
        let arguments = record.data.args.map_or(0, |args| args.len() as usize);
        let names = record.names_or_guesses().map(text);
        Names {
            site,
            file,
            function: text(record.function()),
            module: text(record.module()),
            target: text(record.target().or(record.module())),
            format: text(record.format.bytes),
            arguments: names.take(arguments.min(ARGUMENTS)).collect(),
        }
    }
}

/// Image, file, line and format in a run, and how many arguments there are.
type Key = (
    Option<Magic>,
    Option<Svma>,
    Option<u64>,
    Option<Svma>,
    Option<Run>,
    u32,
);

/// The calls that were seen.
#[derive(Debug, Default)]
pub struct Calls(HashMap<Key, Rc<Names>>);

impl Calls {
    pub fn names(&mut self, record: &Resolved<'_>) -> Rc<Names> {
        let data = record.data;
        if data.format_text.is_some() || data.file_text.is_some() {
            // Texts that the record brings along are its own.
            return Rc::new(Names::of(record));
        }
        let args = data.args.map_or(0, |args| args.len());
        let key = (
            data.magic,
            data.file,
            data.line,
            data.format,
            data.run,
            args,
        );
        if self.0.len() >= CALLS && !self.0.contains_key(&key) {
            self.0.clear();
        }
        let names = self
            .0
            .entry(key)
            .or_insert_with(|| Rc::new(Names::of(record)));
        Rc::clone(names)
    }
}
