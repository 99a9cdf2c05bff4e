//! Making tokens.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Tokens that are made of text whose names the caller's names cannot meet, and said to
/// stand at `at`.
pub fn parse(text: &str, at: Span) -> TokenStream {
    let tokens: TokenStream = text.parse().unwrap_or_default();
    respan(tokens, Span::mixed_site().located_at(at))
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    let respanned = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            let mut inner = Group::new(group.delimiter(), respan(group.stream(), span));
            inner.set_span(span);
            return TokenTree::Group(inner);
        }
        token.set_span(span);
        token
    });
    respanned.collect()
}

/// An error at a place in the caller's source.
pub fn compile_error(message: &str, at: Span) -> TokenStream {
    let text = format!("{{ ::core::compile_error!({message:?}) }}");
    let tokens: TokenStream = text.parse().unwrap_or_default();
    respan(tokens, at)
}

/// `[tokens]`
pub fn brackets(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Bracket, tokens))
}

/// `(tokens)`
pub fn parentheses(tokens: TokenStream) -> TokenTree {
    TokenTree::Group(Group::new(Delimiter::Parenthesis, tokens))
}

pub fn string(text: &str) -> TokenTree {
    TokenTree::Literal(Literal::string(text))
}

pub fn number(n: usize) -> TokenTree {
    TokenTree::Literal(Literal::usize_unsuffixed(n))
}

/// A name that the caller's names cannot meet.
pub fn name(name: &str) -> TokenTree {
    TokenTree::Ident(Ident::new(name, Span::mixed_site()))
}

pub fn punctuation(c: char) -> TokenTree {
    TokenTree::Punct(Punct::new(c, Spacing::Alone))
}
