//! The command line: the verbs, and the options that several of them share. What only
//! one verb takes stands beside that verb.

mod filters;

pub use filters::{Filters, Levels};

use crate::clock_offset::ClockOffset;
use crate::examples;
use crate::failure::Failure;
use crate::show::hyperlink::Link;
use crate::show::words;
use crate::spelling;
#[cfg(feature = "archive")]
use crate::verb::archive::ArchiveLogs;
#[cfg(feature = "browse")]
use crate::verb::browse::Browse;
use crate::verb::check::Check;
use crate::verb::core::Core;
use crate::verb::ctl::Ctl;
use crate::verb::dump::Dump;
use crate::verb::export::Export;
use crate::verb::fxt::Fxt;
use crate::verb::import::Import;
use crate::verb::manual::{self, Completions};
use crate::verb::push::Push;
use crate::verb::recover::Rewrite;
use crate::verb::report::Report;
use crate::verb::send::Send;
use crate::verb::serve::Serve;
use crate::verb::sites::Sites;
use crate::verb::sql::Sql;
use crate::verb::stats::Stats;
use crate::verb::stream::Stream;
use crate::verb::symbolize::Symbolize;
use crate::verb::view::View;
use clap::builder::Resettable;
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Shows, checks, repairs and converts crash-resilient logs.
///
/// `logdef app.log` is short for `logdef view app.log`. In every verb, `-o FORM` chooses the
/// output format, and `-O FILE` names the output file.
#[derive(Debug, Parser)]
#[command(version, after_help = words::help())]
pub struct Args {
    /// When to use colour
    #[arg(
        long,
        value_enum,
        global = true,
        default_value = "auto",
        value_name = "WHEN"
    )]
    pub color: Color,
    /// Print to a terminal directly, not through a pager: the one that LOGDEF_PAGER or PAGER names,
    /// by default `less`
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Read at most this many bytes of standard input, of a pipe, and of what a compressed file
    /// unpacks to: 500M, 64G. They are kept in a temporary file
    #[arg(
        long,
        global = true,
        default_value = "16G",
        value_name = "SIZE",
        value_parser = size,
        env = "LOGDEF_SPOOL"
    )]
    pub spool: u64,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show records in the order of time
    View(Box<View>),
    /// Walk through records in a terminal: scroll, search, filter, follow
    #[cfg(feature = "browse")]
    Browse(Box<Browse>),
    /// Account for every byte, and report what is missing, dropped, damaged or torn
    Check(Check),
    /// Count records by level, call site, run and thread, and over time
    Stats(Box<Stats>),
    /// Write a page about a log, to send by mail: how it ended, what changed, the last records
    Report(Box<Report>),
    /// Show how a process died, from its core dump, and the last records of its log
    Core(Box<Core>),
    /// Write the surviving records to a clean file, and rebuild lost logdefs
    Recover(Rewrite),
    /// Join logs into one, in the order of time
    Merge(Rewrite),
    /// Keep logs as Parquet files, which databases query and every verb here reads
    #[cfg(feature = "archive")]
    Archive(ArchiveLogs),
    /// Query logs and archives in SQL, with the program logdef-sql
    Sql(Sql),
    /// Show frames and their fields, undecoded
    Dump(Dump),
    /// Write records in a form that other tools read, and after them what is missing
    Export(Box<Export>),
    /// Send records to a log store, over HTTP: OpenTelemetry's protocol, or Loki's
    Push(Box<Push>),
    /// Make a log from the records of other programs
    Import(Import),
    /// Inspect traces in the Fuchsia trace format
    Fxt(Fxt),
    /// List the log calls in a program or library, whether reached or not
    Sites(Sites),
    /// Add names to the addresses in a log, in text or in Fuchsia's symbolizer markup
    Symbolize(Symbolize),
    /// See and change what a running process logs: level, filter, sync, rotation
    Ctl(Ctl),
    /// Receive records of other programs over a socket, store them, answer queries
    Serve(Serve),
    /// Show the records of a log service
    Stream(Stream),
    /// Send one record to a log service
    Send(Send),
    /// Print completions for a shell: of verbs and options, and of sites, threads and names in
    /// the named logs
    Completions(Completions),
    /// Print the manual page
    Man,
}

