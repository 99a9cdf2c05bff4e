//! A backtrace with names for its addresses, without the logger's own functions at its
//! head: those of the headers, compiled into the program that logs, and what was inlined of
//! the macros. Knows functions and files, not records.

use super::images::Function;
use crate::recover::tables::{BacktraceEntry, Image};
use logdef_wire::{Avma, Svma};
use std::sync::Arc;

/// One address of a backtrace, with its image, functions and lines.
#[derive(Clone, Debug, Default)]
pub struct StackEntry {
    /// The address in the process.
    pub address: Avma,
    /// The image that held it, and the link-time address there.
    pub image: Option<(Image, Svma)>,
    /// Functions with files and lines, innermost first; all but the last inlined.
    pub functions: Arc<[Function]>,
    /// What the process itself knew: module and nearest exported symbol.
    pub logged: Option<BacktraceEntry>,
    /// Whether this is the last entry of a stack that was deeper: its callers were left out.
    pub is_cut: bool,
}

/// Leaves the logger's own functions, and those of facades that lead to it, out where they head
/// a stack, with what they call of Rust's libraries between. What the stack consists of alone
/// stays.
pub(super) fn leave_loggers_out(stack: &mut Vec<StackEntry>) {
    let Some((entries, inlined)) = end_of_loggers(stack) else {
        return;
    };
    stack.drain(..entries);
    let first = &mut stack[0];
    if inlined > 0 {
        first.functions = Arc::from(&first.functions[inlined..]);
    }
}

/// Leaves out what the compiler put into the function that logs for the call in this line of this
/// file: with line tables only, an inlined function of the logger has no path by which it is known.
pub(super) fn leave_expansion_out(stack: &mut [StackEntry], file: &[u8], line: u64) {
    let Some(first) = stack.first_mut() else {
        return;
    };
    let at_call = |function: &Function| {
        let is_file = |path: &Arc<str>| is_path_of(path, file);
        function.line.map(u64::from) == Some(line) && function.file.as_ref().is_some_and(is_file)
    };
    if let Some(inlined) = first.functions.iter().position(at_call)
        && inlined > 0
    {
        first.functions = Arc::from(&first.functions[inlined..]);
    }
}

/// Whether a path is of a file that the compiler was given by this one, mostly a relative one.
fn is_path_of(path: &str, given: &[u8]) -> bool {
    let before = path.as_bytes().strip_suffix(given);
    before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
}

/// How many entries at the head are the logger's, and how many functions of the one after
/// them. `None` if there is no function after those.
fn end_of_loggers(stack: &[StackEntry]) -> Option<(usize, usize)> {
    let mut end = (0, 0);
    for (entry, at) in stack.iter().zip(0..) {
        let mut functions = entry.functions.iter().zip(1..);
        let other = functions.find(|(function, number)| {
            let owner = Owner::of(function);
            if owner == Owner::Logger {
                end = (at, *number);
            }
            // What one of the logger's functions has in it without a path is the logger's.
            let is_loggers = |function: &Function| Owner::of(function) == Owner::Logger;
            let has_logger = || entry.functions[*number..].iter().any(is_loggers);
            owner == Owner::Program || owner == Owner::Unknown && !has_logger()
        });
        let is_known = end == (at, entry.functions.len()) && !entry.functions.is_empty();
        if is_known {
            end = (at + 1, 0);
        }
        if other.is_some() || entry.functions.is_empty() {
            return Some(end);
        }
    }
    (end.0 < stack.len()).then_some(end)
}

/// Whose a function is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Owner {
    Logger,
    /// Rust's libraries, which stand between.
    Runtime,
    /// An inlined function whose linker's name is not in the debug information: with line tables
    /// only, none is.
    Unknown,
    Program,
}

