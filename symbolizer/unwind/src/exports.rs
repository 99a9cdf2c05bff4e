//! Which exported symbol an address belongs to, as `dladdr` would say, without
//! its linear scan under the loader's lock: an index of each module's dynamic
//! symbols by address, built once off the hot path and never freed. Reads
//! mapped memory only.

use core::ffi::CStr;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::modules::Module;

type Symbol = libc::Elf64_Sym;

/// `Elf64_Dyn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DynamicEntry {
    tag: i64,
    value: u64,
}

const DT_NULL: i64 = 0;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_STRSZ: i64 = 10;
const DT_GNU_HASH: i64 = 0x6FFF_FEF5;

const SHN_UNDEF: u16 = 0;
const STT_SECTION: u8 = 3;
const STT_FILE: u8 = 4;
const STT_TLS: u8 = 6;

/// How many symbols that start before an address, but end before it as well,
/// are passed over in search of one that holds it.
const MAX_NESTED: usize = 64;

/// An exported symbol that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportedSymbol {
    /// The name as it stands in the file, not demangled.
    pub name: &'static CStr,
    /// Where the symbol starts (AVMA).
    pub address: usize,
}

impl Module {
    /// The exported symbol that holds `address`, if the module's symbols were
    /// indexed; of several that do, the one that starts last.
    ///
    /// Async-signal-safe.
    pub fn exported_symbol(&self, address: usize) -> Option<ExportedSymbol> {
        let table = SymbolTable::of(self)?;
        let index = Index::find(table.fingerprint(self))?;
        let svma = address.wrapping_sub(self.load_bias()) as u64;
        let after = index
            .numbers
            .partition_point(|&number| table.start(number) <= svma);
        let number = index.numbers[..after]
            .iter()
            .rev()
            .take(MAX_NESTED)
            .find(|&&number| table.holds(number, svma))?;
        Some(ExportedSymbol {
            name: table.name(*number)?,
            address: self.load_bias().wrapping_add(table.start(*number) as usize),
        })
    }

    /// Indexes the module's exported symbols, unless that was done before; says
    /// whether it has any.
    ///
    /// Allocates, and takes up to 2 us per symbol: not for handlers.
    pub fn index_exports(&self) -> bool {
        let Some(table) = SymbolTable::of(self) else {
            return false;
        };
        let fingerprint = table.fingerprint(self);
        if Index::find(fingerprint).is_none() {
            Index::publish(fingerprint, table.sorted());
        }
        true
    }
}

/// The symbols of one image by address.
struct Index {
    fingerprint: u64,
    /// Numbers of symbols, sorted by where these start.
    numbers: Box<[u32]>,
    next: *const Index,
}

/// The index built last; each leads to the one before. None is ever freed, since
/// a handler may be reading it; a module that is loaded again finds its own.
static LAST: AtomicPtr<Index> = AtomicPtr::new(core::ptr::null_mut());

impl Index {
    fn find(fingerprint: u64) -> Option<&'static Index> {
        let mut index: *const Index = LAST.load(Ordering::Acquire);
        // SAFETY: published indexes are complete and stay for ever.
        while let Some(found) = unsafe { index.as_ref() } {
            if found.fingerprint == fingerprint {
                return Some(found);
            }
            index = found.next;
        }
        None
    }

    fn publish(fingerprint: u64, numbers: Box<[u32]>) {
        let index = Box::leak(Box::new(Index {
            fingerprint,
            numbers,
            next: LAST.load(Ordering::Relaxed),
        }));
        while let Err(last) = LAST.compare_exchange_weak(
            index.next.cast_mut(),
            index,
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            index.next = last;
        }
    }
}

/// The dynamic symbol table of a mapped image.
struct SymbolTable {
    symbols: &'static [Symbol],
    strings: &'static [u8],
}

impl SymbolTable {
    fn of(module: &Module) -> Option<Self> {
        let mut symbols_at = 0;
        let mut strings_at = 0;
        let mut strings_len = 0;
        let mut gnu_hash_at = None;
        let mut hash_at = None;
        for entry in module.dynamic_section()? {
            let value = entry.value as usize;
            match entry.tag {
                DT_NULL => break,
                DT_SYMTAB => symbols_at = located(module, value),
                DT_STRTAB => strings_at = located(module, value),
                DT_STRSZ => strings_len = value,
                DT_GNU_HASH => gnu_hash_at = Some(located(module, value)),
                DT_HASH => hash_at = Some(located(module, value)),
                _ => {}
            }
        }
        let count = match (hash_at, gnu_hash_at) {
            // nbucket, nchain: one chain word per symbol.
            (Some(hash_at), _) => *words(module, hash_at)?.get(1)? as usize,
            (None, Some(gnu_hash_at)) => count_by_gnu_hash(words(module, gnu_hash_at)?)?,
            (None, None) => return None,
        };
        let symbols = module.bytes_from(symbols_at)?;
        // SAFETY: any bytes make a symbol; only whole and aligned ones are taken.
        let (before, symbols, _) = unsafe { symbols.align_to::<Symbol>() };
        let is_aligned = before.is_empty();
        Some(Self {
            symbols: is_aligned.then(|| symbols.get(..count))??,
            strings: module.bytes_from(strings_at)?.get(..strings_len)?,
        })
    }

