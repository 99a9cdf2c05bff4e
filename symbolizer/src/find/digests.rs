//! What comparing files has cost, and what it has shown: a log may name the same large file a
//! thousand times, with a thousand digests. Each file is hashed once as long as it does not
//! change, in pieces; its bytes are in memory only when they are wanted, once however many images
//! are made of it; and all that is read together is bounded.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::Refusal;
use crate::find::parts;
use crate::fingerprint::{Digest, Hasher};
use crate::limits::Limits;
use crate::open::{Contents, FileBytes, FileId, Regular};

/// What a file is read for. Each has a bound of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Image,
    DebugFile,
}

/// Digests and bytes of files at hand.
#[derive(Debug, Default)]
pub(crate) struct Digests {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<FileId, Known>,
    /// Bytes that were read, by purpose.
    read: [u64; 2],
}

#[derive(Debug, Default)]
struct Known {
    sha1: Option<Digest>,
    md5: Option<Digest>,
    crc: Option<u32>,
    /// Set once a file was asked for its build ID, and had this one, or none.
    build_id: Option<Option<Vec<u8>>>,
    /// By purpose: of debug files only some parts are read.
    bytes: [Option<Weak<Contents>>; 2],
    /// Whether it was hashed and not yet read into memory. The two count as one.
    is_only_hashed: bool,
}

impl Known {
    fn digest(&mut self, like: Digest) -> &mut Option<Digest> {
        match like {
            Digest::Sha1(_) => &mut self.sha1,
            Digest::Md5(_) => &mut self.md5,
        }
    }
}

impl State {
    /// Fails if too much was read for a purpose to read this file too. One that is too large
    /// for any is refused elsewhere.
    fn may_read(&self, file: FileId, purpose: Purpose, limits: &Limits) -> Result<(), Refusal> {
        let after = self.read[purpose as usize].saturating_add(file.size);
        if file.size <= limits.file_size && after > limits.total_size {
            return Err(Refusal::TooMany { size: file.size });
        }
        Ok(())
    }
}

impl Digests {
    /// The build ID of the file; `find` looks for it once.
    pub fn build_id(
        &self,
        file: FileId,
        find: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut state = self.state();
        let known = state.known.entry(file).or_default();
        known.build_id.get_or_insert_with(find).clone()
    }

    /// The digest of a file by the same algorithm as `like`.
    pub fn digest(&self, file: &Regular, like: Digest, limits: &Limits) -> Result<Digest, Refusal> {
        let (mut state, id) = (self.state(), file.id());
        if let Some(digest) = state.known.get_mut(&id).and_then(|it| *it.digest(like)) {
            return Ok(digest);
        }
        let mut hasher = Hasher::like(like);
        hash(&mut state, file, Purpose::Image, limits, |piece| {
            hasher.add(piece);
        })?;
        let digest = hasher.digest();
        *state.known.entry(id).or_default().digest(like) = Some(digest);
        Ok(digest)
    }

    /// The CRC-32 of a file.
    pub fn crc(&self, file: &Regular, limits: &Limits) -> Result<u32, Refusal> {
        let (mut state, id) = (self.state(), file.id());
        if let Some(crc) = state.known.get(&id).and_then(|it| it.crc) {
            return Ok(crc);
        }
        let mut hasher = crc32fast::Hasher::new();
        hash(&mut state, file, Purpose::DebugFile, limits, |piece| {
            hasher.update(piece);
        })?;
        let crc = hasher.finalize();
        state.known.entry(id).or_default().crc = Some(crc);
        Ok(crc)
    }

    /// The file's digest by the same algorithm as `like`, over `bytes`, which were read from it.
    pub fn of(&self, file: FileId, bytes: &[u8], like: Digest) -> Digest {
        let known = |state: &mut State| *state.known.entry(file).or_default().digest(like);
        if let Some(digest) = known(&mut self.state()) {
            return digest;
        }
        let digest = like.same_of(bytes);
        *self.state().known.entry(file).or_default().digest(like) = Some(digest);
        digest
    }

    /// The bytes of a file, if not too much is read altogether; of a debug file those of
    /// the [parts](parts::needed) that are needed, and zeros.
    pub fn read(
        &self,
        mut file: Regular,
        purpose: Purpose,
        limits: &Limits,
    ) -> Result<FileBytes, Refusal> {
        let (mut state, id) = (self.state(), file.id());
        let known = state.known.entry(id).or_default();
        if let Some(bytes) = known.bytes[purpose as usize]
            .as_ref()
            .and_then(Weak::upgrade)
        {
            return Ok(bytes);
        }
        let is_counted = std::mem::take(&mut known.is_only_hashed);
        if !is_counted {
            state.may_read(id, purpose, limits)?;
        }
        let parts = match purpose {
            Purpose::Image => None,
            Purpose::DebugFile => parts::needed(&mut file),
        };
        let bytes = match parts {
            Some(parts) => file.read_parts(limits.file_size, &parts)?,
            None => file.read(limits.file_size)?,
        };
        if !is_counted {
            state.read[purpose as usize] += id.size;
        }
        let known = state.known.entry(id).or_default();
        known.bytes[purpose as usize] = Some(Arc::downgrade(&bytes));
        Ok(bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a file in pieces, which count.
fn hash(
    state: &mut State,
    file: &Regular,
    purpose: Purpose,
    limits: &Limits,
    add: impl FnMut(&[u8]),
) -> Result<(), Refusal> {
    let id = file.id();
    state.may_read(id, purpose, limits)?;
    file.read_pieces(limits.file_size, add)?;
    state.read[purpose as usize] += id.size;
    state.known.entry(id).or_default().is_only_hashed = true;
    Ok(())
}
