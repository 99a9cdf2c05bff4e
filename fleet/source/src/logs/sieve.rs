//! Conditions of a query that are looked at record by record, before columns are made. What cannot be
//! said here is left to the engine, which looks at all that passes again.

use crate::functions;
use crate::schema::{self, FRONT, SITE, TIME};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Expr, Like, Operator};
use datafusion::scalar::ScalarValue;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A value of a record, or one that it is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'a> {
    Number(i128),
    Float(f64),
    Text(&'a [u8]),
    Bool(bool),
}

/// What something is compared with.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Literal {
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(String),
    Bool(bool),
}

/// How.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Op {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// A condition. Where a value is null it does not hold.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum Test {
    /// The column, by its number, the comparison, and with what.
    Compare(usize, Op, Literal),
    Any(Vec<Test>),
    All(Vec<Test>),
}

/// Conditions that all must hold.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Sieve {
    pub(super) tests: Vec<Test>,
}

impl Sieve {
    /// What can be looked at of some conditions.
    pub(super) fn of(filters: &[Expr]) -> Sieve {
        let mut tests = Vec::new();
        for filter in filters {
            add(filter, &mut tests);
        }
        Sieve { tests }
    }

    /// The range of times, in nanoseconds since the epoch, that records are in which pass.
    pub(super) fn times(&self) -> (i64, i64) {
        let (mut from, mut to) = (i64::MIN, i64::MAX);
        for test in &self.tests {
            let Test::Compare(TIME, op, Literal::Int(time)) = test else {
                continue;
            };
            match op {
                Op::Equal => (from, to) = (from.max(*time), to.min(*time)),
                Op::Less | Op::LessOrEqual => to = to.min(*time),
                Op::Greater | Op::GreaterOrEqual => from = from.max(*time),
                Op::Contains => {}
            }
        }
        (from, to)
    }
}

impl Test {
    /// Whether it holds for a record of which `field` gives the columns.
    #[inline]
    pub(super) fn holds<'a>(&self, field: &impl Fn(usize) -> Option<Field<'a>>) -> bool {
        match self {
            Test::Compare(column, op, literal) => {
                field(*column).is_some_and(|it| compares(it, *op, literal))
            }
            Test::Any(tests) => tests.iter().any(|test| test.holds(field)),
            Test::All(tests) => tests.iter().all(|test| test.holds(field)),
        }
    }

    /// Whether it may hold for a record that has no value but in some columns.
    pub(super) fn may_hold(&self, has: &impl Fn(usize) -> bool) -> bool {
        match self {
            Test::Compare(column, ..) => has(*column),
            Test::Any(tests) => tests.iter().any(|test| test.may_hold(has)),
            Test::All(tests) => tests.iter().all(|test| test.may_hold(has)),
        }
    }

    /// Whether it can be said without the values of the call.
    pub(super) fn is_of_front(&self) -> bool {
        match self {
            Test::Compare(column, ..) => *column < FRONT && *column != SITE,
            Test::Any(tests) | Test::All(tests) => tests.iter().all(Test::is_of_front),
        }
    }
}

#[inline]
fn compares(field: Field<'_>, op: Op, literal: &Literal) -> bool {
    let order = match (field, literal) {
        (Field::Number(own), Literal::Int(other)) => own.cmp(&i128::from(*other)),
        (Field::Number(own), Literal::Uint(other)) => own.cmp(&i128::from(*other)),
        (Field::Float(own), Literal::Float(other)) => own.total_cmp(other),
        (Field::Bool(own), Literal::Bool(other)) => own.cmp(other),
        (Field::Text(own), Literal::Text(other)) if op == Op::Contains => {
            return memchr::memmem::find(own, other.as_bytes()).is_some();
        }
        (Field::Text(own), Literal::Text(other)) => own.cmp(other.as_bytes()),
        // The engine knows.
        _ => return true,
    };
    match op {
        Op::Equal => order == Ordering::Equal,
        Op::Less => order == Ordering::Less,
        Op::LessOrEqual => order != Ordering::Greater,
        Op::Greater => order == Ordering::Greater,
        Op::GreaterOrEqual => order != Ordering::Less,
        Op::Contains => true,
    }
}

