//! What is not in a set of inputs that was logged, in five numbers that mean the same
//! wherever they are shown; and the same of files that were made from damaged ones,
//! which carry it along in a note.

use super::account::{Account, GapReport};
use super::carried::Carried;
use super::notes::{Absent, Notes};
use super::thread_report::ThreadReport;
use std::fmt;

/// What was lost, of all inputs together.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Losses {
    /// Records that a thread counted and that are in none of the inputs.
    pub missing: u64,
    /// Whether more may be missing: damage can hide records that nothing counts.
    pub at_least: bool,
    /// Records that the program could not write, and counted.
    pub dropped: u64,
    /// Bytes that were something else once, or that could not be read.
    pub damaged: u64,
    /// Frames that are whole and are no record, or none that anything vouches for.
    pub rejected: u64,
    /// Inputs that end before their end.
    pub broken_off: u64,
    /// Bytes of records that were never finished, as a crash leaves them.
    pub torn: u64,
    /// Records that the writer gave up to make room, and those before the first of their
    /// thread that is here: rotation removed them, or their file is not among the inputs.
    pub pruned: u64,
}

impl Losses {
    pub(super) fn of(
        accounts: &[Account],
        threads: &[ThreadReport],
        carried: Option<Carried>,
        notes: &Notes,
    ) -> Losses {
        let Absent {
            missing,
            dropped,
            pruned,
        } = notes.absent(threads);
        let carried = carried.unwrap_or_default();
        let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
        let damaged = sum(|account| account.damage.bytes) + carried.damaged;
        let rejected = sum(|account| account.malformed + account.suspect) + carried.rejected;
        let broken_off =
            sum(|account| u64::from(account.broken_off.is_some())) + carried.broken_off;
        Losses {
            // What a rewritten file lacks, its threads' counts show again.
            missing,
            at_least: carried.may_hide_records
                || accounts.iter().any(may_hide_records)
                || pruned > 0 && damaged + rejected + broken_off > 0,
            dropped,
            damaged,
            rejected,
            broken_off,
            torn: sum(|account| account.torn.bytes) + carried.torn,
            pruned,
        }
    }

    /// Whether nothing is missing, dropped or damaged. A torn end is clean, and so is
    /// what was pruned.
    pub fn is_clean(&self) -> bool {
        [
            self.missing,
            self.dropped,
            self.damaged,
            self.rejected,
            self.broken_off,
        ] == [0; 5]
    }

    /// What is counted, each with its name in exports, and the words for it.
    pub(crate) fn counts(&self) -> [(u64, &'static str, &'static str, &'static str); 7] {
        [
            (self.missing, "missing", "record", "missing"),
            (self.dropped, "dropped", "record", "dropped"),
            (self.damaged, "damaged_bytes", "byte", "damaged"),
            (self.rejected, "damaged_frames", "frame", "damaged"),
            (self.broken_off, "files_broken_off", "file", "broken off"),
            (self.torn, "torn_bytes", "byte", "torn"),
            (self.pruned, "pruned", "record", "pruned"),
        ]
    }

    /// Reads what [`fmt::Display`] writes of losses that are not clean.
    pub(crate) fn parse(text: &str) -> Option<Losses> {
        let mut losses = Losses::default();
        for part in text.strip_prefix(NOT_CLEAN)?.split(", ") {
            if part == UNKNOWN {
                losses.at_least = true;
                continue;
            }
            let counted = part.strip_prefix(AT_LEAST);
            losses.at_least |= counted.is_some();
            let (number, words) = counted.unwrap_or(part).split_once(' ')?;
            let number = number.parse().ok()?;
            let names = Losses::default().counts();
            let mut names = names.iter().map(|(_, _, what, word)| {
                let plural = if number == 1 { "" } else { "s" };
                format!("{what}{plural} {word}")
            });
            let field = match names.position(|name| name == words)? {
                0 => &mut losses.missing,
                1 => &mut losses.dropped,
                2 => &mut losses.damaged,
                3 => &mut losses.rejected,
                4 => &mut losses.broken_off,
                5 => &mut losses.torn,
                _ => &mut losses.pruned,
            };
            *field = number;
        }
        (!losses.is_clean()).then_some(losses)
    }
}

const CLEAN: &str = "clean: ";
const NOT_CLEAN: &str = "not clean: ";
const AT_LEAST: &str = "at least ";
/// What "at least 0 records missing" says, as it was written before.
const UNKNOWN: &str = "an unknown number of records missing";

/// The verdict: whether all is clean, and what is not there.
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_clean() { CLEAN } else { NOT_CLEAN })?;
        let mut separator = "";
        for (index, (number, _, what, word)) in self.counts().into_iter().enumerate() {
            let is_inexact = index == 0 && self.at_least;
            let at_least = if is_inexact { AT_LEAST } else { "" };
            let plural = if number == 1 { "" } else { "s" };
            match number {
                0 if !is_inexact => continue,
                0 => write!(f, "{separator}{UNKNOWN}")?,
                _ => write!(f, "{separator}{at_least}{number} {what}{plural} {word}")?,
            }
            separator = ", ";
        }
        if separator.is_empty() {
            f.write_str("no record missing")?;
        }
        Ok(())
    }
}

