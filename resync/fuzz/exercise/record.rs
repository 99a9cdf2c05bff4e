//! Bytes as the body of a frame: what decodes encodes, and decodes to the same again.

use logdef_resync::{Glance, decode};
use logdef_wire::Record;
use logdef_wire::msgpack::Encoder;

/// Panics if something does not hold.
pub fn exercise(body: &[u8]) {
    let mut scratch = Vec::new();
    let Ok(record) = decode(body, &mut scratch) else {
        return;
    };
    // An integer of one byte may become one of nine.
    let mut buffer = vec![0; 64 + 9 * body.len()];
    let mut encoder = Encoder::new(&mut buffer);
    record.encode(&mut encoder).expect("what decodes encodes");
    let again = Record::decode(encoder.written()).expect("what encodes decodes");
    if let (Record::Data(record), Record::Data(again)) = (&record, &again) {
        assert_eq!(record.front, again.front);
    }
    // Not by `==`: a double may be no number.
    assert_eq!(format!("{record:?}"), format!("{again:?}"));
    if let Some(glance) = Glance::of(body) {
        let Record::Data(data) = &record else {
            panic!("a glance at what is no data record");
        };
        assert_eq!(glance, data.front);
    }
}
