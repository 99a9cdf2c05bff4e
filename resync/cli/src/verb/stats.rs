//! `stats`: how much of what there is in a log.

use crate::args::{Answer, Filters, Images, Source};
use crate::choose::chosen;
use crate::destination;
use crate::failure::Failure;
use crate::log::Log;
use crate::output::Output;
use crate::show::clock;
use crate::show::draw::{Svg, sparkline};
use crate::show::escape;
use crate::show::json::{Object, list, push_losses};
use crate::show::losses;
use logdef_resync::{Place, Recovery, Resolved, Resolver};
use logdef_wire::record::Data;
use logdef_wire::{Level, Magic, Run, Svma, ThreadNumber};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::ops::Range;
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

/// Call sites and threads that are counted one by one, and bytes of their texts; the others of
/// a log that has more are counted together.
const SITES: usize = 1 << 16;
const THREADS: usize = 1 << 16;
const TEXTS: usize = 32 << 20;
/// Slices of time that rates are shown in.
const SLICES: usize = 64;
/// A bar in SVG, in units.
const BAR: usize = 10;
const BAR_HEIGHT: usize = 100;

/// Where a record was logged. Equal call sites are the same template.
type CallSite = (
    Option<Magic>,
    Option<Svma>,
    Option<Svma>,
    Option<u64>,
    Option<Level>,
);

/// Counts of records.
#[derive(Default)]
struct Counts {
    records: u64,
    levels: BTreeMap<Option<Level>, u64>,
    sites: HashMap<CallSite, Site>,
    /// Records of call sites that are not counted one by one.
    of_other_sites: u64,
    threads: BTreeMap<(Option<Run>, Option<ThreadNumber>), Thread>,
    of_other_threads: u64,
    /// Bytes of the texts of sites and threads.
    texts: usize,
    rates: Rates,
}

struct Site {
    records: u64,
    /// One of them, for its strings.
    place: String,
    format: String,
}

struct Thread {
    records: u64,
    name: String,
}

