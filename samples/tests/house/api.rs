//! The public interface of each published library, as a list beside this file: a change of it
//! is seen in review. Read from the sources, so what other macros than `macro_rules` write out
//! is not listed; hidden items are not, since they promise nothing, but for procedural macros: Cargo
//! may build `logdef` with a later version of the package that it takes them from.
//!
//! `LOGDEF_ACCEPT_API=1` writes the lists again. A line that goes or changes breaks programs:
//! CHANGELOG.md then says so under "Changed" or "Removed", and the next version is a larger one.

use super::source::{known_to_cargo, workspace};
use super::sources::{Crate, Place};
use quote::ToTokens;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Visibility};

#[derive(Deserialize)]
struct Package {
    name: String,
    targets: Vec<Target>,
    /// Empty for a package that is not published.
    publish: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

/// The published libraries for Rust, each with its first file.
fn libraries() -> Vec<(String, PathBuf)> {
    let packages: Vec<Package> = known_to_cargo();
    let published = packages.into_iter().filter(|p| p.publish.is_none());
    let libraries = published.filter_map(|package| {
        let is_library = |target: &&Target| {
            let kinds = ["lib", "proc-macro"];
            target.kind.iter().any(|kind| kinds.contains(&&**kind))
        };
        let library = package.targets.iter().find(is_library)?;
        Some((package.name, library.src_path.clone()))
    });
    libraries.collect()
}

/// Tokens as rustfmt would space them, nearly.
fn text(tokens: impl ToTokens) -> String {
    let spaced = tokens.to_token_stream().to_string();
    let is_word = |c: char| c.is_alphanumeric() || "_'\"#".contains(c);
    let mut text = String::with_capacity(spaced.len());
    for token in spaced.split_whitespace() {
        let before = text.chars().next_back().unwrap_or('(');
        let starts_word = token.starts_with(is_word);
        let is_apart = ",;=+".contains(before)
            || (is_word(before) || before == '>') && starts_word
            || before == ':' && !text.ends_with("::")
            || text.ends_with("->")
            || ["->", "=", "+", "{"].contains(&token);
        if is_apart {
            text.push(' ');
        }
        text.push_str(token);
    }
    text.replace(", }", "}").replace(",}", "}")
}

/// Derived traits and the like, which are part of the promise.
fn promises(attributes: &[Attribute]) -> String {
    let kept = attributes.iter().filter(|attribute| {
        let kinds = ["derive", "non_exhaustive", "repr"];
        kinds.iter().any(|kind| attribute.path().is_ident(kind))
    });
    kept.map(|attribute| text(attribute) + " ").collect()
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Leaves only the fields that others may name.
fn public_fields(fields: &mut Fields) {
    let list = match fields {
        Fields::Named(fields) => &mut fields.named,
        Fields::Unnamed(fields) => &mut fields.unnamed,
        Fields::Unit => return,
    };
    let all = std::mem::take(list).into_iter();
    let kept = all.filter(|field| is_public(&field.vis)).map(|mut field| {
        field.attrs.clear();
        field
    });
    *list = kept.collect();
}

/// An item without documentation and bodies; nothing for one that others cannot name.
fn promise(item: &Item) -> Option<String> {
    let mut item = item.clone();
    let attributes = match &mut item {
        Item::Struct(it) => {
            public_fields(&mut it.fields);
            std::mem::take(&mut it.attrs)
        }
        Item::Enum(it) => {
            for variant in &mut it.variants {
                variant.attrs.clear();
                variant
                    .fields
                    .iter_mut()
                    .for_each(|field| field.attrs.clear());
            }
            std::mem::take(&mut it.attrs)
        }
        Item::Fn(it) => return Some(text(&it.sig)),
        Item::Const(it) => return Some(format!("const {}: {}", it.ident, text(&it.ty))),
        Item::Static(it) => return Some(format!("static {}: {}", it.ident, text(&it.ty))),
        Item::Trait(it) => {
            it.items.iter_mut().for_each(strip);
            std::mem::take(&mut it.attrs)
        }
        Item::Type(it) => std::mem::take(&mut it.attrs),
        Item::Union(it) => std::mem::take(&mut it.attrs),
        Item::Macro(it) => return Some(format!("macro {}", it.ident.as_ref()?)),
        _ => return None,
    };
    Some(promises(&attributes) + &text(&item))
}

/// What a trait asks for, without how it may be done.
fn strip(item: &mut TraitItem) {
    match item {
        TraitItem::Fn(it) => {
            it.attrs.clear();
            // That there is a body is part of the promise.
            if let Some(body) = &mut it.default {
                body.stmts.clear();
            }
        }
        TraitItem::Const(it) => it.attrs.clear(),
        TraitItem::Type(it) => it.attrs.clear(),
        _ => {}
    }
}

/// Methods and traits of the public types of a crate.
fn implementations(sources: &Crate, types: &BTreeSet<String>, lines: &mut BTreeSet<String>) {
    for (_, item) in sources.items() {
        let Item::Impl(it) = item else { continue };
        let own = text(&it.self_ty);
        let name = own.trim_start_matches(['&', '[']);
        let name = name.split(['<', ' ', ']']).next().unwrap();
        let name = name.rsplit("::").next().unwrap();
        if !types.contains(name) {
            continue;
        }
        if let Some((path, _)) = &it.trait_ {
            let generics = text(&it.generics);
            lines.insert(format!("impl{generics} {} for {own}", text(path)));
            continue;
        }
        for item in &it.items {
            let promise = match item {
                ImplItem::Fn(it) if is_public(&it.vis) => text(&it.sig),
                ImplItem::Const(it) if is_public(&it.vis) => {
                    format!("const {}: {}", it.ident, text(&it.ty))
                }
                _ => continue,
            };
            lines.insert(format!("{own}: {promise}"));
        }
    }
}

/// The interface of a library, a line for each item, method and trait of a type.
fn interface(sources: &Crate) -> BTreeSet<String> {
    let (mut lines, mut types) = (BTreeSet::new(), BTreeSet::new());
    sources.for_each_public(&mut |name, place| match place {
        Place::Item(item) => {
            let at = name.rsplit_once("::").map_or("", |(at, _)| at);
            let Some(promise) = promise(item) else { return };
            lines.insert(format!("{at}:: {promise}"));
            if let Item::Struct(_) | Item::Enum(_) | Item::Union(_) | Item::Type(_) = item {
                types.insert(name.rsplit("::").next().unwrap().to_owned());
            }
        }
        Place::Elsewhere(path) => {
            lines.insert(format!("{name} = {path}"));
        }
    });
    implementations(sources, &types, &mut lines);
    procedural_macros(sources, &mut lines);
    lines
}

/// Functions that the compiler calls as macros, each with the attribute that says of which kind.
fn procedural_macros(sources: &Crate, lines: &mut BTreeSet<String>) {
    let kinds = ["proc_macro", "proc_macro_attribute", "proc_macro_derive"];
    for (_, item) in sources.items() {
        let Item::Fn(it) = item else { continue };
        let is_kind = |attribute: &&Attribute| kinds.iter().any(|k| attribute.path().is_ident(k));
        let kind = it.attrs.iter().find(is_kind);
        lines.extend(kind.map(|kind| format!(":: {} {}", text(kind), text(&it.sig))));
    }
}

#[test]
fn the_interface_of_each_library_is_the_one_that_was_reviewed() {
    let libraries = libraries();
    assert!(libraries.len() > 8, "only {} libraries", libraries.len());
    let lists = workspace().join("samples/tests/house/api");
    let mut changes = Vec::new();
    for (name, first) in libraries {
        let list = lists.join(format!("{name}.txt"));
        let found = interface(&Crate::read(&first));
        assert!(!found.is_empty(), "{name} offers nothing");
        if std::env::var_os("LOGDEF_ACCEPT_API").is_some() {
            let text: String = found.iter().map(|line| format!("{line}\n")).collect();
            fs::write(&list, text).unwrap();
            continue;
        }
        let reviewed = fs::read_to_string(&list).unwrap_or_default();
        let reviewed: BTreeSet<_> = reviewed.lines().map(str::to_owned).collect();
        changes.extend(
            reviewed
                .difference(&found)
                .map(|line| format!("{name}: - {line}")),
        );
        changes.extend(
            found
                .difference(&reviewed)
                .map(|line| format!("{name}: + {line}")),
        );
    }
    assert!(
        changes.is_empty(),
        "an interface has changed; if it is meant, CHANGELOG.md says so, and LOGDEF_ACCEPT_API=1 \
         writes samples/tests/house/api again:\n{}",
        changes.join("\n")
    );
}

#[test]
fn an_interface_is_read_through_private_modules() {
    let sources = Crate::parse(
        "
        mod inner {
            pub struct Log { pub path: u8, fd: i32 }
            impl Log { pub fn open(at: &str) -> Log { todo!() } fn secret(&self) {} }
            impl Clone for Log { fn clone(&self) -> Log { todo!() } }
            pub struct Unreachable;
            impl Unreachable { pub fn f() {} }
        }
        pub use inner::Log;
        pub use logdef_wire::Level as Severity;
        #[doc(hidden)]
        pub mod private { pub fn f() {} }
        pub mod read { #[derive(Debug)] #[non_exhaustive] pub enum Gap { Torn } fn own() {} }
        #[doc(hidden)]
        #[proc_macro_derive(Argument, attributes(logdef))]
        pub fn argument(input: TokenStream) -> TokenStream { todo!() }
        ",
    );
    let found = interface(&sources);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(
        found,
        [
            ":: #[proc_macro_derive(Argument, attributes(logdef))] fn argument(input: TokenStream) -> TokenStream",
            ":: pub struct Log {pub path: u8}",
            "::Severity = logdef_wire::Level",
            "::read:: #[derive(Debug)] #[non_exhaustive] pub enum Gap {Torn}",
            "Log: fn open(at: &str) -> Log",
            "impl Clone for Log",
        ]
    );
}
