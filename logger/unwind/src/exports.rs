//! Which exported symbol an address belongs to, as `dladdr` would say, without
//! its linear scan under the loader's lock: an index of each module's dynamic
//! symbols by address, built once off the hot path and never freed. Reads
//! mapped memory only, and takes its own from the kernel.

use core::ffi::CStr;
use core::ptr::NonNull;
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
const SHN_ABS: u16 = 0xFFF1;
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
    /// indexed; of several such symbols the one that starts last, and of those the
    /// one that `dladdr` returns.
    ///
    /// Signal safety: async-signal-safe.
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

    /// Indexes the module's exported symbols, unless that was done before; returns
    /// whether it has any that could be indexed. Takes some 50 ns per symbol.
    ///
    /// Signal safety: async-signal-safe; it takes no lock and no memory from the heap, but it
    /// maps memory.
    pub fn index_exports(&self) -> bool {
        let Some(table) = SymbolTable::of(self) else {
            return false;
        };
        let fingerprint = table.fingerprint(self);
        Index::find(fingerprint).is_some() || Index::publish(fingerprint, &table).is_some()
    }
}

/// The symbols of one image by address, in a mapping of its own: this, then
/// the numbers.
struct Index {
    fingerprint: u64,
    /// Numbers of symbols, sorted by where these start.
    numbers: &'static [u32],
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

    /// Two threads may do the same for the same module at once; then one of the
    /// indexes is never found.
    fn publish(fingerprint: u64, table: &SymbolTable) -> Option<()> {
        let count = u32::try_from(table.symbols.len()).ok()?;
        let at = map(size_of::<Index>() + table.symbols.len() * size_of::<u64>())?.cast::<Index>();
        // SAFETY: after the index, in fresh zeroed memory that was mapped for both and that
        // no other thread has seen.
        let keys = unsafe {
            slice::from_raw_parts_mut(at.add(1).cast::<u64>().as_ptr(), table.symbols.len())
        };
        let mut len = 0;
        for number in (0..count).filter(|&number| table.is_defined(number)) {
            keys[len] = sort_key(table.start(number), number)?;
            len += 1;
        }
        keys[..len].sort_unstable();
        // The numbers take the place of the keys, from the front: none is
        // overwritten before it was read.
        let numbers = at.as_ptr().wrapping_add(1).cast::<u32>();
        for place in 0..len {
            // SAFETY: a key is read, and a number half its size is written at or
            // before it, within the mapping. `keys` is not used from here on.
            unsafe {
                let key = numbers.cast::<u64>().add(place).read();
                numbers.add(place).write(number_of(key));
            }
        }
        // SAFETY: initialized just now, and never written again.
        let numbers = unsafe { slice::from_raw_parts(numbers, len) };
        let mut index = Index {
            fingerprint,
            numbers,
            next: LAST.load(Ordering::Acquire),
        };
        loop {
            let last = index.next.cast_mut();
            // SAFETY: the mapping is ours alone until it is published, and begins with room for an index.
            unsafe { at.write(index) };
            let published =
                LAST.compare_exchange(last, at.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
            match published {
                Ok(_) => return Some(()),
                Err(other) => {
                    index = Index {
                        fingerprint,
                        numbers,
                        next: other,
                    }
                }
            }
        }
    }
}

/// Sorts by address. Of symbols that start at the same one the first comes last,
/// where the search begins. `None` for what no image has: numbers beyond 2²⁴ or
/// addresses beyond 2⁴⁰.
fn sort_key(start: u64, number: u32) -> Option<u64> {
    let fits = start < 1 << (64 - NUMBER_BITS) && number < 1 << NUMBER_BITS;
    fits.then_some(start << NUMBER_BITS | u64::from(!number & NUMBER_MASK))
}

fn number_of(key: u64) -> u32 {
    !(key as u32) & NUMBER_MASK
}

const NUMBER_BITS: u32 = 24;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;

/// Fresh zeroed memory from the kernel, which is never given back.
fn map(len: usize) -> Option<NonNull<u8>> {
    // SAFETY: without MAP_FIXED the kernel picks addresses that nothing is mapped at.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    (at != libc::MAP_FAILED)
        .then(|| NonNull::new(at.cast()))
        .flatten()
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

    fn is_defined(&self, number: u32) -> bool {
        self.symbols.get(number as usize).is_some_and(is_defined)
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
    !matches!(symbol.st_shndx, SHN_UNDEF | SHN_ABS)
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
    use crate::{loader, modules};

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
    fn every_exported_symbol_has_the_name_and_address_that_dladdr_gives() {
        let libraries = [c"libstdc++.so.6", c"libm.so.6", c"libgcc_s.so.1"];
        for name in libraries {
            // SAFETY: a library of the system's, which stays.
            let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
            assert!(!handle.is_null(), "{name:?}");
        }
        modules::index_exports();
        // `dladdr` must not be called under the lock that the list is read under:
        // another thread may hold the loader's other one.
        let mut starts = Vec::new();
        loader::for_each_object(|object, _| {
            starts.push(object.start);
            true
        });
        let (mut modules, mut compared) = (0, 0);
        for module in starts.into_iter().filter_map(modules::find) {
            let Some(table) = SymbolTable::of(&module) else {
                continue;
            };
            modules += 1;
            for number in (0..table.symbols.len() as u32).filter(|&n| table.is_defined(n)) {
                let symbol = &table.symbols[number as usize];
                let address = module.load_bias() + symbol.st_value as usize;
                // Its ends, its middle, and what is not it any more.
                for at in [
                    0,
                    symbol.st_size / 2,
                    symbol.st_size.max(1) - 1,
                    symbol.st_size,
                ] {
                    assert_same_as_dladdr(&module, address + at as usize);
                    compared += 1;
                }
            }
            let code = module.segments().find(|segment| segment.executable);
            let code = code.map_or(0..0, |code| code.start..code.end);
            for address in code.step_by(97) {
                assert_same_as_dladdr(&module, address);
                compared += 1;
            }
        }
        assert!(modules >= 4 && compared > 20_000, "{modules} {compared}");
    }

    fn assert_same_as_dladdr(module: &Module, address: usize) {
        // SAFETY: all zeros are a valid value; `dladdr` fills it.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: only looks the address up.
        unsafe { libc::dladdr(address as *const _, &mut info) };
        if info.dli_fbase as usize != module.start() {
            return;
        }
        let ours = module.exported_symbol(address);
        let theirs = (!info.dli_sname.is_null()).then(|| {
            // SAFETY: a string of the module's, which is loaded.
            let name = unsafe { CStr::from_ptr(info.dli_sname) };
            (name, info.dli_saddr as usize)
        });
        assert_eq!(
            ours.map(|symbol| (symbol.name, symbol.address)),
            theirs,
            "at {address:#x} in {:?}",
            module.name()
        );
    }
}
