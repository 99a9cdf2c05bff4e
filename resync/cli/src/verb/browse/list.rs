//! Which rows the person walks through: all, or those that filters choose. Positions of all rows are their
//! numbers; those of chosen ones count from where the person was when the filter was set.

use super::log::{Log, Stage};
use super::row::Row;
use super::scan::Scan;
use std::ops::Range;
use std::sync::Arc;

/// A row in a list.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub position: i64,
    /// Its number among all rows.
    pub number: u64,
    pub row: Row,
    /// How many neighbours are folded into it.
    pub folded: u64,
}

#[derive(Clone)]
pub enum List {
    All,
    Chosen(Arc<Scan>),
}

impl List {
    /// The positions that there are so far.
    pub fn positions(&self, log: &Log) -> Range<i64> {
        match self {
            List::All => 0..log.found().rows.len() as i64,
            List::Chosen(scan) => {
                let chosen = scan.chosen();
                -(chosen.before.len() as i64)..chosen.behind.len() as i64
            }
        }
    }

    /// Whether all rows are there that the log has so far.
    pub fn is_complete(&self, log: &Log) -> bool {
        // Asked first: no row stands elsewhere after it.
        let is_read = matches!(log.stage(), Stage::Done | Stage::Following | Stage::Failed);
        is_read
            && match self {
                List::All => true,
                List::Chosen(scan) => {
                    let found = log.found();
                    scan.chosen().is_of_all(&found)
                }
            }
    }

    /// Some rows from a position on.
    pub fn rows(&self, from: i64, most: usize, log: &Log) -> Vec<Listed> {
        let positions = self.positions(log);
        let from = from.max(positions.start);
        let end = positions.end.min(from.saturating_add(most as i64));
        let found = log.found();
        let mut numbers = Vec::new();
        match self {
            List::All => {
                let mut rows = Vec::new();
                let count = (end - from).max(0) as usize;
                if found
                    .rows
                    .read(from.max(0) as u64, count, &mut rows)
                    .is_err()
                {
                    return Vec::new();
                }
                let listed = (from..).zip(rows).map(|(position, row)| Listed {
                    position,
                    number: position as u64,
                    row: Row(row),
                    folded: 0,
                });
                return listed.collect();
            }
            List::Chosen(scan) => {
                let chosen = scan.chosen();
                if chosen.generation != found.generation {
                    return Vec::new();
                }
                for position in from..end {
                    let number = match u64::try_from(position) {
                        Ok(at) => chosen.behind.get(at),
                        Err(_) => chosen.before.get(position.unsigned_abs() - 1),
                    };
                    let Ok(Some(number)) = number else { break };
                    numbers.push((position, number, chosen.folded(position)));
                }
            }
        }
        let listed = numbers
            .into_iter()
            .filter_map(|(position, number, folded)| {
                Some(Listed {
                    position,
                    number,
                    row: Row(found.rows.get(number).ok()??),
                    folded,
                })
            });
        listed.collect()
    }

    pub fn version(&self) -> u64 {
        match self {
            List::All => 0,
            List::Chosen(scan) => scan.version(),
        }
    }
}
