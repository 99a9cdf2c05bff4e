//! What was lost, in words.

use crate::show::escape;
use logdef_resync::{Account, Conflict, GapReport};
use logdef_wire::{Run, ThreadNumber};

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
        let missing = count(report.lost, "record");
        line += &match (report.exact, report.lost) {
            (true, _) => format!(", {missing} missing"),
            (false, 0) => ", unknown how many records are missing".into(),
            (false, _) => format!(", at least {missing} missing"),
        };
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

/// A stream that ends before its end.
pub fn broken_off(name: &str, bytes: u64, why: &str) -> String {
    format!("{name}: breaks off after {bytes} bytes ({why}): unknown how many records are missing")
}

/// What is to be said of an input beyond its gaps, a line each.
pub fn of(account: &Account) -> Vec<String> {
    let mut lines = lacks(account);
    if account.repeated > 0 {
        lines.push(format!(
            "{}: {} here more than once, shown once",
            account.name,
            count(account.repeated, "record")
        ));
    }
    lines
}

/// What an input lost beyond its gaps, a line each.
pub fn lacks(account: &Account) -> Vec<String> {
    let name = &account.name;
    let mut lines = Vec::new();
    if let Some(why) = &account.broken_off {
        lines.push(broken_off(name, account.bytes, why));
    }
    for hole in &account.holes {
        let last = hole.from + hole.lost - 1;
        let which = match hole.lost {
            1 => format!("record {last} is"),
            _ => format!("records {} to {last} are", hole.from),
        };
        lines.push(format!(
            "{name}: thread {:016x}/{}: {which} missing, and no byte of the file is damaged there",
            hole.run, hole.number.0
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
            "{name}: {}, shown only with --suspects: found inside damage, and of a run that no \
             undamaged frame names",
            count(account.suspect, "suspect frame")
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

/// `1 record`, `2 records`.
pub fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
