//! What a program logs reads as its `printf` would have printed it: a grid of
//! conversion, length, flags, width, precision and edge value goes through the
//! logger, from the call to the file and back to the text.
//!
//! From one list of cases ([`cases`]) a program in C, one in C++ and one in Rust are
//! made, built and run ([`programs`]). Each logs every case and writes down what
//! `snprintf` makes of it; C and C++ log it a second time through a `va_list`. Then
//! the log is recovered, merged and resolved ([`log`]). All texts must equal
//! `snprintf`'s, and the arguments must be the same bytes on the wire, in whatever language
//! they were logged. Each language makes 10,000 calls or more;
//! `LOGDEF_FORMATS=10` makes it ten times as many formats.
//!
//! What is left out, with its reason:
//!
//! - `%w8d` to `%wf64d`, which glibc knows from 2.38 on, are compared with the `%hhd`
//!   to `%ld` that they mean on Linux;
//! - `long double` and malformed formats are not tried in Rust, which has no such type
//!   and where such a format is a compile error;
//! - where the sign of an argument is not the conversion's (`%lu` of a negative
//!   `long`), a `va_list` knows the conversion only: the text is the same, the bytes
//!   are not compared;
//! - where C converts an integer before it prints it, Rust is given what C prints,
//!   since there the value is the value: the bytes are not compared;
//! - a string longer than the logger's bound is compared up to there, where the
//!   mark must stand;
//! - what `printf_equals_glibc` leaves out.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

mod cases;
mod log;
mod programs;

use cases::{Group, Kind};
use log::Logged;
use programs::{Compiler, Run};

/// Strings longer than this are cut, by an option of the programs, and how that is marked.
const BOUND: usize = 10_000;
const MARK: &[u8] = "…[cut]".as_bytes();

const GCC: Compiler = Compiler::c("gcc", "-O0");
/// C++, which clang is offered in another way, and clang's C; those that are installed.
const OTHERS: [Compiler; 3] = [
    Compiler::cpp("g++", "-O0"),
    Compiler::c("clang", "-O0"),
    Compiler::cpp("clang++", "-O0"),
];

#[test]
fn a_logged_message_reads_as_printf_prints_it() {
    let share = std::env::var("LOGDEF_FORMATS").map_or(1, |share| share.parse().unwrap());
    let groups = cases::groups(share);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let c = check(&programs::c(directory, &groups, GCC), &groups, 2, |_| true);
    let in_rust = |group: &Group| group.in_rust;
    let rust = check(&programs::rust(directory, &groups), &groups, 1, in_rust);
    let both = c.iter().filter(|(what, _)| what.group.in_rust);
    for ((what, c), (_, rust)) in both.zip(&rust) {
        let same = c[0] == rust[0];
        assert!(same || what.group.converted, "{what} in C and Rust");
    }
    println!("cases: C {}, Rust {}", c.len(), rust.len());
    let least = 10_000 * share;
    assert!(c.len() > least && rust.len() > least);

    for compiler in &OTHERS {
        if !compiler.is_installed() {
            continue;
        }
        let run = programs::c(directory, &groups, *compiler);
        let other = check(&run, &groups, 2, |_| true);
        for ((what, c), (_, other)) in c.iter().zip(&other) {
            assert_eq!(c, other, "{what} with gcc and {}", run.name);
        }
    }
}

/// One call: a group's format with one of its values.
#[derive(Clone, Copy)]
struct What<'g> {
    group: &'g Group,
    value: usize,
}

impl std::fmt::Display for What<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Group {
            format,
            table,
            args,
            ..
        } = self.group;
        let args: Vec<_> = args.iter().map(|arg| &arg.c).collect();
        write!(f, "{format} of {args:?}, {table:?}[{}]", self.value)
    }
}

/// Compares the texts of a run, where each case was logged in `ways` ways, and gives
/// the arguments of each case as they were logged each way.
fn check<'g>(
    run: &Run,
    groups: &'g [Group],
    ways: usize,
    takes: impl Fn(&Group) -> bool,
) -> Vec<(What<'g>, Vec<Vec<u8>>)> {
    let whats: Vec<What> = groups
        .iter()
        .filter(|group| takes(group))
        .flat_map(|group| (0..group.values()).map(move |value| What { group, value }))
        .collect();
    let logged = log::read(&run.log);
    assert_eq!(run.printed.len(), whats.len(), "{}", run.name);
    assert_eq!(logged.len(), ways * whats.len(), "{}", run.name);
    let mut args = Vec::new();
    for ((what, printed), logged) in whats.iter().zip(&run.printed).zip(logged.chunks(ways)) {
        let mut expected = printed.clone();
        if what.group.table == Some(Kind::LongString) {
            assert!(expected.len() > BOUND + MARK.len());
            expected.truncate(BOUND);
            expected.extend(MARK);
        }
        for (way, Logged { text, .. }) in logged.iter().enumerate() {
            assert!(
                *text == expected,
                "{} {way}: {what}\n logged: {}\nprinted: {}",
                run.name,
                text.escape_ascii(),
                expected.escape_ascii()
            );
        }
        let mut bytes: Vec<_> = logged.iter().map(|logged| logged.args.clone()).collect();
        if what.group.other_sign {
            bytes.truncate(1);
        }
        assert!(
            bytes.iter().all(|other| *other == bytes[0]),
            "{}: {what}: {bytes:x?}",
            run.name
        );
        args.push((*what, bytes));
    }
    args
}
