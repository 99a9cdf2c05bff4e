//! A log that is being written, followed through all its files: the one that it began
//! with, those that it continues in when it is rotated, those of forked children and of
//! later runs. Threads still write to the old files until their chunks are full, so all files
//! are looked at each time. Every record is given once, in the order of its thread or marked
//! as late, and what can no longer be had is reported. Nothing that happens to a file ends this: what
//! cannot be read is reported, and tried again.

mod family;
mod file;
mod judge;
mod order;
mod pending;
mod probe;
mod unfinished;

pub use family::{begins_as_log, family, is_log, may_be_file};

use crate::read::gap::Gap;
use crate::read::input::{Error, Input};
use crate::read::item::{Item, Items};
use crate::read::moved::move_in_time;
use crate::read::unmask;
use crate::recover::standing::Standing;
use crate::recover::tables::Place;
use file::{Followed, Sink};
use judge::{Arrived, Judge};
use logdef_wire::record::Peek;
use logdef_wire::{Record, Run, Tag, ThreadNumber, frame};
use order::Order;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use unfinished::{Unfinished, stamp};

/// Bytes of frames that one call gives, or little more.
const BATCH: usize = 4 << 20;
/// Files that are kept open. The rest is opened again for each look.
const OPEN: usize = 256;
/// Files without a name that are kept open, since their programs may still write to them.
const NAMELESS: usize = 128;
/// Items at the beginning of a file that are read to find its first time.
const FIRST_ITEMS: usize = 256;
/// Looks at all files after which what keeps a file from being read is reported. While a
/// file is being replaced, its name may stand for nothing.
const PATIENCE: u32 = 3;

/// What happened to a log that is followed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum News {
    /// A frame was published.
    Frame {
        /// The number of the file it stands in: see [`Follow::path`].
        file: u32,
        /// Where its first byte stands in the file.
        offset: u64,
        /// Header and body, as they stand in the file.
        bytes: Vec<u8>,
        /// How far it can be trusted.
        standing: Standing,
        /// Whether a later record of its thread was given before: see [`News::Late`].
        is_late: bool,
    },
    /// Records are suspect, and not given.
    Withheld {
        /// The number of the file.
        file: u32,
        /// How many records are held back.
        records: u64,
    },
    /// Records that were given as sound, or as better than they are, stand beside damage:
    /// it came later, or was not seen yet.
    Doubted {
        /// The number of the file.
        file: u32,
        /// How far they can be trusted.
        standing: Standing,
        /// Where the first of them begins.
        from: u64,
        /// Where the last of them ends.
        to: u64,
        /// How many they are.
        records: u64,
    },
    /// Bytes that did not become a frame.
    Damage {
        /// The number of the file.
        file: u32,
        /// Its range of bytes, and what is wrong with them.
        gap: Gap,
    },
    /// Records of a thread are in none of the files, or not any more.
    Missing {
        /// The run of the process.
        run: Run,
        /// The thread's number in it.
        number: ThreadNumber,
        /// The first count that is missing.
        from: u64,
        /// How many are missing from there on.
        count: u64,
    },
    /// Records of a thread are not here: the writer gave them up to make room.
    Pruned {
        /// The run of the process.
        run: Run,
        /// The thread's number in it.
        number: ThreadNumber,
        /// The first count that was given up.
        from: u64,
        /// How many were given up from there on.
        count: u64,
    },
    /// Records of a thread follow that others of it should have followed: those came first, and these
    /// were not waited for any longer. An accident that copied a piece of a file before its place may
    /// do that.
    Late {
        /// The run of the process.
        run: Run,
        /// The thread's number in it.
        number: ThreadNumber,
        /// The first count of a late record.
        from: u64,
        /// The last count of a late record.
        to: u64,
        /// How many they are.
        records: u64,
        /// The last count of the thread that was given before.
        after: u64,
    },
    /// A file became shorter than what was read of it, or begins with other bytes.
    Truncated {
        /// The number of the file.
        file: u32,
    },
    /// A file has records whose times stay as they are, though they should be moved: another writer put
    /// them in fewer than eight bytes. It is reported once.
    Unmoved {
        /// The number of the file.
        file: u32,
    },
    /// A compressed file ends before its end, and changes no more: it was cut. What comes before is given.
    BrokenOff {
        /// The number of the file.
        file: u32,
        /// Bytes that it unpacks to.
        bytes: u64,
        /// What the reader of its form says.
        why: String,
    },
    /// A file cannot be read now, and why. It is reported once, and tried again.
    Unreadable {
        /// The path under which it is followed.
        path: PathBuf,
        /// What the system says: `Permission denied`.
        why: String,
    },
}