impl Owner {
    /// By the header it is in, or the crate: that is known by the name that linkers have, since
    /// the names of inlined functions lack their path. Those that C calls have no crate in it.
    fn of(function: &Function) -> Owner {
        let file = function.file.as_deref();
        let file = file.and_then(|file| file.rsplit('/').next());
        if file.is_some_and(|file| HEADERS.contains(&file)) {
            return Owner::Logger;
        }
        let name = function.linkage_name.as_deref();
        let plain = name.or(function.function.as_deref());
        if plain.is_some_and(|name| INTERFACE.contains(&name)) {
            return Owner::Logger;
        }
        match name.and_then(crate_of) {
            Some(name) if LOGGERS.contains(&name) => Owner::Logger,
            Some("std" | "core" | "alloc") => Owner::Runtime,
            None if function.inlined => Owner::Unknown,
            _ => Owner::Program,
        }
    }
}

/// The headers, whose functions are compiled into the program.
const HEADERS: [&str; 3] = ["logdef.h", "logdef_format.h", "logdef_stream.h"];

/// What the headers call to log, and programs in other languages. A copy of the logger in a plugin
/// leaves its own out only if it leads.
const INTERFACE: [&str; 3] = ["logdef_emit", "logdef_emit_text", "logdef_write"];

/// The logger, and the facades whose calls lead to it.
const LOGGERS: [&str; 7] = [
    "logdef",
    "logdef_log",
    "logdef_tracing",
    "log",
    "tracing",
    "tracing_core",
    "tracing_subscriber",
];

/// The crate of a function of Rust, by its mangled name: the first that is named there.
fn crate_of(mangled: &str) -> Option<&str> {
    if let Some(rest) = mangled.strip_prefix("_ZN") {
        let name = identifier(rest)?;
        let name = name.strip_prefix("_$LT$").unwrap_or(name);
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
        return Some(&name[..end.unwrap_or(name.len())]);
    }
    let path = mangled.strip_prefix("_R")?;
    path.match_indices('C').find_map(|(at, _)| {
        let rest = &path[at + 1..];
        let rest = match rest.strip_prefix('s') {
            Some(rest) => rest.split_once('_')?.1,
            None => rest,
        };
        identifier(rest)
    })
}

