//! MiniDebugInfo: some distributions leave a symbol table of static functions in stripped images,
//! as an ELF file of its own, packed with xz, in the section `.gnu_debugdata`.

use std::io::Read;
use std::sync::Arc;

use lzma_rust2::XzReader;

use crate::image::contain::contained;
use crate::image::elf::Elf;
use crate::limits::Limits;

/// Most memory for the decoder's dictionary, in KiB. What builds these files takes 8 MiB.
const DICTIONARY: u32 = 65 << 10;

/// The file packed into `image`, if there is one that can be unpacked within `limits`.
pub(crate) fn unpack(image: &Elf, limits: &Limits) -> Option<Elf> {
    let packed = image.section(".gnu_debugdata", &mut 0).ok()??;
    let most = limits.unpacked_size;
    let unpacked = contained(|| {
        let reader = XzReader::new_mem_limit(packed.as_slice(), false, DICTIONARY);
        let mut unpacked = Vec::new();
        reader.take(most).read_to_end(&mut unpacked).ok()?;
        ((unpacked.len() as u64) < most).then_some(unpacked)
    })??;
    Elf::parse(Arc::new(unpacked.into())).ok()
}
