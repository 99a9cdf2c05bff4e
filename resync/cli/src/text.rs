//! Records as lines for people.

use crate::escape;
use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use logdef_resync::{Account, Conflict, Function, GapReport, Provenance, Resolved, StackEntry};
use logdef_wire::record::Note;
use logdef_wire::{Level, Run, ThreadNumber};
use std::io::Write;

/// Writes records, and remembers what the next is likely to share.
pub struct Writer {
    color: bool,
    zone: TimeZone,
    /// The last second that was written, and its text.
    second: Option<i64>,
    second_text: Vec<u8>,
    message: Vec<u8>,
}

impl Writer {
    pub fn new(color: bool) -> Writer {
        Writer {
            color,
            zone: TimeZone::system(),
            second: None,
            second_text: Vec::new(),
            message: Vec::new(),
        }
    }

    /// `time LEVEL [thread] file:line: message`, and a line for each stack
    /// frame of its backtrace.
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        let data = &record.data;
        self.time(data.time, out);
        out.push(b' ');
        self.level(data.level, out);
        out.extend_from_slice(b" [");
        match record.thread.and_then(|thread| thread.name.as_deref()) {
            Some(name) if !name.is_empty() => escape::push(name, out),
            _ => out.extend_from_slice(b"thread"),
        }
        if let Some(sequence) = data.sequence {
            let _ = write!(out, "/{}", sequence.number().0);
        }
        out.extend_from_slice(b"] ");
        self.place(record, out);
        out.extend_from_slice(b": ");
        if let Some(dropped) = data.dropped {
            let _ = write!(out, "({dropped} dropped before) ");
        }
        self.message.clear();
        record.message(&mut self.message);
        escape::push(&self.message, out);
        if let Some(keys) = data.keys {
            for (key, value) in keys.iter() {
                out.push(b' ');
                self.message.clear();
                push_bare(key, &mut self.message);
                self.message.push(b'=');
                push_bare(value, &mut self.message);
                escape::push(&self.message, out);
            }
        }
        out.push(b'\n');
        for (number, entry) in stack.iter().enumerate() {
            self.stack_entry(number, entry, out);
        }
    }

    /// What the log says about itself.
    pub fn note(&mut self, note: &Note<'_>, out: &mut Vec<u8>) {
        self.time(note.time, out);
        out.extend_from_slice(b" -- ");
        let kind = note.kind.and_then(|kind| kind.name()).unwrap_or("note");
        out.extend_from_slice(kind.as_bytes());
        if let Some(signal) = note.signal {
            let _ = write!(out, " {signal}");
        }
        if let Some(address) = note.address {
            let _ = write!(out, " at {address:#x}", address = address.0);
        }
        if let Some(text) = note.text {
            out.extend_from_slice(b": ");
            escape::push(text, out);
        }
        out.push(b'\n');
    }

    fn time(&mut self, time: Option<u64>, out: &mut Vec<u8>) {
        let Some(time) = time else {
            out.extend_from_slice(b"                  no time  ");
            return;
        };
        let (second, nanos) = ((time / 1_000_000_000) as i64, time % 1_000_000_000);
        if self.second != Some(second) {
            self.second = Some(second);
            self.second_text.clear();
            let _ = match Timestamp::from_second(second) {
                Ok(time) => {
                    let civil = time.to_zoned(self.zone.clone());
                    write!(self.second_text, "{}", civil.strftime("%Y-%m-%d %H:%M:%S"))
                }
                // A number no calendar reaches is shown as it stands.
                Err(_) => write!(self.second_text, "@{second}"),
            };
        }
        out.extend_from_slice(&self.second_text);
        let mut digits = *b".000000";
        let mut micros = nanos / 1000;
        for digit in digits[1..].iter_mut().rev() {
            *digit = b'0' + (micros % 10) as u8;
            micros /= 10;
        }
        out.extend_from_slice(&digits);
    }

    fn level(&self, level: Option<Level>, out: &mut Vec<u8>) {
        let style = match level {
            _ if !self.color => Style::new(),
            Some(level) if level >= Level::ERROR => AnsiColor::Red.on_default().bold(),
            Some(level) if level >= Level::WARN => AnsiColor::Yellow.on_default(),
            Some(level) if level >= Level::INFO => AnsiColor::Green.on_default(),
            _ => Style::new().dimmed(),
        };
        let _ = match level {
            Some(level) => match level.name() {
                Some(name) => write!(out, "{style}{name:5}{style:#}"),
                None => write!(out, "{style}{level}{style:#}"),
            },
            None => write!(out, "-----"),
        };
    }

    /// `file:line`, as far as they are known.
    fn place(&self, record: &Resolved<'_>, out: &mut Vec<u8>) {
        match (record.file.bytes, record.data.file) {
            (Some(file), _) => escape::push(file, out),
            (None, Some(address)) => drop(write!(out, "?{:#x}", address.0)),
            (None, None) => out.push(b'?'),
        }
        if let Some(line) = record.data.line {
            let _ = write!(out, ":{line}");
        }
        if record.file.provenance == Provenance::Reconstructed && record.file.bytes.is_none() {
            out.push(b'?');
        }
    }

    /// One address: a line for each function, inlined ones first.
    fn stack_entry(&self, number: usize, entry: &StackEntry, out: &mut Vec<u8>) {
        for function in &*entry.functions {
            let _ = write!(out, "    #{number:<2} ");
            push_function(function, out);
            if function.inlined {
                out.extend_from_slice(b" (inlined)");
            } else {
                push_image(entry, out);
            }
            out.push(b'\n');
        }
        if !entry.functions.is_empty() {
            return;
        }
        let _ = write!(out, "    #{number:<2} {:#x}", entry.address.0);
        let symbol = entry
            .logged
            .as_ref()
            .and_then(|logged| Some((logged.sname.as_deref()?, logged.saddr?)));
        if let Some((name, at)) = symbol {
            out.push(b' ');
            escape::push(name, out);
            let _ = write!(out, "+{:#x}", entry.address.0.wrapping_sub(at.0));
        }
        push_image(entry, out);
        out.push(b'\n');
    }
}

