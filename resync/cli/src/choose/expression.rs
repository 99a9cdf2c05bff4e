//! What `--where` and `--not` take: comparisons joined by `and`, `or` and `not`, with parentheses,
//! ranges and lists.
//!
//! ```text
//! expression  one or more of TERM, joined by "or"
//! term        one or more of FACTOR, joined by "and"
//! factor      "not" FACTOR | "(" EXPRESSION ")" | COMPARISON
//! comparison  NAME OPERATOR CONSTANT | NAME "in" RANGE | NAME "in" "(" CONSTANT, ... ")"
//! range       FROM ".." TO, both included; one of them may be left out
//! ```
//!
//! A constant without quotation marks ends before " and ", " or ", or the parenthesis that closes
//! around it, and may hold spaces otherwise.

use crate::choose::condition::{Condition, Operator, Values};
use crate::choose::forms::Form;
use logdef_resync::{CallSite, Resolved};

/// How deep parentheses and `not` may nest.
const DEEPEST: usize = 64;

/// A condition on a record.
#[derive(Clone, Debug)]
pub enum Expression {
    Compare(Condition),
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    /// Parses what the command line gives. Errors say what was expected, and at which character.
    pub fn parse(text: &str) -> Result<Expression, String> {
        Ok(Expression::with_forms(text)?.0)
    }

    /// The same, and the forms that were met.
    fn with_forms(text: &str) -> Result<(Expression, Vec<Form>), String> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            met: Vec::new(),
        };
        let expression = parser.any()?;
        parser.skip_spaces();
        if parser.rest().is_empty() {
            Ok((expression, parser.met))
        } else {
            Err(parser.expected("\"and\", \"or\" or the end"))
        }
    }

    /// The opposite.
    pub fn negated(self) -> Expression {
        Expression::Not(Box::new(self))
    }

    /// The same for records of one call site.
    pub fn at(&self, site: &CallSite<'_>) -> Expression {
        let all = |parts: &[Expression]| parts.iter().map(|part| part.at(site)).collect();
        match self {
            Expression::Compare(condition) => Expression::Compare(condition.at(site)),
            Expression::Not(inner) => Expression::Not(Box::new(inner.at(site))),
            Expression::All(parts) => Expression::All(all(parts)),
            Expression::Any(parts) => Expression::Any(all(parts)),
        }
    }

    /// Whether a record may be one of those meant, as far as can be said before its strings are
    /// looked up: these name its arguments.
    pub fn may_hold(&self, values: &Values<'_>) -> bool {
        self.decided(values) != Some(false)
    }

    /// Whether an argument of a record may decide on it.
    pub fn asks_arguments(&self) -> bool {
        match self {
            Expression::Compare(condition) => condition.asks_arguments(),
            Expression::Not(inner) => inner.asks_arguments(),
            Expression::All(parts) | Expression::Any(parts) => {
                parts.iter().any(Expression::asks_arguments)
            }
        }
    }

    /// What the record alone decides; `None` if its strings have to be looked up.
    fn decided(&self, values: &Values<'_>) -> Option<bool> {
        match self {
            Expression::Compare(condition) => condition.decided(values),
            Expression::Not(inner) => inner.decided(values).map(|holds| !holds),
            Expression::All(parts) => joined(parts, values, false),
            Expression::Any(parts) => joined(parts, values, true),
        }
    }

    /// Whether a record is one of those meant.
    pub fn holds(&self, record: &Resolved<'_>) -> bool {
        match self {
            Expression::Compare(condition) => condition.holds(record),
            Expression::Not(inner) => !inner.holds(record),
            Expression::All(parts) => parts.iter().all(|part| part.holds(record)),
            Expression::Any(parts) => parts.iter().any(|part| part.holds(record)),
        }
    }
}

/// What some parts decide together, where one that is `deciding` is enough.
fn joined(parts: &[Expression], values: &Values<'_>, deciding: bool) -> Option<bool> {
    let mut together = Some(!deciding);
    for part in parts {
        match part.decided(values) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => together = None,
        }
    }
    together
}

