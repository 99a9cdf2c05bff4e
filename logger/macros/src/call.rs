//! A call as it was written, and what it expands to.

use crate::literal::Text;
use crate::{Refusal, braces, printf, refused, tokens};
use logdef_wire::braces::{Piece, Pieces};
use logdef_wire::printf::{Directives, Flags};
use proc_macro::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};

/// A log call as it was written.
pub struct Call {
    /// `$crate` of `logdef`.
    krate: TokenStream,
    limit: TokenTree,
    flags: TokenTree,
    level: TokenTree,
    pub attached: Option<Text>,
    pub format: Text,
    pub arguments: Vec<Argument>,
}

/// An argument, which may have a name: `expression`, `name = expression`.
pub struct Argument {
    pub name: Option<String>,
    expression: TokenTree,
    pub at: Span,
    /// `something = value`, where something is no name.
    pub is_assignment: bool,
}

/// What the grammars find out about a call.
pub struct Laid {
    /// The format and what is attached to it, each with its NUL, and the description, up to
    /// where the module stands in it.
    pub text: String,
    /// What stands after the module: the NUL, and the template with another.
    pub behind: String,
    /// The format of what is captured; empty for a template.
    pub captured: String,
    /// How many arguments go on the wire as they are, after those of `captured`.
    pub values: usize,
    /// The arguments, with the captured ones; and for each the expression that captures it:
    /// `@` stands for `$crate`, `#` for the reference to the value.
    pub arguments: Vec<(Argument, String)>,
}

/// More arguments do not fit a record.
const MOST: usize = 64;

impl Argument {
    /// A name in braces is the caller's variable of this name.
    pub fn captured(name: &str, at: Span) -> Argument {
        let ident = proc_macro::Ident::new(name, at);
        Argument {
            name: Some(name.to_string()),
            expression: TokenTree::Ident(ident),
            at,
            is_assignment: false,
        }
    }

    fn parse(group: Group) -> Argument {
        // What macros by example pass on stands in more groups.
        let mut inner = group.clone();
        while let Some(TokenTree::Group(next)) = only(inner.stream())
            && next.delimiter() == Delimiter::None
        {
            inner = next;
        }
        let list: Vec<TokenTree> = inner.stream().into_iter().collect();
        let at = list.first().map_or(inner.span(), TokenTree::span);
        if let [TokenTree::Ident(name), TokenTree::Punct(is), value @ ..] = &list[..]
            && is.as_char() == '='
            && is.spacing() == Spacing::Alone
        {
            let name = name.to_string();
            let name = name.strip_prefix("r#").unwrap_or(&name);
            return Argument {
                name: Some(name.to_string()),
                at: value.first().map_or(at, TokenTree::span),
                expression: tokens::parentheses(value.iter().cloned().collect()),
                is_assignment: false,
            };
        }
        Argument {
            name: None,
            at,
            is_assignment: list
                .iter()
                .enumerate()
                .any(|(place, _)| is_assignment(&list[place..])),
            expression: only(group.stream()).unwrap_or_else(|| tokens::parentheses(group.stream())),
        }
    }
}

/// Whether tokens begin with a `=` of its own.
fn is_assignment(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(before), TokenTree::Punct(is), ..] = tokens else {
        return matches!(tokens, [_, TokenTree::Punct(is), ..] if is_equals(is));
    };
    before.spacing() == Spacing::Alone && is_equals(is)
}

fn is_equals(punct: &proc_macro::Punct) -> bool {
    punct.as_char() == '=' && punct.spacing() == Spacing::Alone
}

/// The token of a stream of one.
fn only(tokens: TokenStream) -> Option<TokenTree> {
    let mut tokens = tokens.into_iter();
    let first = tokens.next();
    first.filter(|_| tokens.next().is_none())
}

impl Call {
    pub fn parse(input: TokenStream) -> Result<Call, Refusal> {
        let mut input = input.into_iter();
        let mut next = || {
            let missing = || Refusal::new("logdef!: called by hand", Span::call_site());
            input.next().ok_or_else(missing)
        };
        let krate = stream(next()?);
        let (limit, flags, level) = (next()?, next()?, next()?);
        let attached = only(stream(next()?)).map(|attached| Text::of(&attached));
        refused::target(&flags)?;
        refused::level(&level)?;
        let format = Text::of(&next()?)?;
        let arguments = input.filter_map(|token| match token {
            TokenTree::Group(group) => Some(Argument::parse(group)),
            _ => None,
        });
        Ok(Call {
            krate,
            limit,
            flags,
            level,
            attached: attached.transpose()?,
            format,
            arguments: arguments.collect(),
        })
    }

