//! The run that a record is of, by the record alone.

use logdef_wire::{Record, Run};

/// The run a record belongs to, if it says so.
pub(crate) fn run_of(record: &Record<'_>) -> Option<Run> {
    match record {
        Record::Preamble(record) => record.run,
        Record::StringLogdef(record) => record.run,
        Record::BacktraceLogdef(record) => record.run,
        Record::ThreadLogdef(record) => record.run,
        Record::Module(record) => record.run,
        Record::Durable(record) => record.run,
        Record::Note(record) => record.run,
        Record::Data(record) => record.run,
        Record::TextLogdef(record) => record.run,
        Record::ContextLogdef(record) => record.run,
        _ => None,
    }
}

/// The run that an unmasked body names.
pub(crate) fn run_of_body(body: &[u8]) -> Option<Run> {
    run_of(&Record::decode(body).ok()?)
}