/// Whether an input may lack records that no count shows.
fn may_hide_records(account: &Account) -> bool {
    let is_open = |report: &GapReport| report.gap.is_damage() && report.hides;
    account.broken_off.is_some()
        || account.untracked > 0
        || account.malformed + account.suspect > 0
        || account.damage.count > 0 && account.without_identity + account.gaps_unlisted > 0
        || account.gaps.iter().any(is_open)
}

/// What a file made of these inputs has to say of them, but for what they say themselves. Malformed
/// frames are copied.
pub(crate) fn carried(accounts: &[Account], rebuilt: u64) -> Carried {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(of).sum::<u64>();
    let mut carried = Carried {
        damaged: sum(|account| account.damage.bytes),
        torn: sum(|account| account.torn.bytes),
        missing: sum(Account::lost),
        rejected: sum(|account| account.suspect),
        broken_off: sum(|account| u64::from(account.broken_off.is_some())),
        rebuilt,
        may_hide_records: accounts.iter().any(may_hide_records),
    };
    let before = accounts.iter().filter_map(|account| account.made_from);
    before.for_each(|before| carried.add(&before));
    carried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_read_as_it_was_written() {
        assert_eq!(Losses::default().to_string(), "clean: no record missing");
        let torn = Losses {
            torn: 9,
            pruned: 1,
            ..Losses::default()
        };
        assert_eq!(torn.to_string(), "clean: 9 bytes torn, 1 record pruned");
        let lost = Losses {
            missing: 1,
            dropped: u64::MAX,
            damaged: 57,
            rejected: 2,
            broken_off: 1,
            ..torn
        };
        let text = lost.to_string();
        assert_eq!(
            text,
            "not clean: 1 record missing, 18446744073709551615 records dropped, 57 bytes damaged, \
             2 frames damaged, 1 file broken off, 9 bytes torn, 1 record pruned"
        );
        let uncounted = Losses {
            missing: 0,
            at_least: true,
            ..lost
        };
        for losses in [lost, uncounted] {
            assert_eq!(Losses::parse(&losses.to_string()), Some(losses));
        }
        let (unknown, rest) = ("an unknown number of records missing", "57 bytes damaged");
        assert!(uncounted.to_string().contains(unknown), "{uncounted}");
        assert_eq!(
            Losses::parse(&format!("not clean: at least 0 records missing, {rest}")),
            Losses::parse(&format!("not clean: {unknown}, {rest}"))
        );
        let others = [
            "",
            "not clean: ",
            "not clean: 1 records missing",
            "not clean: 1 record missing, ",
            "not clean: 1 record lost",
            "not clean: -1 records missing",
            "not clean: 9 bytes torn",
        ];
        for other in [&torn.to_string()[..]].into_iter().chain(others) {
            assert_eq!(Losses::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let carried = Carried {
            damaged: 57,
            torn: 9,
            missing: 3,
            rejected: 2,
            broken_off: 1,
            rebuilt: 4,
            may_hide_records: true,
        };
        let text = carried.to_string();
        assert_eq!(
            text,
            "made from: 57 damaged bytes, 9 torn bytes, 3 missing records, \
             2 rejected frames, 1 files broken off, 4 strings rebuilt"
        );
        assert_eq!(Carried::parse(text.as_bytes()), Some(carried));
        assert_eq!(Carried::parse(b"made from: 57 damaged bytes"), None);
    }
}
