//! A record with all that is known of it, in memory of its own.

use super::Value;
use crate::recover::standing::Standing;
use crate::resolve::resolved::Resolved;
use logdef_wire::record::Kind;
use logdef_wire::{Level, Run, Value as Wire};
use std::fmt;
use std::time::{Duration, SystemTime};

/// A record of a log.
///
/// Texts are as the program logged them; what is not UTF-8 in names and messages is replaced. They may hold control
/// characters: who prints them to a terminal escapes these. `Display` does: it prints
/// `INFO src/net.rs:12: up`.
#[derive(Clone, Debug)]
pub struct Record {
    time: Option<u64>,
    level: Option<Level>,
    message: String,
    format: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    module: Option<String>,
    target: Option<String>,
    thread_name: Option<String>,
    thread: Option<u64>,
    run: Option<Run>,
    pid: Option<u64>,
    kind: Kind,
    standing: Standing,
    values: Vec<(Option<String>, Value)>,
}

impl Record {
    pub(super) fn of(resolved: &Resolved<'_>) -> Record {
        let data = resolved.data;
        let mut message = Vec::new();
        resolved.message(&mut message);
        let thread = resolved.thread.and_then(|thread| thread.name.as_deref());
        Record {
            time: data.time,
            level: data.level,
            message: lossy(&message),
            format: resolved.format.bytes.map(lossy),
            file: resolved.source_file().map(lossy),
            line: resolved.source_line(),
            module: resolved.module().map(lossy),
            target: resolved.target().map(lossy),
            thread_name: thread.map(lossy),
            thread: data.sequence.map(|sequence| sequence.number().0),
            run: data.run,
            pid: resolved.run.and_then(|run| run.pid),
            kind: data.kind.unwrap_or(Kind::MESSAGE),
            standing: resolved.standing,
            values: values(resolved),
        }
    }

    /// When it was logged.
    #[must_use]
    pub fn time(&self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(self.time?))
    }

    /// The severity; a record may have none.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        self.level
    }

    /// The text, with its values put in.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The format, which all records of a call site share.
    #[must_use]
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// The source file, as the compiler was given it.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line in that file.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The module of the call site, which calls of Rust and of facades have.
    #[must_use]
    pub fn module(&self) -> Option<&str> {
        self.module.as_deref()
    }

    /// What the record is about: the target that its call site names, or else the module.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref().or(self.module())
    }

    /// The name of the thread.
    #[must_use]
    pub fn thread_name(&self) -> Option<&str> {
        self.thread_name.as_deref()
    }

    /// The number of the thread within its run, from 0.
    #[must_use]
    pub fn thread(&self) -> Option<u64> {
        self.thread
    }

    /// The run of the process.
    #[must_use]
    pub fn run(&self) -> Option<Run> {
        self.run
    }

    /// The number of the process, where a preamble of its run gives it.
    #[must_use]
    pub fn pid(&self) -> Option<u64> {
        self.pid
    }

    /// What it stands for: a message, the begin or end of a span, or a counter.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How far it can be trusted: it may stand beside damage.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// All values with their names, where they have names: arguments as they stand on the wire, then
    /// key-values, then those of the contexts around the call.
    #[must_use]
    pub fn values(&self) -> &[(Option<String>, Value)] {
        &self.values
    }

    /// The first of the values that has this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut values = self.values.iter();
        let found = values.find(|(other, _)| other.as_deref() == Some(name));
        found.map(|(_, value)| value)
    }
}

/// All values of a record, with their names.
fn values(resolved: &Resolved<'_>) -> Vec<(Option<String>, Value)> {
    let data = resolved.data;
    let args = data.args.into_iter().flatten().enumerate();
    let args = args.zip(resolved.argument_names());
    let args =
        args.map(|((index, value), name)| (name.map(lossy), argument(resolved, index, value)));
    let pairs = data.keys.into_iter().flat_map(|keys| keys.iter());
    let pairs = pairs.map(|(key, value)| (key.as_raw().map(lossy), Value::from(value)));
    let context = resolved.context.iter();
    let context = context.map(|(key, value)| (Some(lossy(key)), Value::from(value)));
    args.chain(pairs).chain(context).collect()
}

/// The bytes of a `long double` are no text.
fn argument(resolved: &Resolved<'_>, index: usize, value: Wire<'_>) -> Value {
    match value {
        Wire::Raw(bytes) if resolved.is_long_double(index) => Value::Bytes(bytes.to_owned()),
        value => Value::from(value),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(level) = self.level {
            write!(f, "{level} ")?;
        }
        if let Some(file) = &self.file {
            escaped(file, f)?;
            match self.line {
                Some(line) => write!(f, ":{line}: ")?,
                None => f.write_str(": ")?,
            }
        }
        escaped(&self.message, f)
    }
}

/// Control characters and marks that turn text around, as escapes.
fn escaped(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    text.chars().try_for_each(|c| match c {
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            write!(f, "{}", c.escape_unicode())
        }
        '\u{2028}' | '\u{2029}' => write!(f, "{}", c.escape_unicode()),
        c if c.is_control() => write!(f, "{}", c.escape_default()),
        c => fmt::Write::write_char(f, c),
    })
}
