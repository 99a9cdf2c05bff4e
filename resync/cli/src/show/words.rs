//! The words for what is not in a log, each with its key in JSON and what it means for
//! the exit status: one table for all verbs, for `--help` and for JSON.md.

use crate::show::losses;
use logdef_wire::record::Note;
use std::fmt::Write;
use std::io::Write as _;

/// A word for one way in which a record is not there.
pub struct Word {
    pub word: &'static str,
    /// Its key in JSON; `-` where nothing is counted.
    pub key: &'static str,
    /// The exit status of `check`, and of any verb with `--strict`.
    pub status: u8,
    pub meaning: &'static str,
}

pub const MISSING: Word = Word {
    word: "missing",
    key: "missing",
    status: 3,
    meaning: "records that a thread counted, and that no file holds",
};
pub const DROPPED: Word = Word {
    word: "dropped",
    key: "dropped",
    status: 3,
    meaning: "records that the program could not write, and counted",
};
pub const DAMAGED: Word = Word {
    word: "damaged",
    key: "damaged",
    status: 3,
    meaning: "bytes that were changed, or that cannot be read",
};
pub const TORN: Word = Word {
    word: "torn",
    key: "torn",
    status: 0,
    meaning: "bytes of an unfinished record, the last of its thread, as a crash leaves it",
};
pub const PRUNED: Word = Word {
    word: "pruned",
    key: "pruned",
    status: 0,
    meaning: "records that the program gave up to make room; or records before a thread's first one: rotation removed them, or their file was not named",
};
pub const FILTERED: Word = Word {
    word: "filtered",
    key: "-",
    status: 0,
    meaning: "records that --since, --until, -n, --tail or a filter leaves out; not counted",
};

/// All of them.
pub const WORDS: [Word; 6] = [MISSING, DROPPED, DAMAGED, TORN, PRUNED, FILTERED];

/// Exit statuses of all verbs.
pub const STATUSES: [(u8, &str); 5] = [
    (
        0,
        "done; a clean log, or damage that was reported without --strict",
    ),
    (
        1,
        "the output could not be written, no record matches (view with --exit-status), or a process has not accepted the request (ctl with --wait)",
    ),
    (2, "wrong usage"),
    (
        3,
        "not clean: missing, dropped or damaged (check, or any verb with --strict)",
    ),
    (4, "a file could not be read, or is not a log"),
];

/// Both tables, for the end of `--help`.
pub fn help() -> String {
    let mut help = String::from("Exit status:\n");
    for (status, meaning) in STATUSES {
        // Writing to a string does not fail.
        let _ = writeln!(help, "  {status}  {meaning}");
    }
    help += "\nWords for what is not in a log. Those with status 0 are not losses:\n";
    for Word {
        word,
        status,
        meaning,
        ..
    } in &WORDS
    {
        let _ = writeln!(help, "  {word:<8}  status {status}  {meaning}");
    }
    help.truncate(help.trim_end().len());
    help
}

/// A note in words; its text is the log's, and not escaped.
pub fn note(note: &Note<'_>) -> Vec<u8> {
    let kind = note.kind.and_then(|kind| kind.name()).unwrap_or("note");
    let mut out = kind.as_bytes().to_vec();
    // Writing to memory does not fail.
    if let Some(signal) = note.signal {
        let _ = write!(out, " {signal}");
    }
    if let Some(address) = note.address {
        let _ = write!(out, " at {address:#x}", address = address.0);
    }
    let counts = [
        (note.size, "byte"),
        (note.calls, "call"),
        (note.dropped, "dropped call"),
    ];
    let counts = counts
        .iter()
        .filter_map(|(number, what)| Some(((*number)?, what)));
    for (index, (number, what)) in counts.enumerate() {
        let before = if index == 0 { ": " } else { ", " };
        let _ = write!(out, "{before}{}", losses::count(number, what));
    }
    if let Some(text) = note.text {
        out.extend_from_slice(b": ");
        out.extend_from_slice(text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_same_tables() {
        let document = include_str!("../../JSON.md");
        for Word {
            word,
            key,
            status,
            meaning,
        } in &WORDS
        {
            let key = format!("`{key}`").replace("`-`", "-");
            let row = format!("| {word} | {key} | {status} | {meaning} |");
            assert!(document.contains(&row), "{row}");
        }
        for (status, meaning) in STATUSES {
            let row = format!("| {status} | {meaning} |");
            assert!(document.contains(&row), "{row}");
        }
    }

    #[test]
    fn each_word_and_each_key_means_one_thing() {
        let words = WORDS.map(|word| word.word);
        let keys = WORDS.map(|word| word.key);
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word), "{word}");
            assert!(!keys[..index].contains(&keys[index]), "{word}");
        }
    }
}
