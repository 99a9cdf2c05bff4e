//! Call sites that are made at run time: by a logging facade, or for a language whose compiler
//! lays nothing down. Such a site is like any other, but stands in no image: its strings are
//! copied into memory that is never freed, and their addresses there are the numbers by which
//! the log names them ([`Svma::text`]).

use super::{MAX_WIRE_ARGS, Site};
use core::ffi::CStr;
use core::ptr;
use logdef_wire::printf::{ArgPlan, caller_args, plan_into};
use logdef_wire::site::flags;
use logdef_wire::{Description, Level, Svma};
use std::collections::HashSet;
use std::sync::{Mutex, TryLockError};

/// Stands where other sites have the version of their layout. In no file.
pub(super) const VERSION: u8 = u8::MAX;

/// What a site is made of.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub level: Level,
    /// The format: a template, if its grammar is not printf's.
    pub format: &'a str,
    /// Grammar and names.
    pub description: &'a str,
    pub file: &'a str,
    pub line: u32,
    pub module: &'a str,
    /// Empty if it is the module.
    pub target: &'a str,
    pub function: &'a str,
    /// How many values each call passes.
    pub args: u8,
    pub flags: u8,
}

impl Site {
    /// Makes a site that is never freed. Allocates and takes a lock.
    pub(crate) fn at_run_time(parts: &Parts<'_>) -> &'static Site {
        let described = Description::of(parts.description.as_bytes());
        let format = if described.grammar().is_template() {
            strings(&["", parts.description, parts.format])
        } else {
            strings(&[parts.format, parts.description])
        };
        let (file, line) = (file_name(parts.file), parts.line);
        let module = strings(&[parts.module, parts.target]);
        let mut site = Site {
            format: format.as_ptr().cast(),
            file: file.as_ptr(),
            function: strings(&[parts.function]).as_ptr().cast(),
            module: module.as_ptr().cast(),
            kinds: ptr::null(),
            plan: ptr::null(),
            state: Box::leak(Box::default()),
            line,
            level: parts.level.0,
            args: parts.args,
            version: VERSION,
            flags: parts.flags | flags::DESCRIBED,
        };
        let mut plan = [ArgPlan::UNNAMED; MAX_WIRE_ARGS];
        let len = site.plan_into(&mut plan);
        site.plan = Vec::leak(plan[..len].to_vec()).as_ptr();
        Box::leak(Box::new(site))
    }

    /// Whether the site stands in no image.
    #[inline]
    pub(crate) fn is_made_at_run_time(&self) -> bool {
        self.version == VERSION
    }

    /// What a site that was made at run time says that it is about, where that is not its
    /// module.
    pub(crate) fn target(&self) -> Option<&CStr> {
        if !self.is_made_at_run_time() {
            return None;
        }
        let module = self.module()?;
        // SAFETY: `at_run_time` puts another NUL-terminated string right after the NUL of
        // the module.
        let target = unsafe { CStr::from_ptr(self.module.add(module.count_bytes() + 1)) };
        (!target.is_empty()).then_some(target)
    }

    /// The function's name, if the site has one.
    pub(crate) fn function(&self) -> Option<&CStr> {
        // SAFETY: either null or a NUL-terminated string.
        (!self.function.is_null()).then(|| unsafe { CStr::from_ptr(self.function) })
    }

    /// What a filter compares with the names of modules.
    pub(crate) fn place(&self) -> Option<&CStr> {
        self.target().or_else(|| self.module())
    }

    /// Writes the plan of what is captured, and returns its length: what the format takes, and
    /// after it, where names can be given, values as they are.
    pub(crate) fn plan_into(&self, plan: &mut [ArgPlan]) -> usize {
        let captured = self.captured().to_bytes();
        let mut len = plan_into(captured, plan).unwrap_or(0);
        if self.flags & flags::DESCRIBED != 0 {
            for index in caller_args(captured)..self.args() {
                if let Some(entry) = plan.get_mut(len) {
                    *entry = ArgPlan::value(index as u16);
                    len += 1;
                }
            }
        }
        len
    }
}

/// The number of a string of such a site.
pub(crate) fn number_of(string: &CStr) -> Svma {
    Svma::text(string.as_ptr().addr() as u64)
}

/// Some texts one after another, each with a NUL at its end, in memory that is never freed. A
/// text ends where it has a NUL itself.
fn strings(texts: &[&str]) -> &'static [u8] {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend(text.bytes().take_while(|byte| *byte != 0));
        bytes.push(0);
    }
    Vec::leak(bytes)
}

/// A file name, of which all sites have the same copy, but for those that are made at the same moment.
fn file_name(name: &str) -> &'static CStr {
    static NAMES: Mutex<Option<HashSet<&'static CStr>>> = Mutex::new(None);
    let name = CStr::from_bytes_until_nul(strings(&[name])).unwrap_or_default();
    let mut names = match NAMES.try_lock() {
        Ok(names) => names,
        // A thread that panicked has left the set as it was.
        Err(TryLockError::Poisoned(names)) => names.into_inner(),
        // A thread of the process that this one was forked from may hold it for ever.
        Err(TryLockError::WouldBlock) => return name,
    };
    let names = names.get_or_insert_default();
    match names.get(name) {
        Some(known) => known,
        None => {
            names.insert(name);
            name
        }
    }
}
