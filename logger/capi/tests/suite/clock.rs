//! A wall clock that is set while a program runs: with the counter within a
//! millisecond, with the kernel's clocks at the next chunk.

use crate::compilers::{source, toolchains};
use crate::decode::{DATA, Record, records};
use crate::installed::{build, log_by};

const NOTE: i128 = 6;
const CLOCK_SET: i128 = 5;
const SECOND: i128 = 1_000_000_000;

#[test]
fn a_clock_that_is_set_is_noted_and_followed() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("clock");
    build(toolchains()[0].cc, &[], &[source("clock.c")], &program);
    // An emulator shows the clock source of the machine that it runs on.
    let counter_is_trusted = cfg!(target_arch = "x86_64")
        && std::fs::read_to_string(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        )
        .is_ok_and(|source| source.trim() == "tsc");
    for clock in ["0", "1", "2"] {
        let records = records(&log_by(&program, &[clock]));
        let int = |record: &Record, field| record.field(field).unwrap().int();
        let notes: Vec<_> = records
            .iter()
            .filter(|record| record.tag == NOTE && int(record, 1) == CLOCK_SET)
            // What the wall clock is ahead of the monotonic one.
            .map(|note| int(note, 4) - int(note, 5))
            .collect();
        let times: Vec<_> = records
            .iter()
            .filter(|record| record.tag == DATA)
            .map(|data| int(data, 8))
            .collect();
        let hours = |from: usize, to: usize| {
            let seconds = (times[to] - times[from]) / SECOND;
            (seconds as f64 / 3600.0).round()
        };
        // A record or two after the change may still have the time before it.
        assert_eq!((hours(0, 9), hours(9, 12), hours(12, 22)), (0.0, 1.0, -2.0));
        assert_eq!(hours(22, times.len() - 1), 0.0);
        match clock {
            "0" if counter_is_trusted => {
                let [first, second] = notes[..] else {
                    panic!("{notes:?}");
                };
                let seconds = (second - first) as f64 / SECOND as f64;
                assert_eq!(seconds.round(), -7200.0);
            }
            _ => assert_eq!(notes.len(), 1, "{notes:?}"),
        }
    }
}
