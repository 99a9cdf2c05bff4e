//! The values of an event or a span, with their types. Texts are copied to memory that the thread
//! keeps: `tracing` lends them for the time of a visit.

use crate::sites::Site;
use logdef::{Passed, value};
use std::cell::Cell;
use std::error::Error;
use std::fmt::{self, Debug, Write};
use std::ops::Range;
use tracing_core::field::{Field, Visit};

/// Fields beyond these are left out.
const MOST: usize = 64;
/// Fields of most sites, and of nearly all.
const FEW: usize = 4;
const MANY: usize = 16;
/// Texts that are longer are cut by the log anyway.
const MOST_TEXT: usize = 1 << 16;

/// A value of a field.
#[derive(Clone, Debug, Default)]
enum Slot {
    #[default]
    None,
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
    Wide(i128),
    UnsignedWide(u128),
    /// Where it stands in the text.
    Text(Range<usize>),
}

/// The values as they are visited.
pub(crate) struct Fields<'s> {
    slots: &'s mut [Slot],
    text: String,
    /// A bit for each field that has a value.
    visited: u64,
}

thread_local! {
    /// Memory for texts. Empty while a record is made of it: printing a value may log too.
    static TEXT: Cell<String> = const { Cell::new(String::new()) };
}

impl Fields<'_> {
    /// Calls `log` with the values that `visit` shows, and with a bit for each that it did show.
    pub fn with<R>(
        site: &Site,
        visit: impl FnOnce(&mut dyn Visit),
        log: impl FnOnce(&[Passed<'_>], u64) -> R,
    ) -> R {
        match site.fields() {
            fields if fields <= FEW => Self::with_up_to::<R, FEW>(site, visit, log),
            fields if fields <= MANY => Self::with_up_to::<R, MANY>(site, visit, log),
            _ => Self::with_up_to::<R, MOST>(site, visit, log),
        }
    }

    fn with_up_to<R, const N: usize>(
        site: &Site,
        visit: impl FnOnce(&mut dyn Visit),
        log: impl FnOnce(&[Passed<'_>], u64) -> R,
    ) -> R {
        let mut slots: [Slot; N] = [const { Slot::None }; N];
        let mut fields = Fields {
            slots: &mut slots,
            // A thread that ends may have none any more.
            text: TEXT.try_with(Cell::take).unwrap_or_default(),
            visited: 0,
        };
        fields.text.clear();
        visit(&mut fields);
        let (text, visited) = (fields.text, fields.visited);
        let none = None::<u8>;
        let passed: [Passed<'_>; N] = std::array::from_fn(|index| match &slots[index] {
            Slot::None => value(&none),
            Slot::Signed(number) => value(number),
            Slot::Unsigned(number) => value(number),
            Slot::Float(number) => value(number),
            Slot::Bool(truth) => value(truth),
            Slot::Wide(number) => value(number),
            Slot::UnsignedWide(number) => value(number),
            Slot::Text(range) => value(text.get(range.clone()).unwrap_or_default()),
        });
        let result = log(&passed[..site.fields().min(N)], visited);
        let _ = TEXT.try_with(|place| place.set(text));
        result
    }

    fn set(&mut self, field: &Field, slot: Slot) {
        if let Some(place) = self.slots.get_mut(field.index()) {
            *place = slot;
            self.visited |= 1 << field.index();
        }
    }

    /// Prints a field. What fails or is too long stands there as far as it was printed.
    fn print(&mut self, field: &Field, print: impl FnOnce(&mut Bounded<'_>) -> fmt::Result) {
        let start = self.text.len();
        let mut bounded = Bounded {
            most: start + MOST_TEXT,
            text: &mut self.text,
        };
        let _ = print(&mut bounded);
        let end = self.text.len();
        self.set(field, Slot::Text(start..end));
    }
}

/// A text that does not grow for ever.
struct Bounded<'t> {
    text: &'t mut String,
    most: usize,
}

impl Write for Bounded<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() >= self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.print(field, |text| write!(text, "{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.print(field, |text| text.write_str(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Slot::Signed(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Slot::Unsigned(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Slot::Float(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Slot::Bool(value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.set(field, Slot::Wide(value));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.set(field, Slot::UnsignedWide(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.print(field, |text| write!(text, "{}", logdef::error(value)));
    }
}
