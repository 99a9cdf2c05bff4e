//! What stands in the frames of a part, one after the other in the order of the log: its records,
//! put together from their columns, and between them what is no record. Knows neither frames nor
//! what becomes of them.

use crate::guard::{self, Opened, wrong};
use crate::read::read_all;
use crate::rebuild::RowGroup;
use crate::side::{FRAMES, SITES, THREADS_COLUMNS};
use crate::stored::{Stored, stored_sites, stored_threads};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use logdef_resync::Standing;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::io;
use std::iter::Fuse;
use std::path::Path;

/// Rows of the table of other frames that are read at a time.
const FRAME_ROWS: usize = 1024;

/// The body of a frame.
pub(crate) struct Body<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) mark: Standing,
    /// What a record in columns is put in order by.
    pub(crate) record: Option<Identity>,
    pub(crate) has_backtrace: bool,
}

/// What records are put in order by.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Identity {
    pub(crate) time: u64,
    pub(crate) run: u64,
    pub(crate) thread: u32,
    pub(crate) count: i64,
}

/// The bodies of a part, from the first on.
pub(crate) struct Bodies {
    pub(crate) records: Opened,
    /// Row groups that were begun, and records in those that are done.
    begun: usize,
    done: u64,
    rows: Option<RowGroup>,
    stored: Stored,
    others: Others,
    /// Room for the body of a record.
    body: Vec<u8>,
}

impl Bodies {
    pub(crate) fn open(part: &Path) -> io::Result<Bodies> {
        let records = guard::open_records(part)?;
        let unit = guard::unit_of_records(&records.metadata)?;
        let stored = Stored {
            unit,
            sites: stored_sites(&read_all(part, "sites.parquet", SITES)?)?,
            threads: stored_threads(&read_all(part, "threads.parquet", THREADS_COLUMNS)?)?,
        };
        Ok(Bodies {
            records,
            begun: 0,
            done: 0,
            rows: None,
            stored,
            others: Others::open(part)?,
            body: vec![0; 1 << 10],
        })
    }

    /// The next one; none at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Option<Body<'_>>> {
        while self.rows.as_ref().is_none_or(RowGroup::is_at_end) {
            if !self.next_row_group()? {
                return self.others.next();
            }
        }
        let Some(rows) = &mut self.rows else {
            return Ok(None);
        };
        if self.others.next_is_before()? <= self.done + rows.given() as u64 {
            return self.others.next();
        }
        rows.next(&mut self.body).map(Some)
    }

    fn next_row_group(&mut self) -> io::Result<bool> {
        self.done += self.rows.take().map_or(0, |rows| rows.given() as u64);
        if self.begun == self.records.metadata.metadata().num_row_groups() {
            return Ok(false);
        }
        let batch = guard::row_group(&self.records, self.begun)?;
        self.begun += 1;
        self.rows = Some(RowGroup::new(batch, &self.stored)?);
        Ok(true)
    }
}

/// The frames that are no records, in the order of the log.
pub(crate) struct Others {
    /// At its end it would look through its columns again for each record that follows.
    reader: Fuse<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
    row: usize,
    /// Before which record the next one stands, once that was looked up.
    before: Option<u64>,
}

impl Others {
    pub(crate) fn open(part: &Path) -> io::Result<Others> {
        let opened = guard::open(&part.join("frames.parquet"))?;
        guard::has_columns(&opened.metadata, FRAMES, "frames.parquet")?;
        let all = 0..opened.metadata.metadata().num_row_groups();
        for index in all.clone() {
            guard::check_row_group(&opened, index, |_| true)?;
        }
        Ok(Others {
            reader: guard::batches(&opened, all.collect(), FRAME_ROWS)?.fuse(),
            batch: None,
            row: 0,
            before: None,
        })
    }

    /// The number of the record before which the next frame stands; `u64::MAX` if no frame is left.
    #[inline]
    pub(crate) fn next_is_before(&mut self) -> io::Result<u64> {
        match self.before {
            Some(before) => Ok(before),
            None => self.look_up(),
        }
    }

    fn look_up(&mut self) -> io::Result<u64> {
        while self
            .batch
            .as_ref()
            .is_none_or(|batch| self.row >= batch.num_rows())
        {
            self.row = 0;
            self.batch = self.reader.next().transpose().map_err(guard::unreadable)?;
            if self.batch.is_none() {
                break;
            }
        }
        let before = self.batch.as_ref().map_or(u64::MAX, |batch| {
            batch.column(0).as_primitive::<Int64Type>().value(self.row) as u64
        });
        self.before = Some(before);
        Ok(before)
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Body<'_>>> {
        self.next_is_before()?;
        let Some(batch) = &self.batch else {
            return Ok(None);
        };
        let row = self.row;
        self.row += 1;
        self.before = None;
        let marks = batch.column(2).as_string_view();
        let mark = marks.is_valid(row).then(|| marks.value(row));
        Ok(Some(Body {
            bytes: batch.column(3).as_binary_view().value(row),
            mark: standing(mark)?,
            record: None,
            has_backtrace: false,
        }))
    }
}

/// How far a frame can be trusted, by the word for it.
pub(crate) fn standing(word: Option<&str>) -> io::Result<Standing> {
    let Some(word) = word else {
        return Ok(Standing::Sound);
    };
    let known = [Standing::Recovered, Standing::Suspect];
    let standing = known.into_iter().find(|it| it.word() == Some(word));
    standing.ok_or_else(|| wrong("a mark of a record that is not known"))
}
