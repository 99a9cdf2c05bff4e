//! FORMAT.md and the records must say the same. The tables of the one are
//! compared with the source text of the other: field numbers, names, types on
//! the wire, and tags.

use std::fs;
use std::path::Path;

/// A field: number, name, type on the wire.
type Field = (u8, String, String);

const RECORDS: [(&str, &str, u8); 11] = [
    ("Preamble", "preamble", 0),
    ("String logdef", "string_logdef", 1),
    ("Backtrace logdef", "backtrace_logdef", 2),
    ("Thread logdef", "thread_logdef", 3),
    ("Module", "module", 4),
    ("Durable", "durable", 5),
    ("Note", "note", 6),
    ("Text logdef", "text_logdef", 7),
    ("Context logdef", "context_logdef", 8),
    ("Masked", "masked", 126),
    ("Data", "data", 127),
];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of the table in the section of a record.
fn documented(format: &str, heading: &str) -> Vec<Field> {
    let (_, section) = format.split_once(heading).expect(heading);
    let section = section.split("\n### ").next().unwrap();
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let number = cells.next()?.parse().ok()?;
        Some((number, cells.next()?.to_owned(), cells.next()?.to_owned()))
    });
    rows.collect()
}

/// The fields of a record's struct, numbered by their doc comments, each with
/// the method that its `encode` writes it with.
fn coded(source: &str) -> Vec<Field> {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let mut fields = Vec::new();
    let mut number = None;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("/// Field ") {
            number = rest.split(':').next().unwrap().parse().ok();
        } else if let (Some(n), Some(rest)) = (number, line.strip_prefix("pub ")) {
            number = None;
            let name = rest.split(':').next().unwrap().to_owned();
            fields.push((n, name, wire_type(source, n)));
        }
    }
    fields
}

fn wire_type(source: &str, number: u8) -> String {
    // By its number, or by the constant that has it.
    let tag = source.lines().find_map(|line| {
        let (name, value) = line
            .trim()
            .strip_prefix("pub const ")?
            .split_once(": u8 = ")?;
        (value == format!("{number};")).then(|| format!("field::{name}"))
    });
    let tag = tag.unwrap_or_else(|| number.to_string());
    for wire_type in ["uint64", "uint", "int", "raw", "bool", "array", "map"] {
        if source.contains(&format!("fields.{wire_type}({tag}, ")) {
            return wire_type.to_owned();
        }
        // A field that is written as nil where there is nothing.
        if source.contains(&format!("fields.field({number})?.{wire_type}(")) {
            return format!("{wire_type} or nil");
        }
    }
    panic!("field {number} is never written");
}

#[test]
fn every_field_is_in_the_tables_with_its_number_name_and_type() {
    let format = read("FORMAT.md");
    for (name, file, tag) in RECORDS {
        let documented = documented(&format, &format!("\n### {name} ({tag})\n"));
        let coded = coded(&read(&format!("src/record/{file}.rs")));
        assert!(!coded.is_empty(), "{name}");
        assert_eq!(documented, coded, "{name}");
    }
}

#[test]
fn every_tag_is_in_the_list_of_records() {
    let format = read("FORMAT.md");
    let coded = (0..=127)
        .map(logdef_wire::Tag)
        .filter_map(|tag| Some((tag.0, tag.name()?)));
    assert_eq!(coded.clone().count(), RECORDS.len());
    for (tag, name) in coded {
        let row = format!("| {tag} | {name} | ");
        assert!(format.contains(&row), "no row starts with {row:?}");
    }
}

#[test]
fn every_kind_of_note_is_listed() {
    let format = read("FORMAT.md");
    let kinds = (0..256).map(logdef_wire::record::NoteKind);
    for (kind, name) in kinds.filter_map(|kind| Some((kind.0, kind.name()?))) {
        let words = format.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("{kind} {name}")), "{kind} {name}");
    }
}

/// The numbers and names of these, as a sentence of the document lists them: in
/// order, each number followed by its name.
#[test]
fn every_kind_of_argument_is_listed() {
    let format = read("FORMAT.md");
    let words = format.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, kinds) = words.split_once("The kinds of arguments: ").unwrap();
    let (kinds, _) = kinds.split_once('.').unwrap();
    let listed = kinds
        .split(", ")
        .map(|kind| kind.split(' ').next().unwrap());
    let listed: Vec<u8> = listed.filter_map(|number| number.parse().ok()).collect();
    let known = (0..=u8::MAX).filter(|kind| logdef_wire::site::ArgKind(*kind).name().is_some());
    assert_eq!(listed, known.collect::<Vec<_>>());
}

#[test]
fn every_grammar_is_listed_with_its_letter() {
    let format = read("FORMAT.md");
    for letter in 0..=u8::MAX {
        let grammar = logdef_wire::Grammar::of_letter(letter);
        let row = format!("\n| `{}` | ", letter.escape_ascii());
        let is_known = !matches!(grammar, logdef_wire::Grammar::Unknown(_));
        assert_eq!(format.contains(&row), is_known, "{grammar:?}");
    }
}