fn push_function(function: &Function, out: &mut Vec<u8>) {
    let name = function.function.as_deref().unwrap_or("?");
    escape::push(name.as_bytes(), out);
    if let Some(file) = &function.file {
        out.extend_from_slice(b" at ");
        escape::push(file.as_bytes(), out);
        if let Some(line) = function.line {
            let _ = write!(out, ":{line}");
        }
    }
}

fn push_image(entry: &StackEntry, out: &mut Vec<u8>) {
    let logged = entry
        .logged
        .as_ref()
        .and_then(|logged| logged.fname.as_deref());
    let path = entry
        .image
        .as_ref()
        .map(|(image, _)| &image.path[..])
        .or(logged);
    let Some(path) = path else { return };
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    out.extend_from_slice(b" in ");
    escape::push(name, out);
    if let Some((_, address)) = &entry.image {
        let _ = write!(out, "+{:#x}", address.0);
    }
}

/// A value without quotes.
fn push_bare(value: logdef_wire::Value<'_>, out: &mut Vec<u8>) {
    match value {
        logdef_wire::Value::Raw(bytes) => out.extend_from_slice(bytes),
        value => logdef_resync::push_value(value, out),
    }
}

/// A gap as a line: where, what, and what it cost.
pub fn gap(name: &str, report: &GapReport) -> String {
    let gap = &report.gap;
    let mut line = format!(
        "{name}: bytes {:#x}..{:#x} ({}): {}",
        gap.offset,
        gap.end(),
        gap.len,
        gap.kind
    );
    if report.lost > 0 || gap.is_damage() {
        let about = if report.exact { "" } else { "at least " };
        line += &format!(", {about}{} records lost", report.lost);
        if report.lost > 0 && !report.threads.is_empty() {
            line += &format!(" of {}", threads(&report.threads));
        }
    }
    line
}

fn threads(threads: &[(Run, ThreadNumber)]) -> String {
    let names = threads
        .iter()
        .take(4)
        .map(|(run, number)| format!("{run:016x}/{}", number.0));
    let mut list = names.collect::<Vec<_>>().join(", ");
    if threads.len() > 4 {
        list += &format!(" and {} more threads", threads.len() - 4);
    }
    list
}

/// What an input lost beyond its gaps, a line each.
pub fn losses(account: &Account) -> Vec<String> {
    let name = &account.name;
    let mut lines = Vec::new();
    for hole in &account.holes {
        lines.push(format!(
            "{name}: thread {:016x}/{}: records {} to {} are missing where no byte is",
            hole.run,
            hole.number.0,
            hole.from,
            hole.from + hole.lost - 1
        ));
    }
    for malformed in &account.malformed_list {
        lines.push(format!(
            "{name}: frame at {:#x}: malformed record: {}",
            malformed.offset, malformed.error
        ));
    }
    if account.suspect > 0 {
        lines.push(format!(
            "{name}: {} suspect frames left out: found in damage, and of a run that nothing vouches for",
            account.suspect
        ));
    }
    if account.repeated > 0 {
        lines.push(format!(
            "{name}: {} records are here more than once",
            account.repeated
        ));
    }
    lines
}

/// Two logdefs that disagree.
pub fn conflict(conflict: &Conflict) -> String {
    let show = |text: &[u8]| {
        let mut out = Vec::new();
        escape::push(text, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    };
    format!(
        "logdef {:016x}:{:#x} is both \"{}\" and \"{}\"; each run keeps its own",
        conflict.magic,
        conflict.address.0,
        show(&conflict.first),
        show(&conflict.second)
    )
}
