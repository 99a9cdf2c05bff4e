//! Comparisons of the typed arguments of records: `0>5`, `2=foo`, `user!=root`.

use crate::choose::forms::Form;
use logdef_resync::{CallSite, Resolved, key_of};
use logdef_wire::Value;
use logdef_wire::msgpack::Array;
use logdef_wire::record::Data;
use std::cmp::Ordering;

/// One comparison of an argument with a constant.
#[derive(Clone, Debug)]
pub struct Condition {
    argument: Argument,
    operator: Operator,
    text: Vec<u8>,
    number: Option<Number>,
}

/// What of a record may decide on a condition before strings are looked up.
#[derive(Clone, Copy, Debug)]
pub struct Values<'b> {
    args: Option<Array<'b>>,
    /// All of the record, where it may have more than arguments.
    data: Option<&'b Data<'b>>,
}

impl<'b> From<&'b Data<'b>> for Values<'b> {
    fn from(data: &'b Data<'b>) -> Values<'b> {
        Values {
            args: data.args,
            data: Some(data),
        }
    }
}

impl<'b> Values<'b> {
    /// Of a record without keys and context.
    #[inline]
    pub fn of_args(args: Option<Array<'b>>) -> Values<'b> {
        Values { args, data: None }
    }

    /// The printf arguments in order.
    #[inline]
    pub fn args(&self) -> Option<Array<'b>> {
        self.args
    }

    /// The argument at a place.
    #[inline]
    fn arg(&self, place: usize) -> Option<Value<'b>> {
        self.args?.iter().nth(place)
    }

    /// The value of a structured key.
    fn key(&self, wanted: &[u8]) -> Option<Value<'b>> {
        key_of(self.data?, wanted)
    }

    fn has_context(&self) -> bool {
        self.data.is_some_and(|data| data.context.is_some())
    }
}

#[derive(Clone, Debug)]
enum Argument {
    /// By its place, from 0.
    Place(usize),
    /// A structured key, or the name of an argument.
    Key(Vec<u8>),
    /// The same in records of one call site: the place of the argument, and what the call site itself
    /// says.
    KeyAt(Vec<u8>, Option<usize>, Option<Vec<u8>>),
}

/// How an argument is compared with a constant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// The text occurs in the argument.
    Contains,
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i128),
    Double(f64),
}

/// What conditions know of a record beside its values: the format, the module of its call site, and
/// what that is about, its target or else its module.
const TEMPLATE: &[u8] = b"template";
const MODULE: &[u8] = b"module";
const TARGET: &[u8] = b"target";

/// Longer ones first: `<=` is no `<`.
const OPERATORS: [(&str, Operator, Form); 8] = [
    ("!=", Operator::NotEqual, Form::NotEqual),
    ("<=", Operator::AtMost, Form::AtMost),
    (">=", Operator::AtLeast, Form::AtLeast),
    ("==", Operator::Equal, Form::EqualTwice),
    ("=", Operator::Equal, Form::Equal),
    ("<", Operator::Less, Form::Less),
    (">", Operator::Greater, Form::Greater),
    ("~", Operator::Contains, Form::Contains),
];

impl Condition {
    /// Compares the argument of that number or name with a constant.
    pub fn new(argument: &str, operator: Operator, constant: &str) -> Condition {
        let argument = match argument.parse() {
            Ok(place) => Argument::Place(place),
            Err(_) => Argument::Key(argument.as_bytes().to_vec()),
        };
        Condition {
            argument,
            operator,
            text: constant.as_bytes().to_vec(),
            number: Number::parse(constant),
        }
    }

    /// The operator that a text begins with, and how it is written.
    pub fn operator(text: &str) -> Option<(&'static str, Operator, Form)> {
        let mut operators = OPERATORS.into_iter();
        operators.find(|(sign, ..)| text.starts_with(sign))
    }

