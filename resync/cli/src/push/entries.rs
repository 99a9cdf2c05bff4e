//! What is sent of a log: its records, its notes, and what it lost, each with what it is known by if it comes
//! again. Sends nothing.
//!
//! A note and a loss have the key `logdef.note` or `logdef.loss`, a digest of what they say, in place of the key of
//! a record. No program logged a loss: it has the service of the record before it, or the log's name.

use crate::push::sender::Mark;
use crate::show::words;
use logdef_fuchsia::diagnostics::{LogsData, Property};
use logdef_fuchsia::structured::Severity;
use logdef_resync::export::diagnostics::Converter;
use logdef_resync::export::entry::Entry;
use logdef_resync::{Glance, Resolved, StackEntry, Tables};
use logdef_wire::record::{Note, NoteKind};
use logdef_wire::{Level, Run};
use sha2::{Digest, Sha256};

/// Makes entries, in the order of the log.
#[derive(Debug, Default)]
pub struct Entries {
    converter: Converter,
    /// Service and time of the record before.
    last: Option<(String, i64)>,
    /// The service of losses before the first record.
    name: String,
}

impl Entries {
    pub fn new(name: String) -> Entries {
        Entries {
            name,
            ..Entries::default()
        }
    }

    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) -> Entry {
        let entry = Entry::of(&mut self.converter, record, stack);
        let time = entry.data.metadata.timestamp;
        match &mut self.last {
            Some((service, last)) => {
                service.clone_from(&entry.data.moniker);
                *last = time;
            }
            None => self.last = Some((entry.data.moniker.clone(), time)),
        }
        entry
    }

    /// What the log says of itself.
    pub fn note(&self, note: &Note<'_>, tables: &Tables, stack: &[StackEntry]) -> (Entry, Mark) {
        let text = String::from_utf8_lossy(&words::note(note)).into_owned();
        let digest = digest(&[
            b"note",
            &note.run.map_or(0, |run| run.0).to_be_bytes(),
            &note.time.unwrap_or(0).to_be_bytes(),
            text.as_bytes(),
        ]);
        let mut entry = self.entry(level_of(note), text, "logdef.note", digest, note.run);
        let time = note.time.and_then(|time| i64::try_from(time).ok());
        entry.data.metadata.timestamp = time.unwrap_or(entry.data.metadata.timestamp);
        if let Some(run) = note.run.and_then(|run| tables.run(run)) {
            entry.data.metadata.pid = run.pid;
            entry.host = run
                .host
                .as_deref()
                .map(|host| String::from_utf8_lossy(host).into_owned());
            let image = run.images.first().and_then(|magic| tables.image(*magic));
            if let Some(name) =
                image.and_then(|image| image.path.rsplit(|byte| *byte == b'/').next())
            {
                entry.data.moniker = String::from_utf8_lossy(name).into_owned();
            }
        }
        entry.add_backtrace(stack);
        (entry, Mark::Other(digest))
    }

    /// Something that the log lost, in words; `what` is what makes it the same loss when it is found again.
    pub fn loss(&self, text: String, what: &[&[u8]]) -> (Entry, Mark) {
        let digest = digest(what);
        let entry = self.entry(Level::WARN, text, "logdef.loss", digest, None);
        (entry, Mark::Other(digest))
    }

    fn entry(
        &self,
        level: Level,
        text: String,
        kind: &str,
        digest: u64,
        run: Option<Run>,
    ) -> Entry {
        let (service, time) = self
            .last
            .as_ref()
            .map_or((&self.name, 0), |(name, time)| (name, *time));
        let mut data = LogsData::new(service.as_str(), time, Severity(level.0));
        if let Some(payload) = &mut data.payload {
            payload.message = Some(text);
            let key = |name: &str, number: u64| {
                (name.to_owned(), Property::Text(format!("{number:016x}")))
            };
            payload.keys.push(key(kind, digest));
            payload.keys.extend(run.map(|run| key("logdef.run", run.0)));
        }
        Entry::new(data)
    }
}

/// How much a note matters.
fn level_of(note: &Note<'_>) -> Level {
    match note.kind {
        Some(NoteKind::FATAL_SIGNAL) => Level::FATAL,
        Some(NoteKind::PANIC) => Level::ERROR,
        Some(
            NoteKind::DROPS
            | NoteKind::SUSPECT
            | NoteKind::RECOVERY
            | NoteKind::PRUNED
            | NoteKind::SETTING_IGNORED,
        ) => Level::WARN,
        _ => Level::INFO,
    }
}

/// Whether a note is sent: one that is a matter of losses always, others where no records are searched for.
/// Records after a mark say it themselves.
pub fn is_wanted(note: &Note<'_>, is_search: bool) -> bool {
    note.kind != Some(NoteKind::MARKED) && (!is_search || level_of(note) >= Level::WARN)
}

/// The mark of a record. One that names no run or no call is known by its bytes.
pub fn mark(glance: &Glance, body: &[u8]) -> Mark {
    match (glance.run, glance.sequence) {
        (Some(_), Some(_)) => Mark::Call(*glance),
        _ => Mark::Other(digest(&[b"record", body])),
    }
}

/// The same for the same parts.
fn digest(parts: &[&[u8]]) -> u64 {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    let digest = digest.finalize();
    digest[..8]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}