/// Follows the files of a log.
///
/// ```no_run
/// use logdef_resync::{Follow, News};
///
/// let mut follow = Follow::new("/var/log/app.log".as_ref());
/// loop {
///     for news in follow.poll() {
///         if let News::Frame { offset, bytes, .. } = news {
///             println!("{} bytes at {offset}", bytes.len());
///         }
///     }
///     if !follow.has_more() {
///         std::thread::sleep(std::time::Duration::from_millis(100));
///     }
/// }
/// ```
pub struct Follow {
    find: Box<dyn FnMut() -> Vec<PathBuf> + Send>,
    /// By number; none for a file that is no more.
    files: Vec<Option<Followed>>,
    paths: Vec<PathBuf>,
    /// How far the times of a file are moved, by its path, and those of each file.
    offset_of: Box<dyn Fn(&Path) -> i64 + Send>,
    offsets: Vec<i64>,
    /// Files with times that could not be moved.
    unmoved: HashSet<u32>,
    numbers: HashMap<(u64, u64), u32>,
    /// Files that have yet to be read in this look, by number.
    queue: VecDeque<u32>,
    order: Order,
    judge: Judge,
    /// What keeps files from being read, how often it was met in a row, and whether it was
    /// in this look.
    troubles: HashMap<PathBuf, (String, u32, bool)>,
    /// Files that are read when they are whole.
    unfinished: Unfinished,
    scratch: Vec<u8>,
}

impl fmt::Debug for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow")
            .field("paths", &self.paths)
            .finish()
    }
}

impl Follow {
    /// Follows the log at `path` from its start, with all files of its
    /// [`family`]. It may appear later.
    pub fn new(path: &Path) -> Follow {
        let path = path.to_owned();
        Follow::of(move || family(&path))
    }

    /// Follows the files that `find` gives each time it is asked.
    pub fn of(find: impl FnMut() -> Vec<PathBuf> + Send + 'static) -> Follow {
        Follow {
            find: Box::new(find),
            files: Vec::new(),
            paths: Vec::new(),
            offset_of: Box::new(|_| 0),
            offsets: Vec::new(),
            unmoved: HashSet::new(),
            numbers: HashMap::new(),
            queue: VecDeque::new(),
            order: Order::default(),
            judge: Judge::default(),
            troubles: HashMap::new(),
            unfinished: Unfinished::default(),
            scratch: Vec::new(),
        }
    }

    /// Gives suspect frames too, with that [standing](Standing::Suspect).
    pub fn with_suspects(mut self) -> Follow {
        self.judge.trusts_suspects = true;
        self
    }

    /// Moves the times of each file by nanoseconds, which depend on the path that it has at first: for
    /// machines whose clocks were wrong.
    pub fn with_times_moved(mut self, by: impl Fn(&Path) -> i64 + Send + 'static) -> Follow {
        self.offset_of = Box::new(by);
        self
    }

    /// How many nanoseconds the times of a file are moved by.
    pub fn times_moved(&self, file: u32) -> i64 {
        self.offsets.get(file as usize).copied().unwrap_or(0)
    }

    /// Where the file of a number was seen last.
    pub fn path(&self, file: u32) -> Option<&Path> {
        self.paths.get(file as usize).map(PathBuf::as_path)
    }

