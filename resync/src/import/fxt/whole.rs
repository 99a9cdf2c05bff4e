//! Records that the blobs of our exporter keep as a log has them. What they say counts, and not
//! the events after them, which show it to viewers.

use crate::export::fxt::whole::NAME;
use crate::import::entry::Entry;
use crate::resolve::resolved::push_value;
use logdef_fuchsia::fxt::{Blob, BlobKind, Resolved};
use logdef_wire::Value;
use logdef_wire::record::{Data, Record};
use std::borrow::Cow;

/// More return addresses than a record has.
const ADDRESSES: usize = 1 << 10;

/// The record in a blob, if it is one of ours.
pub(super) fn record<'b>(blob: &Blob<Resolved<'b>>) -> Option<Record<'b>> {
    let is_ours = blob.name == NAME && blob.kind == BlobKind::DATA;
    is_ours.then(|| Record::decode(blob.data).ok())?
}

/// Bodies of records that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    data: Option<Box<[u8]>>,
    description: Option<Box<[u8]>>,
    addresses: Vec<Box<[u8]>>,
}

impl Whole {
    /// Takes in a record and its body. False if it is of no use here.
    pub(super) fn add(&mut self, record: &Record<'_>, body: &[u8]) -> bool {
        if self.is_there() {
            *self = Whole::default();
        }
        match record {
            Record::Data(_) => self.data = Some(body.into()),
            Record::TextLogdef(_) => self.description = Some(body.into()),
            Record::BacktraceLogdef(_) if self.addresses.len() < ADDRESSES => {
                self.addresses.push(body.into());
            }
            _ => return false,
        }
        true
    }

    /// Whether there is a record.
    pub(super) fn is_there(&self) -> bool {
        self.data.is_some()
    }

    pub(super) fn size(&self) -> usize {
        let parts = self.data.iter().chain(&self.description);
        parts
            .chain(&self.addresses)
            .map(|part| part.len() + size_of::<Box<[u8]>>())
            .sum()
    }

    /// Gives `then` the record: as it was kept, or as the events show it.
    pub(super) fn with<T>(&self, seen: Entry<'_>, then: impl FnOnce(&Entry<'_>) -> T) -> T {
        let kept = self.data.as_deref().map(Record::decode);
        let Some(Ok(Record::Data(data))) = kept else {
            return then(&seen);
        };
        let args: Vec<_> = data.args.into_iter().flatten().collect();
        let keys = keys(&data);
        let keys: Vec<_> = keys.iter().map(|(key, value)| (&**key, *value)).collect();
        let addresses = self
            .addresses
            .iter()
            .filter_map(|body| match Record::decode(body) {
                Ok(Record::BacktraceLogdef(logdef)) => Some(logdef),
                _ => None,
            });
        let addresses: Vec<_> = addresses.collect();
        let description = self.description.as_deref().map(Record::decode);
        let description = match description {
            Some(Ok(Record::TextLogdef(text))) => text.description.unwrap_or_default(),
            _ => b"",
        };
        then(&Entry {
            time: data.time,
            level: data.level,
            file: data.file_text,
            line: data.line,
            format: data.format_text.unwrap_or_default(),
            description,
            args: &args,
            keys: &keys,
            backtrace: data.backtrace,
            addresses: &addresses,
            kind: data.kind,
            dropped: data.dropped.unwrap_or(0),
            ..seen
        })
    }
}

fn keys<'d>(data: &Data<'d>) -> Vec<(Cow<'d, [u8]>, Value<'d>)> {
    let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
    let key = |(key, value)| match key {
        Value::Raw(key) => (Cow::Borrowed(key), value),
        other => {
            let mut text = Vec::new();
            push_value(other, &mut text);
            (Cow::Owned(text), value)
        }
    };
    pairs.map(key).collect()
}