    /// How the argument is named.
    pub fn form_of_name(&self) -> Form {
        match &self.argument {
            Argument::Place(_) => Form::Place,
            Argument::Key(name) | Argument::KeyAt(name, ..) => match &name[..] {
                TEMPLATE => Form::Template,
                MODULE => Form::Module,
                TARGET => Form::Target,
                _ => Form::Name,
            },
        }
    }

    /// How the constant is written, which stands without quotation marks.
    pub fn form_of_constant(&self) -> Form {
        match (&self.text[..], self.number) {
            (b"", _) => Form::Empty,
            (b"true" | b"false", _) => Form::Truth,
            (b"nil" | b"null", _) => Form::Nil,
            (text, Some(_)) if text.starts_with(b"0x") => Form::Hexadecimal,
            (_, Some(Number::Integer(_))) => Form::Integer,
            (_, Some(Number::Double(_))) => Form::Fraction,
            (_, None) => Form::Text,
        }
    }

    /// The same for records of one call site.
    pub fn at(&self, site: &CallSite<'_>) -> Condition {
        let argument = match &self.argument {
            Argument::Key(wanted) => {
                let of_site = match &wanted[..] {
                    TEMPLATE => Some(site.format()),
                    MODULE => site.module(),
                    TARGET => site.target().or_else(|| site.module()),
                    _ => None,
                };
                let place = site.argument_called(wanted);
                Argument::KeyAt(wanted.clone(), place, of_site.map(<[u8]>::to_vec))
            }
            other => other.clone(),
        };
        Condition {
            argument,
            ..self.clone()
        }
    }

    /// Whether it is about an argument, as far as is known.
    pub fn asks_arguments(&self) -> bool {
        !matches!(self.argument, Argument::KeyAt(_, None, _))
    }

    /// Whether a record has the argument and it compares so, as far as that can be said before
    /// its strings are looked up: these name its arguments.
    pub fn decided(&self, values: &Values<'_>) -> Option<bool> {
        match &self.argument {
            Argument::Place(place) => {
                let found = values.arg(*place);
                Some(found.is_some_and(|value| self.compares(value)))
            }
            Argument::KeyAt(wanted, place, of_site) => {
                let found = values.key(wanted).or_else(|| values.arg((*place)?));
                match (found, of_site) {
                    (Some(value), _) => Some(self.compares(value)),
                    (None, _) if values.has_context() => None,
                    (None, Some(text)) => Some(self.compares(Value::Raw(text))),
                    (None, None) => Some(false),
                }
            }
            Argument::Key(wanted) if is_of_site(wanted) => None,
            Argument::Key(wanted) => match values.key(wanted) {
                Some(value) => Some(self.compares(value)),
                None if values.has_context() => None,
                None if values.args.is_some_and(|args| !args.is_empty()) => None,
                None => Some(false),
            },
        }
    }

    /// Whether a record has the argument and it compares so. A key hides an argument of the
    /// same name, both hide a key of the context, and `template`, `module` and `target` are
    /// those of the call site where nothing else has that name.
    pub fn holds(&self, record: &Resolved<'_>) -> bool {
        let Argument::Key(wanted) = &self.argument else {
            return self.decided(&Values::from(record.data)) == Some(true);
        };
        let found = key_of(record.data, wanted)
            .or_else(|| record.argument_called(wanted))
            .or_else(|| record.context.get(wanted))
            .or_else(|| of_site(record, wanted).map(Value::Raw));
        found.is_some_and(|value| self.compares(value))
    }

