//! What records hold, as text to compare with.

use logdef_resync::push_value;
use logdef_wire::Value;

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
