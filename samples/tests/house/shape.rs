//! How long functions and files may be, and how deep a function. Lines of comments and
//! blank lines do not count in a function, tests do not count at all.

use super::source;

const LONGEST_FUNCTION: usize = 80;
/// Nine functions of ten are not longer.
const LONG_FUNCTION: usize = 25;
/// Braces inside a function's own.
const DEEPEST_FUNCTION: usize = 5;
const LONGEST_FILE: usize = 600;

struct Function {
    name: String,
    /// Lines that hold code.
    lines: usize,
    depth: usize,
}

/// The functions of some code that have a body.
fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || c == '(')
    });
    starts.filter_map(|(at, _)| function(&code[at..])).collect()
}

/// The function that `code` begins with.
fn function(code: &str) -> Option<Function> {
    let name = &code["fn ".len()..];
    let name = &name[..name.find(|c: char| !c.is_alphanumeric() && c != '_')?];
    let (mut brackets, mut depth, mut deepest) = (0, 0, 0);
    let is_type = name.is_empty();
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' if depth == 0 => brackets += 1,
            ')' | ']' if depth == 0 => brackets -= 1,
            ';' if depth == 0 && brackets == 0 => return None,
            '{' if depth > 0 || brackets == 0 => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            '}' if depth > 0 => depth -= 1,
            _ => continue,
        }
        if c == '}' && depth == 0 {
            let lines = code[..=at].lines();
            return (!is_type).then(|| Function {
                name: name.to_owned(),
                lines: lines.filter(|line| !line.trim().is_empty()).count(),
                depth: deepest - 1,
            });
        }
    }
    None
}

/// All functions, each with the file that it stands in.
fn all_functions() -> Vec<(String, Function)> {
    let files = source::files().into_iter();
    let functions = files.flat_map(|(file, text)| {
        let functions = functions(&source::code(source::without_tests(&text)));
        let named = move |function| (file.clone(), function);
        functions.into_iter().map(named)
    });
    functions.collect()
}

#[test]
fn functions_are_counted_with_their_depth() {
    let found = functions("fn a();\nfn b(x: [u8; 2]) {\n\n  if x { y }\n}\nfn c() {}\n");
    let found = found.iter().map(|f| (&*f.name, f.lines, f.depth));
    assert_eq!(found.collect::<Vec<_>>(), [("b", 3, 1), ("c", 1, 0)]);
}

#[test]
fn functions_are_short() {
    let functions = all_functions();
    assert!(functions.len() > 3000, "only {} functions", functions.len());
    for (file, Function { name, lines, depth }) in &functions {
        assert!(
            *lines <= LONGEST_FUNCTION && *depth <= DEEPEST_FUNCTION,
            "{name} of {file} has {lines} lines and is {depth} deep"
        );
    }
    let mut lengths: Vec<_> = functions.iter().map(|(_, f)| f.lines).collect();
    lengths.sort_unstable();
    let [half, ninth_tenth] = [5, 9].map(|tenths| lengths[lengths.len() * tenths / 10]);
    let longest = lengths[lengths.len() - 1];
    let deepest = functions.iter().map(|(_, f)| f.depth).max().unwrap();
    println!(
        "{} functions: half have {half} lines or fewer, nine of ten {ninth_tenth}, none more than {longest}; {deepest} deep",
        lengths.len(),
    );
    assert!(ninth_tenth <= LONG_FUNCTION, "a tenth has {ninth_tenth}");
}

#[test]
fn files_are_short() {
    for (file, text) in source::files() {
        let lines = source::without_tests(&text).lines().count();
        assert!(lines <= LONGEST_FILE, "{file} has {lines} lines");
    }
}

/// Two cases are an `if`, and what is dropped on purpose is seen at the begin of its line.
#[test]
fn booleans_are_decided_by_if_and_results_are_dropped_by_let() {
    for (file, text) in source::files() {
        let code = source::code(&text);
        for form in ["true =>", "false =>", "=> drop("] {
            // The arms of a macro take words of ours.
            let found = code.lines().zip(1..).find(|(line, _)| {
                let line = line.trim_start();
                line.starts_with(form) || form.starts_with("=>") && line.contains(form)
            });
            if let Some((line, number)) = found {
                panic!("{file}:{number}: {line}");
            }
        }
    }
}