impl Verb {
    /// Whether a person may want to page through what it prints.
    pub fn is_for_a_pager(&self) -> bool {
        match self {
            Verb::View(view) => !view.follow,
            Verb::Check(_)
            | Verb::Core(_)
            | Verb::Stats(_)
            | Verb::Dump(_)
            | Verb::Fxt(_)
            | Verb::Sites(_)
            | Verb::Symbolize(_)
            | Verb::Man => true,
            _ => false,
        }
    }

    pub fn run(&self) -> Result<ExitCode, Failure> {
        match self {
            Verb::View(view) => view.run(),
            #[cfg(feature = "browse")]
            Verb::Browse(browse) => browse.run(),
            Verb::Check(check) => check.run(),
            Verb::Stats(stats) => stats.run(),
            Verb::Report(report) => report.run(),
            Verb::Core(core) => core.run(),
            Verb::Recover(rewrite) => rewrite.recover(),
            Verb::Merge(rewrite) => rewrite.merge(),
            #[cfg(feature = "archive")]
            Verb::Archive(archive) => archive.run(),
            Verb::Sql(sql) => sql.run(),
            Verb::Dump(dump) => dump.run(),
            Verb::Export(export) => export.run(),
            Verb::Push(push) => push.run(),
            Verb::Import(import) => import.run(),
            Verb::Fxt(fxt) => fxt.run(),
            Verb::Sites(sites) => sites.run(),
            Verb::Symbolize(symbolize) => symbolize.run(),
            Verb::Ctl(ctl) => ctl.run(),
            Verb::Serve(serve) => serve.run(),
            Verb::Stream(stream) => stream.run(),
            Verb::Send(send) => send.run(),
            Verb::Completions(completions) => completions.run(),
            Verb::Man => manual::page(),
        }
    }
}

/// The logs that a verb reads.
#[derive(Clone, Debug, ClapArgs)]
pub struct Source {
    /// Log files, directories (the logs in them: *.log, *.logdef, also with .gz, .zst,
    /// .xz or .bz2) and patterns; `-`, or none, is standard input
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Exit with status 3 if records are missing or dropped, or bytes damaged
    #[arg(long)]
    pub strict: bool,
    /// Show suspect frames too, marked as such: valid frames beside damage that the program
    /// probably logged as text
    #[arg(long)]
    pub suspects: bool,
    /// Add OFFSET to all times of a file, or of all files of a log, because the clock of its machine
    /// was wrong: b.log=+3s, b.log=-250ms, 'host/b.log=1h 30m'. FILE is its path, or the last
    /// components of it. A file that is not followed is copied for this
    #[arg(long, value_name = "FILE=OFFSET", value_parser = ClockOffset::parse)]
    pub clock_offset: Vec<ClockOffset>,
}

/// The form of the output of verbs that have one for people and one for programs.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub struct Answer {
    /// Form of the output
    #[arg(
        short,
        long,
        value_enum,
        default_value = "text",
        value_name = "FORM",
        conflicts_with = "json"
    )]
    output: AnswerForm,
    /// The old spelling of `-o json`.
    #[arg(long, hide = true)]
    json: bool,
}

impl Answer {
    pub fn is_json(self) -> bool {
        self.json || self.output == AnswerForm::Json
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum AnswerForm {
    /// Text for people
    Text,
    /// JSON, with the keys that resync/cli/JSON.md of the sources lists
    Json,
}

/// Where to look for programs and libraries.
#[derive(Clone, Debug, ClapArgs)]
pub struct Images {
    /// Look for programs and libraries in this directory and below it too; and in the directory
    /// and its tmp/ for lists of code that was compiled at run time (perf-PID.map, jit-PID.dump)
    #[arg(long, value_name = "DIR", env = "LOGDEF_IMAGE_DIR")]
    pub image_dir: Vec<PathBuf>,
    /// Do not open files at the paths that the log names. By default they are tried first,
    /// and used if size and SHA-1, or the build ID, match the log
    #[arg(long)]
    pub no_logged_paths: bool,
    /// Look for debug files in this directory too, besides /usr/lib/debug and usr/lib/debug
    /// below each --image-dir
    #[arg(long, value_name = "DIR", env = "LOGDEF_DEBUG_DIR")]
    pub debug_dir: Vec<PathBuf>,
    /// Ask the servers in DEBUGINFOD_URLS for files that were not found elsewhere. The servers
    /// learn which programs you examine
    #[cfg(feature = "debuginfod")]
    #[arg(long)]
    pub debuginfod: bool,
}

/// Links of a terminal to source lines.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Appearance")]
pub struct Links {
    /// Make links of source lines (in text for people): `file`, which the terminal opens, and which
    /// is the default if LINK is left out; `vscode`; a link that an editor understands, with {path}
    /// and {line}; or `none`. LOGDEF_HYPERLINKS sets this for every view at a terminal
    #[arg(
        long,
        value_name = "LINK",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "file",
        value_parser = Link::parse
    )]
    hyperlinks: Option<Link>,
}