    #[cfg(test)]
    pub fn compares_one_of(&self, values: &[Value<'_>]) -> bool {
        match self.argument {
            Argument::Place(place) => values.get(place).is_some_and(|value| self.compares(*value)),
            Argument::Key(_) | Argument::KeyAt(..) => false,
        }
    }

    fn compares(&self, value: Value<'_>) -> bool {
        let order = match value {
            Value::Raw(bytes) if self.operator == Operator::Contains => {
                return contains(bytes, &self.text);
            }
            // Text is neither more nor less than a number.
            Value::Raw(_) if self.number.is_some() && self.operator.is_order() => None,
            Value::Raw(bytes) => Some(bytes.cmp(&self.text)),
            Value::Bool(value) => Some(value.to_string().as_bytes().cmp(&self.text)),
            Value::Nil => match &self.text[..] {
                b"nil" | b"null" => Some(Ordering::Equal),
                _ => None,
            },
            Value::Uint(value) => self.compare(Number::Integer(value.into())),
            Value::Int(value) => self.compare(Number::Integer(value.into())),
            Value::Float(value) => self.compare(Number::Double(value)),
            _ => None,
        };
        match self.operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::AtMost => order.is_some_and(Ordering::is_le),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::AtLeast => order.is_some_and(Ordering::is_ge),
            Operator::Contains => false,
        }
    }

    fn compare(&self, value: Number) -> Option<Ordering> {
        match (value, self.number?) {
            (Number::Integer(value), Number::Integer(constant)) => Some(value.cmp(&constant)),
            (value, constant) => value.as_f64().partial_cmp(&constant.as_f64()),
        }
    }
}

fn is_of_site(wanted: &[u8]) -> bool {
    [TEMPLATE, MODULE, TARGET].contains(&wanted)
}

fn of_site<'a>(record: &Resolved<'a>, wanted: &[u8]) -> Option<&'a [u8]> {
    match wanted {
        TEMPLATE => record.format.bytes,
        MODULE => record.module(),
        TARGET => record.target().or_else(|| record.module()),
        _ => None,
    }
}

impl Operator {
    fn is_order(self) -> bool {
        !matches!(
            self,
            Operator::Equal | Operator::NotEqual | Operator::Contains
        )
    }
}

impl Number {
    /// Decimal, hexadecimal as `%p` prints it, or with a point or an exponent.
    fn parse(text: &str) -> Option<Number> {
        if let Some(digits) = text.strip_prefix("0x") {
            return i128::from_str_radix(digits, 16).ok().map(Number::Integer);
        }
        match text.parse() {
            Ok(integer) => Some(Number::Integer(integer)),
            Err(_) => text.parse().ok().map(Number::Double),
        }
    }

    fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Double(value) => value,
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(condition: &str, value: Value<'_>) -> bool {
        let at = condition.find(['!', '<', '>', '=', '~']).unwrap();
        let (argument, rest) = condition.split_at(at);
        let (sign, operator, _) = Condition::operator(rest).unwrap();
        let constant = rest[sign.len()..].trim();
        Condition::new(argument.trim(), operator, constant).compares(value)
    }

    #[test]
    fn numbers_compare_by_value_whatever_their_types() {
        assert!(holds("0>5", Value::Uint(6)));
        assert!(!holds("0>5", Value::Uint(5)));
        assert!(holds("0>=5", Value::Float(5.0)));
        assert!(holds("0<-1.5", Value::Int(-2)));
        assert!(holds("0 = 18446744073709551615", Value::Uint(u64::MAX)));
        assert!(!holds("0=18446744073709551614", Value::Uint(u64::MAX)));
        assert!(holds("0=0xff", Value::Uint(255)));
        assert!(holds("0!=3", Value::Uint(4)));
        assert!(!holds("0<1", Value::Float(f64::NAN)));
    }

    #[test]
    fn text_compares_as_text() {
        assert!(holds("2=foo", Value::Raw(b"foo")));
        assert!(!holds("2=foo", Value::Raw(b"food")));
        assert!(holds("2~oo", Value::Raw(b"food")));
        assert!(holds("2!=foo", Value::Raw(b"bar")));
        assert!(holds("2=", Value::Raw(b"")));
        assert!(!holds("2=foo", Value::Uint(1)));
        assert!(holds("2>b", Value::Raw(b"c")));
        assert!(!holds("2>5", Value::Raw(b"6")));
        assert!(holds("2=5", Value::Raw(b"5")));
        assert!(holds("2=true", Value::Bool(true)));
    }
}
