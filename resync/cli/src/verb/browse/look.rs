//! A row as text: one line, all that is known of it, or JSON. Everything is escaped. Knows nothing of the
//! screen but that no more of a line is wanted than some thousand columns.

use super::frames::Frames;
use super::log::{Found, Images, Inputs, Resolvers};
use super::row::Row;
use crate::show::clock::TimeForm;
use crate::show::hyperlink::Link;
use crate::show::json;
use crate::show::text::{Backtrace, Look, Writer};
use crate::show::{clock, escape};
use jiff::tz::TimeZone;
use logdef_resync::{Place, Resolved, Resolver, push_value};
use logdef_wire::record::Data;
use logdef_wire::{Level, Record};

/// Bytes of a line, and of all that is known of a record, that are kept to be shown.
const LINE: usize = 16 << 10;
const DETAILS: usize = 256 << 10;

/// A row as a line.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub text: String,
    pub time: Option<u64>,
    pub level: Option<Level>,
    pub is_gap: bool,
}

/// Writes rows.
pub struct Writers<'k> {
    resolvers: Resolvers<'k>,
    short: Writer,
    look: Look,
}

/// How rows look.
fn look(zone: &TimeZone, backtrace: Backtrace) -> Look {
    Look {
        color: false,
        time: TimeForm::Local,
        zone: zone.clone(),
        backtrace,
        provenance: false,
        with_context: false,
        with_target: false,
        links: Link::None,
    }
}

impl<'k> Writers<'k> {
    pub fn new(
        found: &'k Found,
        inputs: &Inputs,
        images: &'k mut Images,
        zone: &TimeZone,
    ) -> Writers<'k> {
        let look = look(zone, Backtrace::None);
        Writers {
            resolvers: Resolvers::of(found, inputs, images),
            short: Writer::new(look.clone()),
            look,
        }
    }

    /// The whole text of a row, without the end of the line.
    pub fn whole(&mut self, row: Row, frames: &mut Frames) -> Line {
        let place = row.place();
        if row.is_gap() {
            let mut out = Vec::new();
            escape::push(self.resolvers.gap(place).as_bytes(), &mut out);
            return Line {
                text: text(out),
                is_gap: true,
                ..Line::default()
            };
        }
        let mut out = Vec::new();
        let (time, level) = match frames.body(place).map(Record::decode) {
            Some(Ok(Record::Data(data))) => {
                self.record(&data, row, &mut out);
                (data.time, data.level)
            }
            Some(Ok(Record::Note(note))) => {
                self.short.note(&note, &[], &mut out);
                (note.time, None)
            }
            _ => {
                out.extend_from_slice(b"what was here is no longer in the file");
                (None, None)
            }
        };
        if out.ends_with(b"\n") {
            out.pop();
        }
        Line {
            text: text(out),
            time,
            level,
            is_gap: false,
        }
    }

    fn record(&mut self, data: &Data<'_>, row: Row, out: &mut Vec<u8>) {
        let place = row.place();
        let mut resolved = self.resolvers.at(place).0.resolve(data, place);
        resolved.is_conflicting = row.is_conflicting();
        // What ends a span may look at what began it, wherever that is: here each row is alone.
        match data.kind {
            Some(_) => Writer::new(self.look.clone()).record(&resolved, &[], out),
            None => self.short.record(&resolved, &[], out),
        }
    }

    /// As much of a row as a screen shows.
    pub fn line(&mut self, row: Row, frames: &mut Frames) -> Line {
        let mut line = self.whole(row, frames);
        cut(&mut line.text, LINE);
        line.text.shrink_to_fit();
        line
    }

    /// All that is known of a row, a line for each thing.
    pub fn details(&mut self, row: Row, frames: &mut Frames) -> Vec<String> {
        let place = row.place();
        let mut out = Vec::new();
        let mut writer = Writer::new(Look {
            backtrace: Backtrace::Full,
            ..self.look.clone()
        });
        match frames.body(place).map(Record::decode) {
            Some(Ok(Record::Data(data))) if !row.is_gap() => {
                let resolver = self.resolvers.at(place).0;
                let stack = resolver.backtrace(&data, place);
                let mut resolved = resolver.resolve(&data, place);
                resolved.is_conflicting = row.is_conflicting();
                writer.full(&resolved, &[], &mut out);
                push_values(&resolved, &mut out);
                writer.stack(&stack, &mut out);
            }
            Some(Ok(Record::Note(note))) if !row.is_gap() => {
                let resolver = self.resolvers.at(place).0;
                let stack = match note.backtrace {
                    Some(entries) => resolver.stack(entries, note.run, note.time, place, true),
                    None => Vec::new(),
                };
                writer.note(&note, &stack, &mut out);
            }
            _ => out.extend(self.whole(row, frames).text.bytes()),
        }
        let mut all = text(out);
        cut(&mut all, DETAILS);
        all.lines().map(str::to_owned).collect()
    }

    /// A record as JSON; nothing for what is no record.
    pub fn json(&mut self, row: Row, frames: &mut Frames) -> Vec<u8> {
        let place = row.place();
        let mut out = Vec::new();
        if row.is_record()
            && let Some(Ok(Record::Data(data))) = frames.body(place).map(Record::decode)
        {
            let resolver = self.resolvers.at(place).0;
            let stack = resolver.backtrace(&data, place);
            let mut resolved = resolver.resolve(&data, place);
            resolved.is_conflicting = row.is_conflicting();
            json::Writer::default().record(&resolved, &stack, &mut out);
        }
        out
    }

    /// Gives a record of a row, if it is one, with what resolves it.
    pub fn with_record(
        &mut self,
        row: Row,
        frames: &mut Frames,
        with: impl FnOnce(&Data<'_>, Place, &mut Resolver<'k>),
    ) {
        let place = row.place();
        if row.is_record()
            && let Some(Ok(Record::Data(data))) = frames.body(place).map(Record::decode)
        {
            with(&data, place, self.resolvers.at(place).0);
        }
    }
}

/// The arguments and keys of a record, a line for each: its name or its number, and its value.
fn push_values(record: &Resolved<'_>, out: &mut Vec<u8>) {
    let mut push = |name: &[u8], value| {
        out.extend_from_slice(b"    ");
        escape::push(name, out);
        out.extend_from_slice(b" = ");
        escape::push_with(out, |out| push_value(value, out));
        out.push(b'\n');
    };
    let args = record.data.args.into_iter().flatten().enumerate();
    for ((index, value), name) in args.zip(record.names_or_guesses()) {
        match name {
            Some(name) => push(name, value),
            None => push(index.to_string().as_bytes(), value),
        }
    }
    for (key, value) in record.data.keys.into_iter().flat_map(|keys| keys.iter()) {
        push(key.as_raw().unwrap_or(b"?"), value);
    }
    for (key, value) in record.context.iter() {
        push(key, value);
    }
}

/// A time as the rows have it.
pub fn time(time: u64, zone: &TimeZone) -> String {
    let mut out = Vec::new();
    clock::Clock::new(TimeForm::Local, zone.clone()).push_point(time, &mut out);
    text(out)
}

/// A length of time.
pub fn duration(nanos: u64) -> String {
    let mut out = Vec::new();
    clock::push_duration(nanos, &mut out);
    text(out)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| error.to_string())
}

/// Cuts a text, and marks that.
fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        let mut end = most;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
}
