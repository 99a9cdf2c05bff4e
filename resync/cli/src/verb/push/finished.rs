//! `push` of files as they are now: records in the order of time, then what the log lost.

use crate::choose::chosen::{self, Found};
use crate::failure::Failure;
use crate::followed;
use crate::log::{self, Log};
use crate::push::feed::Feed;
use crate::show::losses;
use crate::verb::push::Push;
use logdef_resync::{Account, Resolver};
use std::path::Path;
use std::process::ExitCode;

pub fn run(args: &Push, feed: &mut Feed<'_>) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    feed.sender.hold_cursor(log.lacks_some);
    let tables = log.recovery.tables();
    let mut resolver = Resolver::new(tables, log::images(&args.images)).judged_by(&log.recovery);
    chosen::for_each_found(
        &log,
        &args.filters,
        &mut resolver,
        |found, place, resolver| {
            match found {
                Found::Record { data, body } => feed.record(data, body, place, resolver)?,
                Found::Note(note) => feed.note(note, place, tables, resolver)?,
            }
            feed.sender.must_not_end()
        },
    )?;
    for complaint in resolver.complaints() {
        log::say(&complaint);
    }
    for account in log.recovery.accounts() {
        send_losses(account, feed)?;
    }
    let all = log.recovery.losses();
    if !all.is_clean() {
        let text = all.to_string();
        let files = log.recovery.accounts().iter();
        let files: Vec<_> = files
            .flat_map(|it| followed::identity(Path::new(&it.name)))
            .collect();
        let what = text.clone();
        feed.loss(text, &[b"verdict", &files, what.as_bytes()])?;
    }
    feed.sender.flush()?;
    log.report();
    Ok(log.status(&args.source))
}

/// Sends what a file lacks: where bytes are damaged, and what else is not there.
fn send_losses(account: &Account, feed: &mut Feed<'_>) -> Result<(), Failure> {
    let identity = followed::identity(Path::new(&account.name));
    for report in account.gaps.iter().filter(|report| report.gap.is_damage()) {
        let place = [report.gap.offset, report.gap.len]
            .map(u64::to_be_bytes)
            .concat();
        feed.loss(
            losses::gap(&account.name, report),
            &[b"damage", &identity, &place],
        )?;
    }
    for line in losses::lacks(account) {
        let what = line.clone();
        feed.loss(line, &[b"file", &identity, what.as_bytes()])?;
    }
    Ok(())
}
