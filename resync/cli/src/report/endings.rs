//! How each run ended, as far as its log says: by a signal, with panics, cleanly, or without a word.

use crate::report::redact::Redact;
use crate::show::{losses, signal, text};
use logdef_resync::{Place, Resolver};
use logdef_wire::Run;
use logdef_wire::record::{Note, NoteKind};
use std::collections::BTreeMap;

/// Panics that are listed of a run.
const PANICS: usize = 8;
/// Runs that are followed one by one.
const RUNS: usize = 1 << 12;
/// Bytes of a panic's text and of a backtrace that are kept.
const TEXT: usize = 1_000;
const BACKTRACE: usize = 4_000;

/// What the notes of a run say of its end.
#[derive(Default)]
pub struct Ending {
    /// When the last of them was written.
    pub time: Option<u64>,
    /// `was killed by SIGSEGV at 0x10`, `ended by itself after 12 calls`.
    pub words: Option<String>,
    /// The backtrace of the signal, as lines.
    pub stack: Vec<u8>,
    /// Texts of its panics.
    pub panics: Vec<Vec<u8>>,
}

/// The ends of all runs.
#[derive(Default)]
pub struct Endings {
    pub runs: BTreeMap<Run, Ending>,
}

impl Endings {
    pub fn add(
        &mut self,
        note: &Note<'_>,
        place: Place,
        resolver: &mut Resolver<'_>,
        redact: &Redact,
    ) {
        let Some(run) = note.run else { return };
        if self.runs.len() >= RUNS && !self.runs.contains_key(&run) {
            return;
        }
        let words = match note.kind {
            Some(NoteKind::FATAL_SIGNAL) => Some(signal(note)),
            Some(NoteKind::END) => {
                let calls = note.calls.map(|calls| losses::count(calls, "call"));
                Some(match calls {
                    Some(calls) => format!("ended by itself after {calls}"),
                    None => "ended by itself".into(),
                })
            }
            Some(NoteKind::PANIC) => None,
            _ => return,
        };
        let ending = self.runs.entry(run).or_default();
        ending.time = note.time.or(ending.time);
        match words {
            Some(words) => ending.words = Some(words),
            None if ending.panics.len() < PANICS => {
                let mut panic = redact.spoken(note.text.unwrap_or_default());
                panic.truncate(TEXT);
                ending.panics.push(panic);
            }
            None => {}
        }
        if let Some(addresses) = note.backtrace {
            let stack = resolver.stack(addresses, note.run, note.time, place, true);
            ending.stack = redact.text(&text::backtrace(&stack));
            ending.stack.truncate(BACKTRACE);
        }
    }
}

/// How a signal ended a run.
pub fn signal(note: &Note<'_>) -> String {
    let name = signal::shown(note.signal.unwrap_or(0));
    match note.address {
        Some(address) => format!("was killed by {name} at {:#x}", address.0),
        None => format!("was killed by {name}"),
    }
}
