//! The line table of one unit: from an address to a file, line and column (DWARF 5, section 6.2).

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use gimli::{EndianSlice, Reader as _, Section as _};

use crate::names::dwarf::files::Files;
use crate::names::dwarf::line_program::{Packing, Row};
use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::View;

/// Sequences without rows may begin where others do; how many of those to look after.
const EMPTY: usize = 16;

/// The table, with the rows of those sequences that were asked for.
pub(crate) struct Lines {
    packing: Packing,
    /// In order of their first address.
    sequences: Box<[Sequence]>,
    files: Files,
}

/// Rows for code without gaps.
struct Sequence {
    begin: u64,
    /// Its instructions, in the section.
    program: Range<usize>,
    rows: OnceCell<gimli::Result<Rows>>,
}

struct Rows {
    /// In order of address.
    rows: Box<[Row]>,
    /// Where the code ends.
    end: u64,
}

/// A place in the sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    pub file: Option<Arc<str>>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl Lines {
    /// The line table of a unit; `None` if it has none.
    pub fn read<'a>(view: &View<'a>, root: &Root<'a>) -> gimli::Result<Option<Lines>> {
        let Some(offset) = root.line_table else {
            return Ok(None);
        };
        let size = root.unit.header.address_size();
        let table = view.debug_line.program(offset, size, None, None)?;
        let (header, section) = (table.header(), view.debug_line.reader());
        let packing = Packing::of(header);
        let program = header.raw_program_buf();
        program.pay_for_all()?;
        let start = program.offset_from(section);
        let mut sequences = Vec::new();
        let bytes = EndianSlice::new(program.bytes(), program.endian());
        packing.sequences(bytes, |begin, place| {
            sequences.push(Sequence {
                begin,
                program: start + place.start..start + place.end,
                rows: OnceCell::new(),
            });
        })?;
        sequences.sort_by_key(|it| it.begin);
        Ok(Some(Lines {
            packing,
            sequences: sequences.into(),
            files: Files::of(header, section),
        }))
    }

    /// Gives the addresses of each sequence to `found`.
    pub fn ranges(
        &self,
        view: &View<'_>,
        mut found: impl FnMut(gimli::Range),
    ) -> gimli::Result<()> {
        for sequence in &self.sequences {
            let rows = self.rows(sequence, view)?;
            let (begin, end) = (rows.begin(), rows.end);
            if begin < end {
                found(gimli::Range { begin, end });
            }
        }
        Ok(())
    }

    /// What code at `probe` was made of; `None` if the table does not know it.
    pub fn at<'a>(
        &self,
        probe: u64,
        view: &View<'a>,
        root: &Root<'a>,
    ) -> gimli::Result<Option<Location>> {
        let after = self.sequences.partition_point(|it| it.begin <= probe);
        for sequence in self.sequences[..after].iter().rev().take(EMPTY) {
            let rows = self.rows(sequence, view)?;
            if rows.begin() <= probe && probe < rows.end {
                let after = rows.rows.partition_point(|it| it.address <= probe);
                let row = &rows.rows[after - 1];
                let found = self.location(row.file, row.line, row.column, view, root);
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// A place, with the path of the file that the table has under that number.
    pub fn location<'a>(
        &self,
        file: u64,
        line: u32,
        column: u32,
        view: &View<'a>,
        root: &Root<'a>,
    ) -> Location {
        Location {
            file: self.files.path(file, view, root),
            ..Location::of(line, column)
        }
    }

    fn rows<'s>(&self, sequence: &'s Sequence, view: &View<'_>) -> gimli::Result<&'s Rows> {
        let rows = sequence.rows.get_or_init(|| {
            let mut program = *view.debug_line.reader();
            program.skip(sequence.program.start)?;
            program.truncate(sequence.program.len())?;
            program.pay_for_all()?;
            let bytes = EndianSlice::new(program.bytes(), program.endian());
            let (rows, end) = self.packing.rows(bytes)?;
            let rows = rows.into();
            Ok(Rows { rows, end })
        });
        rows.as_ref().map_err(|it| *it)
    }
}

impl Rows {
    /// The first address; the last of all if there is no row.
    fn begin(&self) -> u64 {
        self.rows.first().map_or(u64::MAX, |it| it.address)
    }
}

impl Location {
    /// A place in an unknown file.
    pub fn of(line: u32, column: u32) -> Location {
        Location {
            file: None,
            line: Some(line).filter(|&it| it != 0),
            column: Some(column).filter(|&it| it != 0),
        }
    }
}