impl Links {
    /// The link that the option asks for, or else, `at_terminal`, the variable. A variable that holds
    /// no link counts as unset.
    pub fn wanted(&self, at_terminal: bool) -> Link {
        let usual = || {
            let usual = std::env::var("LOGDEF_HYPERLINKS")
                .ok()
                .filter(|_| at_terminal)?;
            Link::parse(&usual).ok()
        };
        self.hyperlinks.clone().or_else(usual).unwrap_or(Link::None)
    }
}

/// Bytes, or as many of them as K, M, G and T stand for, in powers of 1,024.
pub fn size(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit = units
        .iter()
        .find(|(name, _)| text.ends_with([*name, name.to_ascii_lowercase()]));
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], *shift));
    let number = digits.parse::<u64>().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "try a number of bytes, or 500M, 64G".into())
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
    /// Parses the command line; the verb is `view` if none is named.
    pub fn parse_with_default_verb() -> Args {
        let mut words: Vec<OsString> = std::env::args_os().collect();
        if words.len() == 1 && std::io::stdin().is_terminal() {
            let _ = Args::command().print_help();
            std::process::exit(2);
        }
        if let Some(at) = verb_position(&words) {
            words.insert(at, "view".into());
        }
        spelling::of_today(&mut words);
        let command = without_empty_variables(Args::whole_command());
        let matches = command.get_matches_from(words);
        Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The command line with examples in the help of each verb.
    pub fn whole_command() -> clap::Command {
        examples::add_to(Args::command())
    }
}

/// A variable that is set to nothing is not set, as scripts have it that pass one on.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &clap::Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    let command = command.mut_args(|arg| {
        if is_empty(&arg) {
            arg.env(Resettable::Reset)
        } else {
            arg
        }
    });
    command.mut_subcommands(without_empty_variables)
}

/// Where to insert `view` if no verb is named: before the first word that is not a
/// global option.
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
            "--color" | "--spool" => at += 2,
            "--no-pager" => at += 1,
            word if word.starts_with("--color=") || word.starts_with("--spool=") => at += 1,
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
        assert_eq!(verb_at(&["logdef", "--no-pager", "app.log"]), Some(2));
        assert_eq!(verb_at(&["logdef", "--no-pager", "check"]), None);
        assert_eq!(verb_at(&["logdef", "--spool", "9G", "-"]), Some(3));
        assert_eq!(verb_at(&["logdef", "--spool=9G", "-"]), Some(2));
        assert_eq!(verb_at(&["logdef"]), Some(1));
        assert_eq!(verb_at(&["logdef", "check", "app.log"]), None);
        assert_eq!(verb_at(&["logdef", "--help"]), None);
    }

    #[test]
    fn sizes_may_have_units() {
        let sizes = [
            ("0", 0),
            ("77", 77),
            ("3k", 3072),
            ("500M", 500 << 20),
            ("16G", 16 << 30),
            ("1t", 1 << 40),
        ];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "16GB", "99999999T", "1 G"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_directory_may_have_a_colon_in_its_name() {
        let words = [
            "logdef",
            "view",
            "--image-dir",
            "a:b",
            "--debug-dir",
            "c:d",
            "app.log",
        ];
        let Verb::View(view) = Args::parse_from(words).verb else {
            panic!("another verb");
        };
        assert_eq!(view.images.image_dir, [PathBuf::from("a:b")]);
        assert_eq!(view.images.debug_dir, [PathBuf::from("c:d")]);
    }

    #[test]
    fn the_command_is_sound() {
        Args::command().debug_assert();
    }
}
