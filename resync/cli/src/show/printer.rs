//! Records in the form that was asked for.

use crate::failure::Failure;
use crate::show::json;
use crate::show::tabular;
use crate::show::text;
use crate::show::text::Backtrace;
use crate::verb::view::View;
use clap::ValueEnum;
use logdef_resync::{Resolved, StackEntry};
use logdef_wire::record::{Data, Note};
use logdef_wire::{Level, Magic, Svma};

/// How `view` shows records.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Form {
    /// One line each, for people
    #[value(alias = "text")]
    Short,
    /// Everything that is known, one line for each fact
    Full,
    /// One JSON object each, with the keys that resync/cli/JSON.md of the sources lists
    Json,
    /// key=value pairs
    Logfmt,
    /// Comma-separated values; the first line names them. Cells that a spreadsheet would
    /// run begin with '
    Csv,
    /// Messages only, byte for byte: they can control a terminal
    Raw,
}

/// Writes records.
pub struct Printer {
    form: Form,
    text: text::Writer,
    json: json::Writer,
    tabular: tabular::Writer,
    fold: Option<Fold>,
    wants_backtraces: bool,
}

/// Neighbours of one call site.
#[derive(Default)]
struct Fold {
    site: Option<CallSite>,
    more: u64,
    last: Option<u64>,
}

/// Equal call sites are the same template. One without addresses has none.
type CallSite = (Magic, Svma, Option<Svma>, Option<u64>, Option<Level>);

impl Printer {
    pub fn new(args: &View, color: bool) -> Result<Printer, Failure> {
        let is_for_people = matches!(args.output, Form::Short | Form::Full);
        if args.fold && !is_for_people {
            return Err(Failure::Usage(
                "--fold is for people: use it with -o short or -o full".into(),
            ));
        }
        Ok(Printer {
            form: args.output,
            wants_backtraces: match args.output {
                Form::Short | Form::Full => args.backtrace != Backtrace::None,
                Form::Json => true,
                Form::Logfmt | Form::Csv | Form::Raw => false,
            },
            text: text::Writer::new(args.look(color)),
            json: json::Writer::default(),
            tabular: tabular::Writer::default(),
            fold: args.fold.then(Fold::default),
        })
    }

    /// Whether people read it: notes and marks between records are for them.
    pub fn is_for_people(&self) -> bool {
        matches!(self.form, Form::Short | Form::Full)
    }

    /// Whether backtraces show at all.
    pub fn wants_backtraces(&self) -> bool {
        self.wants_backtraces
    }

    /// Appends what stands before all records.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.form == Form::Csv {
            self.tabular.csv_head(out);
        }
    }

    #[inline]
    pub fn record(&mut self, record: &Resolved<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        if self.fold.is_some() && self.folds(record.data, out) {
            return;
        }
        match self.form {
            Form::Short => self.text.record(record, stack, out),
            Form::Full => self.text.full(record, stack, out),
            Form::Json => self.json.record(record, stack, out),
            Form::Logfmt => self.tabular.logfmt(record, out),
            Form::Csv => self.tabular.csv(record, out),
            Form::Raw => {
                record.marked_message(out);
                out.push(b'\n');
            }
        }
    }

    /// Appends what the log says about itself, for people.
    pub fn note(&mut self, note: &Note<'_>, stack: &[StackEntry], out: &mut Vec<u8>) {
        self.end_fold(out);
        self.text.note(note, stack, out);
    }

    /// Appends a mark for records that were left out.
    pub fn left_out(&mut self, out: &mut Vec<u8>) {
        self.end_fold(out);
        out.extend_from_slice(b"--\n");
    }

    /// Appends what was held back for what might have come.
    pub fn end_fold(&mut self, out: &mut Vec<u8>) {
        let Some(fold) = &mut self.fold else { return };
        if fold.more > 0 {
            self.text.folded(fold.more, fold.last, out);
        }
        *fold = Fold::default();
    }

    /// Whether the record goes with the one before.
    fn folds(&mut self, data: &Data<'_>, out: &mut Vec<u8>) -> bool {
        let site = match (data.magic, data.format) {
            (Some(magic), Some(format)) => Some((magic, format, data.file, data.line, data.level)),
            _ => None,
        };
        if let Some(fold) = &mut self.fold
            && site.is_some()
            && fold.site == site
        {
            fold.more += 1;
            fold.last = data.time;
            return true;
        }
        self.end_fold(out);
        if let Some(fold) = &mut self.fold {
            fold.site = site;
        }
        false
    }
}