/// What stands after its own length.
fn identifier(text: &str) -> Option<&str> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let len: usize = text[..digits].parse().ok()?;
    text[digits..].get(..len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(functions: &[(&str, &str)]) -> StackEntry {
        let function = |(name, file): &(&str, &str)| Function {
            function: Some((*name).into()),
            linkage_name: Some((*name).into()),
            file: Some((*file).into()),
            ..Function::default()
        };
        StackEntry {
            functions: functions.iter().map(function).collect(),
            ..StackEntry::default()
        }
    }

    fn left(stack: &[&[(&str, &str)]]) -> Vec<Vec<String>> {
        let mut stack: Vec<_> = stack.iter().map(|functions| entry(functions)).collect();
        leave_loggers_out(&mut stack);
        let name = |function: &Function| function.function.as_deref().unwrap().to_owned();
        let names = |entry: &StackEntry| entry.functions.iter().map(name).collect();
        stack.iter().map(names).collect()
    }

    #[test]
    fn the_header_and_the_macros_head_no_stack_and_stay_further_down() {
        let header = ("emit<int>", "/usr/include/logdef.h");
        let macros = (
            "_ZN6logdef7private3log17h0123456789abcdefE",
            "src/private.rs",
        );
        let work = ("work", "work.c");
        let similar = ("_ZN10logdef_app7privateE", "mylogdef.h");
        assert_eq!(
            left(&[&[header, work], &[header]]),
            [vec!["work"], vec!["emit<int>"]]
        );
        assert_eq!(left(&[&[header], &[macros], &[work]]), [["work"]]);
        let braces = ("emit_values<int>", "/usr/include/logdef_format.h");
        let of_copy = ("logdef_emit_text", "logger/capi/src/calls.rs");
        assert_eq!(left(&[&[of_copy], &[braces, work]]), [["work"]]);
        let wrapper = ("logdef_emit_for_us", "work.c");
        assert_eq!(left(&[&[wrapper], &[work]]).len(), 2);
        assert_eq!(
            left(&[&[similar], &[work]]),
            [["_ZN10logdef_app7privateE"], ["work"]]
        );
        assert_eq!(left(&[&[header], &[]]), [[""; 0]]);
        assert_eq!(left(&[&[header], &[macros]]).len(), 2);
        assert!(left(&[]).is_empty());
    }

    /// With line tables only, an inlined function has no path.
    #[test]
    fn what_a_function_of_the_logger_has_in_it_heads_no_stack() {
        let inlined = |name: &str| Function {
            inlined: true,
            ..entry(&[(name, "x.rs")]).functions[0].clone()
        };
        let log = entry(&[("_ZN6logdef7private3logE", "src/private.rs")]);
        let with = |functions: &[Function]| StackEntry {
            functions: functions.into(),
            ..StackEntry::default()
        };
        let work = entry(&[("work", "work.c")]);
        let mut stack = vec![
            with(&[inlined("emit_with"), log.functions[0].clone()]),
            work.clone(),
        ];
        leave_loggers_out(&mut stack);
        assert_eq!(stack.len(), 1);
        assert_eq!(stack[0].functions, work.functions);
        // One of the program that calls the logger stays.
        let mut stack = vec![with(&[inlined("helper"), work.functions[0].clone()]), log];
        leave_loggers_out(&mut stack);
        assert_eq!(stack[0].functions.len(), 2);
    }

    #[test]
    fn what_the_compiler_put_in_for_a_call_heads_no_stack() {
        let at = |name: &str, file: &str, line| Function {
            line: Some(line),
            inlined: true,
            ..entry(&[(name, file)]).functions[0].clone()
        };
        let functions = [
            at("log<2>", "/src/logger/src/private.rs", 113),
            at("pack", "/src/app/src/main.rs", 94),
            at("serve", "/src/app/src/main.rs", 70),
        ];
        let left = |file: &str, line| {
            let mut stack = [StackEntry {
                functions: functions[..].into(),
                ..StackEntry::default()
            }];
            leave_expansion_out(&mut stack, file.as_bytes(), line);
            stack[0].functions.len()
        };
        assert_eq!(left("src/main.rs", 94), 2);
        assert_eq!(left("/src/app/src/main.rs", 94), 2);
        // Of another file, another line, and nothing.
        assert_eq!(left("c/main.rs", 94), 3);
        assert_eq!(left("src/main.rs", 95), 3);
        assert_eq!(left("src/main.rs", 113), 3);
        leave_expansion_out(&mut [], b"main.rs", 1);
    }

    #[test]
    fn facades_and_what_they_call_of_rusts_libraries_head_no_stack() {
        let inner = (
            "_RNvNtCsc5bGIlJmu5X_6logdef9___private6log_at",
            "private.rs",
        );
        let bridge = (
            "_RNvXCs1_10logdef_logNtB2_6LoggerNtCs2_3log3Log3log",
            "lib.rs",
        );
        let local = (
            "_RINvMs_NtNtCs3_3std6thread5localINtB5_8LocalKey4with",
            "local.rs",
        );
        let tracing = (
            "_ZN12tracing_core8dispatch11get_default17h1E",
            "dispatch.rs",
        );
        let work = ("_RNvCs4_5hello4work", "main.rs");
        let stack: [&[(&str, &str)]; 5] =
            [&[inner, bridge], &[local], &[tracing], &[work], &[local]];
        assert_eq!(left(&stack), [["_RNvCs4_5hello4work"], [local.0]]);
        let stack: [&[(&str, &str)]; 2] = [&[inner, local], &[work]];
        assert_eq!(left(&stack), [[local.0], [work.0]]);
        let stack: [&[(&str, &str)]; 2] = [&[local], &[work]];
        assert_eq!(left(&stack), [[local.0], [work.0]]);
    }

    #[test]
    fn names_that_no_compiler_of_rust_made_are_of_no_crate() {
        for name in [
            "",
            "_R",
            "_RC",
            "_RCs",
            "_RCsé_9é",
            "_RC99999999999999999999a",
            "_ZN",
            "_ZN9a",
            "main",
            "_RC3é",
        ] {
            assert!(
                !crate_of(name).is_some_and(|name| LOGGERS.contains(&name)),
                "{name}"
            );
        }
        assert_eq!(
            crate_of("_ZN48_$LT$logdef_log..Logger$u20$as$u20$log..Log$GT$3log17h012345678E"),
            Some("logdef_log")
        );
    }
}
