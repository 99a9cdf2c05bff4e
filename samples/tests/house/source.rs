//! The source files of the workspace, and their code without comments, strings and tests.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// What Cargo knows of the packages of the workspace, as far as `P` has a place for it.
pub fn known_to_cargo<P: DeserializeOwned>() -> Vec<P> {
    #[derive(Deserialize)]
    struct Metadata<P> {
        packages: Vec<P>,
    }

    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let metadata: Metadata<P> = serde_json::from_slice(&output.stdout).unwrap();
    metadata.packages
}

/// The packages' folders, from the manifest of the workspace.
fn packages() -> Vec<String> {
    let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let names = members.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// The files below a folder of which a path in the workspace is wanted, by that path. Folders
/// of builds, and hidden ones but that of the checks, are left out.
fn below(folder: PathBuf, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(workspace()).unwrap().to_str().unwrap();
            let last = path.file_name().unwrap().to_str().unwrap();
            let is_ours = name == ".ci" || (last != "target" && !last.starts_with('.'));
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if path.is_file() && is_wanted(name) {
                // What is not text has no comments.
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                found.push((name.to_owned(), text));
            }
        }
    }
    found.sort();
    found
}

/// All Rust files of the packages' `src` folders, by their path in the workspace.
pub fn files() -> Vec<(String, String)> {
    let sources = packages().into_iter().flat_map(|package| {
        let folder = workspace().join(package).join("src");
        below(folder, |name| name.ends_with(".rs"))
    });
    let mut found: Vec<_> = sources.collect();
    found.sort();
    found
}

/// All documents, and the header for C: what users and contributors read.
pub fn documents() -> Vec<(String, String)> {
    below(workspace().to_owned(), |name| {
        name.ends_with(".md") || name.ends_with("/logdef.h")
    })
}

/// All files that [`super::comments`] can read: tests, benches, samples and scripts too.
pub fn with_comments() -> Vec<(String, String)> {
    const ENDS: [&str; 8] = [".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".sh", ".py"];
    below(workspace().to_owned(), |name| {
        let is_check = name.starts_with(".ci/");
        // The words that are avoided stand there.
        let is_list = name.ends_with("house/language.rs");
        !is_list && (is_check || ENDS.iter().any(|end| name.ends_with(end)))
    })
}

/// A file up to its tests, which stand at its end.
pub fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap()
}

/// The same lines with nothing but spaces where comments, strings and character literals
/// stood.
pub fn code(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        let before = code.chars().next_back();
        let is_in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let literal = literal_len(rest, is_in_word);
        if literal > 0 {
            let hidden = rest[..literal].chars();
            code.extend(hidden.map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[literal..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// The length of the comment, string or character literal at the start of `text`.
fn literal_len(text: &str, is_in_word: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(text.len(), |end| end + 2);
    }
    if !is_in_word && let Some(len) = raw_string_len(text) {
        return len;
    }
    if let Some(inside) = text.strip_prefix('"') {
        return 2 + escaped_len(inside, '"').unwrap_or(inside.len() - 1);
    }
    if let Some(inside) = text.strip_prefix('\'') {
        // A lifetime has no quote two characters on.
        let second = inside.chars().nth(1);
        if inside.starts_with('\\') || second == Some('\'') {
            return 2 + escaped_len(inside, '\'').unwrap_or(0);
        }
    }
    0
}

/// `r"…"`, `br#"…"#` and the like.
fn raw_string_len(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let quoted = after.trim_start_matches('#');
    let hashes = after.len() - quoted.len();
    let inside = quoted.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let len = inside.find(&end)? + end.len();
    Some(text.len() - inside.len() + len)
}

/// How many bytes stand before the quote that ends a literal.
fn escaped_len(inside: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    inside
        .char_indices()
        .find(|(_, c)| {
            let ends = *c == quote && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })
        .map(|(at, _)| at)
}

#[test]
fn code_is_left_when_comments_and_literals_are_hidden() {
    let text = "a('{', \"}\\\"{\", b'\\'', r#\"{\"\"#) // {\n/* {\n*/ fn x<'l>() {}";
    let hidden = code(text);
    assert_eq!(hidden.lines().count(), text.lines().count());
    assert_eq!(hidden.matches(['{', '}']).collect::<String>(), "{}");
    assert!(hidden.ends_with("fn x<'l>() {}"));
}
