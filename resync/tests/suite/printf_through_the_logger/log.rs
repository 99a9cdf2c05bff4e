//! Reads a log back: each record's text, and its arguments as bytes.

use logdef_resync::{Event, Input, Merge, MergeOptions, Recovery, Resolver};
use logdef_wire::{Record, Tag};
use std::path::Path;

/// A record of a call.
pub struct Logged {
    pub text: Vec<u8>,
    /// How many arguments there are, and their bytes on the wire.
    pub args: Vec<u8>,
}

/// The records of a log without damage, in their order.
pub fn read(log: &Path) -> Vec<Logged> {
    let inputs = [Input::open(log).unwrap()];
    let recovery = Recovery::of(&inputs).unwrap();
    assert!(recovery.is_clean(), "{:?}", recovery.accounts());
    assert_eq!(recovery.lost(), 0);
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut merge = Merge::new(&inputs, &recovery, MergeOptions::default());
    let mut logged = Vec::new();
    let mut masked = 0;
    while let Some(event) = merge.next().unwrap() {
        let Event::Frame(frame) = event else { continue };
        assert_eq!(headers(frame.bytes), 1, "{:x?}", frame.bytes);
        let Some(Record::Data(data)) = frame.record() else {
            continue;
        };
        // A record that is not masked stands in its frame as it is.
        masked += usize::from(!frame.bytes.ends_with(frame.body));
        assert_eq!(frame.tag(), Tag::DATA);
        let mut text = Vec::new();
        resolver.resolve(&data, frame.place).message(&mut text);
        let args = data.args.unwrap();
        let mut bytes = args.len().to_be_bytes().to_vec();
        bytes.extend(args.objects());
        logged.push(Logged { text, args: bytes });
    }
    assert!(masked > 0, "no string had to be masked");
    logged
}

/// How often a frame header's pattern stands in the bytes, looked for one by one.
fn headers(bytes: &[u8]) -> usize {
    bytes
        .windows(8)
        .filter(|w| {
            let raw = matches!(w[7], 0xa0..=0xbf | 0xda | 0xdb);
            w[0] == 0xc1 && w[1] == 0xce && w[6] == 0xc1 && raw
        })
        .count()
}
