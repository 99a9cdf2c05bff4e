//! The command line.

use crate::choose::condition::Condition;
use crate::choose::filter::Site;
use crate::choose::when::{self, Moment};
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use logdef_fuchsia::structured::Severity;
use logdef_resync::MergeOptions;
use logdef_wire::{Avma, Level};
use regex::bytes::Regex;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::str::FromStr;

/// Shows, checks, repairs and converts crash-resilient logs.
///
/// Without a verb the log is shown: `logdef app.log`.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_STATUS)]
pub struct Args {
    /// When to use colour.
    #[arg(
        long,
        value_enum,
        global = true,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub color: Color,
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_STATUS: &str = "\
Exit status: 0 the log was read and is clean (a torn end is: that is what a crash looks
like), 2 usage, 3 damage was found (check, or any verb with --strict), 4 a file could not be
read, or is no log.";

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show records, by time
    View(Box<View>),
    /// Account for every byte, and say what was lost
    Check(Check),
    /// Count records by level, call site, run and thread, and over time
    Stats(Box<Stats>),
    /// Write what survives to a clean file, with lost logdefs rebuilt
    Recover(Rewrite),
    /// Join logs into one, by time
    Merge(Rewrite),
    /// Show frames and fields as they stand
    Dump(Dump),
    /// Write records in a form that other tools read
    Export(Box<Export>),
    /// Make a log of what other programs wrote, so that all verbs serve it
    Import(Import),
    /// Look into traces in the Fuchsia trace format, whoever wrote them
    Fxt(Fxt),
    /// List the log calls in a program or library, also those never reached
    Sites(Sites),
    /// Put names to the addresses in a log, in text or in Fuchsia's symbolizer markup
    Symbolize(Symbolize),
    /// Take records of many programs over a socket, keep them in a log, answer queries
    Serve(Serve),
    /// Show what a log service has, and what comes
    Stream(Stream),
    /// Send a record to a log service, as a script does
    Send(Send),
    /// Print completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What every verb reads.
#[derive(Clone, Debug, ClapArgs)]
pub struct Source {
    /// Log files, directories of them (names in *.log, *.logdef, and those with .gz or
    /// .zst behind) and patterns; `-`, or nothing, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Exit with status 3 if damage was found
    #[arg(long)]
    pub strict: bool,
}

/// Where programs and libraries are looked for.
#[derive(Debug, ClapArgs)]
pub struct Images {
    /// Look for images in this directory too
    #[arg(long, value_name = "DIR")]
    pub image_dir: Vec<PathBuf>,
    /// Do not open files under the paths that the log names. By default they are
    /// tried first, and used if size and SHA-1, or the build ID, are the logged
    /// ones
    #[arg(long)]
    pub no_logged_paths: bool,
    /// Look for debug files in this directory too
    #[arg(long, value_name = "DIR")]
    pub debug_dir: Vec<PathBuf>,
    /// Ask the servers that DEBUGINFOD_URLS names for what is nowhere else. They
    /// learn which programs are looked into
    #[cfg(feature = "debuginfod")]
    #[arg(long)]
    pub debuginfod: bool,
}

#[derive(Debug, ClapArgs)]
pub struct View {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// How records look
    #[arg(
        short,
        long,
        value_enum,
        default_value = "short",
        value_name = "FORM",
        env = "LOGDEF_OUTPUT",
        help_heading = "How they look"
    )]
    pub output: Form,
    /// How times look in text for people
    #[arg(
        long,
        value_enum,
        default_value = "local",
        value_name = "FORM",
        env = "LOGDEF_TIME",
        help_heading = "How they look"
    )]
    pub time: TimeForm,
    /// How backtraces look in text for people
    #[arg(
        long,
        value_enum,
        default_value = "short",
        value_name = "FORM",
        env = "LOGDEF_BACKTRACE",
        help_heading = "How they look"
    )]
    pub backtrace: Backtrace,
    /// Say where formats and file names come from, where it is not the log
    #[arg(long, help_heading = "How they look")]
    pub provenance: bool,
    /// In text for people, make source lines links that terminals follow
    #[arg(long, help_heading = "How they look")]
    pub hyperlinks: bool,
    /// Show neighbours from the same call site as one
    #[arg(long, help_heading = "How they look")]
    pub fold: bool,
    /// Show so many records after each that was searched for
    #[arg(short = 'A', long, value_name = "N", help_heading = "Context")]
    pub after: Option<usize>,
    /// Show so many records before each
    #[arg(short = 'B', long, value_name = "N", help_heading = "Context")]
    pub before: Option<usize>,
    /// Show so many records before and after each
    #[arg(short = 'C', long, value_name = "N", help_heading = "Context")]
    pub context: Option<usize>,
    /// Stop after so many records that match
    #[arg(short = 'n', long, value_name = "N", help_heading = "Context")]
    pub head: Option<u64>,
    /// Show the last so many records that match only; with --follow, begin with
    /// them (10 unless told). Where the log tells of its chunks it is read from its
    /// end, and nothing is said of damage before that, unless with --strict
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "head",
        help_heading = "Context"
    )]
    pub tail: Option<usize>,
    /// Go on as the logs grow and are rotated
    #[arg(short, long, conflicts_with = "fold", help_heading = "Context")]
    pub follow: bool,
}

