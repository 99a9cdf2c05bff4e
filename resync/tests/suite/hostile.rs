//! Files that are made to cost much: the work on each is linear in its bytes, by counters
//! and not by clocks.

use crate::synth::{self, Log, Random};
use logdef_resync::{Input, Recovery, Work};
use logdef_wire::Run;

/// The shorter of the files of a family, at least.
const LEN: usize = 512 << 10;

/// A file of some length.
type Family = (&'static str, fn(usize) -> Vec<u8>);

const FAMILIES: [Family; 9] = [
    ("claims of the longest body", |len| {
        claims(len, 14, 16 << 20)
    }),
    ("claims of many kilobytes", |len| claims(len, 20, LEN / 4)),
    ("claims up to the end", |len| claims(len, 16, len)),
    ("claims that are summed directly", |len| {
        claims(len, 14, 1024)
    }),
    ("claims a little longer than those", |len| {
        claims(len, 14, 1025)
    }),
    ("claims far apart", |len| claims(len, 4096, LEN / 4)),
    ("pairs of a header's first bytes", |len| {
        [0xc1, 0xce].repeat(len / 2)
    }),
    ("frames that were never finished", |len| {
        let unit = [0, 0, 0, 0, 0, 0, 0xc1, 0xda, 0xff, 0xff];
        unit.repeat(len / unit.len())
    }),
    ("preambles inside claims", |len| {
        let mut log = Log::new();
        while log.bytes.len() < len {
            log.raw(&claims(64, 16, LEN / 4))
                .preamble(Run(7), Some(1 << 20));
        }
        log.bytes
    }),
];

/// Headers `apart` bytes from each other, each of which claims `body` bytes.
fn claims(len: usize, apart: usize, body: usize) -> Vec<u8> {
    let mut random = Random::new(1);
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let start = bytes.len();
        bytes.extend([0xc1, 0xce]);
        bytes.extend(random.bytes(4).iter().map(|byte| byte & 0x7f));
        bytes.extend([0xc1, 0xdb]);
        bytes.extend((body as u32).to_be_bytes());
        bytes.extend([0x7f, 0x80]);
        bytes.resize(start + apart, 0x5a);
    }
    bytes
}

fn work(bytes: Vec<u8>) -> Work {
    let len = bytes.len() as u64;
    let recovery = Recovery::of(&[Input::from_bytes("hostile", bytes)]).unwrap();
    let account = &recovery.accounts()[0];
    assert_eq!(account.bytes, len);
    account.work
}

#[test]
fn work_is_linear_whatever_a_file_claims() {
    let slow = if synth::slow() { 16 } else { 1 };
    for (name, file) in FAMILIES {
        let one = work(file(slow * LEN));
        let bound = 2 * (slow * LEN) as u64 + 1024 * one.candidates;
        assert!(one.summed <= bound, "{name}: {one:?}");
        assert!(one.candidates <= (slow * LEN / 8) as u64, "{name}: {one:?}");
        let two = work(file(2 * slow * LEN));
        assert!(
            two.summed <= 3 * one.summed + 4096,
            "{name}: {one:?}, then {two:?}"
        );
        assert!(
            two.candidates <= 3 * one.candidates + 16,
            "{name}: {one:?}, then {two:?}"
        );
    }
}
