//! How far a log was shown, in a file: the next view with the same file shows what comes
//! after it. Of each thread the number of its last call is kept, so records that another
//! thread or process wrote late are not passed over.

use crate::failure::Failure;
use crate::log;
use logdef_resync::Glance;
use logdef_wire::{Run, ThreadNumber};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The version of the file.
const VERSION: u32 = 1;
/// Threads that are noted. What others called is shown again by the next view.
const THREADS: usize = 1 << 18;
/// Digests of other things that are noted: the last of them.
const OTHERS: usize = 1 << 14;
/// Bytes of the longest file of which any is read: more than those threads take.
const LONGEST: u64 = 64 << 20;

/// Of each thread the number of calls that were shown.
type Threads = HashMap<(Run, ThreadNumber), u64>;

/// What was shown, and the file that says so.
pub struct Cursor {
    path: PathBuf,
    /// By earlier views.
    before: Threads,
    /// By this one too.
    shown: Threads,
    /// Notes and losses that were sent, in their order, and the same to look them up.
    others: VecDeque<u64>,
    known: HashSet<u64>,
    has_moved: bool,
    /// Whether there are more threads than are noted: not said yet, or said.
    leaves_out: bool,
    has_said: bool,
    /// Why the file stays as it is for now, and whether that was said.
    is_held: bool,
    says_held: bool,
}

/// What stands in the file.
#[derive(Deserialize, Serialize)]
struct Written {
    #[serde(rename = "logdef_cursor")]
    version: u32,
    /// By the 16 hexadecimal digits of a run and the numbers of its threads.
    runs: BTreeMap<String, BTreeMap<u64, u64>>,
    /// Digests of what is no call, as 16 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
}

