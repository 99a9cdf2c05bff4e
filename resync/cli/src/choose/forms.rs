//! The forms that a condition takes, each with an example: one list, which the help prints, the
//! parser names what it meets by, and a test runs. Does not know how they are read.

/// Makes the list: a form without an example does not compile.
macro_rules! forms {
    ($($form:ident: $example:literal, $purpose:literal;)*) => {
        /// A form that a condition takes.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Form {
            $($form,)*
        }

        /// All forms, in the order of the help: an example, and what it means.
        pub const FORMS: &[(Form, &str, &str)] = &[$((Form::$form, $example, $purpose),)*];
    };
}

forms! {
    Place: "1=443", "an argument by its number, from 0";
    Name: "user=root", "an argument or key by its name, or a key of the context";
    Template: "template~accepted", "the text of the format";
    Module: "module=net", "the module of the call site";
    Target: "target=dns", "the target of the call, or else its module";
    Equal: "code=404", "equal, as a number or as text";
    EqualTwice: "code==404", "the same";
    NotEqual: "user!=root", "not equal; a record without the argument does not match";
    Less: "ms<2.5", "less";
    AtMost: "ms<=2.5", "at most";
    Greater: "ms>500", "more";
    AtLeast: "ms>=500", "at least";
    Contains: "path~/api", "a text that contains another";
    Range: "ms in 5..10", "a range, both ends included";
    RangeFrom: "ms in 500..", "at least";
    RangeTo: "ms in ..10", "at most";
    List: "code in (404, 410)", "one of a list";
    And: "ms>500 and code=404", "both hold; binds tighter than or";
    Or: "ms>500 or code=404", "one of them holds";
    Not: "not user=root", "all others, also those without it; binds tightest";
    Parentheses: "(ms>500 or code=404) and user=ann", "grouping";
    Integer: "code=410", "a whole number, of up to 128 bits";
    Fraction: "ms>=2.5e2", "a number with a point or an exponent";
    Hexadecimal: "flags=0x1f", "a number as %p prints it";
    Text: "user=ann", "text, up to and, or, or a parenthesis";
    Quoted: "path=\"/a and b\"", "text that contains such words";
    Escaped: "path~\"\\\"x\\\"\"", "and quotation marks";
    Empty: "path=", "no text";
    Truth: "cached=true", "true or false";
    Nil: "user=nil", "nothing: nil or null";
}

/// All of them for the help.
pub fn help() -> String {
    let shown = FORMS.iter().map(|(_, example, purpose)| {
        let quoted = format!("-w '{example}'");
        format!("\n  {quoted:<39} {purpose}")
    });
    format!("Conditions (-w, --not):{}", shown.collect::<String>())
}
