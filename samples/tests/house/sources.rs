//! The modules of a crate, parsed, and what of them others can reach. Knows no packages.

use quote::ToTokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::slice;
use syn::{Attribute, Item, UseTree, Visibility};

/// What a public name stands for.
pub enum Place<'c> {
    /// An item of the crate.
    Item(&'c Item),
    /// A path into another crate.
    Elsewhere(String),
}

/// The modules of a crate by their paths, those of tests left out.
pub struct Crate(BTreeMap<Vec<String>, Vec<Item>>);

/// A name that a module takes from elsewhere.
struct Import {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

fn has(attributes: &[Attribute], name: &str, word: &str) -> bool {
    attributes.iter().any(|attribute| {
        let tokens = attribute.to_token_stream().to_string();
        attribute.path().is_ident(name) && tokens.contains(word)
    })
}

/// Attributes, visibility and name of an item that may be public.
fn head(item: &Item) -> Option<(&[Attribute], &Visibility, String)> {
    let (attributes, visibility, name) = match item {
        Item::Const(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Enum(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Fn(it) => (&it.attrs, &it.vis, &it.sig.ident),
        Item::Mod(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Static(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Struct(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Trait(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Type(it) => (&it.attrs, &it.vis, &it.ident),
        Item::Union(it) => (&it.attrs, &it.vis, &it.ident),
        _ => return None,
    };
    Some((attributes, visibility, name.to_string()))
}

impl Crate {
    /// Reads a crate from its first file on.
    pub fn read(first: &Path) -> Crate {
        let mut modules = BTreeMap::new();
        let text = fs::read_to_string(first).unwrap();
        let items = syn::parse_file(&text).unwrap().items;
        add(&mut modules, Vec::new(), items, first.parent().unwrap());
        Crate(modules)
    }

    /// The same of text that names no other file.
    pub fn parse(text: &str) -> Crate {
        let mut modules = BTreeMap::new();
        let items = syn::parse_file(text).unwrap().items;
        add(&mut modules, Vec::new(), items, Path::new(""));
        Crate(modules)
    }

    /// All items, each with the module that it stands in.
    pub fn items(&self) -> impl Iterator<Item = (&[String], &Item)> {
        let modules = self.0.iter();
        modules.flat_map(|(path, items)| items.iter().map(move |item| (&path[..], item)))
    }

    /// Hands over each name that other crates can use, from `::` on.
    pub fn for_each_public<'c>(&'c self, see: &mut impl FnMut(&str, Place<'c>)) {
        self.public_of(&[], "", see);
        for (_, item) in self.items() {
            if let Item::Macro(it) = item
                && has(&it.attrs, "macro_export", "")
                && !has(&it.attrs, "doc", "hidden")
                && let Some(name) = &it.ident
            {
                see(&format!("::{name}"), Place::Item(item));
            }
        }
    }

    fn public_of<'c>(&'c self, module: &[String], at: &str, see: &mut impl FnMut(&str, Place<'c>)) {
        for item in &self.0[module] {
            let Some((attributes, visibility, name)) = head(item) else {
                continue;
            };
            if matches!(visibility, Visibility::Public(_)) && !has(attributes, "doc", "hidden") {
                let inner = [module, slice::from_ref(&name)].concat();
                self.see(item, &inner, &format!("{at}::{name}"), see);
            }
        }
        for import in self.imports(module).filter(|import| import.is_public) {
            let name = format!("{at}::{}", import.name);
            match self.resolve(module, &import.path) {
                Some((found, item)) => self.see(item, &found, &name, see),
                None => see(&name, Place::Elsewhere(import.path.join("::"))),
            }
        }
    }

    /// An item, or all that is public in a module.
    fn see<'c>(
        &'c self,
        item: &'c Item,
        path: &[String],
        name: &str,
        see: &mut impl FnMut(&str, Place<'c>),
    ) {
        match item {
            Item::Mod(_) if self.0.contains_key(path) => self.public_of(path, name, see),
            Item::Mod(_) => {}
            _ => see(name, Place::Item(item)),
        }
    }

    /// What a path in a module leads to, and where that stands.
    fn resolve(&self, module: &[String], path: &[String]) -> Option<(Vec<String>, &Item)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.resolve(&[], rest),
            "self" => return self.resolve(module, rest),
            "super" => return self.resolve(&module[..module.len() - 1], rest),
            _ => {}
        }
        let inner = [module, slice::from_ref(first)].concat();
        let items = self.0.get(module)?.iter();
        let named = |item: &&Item| head(item).is_some_and(|(.., name)| name == *first);
        if let Some(item) = items.clone().find(named) {
            return match rest {
                [] => Some((inner, item)),
                _ => self.resolve(&inner, rest),
            };
        }
        let import = self.imports(module).find(|import| import.name == *first)?;
        // A crate may be imported under its own name.
        if import.path == path[..1] {
            return None;
        }
        self.resolve(module, &[&import.path, rest].concat())
    }

    /// The names that a module imports.
    fn imports(&self, module: &[String]) -> impl Iterator<Item = Import> {
        let uses = self.0[module].iter().filter_map(|item| match item {
            Item::Use(it) if !has(&it.attrs, "doc", "hidden") => Some(it),
            _ => None,
        });
        uses.flat_map(|it| {
            let mut found = Vec::new();
            let is_public = matches!(it.vis, Visibility::Public(_));
            leaves(&it.tree, &mut Vec::new(), is_public, &mut found);
            found
        })
    }
}

/// The names at the ends of an import.
fn leaves(tree: &UseTree, path: &mut Vec<String>, is_public: bool, found: &mut Vec<Import>) {
    let (last, name) = match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            leaves(&it.tree, path, is_public, found);
            path.pop();
            return;
        }
        UseTree::Group(it) => {
            it.items
                .iter()
                .for_each(|tree| leaves(tree, path, is_public, found));
            return;
        }
        UseTree::Name(it) => (it.ident.to_string(), it.ident.to_string()),
        UseTree::Rename(it) => (it.ident.to_string(), it.rename.to_string()),
        UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
    };
    let mut path = path.clone();
    // `self` at the end names the module before it.
    let name = match (last.as_str(), path.last()) {
        ("self", Some(module)) if name == "self" => module.clone(),
        _ => name,
    };
    if last != "self" {
        path.push(last);
    }
    found.push(Import {
        path,
        name,
        is_public,
    });
}

/// Adds a module and those inside it, whose files are in `folder`.
fn add(
    modules: &mut BTreeMap<Vec<String>, Vec<Item>>,
    path: Vec<String>,
    items: Vec<Item>,
    folder: &Path,
) {
    for item in &items {
        let Item::Mod(it) = item else { continue };
        if has(&it.attrs, "cfg", "test") || has(&it.attrs, "cfg", "loom") {
            continue;
        }
        let name = it.ident.to_string();
        let inner = [&path[..], slice::from_ref(&name)].concat();
        let own = folder.join(&name);
        if let Some((_, items)) = &it.content {
            add(modules, inner, items.clone(), &own);
            continue;
        }
        let beside = [own.with_extension("rs"), own.join("mod.rs")];
        // A file of another name is that of one machine; the usual one stands for it.
        if let Some(file) = beside.iter().find(|file| file.is_file()) {
            let items = syn::parse_file(&fs::read_to_string(file).unwrap())
                .unwrap()
                .items;
            add(modules, inner, items, &own);
        }
    }
    modules.insert(path, items);
}