/// Adds what can be said of a condition.
fn add(filter: &Expr, tests: &mut Vec<Test>) {
    if let Expr::BinaryExpr(both) = filter
        && both.op == Operator::And
    {
        add(&both.left, tests);
        add(&both.right, tests);
        return;
    }
    if let Expr::Between(between) = filter
        && !between.negated
    {
        let ends = [
            (Op::GreaterOrEqual, &between.low),
            (Op::LessOrEqual, &between.high),
        ];
        tests.extend(
            ends.iter()
                .filter_map(|(op, end)| compare(&between.expr, *op, end)),
        );
        return;
    }
    tests.extend(test(filter));
}

/// The whole of a condition, if it can be said.
fn test(filter: &Expr) -> Option<Test> {
    match filter {
        Expr::BinaryExpr(both) => {
            let op = match both.op {
                Operator::And => {
                    return Some(Test::All(vec![test(&both.left)?, test(&both.right)?]));
                }
                Operator::Or => {
                    return Some(Test::Any(vec![test(&both.left)?, test(&both.right)?]));
                }
                Operator::Eq => Op::Equal,
                Operator::Lt => Op::Less,
                Operator::LtEq => Op::LessOrEqual,
                Operator::Gt => Op::Greater,
                Operator::GtEq => Op::GreaterOrEqual,
                _ => return None,
            };
            let turned = match op {
                Op::Less => Op::Greater,
                Op::LessOrEqual => Op::GreaterOrEqual,
                Op::Greater => Op::Less,
                Op::GreaterOrEqual => Op::LessOrEqual,
                same => same,
            };
            compare(&both.left, op, &both.right)
                .or_else(|| compare(&both.right, turned, &both.left))
        }
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) => {
            let tests: Option<Vec<_>> = list
                .iter()
                .map(|value| {
                    compare(expr, Op::Equal, value).or_else(|| compare(value, Op::Equal, expr))
                })
                .collect();
            Some(Test::Any(tests?))
        }
        Expr::Like(Like {
            negated: false,
            expr,
            pattern,
            escape_char: None,
            case_insensitive: false,
        }) => {
            let Expr::Literal(pattern, _) = &**pattern else {
                return None;
            };
            let text = pattern.try_as_str()??.trim_matches('%');
            let is_plain = !text.contains(['%', '_', '\\']);
            is_plain.then(|| contains(expr, text))?
        }
        Expr::ScalarFunction(call) if functions::is_contains(&call.func) => {
            let [expr, Expr::Literal(part, _)] = &call.args[..] else {
                return None;
            };
            contains(expr, part.try_as_str()??)
        }
        _ => None,
    }
}

/// Whether a text is in a column.
fn contains(expr: &Expr, text: &str) -> Option<Test> {
    let (column, data_type) = column(expr)?;
    let is_text = data_type == DataType::Utf8View;
    is_text.then(|| Test::Compare(column, Op::Contains, Literal::Text(text.to_owned())))
}

