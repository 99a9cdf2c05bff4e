//! Arrays and maps that were walked once: how many objects they hold, and where. Their
//! objects are read by [`Decoder`], which alone makes them.

use super::decode::{DecodeError, Decoder, Value};

/// An array whose bytes are known to hold `len` whole objects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Array<'a> {
    pub(super) len: u32,
    pub(super) objects: &'a [u8],
}

impl<'a> Array<'a> {
    /// The array whose head was taken off, if `objects` holds exactly `len`
    /// objects.
    pub fn from_objects(len: u32, objects: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(objects);
        decoder.objects(len as u64)?;
        decoder.finish()?;
        Ok(Array { len, objects })
    }

    /// How many objects it holds.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of its objects, without the head.
    pub fn objects(&self) -> &'a [u8] {
        self.objects
    }

    /// Its objects in order.
    #[inline]
    pub fn iter(&self) -> Values<'a> {
        Values {
            decoder: Decoder::new(self.objects),
        }
    }
}

impl<'a> IntoIterator for Array<'a> {
    type Item = Value<'a>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

/// A map whose bytes are known to hold `len` whole pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Map<'a> {
    pub(super) len: u32,
    pub(super) objects: &'a [u8],
}

impl<'a> Map<'a> {
    /// The map whose head was taken off, if `objects` holds exactly `len` pairs.
    pub fn from_objects(len: u32, objects: &'a [u8]) -> Result<Self, DecodeError> {
        let mut decoder = Decoder::new(objects);
        decoder.objects(2 * len as u64)?;
        decoder.finish()?;
        Ok(Map { len, objects })
    }

    /// How many pairs it holds.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of its keys and values, without the head.
    pub fn objects(&self) -> &'a [u8] {
        self.objects
    }

    /// Its pairs in order.
    pub fn iter(&self) -> impl Iterator<Item = (Value<'a>, Value<'a>)> + use<'a> {
        let mut values = Values {
            decoder: Decoder::new(self.objects),
        };
        core::iter::from_fn(move || Some((values.next()?, values.next()?)))
    }
}

impl<'a> Array<'a> {
    /// Writes its objects in order into `values`, as many as there is room for, and
    /// returns how many.
    #[inline]
    pub fn read_into(self, values: &mut [Value<'a>]) -> usize {
        let mut decoder = Decoder::new(self.objects);
        let mut read = 0;
        for value in values.iter_mut().take(self.len as usize) {
            if !decoder.common_value_into(value) {
                // The bytes were walked before, so an error is the end.
                match decoder.any_value() {
                    Ok(other) => *value = other,
                    Err(_) => break,
                }
            }
            read += 1;
        }
        read
    }
}

/// The objects of an [`Array`] in order.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a> {
    decoder: Decoder<'a>,
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        // The bytes were walked before, so an error is the end.
        self.decoder.value().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_empty_if_it_holds_nothing() {
        let array = |len, objects| Array::from_objects(len, objects).unwrap();
        let map = |len, objects| Map::from_objects(len, objects).unwrap();
        assert!(array(0, &[]).is_empty() && !array(1, &[7]).is_empty());
        assert!(map(0, &[]).is_empty() && !map(1, &[7, 8]).is_empty());
    }
}
