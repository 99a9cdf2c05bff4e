//! The columns of `records`. Those of archives, with texts as views, which the engine is quick at;
//! but for `place`, which means something inside its file only.

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use logdef_archive::Table;
use std::sync::{Arc, LazyLock};

static RECORDS: LazyLock<SchemaRef> = LazyLock::new(|| {
    let kept = Table::Records.schema();
    let kept = kept.fields().iter().filter(|field| field.name() != "place");
    Arc::new(Schema::new(
        kept.map(|field| viewed(field)).collect::<Vec<_>>(),
    ))
});

/// The columns that are read from files.
pub(crate) fn records() -> SchemaRef {
    Arc::clone(&RECORDS)
}

/// Columns with the values of calls.
pub(crate) fn slots() -> impl Iterator<Item = &'static str> {
    let fields = RECORDS.fields().iter().map(|field| field.name().as_str());
    fields.filter(|name| {
        let number = name.strip_prefix(['s', 'i', 'u', 'f', 'b', 'x']);
        number.is_some_and(|it| it.len() == 1 && it.as_bytes()[0].is_ascii_digit())
    })
}

fn viewed(field: &Field) -> Field {
    let data_type = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        other => other.clone(),
    };
    Field::new(field.name(), data_type, true)
}

/// Numbers of columns that each record has.
pub(crate) const TIME: usize = 0;
pub(crate) const SITE: usize = 1;
pub(crate) const LEVEL: usize = 2;
pub(crate) const RUN: usize = 3;
pub(crate) const THREAD: usize = 4;
pub(crate) const SEQ: usize = 5;
/// How many these are.
pub(crate) const FRONT: usize = 6;

/// The number of a column that stands after those of the values.
pub(crate) fn rare(name: &str) -> usize {
    RECORDS.index_of(name).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_columns_are_those_that_each_record_has() {
        let first = ["time", "site", "level", "run", "thread", "seq"];
        let numbers = [TIME, SITE, LEVEL, RUN, THREAD, SEQ];
        for (name, number) in first.into_iter().zip(numbers) {
            assert_eq!(RECORDS.index_of(name).unwrap(), number);
        }
        assert_eq!(slots().count(), 36);
        assert_eq!(slots().next(), Some("s0"));
        for name in ["backtrace", "context", "dropped", "mark", "body"] {
            assert!(rare(name) < RECORDS.fields().len());
        }
    }
}
