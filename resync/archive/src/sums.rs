//! Checksums of the files of a part, since the library that writes Parquet makes none: of each file, block
//! by block, so that what is read is checked and nothing else. They stand in a file of their own, which
//! other readers of Parquet pass over. Knows neither tables nor columns.
//!
//! The file is text: a first line that says what it is; a line for each file with its name, its length,
//! the length of a block, and the CRC-32 of each block as eight hexadecimal digits; and last the CRC-32 of
//! all that stands before.

use crate::guard::{self, wrong};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::str::Lines;

/// The file in a part's folder.
pub(crate) const SUMS: &str = "sums.txt";
/// Bytes of a block: fewer in a small file, so that a damage does not take all of it.
const BLOCK: RangeInclusive<u64> = 4 << 10..=64 << 10;
/// Blocks of a file, while they are not of the largest size.
const BLOCKS: u64 = 4096;
const FIRST_LINE: &str = "logdef.sums 1, CRC-32 of blocks";
/// Bytes of the longest list, that of 100 GB. A larger part has none.
const MOST: u64 = 16 << 20;

/// The checksums of one file.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Sums {
    len: u64,
    block: u64,
    of_blocks: Vec<u32>,
}

impl Sums {
    /// Those that stand beside a file; `None` of a part that has no checksums.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Sums>> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(None);
        };
        let Some(text) = text_of(folder)? else {
            return Ok(None);
        };
        let listed = name.to_str().and_then(|name| parse(&text, name));
        listed.ok_or_else(damaged).map(Some)
    }

    /// Checks all blocks that a range of the file is in.
    pub(crate) fn check(&self, file: &File, range: Range<u64>) -> io::Result<()> {
        let len = file.metadata()?.len();
        if len != self.len {
            return Err(wrong(&format!("it has {len} bytes, and had {}", self.len)));
        }
        let mut block = vec![0; self.block as usize];
        for number in range.start / self.block..range.end.min(len).div_ceil(self.block) {
            let start = number * self.block;
            let bytes = &mut block[..(len - start).min(self.block) as usize];
            file.read_exact_at(bytes, start)?;
            if self.of_blocks.get(number as usize) != Some(&crc32fast::hash(bytes)) {
                let end = start + bytes.len() as u64;
                return Err(wrong(&format!(
                    "its checksum of the bytes {start} to {end} is another"
                )));
            }
        }
        Ok(())
    }
}

/// Fails if a file of a part is gone that its list has.
pub(crate) fn all_are_there(part: &Path) -> io::Result<()> {
    let Some(text) = text_of(part)? else {
        return Ok(());
    };
    let lines = lines(&text).ok_or_else(damaged)?;
    for name in lines.filter_map(|line| line.split(' ').next()) {
        if name.contains('/') {
            return Err(damaged());
        }
        fs::metadata(part.join(name))
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
    }
    Ok(())
}

/// The list of a part; `None` of one that has no checksums.
fn text_of(part: &Path) -> io::Result<Option<String>> {
    let file = match guard::regular(&part.join(SUMS)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    let read = file.take(MOST).read_to_string(&mut text);
    read.map(|_| Some(text)).map_err(|_| damaged())
}

fn damaged() -> io::Error {
    wrong(&format!("{SUMS}, its list of checksums, is damaged"))
}

/// The lines of a list that is whole, one of each file.
fn lines(text: &str) -> Option<Lines<'_>> {
    let (before, last) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let before = &text[..before.len() + 1];
    let is_whole = last == format!("{:08x}", crc32fast::hash(before.as_bytes()));
    let mut lines = before.lines();
    (is_whole && lines.next() == Some(FIRST_LINE)).then_some(lines)
}

