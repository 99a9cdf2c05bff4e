//! Where the records were that are lost: each is counted in one place, so that the losses of all
//! places are those of all threads. Knows gaps and holes, and no bytes.

use crate::recover::account::{Account, Hole};
use crate::recover::recovery::thread::ThreadState;
use crate::recover::thread_report::ThreadReport;
use std::cmp::Ordering;
use std::collections::HashMap;

/// A gap: the input, and which one of its gaps.
type GapIndex = (usize, usize);

/// Counts what each gap and hole lost, now that all inputs were read.
pub(super) fn settle(
    accounts: &mut [Account],
    threads: &mut [ThreadState],
    reports: &[ThreadReport],
) {
    let knows_all = accounts.iter().all(|account| account.untracked == 0);
    let mut ends_in_disorder = vec![usize::MAX; accounts.len()];
    for (input, gaps) in threads.iter().filter_map(ThreadState::ends_behind_later) {
        let end = &mut ends_in_disorder[input];
        *end = gaps.min(*end);
    }
    for (input, account) in accounts.iter_mut().enumerate() {
        account.add_disorder(ends_in_disorder[input]);
        account.settle_blocks(|hole| {
            knows_all && threads[hole.thread].stands_elsewhere(hole.from, hole.to)
        });
        let ends = |thread: usize| {
            let last = threads[thread].last;
            last.map_or(0, |last| match last.input.cmp(&(input as u32)) {
                Ordering::Equal => last.gaps,
                // It went on in a later input.
                Ordering::Greater => usize::MAX,
                Ordering::Less => 0,
            })
        };
        let is_in_pieces = |hole: &Hole| threads[hole.thread].is_disordered;
        account.settle_exactness(ends, is_in_pieces);
    }
    for account in accounts.iter_mut() {
        account.settle_losses(&mut |thread, from, to| take_missing(threads, (thread, from, to)));
    }
    settle_rest(accounts, threads, reports);
}

/// How many counts of a range are not here, and not counted in any place so far.
fn take_missing(threads: &mut [ThreadState], (thread, from, to): (usize, u64, u64)) -> u64 {
    let accounted = &mut threads[thread].seen;
    let missing = accounted.missing(from, to);
    accounted.insert_range(from, to);
    missing
}

/// Finds a place for what no gap and no hole explains: records between two inputs, or beside
/// pieces that do not stand in the order of their threads.
fn settle_rest(accounts: &mut [Account], threads: &mut [ThreadState], reports: &[ThreadReport]) {
    let mut rest = Vec::new();
    for (input, account) in accounts.iter_mut().enumerate() {
        for hole in account.take_crossings() {
            rest.push((input, hole, false));
        }
    }
    for (thread, report) in reports.iter().enumerate() {
        let last = threads[thread].last.map(|last| last.input as usize);
        let (from, to) = (report.first, report.last.saturating_add(1));
        if let (Some(input), 1..) = (last, report.lost) {
            rest.push((input, Hole { thread, from, to }, true));
        }
    }
    let mut damages = None;
    for (input, hole, is_in_any_gap) in rest {
        let from = threads[hole.thread].seen.first_missing(hole.from);
        let lost = take_missing(threads, (hole.thread, hole.from, hole.to));
        if lost == 0 {
            continue;
        }
        let (inexact, any) = damages.get_or_insert_with(|| damages_of(accounts));
        let place = inexact.get(&hole.thread);
        let place = place.or(any.get(&hole.thread).filter(|_| is_in_any_gap));
        match place {
            Some((input, gap)) => accounts[*input].gaps[*gap].lose_some(hole, lost),
            None => accounts[input].add_unexplained(Hole {
                from,
                to: from + lost,
                ..hole
            }),
        }
    }
}

/// The first damage next to records of each thread: of those that may have taken more than
/// was seen, and of all.
fn damages_of(accounts: &[Account]) -> (HashMap<usize, GapIndex>, HashMap<usize, GapIndex>) {
    let (mut inexact, mut any) = (HashMap::new(), HashMap::new());
    for (input, account) in accounts.iter().enumerate() {
        for (index, gap) in account.gaps.iter().enumerate() {
            for thread in gap.neighbours().filter(|_| gap.gap.is_damage()) {
                any.entry(thread).or_insert((input, index));
                if !gap.exact {
                    inexact.entry(thread).or_insert((input, index));
                }
            }
        }
    }
    (inexact, any)
}
