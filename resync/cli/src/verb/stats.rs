//! `stats`: how much of what there is in a log.

use crate::args::{Answer, Filters, Images, Source};
use crate::choose::chosen;
use crate::count::{Counts, shown};
use crate::destination;
use crate::failure::Failure;
use crate::log::Log;
use crate::output::Output;
use crate::show::json::{Object, list, push_losses, push_string};
use crate::show::losses;
use logdef_resync::Recovery;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// `stats`: which records to count.
#[derive(Debug, clap::Args)]
pub struct Stats {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    #[command(flatten)]
    pub answer: Answer,
    /// Call sites to list in text, those with the most records first; JSON lists all
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
    /// Draw the records per time slice to a file
    #[arg(long, value_name = "OUT.svg")]
    pub svg: Option<PathBuf>,
}

impl Stats {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let log = Log::open(&self.source)?;
        log.must_hold_records()?;
        let counts = count(self, &log)?;
        if let Some(path) = &self.svg {
            let picture = counts.rates.svg();
            destination::write(path, |out| {
                out.write_all(picture.as_bytes())
                    .map_err(|error| Failure::output(path, error))
            })?;
        }
        let mut output = Output::new();
        if self.answer.is_json() {
            json(&counts, &log.recovery, &mut output.buffer)
        } else {
            text(&counts, self.top, &log.recovery, &mut output.buffer)
        }
        output.flush()?;
        log.report();
        Ok(log.status(&self.source))
    }
}

fn count(args: &Stats, log: &Log) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    chosen::for_each(log, &args.filters, &args.images, |data, place, resolver| {
        counts.add(data, place, resolver);
        Ok(())
    })?;
    Ok(counts)
}

fn text(counts: &Counts, top: usize, recovery: &Recovery, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{}", losses::count(counts.records, "record"));
    counts.rates.text(out);
    let share = |records: u64| records as f64 * 100.0 / counts.records.max(1) as f64;
    let line = |out: &mut Vec<u8>, records: u64, what: &str| {
        let _ = writeln!(out, "  {records:>12} {:>6.2} %  {what}", share(records));
    };
    let _ = writeln!(out, "by level");
    for (level, records) in counts.levels.iter().rev() {
        let level = level.map_or("none".into(), |level| level.to_string());
        line(out, *records, &level);
    }
    let more = if counts.of_other_sites > 0 {
        "more than "
    } else {
        ""
    };
    let _ = writeln!(out, "by call site ({more}{} in all)", counts.sites.len());
    for (key, site) in counts.ranked().into_iter().take(top) {
        let level = key.4.map_or(String::new(), |level| level.to_string());
        let mut what = format!("{level:5} {}  {}", site.place, site.format);
        for name in &site.attached {
            what += &format!(" {}=…", shown(name));
        }
        line(out, site.records, &what);
    }
    if counts.of_other_sites > 0 {
        line(out, counts.of_other_sites, "other call sites");
    }
    let _ = writeln!(out, "by run and thread");
    for (run, threads) in counts.runs() {
        let records = threads.iter().map(|(_, thread)| thread.records).sum();
        let name = run.map_or("none".into(), |run| format!("{run:016x}"));
        let pid = run.and_then(|run| recovery.tables().run(run)?.pid);
        let pid = pid.map_or(String::new(), |pid| format!(", pid {pid}"));
        line(out, records, &format!("run {name}{pid}"));
        for (number, thread) in threads {
            let number = number.map_or("?".into(), |number| number.0.to_string());
            let what = format!("  thread {number} {}", thread.name);
            line(out, thread.records, what.trim_end());
        }
    }
    if counts.of_other_threads > 0 {
        line(out, counts.of_other_threads, "other threads");
    }
    let _ = writeln!(out, "{}", recovery.losses());
}

fn json(counts: &Counts, recovery: &Recovery, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.number("records", Some(counts.records));
    let mut levels = Object::begin(object.key("levels"));
    for (level, records) in &counts.levels {
        let level = level.map_or("none".into(), |level| level.to_string());
        levels.number(&level, Some(*records));
    }
    levels.end();
    list(
        object.key("call_sites"),
        counts.ranked().into_iter(),
        |(key, site), out| {
            let mut object = Object::begin(out);
            object.number("records", Some(site.records));
            if let Some(level) = key.4 {
                object.string("level", level.to_string().as_bytes());
            }
            object.string("place", site.place.as_bytes());
            object.string("format", site.format.as_bytes());
            for (key, names) in [("names", &site.names), ("guessed_names", &site.guessed)] {
                if !names.is_empty() {
                    list(object.key(key), names.iter(), |name, out| {
                        push_string(name, out);
                    });
                }
            }
            object.end();
        },
    );
    list(
        object.key("threads"),
        counts.threads.iter(),
        |((run, number), thread), out| {
            let mut object = Object::begin(out);
            if let Some(run) = run {
                object.string("run", format!("{run:016x}").as_bytes());
            }
            object.number("number", number.map(|number| number.0));
            object.string("name", thread.name.as_bytes());
            object.number("records", Some(thread.records));
            object.end();
        },
    );
    for (key, records) in [
        ("of_other_call_sites", counts.of_other_sites),
        ("of_other_threads", counts.of_other_threads),
    ] {
        object.number(key, Some(records).filter(|records| *records > 0));
    }
    let mut rates = Object::begin(object.key("rates"));
    rates.number("start_ns", Some(counts.rates.start));
    rates.number("slice_ns", Some(counts.rates.slice));
    list(
        rates.key("records"),
        counts.rates.totals().iter(),
        |n, out| {
            crate::show::json::push_number(*n, out);
        },
    );
    rates.end();
    push_losses(recovery, &mut object);
    object.end();
    out.push(b'\n');
}