struct Parser<'t> {
    text: &'t str,
    /// Bytes that were read.
    at: usize,
    /// Parentheses and `not` around what is read.
    depth: usize,
    /// The forms of what was read.
    met: Vec<Form>,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn expected(&self, what: &str) -> String {
        let character = self.text[..self.at].chars().count() + 1;
        format!("at character {character}, {what} is expected: try 'ms>500 and path~\"/api\"'")
    }

    /// Reads a word of the grammar: it ends where a name would.
    fn word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let found = begins_with(self.rest(), word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn sign(&mut self, sign: char) -> bool {
        self.skip_spaces();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len_utf8();
        }
        found
    }

    fn any(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.all()?];
        while self.word("or") {
            self.met.push(Form::Or);
            parts.push(self.all()?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, String> {
        let mut parts = vec![self.factor()?];
        while self.word("and") {
            self.met.push(Form::And);
            parts.push(self.factor()?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn factor(&mut self) -> Result<Expression, String> {
        let is_not = self.word("not");
        if !is_not && !self.sign('(') {
            return self.comparison();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} parentheses or \"not\" nest"));
        }
        self.met
            .push(if is_not { Form::Not } else { Form::Parentheses });
        let inner = if is_not {
            self.factor()?.negated()
        } else {
            let inner = self.any()?;
            if !self.sign(')') {
                return Err(self.expected("\")\""));
            }
            inner
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        self.skip_spaces();
        let signs = ['!', '<', '>', '=', '~', '(', ')', '"'];
        let rest = self.rest();
        let end = rest.find(signs).unwrap_or(rest.len());
        if let Some((name, behind)) = rest.split_once(" in ")
            && name.len() < end
        {
            self.at += rest.len() - behind.len();
            return self.range_or_list(name.trim());
        }
        let Some((sign, operator, form)) = Condition::operator(&rest[end..]) else {
            self.at += end;
            return Err(self.expected("a comparison such as 0>5, 2=foo, ms<=3.5 or path~part"));
        };
        let name = rest[..end].trim();
        if name.is_empty() {
            return Err(self.expected("the number or name of an argument"));
        }
        self.at += end + sign.len();
        self.met.push(form);
        let constant = self.constant(false)?;
        Ok(self.compared(name, operator, constant))
    }

    fn range_or_list(&mut self, name: &str) -> Result<Expression, String> {
        if name.is_empty() {
            return Err(self.expected("the number or name of an argument"));
        }
        if self.sign('(') {
            self.met.push(Form::List);
            let mut parts = Vec::new();
            loop {
                let constant = self.constant(true)?;
                parts.push(self.compared(name, Operator::Equal, constant));
                if self.sign(')') {
                    return Ok(one_or(parts, Expression::Any));
                }
                if !self.sign(',') {
                    return Err(self.expected("\",\" or \")\""));
                }
            }
        }
        let range = self.constant(false)?.text;
        let bounds = range.split_once("..");
        let (from, to) = bounds.filter(|bounds| *bounds != ("", "")).ok_or_else(|| {
            self.expected("a range such as 5..10, 5.. or ..10, or a list such as (1, 2)")
        })?;
        self.met.push(match (from, to) {
            (_, "") => Form::RangeFrom,
            ("", _) => Form::RangeTo,
            _ => Form::Range,
        });
        let mut parts = Vec::new();
        for (operator, bound) in [(Operator::AtLeast, from), (Operator::AtMost, to)] {
            if !bound.is_empty() {
                let constant = Constant::bare(bound);
                parts.push(self.compared(name, operator, constant));
            }
        }
        Ok(one_or(parts, Expression::All))
    }

    fn compared(&mut self, name: &str, operator: Operator, constant: Constant) -> Expression {
        let condition = Condition::new(name, operator, &constant.text);
        let written = constant
            .form
            .unwrap_or_else(|| condition.form_of_constant());
        self.met.extend([condition.form_of_name(), written]);
        Expression::Compare(condition)
    }

    /// A constant in quotation marks, in which `\` takes the next character as it is, or without.
    fn constant(&mut self, is_in_list: bool) -> Result<Constant, String> {
        if self.sign('"') {
            let (mut text, mut form) = (String::new(), Form::Quoted);
            let mut characters = self.rest().char_indices();
            while let Some((index, character)) = characters.next() {
                match character {
                    '"' => {
                        self.at += index + 1;
                        let form = Some(form);
                        return Ok(Constant { text, form });
                    }
                    '\\' => {
                        form = Form::Escaped;
                        text.extend(characters.next().map(|(_, it)| it));
                    }
                    _ => text.push(character),
                }
            }
            self.at = self.text.len();
            return Err(self.expected("\" that ends the text"));
        }
        let rest = self.rest();
        let is_end = |index: &usize| {
            let rest = &rest[*index..];
            let closes = is_in_list || self.depth > 0;
            [" and", " or"].iter().any(|word| begins_with(rest, word))
                || closes && rest.starts_with(')')
                || is_in_list && rest.starts_with(',')
        };
        let indices = rest.char_indices().map(|(index, _)| index);
        let end = indices.into_iter().find(is_end).unwrap_or(rest.len());
        self.at += end;
        Ok(Constant::bare(&rest[..end]))
    }
}

/// What an argument is compared with.
struct Constant {
    text: String,
    /// How it is written, if that is not seen by the text.
    form: Option<Form>,
}

impl Constant {
    /// Without quotation marks.
    fn bare(text: &str) -> Constant {
        Constant {
            text: text.trim().to_owned(),
            form: None,
        }
    }
}

/// Whether a word of the grammar stands there: a longer name is not one.
fn begins_with(text: &str, word: &str) -> bool {
    let behind = text.strip_prefix(word);
    behind.is_some_and(|behind| behind.is_empty() || behind.starts_with([' ', '(']))
}

/// The only part, or all of them joined.
fn one_or(mut parts: Vec<Expression>, join: impl Fn(Vec<Expression>) -> Expression) -> Expression {
    if parts.len() == 1 {
        parts.remove(0)
    } else {
        join(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::forms::FORMS;
    use logdef_wire::Value;

    /// What holds for a record whose arguments are 0 to 3 as given.
    fn holds(text: &str, values: &[Value<'_>]) -> bool {
        fn eval(expression: &Expression, values: &[Value<'_>]) -> bool {
            match expression {
                Expression::Compare(condition) => condition.compares_one_of(values),
                Expression::Not(inner) => !eval(inner, values),
                Expression::All(parts) => parts.iter().all(|part| eval(part, values)),
                Expression::Any(parts) => parts.iter().any(|part| eval(part, values)),
            }
        }
        eval(&Expression::parse(text).unwrap(), values)
    }

    #[test]
    fn and_binds_closer_than_or_and_not_closest() {
        let values = [Value::Uint(1), Value::Uint(2), Value::Raw(b"a b")];
        assert!(holds("0=1 or 0=9 and 1=9", &values));
        assert!(!holds("(0=1 or 0=9) and 1=9", &values));
        assert!(holds("not 0=9 and 1=2", &values));
        assert!(!holds("not (0=9 or 1=2)", &values));
        assert!(holds("not not 0=1", &values));
        assert!(holds("2=a b and 1=2", &values));
        assert!(holds("not 7=1", &values), "there is no such argument");
    }

    #[test]
    fn ranges_and_lists_are_comparisons() {
        for (value, is_in) in [(4, false), (5, true), (10, true), (11, false)] {
            let values = [Value::Uint(value)];
            assert_eq!(holds("0 in 5..10", &values), is_in);
            assert_eq!(holds("0 in 5..", &values), value >= 5);
            assert_eq!(holds("0 in ..10 and 0!=7", &values), value <= 10);
            assert_eq!(holds("0 in (1, 5, 10)", &values), value == 5 || value == 10);
        }
        assert!(holds("0 in (\"a, b\", c)", &[Value::Raw(b"a, b")]));
        assert!(holds("(0 in (a, b) or 0=d)", &[Value::Raw(b"d")]));
        assert!(holds("0 in 1.5..2.5", &[Value::Float(2.5)]));
    }

    #[test]
    fn text_in_quotation_marks_holds_everything() {
        let text = Value::Raw(b"x and \"y\" or (z) \\");
        assert!(holds(r#"0="x and \"y\" or (z) \\""#, &[text]));
        assert!(holds("0~and \"y\"", &[text]), "they stand within");
        assert!(holds("0=\"\"", &[Value::Raw(b"")]));
        assert!(holds("0=f(x)", &[Value::Raw(b"f(x)")]));
    }

    #[test]
    fn each_form_has_an_example_in_the_help_that_is_of_that_form() {
        for (form, example, _) in FORMS {
            let (_, met) = Expression::with_forms(example).unwrap();
            assert!(met.contains(form), "{form:?}: {example}: {met:?}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused_where_it_ends() {
        for (text, character) in [
            ("", 1),
            ("0", 2),
            (">5", 1),
            ("0=1 and", 8),
            ("0=1 and ", 9),
            ("(0=1", 5),
            ("0=\"x", 5),
            ("0=\"x\" y", 7),
            ("0 in 5", 7),
            ("0 in (1", 8),
            ("x!y", 2),
        ] {
            let error = Expression::parse(text).unwrap_err();
            let at = format!("at character {character},");
            assert!(error.contains(&at), "{text}: {error}");
        }
        let deep = format!("{}0=1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(Expression::parse(&deep).unwrap_err().contains("nest"));
        assert!(Expression::parse(&"not ".repeat(100_000)).is_err());
    }
}
