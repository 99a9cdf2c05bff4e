//! What is taken out of a record that goes to other people: values that a program logged, or what
//! matches a pattern of theirs. Knows the records, and no files.

use crate::read::framing;
use crate::read::input::Error;
use crate::recover::tables::Place;
use crate::resolve::resolved::push_value;
use crate::resolve::resolver::Resolver;
use logdef_wire::msgpack::{Array, Encoder, Map, OutOfRoom};
use logdef_wire::record::{
    BacktraceLogdef, ContextLogdef, Data, Kind, Module, Note, NoteKind, Preamble, StringLogdef,
    TextLogdef, ThreadLogdef,
};
use logdef_wire::site::flags::{SKIPPED, SPAN_ID};
use logdef_wire::{Record, Typed, Value};
use std::borrow::Cow;
use std::fmt;

/// What stands in place of what was taken out.
pub const MARK: &str = "[redacted]";

/// Gives a text without what matches, or `None` if nothing does.
pub type Replace = dyn Fn(&[u8]) -> Option<Vec<u8>>;

/// What is taken out.
pub enum Redaction {
    /// All values of calls, of key-values and contexts, and texts of panics, of notes that people
    /// left and of messages without a format.
    Values,
    /// What this function replaces, in values, messages, names and paths.
    Matches(Box<Replace>),
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Redaction::Values => "Values",
            Redaction::Matches(_) => "Matches",
        })
    }
}

/// Keys whose numbers name a span or count calls, in a record of a kind: programs choose neither. In any other
/// record, keys of these names are theirs.
fn ours_of(kind: Option<Kind>) -> &'static [&'static str] {
    match kind {
        Some(Kind::BEGIN) => &[SKIPPED, SPAN_ID, "parent", "follows"],
        Some(Kind::END) => &[SKIPPED, SPAN_ID],
        _ => &[SKIPPED],
    }
}

/// The same in a context: that of a span names it.
const OURS_OF_CONTEXT: &[&str] = &[SPAN_ID];

/// Whether the text of a note comes from a person or a program, and not from us.
fn is_spoken(kind: Option<NoteKind>) -> bool {
    let ours = [
        NoteKind::FATAL_SIGNAL,
        NoteKind::RECOVERY,
        NoteKind::SUSPECT,
        NoteKind::CLOCK_SET,
        NoteKind::SPACE_RETURNED,
        NoteKind::PRUNED,
        NoteKind::DROPS,
        NoteKind::END,
        NoteKind::SINK,
        NoteKind::MARKED,
    ];
    kind.is_none_or(|kind| !ours.contains(&kind))
}

