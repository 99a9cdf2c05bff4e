//! What `check` found, as one object.

use super::object::{Object, list};
use crate::show::words;
use logdef_resync::{Account, Conflict, GapKind, GapReport, Recovery, Tally, ThreadReport, Torn};
use logdef_wire::{Run, Tag, ThreadNumber};

/// Appends the whole report.
pub fn check(recovery: &Recovery, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.bool("clean", recovery.is_clean());
    push_losses(recovery, &mut object);
    list(object.key("files"), recovery.accounts().iter(), file);
    list(object.key("threads"), recovery.threads().iter(), thread);
    let conflicts = recovery.tables().conflicts();
    list(object.key("conflicts"), conflicts.iter(), conflict);
    object.end();
    out.push(b'\n');
}

fn file(account: &Account, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.string("name", account.name.as_bytes());
    object.number("bytes", Some(account.bytes));
    object.bool("clean", account.is_undamaged() && account.lost() == 0);
    object.number("missing", Some(account.lost()));
    for (key, tally) in [
        ("frames", &account.frames),
        ("padding", &account.padding),
        ("torn", &account.torn),
        ("damaged", &account.damage),
    ] {
        push_tally(tally, object.key(key));
    }
    let mut records = Object::begin(object.key("records"));
    for (number, count) in account.records.iter().enumerate() {
        let tag = Tag(number as u8);
        match tag.name() {
            _ if *count == 0 => {}
            Some(name) => records.number(name, Some(*count)),
            None => records.number(&format!("tag {number}"), Some(*count)),
        }
    }
    records.end();
    object.text(
        "broken_off",
        account.broken_off.as_deref().map(str::as_bytes),
    );
    object.number("suspect", Some(account.suspect));
    object.number("repeated", Some(account.repeated));
    if let Some((first, last)) = account.times.0 {
        object.number("first_time_ns", Some(first));
        object.number("last_time_ns", Some(last));
    }
    let told = |gap: &&GapReport| gap.gap.kind != GapKind::Padding;
    list(
        object.key("gaps"),
        account.gaps.iter().filter(told),
        push_gap,
    );
    object.number("gaps_unlisted", Some(account.gaps_unlisted));
    list(object.key("holes"), account.holes.iter(), |hole, out| {
        let mut object = Object::begin(out);
        push_identity(&mut object, hole.run, hole.number);
        object.number("from", Some(hole.from));
        object.number("missing", Some(hole.lost));
        object.end();
    });
    object.number("malformed", Some(account.malformed));
    list(
        object.key("malformed_list"),
        account.malformed_list.iter(),
        |malformed, out| {
            let mut object = Object::begin(out);
            object.number("offset", Some(malformed.offset));
            object.string("why", malformed.error.to_string().as_bytes());
            object.end();
        },
    );
    object.end();
}

/// Adds what all inputs lack, under the keys of the table of words.
pub fn push_losses(recovery: &Recovery, object: &mut Object<'_>) {
    let losses = recovery.losses();
    let count = |tally: fn(&Account) -> &Tally| {
        let tallies = recovery.accounts().iter().map(tally);
        tallies.map(|tally| tally.count).sum::<u64>()
    };
    let torn = Tally {
        count: count(|account| &account.torn),
        bytes: losses.torn,
    };
    let damaged = Tally {
        count: count(|account| &account.damage),
        bytes: losses.damaged,
    };
    object.number(words::MISSING.key, Some(losses.missing));
    object.bool("at_least", losses.at_least);
    object.number(words::DROPPED.key, Some(losses.dropped));
    push_tally(&damaged, object.key(words::DAMAGED.key));
    push_tally(&torn, object.key(words::TORN.key));
    object.number(words::PRUNED.key, Some(losses.pruned));
}

fn push_tally(tally: &Tally, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.number("count", Some(tally.count));
    object.number("bytes", Some(tally.bytes));
    object.end();
}

fn push_gap(report: &GapReport, out: &mut Vec<u8>) {
    let gap = &report.gap;
    let (state, why) = match gap.kind {
        GapKind::Padding => ("padding", "zeros"),
        GapKind::Torn(Torn::Unpublished) => ("torn", "unpublished"),
        GapKind::Torn(_) => ("torn", "cut"),
        GapKind::Damage(damage) => ("damaged", damage.name()),
        _ => ("unknown", "unknown"),
    };
    let mut object = Object::begin(out);
    object.number("offset", Some(gap.offset));
    object.number("bytes", Some(gap.len));
    object.string("state", state.as_bytes());
    object.string("why", why.as_bytes());
    object.number("missing", Some(report.lost));
    object.bool("exact", report.exact);
    object.number("after_time_ns", report.times.0);
    object.number("before_time_ns", report.times.1);
    list(
        object.key("threads"),
        report.threads.iter(),
        |(run, number), out| {
            let mut object = Object::begin(out);
            push_identity(&mut object, *run, *number);
            object.end();
        },
    );
    object.end();
}

fn thread(report: &ThreadReport, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    push_identity(&mut object, report.run, report.number);
    object.number("records", Some(report.records));
    object.number("missing", Some(report.lost));
    object.number("dropped", Some(report.dropped));
    object.number("pruned", Some(report.pruned));
    object.number("repeated", Some(report.repeated));
    object.number("first", Some(report.first));
    object.number("last", Some(report.last));
    object.number("first_time_ns", Some(report.first_time));
    object.number("last_time_ns", Some(report.last_time));
    object.end();
}

fn push_identity(object: &mut Object<'_>, run: Run, number: ThreadNumber) {
    object.string("run", format!("{run:016x}").as_bytes());
    object.number("number", Some(number.0));
}

fn conflict(conflict: &Conflict, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.string("magic", format!("{:016x}", conflict.magic).as_bytes());
    object.number("address", Some(conflict.address.0));
    object.string("first", &conflict.first);
    object.string("second", &conflict.second);
    object.end();
}
