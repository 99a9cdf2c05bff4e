//! Folded stacks, as flame graphs are made of: `outer;inner;site count`, where
//! the site is the level and place that logged.

use crate::show::escape;
use logdef_resync::{Losses, Resolved, StackEntry};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Counts records by their stacks.
#[derive(Default)]
pub struct Folded {
    stacks: BTreeMap<Vec<u8>, u64>,
    /// What the stacks take that were added with a bound.
    bytes: usize,
    line: Vec<u8>,
}

/// Bytes that a stack takes beside its line.
const OVERHEAD: usize = 64;

/// Records of stacks for which there was no room.
const OTHERS: &[u8] = b"[other stacks]";

impl Folded {
    /// Counts a record among the stacks that came first and fit into `bytes`, or else among the
    /// others.
    pub fn add_bounded(&mut self, record: &Resolved<'_>, stack: &[StackEntry], bytes: usize) {
        let kept = self.stacks.len();
        self.add(record, stack);
        if self.stacks.len() > kept {
            self.bytes += self.line.len() + OVERHEAD;
            if self.bytes > bytes {
                self.bytes -= self.line.len() + OVERHEAD;
                self.stacks.remove(&self.line);
                *self.stacks.entry(OTHERS.into()).or_default() += 1;
            }
        }
    }

    /// How many records have stacks for which there was no room.
    pub fn others(&self) -> Option<u64> {
        self.stacks.get(OTHERS).copied()
    }

    /// The stacks, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let stacks = self.stacks.iter();
        stacks.map(|(stack, count)| (&stack[..], *count))
    }

    /// Counts a record. One without a backtrace is its site alone.
    pub fn add(&mut self, record: &Resolved<'_>, stack: &[StackEntry]) {
        let line = &mut self.line;
        line.clear();
        for entry in stack.iter().rev() {
            if entry.functions.is_empty() {
                push_part(&unnamed(entry), line);
            }
            for function in entry.functions.iter().rev() {
                let name = function.function.as_deref().unwrap_or("?");
                push_part(name.as_bytes(), line);
            }
        }
        let level = match record.data.level {
            Some(level) => level.to_string(),
            None => "?".into(),
        };
        let mut site = format!("{level} ").into_bytes();
        site.extend_from_slice(record.file.bytes.unwrap_or(b"?"));
        if let Some(number) = record.data.line {
            site.extend_from_slice(format!(":{number}").as_bytes());
        }
        push_part(&site, line);
        // The semicolon after the last part.
        line.pop();
        match self.stacks.get_mut(line) {
            Some(count) => *count += 1,
            None => {
                let _ = self.stacks.insert(line.clone(), 1);
            }
        }
    }

    /// Counts records that are not there; if there may be more, that is said with them.
    pub fn lose(&mut self, losses: &Losses) {
        let missing = if losses.at_least {
            "[at least missing]"
        } else {
            "[missing]"
        };
        for (name, count) in [(missing, losses.missing), ("[dropped]", losses.dropped)] {
            if count > 0 || losses.at_least && name == missing {
                self.stacks.insert(name.into(), count);
            }
        }
    }

    /// Writes a line for each stack.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (stack, count) in &self.stacks {
            out.write_all(stack)?;
            writeln!(out, " {count}")?;
        }
        Ok(())
    }
}

/// An address without a known function: the symbol that the process knew, or its module.
fn unnamed(entry: &StackEntry) -> Vec<u8> {
    let logged = entry.logged.as_ref();
    let symbol = logged.and_then(|logged| logged.sname.clone());
    let path = entry.image.as_ref().map(|(image, _)| &image.path[..]);
    let path = path.or(logged.and_then(|logged| logged.fname.as_deref()));
    let module = path.and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    match (symbol, module) {
        (Some(symbol), _) => symbol,
        (None, Some(module)) => [b"[", module, b"]"].concat(),
        (None, None) => format!("{:#x}", entry.address.0).into_bytes(),
    }
}

fn push_part(name: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    escape::push(name, line);
    for byte in &mut line[start..] {
        if *byte == b';' {
            *byte = b':';
        }
    }
    line.push(b';');
}
