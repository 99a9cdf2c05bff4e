//! The command line.

use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

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
like), 2 usage, 3 damage was found (check, or any verb with --strict), 4 nothing could be
read.";

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show records as text or JSON
    View(View),
    /// Account for every byte, and say what was lost
    Check(Check),
    /// Write what survives to a clean file, with lost logdefs rebuilt
    Recover(Rewrite),
    /// Join logs into one, by time
    Merge(Rewrite),
    /// Show frames and fields as they stand
    Dump(Dump),
}

/// What every verb reads.
#[derive(Debug, ClapArgs)]
pub struct Source {
    /// Log files; `-` is standard input
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
}

#[derive(Debug, ClapArgs)]
pub struct View {
    #[command(flatten)]
    pub source: Source,
    #[command(flatten)]
    pub images: Images,
    /// How records look
    #[arg(short, long, value_enum, default_value = "short", value_name = "FORM")]
    pub output: Form,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Form {
    /// A line each, for people
    Short,
    /// A JSON object each
    Json,
}

#[derive(Debug, ClapArgs)]
pub struct Check {
    #[command(flatten)]
    pub source: Source,
    /// As JSON
    #[arg(long)]
    pub json: bool,
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
    fn the_command_is_sound() {
        Args::command().debug_assert();
    }
}
