//! Code that a process compiled while it ran lies in no image. Its compiler may leave a list of what
//! it made: `perf-PID.map`, a name a line, or `jit-PID.dump`, with lines of sources too. Finds the
//! lists of a process and answers for an address. Both are hints as good as their writer: names, and
//! nothing else, come of them.

mod dump;
mod map;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use logdef_wire::Avma;

use crate::find::locator::Locator;
use crate::names::StackFrame;
use crate::names::address::AddressKind;
use crate::names::demangle::demangle;
use crate::open::{self, FileBytes};

/// Longest list that is read, in bytes.
const LONGEST_LIST: u64 = 64 << 20;
/// Most functions that are kept of a list, and most lines: half a gigabyte would fit into the bytes.
const MOST: usize = 1 << 21;

/// The functions that one process made.
#[derive(Debug)]
pub struct JitCode {
    /// In the order of their start; of those with one start the last made comes last.
    functions: Vec<Function>,
    bytes: FileBytes,
    lines: Vec<dump::Line>,
}

/// A function, and where in the list its name stands.
#[derive(Clone, Debug)]
struct Function {
    start: u64,
    size: u64,
    /// Its place among the entries: the later one holds where two were made at one address.
    made: u32,
    name: Range<u32>,
    /// The places in the list's sources that belong to it.
    lines: Range<u32>,
}

impl Locator {
    /// The code that the process `pid` made, by the lists that lie in the directories given, or in
    /// `/tmp` where logged paths may be opened. There it must have been written since the process
    /// opened its log, at `since`, in nanoseconds of the Unix epoch: another process had the number
    /// before. `None` if there is no list.
    pub fn jit_code(&self, pid: u64, since: Option<u64>) -> Option<JitCode> {
        let names = [format!("jit-{pid}.dump"), format!("perf-{pid}.map")];
        let options = self.options();
        let given = options.image_dirs.iter().flat_map(|dir| {
            let in_dir = |name| [dir.join(name), dir.join("tmp").join(name)];
            let is_list = |name: &&String| dir.file_name().is_some_and(|it| it == name.as_str());
            let itself = names.iter().filter(is_list).map(|_| dir.clone());
            itself.chain(names.iter().flat_map(in_dir))
        });
        let of_this_machine = names.iter().map(|name| Path::new("/tmp").join(name));
        let of_this_machine = of_this_machine
            .filter(|path| options.use_logged_paths && was_written_since(path, since));
        let mut paths = given.chain(of_this_machine);
        paths.find_map(|path| JitCode::read(&path))
    }
}

/// A link is not followed, so that other users who may write to `/tmp` cannot lead the
/// reader elsewhere.
fn was_written_since(path: &PathBuf, since: Option<u64>) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return false;
    };
    let since = since.map(|since| UNIX_EPOCH + Duration::from_nanos(since));
    let modified = metadata.modified().ok();
    metadata.is_file() && since.is_some_and(|since| modified.is_some_and(|it| it >= since))
}

impl JitCode {
    fn read(path: &Path) -> Option<JitCode> {
        let bytes = open::read_regular(path, LONGEST_LIST).ok()?;
        Some(JitCode::parse(bytes))
    }

    /// What a list says, as far as it can be read. The first bytes say which of the forms it has.
    fn parse(bytes: FileBytes) -> JitCode {
        let (mut functions, lines) = match dump::Order::of(&bytes) {
            Some(order) => dump::parse(&bytes, order),
            None => (map::parse(&bytes), Vec::new()),
        };
        functions.sort_by_key(|function| (function.start, function.made));
        JitCode {
            functions,
            bytes,
            lines,
        }
    }

    /// The function at an address: the one made last of those that cover it.
    pub fn at(&self, address: Avma, kind: AddressKind) -> Option<StackFrame> {
        /// Of how many that begin before the address is asked whether they reach it.
        const OVERLAPPING: usize = 64;

        let probe = kind.probe_at(address.0);
        let after = self.functions.partition_point(|it| it.start <= probe);
        let before = self.functions[..after].iter().rev().take(OVERLAPPING);
        let covers = |function: &&Function| probe - function.start < function.size;
        let function = before.filter(covers).max_by_key(|it| it.made)?;
        let name = self.text(&function.name)?;
        let mut frame = StackFrame {
            function: Some(demangle(&name).into()),
            linkage_name: Some(name),
            ..StackFrame::default()
        };
        let lines = self.lines.get(as_range(&function.lines))?;
        let line = lines.iter().rev().find(|line| line.address <= probe);
        if let Some(line) = line {
            frame.file = self.text(&line.file);
            frame.line = Some(line.number).filter(|number| *number != 0);
        }
        Some(frame)
    }

    /// Bytes of the list.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    fn text(&self, range: &Range<u32>) -> Option<Arc<str>> {
        let bytes = self.bytes.get(as_range(range))?;
        Some(String::from_utf8_lossy(bytes).into())
    }
}

fn as_range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(code: &JitCode, address: u64) -> Option<String> {
        let frame = code.at(Avma(address), AddressKind::Exact)?;
        frame.function.map(|name| name.to_string())
    }

    #[test]
    fn the_function_made_last_is_the_one_at_an_address() {
        let code = JitCode::parse(Arc::new(
            b"1000 100 first\n1040 10 patch\n1000 80 second\n"
                .to_vec()
                .into(),
        ));
        assert_eq!(names(&code, 0xfff), None);
        assert_eq!(names(&code, 0x1000).as_deref(), Some("second"));
        assert_eq!(names(&code, 0x1044).as_deref(), Some("second"));
        assert_eq!(names(&code, 0x1080).as_deref(), Some("first"));
        assert_eq!(names(&code, 0x1100), None);
        let after_call = code.at(Avma(0x1100), AddressKind::ReturnAddress).unwrap();
        assert_eq!(after_call.function.as_deref(), Some("first"));
    }

    #[test]
    fn an_older_list_of_this_machine_is_another_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("perf-7.map");
        fs::write(&path, "1000 10 f\n").unwrap();
        let seconds = |time: std::time::SystemTime| time.duration_since(UNIX_EPOCH).unwrap();
        let modified = seconds(fs::metadata(&path).unwrap().modified().unwrap()).as_nanos() as u64;
        assert!(was_written_since(&path, Some(modified - 1)));
        assert!(!was_written_since(&path, Some(modified + 1)));
        assert!(!was_written_since(&path, None));
        let link = dir.path().join("perf-8.map");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(!was_written_since(&link, Some(0)));
    }
}
