//! Names from a symbol table, for addresses that DWARF does not cover. Names stay in the file until
//! one is asked for: only addresses are kept.

use logdef_wire::Svma;
use object::elf::{STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT};
use object::{Object, ObjectSymbol, ObjectSymbolTable, SymbolFlags, SymbolIndex};

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
    size: u64,
    index: SymbolIndex,
    rank: u8,
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
                    size: symbol.size(),
                    index: symbol.index(),
                    rank,
                })
            }));
        }
        // Linkers put marks without a size, such as `__TMC_END__`, where something else begins.
        entries.sort_unstable_by_key(|it| (it.address, it.size == 0, it.rank, it.index.0));
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
        /// Functions may contain other symbols; how many of those to look behind.
        const NESTED: usize = 16;

        let after = self.entries.partition_point(|it| it.address <= probe.0);
        for entry in self.entries[..after].iter().rev().take(NESTED) {
            let covers = probe.0 - entry.address < entry.size;
            // Hand-written assembly has no sizes: such a function extends to the next symbol.
            if (covers || entry.size == 0)
                && let Some(name) = self.name(elf, entry.index)
            {
                let address = Svma(entry.address);
                return Some(Symbol { name, address });
            }
        }
        None
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