/// Which records. Run, process, thread and time choose the log that is looked
/// at; the others search in it.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Which records")]
pub struct Filters {
    /// At this level or above: trace, debug, info, warn, error, fatal or a number
    #[arg(short, long, value_parser = level, value_name = "LEVEL")]
    pub level: Option<Level>,
    /// Not before: 2026-05-01T10:30:00Z, 10:30, yesterday, -15m. Chunks that ended
    /// before are not looked into, but to check them
    #[arg(long, value_parser = when::parse, allow_hyphen_values = true, value_name = "TIME")]
    pub since: Option<Moment>,
    /// Not after. Likewise with chunks that begin after
    #[arg(long, value_parser = when::parse, allow_hyphen_values = true, value_name = "TIME")]
    pub until: Option<Moment>,
    /// Whose message matches a regular expression
    #[arg(short, long, value_name = "REGEX")]
    pub grep: Option<Regex>,
    /// From a place in the source: wal.c:120, db/wal.c
    #[arg(long, value_parser = Site::parse, value_name = "FILE[:LINE]")]
    pub site: Vec<Site>,
    /// Logged by this program or library: its path, or the last parts of it
    #[arg(long, value_name = "PATH")]
    pub module: Vec<String>,
    /// Of a thread: its number within the run, its tid, or its name
    #[arg(long, value_name = "THREAD")]
    pub thread: Vec<String>,
    /// Of a process
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u64>,
    /// Of a run: 0 for the latest, -1 for the one before, 1 for the first, or its
    /// 16 digits
    #[arg(long, allow_hyphen_values = true, value_name = "RUN")]
    pub run: Vec<String>,
    /// With an argument that compares so, counted from 0, or a key: '0>5', '2=foo',
    /// '1~part', 'user!=root'
    #[arg(short = 'w', long = "where", value_parser = Condition::parse, value_name = "CONDITION")]
    pub conditions: Vec<Condition>,
}

impl Filters {
    /// What of a merge can be left out.
    pub fn merge_options(&self) -> MergeOptions {
        let mut options = MergeOptions::default();
        options.since = self.since.map_or(options.since, |since| since.0);
        options.until = self.until.map_or(options.until, |until| until.0);
        options
    }
}

