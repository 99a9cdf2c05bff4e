//! From a code address to the stack frames a person reads: DWARF first, then symbol tables, names
//! demangled, everything remembered. One `Names` serves one image.

pub(crate) mod abbreviations;
pub(crate) mod address;
pub(crate) mod demangle;
pub(crate) mod dwarf;
pub(crate) mod meter;
pub(crate) mod symbols;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use logdef_wire::Svma;

use crate::image::elf::Elf;
use crate::names::demangle::demangle;
use crate::names::dwarf::{Complaints, Dwarf, FindDwo, RawFrame};
use crate::names::symbols::{Kind, Symbol, Symbols, Table};

/// One function at an address. Text is as the file has it, not made safe for a terminal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackFrame {
    /// The function, demangled; `None` where neither lines nor symbols name it.
    pub function: Option<Arc<str>>,
    /// The function as the linker knows it; equal to `function` in C.
    pub linkage_name: Option<Arc<str>>,
    /// The source file, with the directory it was compiled in.
    pub file: Option<Arc<str>>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// Whether the function was inlined into the next one of the list.
    pub inlined: bool,
}

/// What is at an address: stack frames, innermost first. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbolized {
    frames: Arc<[StackFrame]>,
    source: Source,
}

/// Where names came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Debug information; the chain of inlined functions is complete.
    DebugInfo,
    /// A symbol table: the name of the nearest function that is known there. No lines.
    SymbolTable,
    /// Nothing is known about the address.
    Nothing,
}

impl Symbolized {
    /// The stack frames, innermost first; all but the last are inlined. Empty if nothing is known.
    pub fn frames(&self) -> &[StackFrame] {
        &self.frames
    }

    /// Where the names came from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The answer when nothing is known.
    pub fn nothing() -> Symbolized {
        Symbolized {
            frames: Arc::default(),
            source: Source::Nothing,
        }
    }
}

/// Everything that names an image's code, and what was found so far.
pub(crate) struct Names {
    dwarf: Option<Dwarf>,
    pub complaints: Complaints,
    /// Files with symbol tables, best first.
    symbol_files: Vec<Arc<Elf>>,
    /// Their tables, once one was needed.
    functions: OnceCell<Vec<(Arc<Elf>, Symbols)>>,
    variables: OnceCell<Vec<(Arc<Elf>, Symbols)>>,
    found: HashMap<Svma, Symbolized>,
    found_size: usize,
    readable: HashMap<Arc<str>, Arc<str>>,
    readable_size: usize,
}

/// What is remembered may take about this many bytes. Then it is forgotten: a log with more
/// addresses than that is symbolized more slowly.
const REMEMBERED: usize = 64 << 20;

impl Names {
    pub fn new(dwarf: Option<Dwarf>, symbol_files: Vec<Arc<Elf>>, complaints: Complaints) -> Names {
        Names {
            dwarf,
            complaints,
            symbol_files,
            functions: OnceCell::new(),
            variables: OnceCell::new(),
            found: HashMap::new(),
            found_size: 0,
            readable: HashMap::new(),
            readable_size: 0,
        }
    }

    /// What is at `probe`.
    pub fn at(&mut self, probe: Svma, find_dwo: FindDwo<'_>) -> Symbolized {
        if let Some(known) = self.found.get(&probe) {
            return known.clone();
        }
        let found = self.look_up(probe, find_dwo);
        let files = found.frames.iter().filter_map(|frame| frame.file.as_ref());
        self.found_size += files.map(|file| file.len()).sum::<usize>()
            + found.frames.len() * size_of::<StackFrame>()
            + size_of::<(Svma, Symbolized)>();
        if self.found_size > REMEMBERED {
            self.found.clear();
            self.found_size = 0;
        }
        self.found.insert(probe, found.clone());
        found
    }

