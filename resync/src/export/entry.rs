//! A record on its way into a log store: its data, and the key by which the store, or a question to
//! it, knows a repeat. Knows no protocol.
//!
//! | of the record | key |
//! |---|---|
//! | run | `logdef.run`: 16 hexadecimal digits |
//! | the thread's number in the run | `logdef.thread` |
//! | how many calls the thread had made before | `logdef.sequence` |
//!
//! Two records with the same three are one record. They stand before the keys of the program.

use super::diagnostics::Converter;
use super::fxt::describe;
use super::text::{CUT, boundary};
use crate::resolve::resolved::Resolved;
use crate::resolve::stack::StackEntry;
use logdef_fuchsia::diagnostics::{LogsData, Property};

/// What a record takes beside its texts, at most.
const FIXED: usize = 256;
/// What an attribute takes beside its texts, at most.
const ATTRIBUTE: usize = 32;

/// A record, and the machine that it is from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Entry {
    /// What the record says.
    pub data: LogsData,
    /// The name of the machine, if the log has it.
    pub host: Option<String>,
}

impl Entry {
    /// A record with its key.
    pub fn of(converter: &mut Converter, record: &Resolved<'_>, stack: &[StackEntry]) -> Entry {
        let mut data = converter.logs_data(record, stack);
        let run = record
            .data
            .run
            .map(|run| Property::Text(format!("{run:016x}")));
        let number = |number| Property::SignedInt(i64::try_from(number).unwrap_or(i64::MAX));
        let sequence = record.data.sequence;
        let own = [
            ("logdef.run", run),
            ("logdef.thread", sequence.map(|it| number(it.number().0))),
            ("logdef.sequence", sequence.map(|it| number(it.count()))),
        ];
        if let Some(payload) = &mut data.payload {
            let own = own
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)));
            payload.keys.splice(..0, own);
        }
        let host = record.run.and_then(|run| run.host.as_deref());
        Entry {
            data,
            host: host.map(|host| String::from_utf8_lossy(host).into_owned()),
        }
    }

    /// What no program logged, with the keys that it is to have.
    pub fn new(data: LogsData) -> Entry {
        Entry { data, host: None }
    }

    /// Adds the functions that a stack goes through, as the key `backtrace`.
    pub fn add_backtrace(&mut self, stack: &[StackEntry]) {
        if let (Some(payload), false) = (&mut self.data.payload, stack.is_empty()) {
            let functions = Property::Text(describe(stack));
            payload.keys.push(("backtrace".to_owned(), functions));
        }
    }

    /// About how many bytes it takes in a request, and in memory.
    pub fn weight(&self) -> usize {
        let data = &self.data;
        let metadata = &data.metadata;
        let tags = metadata
            .tags
            .iter()
            .map(|tag| tag.len() + ATTRIBUTE)
            .sum::<usize>();
        let payload = data.payload.as_ref();
        let message = payload.and_then(|payload| payload.message.as_ref());
        let keys = payload.map_or(&[][..], |payload| &payload.keys).iter();
        let keys = keys.map(|(name, value)| name.len() + ATTRIBUTE + length(value));
        FIXED
            + data.moniker.len()
            + tags
            + message.map_or(0, String::len)
            + metadata.file.as_ref().map_or(0, String::len)
            + keys.sum::<usize>()
    }

    /// Cuts it to about `most` bytes of texts, so that a store takes it: its key and what stands before it stay,
    /// as much as there is room for of the message, and the key `logdef.cut_bytes` says what is gone.
    pub fn cut(&mut self, most: usize) {
        let before = self.weight();
        let data = &mut self.data;
        data.metadata.tags.clear();
        shorten(&mut data.moniker, most / 8);
        if let Some(file) = &mut data.metadata.file {
            shorten(file, most / 8);
        }
        if let Some(payload) = &mut data.payload {
            payload
                .keys
                .retain(|(name, value)| name.starts_with("logdef.") && length(value) <= 32);
            payload.keys.truncate(16);
            if let Some(message) = &mut payload.message {
                shorten(message, most / 2);
            }
        }
        let gone = before.saturating_sub(self.weight());
        if let Some(payload) = &mut self.data.payload {
            let gone = Property::SignedInt(gone as i64);
            payload.keys.push(("logdef.cut_bytes".to_owned(), gone));
        }
    }
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(boundary(text, most.saturating_sub(CUT.len())));
        text.push_str(CUT);
    }
}

fn length(value: &Property) -> usize {
    match value {
        Property::Text(text) => text.len(),
        Property::Bytes(bytes) => 2 * bytes.len(),
        Property::Array(values) => values.iter().map(|value| length(value) + ATTRIBUTE).sum(),
        Property::SignedInt(_)
        | Property::UnsignedInt(_)
        | Property::Double(_)
        | Property::Boolean(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_fuchsia::structured::Severity;

    #[test]
    fn a_record_that_is_cut_keeps_its_key_and_says_what_is_gone() {
        let mut data = LogsData::new("a", 5, Severity::INFO);
        let payload = data.payload.as_mut().unwrap();
        payload.message = Some("ä".repeat(1 << 20));
        payload
            .keys
            .push(("logdef.run".into(), Property::Text("0".repeat(16))));
        payload
            .keys
            .push(("x".into(), Property::Text("y".repeat(1 << 20))));
        let mut entry = Entry::new(data);
        let before = entry.weight();
        assert!(before > 3 << 20, "{before}");
        entry.cut(4096);
        assert!(entry.weight() < 4096, "{}", entry.weight());
        let payload = entry.data.payload.as_ref().unwrap();
        assert!(payload.message.as_ref().unwrap().ends_with('…'));
        let names: Vec<_> = payload.keys.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["logdef.run", "logdef.cut_bytes"]);
        let Property::SignedInt(gone) = payload.keys[1].1 else {
            panic!("no number");
        };
        assert!(gone > (3 << 20) - 4096, "{gone}");
    }
}
