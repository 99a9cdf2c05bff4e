//! What stands in the tables of an archive: the names and types of the columns, and which of
//! them hold the values of calls. Knows neither logs nor files.

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// How finely times are kept.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unit {
    /// As the log has them.
    #[default]
    Nanoseconds,
    /// Cut off, which takes less room.
    Microseconds,
}

impl Unit {
    /// Nanoseconds in one.
    pub(crate) fn nanoseconds(self) -> u64 {
        match self {
            Unit::Nanoseconds => 1,
            Unit::Microseconds => 1000,
        }
    }

    pub(crate) fn column(self) -> DataType {
        let unit = match self {
            Unit::Nanoseconds => TimeUnit::Nanosecond,
            Unit::Microseconds => TimeUnit::Microsecond,
        };
        DataType::Timestamp(unit, Some("UTC".into()))
    }
}

/// Which columns hold the values of a type.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Slot {
    Text,
    Int,
    Uint,
    Float,
    Bool,
    Bytes,
}

impl Slot {
    pub(crate) const ALL: [Slot; 6] = [
        Slot::Text,
        Slot::Int,
        Slot::Uint,
        Slot::Float,
        Slot::Bool,
        Slot::Bytes,
    ];

    /// The letter that the names of the columns begin with, and how many columns there are.
    /// A call with more values of a type keeps its record whole.
    pub(crate) fn columns(self) -> (char, usize) {
        match self {
            Slot::Text => ('s', 8),
            Slot::Int => ('i', 8),
            Slot::Uint => ('u', 8),
            Slot::Float => ('f', 4),
            Slot::Bool => ('b', 4),
            Slot::Bytes => ('x', 4),
        }
    }

    /// Bytes that a value takes in memory, beside its text.
    pub(crate) fn width(self) -> usize {
        match self {
            Slot::Text | Slot::Bytes => 16,
            Slot::Int | Slot::Uint | Slot::Float => 8,
            Slot::Bool => 1,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Slot::Text => DataType::Utf8,
            Slot::Int => DataType::Int64,
            Slot::Uint => DataType::UInt64,
            Slot::Float => DataType::Float64,
            Slot::Bool => DataType::Boolean,
            Slot::Bytes => DataType::Binary,
        }
    }

    /// The slot, and the number of the column among those of its type, by its name.
    pub(crate) fn parse(name: &str) -> Option<(Slot, usize)> {
        let slot = Slot::ALL
            .into_iter()
            .find(|slot| name.starts_with(slot.columns().0))?;
        let number: usize = name[1..].parse().ok()?;
        (number < slot.columns().1).then_some((slot, number))
    }
}

/// Columns of every slot, each with its number.
pub(crate) fn slots() -> impl Iterator<Item = (Slot, usize)> {
    let numbers = |slot: Slot| (0..slot.columns().1).map(move |number| (slot, number));
    Slot::ALL.into_iter().flat_map(numbers)
}

pub(crate) fn slot_name(slot: Slot, number: usize) -> String {
    format!("{}{number}", slot.columns().0)
}

/// A column that may be without a value.
pub(crate) fn column(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

pub(crate) fn list_of(data_type: DataType) -> DataType {
    DataType::List(Arc::new(column("element", data_type)))
}

/// The table of records.
pub(crate) fn records(unit: Unit) -> SchemaRef {
    let mut columns = vec![
        column("time", unit.column()),
        column("site", DataType::UInt64),
        column("level", DataType::UInt8),
        column("run", DataType::UInt64),
        column("thread", DataType::UInt32),
        column("seq", DataType::Int64),
    ];
    columns
        .extend(slots().map(|(slot, number)| column(&slot_name(slot, number), slot.data_type())));
    columns.extend([
        column("backtrace", list_of(DataType::UInt64)),
        column("context", DataType::UInt64),
        column("dropped", DataType::UInt64),
        column("mark", DataType::Utf8),
        column("place", DataType::Int32),
        column("body", DataType::Binary),
    ]);
    Arc::new(Schema::new(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_their_names() {
        for (slot, number) in slots() {
            assert_eq!(Slot::parse(&slot_name(slot, number)), Some((slot, number)));
        }
        for name in ["", "s", "s8", "f4", "q0", "s-1", "time"] {
            assert_eq!(Slot::parse(name), None, "{name}");
        }
    }
}
