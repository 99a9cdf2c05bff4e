//! The names that stand in logs: only the beginning and the end of each file are read, and all of it only
//! until the reader has gone. Does not know what they are for.

use super::Wanted;
use logdef_resync::{Input, Item, Items, Place, Resolver, Tables, decode};
use logdef_wire::record::Data;
use logdef_wire::{Record, Value};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

/// Bytes that are read at the beginning of a file, and at its end.
const BEGINNING: u64 = 6 << 20;
const END: u64 = 2 << 20;
/// Files that are read at most.
const FILES: usize = 64;
/// Call sites whose records are kept until their strings are known.
const KEPT: usize = 256;
/// Memory for strings.
const MEMORY: usize = 16 << 20;

/// That the reader has gone.
struct Gone;

/// Sends what is wanted, as it is found; a name may come more than once.
pub fn read(files: Vec<PathBuf>, wanted: Wanted, to: &SyncSender<String>) {
    let mut reading = Reading {
        wanted,
        to,
        tables: Tables::new(MEMORY),
        sites: HashSet::new(),
        kept: Vec::new(),
    };
    if wanted == Wanted::Name {
        for name in ["template", "module", "target"] {
            let _ = reading.send(name.as_bytes());
        }
    }
    for (number, path) in files.iter().take(FILES).enumerate() {
        let Some(input) = open(path) else { continue };
        if reading.file(&input, number as u32).is_err() {
            return;
        }
    }
}

/// Opens a file; of a packed one no more than is read of it.
fn open(path: &Path) -> Option<Input> {
    match crate::archived::open(path, BEGINNING) {
        Some(part) => part.ok(),
        None => Input::open_up_to(path, BEGINNING).ok(),
    }
}

struct Reading<'r> {
    wanted: Wanted,
    to: &'r SyncSender<String>,
    tables: Tables,
    /// Places of the program that were met.
    sites: HashSet<[Option<u64>; 5]>,
    /// The first record of each that waits for strings.
    kept: Vec<(Place, Vec<u8>)>,
}

impl Reading<'_> {
    fn send(&self, name: &[u8]) -> Result<(), Gone> {
        let Ok(name) = std::str::from_utf8(name) else {
            return Ok(());
        };
        self.to.send(name.to_owned()).map_err(|_| Gone)
    }

    fn file(&mut self, input: &Input, number: u32) -> Result<(), Gone> {
        let end = input.len().saturating_sub(END).max(BEGINNING);
        for range in [0..BEGINNING, end..u64::MAX] {
            let mut items = Items::range(input, range);
            while let Ok(Some(item)) = items.next() {
                let Item::Frame(frame) = item else { continue };
                let place = Place {
                    input: number,
                    offset: frame.offset,
                };
                self.frame(frame.body, place)?;
            }
            self.settle()?;
        }
        Ok(())
    }

    fn frame(&mut self, body: &[u8], place: Place) -> Result<(), Gone> {
        let mut scratch = Vec::new();
        let Ok(record) = decode(body, &mut scratch) else {
            return Ok(());
        };
        self.tables.add(&record, place);
        match (self.wanted, &record) {
            (Wanted::Thread, Record::ThreadLogdef(thread)) => match (thread.name, thread.tid) {
                (Some(name), _) => self.send(name),
                (None, Some(tid)) => self.send(tid.to_string().as_bytes()),
                (None, None) => Ok(()),
            },
            (Wanted::Module, Record::Preamble(preamble)) => {
                preamble.path.map_or(Ok(()), |path| self.send(path))
            }
            (Wanted::Pid, Record::Preamble(preamble)) => preamble
                .pid
                .map_or(Ok(()), |pid| self.send(pid.to_string().as_bytes())),
            (Wanted::Run, Record::Preamble(preamble)) => preamble.run.map_or(Ok(()), |run| {
                self.send(format!("{:016x}", run.0).as_bytes())
            }),
            (Wanted::Site | Wanted::Name, Record::Data(data)) => self.data(data, body, place),
            _ => Ok(()),
        }
    }

    /// Keeps the first record of each call site, and of each set of keys.
    fn data(&mut self, data: &Data<'_>, body: &[u8], place: Place) -> Result<(), Gone> {
        let front = &data.front;
        let site = [
            front.magic.map(|magic| magic.0),
            front.file.map(|file| file.0),
            front.line,
            front.format.map(|format| format.0),
            data.context,
        ];
        if self.sites.len() < 1 << 16 && self.sites.insert(site) {
            self.kept.push((place, body.to_vec()));
        }
        if self.kept.len() < KEPT {
            return Ok(());
        }
        self.settle()
    }

    /// Sends the names of the records that were kept.
    fn settle(&mut self) -> Result<(), Gone> {
        let kept = std::mem::take(&mut self.kept);
        let mut resolver = Resolver::without_images(&self.tables);
        for (place, body) in kept {
            let mut scratch = Vec::new();
            let Ok(Record::Data(data)) = decode(&body, &mut scratch) else {
                continue;
            };
            let record = resolver.resolve(&data, place);
            if self.wanted == Wanted::Site {
                let Some(file) = record.source_file() else {
                    continue;
                };
                self.send(file)?;
                if let Some(line) = record.source_line() {
                    self.send(&[file, format!(":{line}").as_bytes()].concat())?;
                }
                continue;
            }
            let arguments = data.args.map_or(0, |args| args.iter().count());
            let names = record.names_or_guesses().take(arguments).flatten();
            let keys = data.keys.into_iter().flat_map(|keys| keys.iter());
            let keys = keys.filter_map(|(key, _): (Value<'_>, _)| key.as_raw());
            let context = record.context.iter().map(|(key, _)| key);
            for name in names.chain(keys).chain(context) {
                self.send(name)?;
            }
        }
        Ok(())
    }
}
