//! `check`: what became of every byte, and what was lost.

use crate::args::Check;
use crate::failure::{DAMAGED, Failure};
use crate::log::Log;
use crate::output::Output;
use crate::text;
use logdef_resync::{Account, GapKind, Tally};
use std::io::Write;
use std::process::ExitCode;

pub fn run(args: &Check) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let mut output = Output::new();
    for account in log.recovery.accounts() {
        print(account, &mut output.buffer);
    }
    let out = &mut output.buffer;
    for thread in log.recovery.threads() {
        if thread.lost + thread.dropped + thread.before_first > 0 {
            let _ = writeln!(
                out,
                "thread {:016x}/{}: {} records, {} lost, {} before the first one here, {} dropped by the writer",
                thread.run,
                thread.number.0,
                thread.records,
                thread.lost,
                thread.before_first,
                thread.dropped
            );
        }
    }
    for conflict in log.recovery.tables().conflicts() {
        let _ = writeln!(out, "{}", text::conflict(conflict));
    }
    let clean = log.recovery.is_clean();
    let verdict = if clean { "clean" } else { "damaged" };
    let _ = writeln!(out, "{verdict}: {} records lost", log.recovery.lost());
    output.flush()?;
    Ok(if clean {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(DAMAGED)
    })
}

fn print(account: &Account, out: &mut Vec<u8>) {
    let _ = writeln!(
        out,
        "{}: {} bytes, {} records",
        account.name, account.bytes, account.records[127]
    );
    let share = |tally: &Tally| match account.bytes {
        0 => 0.0,
        bytes => tally.bytes as f64 * 100.0 / bytes as f64,
    };
    for (what, tally) in [
        ("frames", &account.frames),
        ("padding", &account.padding),
        ("torn", &account.torn),
        ("damage", &account.damage),
    ] {
        let _ = writeln!(
            out,
            "  {what:8} {:>12} bytes {:>6.2} % in {}",
            tally.bytes,
            share(tally),
            tally.count
        );
    }
    for report in &account.gaps {
        if report.gap.kind != GapKind::Padding {
            let _ = writeln!(out, "  {}", text::gap(&account.name, report));
        }
    }
    if account.gaps_unlisted > 0 {
        let _ = writeln!(out, "  and {} more gaps", account.gaps_unlisted);
    }
    for line in text::losses(account) {
        let _ = writeln!(out, "  {line}");
    }
}
