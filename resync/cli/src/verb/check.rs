//! `check`: what became of every byte, and which records are not there.

use crate::args::{Answer, Source};
use crate::destination;
use crate::failure::Failure;
use crate::log::Log;
use crate::output::Output;
use crate::show::escape;
use crate::show::json;
use crate::show::losses;
use crate::show::map;
use crate::show::words;
use logdef_resync::{Account, GapKind, Recovery, Tally};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// `check`: what to account for, and how to report it.
#[derive(Debug, clap::Args)]
#[command(after_help = words::help())]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub answer: Answer,
    /// Draw the files, one cell for each slice; to an SVG file if one is named
    #[arg(long, value_name = "OUT.svg", num_args = 0..=1)]
    pub map: Option<Option<PathBuf>>,
}

impl Check {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let mut source = self.source.clone();
        let picture = match &self.map {
            // `--map app.log`: what is no picture is a log.
            Some(Some(path)) if path.extension().is_none_or(|end| end != "svg") => {
                source.files.insert(0, path.clone());
                None
            }
            Some(picture) => picture.as_ref(),
            None => None,
        };
        let log = Log::open(&source)?;
        log.must_hold_records()?;
        let mut output = Output::new();
        if self.answer.is_json() {
            json::check(&log.recovery, &mut output.buffer)
        } else {
            for line in log.cuts() {
                push_line(&line, &mut output.buffer);
            }
            print(&log.recovery, &mut output.buffer)
        }
        if let Some(path) = picture {
            let picture = map::svg(&log)?;
            destination::write(path, |out| {
                out.write_all(picture.as_bytes())
                    .map_err(|error| Failure::output(path, error))
            })?;
        } else if self.map.is_some() && !self.answer.is_json() {
            let color = output.has_color();
            map::text(&log, color, &mut output.buffer)?;
        }
        output.flush()?;
        source.strict = true;
        Ok(log.status(&source))
    }
}

fn print(recovery: &Recovery, out: &mut Vec<u8>) {
    for account in recovery.accounts() {
        print_account(account, out);
    }
    for thread in recovery.threads() {
        if thread.lost + thread.dropped + thread.pruned > 0 {
            let _ = writeln!(
                out,
                "thread {:016x}/{}: {} records, {} missing, {} dropped, {} pruned",
                thread.run,
                thread.number.0,
                thread.records,
                thread.lost,
                thread.dropped,
                thread.pruned
            );
        }
    }
    for conflict in recovery.tables().conflicts() {
        push_line(&losses::conflict(conflict), out);
    }
    let _ = writeln!(out, "{}", recovery.losses());
}

fn print_account(account: &Account, out: &mut Vec<u8>) {
    push_line(
        &format!(
            "{}: {}, {}",
            account.name,
            losses::count(account.bytes, "byte"),
            losses::count(account.data(), "record")
        ),
        out,
    );
    let share = |tally: &Tally| match account.bytes {
        0 => 0.0,
        bytes => tally.bytes as f64 * 100.0 / bytes as f64,
    };
    for (what, tally) in [
        ("frames", &account.frames),
        ("padding", &account.padding),
        ("torn", &account.torn),
        ("damaged", &account.damage),
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
            push_line(&format!("  {}", losses::gap(&account.name, report)), out);
        }
    }
    if account.gaps_unlisted > 0 {
        let _ = writeln!(out, "  and {} more gaps", account.gaps_unlisted);
    }
    for line in losses::of(account) {
        push_line(&format!("  {line}"), out);
    }
}

/// A line that quotes names.
fn push_line(line: &str, out: &mut Vec<u8>) {
    escape::push(line.as_bytes(), out);
    out.push(b'\n');
}
