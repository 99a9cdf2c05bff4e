//! An exported trace, read back with the trace reader.

mod synth;

use logdef_fuchsia::fxt::{Item, Record as FxtRecord, Records};
use logdef_resync::export::fxt::{Exporter, Form, Options};
use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::{Record, Run};

fn export(log: Vec<u8>, options: Options) -> Vec<u8> {
    let inputs = [Input::from_bytes("log", log)];
    let recovery = Recovery::of(&inputs).unwrap();
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut exporter = Exporter::new(Vec::new(), options).unwrap();
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        let stack = resolver.backtrace(&data, frame.place);
        exporter
            .record(&resolver.resolve(&data, frame.place), &stack)
            .unwrap();
    }
    exporter.finish().unwrap()
}

#[test]
fn every_record_is_a_log_record_and_an_instant() {
    let log = synth::chunked(Run(7), 3, 60, 4096, 5);
    for (form, logs, events) in [
        (Form::Log, 60, 0),
        (Form::Instant, 0, 60),
        (Form::Both, 60, 60),
    ] {
        let mut options = Options::default();
        options.form = form;
        let trace = export(log.bytes.clone(), options);
        let (mut found_logs, mut found_events, mut named) = (0, 0, 0);
        for item in Records::new(&trace) {
            let Item::Record(located) = item else {
                panic!("{item:?}");
            };
            match located.record {
                FxtRecord::Log(_) => found_logs += 1,
                FxtRecord::Event(_) => found_events += 1,
                FxtRecord::KernelObject(_) => named += 1,
                _ => {}
            }
        }
        assert!(trace.windows(14).any(|text| text == b"record 0 says "));
        assert_eq!((found_logs, found_events), (logs, events));
        assert_eq!(named, 4, "one process and three threads");
    }
}
