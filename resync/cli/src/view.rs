//! `view`: records in the order of time, as text or JSON.

use crate::args::{Form, View};
use crate::failure::Failure;
use crate::log::{self, Log};
use crate::output::Output;
use crate::{json, text};
use logdef_resync::{Event, Merge, MergeOptions, Resolver};
use logdef_wire::Record;
use std::process::ExitCode;

pub fn run(args: &View) -> Result<ExitCode, Failure> {
    let log = Log::open(&args.source)?;
    log.must_hold_records()?;
    let mut output = Output::new();
    let mut resolver = Resolver::new(log.recovery.tables(), log::images(&args.images));
    let mut text = text::Writer::new(output.has_color());
    let mut merge = Merge::new(&log.inputs, &log.recovery, MergeOptions::default());
    let at_once = output.is_terminal();
    while let Some(event) = merge.next()? {
        match event {
            Event::Gap(input, gap) => {
                output.flush()?;
                let name = &log.recovery.accounts()[input as usize].name;
                anstream::eprintln!("{}", text::gap(name, gap));
            }
            Event::Frame(frame) => match frame.record() {
                Some(Record::Data(data)) => {
                    let stack = match data.backtrace {
                        Some(_) => resolver.backtrace(&data, frame.place),
                        None => Vec::new(),
                    };
                    let resolved = resolver.resolve(&data, frame.place);
                    match args.output {
                        Form::Short => text.record(&resolved, &stack, &mut output.buffer),
                        Form::Json => json::record(&resolved, &stack, &mut output.buffer),
                    }
                    output.line()?;
                }
                Some(Record::Note(note)) if args.output == Form::Short => {
                    text.note(&note, &mut output.buffer);
                    output.line()?;
                }
                _ => {}
            },
        }
        if at_once {
            output.flush()?;
        }
    }
    output.flush()?;
    for complaint in resolver.complaints() {
        anstream::eprintln!("logdef: {complaint}");
    }
    report(&log);
    Ok(log.status(&args.source))
}

/// What was lost, in a few lines on standard error.
fn report(log: &Log) {
    for account in log.recovery.accounts() {
        for line in text::losses(account) {
            anstream::eprintln!("{line}");
        }
    }
    for conflict in log.recovery.tables().conflicts() {
        anstream::eprintln!("{}", text::conflict(conflict));
    }
    let lost = log.recovery.lost();
    if lost > 0 {
        anstream::eprintln!("{lost} records lost in all");
    }
}
