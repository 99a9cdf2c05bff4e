//! Streams that are kept, so that they can be read at any offset: short ones in memory, others in a
//! temporary file without a name. A stream may have no end, and a small file that was compressed may
//! stand for a large one, so not more than some bytes are kept, nor more than half of what the disk has
//! free; zeros take none of it. Knows nothing of what the bytes mean.

use crate::read::temporary::Temporary;
use std::fs::File;
use std::io::{self, Read};

/// Streams are kept in memory up to this many bytes.
const IN_MEMORY: usize = 8 << 20;
/// How much of a stream is kept, where nothing else is asked for.
pub(crate) const MOST: u64 = 16 << 30;
/// Bytes that are read at a time.
const STEP: usize = 64 << 10;

/// What there is of a stream.
#[derive(Debug)]
pub(crate) struct Spool {
    pub(crate) kept: Spooled,
    /// Why that is not all of it.
    pub(crate) broken_off: Option<io::Error>,
}

#[derive(Debug)]
pub(crate) enum Spooled {
    Memory(Vec<u8>),
    /// A file, and its length.
    File(File, u64),
}

/// Keeps a stream up to a number of bytes. A compressed stream that breaks off, as a damaged
/// or cut file does, gives the bytes up to there, and why.
pub(crate) fn spool(mut stream: impl Read, most: u64) -> io::Result<Spool> {
    let mut memory = Vec::new();
    let mut file: Option<Temporary> = None;
    let mut buffer = vec![0; STEP];
    let broken_off = loop {
        let len = file.as_ref().map_or(memory.len() as u64, Temporary::len);
        let got = match stream.read(&mut buffer) {
            Ok(0) => break None,
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if len == 0 => return Err(error),
            Err(error) => break Some(error),
        };
        let fits = usize::try_from(most - len).map_or(got, |room| got.min(room));
        let kept = match &mut file {
            Some(file) => file.append(&buffer[..fits]),
            None if memory.len() + fits > IN_MEMORY => Temporary::new()
                .and_then(|file| spill(file, &memory, &buffer[..fits]))
                .map(|spilled| {
                    memory = Vec::new();
                    file = Some(spilled);
                }),
            None => {
                memory.extend_from_slice(&buffer[..fits]);
                Ok(())
            }
        };
        if let Err(error) = kept {
            break Some(error);
        }
        if fits < got {
            let why = format!("at most {most} bytes of a stream are kept");
            break Some(io::Error::other(why));
        }
    };
    let kept = match file {
        Some(file) => {
            let (file, len) = file.end()?;
            Spooled::File(file, len)
        }
        None => Spooled::Memory(memory),
    };
    Ok(Spool { kept, broken_off })
}

fn spill(mut file: Temporary, memory: &[u8], more: &[u8]) -> io::Result<Temporary> {
    file.append(memory)?;
    file.append(more)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    /// A file's bytes and how many blocks they take.
    fn file(spool: Spool) -> (Vec<u8>, u64) {
        let Spooled::File(file, len) = spool.kept else {
            panic!("it is kept in memory");
        };
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!(metadata.len(), len);
        (bytes, metadata.blocks())
    }

    #[test]
    fn long_streams_leave_memory() {
        let bytes: Vec<u8> = (0..IN_MEMORY + 12345).map(|n| n as u8).collect();
        let spooled = spool(&bytes[..], MOST).unwrap();
        assert!(spooled.broken_off.is_none());
        assert!(file(spooled).0 == bytes);
        let spooled = spool(&bytes[..IN_MEMORY], MOST).unwrap();
        assert!(matches!(spooled.kept, Spooled::Memory(kept) if kept == bytes[..IN_MEMORY]));
    }

    #[test]
    fn of_a_stream_without_an_end_no_more_is_kept_than_was_asked_for() {
        for most in [0, 1, 100_000, IN_MEMORY, IN_MEMORY + 1, 2 * IN_MEMORY + 5] {
            let spooled = spool(io::repeat(7), most as u64).unwrap();
            let why = spooled.broken_off.as_ref().unwrap().to_string();
            assert_eq!(why, format!("at most {most} bytes of a stream are kept"));
            let kept = match spooled.kept {
                Spooled::Memory(bytes) => bytes,
                Spooled::File(..) => file(spooled).0,
            };
            assert!(kept == vec![7; most], "{most}");
        }
        // One that ends there is whole.
        let spooled = spool(&[7; 9][..], 9).unwrap();
        assert!(spooled.broken_off.is_none());
    }

    #[test]
    fn zeros_take_no_room_on_the_disk() {
        let mut bytes = vec![0; 4 * IN_MEMORY];
        bytes[3 * IN_MEMORY + 5] = 9;
        let (kept, blocks) = file(spool(&bytes[..], MOST).unwrap());
        assert!(kept == bytes);
        assert!(blocks < 3000, "{blocks}");
    }
}
