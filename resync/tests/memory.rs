//! Memory does not grow with the input. One test, as the peak is the process's.

mod synth;

use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::Run;
use std::io::Write;

#[test]
fn a_long_hostile_file_is_read_in_bounded_memory() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let log = synth::chunked(Run(7), 4, 2000, 16 << 10, 1);
    // Claims of the longest body, everywhere.
    let mut claims = Vec::new();
    while claims.len() < 1 << 20 {
        claims.extend([
            0xc1, 0xce, 1, 2, 3, 4, 0xc1, 0xdb, 0, 0xff, 0xff, 0xff, 0x7f, 0x80,
        ]);
        claims.resize(claims.len() + 242, 0x5a);
    }
    let megabytes = if synth::slow() { 1024 } else { 96 };
    for step in 0..megabytes {
        match step % 4 {
            0 => file.write_all(&claims).unwrap(),
            1 => file.write_all(&vec![0; 1 << 20]).unwrap(),
            // Copies overlap in time, and as many as do are read at once.
            _ if step < 96 => file.write_all(&log.bytes).unwrap(),
            _ => file.write_all(&vec![0; 1 << 20]).unwrap(),
        }
    }
    let before = synth::peak_memory();
    let inputs = [Input::open(file.path()).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let account = &recovery.accounts()[0];
    assert!(account.work.candidates > 100_000);
    assert!(account.work.summed < 2 * account.bytes + 1024 * account.work.candidates);
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut records = 0;
    while let Some(event) = merge.next().unwrap() {
        records += u64::from(matches!(event, Event::Frame(_)));
    }
    assert_eq!(records, 2000, "each once");
    let grown = synth::peak_memory() - before;
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);
}
