//! Names from a symbol table, for addresses that DWARF does not cover. Names stay in the file until
//! one is asked for: only addresses are kept.

use logdef_wire::Svma;
use object::elf::{STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT};
use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolFlags, SymbolIndex};

use crate::image::elf::Elf;

/// The functions or the variables of one symbol table, in order of address, one per address.
pub(crate) struct Symbols {
    entries: Vec<Entry>,
    table: Table,
}

/// What symbols are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Function,
    Variable,
}

/// Which of a file's two symbol tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    /// `.symtab`: everything, static functions included.
    Full,
    /// `.dynsym`: what the image exports.
    Dynamic,
}

#[derive(Clone, Copy)]
struct Entry {
    address: u64,
    extent: Extent,
    index: SymbolIndex,
    rank: u8,
}

/// Which addresses after its own a symbol covers.
#[derive(Clone, Copy)]
enum Extent {
    /// That many bytes.
    Size(u64),
    /// Hand-written assembly has no sizes: up to the next symbol, and not beyond this address, where
    /// the section ends.
    ToNext(u64),
}

/// A symbol that covers an address.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub name: Vec<u8>,
    pub address: Svma,
}

impl Symbols {
    /// The symbols in `table` of `elf`; empty if there is no such table.
    pub fn load(elf: &Elf, table: Table, kind: Kind) -> Symbols {
        let mut entries = Vec::new();
        if let Ok(file) = elf.object() {
            let symbols = match table {
                Table::Full => file.symbols(),
                Table::Dynamic => file.dynamic_symbols(),
            };
            entries.extend(symbols.filter_map(|symbol| {
                let rank = rank(symbol.flags(), kind)?;
                (!symbol.is_undefined()).then(|| Entry {
                    address: symbol.address(),
                    extent: match symbol.size() {
                        0 => Extent::ToNext(end_of_section(&file, &symbol)),
                        size => Extent::Size(size),
                    },
                    index: symbol.index(),
                    rank,
                })
            }));
        }
        // Linkers put marks without a size, such as `__TMC_END__`, where something else begins.
        let is_sized = |it: &Entry| matches!(it.extent, Extent::Size(_));
        entries.sort_unstable_by_key(|it| (it.address, !is_sized(it), it.rank, it.index.0));
        entries.dedup_by_key(|it| it.address);
        Symbols { entries, table }
    }

    /// Where the function of this name begins.
    pub fn address_of(elf: &Elf, table: Table, name: &str) -> Option<Svma> {
        let file = elf.object().ok()?;
        let mut symbols = match table {
            Table::Full => file.symbols(),
            Table::Dynamic => file.dynamic_symbols(),
        };
        let is_it = |symbol: &object::Symbol<'_, '_>| {
            !symbol.is_undefined()
                && rank(symbol.flags(), Kind::Function).is_some()
                && symbol.name_bytes() == Ok(name.as_bytes())
        };
        symbols.find(is_it).map(|symbol| Svma(symbol.address()))
    }

    /// The symbol around `probe`.
    pub fn find(&self, elf: &Elf, probe: Svma) -> Option<Symbol> {
        /// Functions may contain other symbols; how many of those to look after.
        const NESTED: usize = 16;

        let after = self.entries.partition_point(|it| it.address <= probe.0);
        let before = self.entries[..after].iter().rev().take(NESTED);
        // A symbol without a size ends where the next one begins, so only the nearest can reach:
        // padding after a function is not the symbol's before that function.
        let covers = |(distance, entry): &(usize, &Entry)| match entry.extent {
            Extent::Size(size) => probe.0 - entry.address < size,
            Extent::ToNext(end) => *distance == 0 && probe.0 < end,
        };
        before.enumerate().filter(covers).find_map(|(_, entry)| {
            let name = self.name(elf, entry.index)?;
            let address = Svma(entry.address);
            Some(Symbol { name, address })
        })
    }

    fn name(&self, elf: &Elf, index: SymbolIndex) -> Option<Vec<u8>> {
        let file = elf.object().ok()?;
        let table = match self.table {
            Table::Full => file.symbol_table()?,
            Table::Dynamic => file.dynamic_symbol_table()?,
        };
        let symbol = table.symbol_by_index(index).ok()?;
        let name = symbol.name_bytes().ok()?;
        // `$x` and `$d` mark code and data on ARM; they name nothing.
        if name.is_empty() || name.starts_with(b"$") {
            return None;
        }
        Some(name.to_vec())
    }
}

/// Where the section that a symbol lies in ends; 0 if it lies in none, as `__ehdr_start` does.
fn end_of_section<'data>(file: &object::File<'data>, symbol: &object::Symbol<'data, '_>) -> u64 {
    let section = symbol.section_index();
    let section = section.and_then(|index| file.section_by_index(index).ok());
    section.map_or(0, |section| {
        section.address().saturating_add(section.size())
    })
}

/// How good a name a symbol is for its address, lower is better: functions before plain labels,
/// global before weak before local. `None` if it is of another kind.
fn rank<S, T>(flags: SymbolFlags<S, T>, kind: Kind) -> Option<u8> {
    let SymbolFlags::Elf { st_info, .. } = flags else {
        return None;
    };
    let rank = match (kind, st_info.st_type()) {
        (Kind::Function, STT_FUNC | STT_GNU_IFUNC) | (Kind::Variable, STT_OBJECT) => 0,
        (Kind::Function, STT_NOTYPE) => 3,
        _ => return None,
    };
    Some(
        rank + match st_info.st_bind() {
            STB_GLOBAL => 0,
            STB_WEAK => 1,
            _ => 2,
        },
    )
}
