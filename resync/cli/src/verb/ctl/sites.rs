//! The log calls of a living process: those that its program and its libraries have, whether they are on
//! now by the level and filter of its control page, and how many records of each are in the log.

use super::Whom;
use super::ask;
use super::page::Page;
use crate::args::{Answer, Filters, Images, Source};
use crate::choose::chosen;
use crate::count::{Counts, shown};
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::output::Output;
use crate::show::json::Object;
use logdef_symbolizer::{Locator, MappedCode};
use logdef_wire::control::{State, Wanted};
use logdef_wire::{Level, Run, directives, level_at};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// `ctl sites`: of which process.
#[derive(Debug, clap::Args)]
pub struct Sites {
    /// The log, its directory, or a control page
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The process with this number, where several log there
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    #[command(flatten)]
    answer: Answer,
    #[command(flatten)]
    images: Images,
}

/// What is equal of calls that are listed as one: the place, the level, the format.
type Key = (String, Option<u64>, Option<Level>, String);

/// A log call.
#[derive(Default)]
struct Site {
    module: Option<Arc<[u8]>>,
    /// Whether it is on. Not known of one that was made at run time, which only the log shows.
    is_on: Option<bool>,
    records: u64,
}

impl Sites {
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let whom = Whom {
            path: self.path.clone(),
            pid: self.pid,
            all: false,
            wait: None,
        };
        let living = ask::living(&whom)?;
        let Some((page, life)) = living.first() else {
            return Err(Failure::Usage(super::nothing_at(
                &self.path.display().to_string(),
            )));
        };
        let (Some(pid), Some(state)) = (life.pid, page.state()) else {
            return Err(Failure::Unreadable(format!(
                "{}: its process is in another container: run this command inside it",
                page.log().display()
            )));
        };
        let mut sites = in_images(pid, &log::locator(&self.images), &Gate::of(page, &state))?;
        count(page, state.run, &self.images, &mut sites)?;
        let mut output = Output::new();
        for (key, site) in &sites {
            if self.answer.is_json() {
                push_json(key, site, &mut output.buffer);
            } else {
                push_text(key, site, &mut output.buffer);
            }
            output.line()?;
        }
        output.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Which calls are on.
struct Gate {
    level: Level,
    filter: String,
    /// A level that was asked for from outside goes before that of the filter for all other places.
    is_level_asked_for: bool,
}

impl Gate {
    fn of(page: &Page, state: &State<'_>) -> Gate {
        Gate {
            level: state.level,
            filter: String::from_utf8_lossy(state.filter).into_owned(),
            is_level_asked_for: state.is_set && matches!(page.request().wanted, Wanted::Level(_)),
        }
    }

    fn is_on(&self, level: Level, file: &[u8], line: u32, module: Option<&[u8]>) -> bool {
        let directives = directives(&self.filter).flatten();
        let directives = directives.filter(|it| it.place.is_some() || !self.is_level_asked_for);
        level >= level_at(directives, file, line, module).unwrap_or(self.level)
    }
}

/// The calls in the program and the libraries of a process.
fn in_images(pid: u32, locator: &Locator, gate: &Gate) -> Result<BTreeMap<Key, Site>, Failure> {
    let maps = fs::read(format!("/proc/{pid}/maps"))
        .map_err(|error| Failure::Unreadable(format!("process {pid}: {error}")))?;
    let mut paths: Vec<String> = MappedCode::list(&String::from_utf8_lossy(&maps))
        .into_iter()
        .map(|code| code.path)
        .collect();
    paths.sort();
    paths.dedup();
    let mut sites = BTreeMap::new();
    for path in paths {
        // As the process sees it, which may be in another mount namespace.
        let path = PathBuf::from(format!("/proc/{pid}/root{path}"));
        let image = match locator.open(&path) {
            Ok(image) => image,
            Err(error) => {
                log::say(&error.to_string());
                continue;
            }
        };
        for site in image.call_sites() {
            let (file, module) = (&site.file.bytes, site.module.as_deref());
            let key = (
                shown(file),
                Some(site.line.into()),
                Some(site.level),
                shown(&site.format.bytes),
            );
            let entry: &mut Site = sites.entry(key).or_default();
            entry.module = site.module.clone();
            let is_on = gate.is_on(site.level, file, site.line, module);
            entry.is_on = Some(is_on || entry.is_on == Some(true));
        }
    }
    Ok(sites)
}

/// Adds the records that the log has of each.
fn count(
    page: &Page,
    run: Option<Run>,
    images: &Images,
    sites: &mut BTreeMap<Key, Site>,
) -> Result<(), Failure> {
    let files = logdef_resync::family(&page.log());
    let log = Log::open(&Source {
        files: files.into_iter().filter(|file| file.is_file()).collect(),
        strict: false,
        suspects: false,
        clock_offset: Vec::new(),
    })?;
    // A log without a record has no run yet.
    let known = run.filter(|run| log.recovery.tables().run(*run).is_some());
    let Some(run) = known else { return Ok(()) };
    let mut filters = Filters::default();
    filters.run.push(format!("{:016x}", run.0));
    let mut counts = Counts::default();
    chosen::for_each(&log, &filters, images, |data, place, resolver| {
        counts.add(data, place, resolver);
        Ok(())
    })?;
    for (key, site) in &counts.sites {
        let (file, line) = match site.place.rsplit_once(':') {
            Some((file, line)) => (file, line.parse().ok()),
            None => (&*site.place, None),
        };
        let key = (file.to_owned(), line, key.4, site.format.clone());
        sites.entry(key).or_default().records += site.records;
    }
    log.report();
    Ok(())
}

/// `records on LEVEL file:line "format" [module]`.
fn push_text((file, line, level, format): &Key, site: &Site, out: &mut Vec<u8>) {
    let state = match site.is_on {
        Some(true) => "on",
        Some(false) => "off",
        None => "",
    };
    let level = level.map_or(String::new(), |level| level.to_string());
    // Writing to a vector does not fail.
    let _ = write!(out, "{:>12} {state:3} {level:5} {file}", site.records);
    if let Some(line) = line {
        let _ = write!(out, ":{line}");
    }
    let _ = write!(out, "  {format}");
    if let Some(module) = &site.module {
        let _ = write!(out, " [{}]", shown(module));
    }
    out.push(b'\n');
}

fn push_json((file, line, level, format): &Key, site: &Site, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.string("file", file.as_bytes());
    object.number("line", *line);
    if let Some(level) = level {
        object.string("level", level.to_string().as_bytes());
    }
    object.string("format", format.as_bytes());
    object.text("module", site.module.as_deref());
    if let Some(is_on) = site.is_on {
        object.bool("on", is_on);
    }
    object.number("records", Some(site.records));
    object.end();
    out.push(b'\n');
}
