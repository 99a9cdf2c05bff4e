//! Bytes as one log or two: they are accounted for, merged, printed as text, and rewritten;
//! a second rewrite changes nothing.

use logdef_resync::{Event, Input, Merge, MergeOptions, NoImages, Recovery, Resolver, rewrite};
use logdef_wire::Record;

/// Panics if something does not hold.
pub fn exercise(bytes: &[u8]) {
    // Two thirds of all first bytes ask for a second input.
    let at = match bytes.first() {
        Some(first) if first % 3 > 0 => bytes.len() * *first as usize / 255,
        _ => bytes.len(),
    };
    let (first, second) = bytes.split_at(at);
    let mut inputs = vec![Input::from_bytes("first", first.to_vec())];
    if !second.is_empty() {
        inputs.push(Input::from_bytes("second", second.to_vec()));
    }
    let recovery = Recovery::of(&inputs).expect("memory can be read");
    for (account, input) in recovery.accounts().iter().zip(&inputs) {
        let tallies = [
            account.frames,
            account.padding,
            account.torn,
            account.damage,
        ];
        let sum: u64 = tallies.iter().map(|tally| tally.bytes).sum();
        assert_eq!(sum, input.len());
    }
    let records = texts(&inputs, &recovery);

    let mut clean = Vec::new();
    rewrite::recover(&inputs, &recovery, &mut NoImages, &mut clean).expect("memory has room");
    let inputs = [Input::from_bytes("clean", clean.clone())];
    let recovery = Recovery::of(&inputs).expect("memory can be read");
    assert_eq!(recovery.accounts()[0].frames.bytes, clean.len() as u64);
    assert_eq!(texts(&inputs, &recovery), records);
    let mut same = Vec::new();
    rewrite::recover(&inputs, &recovery, &mut NoImages, &mut same).expect("memory has room");
    assert_eq!(same, clean);
}

/// Prints all data records, and returns how many there are.
fn texts(inputs: &[Input], recovery: &Recovery) -> usize {
    let mut merge = Merge::new(inputs, recovery, MergeOptions::default());
    let mut resolver = Resolver::without_images(recovery.tables());
    let mut text = Vec::new();
    let mut count = 0;
    while let Some(event) = merge.next().expect("memory can be read") {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            count += 1;
            text.clear();
            resolver.resolve(&data, frame.place).message(&mut text);
        }
    }
    count
}
