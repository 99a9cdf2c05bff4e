//! What earlier records of a provider say about later ones: its string and thread
//! tables, its tick rate, and the names of objects. Memory is in proportion to the
//! input, with little more per provider than what was registered.

use core::hash::{BuildHasherDefault, Hasher};
use std::borrow::Cow;
use std::collections::HashMap;

use super::record::{ObjectKind, ProviderId};
use super::string::{StringIndex, StringRef};
use super::thread::{Koid, ProcessRef, Thread, ThreadIndex, ThreadRef};
use super::time::{TickRate, Ticks, Time};

/// A provider of a trace, with what has been said about it so far.
#[derive(Clone, Debug, Default)]
pub struct Provider {
    pub(crate) id: ProviderId,
    pub(crate) name: Option<Box<str>>,
    pub(crate) rate: TickRate,
    strings: ByIndex<u16, Box<str>>,
    threads: ByIndex<u8, Thread>,
    /// Which indexes the two tables have, as asking that is most of the work of a
    /// reader that only counts.
    has_string: Indexes,
    has_thread: Indexes,
    pub(crate) kernel_objects: HashMap<Koid, Object>,
    pub(crate) userspace_objects: HashMap<(Koid, u64), Box<str>>,
}

/// A kernel object that has been given a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The type that its record gives.
    pub kind: ObjectKind,
    /// The name that its record gives.
    pub name: Box<str>,
}

impl Provider {
    /// A provider about which nothing else has been said.
    pub(crate) fn new(id: ProviderId) -> Provider {
        Provider {
            id,
            ..Provider::default()
        }
    }

    /// The number that names the provider within the trace.
    pub fn id(&self) -> ProviderId {
        self.id
    }

    /// The name of the provider, if a provider info record gave one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// How long a tick lasts.
    pub fn rate(&self) -> TickRate {
        self.rate
    }

    /// What a koid stands for, if a kernel object record has said so.
    pub fn kernel_object(&self, koid: Koid) -> Option<&Object> {
        self.kernel_objects.get(&koid)
    }

    /// What a pointer of a process stands for, if a userspace object record has said
    /// so.
    pub fn userspace_object(&self, process: Koid, pointer: u64) -> Option<&str> {
        self.userspace_objects
            .get(&(process, pointer))
            .map(|name| &**name)
    }

    /// The entry of the string table.
    pub fn string(&self, index: StringIndex) -> Option<&str> {
        self.strings.get(&index.get()).map(|text| &**text)
    }

    /// The entry of the thread table.
    pub fn thread(&self, index: ThreadIndex) -> Option<Thread> {
        self.threads.get(&index.get()).copied()
    }

    pub(crate) fn set_string(&mut self, index: StringIndex, text: Box<str>) {
        self.has_string.insert(index.get());
        self.strings.insert(index.get(), text);
    }

    pub(crate) fn set_thread(&mut self, index: ThreadIndex, thread: Thread) {
        self.has_thread.insert(index.get().into());
        self.threads.insert(index.get(), thread);
    }

    #[inline]
    pub(crate) fn has_string(&self, index: StringIndex) -> bool {
        self.has_string.contains(index.get())
    }

    #[inline]
    pub(crate) fn has_thread(&self, index: ThreadIndex) -> bool {
        self.has_thread.contains(index.get().into())
    }

    pub(crate) fn text<'s>(&'s self, text: StringRef<'s>) -> Cow<'s, str> {
        match text {
            StringRef::Empty => Cow::Borrowed(""),
            StringRef::Inline(bytes) => String::from_utf8_lossy(bytes),
            StringRef::Index(index) => match self.string(index) {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(format!("<string {}>", index.get())),
            },
        }
    }

    pub(crate) fn resolve_thread(&self, thread: ThreadRef) -> Thread {
        match thread {
            ThreadRef::Inline(thread) => thread,
            ThreadRef::Index(index) => self.thread(index).unwrap_or_default(),
        }
    }

    pub(crate) fn resolve_process(&self, process: ProcessRef) -> Koid {
        match process {
            ProcessRef::Inline(process) => process,
            ProcessRef::Index(index) => self.thread(index).unwrap_or_default().process,
        }
    }

    pub(crate) fn time(&self, ticks: Ticks) -> Time {
        Time {
            nanos: self.rate.nanos(ticks),
            ticks,
        }
    }
}

/// A set of table indexes: 4 KB at most.
#[derive(Clone, Debug, Default)]
struct Indexes(Vec<u64>);

impl Indexes {
    fn insert(&mut self, index: u16) {
        let word = usize::from(index) / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (index % 64);
    }

    #[inline]
    fn contains(&self, index: u16) -> bool {
        let word = self.0.get(usize::from(index) / 64);
        word.is_some_and(|word| word >> (index % 64) & 1 != 0)
    }
}

/// A map whose keys are table indexes. There are too few of them to fear that they
/// were chosen to collide, so the hash is a single multiplication.
pub(crate) type ByIndex<K, V> = HashMap<K, V, BuildHasherDefault<IndexHasher>>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IndexHasher(u64);

impl Hasher for IndexHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u16(byte.into());
        }
    }

    fn write_u8(&mut self, index: u8) {
        self.write_u16(index.into());
    }

    fn write_u16(&mut self, index: u16) {
        // 2^64 divided by the golden ratio spreads neighbours over all bits.
        self.0 = (self.0.rotate_left(16) ^ u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