    fn look_up(&mut self, probe: Svma, find_dwo: FindDwo<'_>) -> Symbolized {
        let in_dwarf = match &mut self.dwarf {
            Some(dwarf) => dwarf.frames(probe.0, find_dwo, &mut self.complaints),
            None => Vec::new(),
        };
        if in_dwarf.is_empty() {
            return match self.symbol_at(probe) {
                Some(symbol) => Symbolized {
                    frames: [self.name(Some(symbol.name))].into(),
                    source: Source::SymbolTable,
                },
                None => Symbolized::nothing(),
            };
        }
        let last = in_dwarf.len() - 1;
        let frames = in_dwarf.into_iter().enumerate().map(|(index, frame)| {
            let RawFrame {
                name,
                file,
                line,
                column,
            } = frame;
            let name = if index == last {
                self.outermost_name(probe, name)
            } else {
                name
            };
            StackFrame {
                file,
                line,
                column,
                inlined: index != last,
                ..self.name(name)
            }
        });
        Symbolized {
            frames: frames.collect(),
            source: Source::DebugInfo,
        }
    }

    /// The name of the function that really is at `probe`, all inlined ones aside. Assembly has
    /// lines but no functions in its debug information; static functions of C++ have a name there,
    /// but not the linkage name with namespace and parameters that the symbol table has.
    fn outermost_name(&self, probe: Svma, in_dwarf: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let is_mangled = |name: &[u8]| name.starts_with(b"_Z") || name.starts_with(b"_R");
        match in_dwarf {
            Some(name) if is_mangled(&name) => Some(name),
            Some(name) => match self.symbol_at(probe) {
                Some(symbol) if is_mangled(&symbol.name) => Some(symbol.name),
                _ => Some(name),
            },
            None => self.symbol_at(probe).map(|symbol| symbol.name),
        }
    }

    fn symbol_at(&self, probe: Svma) -> Option<Symbol> {
        let functions = self
            .functions
            .get_or_init(|| self.load_symbols(Kind::Function));
        functions
            .iter()
            .find_map(|(elf, symbols)| symbols.find(elf, probe))
    }

    /// Where the function with this linkage name begins.
    pub fn address_of(&self, name: &str) -> Option<Svma> {
        let named = |table| {
            let mut files = self.symbol_files.iter();
            files.find_map(|elf| Symbols::address_of(elf, table, name))
        };
        named(Table::Dynamic).or_else(|| named(Table::Full))
    }

    /// The variable around `address`.
    pub fn variable_at(&self, address: Svma) -> Option<Symbol> {
        let variables = self
            .variables
            .get_or_init(|| self.load_symbols(Kind::Variable));
        variables
            .iter()
            .find_map(|(elf, symbols)| symbols.find(elf, address))
    }

    fn load_symbols(&self, kind: Kind) -> Vec<(Arc<Elf>, Symbols)> {
        let load = |table: Table| {
            let files = self.symbol_files.iter();
            files.map(move |elf| (elf.clone(), Symbols::load(elf, table, kind)))
        };
        load(Table::Full).chain(load(Table::Dynamic)).collect()
    }

    /// A stack frame with nothing but a name. Taking names apart is the dearest part of a lookup
    /// in C++, and the same few come again and again.
    fn name(&mut self, name: Option<Vec<u8>>) -> StackFrame {
        let Some(name) = name else {
            return StackFrame::default();
        };
        let name = String::from_utf8_lossy(&name);
        let (linkage_name, function) = match self.readable.get_key_value(&*name) {
            Some((linkage_name, readable)) => (linkage_name.clone(), readable.clone()),
            None => {
                let linkage_name: Arc<str> = name.into();
                let readable: Arc<str> = demangle(&linkage_name).into();
                self.readable_size += linkage_name.len() + readable.len() + 64;
                if self.readable_size > REMEMBERED {
                    self.readable.clear();
                    self.readable_size = 0;
                }
                self.readable.insert(linkage_name.clone(), readable.clone());
                (linkage_name, readable)
            }
        };
        StackFrame {
            function: Some(function),
            linkage_name: Some(linkage_name),
            ..StackFrame::default()
        }
    }
}
