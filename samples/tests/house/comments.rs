//! The comments of a file in Rust, C, C++, shell or Python, as running text: lines of comment
//! that follow each other are one, so that a phrase is found across their ends.

/// Whether a file has comments of `#`.
fn is_script(file: &str) -> bool {
    let is_program = [".rs", ".c", ".h", ".cc", ".cpp", ".hpp"];
    !is_program.iter().any(|end| file.ends_with(end))
}

/// The comments of a file, each with the number of its first line.
pub fn of(file: &str, text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut is_in_block, mut follows) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let comment = if is_script(file) {
            behind_hash(line)
        } else {
            of_program(line, &mut is_in_block)
        };
        let Some((words, is_whole_line)) = comment else {
            follows = false;
            continue;
        };
        match found.last_mut() {
            Some((_, before)) if follows && is_whole_line => {
                before.push(' ');
                before.push_str(words);
            }
            _ => found.push((number, words.to_owned())),
        }
        follows = is_whole_line;
    }
    found
}

/// The comment of a line, and whether the line holds nothing else.
fn behind_hash(line: &str) -> Option<(&str, bool)> {
    let line = line.trim();
    if let Some(words) = line.strip_prefix('#') {
        return Some((words.trim(), true));
    }
    let (_, words) = line.split_once(" # ")?;
    Some((words, false))
}

/// The same for a language with `//` and `/* */`. The line may be inside of such a block.
fn of_program<'l>(line: &'l str, is_in_block: &mut bool) -> Option<(&'l str, bool)> {
    let line = line.trim();
    let marks = ['/', '*', '!', ' '];
    if line.starts_with("//") {
        return Some((line.trim_start_matches(marks), true));
    }
    let begins = line.starts_with("/*");
    if begins || *is_in_block {
        *is_in_block = !line.contains("*/");
        return Some((line.trim_matches(marks), true));
    }
    if let Some((_, words)) = line.split_once(" // ") {
        return Some((words, false));
    }
    let (_, words) = line.split_once(" /* ")?;
    *is_in_block = !words.contains("*/");
    Some((words.trim_end_matches(marks), false))
}

#[test]
fn comments_are_read_across_the_ends_of_lines() {
    let text = "/// One\n/// two.\nfn f(); // three\n\n//! four\n/* five\n * six */\nint x;\n";
    let found = of("a.rs", text);
    let expected = [(1, "One two."), (3, "three"), (5, "four five six")];
    assert_eq!(found, expected.map(|(at, words)| (at, words.to_owned())));
    let found = of("a.sh", "# one\n#\n# two\ncd / # three\n");
    let expected = [(1, "one  two"), (4, "three")];
    assert_eq!(found, expected.map(|(at, words)| (at, words.to_owned())));
}