fn compare(own: &Expr, op: Op, other: &Expr) -> Option<Test> {
    let (column, data_type) = column(own)?;
    let Expr::Literal(value, _) = other else {
        return None;
    };
    if value.is_null() {
        return None;
    }
    let value = match value {
        ScalarValue::TimestampNanosecond(Some(time), _) => Literal::Int(*time),
        ScalarValue::Int64(Some(value)) => Literal::Int(*value),
        ScalarValue::UInt64(Some(value)) => Literal::Uint(*value),
        ScalarValue::UInt32(Some(value)) => Literal::Uint(u64::from(*value)),
        ScalarValue::UInt8(Some(value)) => Literal::Uint(u64::from(*value)),
        // What is not a number has no order here, nor has a zero with a sign.
        ScalarValue::Float64(Some(value)) if value.is_finite() && *value != 0.0 => {
            Literal::Float(*value)
        }
        ScalarValue::Boolean(Some(value)) => Literal::Bool(*value),
        text => Literal::Text(text.try_as_str()??.to_owned()),
    };
    let fits = match (&value, &data_type) {
        (Literal::Text(_), data_type) => *data_type == DataType::Utf8View,
        (Literal::Float(_), data_type) => *data_type == DataType::Float64,
        (Literal::Bool(_), data_type) => *data_type == DataType::Boolean,
        (_, data_type) => data_type.is_integer() || matches!(data_type, DataType::Timestamp(..)),
    };
    fits.then_some(Test::Compare(column, op, value))
}

fn column(expr: &Expr) -> Option<(usize, DataType)> {
    let Expr::Column(column) = expr else {
        return None;
    };
    let records = schema::records();
    let (index, field) = records.column_with_name(&column.name)?;
    let is_known = index < FRONT || schema::slots().any(|slot| slot == field.name());
    is_known.then(|| (index, field.data_type().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{ScalarUDF, col, lit};

    fn passes(filter: Expr, value: Option<i128>) -> bool {
        let sieve = Sieve::of(&[filter]);
        let field = |_| value.map(Field::Number);
        sieve.tests.iter().all(|test| test.holds(&field))
    }

    #[test]
    fn conditions_hold_as_in_sql() {
        for value in -2..5i64 {
            let own = Some(i128::from(value));
            assert_eq!(passes(col("i0").lt(lit(2i64)), own), value < 2);
            assert_eq!(passes(lit(2i64).lt(col("i0")), own), 2 < value);
            let both = col("i0").gt_eq(lit(0i64)).and(col("i1").lt_eq(lit(3i64)));
            assert_eq!(passes(both, own), (0..=3).contains(&value));
            let either = col("i0").eq(lit(-2i64)).or(col("i0").eq(lit(4i64)));
            assert_eq!(passes(either, own), value == -2 || value == 4);
            let listed = col("i0").in_list(vec![lit(1i64), lit(3i64)], false);
            assert_eq!(passes(listed, own), value == 1 || value == 3);
            assert_eq!(
                passes(col("i0").between(lit(0i64), lit(1i64)), own),
                (0..=1).contains(&value)
            );
        }
        assert!(!passes(col("i0").lt(lit(2i64)), None));
        // What is not understood lets everything through.
        assert!(passes(col("i0").not_eq(lit(2i64)), None));
        assert!(passes(col("i0").lt(lit("x")), Some(1)));
    }

    #[test]
    fn a_text_in_another_is_a_condition_however_it_is_said() {
        let field = |_| Some(Field::Text(b"an item of a list"));
        let holds = |filter: Expr| {
            let sieve = Sieve::of(&[filter]);
            assert_eq!(sieve.tests.len(), 1);
            sieve.tests[0].holds(&field)
        };
        for (part, is_in) in [("item", true), ("items", false), ("", true)] {
            let contains = ScalarUDF::from(functions::Contains::new());
            assert_eq!(holds(contains.call(vec![col("s0"), lit(part)])), is_in);
            assert_eq!(holds(col("s0").like(lit(format!("%{part}%")))), is_in);
        }
    }

    #[test]
    fn times_are_a_range() {
        let time = |it| {
            lit(ScalarValue::TimestampNanosecond(
                Some(it),
                Some("UTC".into()),
            ))
        };
        let filter = col("time").gt_eq(time(5)).and(col("time").lt(time(9)));
        assert_eq!(Sieve::of(&[filter]).times(), (5, 9));
        let either = col("time").eq(time(5)).or(col("i0").eq(lit(1i64)));
        assert_eq!(Sieve::of(&[either]).times(), (i64::MIN, i64::MAX));
    }
}
