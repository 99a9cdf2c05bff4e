//! Which spans of time are open, so that an end can say what ended and how long it
//! took. Follows the records in the order it is shown them.

use logdef_wire::record::{Data, Kind};
use logdef_wire::site::flags::SPAN_ID;
use logdef_wire::{Run, ThreadNumber, Value};
use std::collections::HashMap;

/// Spans that may be open at a time; when more are, all are forgotten.
const OPEN: usize = 1 << 16;
/// Bytes of a message that are remembered.
const MESSAGE: usize = 1 << 10;

/// Spans that have begun and not ended.
#[derive(Debug, Default)]
pub struct Spans {
    /// By run and thread, innermost last.
    nested: HashMap<(Option<Run>, ThreadNumber), Vec<OpenSpan>>,
    /// By run and number.
    named: HashMap<(Option<Run>, u64), OpenSpan>,
    open: usize,
}

/// A span that has begun.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OpenSpan {
    /// The message of its beginning, its first kilobyte.
    pub message: Box<[u8]>,
    /// When it began, in nanoseconds since the Unix epoch.
    pub time: Option<u64>,
}

/// The number of the span that a record begins or ends, if that may end on another
/// thread than it began.
pub fn span_id(data: &Data<'_>) -> Option<u64> {
    let keys = data.keys?;
    let mut ids = keys.iter().filter_map(|(key, value)| match key {
        Value::Raw(key) if key == SPAN_ID.as_bytes() => value.as_uint(),
        _ => None,
    });
    ids.next()
}

impl Spans {
    /// Takes in the next record. If it ends a span that was seen to begin, that is
    /// returned; it is open no more.
    #[inline]
    pub fn follow(&mut self, data: &Data<'_>, message: &[u8]) -> Option<OpenSpan> {
        match data.kind {
            Some(Kind::BEGIN) => {
                self.begin(data, message);
                None
            }
            Some(Kind::END) => self.end(data),
            _ => None,
        }
    }

    #[cold]
    fn begin(&mut self, data: &Data<'_>, message: &[u8]) {
        if self.open >= OPEN {
            *self = Spans::default();
        }
        let span = OpenSpan {
            message: message[..message.len().min(MESSAGE)].into(),
            time: data.time,
        };
        match span_id(data) {
            Some(id) => {
                let before = self.named.insert((data.run, id), span);
                self.open += usize::from(before.is_none());
            }
            None => {
                self.nested.entry(thread(data)).or_default().push(span);
                self.open += 1;
            }
        }
    }

    #[cold]
    fn end(&mut self, data: &Data<'_>) -> Option<OpenSpan> {
        let span = match span_id(data) {
            Some(id) => self.named.remove(&(data.run, id)),
            None => {
                let key = thread(data);
                let nested = self.nested.get_mut(&key)?;
                let span = nested.pop();
                if nested.is_empty() {
                    self.nested.remove(&key);
                }
                span
            }
        }?;
        self.open -= 1;
        Some(span)
    }
}

impl OpenSpan {
    /// Nanoseconds from its beginning to the record that ends it.
    pub fn lasted(&self, end: &Data<'_>) -> Option<u64> {
        end.time?.checked_sub(self.time?)
    }
}

fn thread(data: &Data<'_>) -> (Option<Run>, ThreadNumber) {
    let number = data.sequence.map(|sequence| sequence.number());
    (data.run, number.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::record::Glance;
    use logdef_wire::{Map, Sequence};

    fn record(kind: Kind, thread: u64, time: u64) -> Data<'static> {
        Data {
            front: Glance {
                run: Some(Run(1)),
                sequence: Some(Sequence::new(ThreadNumber(thread), 0)),
                time: Some(time),
                ..Glance::default()
            },
            kind: Some(kind),
            ..Data::default()
        }
    }

    #[test]
    fn an_end_ends_the_innermost_span_of_its_thread() {
        let mut spans = Spans::default();
        for (thread, name) in [(0, "outer"), (1, "other"), (0, "inner")] {
            let begin = record(Kind::BEGIN, thread, 10 + thread);
            assert_eq!(spans.follow(&begin, name.as_bytes()), None);
        }
        assert_eq!(spans.follow(&record(Kind::MESSAGE, 0, 50), b"x"), None);
        for (thread, name) in [(0, "inner"), (0, "outer"), (1, "other")] {
            let end = record(Kind::END, thread, 100);
            let span = spans.follow(&end, b"").unwrap();
            assert_eq!(&*span.message, name.as_bytes());
            assert_eq!(span.lasted(&end), Some(90 - thread));
        }
        assert_eq!(spans.follow(&record(Kind::END, 0, 101), b""), None);
    }

    #[test]
    fn a_number_connects_begin_and_end_of_two_threads() {
        let mut spans = Spans::default();
        let keys = [0xa4, b's', b'p', b'a', b'n', 0x07];
        let with = |data: Data<'static>| Data {
            keys: Some(Map::from_objects(1, Box::leak(Box::new(keys))).unwrap()),
            ..data
        };
        spans.follow(&with(record(Kind::BEGIN, 0, 1)), b"request");
        let plain = spans.follow(&record(Kind::END, 0, 2), b"");
        assert_eq!(plain, None, "it has no number");
        let span = spans.follow(&with(record(Kind::END, 3, 9)), b"done");
        assert_eq!(&*span.unwrap().message, b"request");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut spans = Spans::default();
        let long = vec![b'm'; 1 << 20];
        for time in 0..3 * OPEN as u64 {
            spans.follow(&record(Kind::BEGIN, time % 7, time), &long[..8]);
            assert!(spans.open <= OPEN);
        }
        spans.follow(&record(Kind::BEGIN, 0, 0), &long);
        let span = spans.follow(&record(Kind::END, 0, 0), b"").unwrap();
        assert_eq!(span.message.len(), MESSAGE);
    }
}
