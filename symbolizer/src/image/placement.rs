//! Where an image was loaded, worked out from the backtraces of its own log calls. For logs that
//! have lost everything else: a data record says which call site it is of, and the first return
//! address of its backtrace is in the code that passes that very site to the logger. Loaders move
//! images by whole pages, so few addresses come into question, and of those only one is after a
//! call with a reference to the site before it.

use std::collections::HashMap;

use logdef_wire::{Avma, Svma};
use object::elf::{EM_AARCH64, EM_X86_64, Machine};

use crate::image::call_site::CallSites;
use crate::image::elf::Elf;

/// A record of one of the image's call sites, with the return address that it was logged from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogCall {
    /// Where the format stands, as in the record.
    pub format: Svma,
    /// Where the file name stands.
    pub file: Svma,
    /// The line in that file, from 1.
    pub line: u64,
    /// A return address of its backtrace, one of the innermost.
    pub returns_to: Avma,
}

/// What loaders move images by at least.
const PAGE: u64 = 4096;
/// How far before the call a site may be referred to. It is an argument of the call.
const WINDOW: usize = 4096;
/// Most calls to look at; more would say the same.
const CALLS: usize = 64;

/// The load bias that most of `calls` agree on, if they do on one.
pub(crate) fn load_bias(elf: &Elf, sites: &CallSites, calls: &[LogCall]) -> Option<u64> {
    if !elf.is_movable {
        return Some(0);
    }
    let mut votes = HashMap::<u64, u32>::new();
    for call in calls.iter().take(CALLS) {
        let records = sites.records_of(call.format, call.file, call.line);
        for svma in candidates(elf, call.returns_to) {
            if is_log_call(elf, svma, records) {
                *votes
                    .entry(call.returns_to.0.wrapping_sub(svma.0))
                    .or_default() += 1;
            }
        }
    }
    chosen(&votes)
}

/// The load bias with most votes; `None` if several have as many.
fn chosen(votes: &HashMap<u64, u32>) -> Option<u64> {
    let (&bias, &most) = votes.iter().max_by_key(|(_, votes)| **votes)?;
    let is_alone = votes.values().filter(|votes| **votes == most).count() == 1;
    is_alone.then_some(bias)
}

/// Addresses of code that are as far into their page.
fn candidates(elf: &Elf, address: Avma) -> impl Iterator<Item = Svma> {
    let code = elf.segments.iter().filter(|segment| segment.executable);
    code.flat_map(move |segment| {
        let start = segment.address.0;
        let into = address.0.wrapping_sub(start) % PAGE;
        let size = segment.memory_size.min(segment.file.len() as u64);
        (into..size)
            .step_by(PAGE as usize)
            .map(move |at| Svma(start + at))
    })
}

/// Whether the code before `address` passes one of `records` to a function that returns there.
fn is_log_call(elf: &Elf, address: Svma, records: &[Svma]) -> bool {
    let Some((start, code)) = elf.code_before(address, WINDOW) else {
        return false;
    };
    match elf.machine {
        EM_X86_64 => x86_64::ends_in_call(code) && x86_64::refers(code, start, records),
        EM_AARCH64 => aarch64::ends_in_call(code) && aarch64::refers(code, start, records),
        Machine(_) => false,
    }
}

mod x86_64 {
    use logdef_wire::Svma;

    /// Calls by displacement, through memory at a displacement from here, and through a register.
    pub(super) fn ends_in_call(code: &[u8]) -> bool {
        matches!(
            code,
            [.., 0xe8, _, _, _, _] | [.., 0xff, 0x15, _, _, _, _] | [.., 0xff, 0xd0..=0xd7]
        )
    }

    /// Whether a displacement in `code`, which stands at `start`, is one to a record: instructions
    /// that take an address end with it.
    pub(super) fn refers(code: &[u8], start: Svma, records: &[Svma]) -> bool {
        code.windows(4).enumerate().any(|(at, bytes)| {
            let displacement = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let next = start.0.wrapping_add(at as u64 + 4);
            records.contains(&Svma(next.wrapping_add_signed(displacement.into())))
        })
    }
}

