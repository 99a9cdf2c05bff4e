//! The key-values of a record, with the types that they have.

use log::kv::{self, Error, Key, Source, Value, VisitSource};
use logdef::Passed;
use std::fmt::Display;

/// Key-values beyond these are left out.
const MOST: usize = 32;

/// The key-values of a record.
pub(crate) struct Pairs<'k> {
    pairs: [Option<(Key<'k>, Value<'k>)>; MOST],
    len: usize,
}

/// A value with its type; text that the program prints stands for all others.
enum Typed<'v> {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    Text(&'v str),
    Wide(i128),
    Printed(&'v dyn Display),
}

impl<'k> Pairs<'k> {
    pub fn of(source: &'k dyn Source) -> Pairs<'k> {
        let mut pairs = Pairs {
            pairs: [const { None }; MOST],
            len: 0,
        };
        // It fails when it has enough of them.
        let _ = source.visit(&mut pairs);
        pairs
    }

    /// Calls `log` with them.
    pub fn with_values(&self, log: impl FnOnce(&[(&str, Passed<'_>)])) {
        if self.len == 0 {
            return log(&[]);
        }
        let none = Typed::Bool(false);
        let typed: [Typed<'_>; MOST] = std::array::from_fn(|index| match &self.pairs[index] {
            Some((_, value)) => Typed::of(value),
            None => Typed::Bool(false),
        });
        let passed: [(&str, Passed<'_>); MOST] =
            std::array::from_fn(|index| match &self.pairs[index] {
                Some((key, _)) => (key.as_str(), typed[index].pass()),
                None => ("", none.pass()),
            });
        log(&passed[..self.len]);
    }
}

impl<'k> VisitSource<'k> for Pairs<'k> {
    fn visit_pair(&mut self, key: Key<'k>, value: Value<'k>) -> Result<(), Error> {
        let place = self.pairs.get_mut(self.len);
        *place.ok_or_else(|| Error::msg("too many"))? = Some((key, value));
        self.len += 1;
        Ok(())
    }
}

impl<'v> Typed<'v> {
    fn of(value: &'v Value<'_>) -> Typed<'v> {
        struct Kind<'v>(Option<Typed<'v>>);
        impl<'v> kv::VisitValue<'v> for Kind<'v> {
            fn visit_any(&mut self, _: Value<'_>) -> Result<(), Error> {
                Ok(())
            }
            fn visit_u64(&mut self, value: u64) -> Result<(), Error> {
                self.0 = Some(Typed::Unsigned(value));
                Ok(())
            }
            fn visit_i64(&mut self, value: i64) -> Result<(), Error> {
                self.0 = Some(Typed::Signed(value));
                Ok(())
            }
            fn visit_i128(&mut self, value: i128) -> Result<(), Error> {
                self.0 = Some(Typed::Wide(value));
                Ok(())
            }
            fn visit_f64(&mut self, value: f64) -> Result<(), Error> {
                self.0 = Some(Typed::Float(value));
                Ok(())
            }
            fn visit_bool(&mut self, value: bool) -> Result<(), Error> {
                self.0 = Some(Typed::Bool(value));
                Ok(())
            }
            fn visit_borrowed_str(&mut self, value: &'v str) -> Result<(), Error> {
                self.0 = Some(Typed::Text(value));
                Ok(())
            }
        }
        let mut kind = Kind(None);
        // What it does not take is printed.
        let _ = value.visit(&mut kind);
        kind.0.unwrap_or(Typed::Printed(value))
    }

    fn pass(&self) -> Passed<'_> {
        match self {
            Typed::Signed(value) => logdef::value(value),
            Typed::Unsigned(value) => logdef::value(value),
            Typed::Float(value) => logdef::value(value),
            Typed::Bool(value) => logdef::value(value),
            Typed::Wide(value) => logdef::value(value),
            Typed::Text(value) => logdef::value(value),
            Typed::Printed(value) => Passed::display(*value),
        }
    }
}
