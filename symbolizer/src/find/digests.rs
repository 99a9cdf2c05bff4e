//! What comparing files has cost, and what it has shown: a log may name the same large file a
//! thousand times, with a thousand digests. Each file is hashed once as long as it does not
//! change, its bytes are in memory once however many images are made of it, and all that is
//! read together is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::Refusal;
use crate::fingerprint::Digest;
use crate::open::{FileId, Regular};

/// Digests and bytes of files at hand.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    known: Mutex<HashMap<FileId, Known>>,
}

#[derive(Debug, Default)]
struct Known {
    sha1: Option<Digest>,
    md5: Option<Digest>,
    /// Set once a file was read for its build ID, and had this one, or none.
    build_id: Option<Option<Vec<u8>>>,
    bytes: Option<Weak<[u8]>>,
    /// Bytes of it that were read, all times together.
    read: u64,
}

impl Known {
    fn digest(&mut self, like: Digest) -> &mut Option<Digest> {
        match like {
            Digest::Sha1(_) => &mut self.sha1,
            Digest::Md5(_) => &mut self.md5,
        }
    }
}

impl Digests {
    /// Fails if the file is known to have another digest.
    pub fn check(&self, file: FileId, wanted: Digest) -> Result<(), Refusal> {
        let mut known = self.known();
        let found = known.get_mut(&file).and_then(|it| *it.digest(wanted));
        match found {
            Some(found) if found != wanted => Err(Refusal::Digest { found, wanted }),
            _ => Ok(()),
        }
    }

    /// The build ID that was read from the file: `Some(None)` if it has none, `None` if it
    /// was not read.
    pub fn build_id(&self, file: FileId) -> Option<Option<Vec<u8>>> {
        self.known().get(&file)?.build_id.clone()
    }

    /// Remembers the build ID of a file that was read.
    pub fn has_build_id(&self, file: FileId, build_id: Option<Vec<u8>>) {
        self.known().entry(file).or_default().build_id = Some(build_id);
    }

    /// The file's digest by the same algorithm as `like`, over `bytes`, which were read from it.
    pub fn of(&self, file: FileId, bytes: &[u8], like: Digest) -> Digest {
        if let Some(known) = self.known().get_mut(&file).and_then(|it| *it.digest(like)) {
            return known;
        }
        let digest = like.same_of(bytes);
        *self.known().entry(file).or_default().digest(like) = Some(digest);
        digest
    }

    /// The bytes of a file of at most `limit` bytes, if no more than `total` are read altogether.
    pub fn read(&self, file: Regular, limit: u64, total: u64) -> Result<Arc<[u8]>, Refusal> {
        let id = file.id();
        let mut known = self.known();
        let before = known.get(&id).and_then(|it| it.bytes.as_ref()?.upgrade());
        if let Some(bytes) = before {
            return Ok(bytes);
        }
        let read: u64 = known.values().map(|it| it.read).sum();
        if read.saturating_add(id.size) > total {
            return Err(Refusal::TooMany { size: id.size });
        }
        let bytes = file.read(limit)?;
        let known = known.entry(id).or_default();
        known.read += id.size;
        known.bytes = Some(Arc::downgrade(&bytes));
        Ok(bytes)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<FileId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