/// What a list says of a file.
fn parse(text: &str, name: &str) -> Option<Sums> {
    let mut lines = lines(text)?;
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let mut words = line.split(' ');
    let len: u64 = words.next()?.parse().ok()?;
    let block = words.next()?.parse().ok();
    let block = block.filter(|block| BLOCK.contains(block))?;
    let of_blocks = words.map(|word| u32::from_str_radix(word, 16).ok());
    let of_blocks: Vec<_> = of_blocks.collect::<Option<_>>()?;
    let sums = Sums {
        len,
        block,
        of_blocks,
    };
    (sums.of_blocks.len() as u64 == len.div_ceil(block)).then_some(sums)
}

/// Bytes of a block of a file.
fn block_of(len: u64) -> u64 {
    let block = (len / BLOCKS).next_power_of_two();
    block.clamp(*BLOCK.start(), *BLOCK.end())
}

/// Lists the files of a folder, which are whole and will not change.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    let mut paths: Vec<_> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    let mut text = format!("{FIRST_LINE}\n");
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut file = File::open(&path)?;
        let len = file.metadata()?.len();
        let size = block_of(len);
        let _ = write!(text, "{name} {len} {size}");
        let mut block = Vec::with_capacity(size as usize);
        while (&mut file).take(size).read_to_end(&mut block)? > 0 {
            let _ = write!(text, " {:08x}", crc32fast::hash(&block));
            block.clear();
        }
        text.push('\n');
    }
    let own = crc32fast::hash(text.as_bytes());
    let _ = writeln!(text, "{own:08x}");
    if text.len() as u64 > MOST {
        return Ok(());
    }
    let mut file = File::create_new(folder.join(SUMS))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_that_changes_is_found_in_its_block_and_in_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        const BLOCK: u64 = 4096;
        let mut bytes: Vec<u8> = (0..3 * BLOCK + 77).map(|at| (at % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        fs::write(folder.path().join("empty"), b"").unwrap();
        write(folder.path()).unwrap();
        let sums = Sums::of(&path).unwrap().unwrap();
        assert_eq!(
            Sums::of(&folder.path().join("empty")).unwrap().unwrap().len,
            0
        );
        for at in [
            0,
            BLOCK - 1,
            BLOCK,
            2 * BLOCK + 5,
            3 * BLOCK,
            3 * BLOCK + 76,
        ] {
            bytes[at as usize] ^= 1 << (at % 8);
            fs::write(&path, &bytes).unwrap();
            let file = File::open(&path).unwrap();
            let bad = at / BLOCK * BLOCK;
            assert!(sums.check(&file, at..at + 1).is_err(), "{at}");
            assert!(sums.check(&file, 0..bytes.len() as u64).is_err(), "{at}");
            sums.check(&file, 0..bad).unwrap();
            sums.check(&file, bad + BLOCK..u64::MAX).unwrap();
            bytes[at as usize] ^= 1 << (at % 8);
        }
        bytes.pop();
        fs::write(&path, &bytes).unwrap();
        assert!(sums.check(&File::open(&path).unwrap(), 0..1).is_err());
    }

    #[test]
    fn blocks_are_small_in_small_files_and_never_too_many_or_too_large() {
        for (len, block) in [
            (0, 4096),
            (16 << 20, 4096),
            (100 << 20, 32768),
            (1 << 40, 65536),
        ] {
            assert_eq!(block_of(len), block);
        }
    }

    #[test]
    fn a_list_that_is_cut_or_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        fs::write(&path, vec![7; 100_000]).unwrap();
        assert_eq!(Sums::of(&path).unwrap(), None);
        write(folder.path()).unwrap();
        let list = folder.path().join(SUMS);
        let good = fs::read(&list).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&list, &bad).unwrap();
            assert!(Sums::of(&path).is_err(), "{at}");
            fs::write(&list, &good[..at]).unwrap();
            assert!(Sums::of(&path).is_err(), "{at}");
        }
        fs::write(&list, &good).unwrap();
        assert!(Sums::of(&path).unwrap().is_some());
        assert!(Sums::of(&folder.path().join("b.parquet")).is_err());
    }
}