    /// Whether the last poll ended because it had enough, and not because it had read all.
    pub fn has_more(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether a file is there that could not be read at the last look. Its records come later than
    /// those that its threads wrote after them to other files.
    pub fn lacks_some(&self) -> bool {
        let is_gone = |path: &PathBuf| {
            let found = path.symlink_metadata();
            found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        };
        !self.unfinished.is_empty() || self.troubles.keys().any(|path| !is_gone(path))
    }

    /// What happened since the last call: logdefs first, then records by time, in the
    /// order of each thread but for those that are late. That of more than 131,072 threads is as the
    /// files have it. What goes wrong with a file is news too, and may pass.
    pub fn poll(&mut self) -> Vec<News> {
        let mut news = Vec::new();
        if self.queue.is_empty() {
            self.find_files(&mut news);
        }
        let (mut bytes, mut arrived) = (0, Vec::new());
        while let Some(&number) = self.queue.front() {
            let Some(mut file) = self.files[number as usize].take() else {
                self.queue.pop_front();
                continue;
            };
            let mut sink = Batch {
                number,
                arrived: &mut arrived,
                judge: &mut self.judge,
                news: &mut news,
                bytes: &mut bytes,
                scratch: &mut self.scratch,
            };
            let result = file.read(&mut sink);
            let is_full = matches!(result, Ok(false));
            self.keep(number, file, result.err());
            if is_full {
                break;
            }
            self.queue.pop_front();
        }
        for (frame, standing) in self.judge.judge(arrived, &self.files, &mut news) {
            self.give(frame, standing, &mut news);
        }
        if self.queue.is_empty() {
            self.order.end_of_look(&mut news);
            self.report_troubles(&mut news);
        } else {
            self.order.end_of_batch(&mut news);
        }
        news.extend(self.order.take());
        news
    }

    /// Puts a frame into its order.
    fn give(&mut self, mut frame: Arrived, standing: Standing, news: &mut Vec<News>) {
        let len = frame.bytes.len();
        self.move_in_time(&mut frame, news);
        let record = News::Frame {
            file: frame.place.input,
            offset: frame.place.offset,
            bytes: frame.bytes,
            standing,
            is_late: false,
        };
        match (Tag(frame.body[0]), Record::decode(&frame.body)) {
            (Tag::DATA, Ok(Record::Data(data))) => {
                self.order.arrive(&Peek::from(&data), len, record);
            }
            (_, Ok(Record::Note(note))) => self.order.note(&note, record),
            _ => news.push(record),
        }
    }

    /// Moves the times of a frame, if its file is one of a wrong clock.
    fn move_in_time(&mut self, frame: &mut Arrived, news: &mut Vec<News>) {
        let file = frame.place.input;
        let by = self.times_moved(file);
        if by == 0 {
            return;
        }
        if !move_in_time(&mut frame.bytes, by) && self.unmoved.insert(file) {
            news.push(News::Unmoved { file });
        }
        if let Ok(moved) = frame::decode(&frame.bytes)
            && let Some(body) = unmask::unmasked(moved.body, &mut self.scratch)
        {
            frame.body.clear();
            frame.body.extend_from_slice(body);
        }
    }

    /// Keeps a file for the next look, unless it is gone.
    fn keep(&mut self, number: u32, mut file: Followed, error: Option<Error>) {
        if let Some(error) = error {
            if error.cause().kind() == io::ErrorKind::NotFound {
                self.numbers.remove(&file.identity);
                return;
            }
            self.trouble(&file.path.clone(), error.cause().to_string());
        }
        let mut others = self.files.iter().flatten();
        let is_open = |file: &&Followed| file.input.is_some();
        // A file without a name could not be opened again.
        if file.is_named && others.by_ref().filter(is_open).nth(OPEN - 1).is_some() {
            file.close();
        }
        self.files[number as usize] = Some(file);
    }

    /// Begins a look: asks which files there are.
    fn find_files(&mut self, news: &mut Vec<News>) {
        let mut named = HashSet::new();
        let mut begun = Vec::new();
        let is_open = |file: &&Followed| file.input.is_some();
        let mut open = self.files.iter().flatten().filter(is_open).count();
        for path in (self.find)() {
            let metadata = match std::fs::metadata(&path) {
                Ok(metadata) => metadata,
                Err(error) => {
                    // It may be waited for.
                    if error.kind() != io::ErrorKind::NotFound || self.paths.contains(&path) {
                        self.trouble(&path, error.to_string());
                    }
                    continue;
                }
            };
            if !metadata.is_file() {
                self.trouble(&path, not_a_file(&metadata).into());
                continue;
            }
            let identity = (metadata.dev(), metadata.ino());
            if !named.insert(identity) {
                continue;
            }
            self.forget_replaced(identity, &metadata);
            match self.numbers.get(&identity) {
                Some(number) => self.rename(*number, path),
                None if !self.unfinished.may_open(identity, &metadata) => {}
                None => match Input::open(&path).map(Input::followed) {
                    // The link to the newest file led to a newer one by then.
                    Ok(input) if input.device_and_inode() != Some(identity) => {
                        named.remove(&identity);
                    }
                    Ok(input) if self.unfinished.is_unfinished(&path, &metadata, &input) => {}
                    Ok(input) => {
                        let by = (self.offset_of)(&path);
                        let begins = first_time(&input).saturating_add_signed(by);
                        let mut file = Followed::new(path, identity, input);
                        file.stamp = stamp(&metadata);
                        if open >= OPEN {
                            file.close();
                        }
                        open += usize::from(file.input.is_some());
                        begun.push((begins, by, file));
                    }
                    Err(error) => self.trouble(&path, error.cause().to_string()),
                },
            }
        }
        // A thread's records in one file are before those in a file that began later.
        begun.sort_by(|(a, _, one), (b, _, other)| (a, &one.path).cmp(&(b, &other.path)));
        for (_, by, mut file) in begun {
            file.number = self.files.len() as u32;
            news.extend(file.breaks_off());
            self.offsets.push(by);
            self.numbers.insert(file.identity, file.number);
            self.paths.push(file.path.clone());
            self.files.push(Some(file));
        }
        for file in self.files.iter_mut().flatten() {
            file.is_named = named.contains(&file.identity);
        }
        self.forget_nameless();
        self.unfinished.end_of_look();
        let kept = self.files.iter().enumerate();
        self.queue = kept
            .filter_map(|(number, file)| file.is_some().then_some(number as u32))
            .collect();
    }

    /// A file that was read once is another by now: it was written over, or another one has its inode.
    fn forget_replaced(&mut self, identity: (u64, u64), about: &Metadata) {
        if let Some(number) = self.numbers.get(&identity)
            && let Some(Some(file)) = self.files.get(*number as usize)
            && file.is_replaced(about)
        {
            self.files[*number as usize] = None;
            self.numbers.remove(&identity);
        }
    }

    fn rename(&mut self, number: u32, path: PathBuf) {
        if let Some(Some(file)) = self.files.get_mut(number as usize)
            && file.path != path
        {
            file.path.clone_from(&path);
            self.paths[number as usize] = path;
        }
    }

    /// Programs may write on to files that were removed; the oldest of many are given up.
    fn forget_nameless(&mut self) {
        let nameless = self.files.iter().flatten().filter(|file| !file.is_named);
        let nameless: Vec<_> = nameless
            .map(|file| (file.identity, file.input.is_some()))
            .collect();
        let many = nameless.len().saturating_sub(NAMELESS);
        for (index, (identity, is_open)) in nameless.into_iter().enumerate() {
            if (index < many || !is_open)
                && let Some(number) = self.numbers.remove(&identity)
            {
                self.files[number as usize] = None;
            }
        }
    }

    fn trouble(&mut self, path: &Path, why: String) {
        let trouble = self.troubles.entry(path.to_owned()).or_default();
        if trouble.0 != why {
            *trouble = (why, 0, true);
        }
        *trouble = (
            std::mem::take(&mut trouble.0),
            trouble.1.saturating_add(1),
            true,
        );
    }

    fn report_troubles(&mut self, news: &mut Vec<News>) {
        self.troubles.retain(|path, (why, met, is_met)| {
            if *met == PATIENCE {
                news.push(News::Unreadable {
                    path: path.clone(),
                    why: why.clone(),
                });
            }
            std::mem::take(is_met)
        });
    }
}

fn not_a_file(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "Is a directory"
    } else {
        "Not a plain file"
    }
}