/// Records in slices of equal length. As the span grows, slices join.
struct Rates {
    start: u64,
    /// Nanoseconds of a slice.
    slice: u64,
    counts: Vec<u64>,
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
            counts.json(&log.recovery, &mut output.buffer)
        } else {
            counts.text(self.top, &log.recovery, &mut output.buffer)
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

impl Counts {
    fn add(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        self.records += 1;
        *self.levels.entry(data.level).or_default() += 1;
        if let Some(time) = data.time {
            self.rates.add(time);
        }
        self.add_to_site(data, place, resolver);
        self.add_to_thread(data, place, resolver);
    }

    fn add_to_site(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        let key = (data.magic, data.format, data.file, data.line, data.level);
        if let Some(site) = self.sites.get_mut(&key) {
            site.records += 1;
            return;
        }
        if self.sites.len() >= SITES || self.texts >= TEXTS {
            self.of_other_sites += 1;
            return;
        }
        let resolved = resolver.resolve(data, place);
        let site = Site {
            records: 1,
            place: source(&resolved),
            format: shown(resolved.format.bytes.unwrap_or(b"?")),
        };
        self.texts += site.place.len() + site.format.len();
        self.sites.insert(key, site);
    }

    fn add_to_thread(&mut self, data: &Data<'_>, place: Place, resolver: &mut Resolver<'_>) {
        let key = (data.run, data.sequence.map(|sequence| sequence.number()));
        if let Some(thread) = self.threads.get_mut(&key) {
            thread.records += 1;
            return;
        }
        if self.threads.len() >= THREADS || self.texts >= TEXTS {
            self.of_other_threads += 1;
            return;
        }
        let resolved = resolver.resolve(data, place);
        let name = resolved.thread.and_then(|thread| thread.name.as_deref());
        let name = name.map_or(String::new(), shown);
        self.texts += name.len();
        self.threads.insert(key, Thread { records: 1, name });
    }

    fn text(&self, top: usize, recovery: &Recovery, out: &mut Vec<u8>) {
        let _ = writeln!(out, "{}", losses::count(self.records, "record"));
        self.rates.text(out);
        let share = |records: u64| records as f64 * 100.0 / self.records.max(1) as f64;
        let line = |out: &mut Vec<u8>, records: u64, what: &str| {
            let _ = writeln!(out, "  {records:>12} {:>6.2} %  {what}", share(records));
        };
        let _ = writeln!(out, "by level");
        for (level, records) in self.levels.iter().rev() {
            let level = level.map_or("none".into(), |level| level.to_string());
            line(out, *records, &level);
        }
        let more = if self.of_other_sites > 0 {
            "more than "
        } else {
            ""
        };
        let _ = writeln!(out, "by call site ({more}{} in all)", self.sites.len());
        for (key, site) in self.ranked().into_iter().take(top) {
            let level = key.4.map_or(String::new(), |level| level.to_string());
            let what = format!("{level:5} {}  {}", site.place, site.format);
            line(out, site.records, &what);
        }
        if self.of_other_sites > 0 {
            line(out, self.of_other_sites, "other call sites");
        }
        let _ = writeln!(out, "by run and thread");
        for (run, threads) in self.runs() {
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
        if self.of_other_threads > 0 {
            line(out, self.of_other_threads, "other threads");
        }
        let _ = writeln!(out, "{}", recovery.losses());
    }

    fn json(&self, recovery: &Recovery, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.number("records", Some(self.records));
        let mut levels = Object::begin(object.key("levels"));
        for (level, records) in &self.levels {
            let level = level.map_or("none".into(), |level| level.to_string());
            levels.number(&level, Some(*records));
        }
        levels.end();
        list(
            object.key("call_sites"),
            self.ranked().into_iter(),
            |(key, site), out| {
                let mut object = Object::begin(out);
                object.number("records", Some(site.records));
                if let Some(level) = key.4 {
                    object.string("level", level.to_string().as_bytes());
                }
                object.string("place", site.place.as_bytes());
                object.string("format", site.format.as_bytes());
                object.end();
            },
        );
        list(
            object.key("threads"),
            self.threads.iter(),
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
            ("of_other_call_sites", self.of_other_sites),
            ("of_other_threads", self.of_other_threads),
        ] {
            object.number(key, Some(records).filter(|records| *records > 0));
        }
        let mut rates = Object::begin(object.key("rates"));
        rates.number("start_ns", Some(self.rates.start));
        rates.number("slice_ns", Some(self.rates.slice));
        list(rates.key("records"), self.rates.counts.iter(), |n, out| {
            crate::show::json::push_number(*n, out);
        });
        rates.end();
        push_losses(recovery, &mut object);
        object.end();
        out.push(b'\n');
    }

    /// Call sites, the busiest first.
    fn ranked(&self) -> Vec<(&CallSite, &Site)> {
        let mut ranked: Vec<_> = self.sites.iter().collect();
        ranked.sort_by(|(_, a), (_, b)| {
            (b.records.cmp(&a.records))
                .then_with(|| a.place.cmp(&b.place))
                .then_with(|| a.format.cmp(&b.format))
        });
        ranked
    }

    fn runs(&self) -> BTreeMap<Option<Run>, Vec<(Option<ThreadNumber>, &Thread)>> {
        let mut runs = BTreeMap::<_, Vec<_>>::new();
        for ((run, number), thread) in &self.threads {
            runs.entry(*run).or_default().push((*number, thread));
        }
        runs
    }
}

impl Default for Rates {
    fn default() -> Rates {
        Rates {
            start: 0,
            slice: 1,
            counts: Vec::new(),
        }
    }
}

impl Rates {
    fn add(&mut self, time: u64) {
        if self.counts.is_empty() {
            self.start = time;
        }
        // Records come by time, but for those of a clock that was set back.
        let passed = time.saturating_sub(self.start);
        while passed / self.slice >= SLICES as u64 {
            let joined = self.counts.chunks(2).map(|pair| pair.iter().sum());
            self.counts = joined.collect();
            self.slice *= 2;
        }
        let at = (passed / self.slice) as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    fn span(&self, slices: Range<usize>) -> (String, String) {
        let edge = |slice: usize| {
            let mut out = Vec::new();
            let time = self
                .start
                .saturating_add(self.slice.saturating_mul(slice as u64));
            clock::push_rfc3339(time, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        (edge(slices.start), edge(slices.end))
    }

    fn text(&self, out: &mut Vec<u8>) {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return;
        }
        let (from, to) = self.span(0..self.counts.len());
        let _ = writeln!(out, "{from} to {to}");
        let slice = self.slice as f64 / 1e9;
        let _ = writeln!(
            out,
            "[{}] at most {most} in {slice} s",
            sparkline(&self.counts)
        );
    }

    fn svg(&self) -> String {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let mut svg = Svg::new(SLICES * BAR + 20, BAR_HEIGHT + 40);
        for (number, count) in self.counts.iter().enumerate() {
            let height = (u128::from(*count) * BAR_HEIGHT as u128).div_ceil(u128::from(most));
            let height = height as usize;
            let (from, to) = self.span(number..number + 1);
            let tip = format!("{from} to {to}: {}", losses::count(*count, "record"));
            let (x, y) = (number * BAR + 10, 10 + BAR_HEIGHT - height);
            svg.rect(x, y, BAR - 1, height, "#4a7c9c", &tip);
        }
        let (from, to) = self.span(0..self.counts.len());
        let slice = self.slice as f64 / 1e9;
        let label = format!("{from} to {to}, at most {most} in {slice} s");
        svg.label(10, BAR_HEIGHT + 26, &label);
        svg.finish()
    }
}

fn source(record: &Resolved<'_>) -> String {
    let file = record.file.bytes.map_or("?".into(), shown);
    match record.data.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

fn shown(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    escape::push(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_join_as_the_span_grows_and_nothing_is_lost() {
        let mut rates = Rates::default();
        let mut added = 0;
        for step in 0..10_000_u64 {
            rates.add(1_000 + step * step);
            added += 1;
            assert!(rates.counts.len() <= SLICES);
        }
        rates.add(u64::MAX);
        rates.add(0);
        assert_eq!(rates.counts.iter().sum::<u64>(), added + 2);
    }
}
