//! The page: one HTML file that asks for nothing from anywhere. Its own style and script are
//! admitted by their digests, and nothing else may run.

use crate::count::rates::Band;
use crate::log::Log;
use crate::report::changes::Change;
use crate::report::endings::Ending;
use crate::report::facts::Facts;
use crate::report::flame;
use crate::report::latest::Kept;
use crate::report::redact::Redact;
use crate::show::{clock, losses, markup, text};
use data_encoding::BASE64;
use logdef_resync::{Glance, Resolver};
use logdef_wire::record::Kind;
use logdef_wire::{Level, Record, Run};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Runs, threads and sites that are listed.
const RUNS: usize = 32;
const THREADS: usize = 48;
const SITES: usize = 40;
/// Bytes that a list of records may take, so that the page stays below 2 MB.
const RECORDS_BYTES: usize = 500 << 10;
const THREADS_BYTES: usize = 150 << 10;
/// Bytes of a message and of a backtrace that are shown.
const MESSAGE: usize = 1_000;
const BACKTRACE: usize = 4_000;

/// What the call sites are compared with, and what changed.
pub struct Compared {
    pub with: String,
    pub before: u64,
    pub changes: Vec<Change>,
}

pub struct Page<'p> {
    pub title: String,
    pub log: &'p Log,
    pub facts: &'p Facts,
    pub redact: &'p Redact,
    pub compared: Option<Compared>,
    /// The picture of the damage.
    pub map: String,
}

