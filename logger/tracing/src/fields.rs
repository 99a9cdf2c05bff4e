//! The values of an event or a span, with their types, as `tracing` shows them.

use logdef::__private::Gathered;
use std::error::Error;
use std::fmt::Debug;
use tracing_core::field::{Field, Visit};

/// Gathers the values that it is shown.
pub(crate) struct Fields<'g>(pub &'g mut Gathered);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.print(field.index(), |to| write!(to, "{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.set_text(field.index(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.set_signed(field.index(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.set_unsigned(field.index(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.set_float(field.index(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.set_bool(field.index(), value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.0.set_wide_signed(field.index(), value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.0.set_wide_unsigned(field.index(), value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.0
            .print(field.index(), |to| write!(to, "{}", logdef::error(value)));
    }
}