impl Redaction {
    /// A text that the program chose when it ran: a name, a path.
    pub fn text<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self {
            Redaction::Values => text.into(),
            Redaction::Matches(replace) => replace(text).map_or(text.into(), Cow::from),
        }
    }

    /// A text that values may have become a part of.
    fn spoken<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        match self {
            Redaction::Values => MARK.as_bytes().into(),
            Redaction::Matches(_) => self.text(text),
        }
    }

    /// A format: what would take a placeholder along stays, as it is in the program too.
    pub(super) fn format<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let placeholders = |text: &[u8]| text.iter().filter(|byte| b"%{}".contains(byte)).count();
        let without = self.text(text);
        if placeholders(&without) == placeholders(text) {
            without
        } else {
            text.into()
        }
    }

    /// Writes what is left of a value.
    fn value(&self, value: Value<'_>, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        let Redaction::Matches(replace) = self else {
            return Typed::Printed(MARK.as_bytes()).encode(encoder);
        };
        let text = match value {
            Value::Nil => return encoder.nil(),
            Value::Raw(text) => {
                let left = replace(text);
                return encoder.raw(left.as_deref().unwrap_or(text));
            }
            Value::Map(map) => replace(map.objects()),
            Value::Array(array) => match Typed::of(array) {
                Some(Typed::Printed(text) | Typed::Bytes(text)) => replace(text),
                Some(_) => replace(&printed(value)),
                None => replace(array.objects()).map(|_| MARK.into()),
            },
            _ => replace(&printed(value)),
        };
        match text {
            Some(text) => Typed::Printed(&text).encode(encoder),
            None => framing::value(encoder, value),
        }
    }

    fn values(&self, args: Array<'_>) -> Vec<u8> {
        objects(|encoder| args.iter().try_for_each(|value| self.value(value, encoder)))
    }

    /// Writes what is left of key-values, of which numbers of these names are no program's.
    fn pairs(&self, keys: Map<'_>, ours: &[&str]) -> Vec<u8> {
        objects(|encoder| {
            keys.iter().try_for_each(|(key, value)| {
                framing::value(encoder, key)?;
                let name = key.as_raw().unwrap_or_default();
                let is_ours = ours.iter().any(|ours| ours.as_bytes() == name);
                if is_ours && matches!(value, Value::Uint(_)) {
                    framing::value(encoder, value)
                } else {
                    self.value(value, encoder)
                }
            })
        })
    }

    /// Writes what is left of a data record into `out`, as a frame. What matches may begin in its
    /// format and end in a value.
    pub(super) fn data(
        &self,
        data: &Data<'_>,
        out: &mut Vec<u8>,
        place: Place,
        resolver: &mut Resolver<'_>,
    ) -> Result<usize, Error> {
        let left = self.parts(data);
        let record = left.of(data);
        let is_left = match self {
            Redaction::Values => true,
            Redaction::Matches(replace) => {
                let mut message = Vec::new();
                resolver.resolve(&record, place).message(&mut message);
                replace(&message).is_none()
            }
        };
        if is_left {
            return framing::encode(out, |encoder| record.encode(encoder));
        }
        let mut left = Redaction::Values.parts(data);
        let ours = ours_of(data.kind);
        left.keys = data.keys.map(|keys| self.pairs(keys, ours));
        let record = left.of(data);
        framing::encode(out, |encoder| record.encode(encoder))
    }

    fn parts(&self, data: &Data<'_>) -> Parts {
        let own = |text: Option<&[u8]>| text.map(|text| self.spoken(text).into_owned());
        Parts {
            args: data.args.map(|args| self.values(args)),
            keys: data.keys.map(|keys| self.pairs(keys, ours_of(data.kind))),
            format_text: own(data.format_text),
            file_text: data.file_text.map(|text| self.text(text).into_owned()),
        }
    }

    /// Writes what is left of a record that is no data into `out`, as a frame. `None` if it is left
    /// out: it is of a later version, so that what stands in it is not known.
    pub(super) fn aside(
        &self,
        record: &Record<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        let text = |text| self.text_of(text);
        let len = match *record {
            Record::Preamble(record) => {
                let (path, host) = (text(record.path), text(record.host));
                let left = Preamble {
                    path: path.as_deref(),
                    host: host.as_deref(),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::StringLogdef(record) => self.of_string(record, out),
            Record::TextLogdef(record) => self.of_text(record, out),
            Record::BacktraceLogdef(record) => {
                let (fname, sname) = (text(record.fname), text(record.sname));
                let left = BacktraceLogdef {
                    fname: fname.as_deref(),
                    sname: sname.as_deref(),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::ThreadLogdef(record) => {
                let name = text(record.name);
                let left = ThreadLogdef {
                    name: name.as_deref(),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::Module(record) => {
                let path = text(record.path);
                let left = Module {
                    path: path.as_deref(),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::ContextLogdef(record) => {
                let pairs = record.keys.map(|keys| self.pairs(keys, OURS_OF_CONTEXT));
                let left = ContextLogdef {
                    keys: map(record.keys, pairs.as_deref()),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::Note(record) => {
                let own = |text: &[u8]| {
                    let is_spoken = is_spoken(record.kind);
                    let left = if is_spoken {
                        self.spoken(text)
                    } else {
                        self.text(text)
                    };
                    left.into_owned()
                };
                let text = record.text.map(own);
                let left = Note {
                    text: text.as_deref(),
                    ..record
                };
                framing::encode(out, |encoder| left.encode(encoder))
            }
            Record::Durable(record) => framing::encode(out, |encoder| record.encode(encoder)),
            _ => return Ok(None),
        };
        len.map(Some)
    }

    fn of_string(&self, record: StringLogdef<'_>, out: &mut Vec<u8>) -> Result<usize, Error> {
        let [string, template] = [record.string, record.template].map(|it| self.format_of(it));
        let left = StringLogdef {
            string: string.as_deref(),
            template: template.as_deref(),
            ..record
        };
        framing::encode(out, |encoder| left.encode(encoder))
    }

    fn of_text(&self, record: TextLogdef<'_>, out: &mut Vec<u8>) -> Result<usize, Error> {
        let [string, template] = [record.string, record.template].map(|it| self.format_of(it));
        let names = [record.module, record.target, record.function];
        let [module, target, function] = names.map(|name| self.text_of(name));
        let left = TextLogdef {
            string: string.as_deref(),
            template: template.as_deref(),
            module: module.as_deref(),
            target: target.as_deref(),
            function: function.as_deref(),
            ..record
        };
        framing::encode(out, |encoder| left.encode(encoder))
    }

    fn text_of<'t>(&self, text: Option<&'t [u8]>) -> Option<Cow<'t, [u8]>> {
        text.map(|text| self.text(text))
    }

    fn format_of<'t>(&self, text: Option<&'t [u8]>) -> Option<Cow<'t, [u8]>> {
        text.map(|text| self.format(text))
    }
}

/// What is left of the parts of a data record that values stand in.
struct Parts {
    args: Option<Vec<u8>>,
    keys: Option<Vec<u8>>,
    format_text: Option<Vec<u8>>,
    file_text: Option<Vec<u8>>,
}

impl Parts {
    fn of<'p>(&'p self, data: &Data<'p>) -> Data<'p> {
        let objects = |args: Array<'_>| Array::from_objects(args.len(), self.args.as_deref()?).ok();
        Data {
            args: data.args.and_then(objects),
            keys: map(data.keys, self.keys.as_deref()),
            format_text: self.format_text.as_deref(),
            file_text: self.file_text.as_deref(),
            // Named one by one: a new field is to be looked at before it passes.
            front: data.front,
            backtrace: data.backtrace,
            dropped: data.dropped,
            kind: data.kind,
            context: data.context,
        }
    }
}

fn map<'p>(keys: Option<Map<'_>>, objects: Option<&'p [u8]>) -> Option<Map<'p>> {
    Map::from_objects(keys?.len(), objects?).ok()
}

/// Msgpack objects, in as many bytes as they need.
fn objects(write: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>) -> Vec<u8> {
    let mut buffer = vec![0; 256];
    loop {
        let mut encoder = Encoder::new(&mut buffer);
        if write(&mut encoder).is_ok() {
            let len = encoder.position();
            buffer.truncate(len);
            return buffer;
        }
        buffer.resize(buffer.len() * 2, 0);
    }
}

fn printed(value: Value<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    push_value(value, &mut text);
    text
}
