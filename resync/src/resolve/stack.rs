//! A backtrace with what is known of its addresses, without the logger's own functions at its
//! head: those of the header, compiled into the program that logs, and what was inlined of
//! the macros. Knows functions and files, not records.

use super::images::Function;
use crate::recover::tables::{BacktraceEntry, Image};
use logdef_wire::{Avma, Svma};
use std::sync::Arc;

/// What is known about one address of a backtrace.
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

/// Leaves the logger's own functions out where they head a stack. What the stack consists
/// of alone stays.
pub(super) fn leave_loggers_out(stack: &mut Vec<StackEntry>) {
    let ours = |entry: &StackEntry| {
        let functions = entry.functions.iter();
        functions
            .take_while(|function| is_loggers(function))
            .count()
    };
    let is_ours =
        |entry: &&StackEntry| !entry.functions.is_empty() && ours(entry) == entry.functions.len();
    let entries = stack.iter().take_while(is_ours).count();
    if entries == stack.len() {
        return;
    }
    stack.drain(..entries);
    let first = &mut stack[0];
    let inlined = ours(first);
    if inlined > 0 {
        first.functions = Arc::from(&first.functions[inlined..]);
    }
}

/// A function of the header, or one that only macros of Rust call: what those are is known by
/// the names that linkers have, since those of inlined functions lack their path.
fn is_loggers(function: &Function) -> bool {
    let is_header = |file: &str| file.rsplit('/').next() == Some("logdef.h");
    let is_private = |name: &str| name.starts_with('_') && name.contains("6logdef7private");
    function.file.as_deref().is_some_and(is_header)
        || function.linkage_name.as_deref().is_some_and(is_private)
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
        assert_eq!(
            left(&[&[similar], &[work]]),
            [["_ZN10logdef_app7privateE"], ["work"]]
        );
        assert_eq!(left(&[&[header], &[]]), [[""; 0]]);
        assert_eq!(left(&[&[header], &[macros]]).len(), 2);
        assert!(left(&[]).is_empty());
    }
}