mod aarch64 {
    use logdef_wire::Svma;

    /// `bl` and `blr`.
    pub(super) fn ends_in_call(code: &[u8]) -> bool {
        code.last_chunk().is_some_and(|word| {
            let word = u32::from_le_bytes(*word);
            word >> 26 == 0b10_0101 || word & 0xffff_fc1f == 0xd63f_0000
        })
    }

    /// Whether `adrp` and a later `add` in `code`, which stands at `start`, make a record's address.
    pub(super) fn refers(code: &[u8], start: Svma, records: &[Svma]) -> bool {
        let words = code.chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut pages = Vec::new();
        for (index, word) in words.enumerate() {
            if word & 0x9f00_0000 == 0x9000_0000 {
                let pages_on = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
                // Twenty-one bits with a sign.
                let pages_on = i64::from((pages_on << 11).cast_signed() >> 11);
                let here = start.0.wrapping_add(4 * index as u64) & !0xfff;
                pages.push(here.wrapping_add_signed(pages_on << 12));
            } else if word & 0xffc0_0000 == 0x9100_0000 {
                let into = u64::from(word >> 10 & 0xfff);
                let is_record = |page: &u64| records.contains(&Svma(page.wrapping_add(into)));
                if pages.iter().rev().take(16).any(is_record) {
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_bias_is_chosen_if_no_other_has_as_many_votes() {
        let chosen = |votes: &[(u64, u32)]| chosen(&votes.iter().copied().collect());
        assert_eq!(chosen(&[]), None);
        assert_eq!(chosen(&[(0x1000, 1)]), Some(0x1000));
        assert_eq!(
            chosen(&[(0x1000, 2), (0x5000, 3), (0x9000, 1)]),
            Some(0x5000)
        );
        assert_eq!(chosen(&[(0x1000, 3), (0x5000, 3), (0x9000, 1)]), None);
    }

    #[test]
    fn code_of_x86_64_is_read() {
        // lea rdi, [rip + 0x2fd0]; call 0x1234 away; what follows
        let code = [0x48, 0x8d, 0x3d, 0xd0, 0x2f, 0, 0, 0xe8, 0x34, 0x12, 0, 0];
        let start = Svma(0x1000);
        assert!(x86_64::ends_in_call(&code));
        assert!(!x86_64::ends_in_call(&code[..11]));
        let record = Svma(0x1007 + 0x2fd0);
        assert!(x86_64::refers(&code, start, &[Svma(0), record]));
        assert!(!x86_64::refers(&code, start, &[Svma(record.0 + 64)]));
        assert!(x86_64::ends_in_call(&[0xff, 0x15, 1, 2, 3, 4])); // call [rip + …]
        assert!(x86_64::ends_in_call(&[0x41, 0xff, 0xd4])); // call r12
        assert!(!x86_64::ends_in_call(&[0xff, 0xe0])); // jmp rax
    }

    #[test]
    fn code_of_aarch64_is_read() {
        let words = |words: &[u32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_le_bytes()).collect()
        };
        // adrp x0, 0x13000 (two pages on); add x0, x0, #0x7c0; bl +8
        let code = words(&[0xd000_0000, 0x911f_0000, 0x9400_0002]);
        assert!(aarch64::ends_in_call(&code));
        assert!(aarch64::refers(&code, Svma(0x11234), &[Svma(0x137c0)]));
        assert!(!aarch64::refers(&code, Svma(0x11234), &[Svma(0x147c0)]));
        // adrp x0, one page back; add x0, x0, #0x10; blr x8
        let code = words(&[0xf0ff_ffe0, 0x9100_4000, 0xd63f_0100]);
        assert!(aarch64::ends_in_call(&code));
        assert!(aarch64::refers(&code, Svma(0x11000), &[Svma(0x10010)]));
        assert!(!aarch64::ends_in_call(&words(&[0xd65f_03c0]))); // ret
    }
}