impl Page<'_> {
    /// The whole page.
    pub fn html(&self, resolver: &mut Resolver<'_>) -> String {
        let mut out = String::new();
        self.head(&mut out);
        self.endings(&mut out);
        self.threads(resolver, &mut out);
        self.rates(&mut out);
        self.lanes(&mut out);
        self.sites(&mut out);
        self.changes(&mut out);
        self.flame(&mut out);
        self.damage(&mut out);
        self.records(resolver, &mut out);
        let _ = write!(
            out,
            "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        );
        out
    }

    fn text(&self, bytes: &[u8]) -> String {
        markup::text(&self.redact.text(bytes))
    }

    fn head(&self, out: &mut String) {
        let title = self.text(self.title.as_bytes());
        let digest = |text: &str| BASE64.encode(&Sha256::digest(text));
        let (style, script) = (digest(STYLE), digest(SCRIPT));
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>Report: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<h1>Report: {title}</h1>\n"
        );
        let counts = &self.facts.counts;
        let records = losses::count(counts.records, "record");
        let runs = losses::count(self.runs().len() as u64, "run");
        let (from, to) = counts.rates.ends();
        let _ = match counts.records {
            0 => writeln!(out, "<p class=\"quiet\">No records.</p>"),
            _ => writeln!(
                out,
                "<p class=\"quiet\">{records} of {runs}, {} to {} UTC.</p>",
                point(from),
                point(to)
            ),
        };
        let verdict = self.text(self.log.recovery.losses().to_string().as_bytes());
        let bad = if self.log.recovery.is_clean() {
            ""
        } else {
            " bad"
        };
        let _ = writeln!(
            out,
            "<p class=\"verdict{bad}\"><strong>{verdict}</strong></p>"
        );
        out.push_str("<nav aria-label=\"Parts of the report\"><ul>");
        for (id, name) in [
            ("endings", "How it ended"),
            ("threads", "Last of each thread"),
            ("rates", "Over time"),
            ("lanes", "Threads"),
            ("sites", "Call sites"),
            ("damage", "Damage"),
            ("records", "Last records"),
        ] {
            let _ = write!(out, "<li><a href=\"#{id}\">{name}</a></li>");
        }
        out.push_str("</ul></nav>\n</header>\n<main>\n");
    }

    /// The runs of which there are records or notes.
    fn runs(&self) -> Vec<Run> {
        let threads = self.facts.counts.threads.keys();
        let mut runs: Vec<Run> = threads.filter_map(|(run, _)| *run).collect();
        runs.extend(self.facts.endings.runs.keys());
        runs.sort();
        runs.dedup();
        let began = |run: &Run| self.log.recovery.tables().run(*run)?.realtime;
        runs.sort_by_key(|run| (began(run), *run));
        runs
    }

    fn endings(&self, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"endings\">How it ended</h2>\n");
        let runs = self.runs();
        let left_out = runs.len().saturating_sub(RUNS);
        if left_out > 0 {
            let _ = writeln!(
                out,
                "<p class=\"quiet\">{left_out} earlier runs are left out.</p>"
            );
        }
        let none = Ending::default();
        for run in runs.iter().skip(left_out).rev() {
            let ending = self.facts.endings.runs.get(run).unwrap_or(&none);
            self.ending(*run, ending, out);
        }
        if runs.is_empty() {
            out.push_str("<p>The log names no run.</p>\n");
        }
        out.push_str("</section>\n");
    }

    fn ending(&self, run: Run, ending: &Ending, out: &mut String) {
        let tables = self.log.recovery.tables();
        let info = tables.run(run);
        let image = tables
            .images_of(run)
            .first()
            .map(|magic| tables.image_or_magic(*magic));
        let path = image.map(|image| image.path).unwrap_or_default();
        let path = if path.is_empty() {
            "program unknown".into()
        } else {
            self.text(&path)
        };
        let pid = info.and_then(|info| info.pid);
        let pid = pid.map_or(String::new(), |pid| format!(", pid {pid}"));
        let _ = writeln!(out, "<h3>{path}{pid}, run {run:016x}</h3>");
        let host = info.and_then(|info| info.host.as_deref());
        let host = host.map_or(String::new(), |host| format!(" on {}", self.text(host)));
        if let Some(time) = info.and_then(|info| info.realtime) {
            let _ = writeln!(out, "<p>Opened its log at {} UTC{host}.</p>", point(time));
        }
        match &ending.words {
            Some(words) => {
                let at = ending.time.map_or(String::new(), |time| format!(", {} UTC", point(time)));
                let class = if words.contains("killed") { "signal" } else { "" };
                let words = markup::text(words.as_bytes());
                let _ = writeln!(out, "<p class=\"{class}\">It {words}{at}.</p>");
            }
            None => out.push_str(
                "<p>It wrote no note about its end: it was killed (SIGKILL, loss of power), or is still running.</p>\n",
            ),
        }
        for panic in &ending.panics {
            let _ = writeln!(
                out,
                "<p class=\"signal\">Panic: {}</p>",
                markup::text(cut(panic, MESSAGE))
            );
        }
        if !ending.stack.is_empty() {
            let _ = writeln!(
                out,
                "<pre tabindex=\"0\">{}</pre>",
                lines(cut(&ending.stack, BACKTRACE))
            );
        }
    }

    fn threads(&self, resolver: &mut Resolver<'_>, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"threads\">Last records of each thread</h2>\n");
        if self.is_empty(out) {
            return;
        }
        let mut threads: Vec<_> = self.facts.latest.of_threads.iter().collect();
        // Those that logged last come first.
        let time = |kept: &Kept| Glance::of(&kept.body)?.time;
        threads.sort_by_key(|(key, ring)| {
            let last = ring.iter().next_back().and_then(time);
            (std::cmp::Reverse(last), **key)
        });
        let begun = out.len();
        let mut shown = 0;
        // Threads of several runs have the same numbers.
        let runs: BTreeSet<_> = threads.iter().map(|((run, _), _)| run).collect();
        let of_run = |run: &Option<Run>| match run {
            Some(run) if runs.len() > 1 => format!(", run {:016x}", run.0),
            _ => String::new(),
        };
        for ((run, number), ring) in threads.iter().take(THREADS) {
            if out.len() - begun > THREADS_BYTES {
                break;
            }
            let thread = number.map_or("?".into(), |number| number.0.to_string());
            let name = format!("last records of thread {thread}{}", of_run(run));
            self.table(&name, None, ring.iter(), THREADS_BYTES, resolver, out);
            shown += 1;
        }
        if threads.len() > shown {
            let _ = writeln!(
                out,
                "<p class=\"quiet\">{} more threads logged nothing later.</p>",
                threads.len() - shown
            );
        }
        out.push_str("</section>\n");
    }

    /// Whether the log has no record, of which a section says no more than that.
    fn is_empty(&self, out: &mut String) -> bool {
        let is_empty = self.facts.counts.records == 0;
        if is_empty {
            out.push_str("<p>No records.</p>\n</section>\n");
        }
        is_empty
    }

    /// A table of records, the latest `bytes` bytes of them.
    fn table<'k>(
        &self,
        caption: &str,
        id: Option<&str>,
        records: impl DoubleEndedIterator<Item = &'k Kept>,
        bytes: usize,
        resolver: &mut Resolver<'_>,
        out: &mut String,
    ) {
        let (mut rows, mut len) = (Vec::new(), 0);
        for kept in records.rev() {
            if len > bytes {
                break;
            }
            let mut row = String::new();
            self.row(kept, resolver, &mut row);
            len += row.len();
            rows.push(row);
        }
        let id = id.map_or(String::new(), |id| format!(" id=\"{id}\""));
        let _ = write!(
            out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table{id}>\n\
             <caption>{caption}</caption>\n<thead><tr><th scope=\"col\">Time, UTC</th>\
             <th scope=\"col\">Level</th><th scope=\"col\">Thread</th><th scope=\"col\">Place</th>\
             <th scope=\"col\">Message</th></tr></thead>\n<tbody>\n"
        );
        rows.iter().rev().for_each(|row| out.push_str(row));
        out.push_str("</tbody></table></div>\n");
    }

    fn row(&self, kept: &Kept, resolver: &mut Resolver<'_>, out: &mut String) {
        let Ok(Record::Data(data)) = Record::decode(&kept.body) else {
            return;
        };
        let stack = resolver.backtrace(&data, kept.place);
        let record = resolver.resolve(&data, kept.place);
        let band = Band::of(data.level).name();
        let level = data.level.map_or("-".into(), |level| level.to_string());
        let name = record.thread.and_then(|thread| thread.name.as_deref());
        let name = self.text(name.unwrap_or_default());
        let number = data.sequence.map(|sequence| sequence.number().0);
        let number = number.map_or("?".into(), |number| number.to_string());
        let place = match record.source_file() {
            Some(file) => {
                let line = record.source_line().unwrap_or(0);
                format!("{}:{line}", self.text(file))
            }
            None => "-".into(),
        };
        let kind = match data.kind {
            Some(Kind::BEGIN) => "begin ",
            Some(Kind::END) => "end ",
            _ => "",
        };
        let message = self.redact.message(&record);
        let message = markup::text(cut(&message, MESSAGE));
        let time = data.time.map_or("-".into(), point);
        let _ = write!(
            out,
            "<tr data-band=\"{band}\"><td class=\"time\">{time}</td><td class=\"level {band}\">{level}</td>\
             <td class=\"thread\">{name}/{number}</td><td class=\"place\">{place}</td><td>{kind}{message}"
        );
        if !stack.is_empty() {
            let stack = self.redact.text(&text::backtrace(&stack));
            let _ = write!(
                out,
                "<details><summary>backtrace</summary><pre>{}</pre></details>",
                lines(cut(&stack, BACKTRACE))
            );
        }
        out.push_str("</td></tr>\n");
    }

    fn rates(&self, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"rates\">Records over time</h2>\n");
        if self.is_empty(out) {
            return;
        }
        let counts = &self.facts.counts;
        out.push_str(&counts.rates.svg());
        out.push_str(
            "<table class=\"narrow\"><caption>records by level</caption><thead><tr><th scope=\"col\">Level</th>\
             <th scope=\"col\" class=\"number\">Records</th></tr></thead><tbody>",
        );
        for (level, records) in counts.levels.iter().rev() {
            let level = level.map_or("none".into(), |level| level.to_string());
            let _ = write!(
                out,
                "<tr><td>{level}</td><td class=\"number\">{records}</td></tr>"
            );
        }
        out.push_str("</tbody></table>\n</section>\n");
    }

    fn lanes(&self, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"lanes\">Threads over time</h2>\n");
        let lanes = &self.facts.lanes;
        if lanes.is_empty() {
            out.push_str("<p>No thread logged.</p>\n");
        } else {
            out.push_str(
                "<p class=\"quiet\">A lane for each thread: the most severe record of each slice in its colour, and below it the longest spans.</p>\n",
            );
            out.push_str(&lanes.svg());
            if lanes.left_out() > 0 {
                let _ = writeln!(
                    out,
                    "<p class=\"quiet\">{} threads with fewer errors and records are left out.</p>",
                    lanes.left_out()
                );
            }
        }
        out.push_str("</section>\n");
    }

    fn sites(&self, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"sites\">Call sites</h2>\n");
        if self.is_empty(out) {
            return;
        }
        let counts = &self.facts.counts;
        let _ = writeln!(
            out,
            "<table><caption>those with the most records, of {} in all</caption>\
             <thead><tr><th scope=\"col\" class=\"number\">Records</th><th scope=\"col\">Level</th>\
             <th scope=\"col\">Place</th><th scope=\"col\">Format</th></tr></thead><tbody>",
            counts.sites.len()
        );
        for (key, site) in counts.ranked().into_iter().take(SITES) {
            let _ = writeln!(
                out,
                "<tr><td class=\"number\">{}</td>{}</tr>",
                site.records,
                self.site(key.4, &site.place, &site.format)
            );
        }
        out.push_str("</tbody></table>\n</section>\n");
    }

    fn site(&self, level: Option<Level>, place: &str, format: &str) -> String {
        let band = Band::of(level).name();
        let level = level.map_or("-".into(), |level| level.to_string());
        let place = self.text(place.as_bytes());
        let format = self.text(cut(format.as_bytes(), MESSAGE));
        format!(
            "<td class=\"level {band}\">{level}</td><td class=\"place\">{place}</td><td>{format}</td>"
        )
    }

    fn changes(&self, out: &mut String) {
        let Some(compared) = &self.compared else {
            return;
        };
        let with = self.text(compared.with.as_bytes());
        let before = losses::count(compared.before, "record");
        let _ = writeln!(
            out,
            "<section>\n<h2 id=\"changes\">What changed</h2>\n<p class=\"quiet\">Compared with {with}: {before}. \
             The factor is that of the share in all records.</p>"
        );
        if compared.changes.is_empty() {
            out.push_str("<p>No call site changed its share by half and by more than chance.</p>\n</section>\n");
            return;
        }
        out.push_str(
            "<table><caption>call sites that changed, the most surprising first</caption><thead><tr>\
             <th scope=\"col\">Change</th><th scope=\"col\" class=\"number\">Before</th>\
             <th scope=\"col\" class=\"number\">Now</th><th scope=\"col\">Level</th><th scope=\"col\">Place</th>\
             <th scope=\"col\">Format</th></tr></thead><tbody>\n",
        );
        for change in compared.changes.iter().take(SITES) {
            let factor = match (change.before, change.now) {
                (0, _) => "new".into(),
                (_, 0) => "gone".into(),
                _ => format!("× {:.2}", change.factor),
            };
            let site = self.site(change.level, &change.place, &change.format);
            let _ = writeln!(
                out,
                "<tr><td>{factor}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>{site}</tr>",
                change.before, change.now
            );
        }
        out.push_str("</tbody></table>\n</section>\n");
    }

    fn flame(&self, out: &mut String) {
        if let Some(picture) = flame::svg(&self.facts.stacks, self.redact) {
            let _ = write!(
                out,
                "<section>\n<h2 id=\"flame\">Where backtraces came from</h2>\n{picture}</section>\n"
            );
        }
    }

    fn damage(&self, out: &mut String) {
        let _ = write!(
            out,
            "<section>\n<h2 id=\"damage\">What is in the files</h2>\n{}",
            self.map
        );
        let accounts = self.log.recovery.accounts();
        let lost = accounts.iter().flat_map(losses::of);
        for line in lost.take(20) {
            let _ = writeln!(out, "<p>{}</p>", self.text(line.as_bytes()));
        }
        let threads = self.log.recovery.threads().iter();
        let short = threads.filter(|thread| thread.lost + thread.dropped > 0);
        for thread in short.take(20) {
            let _ = writeln!(
                out,
                "<p>Thread {:016x}/{}: {} records, {} missing, {} dropped.</p>",
                thread.run, thread.number.0, thread.records, thread.lost, thread.dropped
            );
        }
        out.push_str("</section>\n");
    }

    fn records(&self, resolver: &mut Resolver<'_>, out: &mut String) {
        out.push_str("<section>\n<h2 id=\"last\">Last records</h2>\n");
        if self.is_empty(out) {
            return;
        }
        out.push_str(
            "<div class=\"controls\" hidden>\
             <label>With the text <input id=\"text\" type=\"search\" autocomplete=\"off\"></label>\
             <label>At least <select id=\"level\"><option value=\"other\">any level</option>\
             <option value=\"info\">INFO</option><option value=\"warn\">WARN</option>\
             <option value=\"error\">ERROR</option></select></label>\
             <p id=\"found\" role=\"status\"></p></div>\n",
        );
        let latest = &self.facts.latest.of_all;
        let caption = format!("the last records, {} at most", latest.len());
        self.table(
            &caption,
            Some("records"),
            latest.iter(),
            RECORDS_BYTES,
            resolver,
            out,
        );
        out.push_str("</section>\n");
    }
}

/// A time in UTC, to the microsecond.
fn point(time: u64) -> String {
    let mut out = Vec::new();
    clock::push_rfc3339(time, &mut out);
    let text = String::from_utf8_lossy(&out).replace('T', " ");
    let to_the_second = text.find('.').unwrap_or(text.len());
    text.chars().take(to_the_second + 7).collect()
}

/// The first bytes of a text.
fn cut(text: &[u8], most: usize) -> &[u8] {
    &text[..text.len().min(most)]
}

/// Lines that were escaped apart stay lines.
fn lines(text: &[u8]) -> String {
    let lines = text.split(|byte| *byte == b'\n').map(markup::text);
    lines.collect::<Vec<_>>().join("\n")
}