impl Cursor {
    /// Reads the file, if it is there yet.
    pub fn open(path: &Path) -> Result<Cursor, Failure> {
        let before = match read(path) {
            Ok(bytes) => parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Default::default()),
            Err(error) => Err(error.to_string()),
        };
        let (before, others) = before.map_err(|why| {
            let path = path.display();
            Failure::Usage(format!(
                "{path}: {why}: name another --cursor-file, or remove this one to begin again"
            ))
        })?;
        Ok(Cursor {
            path: path.to_owned(),
            shown: before.clone(),
            before,
            known: others.iter().copied().collect(),
            others: others.into(),
            has_moved: false,
            leaves_out: false,
            has_said: false,
            is_held: false,
            says_held: false,
        })
    }

    /// Whether an earlier view showed a record. One that names no run and no call is always
    /// new.
    pub fn is_behind(&self, record: &Glance) -> bool {
        let place =
            place(record).and_then(|(thread, count)| Some((self.before.get(&thread)?, count)));
        place.is_some_and(|(shown, count)| count < *shown)
    }

    /// A record was shown, or looked at and not wanted.
    pub fn pass(&mut self, record: &Glance) {
        if let Some((thread, count)) = place(record) {
            if self.shown.len() >= THREADS && !self.shown.contains_key(&thread) {
                self.leaves_out = true;
                return;
            }
            let shown = self.shown.entry(thread).or_default();
            *shown = (*shown).max(count + 1);
            self.has_moved = true;
        }
    }

    /// Leaves the file as it is while some input cannot be read: of a thread only the last call
    /// is noted, and what that input has of it may come before.
    pub fn hold(&mut self, lacks_some: bool) {
        self.is_held = lacks_some;
    }

    /// How many calls of a thread earlier views showed.
    pub fn calls_before(&self, call: &Glance) -> u64 {
        place(call).map_or(0, |(thread, _)| {
            self.before.get(&thread).copied().unwrap_or(0)
        })
    }

    /// Whether something that is no call was noted, here or by an earlier command.
    pub fn has_other(&self, digest: u64) -> bool {
        self.known.contains(&digest)
    }

    /// Notes something that is no call.
    pub fn pass_other(&mut self, digest: u64) {
        if !self.known.insert(digest) {
            return;
        }
        self.others.push_back(digest);
        if self.others.len() > OTHERS
            && let Some(oldest) = self.others.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.has_moved = true;
    }

    /// Writes the file, if there is something new. A new one takes the place of the old one,
    /// so that a crash leaves either.
    pub fn save(&mut self) -> Result<(), Failure> {
        if self.is_held && self.has_moved && !std::mem::replace(&mut self.says_held, true) {
            let path = self.path.display();
            log::say(&format!(
                "{path}: stays as it is while a file cannot be read, whose records would be passed over"
            ));
        }
        if self.is_held || !std::mem::take(&mut self.has_moved) {
            return Ok(());
        }
        if self.leaves_out && !std::mem::replace(&mut self.has_said, true) {
            let path = self.path.display();
            log::say(&format!(
                "{path}: this file notes {THREADS} threads at most; what other threads logged will be shown again"
            ));
        }
        self.write()
            .map_err(|error| Failure::output(&self.path, error))
    }

    fn write(&self) -> io::Result<()> {
        let mut runs = BTreeMap::<_, BTreeMap<_, _>>::new();
        for ((run, thread), shown) in &self.shown {
            runs.entry(format!("{run:016x}"))
                .or_default()
                .insert(thread.0, *shown);
        }
        let version = VERSION;
        let directory = match self.path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut file = NamedTempFile::new_in(directory)?;
        let others = self
            .others
            .iter()
            .map(|digest| format!("{digest:016x}"))
            .collect();
        let written = Written {
            version,
            runs,
            others,
        };
        serde_json::to_writer(&mut file, &written)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.path)?;
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    let file = fs::File::open(path)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other("too long"));
    }
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<(Threads, Vec<u64>), String> {
    let written: Written = serde_json::from_slice(bytes)
        .map_err(|error| format!("not written by --cursor-file ({error})"))?;
    if written.version != VERSION {
        return Err(format!("version {} is not known", written.version));
    }
    let mut before = Threads::new();
    for (run, threads) in written.runs {
        let run = u64::from_str_radix(&run, 16).map_err(|_| format!("{run:?} is not a run"))?;
        let threads = threads.into_iter();
        before.extend(threads.map(|(thread, shown)| ((Run(run), ThreadNumber(thread)), shown)));
    }
    let others = written.others.iter();
    let others = others.map(|digest| {
        u64::from_str_radix(digest, 16).map_err(|_| format!("{digest:?} is not a digest"))
    });
    Ok((before, others.collect::<Result<_, _>>()?))
}

/// The thread of a record, and the number of its call.
fn place(record: &Glance) -> Option<((Run, ThreadNumber), u64)> {
    let (run, sequence) = record.run.zip(record.sequence)?;
    Some(((run, sequence.number()), sequence.count()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use logdef_wire::Sequence;

    #[test]
    fn a_log_of_many_runs_makes_no_file_without_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let call = |run: u64, count: u64| Glance {
            run: Some(Run(run)),
            sequence: Some(Sequence::new(ThreadNumber(0), count)),
            ..Glance::default()
        };
        let mut cursor = Cursor::open(&path).unwrap();
        (0..THREADS as u64 + 100).for_each(|run| cursor.pass(&call(run, 0)));
        cursor.pass(&call(5, 7));
        cursor.save().unwrap();
        assert!(fs::metadata(&path).unwrap().len() < LONGEST);
        let cursor = Cursor::open(&path).unwrap();
        assert_eq!(cursor.before.len(), THREADS);
        assert!(cursor.is_behind(&call(5, 7)) && !cursor.is_behind(&call(5, 8)));
        assert!(!cursor.is_behind(&call(THREADS as u64, 0)));
    }

    #[test]
    fn what_is_no_plain_file_is_not_waited_for() {
        for path in ["/dev/zero", "/"] {
            let failure = Cursor::open(Path::new(path)).err().unwrap();
            assert!(
                failure.to_string().contains("not a plain file"),
                "{failure}"
            );
        }
    }
}
