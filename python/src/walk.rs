//! Records that are wanted, one after the other, on their way into rows. Knows the logs, and not
//! what the rows look like.

use crate::opened::Opened;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use logdef_resync::{Event, LocatedImages, Merge, MergeOptions, Resolved, Resolver, StackEntry};
use logdef_wire::record::Data;
use logdef_wire::{Level, Record};

/// Records of a batch, and bytes of their texts, at most or nearly so.
const RECORDS: usize = 1 << 16;
const BYTES: usize = 16 << 20;

/// Which records are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// From this time on, in nanoseconds.
    pub since: Option<u64>,
    /// Up to this time.
    pub until: Option<u64>,
    /// Of this level or above.
    pub level: Option<Level>,
    /// Of calls at this place.
    pub site: Option<Site>,
}

/// `file` or `file:line`; the file may lack folders at its head.
#[derive(Clone, Debug)]
pub struct Site {
    file: Vec<u8>,
    line: Option<u64>,
}

impl Site {
    pub fn parse(text: &str) -> Site {
        let with_line = text.rsplit_once(':');
        let with_line = with_line.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line) = with_line.map_or((text, None), |(file, line)| (file, Some(line)));
        Site {
            file: file.as_bytes().to_vec(),
            line,
        }
    }

    pub fn is_at(&self, file: &[u8], line: Option<u64>) -> bool {
        let Some(before) = file.strip_suffix(&self.file[..]) else {
            return false;
        };
        let is_tail = before.is_empty() || before.ends_with(b"/") || self.file.starts_with(b"/");
        is_tail && (self.line.is_none() || self.line == line)
    }
}

impl Filter {
    fn takes(&self, data: &Data<'_>) -> bool {
        self.since.is_none_or(|since| data.time >= Some(since))
            && self
                .until
                .is_none_or(|until| data.time.is_some_and(|time| time <= until))
            && self.level.is_none_or(|level| data.level >= Some(level))
    }

    fn takes_site(&self, record: &Resolved<'_>) -> bool {
        self.site.as_ref().is_none_or(|site| {
            let file = record.file.bytes;
            file.is_some_and(|file| site.is_at(file, record.data.line))
        })
    }
}

/// What is made of records.
pub trait Rows {
    fn push(&mut self, record: &Resolved<'_>, stack: &[StackEntry]);
    /// How many there are, and bytes of their texts.
    fn size(&self) -> (usize, usize);
    fn take(&mut self) -> Result<RecordBatch, ArrowError>;
}

/// Calls `give` with batches of the records that the filter takes, until the log ends or `give`
/// returns `false`.
pub fn walk(
    opened: &Opened,
    filter: &Filter,
    images: LocatedImages,
    rows: &mut dyn Rows,
    give: &mut dyn FnMut(RecordBatch) -> bool,
) -> Result<(), ArrowError> {
    let recovery = &opened.recovery;
    let mut resolver = Resolver::new(recovery.tables(), images).judged_by(recovery);
    let options = MergeOptions::default();
    let mut merge = Merge::new(&opened.inputs, recovery, options);
    let failed = |error: logdef_resync::Error| ArrowError::ExternalError(Box::new(error));
    // The first batch is short, so that it comes soon.
    let mut most = RECORDS / 64;
    while let Some(event) = merge.next().map_err(failed)? {
        let Event::Frame(frame) = event else {
            continue;
        };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        if !filter.takes(&data) {
            continue;
        }
        resolver.see(&frame);
        let stack = resolver.backtrace(&data, frame.place);
        let record = resolver.resolve(&data, frame.place);
        if !filter.takes_site(&record) {
            continue;
        }
        rows.push(&record, &stack);
        let (records, bytes) = rows.size();
        if records >= most || bytes >= BYTES {
            if !give(rows.take()?) {
                return Ok(());
            }
            most = RECORDS;
        }
    }
    if rows.size().0 > 0 {
        give(rows.take()?);
    }
    Ok(())
}
