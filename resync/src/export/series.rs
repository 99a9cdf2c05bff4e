//! What the values of a counter record are called: the text before a value's
//! conversion names it, and text up to a colon before the first names them all.
//! `disk: read %d, written %d` is the counter `disk` with `read` and `written`;
//! `queue depth %d` is the counter `queue depth` with one value, and `cpu %s: busy %d` one
//! counter for each text that is put there. An argument with a name goes by that: `queue {depth}` is
//! the counter `queue` with `depth`, and `queue` with the key-value `depth` too.

use super::text::{cut, lossy};
use crate::resolve::resolved::Resolved;
use logdef_wire::braces::{Argument, Piece, Pieces};
use logdef_wire::printf::{Directives, Order};
use logdef_wire::{Description, Value};
use std::collections::HashSet;

/// The longest name.
const NAME: usize = 64;
/// How many directives of one format are looked at.
const MOST: usize = 1 << 10;
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
        Series::new(format, record.description, &args)
    }

    fn new(format: &[u8], description: Description<'_>, args: &[Value<'_>]) -> Option<Series> {
        let (printed, rest) = printed(format, description);
        let names: Vec<_> = description.names().take(args.len()).collect();
        let own_name = |at: usize| names.get(at).copied().flatten();
        let mut name = None;
        let mut values: Vec<Named> = Vec::new();
        let mut text = String::new();
        for (before, at) in &printed {
            text += before;
            let value = match args.get(*at) {
                Some(Value::Raw(bytes)) => {
                    text += &cut(&lossy(bytes), NAME);
                    continue;
                }
                Some(value) => *value,
                None => continue,
            };
            let Some(value) = number(value) else { continue };
            let mut before = std::mem::take(&mut text);
            if name.is_none()
                && let Some((all, own)) = before.rsplit_once(':')
                && (!own.trim().is_empty() || own_name(*at).is_some())
            {
                name = Some(tidy(all));
                before = own.to_owned();
            }
            let own = own_name(*at).map(lossy_name);
            values.push((own, tidy(&before), value));
        }
        if values.is_empty() {
            name = Some(tidy(&(text + &rest)));
        }
        let printed: HashSet<_> = printed.iter().map(|(_, at)| *at).collect();
        for (at, value) in args.iter().enumerate() {
            if let Some(own) = own_name(at).filter(|_| !printed.contains(&at))
                && let Some(value) = number(*value)
            {
                values.push((Some(lossy_name(own)), String::new(), value));
            }
        }
        // What stands before the first value is the counter's name.
        let first = &mut values.first_mut()?.1;
        let name = name.unwrap_or_else(|| std::mem::take(first));
        let values = distinct(values);
        let name = if name.is_empty() && values[0].0 != VALUE {
            values[0].0.clone()
        } else {
            name
        };
        Some(Series { name, values })
    }
}

/// A value with its argument's name and the text before it.
type Named = (Option<String>, String, Value<'static>);

/// Gives each value a name of its own.
fn distinct(values: Vec<Named>) -> Vec<(String, Value<'static>)> {
    let mut taken = HashSet::new();
    let name = |(index, (own, before, value)): (usize, Named)| {
        let mut name = own.unwrap_or(before);
        if name.is_empty() || taken.contains(&name) {
            name = match index {
                0 => VALUE.to_owned(),
                _ => format!("{VALUE} {}", index + 1),
            };
        }
        taken.insert(name.clone());
        (name, value)
    };
    values.into_iter().enumerate().map(name).collect()
}

/// The places on the wire of the arguments that the text prints, each with the text
/// before it, and the text after the last.
fn printed(format: &[u8], description: Description<'_>) -> (Vec<(String, usize)>, String) {
    let grammar = description.grammar();
    let mut found = Vec::new();
    if grammar.is_template() {
        let mut text = String::new();
        for piece in Pieces::of(format, grammar).take(MOST) {
            match piece {
                Piece::Text(from, to) => text += &lossy(&format[from..to]),
                Piece::Placeholder(placeholder) => {
                    let at = match placeholder.argument {
                        Argument::Index(index) => Some(usize::from(index)),
                        Argument::Name(from, to) => description.index_of(&format[from..to]),
                    };
                    if let Some(at) = at {
                        found.push((std::mem::take(&mut text), at));
                    }
                }
            }
        }
        return (found, text);
    }
    let mut order = Order::of(format);
    let mut from = 0;
    for directive in Directives::new(format).take(MOST) {
        let Some(at) = order.place(&directive).value else {
            continue;
        };
        let text = lossy(&format[from..directive.start]).replace("%%", "%");
        found.push((text, usize::from(at)));
        from = directive.end;
    }
    (found, lossy(&format[from..]).replace("%%", "%"))
}

fn number(value: Value<'_>) -> Option<Value<'static>> {
    match value {
        Value::Uint(value) => Some(Value::Uint(value)),
        Value::Int(value) => Some(Value::Int(value)),
        Value::Float(value) => Some(Value::Float(value)),
        _ => None,
    }
}

fn lossy_name(name: &[u8]) -> String {
    cut(&lossy(name), NAME).into_owned()
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
        described(format, b"", args)
    }

    fn described(
        format: &str,
        description: &[u8],
        args: &[Value<'_>],
    ) -> Option<(String, Vec<Named<String>>)> {
        let description = Description::of(description);
        let series = Series::new(format.as_bytes(), description, args);
        series.map(|series| (series.name, series.values))
    }

    #[test]
    fn arguments_with_names_go_by_them() {
        let cases: [(&str, &[u8], &str, &[&str]); 8] = [
            ("queue depth {}", b"b:", "queue depth", &["value"]),
            ("queue {depth}", b"b:depth", "queue", &["depth"]),
            (
                "disk: read {}, written {}",
                b"b:",
                "disk",
                &["read", "written"],
            ),
            (
                "disk: {read} {written}",
                b"b:read,written",
                "disk",
                &["read", "written"],
            ),
            ("{depth}", b"b:depth", "depth", &["depth"]),
            ("pool", b"b:used,free", "pool", &["used", "free"]),
            ("pool {used} of", b"b:used,free", "pool", &["used", "free"]),
            ("pool %d%%", b"c:,free", "pool", &["value", "free"]),
        ];
        for (format, description, name, names) in cases {
            let args = [Value::Uint(3), Value::Uint(4)];
            let args = &args[..names.len()];
            let named = names.iter().map(|name| (*name).to_owned());
            let expected = (name.to_owned(), named.zip(args.iter().copied()).collect());
            assert_eq!(
                described(format, description, args),
                Some(expected),
                "{format}"
            );
        }
        assert_eq!(described("nothing", b"b:", &[Value::Uint(1)]), None);
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
