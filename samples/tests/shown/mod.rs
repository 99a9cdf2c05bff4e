//! What the records of a log hold, as text to compare with.

#![allow(dead_code, reason = "each test uses some of it")]

use logdef_resync::{
    Event, Images, Input, Merge, MergeOptions, NoImages, Place, Recovery, Resolver, push_value,
};
use logdef_wire::record::Data;
use logdef_wire::{Record, Value};
use std::path::Path;

/// Calls `with` with each data record of inputs, in the order of the merge, and with a
/// resolver that knows the images.
pub fn each_record(
    inputs: &[Input],
    images: impl Images,
    mut with: impl FnMut(&mut Resolver<'_>, &Data<'_>, Place),
) {
    let recovery = Recovery::of(inputs).unwrap();
    let mut resolver = Resolver::new(recovery.tables(), images);
    let mut merge = Merge::new(inputs, &recovery, MergeOptions::default());
    while let Some(event) = merge.next().unwrap() {
        if let Event::Frame(frame) = event
            && let Some(Record::Data(data)) = frame.record()
        {
            with(&mut resolver, &data, frame.place);
        }
    }
}

/// The messages of a log as the reader prints them, without images.
pub fn messages(path: &Path) -> Vec<String> {
    let mut messages = Vec::new();
    let inputs = [Input::open(path).unwrap()];
    each_record(&inputs, NoImages, |resolver, data, place| {
        let mut message = Vec::new();
        resolver.resolve(data, place).message(&mut message);
        messages.push(String::from_utf8(message).unwrap());
    });
    messages
}

/// A value as a record has it: a string in quotation marks.
pub fn shown(value: Value<'_>) -> String {
    let mut text = Vec::new();
    push_value(value, &mut text);
    String::from_utf8(text).unwrap()
}

/// A name or a message.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