/// The time of the first record of a file: when its run began, if it has none yet.
fn first_time(input: &Input) -> u64 {
    let mut items = Items::range_with_step(input, 0..u64::MAX, 64 << 10);
    let mut scratch = Vec::new();
    let mut begun = 0;
    for _ in 0..FIRST_ITEMS {
        let Ok(Some(item)) = items.next() else { break };
        let Item::Frame(frame) = item else { continue };
        match unmask::decode(frame.body, &mut scratch) {
            Ok(Record::Data(data)) if data.time.is_some() => return data.time.unwrap_or(0),
            Ok(Record::Preamble(preamble)) if begun == 0 => {
                begun = preamble.realtime.unwrap_or(0);
            }
            _ => {}
        }
    }
    begun
}

/// What one poll gives.
struct Batch<'b> {
    number: u32,
    arrived: &'b mut Vec<Arrived>,
    judge: &'b mut Judge,
    news: &'b mut Vec<News>,
    bytes: &'b mut usize,
    scratch: &'b mut Vec<u8>,
}

impl Batch<'_> {
    fn place(&self, offset: u64) -> Place {
        Place {
            input: self.number,
            offset,
        }
    }
}

impl Sink for Batch<'_> {
    fn frame(&mut self, offset: u64, bytes: &[u8], is_late: bool) {
        *self.bytes += bytes.len();
        let Ok(frame) = frame::decode(bytes) else {
            return;
        };
        let place = self.place(offset);
        let body = unmask::unmasked(frame.body, self.scratch).unwrap_or(frame.body);
        if !body.is_empty() {
            self.arrived.push(Arrived {
                place,
                bytes: bytes.to_vec(),
                body: body.to_vec(),
                is_late,
            });
        }
    }

    fn doubt(&mut self, offset: u64, is_late: bool) {
        self.judge.doubt(self.place(offset), is_late);
    }

    fn news(&mut self, news: News) {
        if let News::Truncated { file } = news {
            self.judge.forget(file);
        }
        self.news.push(news);
    }

    fn is_full(&self) -> bool {
        *self.bytes >= BATCH
    }
}