    pub fn expand(self) -> Result<TokenStream, Refusal> {
        let at = self.format.span;
        let whole = match &self.attached {
            Some(attached) => format!("{}{}", self.format.value, attached.value),
            None => self.format.value.clone(),
        };
        if whole.contains('\0') {
            return Err(Refusal::new("logdef!: format has a NUL inside", at));
        }
        let Call {
            krate,
            limit,
            flags,
            level,
            attached,
            format,
            arguments,
        } = self;
        let laid = match (placeholder(&whole), conversion(&whole)) {
            (Some(braces), Some(percent)) => return Err(both(braces, percent, at)),
            (Some(_), None) if attached.is_none() => braces::lay(&format, arguments)?,
            (Some(_), None) => {
                let no = "logdef_attach!: with {} name what the text does not show, and pass it last: `key = value`";
                return Err(Refusal::new(no, at));
            }
            (None, None) => {
                refused::expressions(&format)?;
                printf::lay(&format, attached.as_ref(), arguments)?
            }
            (None, Some(_)) => printf::lay(&format, attached.as_ref(), arguments)?,
        };
        if laid.arguments.len() > MOST {
            let many = "logdef!: the format takes more than 64 arguments";
            return Err(Refusal::new(many, at));
        }
        let mut bound = TokenStream::new();
        let count = laid.arguments.len();
        for (index, (argument, pass)) in laid.arguments.into_iter().enumerate() {
            let name = format!("__logdef_argument_{index}");
            bound.extend([tokens::name(&name), argument.expression]);
            bound.extend([tokens::punctuation('='), tokens::punctuation('>')].map(joint));
            bound.extend(passed(&pass, &name, &krate, argument.at));
            bound.extend([tokens::punctuation(';')]);
        }
        let texts = [
            tokens::string(&laid.text),
            tokens::string(&laid.behind),
            tokens::string(&laid.captured),
            tokens::number(laid.values),
            tokens::number(count),
        ];
        let mut tokens = krate;
        tokens.extend(tokens::parse("::__site!", Span::mixed_site()));
        let site = [
            limit,
            flags,
            level,
            tokens::brackets(texts.into_iter().collect()),
            tokens::brackets(bound),
        ];
        tokens.extend([tokens::parentheses(site.into_iter().collect())]);
        Ok(tokens)
    }
}

/// `=>` is one token of two.
fn joint(token: TokenTree) -> TokenTree {
    match token {
        TokenTree::Punct(punct) if punct.as_char() == '=' => {
            TokenTree::Punct(proc_macro::Punct::new('=', Spacing::Joint))
        }
        other => other,
    }
}

/// The expression that captures an argument: see [`Laid::arguments`].
fn passed(pass: &str, name: &str, krate: &TokenStream, at: Span) -> TokenStream {
    let mut name = tokens::name(name);
    // Where the compiler points if it does not fit.
    name.set_span(name.span().located_at(at));
    let krate = krate.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(at));
        token
    });
    replace(tokens::parse(pass, at), &name.into(), &krate.collect())
}

/// Puts the name in the place of each `#`, and the path in that of each `@`.
fn replace(tokens: TokenStream, name: &TokenStream, krate: &TokenStream) -> TokenStream {
    let replaced = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Punct(punct) if punct.as_char() == '#' => name.clone(),
        TokenTree::Punct(punct) if punct.as_char() == '@' => krate.clone(),
        TokenTree::Group(group) => {
            let mut inner = Group::new(group.delimiter(), replace(group.stream(), name, krate));
            inner.set_span(group.span());
            TokenTree::Group(inner).into()
        }
        other => other.into(),
    });
    replaced.collect()
}

fn stream(token: TokenTree) -> TokenStream {
    match token {
        TokenTree::Group(group) => group.stream(),
        other => TokenStream::from(other),
    }
}

/// The first placeholder, if braces choose the grammar.
fn placeholder(format: &str) -> Option<&str> {
    Pieces::new(format.as_bytes()).find_map(|piece| match piece {
        Piece::Placeholder(found) => format
            .get(found.start..found.end)
            .filter(|text| !text.starts_with("{ ")),
        Piece::Text(..) => None,
    })
}

/// The first conversion of printf's. A blank after the `%` is a flag that is hardly used:
/// `50% done` is text beside braces.
fn conversion(format: &str) -> Option<&str> {
    let mut found = Directives::new(format.as_bytes());
    let is_one = |directive: &logdef_wire::printf::Directive| {
        let known = directive.fault.is_none()
            && (directive.form().is_some() || directive.conversion.0 == b'%');
        known && !directive.flags.has(Flags::SPACE)
    };
    let found = found.find(is_one)?;
    format.get(found.start..found.end)
}

fn both(braces: &str, percent: &str, at: Span) -> Refusal {
    let message = format!(
        "logdef!: the format has both `{braces}`, which is Rust's, and `{percent}`, which is printf's: \
         use one of them. In a format with braces a single % is text; text in braces, or with a %, can be \
         passed as an argument"
    );
    Refusal::new(message, at)
}
