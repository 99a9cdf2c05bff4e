//! Frames around records of our own, in a buffer that grows to hold them.

use crate::read::input::Error;
use logdef_wire::frame;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use std::io;

/// Writes the frame of a record to the front of `buffer`, and returns its length.
pub(crate) fn encode(
    buffer: &mut Vec<u8>,
    body: impl Fn(&mut Encoder<'_>) -> Result<(), OutOfRoom>,
) -> Result<usize, Error> {
    loop {
        match frame::encode(buffer, &body) {
            Ok(len) => return Ok(len),
            Err(OutOfRoom) if buffer.len() < frame::MAX_BODY => {
                buffer.resize((buffer.len() * 2).max(256), 0);
            }
            Err(OutOfRoom) => return Err(Error::output(io::ErrorKind::FileTooLarge.into())),
        }
    }
}
