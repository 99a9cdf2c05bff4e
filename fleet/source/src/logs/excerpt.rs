//! The part of a log that can hold records of some times, as a log of its own: what is left of it if the
//! chunks of other times are cut out. Which these are, the heads of chunks say, so that the rest is not read. A chunk
//! can be read alone: what its records refer to stands in it.
//!
//! ```text
//! the log      | # # . # . # | . # . . # . | # . . . # . | # . # . . . | # . . . |
//!                                            ^ of these times        ^
//! the excerpt                              | # . . . # . | # . # . . . |
//! ```

use crate::error;
use datafusion::error::Result;
use logdef_resync::{Input, Source, Survey};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Ranges of a file, in their order.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Excerpt(Vec<Range<u64>>);

impl Excerpt {
    /// The excerpt of a log for some times, in nanoseconds since the epoch. `None` if the heads of its chunks do
    /// not say enough, if it is shorter than `least`, or if half of it would be read.
    pub(super) fn of(
        path: &Path,
        times: RangeInclusive<u64>,
        least: u64,
    ) -> Result<Option<Excerpt>> {
        let about = std::fs::metadata(path).map_err(|why| error::at(path, why))?;
        if !about.is_file() || about.len() < least {
            return Ok(None);
        }
        let input = Input::open(path).map_err(error::plain)?;
        // One that was unpacked is not the file.
        if input.len() != about.len() {
            return Ok(None);
        }
        let survey = Survey::of(&input).map_err(error::plain)?;
        let Some(survey) = survey.filter(|survey| !survey.has_clock_set_back()) else {
            return Ok(None);
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for chunk in survey.chunks_of(times) {
            let chunk = chunk.start..chunk.end.min(input.len());
            match ranges.last_mut() {
                Some(last) if last.end == chunk.start => last.end = chunk.end,
                _ => ranges.push(chunk),
            }
        }
        let excerpt = Excerpt(ranges);
        Ok((excerpt.len() <= input.len() / 2).then_some(excerpt))
    }

    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// The excerpt of the file at a path.
    pub(super) fn open(&self, path: &Path) -> Result<Input> {
        let file = File::open(path).map_err(|why| error::at(path, why))?;
        let mut at = 0;
        let mut pieces = Vec::new();
        for range in &self.0 {
            pieces.push((at, range.clone()));
            at += range.end - range.start;
        }
        let name = path.display().to_string();
        Ok(Input::from_source(name, Pieces { file, pieces }, at))
    }
}

/// Pieces of a file, one after the other.
#[derive(Debug)]
struct Pieces {
    file: File,
    /// Where each begins in the excerpt, and what it is of the file.
    pieces: Vec<(u64, Range<u64>)>,
}

impl Source for Pieces {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        let mut index = self.pieces.partition_point(|(at, _)| *at <= offset);
        index = index.saturating_sub(1);
        while read < buffer.len()
            && let Some((at, range)) = self.pieces.get(index)
        {
            let from = range.start + (offset + read as u64 - at);
            let len = range.end.saturating_sub(from);
            let len = len.min((buffer.len() - read) as u64) as usize;
            let got = FileExt::read_at(&self.file, &mut buffer[read..read + len], from)?;
            read += got;
            // A file that was cut meanwhile.
            if got < len {
                break;
            }
            index += 1;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pieces_read_as_what_they_are_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..200).collect();
        file.write_all(&bytes).unwrap();
        let ranges = [3..4, 10..17, 17..40, 90..200];
        let expected: Vec<u8> = ranges
            .iter()
            .flat_map(|range| bytes[range.clone()].to_vec())
            .collect();
        let mut at = 0;
        let mut pieces = Vec::new();
        for range in ranges {
            let range = range.start as u64..range.end as u64;
            pieces.push((at, range.clone()));
            at += range.end - range.start;
        }
        let pieces = Pieces { file, pieces };
        for from in 0..=expected.len() {
            for len in 0..=expected.len() - from {
                let mut buffer = vec![0; len];
                assert_eq!(pieces.read_at(&mut buffer, from as u64).unwrap(), len);
                assert_eq!(buffer, expected[from..][..len], "{len} at {from}");
            }
            let mut more = [0; 300];
            let rest = pieces.read_at(&mut more, from as u64).unwrap();
            assert_eq!(rest, expected.len() - from);
        }
    }
}
