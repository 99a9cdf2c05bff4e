//! The addresses of imported strings, which were in no image: hashes of them.

use logdef_wire::Svma;
use sha1::{Digest, Sha1};
use std::collections::HashMap;

/// Strings that have logdefs, and the longest of them.
const STRINGS: usize = 1 << 16;
pub(super) const LONGEST_STRING: usize = 4096;

/// Strings that were given addresses.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    plain: HashMap<Vec<u8>, Svma>,
    /// Those with descriptions, by both.
    described: HashMap<Vec<u8>, Svma>,
    key: Vec<u8>,
}

impl Addresses {
    /// The address of a string; `None` if the string must stand in the record itself. What has a
    /// description cannot, and always has an address.
    pub(super) fn of(&mut self, string: &[u8], description: &[u8]) -> Option<Svma> {
        let is_plain = description.is_empty();
        let (known, key) = if is_plain {
            (&mut self.plain, string)
        } else {
            self.key.clear();
            let len = (description.len() as u64).to_be_bytes();
            for part in [&len, description, string] {
                self.key.extend_from_slice(part);
            }
            (&mut self.described, &self.key[..])
        };
        if let Some(address) = known.get(key) {
            return Some(*address);
        }
        let has_room = known.len() < STRINGS && key.len() <= LONGEST_STRING;
        if !has_room && is_plain {
            return None;
        }
        let kind = if is_plain {
            &b"string"[..]
        } else {
            b"described"
        };
        // Below the numbers of texts.
        let address = Svma(hash(&[kind, key]) >> 1);
        if has_room {
            known.insert(key.to_vec(), address);
        }
        Some(address)
    }
}

/// The first eight bytes of a SHA-1 over parts that cannot run into one another.
pub(super) fn hash(parts: &[&[u8]]) -> u64 {
    let mut sha1 = Sha1::new();
    for part in parts {
        sha1.update((part.len() as u64).to_be_bytes());
        sha1.update(part);
    }
    let digest = sha1.finalize();
    u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}
