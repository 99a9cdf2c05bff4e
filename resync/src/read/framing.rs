//! Frames around records of our own, in a buffer that grows to hold them.

use crate::read::input::Error;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::{Value, frame};
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

/// Writes a value of any type.
pub(crate) fn value(encoder: &mut Encoder<'_>, value: Value<'_>) -> Result<(), OutOfRoom> {
    match value {
        Value::Nil => encoder.nil(),
        Value::Ext(kind, bytes) => {
            encoder.bytes(&[0xc9])?;
            encoder.bytes(&(bytes.len() as u32).to_be_bytes())?;
            encoder.bytes(&kind.to_be_bytes())?;
            encoder.bytes(bytes)
        }
        Value::Bool(value) => encoder.bool(value),
        Value::Uint(value) => encoder.uint(value),
        Value::Int(value) => encoder.int(value),
        Value::Float(value) => encoder.float(value),
        Value::Raw(bytes) => encoder.raw(bytes),
        Value::Array(array) => {
            encoder.array(array.len())?;
            encoder.bytes(array.objects())
        }
        Value::Map(map) => {
            encoder.map(map.len())?;
            encoder.bytes(map.objects())
        }
    }
}
