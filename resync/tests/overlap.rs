//! Lanes that all overlap in time take memory by what they hold, not by their number
//! times a buffer. One test, as the peak is the process's.

mod synth;

use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery};
use logdef_wire::Run;
use std::io::Write;
use synth::{EPOCH, Log};

#[test]
fn many_lanes_at_once_take_little_memory_each() {
    // README says that this number are ordered.
    let lanes = 20_000;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let run = Run(7);
    for lane in 0..lanes {
        // Each begins before any ends.
        let mut log = Log::new();
        log.preamble(run, Some(1024));
        log.data(run, lane, 0, EPOCH + lane, b"first");
        log.data(run, lane, 1, EPOCH + 10_000_000 + lane, b"last");
        log.bytes.resize(1024, 0);
        file.write_all(&log.bytes).unwrap();
    }
    file.flush().unwrap();
    let before = synth::peak_memory();
    let inputs = [Input::open(file.path()).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    let recovered = synth::peak_memory() - before;
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let (mut records, mut last) = (0, 0);
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(logdef_wire::Record::Data(data)) = frame.record()
        {
            assert!(data.time.unwrap() >= last, "in the order of time");
            last = data.time.unwrap();
            records += 1;
        }
    }
    assert_eq!(records, 2 * lanes);
    let grown = synth::peak_memory() - before;
    println!("{} {} bytes a lane", recovered / lanes, grown / lanes);
    assert!(grown < (32 << 20) + lanes * 2048, "{} MiB", grown >> 20);
}
