//! Pointers as a program sees them once it is loaded. In a position-independent image the words of
//! a table of pointers are filled in by the loader: the file may hold zero there, and a relocation
//! says what belongs in. Answers are SVMAs, as if the load bias were zero.

use logdef_wire::Svma;
use object::elf::{self, FileHeader32, FileHeader64, Machine, RelocationType};
use object::read::elf::{ElfFile, FileHeader, Rela, SectionHeader};
use object::{Endianness, Object, ObjectSymbol, ObjectSymbolTable, SymbolIndex};

use crate::image::elf::Elf;

/// The relocations with addends of an image, in order of address. Other forms (`REL`, `RELR`) keep
/// the address in the word itself, so they need not be known.
pub(crate) struct Pointers(Vec<Relocation>);

#[derive(Clone, Copy)]
struct Relocation {
    address: u64,
    addend: u64,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    /// The addend, moved with the image.
    Relative,
    /// A dynamic symbol plus the addend.
    Symbol(SymbolIndex),
    /// Something the loader computes: no address in this image.
    Other,
}

impl Pointers {
    pub fn load(elf: &Elf) -> Pointers {
        let mut relocations = match elf.object() {
            Ok(object::File::Elf32(file)) => collect::<FileHeader32<Endianness>>(&file),
            Ok(object::File::Elf64(file)) => collect::<FileHeader64<Endianness>>(&file),
            _ => Vec::new(),
        };
        relocations.sort_by_key(|it| it.address);
        Pointers(relocations)
    }

    /// Where the pointer stored at `address` points. `None` if there is none in this file, or if it
    /// points out of the image.
    pub fn at(&self, elf: &Elf, address: Svma) -> Option<Svma> {
        let found = self.0.binary_search_by_key(&address.0, |it| it.address);
        if let Ok(index) = found {
            let relocation = self.0[index];
            return match relocation.value {
                Value::Relative => Some(Svma(relocation.addend)),
                Value::Symbol(index) => {
                    let base = defined_symbol(elf, index)?;
                    Some(Svma(base.wrapping_add(relocation.addend)))
                }
                Value::Other => None,
            };
        }
        let word = elf.word_at(address)?;
        (word != 0).then_some(Svma(word))
    }
}

/// The relocations in the sections that are loaded. All of them together are smaller than the file,
/// unless sections overlap, which is no honest file.
fn collect<H: FileHeader<Endian = Endianness>>(file: &ElfFile<'_, H>) -> Vec<Relocation> {
    let (endian, data) = (file.endian(), file.data());
    let machine = file.elf_header().e_machine(endian);
    let most = data.len() / size_of::<H::Rela>();
    let sections = file.elf_section_table().iter();
    let loaded = sections.filter(|header| header.sh_flags(endian).contains(elf::SHF_ALLOC));
    loaded
        .filter_map(|header| header.rela(endian, data).ok()?)
        .flat_map(|(entries, _)| entries)
        .take(most)
        .map(|entry| Relocation {
            address: entry.r_offset(endian).into(),
            addend: i64::cast_unsigned(entry.r_addend(endian).into()),
            value: value(
                machine,
                entry.r_type(endian, false),
                entry.r_sym(endian, false),
            ),
        })
        .collect()
}

fn value(machine: Machine, kind: RelocationType, symbol: u32) -> Value {
    let symbol = Value::Symbol(SymbolIndex(symbol as usize));
    match (machine, kind) {
        (elf::EM_X86_64, elf::R_X86_64_RELATIVE) => Value::Relative,
        (elf::EM_X86_64, elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT) => symbol,
        (elf::EM_AARCH64, elf::R_AARCH64_RELATIVE) => Value::Relative,
        (elf::EM_AARCH64, elf::R_AARCH64_ABS64 | elf::R_AARCH64_GLOB_DAT) => symbol,
        _ => Value::Other,
    }
}

fn defined_symbol(elf: &Elf, index: SymbolIndex) -> Option<u64> {
    let file = elf.object().ok()?;
    let symbol = file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
    (!symbol.is_undefined()).then(|| symbol.address())
}