    /// A number that the same image has wherever and whenever it is loaded, and
    /// others have not.
    fn fingerprint(&self, module: &Module) -> u64 {
        // FNV-1a, as far as it goes: images without a build ID also differ by
        // where they are.
        let mut hash = 0xCBF2_9CE4_8422_2325u64;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
            }
        };
        add(&self.symbols.len().to_ne_bytes());
        add(&self.strings.len().to_ne_bytes());
        match module.build_id() {
            Some(build_id) => add(build_id),
            None => {
                add(&(self.symbols.as_ptr() as usize).to_ne_bytes());
                add(module.name().to_bytes());
            }
        }
        hash
    }

    fn sorted(&self) -> Box<[u32]> {
        let mut numbers: Vec<u32> = (0..self.symbols.len() as u32)
            .filter(|&number| is_defined(&self.symbols[number as usize]))
            .collect();
        numbers.sort_by_key(|&number| self.start(number));
        numbers.into_boxed_slice()
    }

    fn start(&self, number: u32) -> u64 {
        self.symbols
            .get(number as usize)
            .map_or(0, |symbol| symbol.st_value)
    }

    /// `dladdr`'s rule: symbols without a size hold their first address only.
    fn holds(&self, number: u32, svma: u64) -> bool {
        self.symbols.get(number as usize).is_some_and(|symbol| {
            svma.checked_sub(symbol.st_value)
                .is_some_and(|distance| distance < symbol.st_size.max(1))
        })
    }

    fn name(&self, number: u32) -> Option<&'static CStr> {
        let symbol = self.symbols.get(number as usize)?;
        let name = self.strings.get(symbol.st_name as usize..)?;
        CStr::from_bytes_until_nul(name).ok()
    }
}

fn is_defined(symbol: &Symbol) -> bool {
    symbol.st_shndx != SHN_UNDEF
        && symbol.st_value != 0
        && !matches!(symbol.st_info & 0xF, STT_SECTION | STT_FILE | STT_TLS)
}

/// glibc adds the load bias to the pointers of the dynamic section in place,
/// except where the section cannot be written, and musl does not.
fn located(module: &Module, pointer: usize) -> usize {
    if module.contains(pointer) {
        pointer
    } else {
        module.load_bias().wrapping_add(pointer)
    }
}

fn words(module: &Module, address: usize) -> Option<&'static [u32]> {
    // SAFETY: any bytes make words.
    let (before, words, _) = unsafe { module.bytes_from(address)?.align_to::<u32>() };
    before.is_empty().then_some(words)
}

/// The number of symbols, from a `DT_GNU_HASH` table: one more than the last
/// symbol of the chain that begins last.
fn count_by_gnu_hash(table: &[u32]) -> Option<usize> {
    let &[bucket_count, first, bloom_len, _] = table.first_chunk()?;
    // The filter's words are of 64 bits.
    let buckets_at = (bloom_len as usize).checked_mul(2)?.checked_add(4)?;
    let chains_at = buckets_at.checked_add(bucket_count as usize)?;
    let last = *table.get(buckets_at..chains_at)?.iter().max()?;
    let Some(place) = last.checked_sub(first) else {
        return Some(first as usize);
    };
    let chain = table.get(chains_at.checked_add(place as usize)?..)?;
    let len = chain.iter().position(|hash| hash & 1 != 0)? + 1;
    Some(last as usize + len)
}

impl Module {
    fn dynamic_section(&self) -> Option<&'static [DynamicEntry]> {
        let (address, len) = self.dynamic_range()?;
        let bytes = self.bytes_from(address)?.get(..len)?;
        let start = bytes.as_ptr().cast::<DynamicEntry>();
        // SAFETY: the range lies in a readable segment; any bytes make entries,
        // and the loader is done writing them.
        start
            .is_aligned()
            .then(|| unsafe { slice::from_raw_parts(start, len / size_of::<DynamicEntry>()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules;

    #[rustfmt::skip]
    const GNU_HASH: &[u32] = &[
        3, 5, 1, 6,     // 3 buckets, first symbol is 5, one filter word, shift
        0, 0,           // filter
        5, 0, 7,        // bucket 1 is empty
        0x10, 0x21,     // chain of symbols 5 and 6
        0x30, 0x42, 0x51, // chain of symbols 7, 8, 9: the bit says "last"
    ];

    #[test]
    fn the_last_chain_of_a_gnu_hash_table_counts_the_symbols() {
        assert_eq!(count_by_gnu_hash(GNU_HASH), Some(10));
        assert_eq!(count_by_gnu_hash(&GNU_HASH[..13]), None);
        assert_eq!(count_by_gnu_hash(&[1, 4, 0, 0, 0]), Some(4));
        for end in 0..13 {
            assert_eq!(count_by_gnu_hash(&GNU_HASH[..end]), None);
        }
        assert_eq!(count_by_gnu_hash(&[u32::MAX; 32]), None);
    }

    #[test]
    fn nothing_is_known_before_indexing_and_dladdrs_answer_after() {
        let address = libc::getpid as *const () as usize;
        let module = modules::find(address).unwrap();
        assert_eq!(module.exported_symbol(address), None);
        assert!(module.index_exports());
        let symbol = module.exported_symbol(address).unwrap();
        assert_eq!(symbol.address, address);
        assert!(symbol.name == c"getpid" || symbol.name == c"__getpid");
        // Again, and from another copy of the module.
        assert!(modules::find(address + 1).unwrap().index_exports());
        assert_eq!(module.exported_symbol(address + 1), Some(symbol));

        // Every function of the module, now that it is indexed.
        let code = module
            .segments()
            .find(|segment| segment.executable)
            .unwrap();
        let mut named = 0;
        for address in (code.start..code.end).step_by(97) {
            // SAFETY: all zeros are a valid value; `dladdr` fills it.
            let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
            // SAFETY: only looks the address up.
            unsafe { libc::dladdr(address as *const _, &mut info) };
            let ours = module.exported_symbol(address);
            assert_eq!(
                ours.map_or(0, |symbol| symbol.address),
                info.dli_saddr as usize,
                "{ours:?} at {address:#x}"
            );
            named += usize::from(ours.is_some());
        }
        assert!(named > 1000, "{named}");
    }
}
