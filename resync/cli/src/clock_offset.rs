//! `--clock-offset`: how far the clock of the machine was off that wrote a file.

use logdef_resync::{COMPRESSED, Error, Input};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A file, and what is added to its times.
#[derive(Clone, Debug)]
pub struct ClockOffset {
    file: PathBuf,
    nanoseconds: i64,
}

impl ClockOffset {
    /// `FILE=+3s`, `FILE=-1h 30m`, `FILE=250ms`.
    pub fn parse(text: &str) -> Result<ClockOffset, String> {
        let wrong = || "try FILE=+3s, FILE=-250ms or 'FILE=1h 30m'".to_owned();
        let (file, offset) = text.rsplit_once('=').ok_or_else(wrong)?;
        let offset = offset
            .parse::<jiff::SignedDuration>()
            .map_err(|_| wrong())?;
        let nanoseconds = i64::try_from(offset.as_nanos()).map_err(|_| wrong())?;
        if file.is_empty() {
            return Err(wrong());
        }
        let file = file.into();
        Ok(ClockOffset { file, nanoseconds })
    }

    /// Whether it names a file, by its path or the last parts of that.
    fn names(&self, path: &Path) -> bool {
        path.ends_with(&self.file)
    }

    /// Whether it names a file, or the log whose file it is.
    fn is_of(&self, path: &Path) -> bool {
        self.names(path) || self.names(&log_of(path))
    }
}

/// The path of the log that a file belongs to: without what distinguishes the files that it continues in, those
/// of forked children, and packed ones.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.to_owned();
    let is_number = |end: &str| end.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-'));
    let is_packed = |end: &str| COMPRESSED.iter().any(|known| known[1..] == *end);
    while let Some(end) = log.extension().and_then(OsStr::to_str)
        && (is_number(end) || is_packed(end))
    {
        log.set_extension("");
    }
    log
}

/// The nanoseconds that are added to the times of a file: as the last of the offsets says that names it, or
/// else its log.
pub fn of(path: &Path, offsets: &[ClockOffset]) -> i64 {
    let by_name = offsets.iter().rfind(|offset| offset.names(path));
    let offset = by_name.or_else(|| offsets.iter().rfind(|offset| offset.is_of(path)));
    offset.map_or(0, |offset| offset.nanoseconds)
}

/// Moves the times of an input by what the offsets say of its file. Gives the number of records too whose
/// times could not be moved.
pub fn moved(input: Input, path: &Path, offsets: &[ClockOffset]) -> Result<(Input, u64), Error> {
    match of(path, offsets) {
        0 => Ok((input, 0)),
        by => input.moved_in_time(by),
    }
}

/// Says which of the offsets names no file that is read, if one does.
pub fn must_be_of(offsets: &[ClockOffset], paths: &[PathBuf]) -> Result<(), String> {
    let is_lost = |offset: &&ClockOffset| !paths.iter().any(|path| offset.is_of(path));
    let Some(offset) = offsets.iter().find(is_lost) else {
        return Ok(());
    };
    Err(format!(
        "--clock-offset: no file that is read is called {}: name it as on the command line, or by its \
         last parts",
        offset.file.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_a_file_and_a_duration() {
        let parsed = |text| {
            ClockOffset::parse(text)
                .ok()
                .map(|offset| offset.nanoseconds)
        };
        assert_eq!(parsed("a.log=+3s"), Some(3_000_000_000));
        assert_eq!(parsed("a.log=-250ms"), Some(-250_000_000));
        assert_eq!(parsed("a=b=1h 30m"), Some(5_400_000_000_000));
        for wrong in [
            "a.log",
            "=3s",
            "a.log=",
            "a.log=3",
            "a.log=soon",
            "a.log=1000000000h",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        let offset = ClockOffset::parse("b/a.log=1s").unwrap();
        assert!(offset.is_of(Path::new("/x/b/a.log")) && !offset.is_of(Path::new("/x/cb/a.log")));
    }

    #[test]
    fn an_offset_is_of_all_files_of_a_log_and_a_nearer_one_goes_before() {
        let offsets = ["a.log.000002=2s", "b/a.log=1s", "a=9s"];
        let offsets = offsets.map(|text| ClockOffset::parse(text).unwrap());
        for (path, seconds) in [
            ("b/a.log", 1),
            ("b/a.log.000001", 1),
            ("b/a.log.77-1.3.gz", 1),
            ("b/a.log.000002", 2),
            ("b/a.log.old", 0),
            ("c/a.log", 0),
            ("c/a.1", 9),
        ] {
            assert_eq!(
                of(Path::new(path), &offsets),
                seconds * 1_000_000_000,
                "{path}"
            );
        }
    }
}
