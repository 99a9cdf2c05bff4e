//! What the values of a counter record are called: the text before a value's
//! conversion names it, and text up to a colon before the first names them all.
//! `disk: read %d, written %d` is the counter `disk` with `read` and `written`;
//! `queue depth %d` is the counter `queue depth` with one value, and `cpu %s: busy %d` one
//! counter for each text that is put there.

use super::text::{cut, lossy};
use crate::resolve::resolved::Resolved;
use logdef_wire::Value;
use logdef_wire::printf::{Count, Directives};
use std::collections::HashSet;

/// The longest name.
const NAME: usize = 64;
/// What a value without a name is called.
const VALUE: &str = "value";

/// The values of a counter record.
#[derive(Debug, PartialEq)]
pub(crate) struct Series {
    pub name: String,
    pub values: Vec<(String, Value<'static>)>,
}

impl Series {
    /// The numbers among a record's arguments; `None` if there are none.
    pub(crate) fn of(record: &Resolved<'_>) -> Option<Series> {
        let args: Vec<Value<'_>> = record.data.args?.iter().collect();
        let format = record.format.bytes.unwrap_or_default();
        Series::new(format, &args)
    }

    fn new(format: &[u8], args: &[Value<'_>]) -> Option<Series> {
        let mut name = None;
        let mut values: Vec<(String, Value<'static>)> = Vec::new();
        let (mut text, mut text_from, mut next) = (String::new(), 0, 0);
        let mut directives = Directives::new(format);
        while let Some(directive) = directives.advance() {
            let counts = [directive.width, directive.precision];
            let stars = counts
                .iter()
                .filter(|count| matches!(count, Count::Argument(_)));
            next += stars.count();
            let Some(position) = directive.argument else {
                continue;
            };
            let at = if directives.is_positional() {
                usize::from(position)
            } else {
                next
            };
            next += 1;
            text += &lossy(&format[text_from..directive.start]).replace("%%", "%");
            text_from = directive.end;
            let value = match args.get(at) {
                Some(Value::Uint(value)) => Value::Uint(*value),
                Some(Value::Int(value)) => Value::Int(*value),
                Some(Value::Float(value)) => Value::Float(*value),
                Some(Value::Raw(bytes)) => {
                    text += &cut(&lossy(bytes), NAME);
                    continue;
                }
                _ => continue,
            };
            let mut before = std::mem::take(&mut text);
            if name.is_none()
                && let Some((all, own)) = before.rsplit_once(':')
                && !own.trim().is_empty()
            {
                name = Some(tidy(all));
                before = own.to_owned();
            }
            values.push((tidy(&before), value));
        }
        let name = match name {
            Some(name) => name,
            // The first value's name is the counter's.
            None => std::mem::take(&mut values.first_mut()?.0),
        };
        let mut taken = HashSet::new();
        for (index, (name, _)) in values.iter_mut().enumerate() {
            if name.is_empty() || taken.contains(name) {
                *name = match index {
                    0 => VALUE.to_owned(),
                    _ => format!("{VALUE} {}", index + 1),
                };
            }
            taken.insert(name.clone());
        }
        (!values.is_empty()).then_some(Series { name, values })
    }
}

/// A name without what only joins it to others.
fn tidy(text: &str) -> String {
    let joins = |c: char| c.is_whitespace() || ",;:=()[]{}<>|/\"'".contains(c);
    cut(text.trim_matches(joins), NAME).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named<N> = (N, Value<'static>);
    /// A format, its arguments, and what the counter and its values are called.
    type Case<'c> = (&'c str, &'c [Value<'c>], &'c str, &'c [Named<&'c str>]);

    fn series(format: &str, args: &[Value<'_>]) -> Option<(String, Vec<Named<String>>)> {
        Series::new(format.as_bytes(), args).map(|series| (series.name, series.values))
    }

    #[test]
    fn values_go_by_the_text_before_them() {
        let one = |name: &str, value| (name.to_owned(), value);
        let cases: [Case<'_>; 7] = [
            (
                "queue depth %d",
                &[Value::Int(-3)],
                "queue depth",
                &[("value", Value::Int(-3))],
            ),
            (
                "disk: read %d, written %d",
                &[Value::Uint(1), Value::Uint(2)],
                "disk",
                &[("read", Value::Uint(1)), ("written", Value::Uint(2))],
            ),
            (
                "%f",
                &[Value::Float(0.5)],
                "",
                &[("value", Value::Float(0.5))],
            ),
            (
                "load=%.*f",
                &[Value::Uint(2), Value::Float(1.0)],
                "load",
                &[("value", Value::Float(1.0))],
            ),
            (
                "b %2$d a %1$d",
                &[Value::Uint(1), Value::Uint(2)],
                "b",
                &[("value", Value::Uint(2)), ("a", Value::Uint(1))],
            ),
            (
                "cpu %s: busy %d%%",
                &[Value::Raw(b"0"), Value::Uint(9)],
                "cpu 0",
                &[("busy", Value::Uint(9))],
            ),
            (
                "x: a %d a %d",
                &[Value::Uint(1), Value::Uint(2)],
                "x",
                &[("a", Value::Uint(1)), ("value 2", Value::Uint(2))],
            ),
        ];
        for (format, args, name, values) in cases {
            let values = values
                .iter()
                .map(|(name, value)| one(name, *value))
                .collect();
            assert_eq!(
                series(format, args),
                Some((name.to_owned(), values)),
                "{format}"
            );
        }
        assert_eq!(series("nothing %s", &[Value::Raw(b"x")]), None);
        assert_eq!(series("missing %d", &[]), None);
    }
}
