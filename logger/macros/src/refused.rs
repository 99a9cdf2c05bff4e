//! What is wrong with a call that no rule of its macro takes: in words, at the token that is wrong.

use crate::Refusal;
use crate::call::Argument;
use crate::literal::Text;
use logdef_wire::braces::{Piece, Pieces};
use proc_macro::{Span, TokenStream, TokenTree};

const LEVELS: [&str; 6] = ["Trace", "Debug", "Info", "Warn", "Error", "Fatal"];

/// Refuses what is no level.
pub fn level(token: &TokenTree) -> Result<(), Refusal> {
    let written = token.to_string();
    if LEVELS.contains(&&written[..]) {
        return Ok(());
    }
    Err(no_level(&written, token.span()))
}

fn no_level(written: &str, at: Span) -> Refusal {
    let message = format!(
        "logdef!: `{written}` is not a level: write Trace, Debug, Info, Warn, Error or Fatal; a level that is \
         known when the program runs is for `logdef_at!`"
    );
    Refusal::new(message, at)
}

/// Refuses a target that cannot stand in the description of a call site. It stands after the flags.
pub fn target(flags: &TokenTree) -> Result<(), Refusal> {
    let TokenTree::Group(flags) = flags else {
        return Ok(());
    };
    let Some(target) = flags
        .stream()
        .into_iter()
        .skip_while(|token| !is(token, ','))
        .nth(1)
    else {
        return Ok(());
    };
    match Text::of(&target) {
        Ok(text) if text.value.contains('\0') => Err(Refusal::new(
            "logdef!: the target has a NUL inside",
            text.span,
        )),
        Ok(_) => Ok(()),
        Err(_) if is_made_by_a_macro(&target) => Ok(()),
        Err(refusal) => {
            let message =
                "logdef!: the target must be a literal: filters match it before the call is made";
            Err(Refusal::new(message, refusal.at))
        }
    }
}

/// `concat!(…)` and its like.
fn is_made_by_a_macro(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.stream().into_iter().any(|inner| is(&inner, '!')),
        _ => false,
    }
}

/// What is wrong with a call of `logdef!`.
pub fn call(input: TokenStream) -> Refusal {
    let tokens: Vec<TokenTree> = input.into_iter().collect();
    let mut parts = tokens.split(|token| is(token, ','));
    let mut part = parts.next().unwrap_or_default();
    if let [TokenTree::Ident(word), colon, ..] = part
        && word.to_string() == "target"
        && is(colon, ':')
    {
        part = parts.next().unwrap_or_default();
    }
    let Some(first) = part.first() else {
        return missing("a level and a format");
    };
    if matches!(first, TokenTree::Literal(_)) {
        let message = format!("logdef!: the level is missing: `Info, {first}`");
        return Refusal::new(message, first.span());
    }
    if part.len() > 1 || level(first).is_err() {
        let written: TokenStream = part.iter().cloned().collect();
        return no_level(&written.to_string(), first.span());
    }
    let format = parts.next().unwrap_or_default();
    match format {
        [] => missing("a format"),
        [TokenTree::Literal(_), next, ..] => {
            let message = "logdef!: a comma must stand after the format, and before each argument";
            Refusal::new(message, next.span())
        }
        [TokenTree::Literal(_)] => parts
            .find_map(argument)
            .unwrap_or_else(|| {
                let message = "logdef!: after the format come expressions, or `name = value`, with commas between them";
                Refusal::new(message, Span::call_site())
            }),
        [first, ..] => {
            let message = "logdef!: the format must be a literal: pass text that the program makes as an argument: `\"{}\", text`; \
                 values with names stand behind the format: `\"text\", name = value`";
            Refusal::new(message, first.span())
        }
    }
}

fn missing(what: &str) -> Refusal {
    let message = format!("logdef!: {what} is missing: `Info, \"text {{}}\", value`");
    Refusal::new(message, Span::call_site())
}

/// What is wrong with an argument that is no expression.
fn argument(tokens: &[TokenTree]) -> Option<Refusal> {
    let (first, second) = (tokens.first()?, tokens.get(1));
    if matches!(first, TokenTree::Punct(sign) if matches!(sign.as_char(), '?' | '%')) {
        let message = "logdef!: write `{:?}` or `{}` in the format, or `name = debug(&value)`, `name = display(&value)`";
        return Some(Refusal::new(message, first.span()));
    }
    match second {
        Some(sign) if is(sign, '=') => {
            let message = format!("logdef!: write a keyword that is a name as `r#{first}`");
            Some(Refusal::new(message, first.span()))
        }
        _ => None,
    }
}

/// An argument that the format does not take.
pub fn extra(format: &Text, argument: &Argument) -> Refusal {
    if argument.is_assignment {
        let message = "logdef!: a name is one word without quotation marks: `name = value`";
        return Refusal::new(message, argument.at);
    }
    if let Some(braces) = no_placeholder(&format.value) {
        return Refusal::new(no_placeholder_message(braces), format.span);
    }
    let message = "logdef!: more arguments are passed than the format takes: `{}` takes one, `%d` another, and \
         `name = value` needs neither";
    Refusal::new(message, argument.at)
}

/// The first braces that look like a placeholder which `format!` would refuse: `{self.x}`, `{:y}`.
fn no_placeholder(format: &str) -> Option<&str> {
    let mut found = format.match_indices('{').filter_map(|(at, _)| {
        let len = format[at + 1..].find(['{', '}'])? + 2;
        let braces = &format[at..at + len];
        let begins = |c: char| c == ':' || c == '_' || c.is_alphanumeric();
        let is_placeholder = |piece| matches!(piece, Piece::Placeholder(_));
        let looks = braces[1..].starts_with(begins) && !braces.contains(['"', '\'', '\n']);
        let is_none = !Pieces::new(braces.as_bytes()).any(is_placeholder);
        (looks && is_none && braces.ends_with('}')).then_some(braces)
    });
    found.next()
}

/// Refuses a field, an element or a call in braces, which `format!` does not take either.
pub fn expressions(format: &Text) -> Result<(), Refusal> {
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let is_expression = |braces: &&str| {
        let behind = braces[1..].trim_start_matches(is_name);
        behind.starts_with(['.', '(', '[']) && behind.len() + 1 < braces.len()
    };
    match no_placeholder(&format.value).filter(is_expression) {
        Some(braces) => Err(Refusal::new(no_placeholder_message(braces), format.span)),
        None => Ok(()),
    }
}

/// What to write in the place of such braces.
fn no_placeholder_message(braces: &str) -> String {
    format!(
        "logdef!: `{braces}` is not a placeholder: braces hold a name or a number, and a form that `format!` \
         has; pass another expression as an argument: `{{}}`"
    )
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == sign)
}
