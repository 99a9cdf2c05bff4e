//! What `logdef!` does with a format when a program is compiled: chooses its grammar,
//! checks it against the arguments, finds what it captures, and lays down the tokens of
//! the call site. No part of the stable interface: `logdef` is.
//!
//! A macro by example cannot look into a literal, and `format_args!` hands out nothing but
//! text; so this is a procedural one. It is small, and needs nothing but the wire format's own
//! parsers.

#![forbid(unsafe_code)]

mod braces;
mod call;
mod literal;
mod printf;
mod refused;
mod tokens;

use call::Call;
use proc_macro::{Span, TokenStream};

/// Expands to a call of `__site!`. The input is what `logdef!` and its like pass on:
/// `[$crate] [limit] [flags] level [attached format] format [argument] …`.
#[doc(hidden)]
#[proc_macro]
pub fn call(input: TokenStream) -> TokenStream {
    match Call::parse(input).and_then(Call::expand) {
        Ok(tokens) => tokens,
        Err(refusal) => tokens::compile_error(&refusal.message, refusal.at),
    }
}

/// Says what is wrong with a call that no rule of its macro takes.
#[doc(hidden)]
#[proc_macro]
pub fn refused(input: TokenStream) -> TokenStream {
    let refusal = refused::call(input);
    tokens::compile_error(&refusal.message, refusal.at)
}

/// Why a call does not compile.
struct Refusal {
    message: String,
    at: Span,
}

impl Refusal {
    fn new(message: impl Into<String>, at: Span) -> Refusal {
        let message = message.into();
        Refusal { message, at }
    }
}
