//! Reading a part of an archive: its tables become the frames of the log again, in the order of
//! the log. Knows how records are kept, and no other parts.
//!
//! A file may come from anybody. What it claims is checked by `guard` before it is believed.

use crate::guard::{self, wrong};
use crate::part::{HIDDEN_KEY, LOSSES_KEY, RECORDS};
use crate::rebuild::{Rebuilt, RowGroup};
use crate::side::{FRAMES, SITES, THREADS_COLUMNS};
use crate::stored::{Stored, stored_sites, stored_threads};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use logdef_resync::rewrite::Frames;
use logdef_resync::{Input, Standing};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader};
use std::fs::File;
use std::io::{self, Read};
use std::iter::Fuse;
use std::path::Path;

/// Bytes of frames that are made at a time.
const STEP: usize = 256 << 10;
/// Rows of the table of other frames that are read at a time.
const FRAME_ROWS: usize = 1024;

/// Opens a part of an archive as the log that it was made from. `most` bytes of it are kept, as of
/// any stream.
///
/// # Errors
///
/// What is wrong with its files, if they are none of ours. One that breaks off gives what comes
/// before.
pub fn open(part: &Path, most: u64) -> io::Result<Input> {
    guard::can_run()?;
    let name = part.display().to_string();
    let mut reader = guard::caught(|| Reader::open(part))?;
    let losses = reader.losses.take();
    let input = Input::from_reader_up_to(name, reader, most)?;
    Ok(match losses {
        Some((losses, shows_all)) => input.with_losses(losses, shows_all),
        None => input,
    })
}

/// The frames of a part, as a stream of bytes.
struct Reader {
    /// What the logs lost, and whether sequences show all that is missing.
    losses: Option<(String, bool)>,
    records: File,
    metadata: ArrowReaderMetadata,
    /// Row groups that were begun, and records in those that are done.
    begun: usize,
    done: u64,
    rows: Option<RowGroup>,
    stored: Stored,
    others: Others,
    out: Option<Frames<Vec<u8>>>,
    /// Room for the body of a record.
    body: Vec<u8>,
    ready: Vec<u8>,
    at: usize,
}

impl Reader {
    fn open(part: &Path) -> io::Result<Reader> {
        let (records, metadata) = guard::open(&part.join(RECORDS))?;
        let unit = guard::unit_of_records(&metadata)?;
        let stored = Stored {
            unit,
            sites: stored_sites(&read_all(part, "sites.parquet", SITES)?)?,
            threads: stored_threads(&read_all(part, "threads.parquet", THREADS_COLUMNS)?)?,
        };
        let shows_all = guard::note(&metadata, HIDDEN_KEY).is_none();
        let losses = guard::note(&metadata, LOSSES_KEY).map(|losses| (losses, shows_all));
        Ok(Reader {
            losses,
            records,
            metadata,
            begun: 0,
            done: 0,
            rows: None,
            stored,
            others: Others::open(part)?,
            out: Some(Frames::new(Vec::new())),
            body: vec![0; 1 << 10],
            ready: Vec::new(),
            at: 0,
        })
    }

    /// Makes some more bytes; none at the end.
    fn fill(&mut self) -> io::Result<()> {
        let Some(mut out) = self.out.take() else {
            self.ready.clear();
            return Ok(());
        };
        let mut buffer = std::mem::take(&mut self.ready);
        buffer.clear();
        std::mem::swap(out.get_mut(), &mut buffer);
        let mut body = std::mem::take(&mut self.body);
        while out.get_mut().len() < STEP {
            if self.rows.is_none() && !self.next_row_group()? {
                self.others.write_before(u64::MAX, &mut out)?;
                self.ready = out.finish().map_err(of_frames)?;
                return Ok(());
            }
            let Some(rows) = &mut self.rows else {
                continue;
            };
            self.others
                .write_before(self.done + rows.given() as u64, &mut out)?;
            match rows.next(&self.stored, &mut body)? {
                Rebuilt::Record(mark, len) => out.write(&body[..len], mark).map_err(of_frames)?,
                Rebuilt::End => {
                    self.done += rows.given() as u64;
                    self.rows = None;
                }
            }
        }
        self.body = body;
        std::mem::swap(out.get_mut(), &mut self.ready);
        self.out = Some(out);
        Ok(())
    }

    fn next_row_group(&mut self) -> io::Result<bool> {
        if self.begun == self.metadata.metadata().num_row_groups() {
            return Ok(false);
        }
        let batch = guard::row_group(&self.records, &self.metadata, self.begun)?;
        self.begun += 1;
        self.rows = Some(RowGroup::new(batch, self.stored.unit)?);
        Ok(true)
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.ready.len() {
            self.at = 0;
            let filled = guard::caught(|| self.fill());
            if filled.is_err() {
                self.ready.clear();
                self.out = None;
            }
            filled?;
        }
        let rest = &self.ready[self.at..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

fn of_frames(error: logdef_resync::Error) -> io::Error {
    io::Error::other(error.cause().to_string())
}

/// All rows of a side table.
pub(crate) fn read_all(
    part: &Path,
    name: &str,
    columns: &[(&str, crate::table::Of)],
) -> io::Result<Vec<RecordBatch>> {
    let (file, metadata) = guard::open(&part.join(name))?;
    guard::has_columns(&metadata, columns, name)?;
    guard::all_rows(&file, &metadata)
}

/// The frames that are no records, in the order of the log.
struct Others {
    /// At its end it would look through its columns again for each record that follows.
    reader: Fuse<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
    row: usize,
}

impl Others {
    fn open(part: &Path) -> io::Result<Others> {
        let (file, metadata) = guard::open(&part.join("frames.parquet"))?;
        guard::has_columns(&metadata, FRAMES, "frames.parquet")?;
        let all = 0..metadata.metadata().num_row_groups();
        for index in all.clone() {
            guard::check_row_group(&file, &metadata, index, |_| true)?;
        }
        Ok(Others {
            reader: guard::batches(&file, &metadata, all.collect(), FRAME_ROWS)?.fuse(),
            batch: None,
            row: 0,
        })
    }

    /// Writes the frames that stand before a record, or before an earlier one.
    #[inline]
    fn write_before(&mut self, record: u64, out: &mut Frames<Vec<u8>>) -> io::Result<()> {
        loop {
            let batch = match &self.batch {
                Some(batch) if self.row < batch.num_rows() => batch,
                _ => match self.reader.next().transpose().map_err(guard::unreadable)? {
                    Some(batch) => {
                        self.row = 0;
                        self.batch = Some(batch);
                        continue;
                    }
                    None => return Ok(()),
                },
            };
            let before = batch.column(0).as_primitive::<Int64Type>();
            if before.value(self.row) as u64 > record {
                return Ok(());
            }
            let mark = batch.column(2).as_string_view();
            let body = batch.column(3).as_binary_view().value(self.row);
            let mark = mark.is_valid(self.row).then(|| mark.value(self.row));
            out.write(body, standing(mark)?).map_err(of_frames)?;
            self.row += 1;
        }
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