fn level(text: &str) -> Result<Level, String> {
    Level::parse(text).ok_or_else(|| {
        let names = Level::NAMED.map(|(_, name)| name.to_lowercase());
        format!("try {}, or a number", names.join(", "))
    })
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum TimeForm {
    /// In the zone of this machine, or of TZ
    Local,
    /// In UTC
    Utc,
    /// Since the record before
    Delta,
    /// Of the machine's monotonic clock, as the kernel's messages have it
    Mono,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Backtrace {
    /// With images and what lies below main
    Full,
    /// Functions and lines down to main; one that comes again is not repeated
    Short,
    /// Not at all
    None,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Form {
    /// A line each, for people
    Short,
    /// Everything that is known, a line for each
    Full,
    /// A JSON object each
    Json,
    /// key=value pairs
    Logfmt,
    /// Comma-separated values, with a line that names them
    Csv,
    /// Messages alone, byte for byte: they can drive a terminal
    Raw,
}

#[derive(Debug, ClapArgs)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// Draw the files, a cell for each slice; as SVG to a file, if one is named
    #[arg(long, value_name = "OUT.svg", num_args = 0..=1)]
    pub map: Option<Option<PathBuf>>,
}

#[derive(Debug, ClapArgs)]
pub struct Stats {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// Call sites to show
    #[arg(long, default_value_t = 20, value_name = "N")]
    pub top: usize,
    /// As JSON, with all call sites
    #[arg(long)]
    pub json: bool,
    /// Draw the rates over time to a file
    #[arg(long, value_name = "OUT.svg")]
    pub svg: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub struct Sites {
    /// Programs and libraries
    #[arg(value_name = "IMAGE", required = true)]
    pub files: Vec<PathBuf>,
    /// How a call looks
    #[arg(short, long, value_enum, default_value = "text", value_name = "FORM")]
    pub output: Listing,
    #[command(flatten)]
    pub images: Images,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Listing {
    /// A line each, for people
    Text,
    /// A JSON object each
    Json,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SYMBOLIZE)]
pub struct Symbolize {
    /// Logs or text files; `-`, or nothing, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub images: Images,
    /// Text: a program or library, and where its first byte was mapped (without
    /// it, addresses are those of the file)
    #[arg(long, value_parser = ImageAt::parse, value_name = "PATH[@BASE]")]
    pub image: Vec<ImageAt>,
    /// Text: where images were mapped, a copy of /proc/PID/maps
    #[arg(long, value_name = "FILE")]
    pub maps: Option<PathBuf>,
    /// Text: where images are mapped in a process that runs
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Text: addresses are those of instructions, not the ones calls return to
    #[arg(long)]
    pub exact: bool,
    /// Log: make source lines links that terminals follow
    #[arg(long)]
    pub hyperlinks: bool,
}

const SYMBOLIZE: &str = "\
Of a log, the records with backtraces are shown, with all names. In text, names follow
hexadecimal numbers (0x…) that lie in code of an image whose place is known by --image,
--maps or --pid, and what glibc's backtrace_symbols prints: path(+0x12) [0x…]. Paths in a
text are looked for in the directories of --image-dir, then as they stand.";

/// An image and where it was mapped.
#[derive(Clone, Debug)]
pub struct ImageAt {
    pub path: PathBuf,
    pub base: Option<Avma>,
}

impl ImageAt {
    fn parse(text: &str) -> Result<ImageAt, String> {
        let Some((path, base)) = text.rsplit_once('@') else {
            let path = text.into();
            return Ok(ImageAt { path, base: None });
        };
        let digits = base.trim_start_matches("0x");
        match u64::from_str_radix(digits, 16) {
            Ok(base) => Ok(ImageAt {
                path: path.into(),
                base: Some(Avma(base)),
            }),
            Err(_) => Err(format!("{base} is no address: try {path}@0x7f0012340000")),
        }
    }
}

#[derive(Debug, ClapArgs)]
pub struct Rewrite {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub struct Dump {
    #[command(flatten)]
    pub source: Source,
}

#[derive(Debug, ClapArgs)]
pub struct Export {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    #[command(flatten)]
    pub filters: Filters,
    /// The form
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Target,
    /// fxt: what each record becomes, one form or more. Spans and counters are durations,
    /// async events and counters in all but `log`
    #[arg(
        long = "as",
        value_enum,
        value_delimiter = ',',
        default_values = ["log", "instant"],
        value_name = "FORM"
    )]
    pub forms: Vec<FxtForm>,
    /// fxt: make times on one thread differ by at least a nanosecond, as some
    /// viewers want
    #[arg(long)]
    pub break_ties: bool,
    /// journald: the socket that entries are sent to, if no file is named
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/systemd/journal/socket",
        conflicts_with = "output"
    )]
    pub socket: PathBuf,
    /// Where to write; `-` is standard output. With journald, the export format
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_if_eq_any([
            ("to", "fxt"),
            ("to", "folded"),
            ("to", "fuchsia"),
            ("to", "diagnostics-json"),
            ("to", "otlp-json"),
        ])
    )]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Target {
    /// The Fuchsia trace format: for Perfetto (ui.perfetto.dev) and Fuchsia's tools
    Fxt,
    /// Folded stacks, a line for each backtrace and call site with its count: for
    /// flame graphs
    Folded,
    /// Structured log records of Fuchsia, one behind the other
    Fuchsia,
    /// Log data as Fuchsia's diagnostics services answer, in JSON arrays
    DiagnosticsJson,
    /// Entries for systemd's journal: to its socket, or in its export format to a file
    Journald,
    /// OpenTelemetry's JSON, for its collector
    OtlpJson,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum FxtForm {
    /// Log records, of text alone: Fuchsia's tools show them, trace2json makes global
    /// marks of them, Perfetto drops them without a word
    Log,
    /// Instant events: marks on the threads' tracks in Perfetto, in trace2json, and
    /// events in Fuchsia's tools, with level, place, arguments and backtrace in the
    /// details. Perfetto's log table stays empty
    Instant,
    /// Perfetto's own packets: marks, and rows in its log table with priority, place
    /// and call stack. Other tools see nothing but spans and counters
    Perfetto,
    /// All of these: Perfetto shows two marks for each record
    All,
}

#[derive(Debug, ClapArgs)]
pub struct Import {
    /// The file, plain or packed by gzip or zstd; `-`, or nothing, is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub file: PathBuf,
    /// Its form
    #[arg(long, value_enum, value_name = "FORM")]
    pub from: ImportFrom,
    /// Exit with status 3 if anything could not be read
    #[arg(long)]
    pub strict: bool,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ImportFrom {
    /// The Fuchsia trace format: log records, instants, spans and counters. Times are
    /// the trace's: since boot in traces of Fuchsia
    Fxt,
    /// Structured log records of Fuchsia, one behind the other
    Fuchsia,
    /// Log data of Fuchsia's diagnostics services, or of `logdef stream --json`
    DiagnosticsJson,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Ends on SIGTERM and SIGINT with all that was sent stored.")]
pub struct Serve {
    /// Where its sockets are, for this user only; by default logdef in
    /// $XDG_RUNTIME_DIR, or else /tmp/logdef-UID
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// The log that records are stored in: FILE.000001, FILE.000002, … [default:
    /// records.log in DIR]
    #[arg(long, value_name = "FILE")]
    pub storage: Option<PathBuf>,
    /// Remove the oldest files beyond this: a number, with K, M or G behind it
    #[arg(long, value_name = "BYTES", default_value = "1G")]
    pub storage_bytes: Bytes,
    /// Kept in memory for queries, of one component
    #[arg(long, value_name = "BYTES", default_value = "1M")]
    pub component_bytes: Bytes,
    /// Kept in memory for queries, in all
    #[arg(long, value_name = "BYTES", default_value = "64M")]
    pub total_bytes: Bytes,
    /// Accept only what the record format promises, not all that readers in the field
    /// do
    #[arg(long)]
    pub strict: bool,
    /// What to do about a record that is none
    #[arg(long, value_enum, value_name = "WHAT", default_value = "close")]
    pub on_invalid: Invalid,
    /// The clock of the writers' timestamps
    #[arg(long, value_enum, value_name = "CLOCK", default_value = "monotonic")]
    pub clock: ServiceClock,
    /// Connections of writers at a time
    #[arg(long, value_name = "N", default_value_t = 512)]
    pub writers: usize,
    /// Connections of readers at a time
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub readers: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Invalid {
    /// Close its connection
    Close,
    /// Drop the record
    Drop,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ServiceClock {
    /// CLOCK_MONOTONIC: stands still while the machine is suspended
    Monotonic,
    /// CLOCK_BOOTTIME: does not
    Boottime,
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Bytes, String> {
        let (number, shift) = match text.as_bytes().last() {
            Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
            Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
            Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
            _ => (text, 0),
        };
        let bytes = number.parse::<u64>().ok();
        let bytes = bytes.and_then(|number| number.checked_mul(1 << shift));
        bytes.map(Bytes).ok_or("try 64M, or 1000000".into())
    }
}

#[derive(Debug, ClapArgs)]
pub struct Stream {
    /// The service's directory; by default logdef in $XDG_RUNTIME_DIR, or else
    /// /tmp/logdef-UID
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// What is there, what comes, or both
    #[arg(long, value_enum, value_name = "MODE", default_value = "snapshot")]
    pub mode: StreamMode,
    /// What is there and what comes: --mode both
    #[arg(short, long, conflicts_with = "mode")]
    pub follow: bool,
    /// Only of this component
    #[arg(long, value_name = "NAME")]
    pub moniker: Option<String>,
    /// Only at this severity or worse: trace, debug, info, warn, error, fatal
    #[arg(short, long, value_name = "SEVERITY")]
    pub level: Option<Severity>,
    /// Only with this tag; more than one: with all of them
    #[arg(short, long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// As JSON arrays of diagnostics data
    #[arg(long)]
    pub json: bool,
    /// The state of the service instead, with its counts, as JSON
    #[arg(long, conflicts_with_all = ["follow", "mode", "source"])]
    pub state: bool,
    /// Of a program that writes into shared memory, whose socket this is, and not of a
    /// service: what is there and what comes
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["directory", "mode", "follow"])]
    pub source: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StreamMode {
    /// What is there; then it ends
    Snapshot,
    /// What comes
    Subscribe,
    /// Both
    Both,
}

#[derive(Debug, ClapArgs)]
pub struct Send {
    /// The service's directory; by default logdef in $XDG_RUNTIME_DIR, or else
    /// /tmp/logdef-UID
    #[arg(short, long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// How grave it is: trace, debug, info, warn, error, fatal
    #[arg(value_name = "SEVERITY")]
    pub level: Severity,
    /// What to say
    #[arg(value_name = "MESSAGE")]
    pub message: String,
    /// Typed keys: numbers and true or false are sent as such; `tag` is a tag
    #[arg(value_name = "KEY=VALUE", value_parser = pair)]
    pub pairs: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
    pair.ok_or("try key=value".into())
}

#[derive(Debug, ClapArgs)]
pub struct Fxt {
    #[command(subcommand)]
    pub verb: FxtVerb,
}

#[derive(Debug, Subcommand)]
pub enum FxtVerb {
    /// Show every record, a line each
    Dump(FxtSource),
    /// Count records, warnings and gaps
    Stat(FxtSource),
    /// Say what is wrong; exit with status 3 if anything is
    Check(FxtSource),
}

#[derive(Debug, ClapArgs)]
pub struct FxtSource {
    /// Traces; `-`, or nothing, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// As JSON, an object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On terminals, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    pub fn write_global(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

impl Args {
    /// Parses the command line; `view` is the verb where none is named.
    pub fn parse_with_default_verb() -> Args {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        if words.len() == 1 && std::io::stdin().is_terminal() {
            let _ = Args::command().print_help();
            std::process::exit(2);
        }
        if let Some(at) = verb_position(&words) {
            words.insert(at, "view".into());
        }
        Args::parse_from(words)
    }
}

/// Where `view` is to be put in: before the first word that belongs to a verb,
/// if no verb is named.
fn verb_position(words: &[OsString]) -> Option<usize> {
    let command = Args::command();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_string_lossy();
        if matches!(&*word, "-h" | "--help" | "-V" | "--version" | "help") {
            return None;
        }
        if command
            .get_subcommands()
            .any(|verb| verb.get_name() == word)
        {
            return None;
        }
        match &*word {
            "--color" => at += 2,
            word if word.starts_with("--color=") => at += 1,
            _ => break,
        }
    }
    Some(at.min(words.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb_at(words: &[&str]) -> Option<usize> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        verb_position(&words)
    }

    #[test]
    fn view_is_the_verb_where_none_is_named() {
        assert_eq!(verb_at(&["logdef", "app.log"]), Some(1));
        assert_eq!(verb_at(&["logdef", "-o", "json", "app.log"]), Some(1));
        assert_eq!(verb_at(&["logdef", "--color", "never", "-"]), Some(3));
        assert_eq!(verb_at(&["logdef"]), Some(1));
        assert_eq!(verb_at(&["logdef", "check", "app.log"]), None);
        assert_eq!(verb_at(&["logdef", "--help"]), None);
    }

    #[test]
    fn an_image_may_come_with_its_place() {
        let parse = |text| ImageAt::parse(text).map(|image| (image.path, image.base));
        let place = |path: &str, base| Ok((PathBuf::from(path), base));
        assert_eq!(parse("a/prog"), place("a/prog", None));
        assert_eq!(parse("p@0x7f00"), place("p", Some(Avma(0x7f00))));
        assert_eq!(parse("a@b@7f00"), place("a@b", Some(Avma(0x7f00))));
        assert!(parse("prog@here").is_err());
    }

    #[test]
    fn the_command_is_sound() {
        Args::command().debug_assert();
    }
}
