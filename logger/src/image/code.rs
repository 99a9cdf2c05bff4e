//! Which image code addresses belong to, while images come and go. An address
//! means something only as long as its image is mapped: when another is found
//! in its place, all that was written down about addresses is out of date, and
//! a new *epoch* begins. Called for each record with a backtrace; takes no lock
//! and allocates nothing.

use crate::image::{Image, Images};
use core::sync::atomic::{AtomicU32, Ordering};
use logdef_unwind::{Module, modules};

/// The epoch of what was written about code addresses.
pub(crate) struct Code {
    epoch: AtomicU32,
}

/// How often modules had been replaced, as far as was noticed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Epoch(pub u32);

impl Code {
    pub const fn new() -> Code {
        Code {
            epoch: AtomicU32::new(0),
        }
    }

    /// The epoch now.
    pub fn epoch(&self) -> Epoch {
        Epoch(self.epoch.load(Ordering::Acquire))
    }

    /// Looks at the images that return addresses belong to. `false` if one of
    /// them is in the place of another since the last look: then the unwinder
    /// has forgotten the rules of the other's code, which it may have followed,
    /// and the stack must be walked again.
    pub fn is_settled(
        &self,
        images: &Images,
        addresses: &[usize],
        now: impl Fn() -> u64 + Copy,
    ) -> bool {
        let mut settled = true;
        // The program itself stays, and has most of the addresses.
        let program = images.get(0).filter(|image| image.is_main_program());
        let program = program.filter(|program| program.since().is_some());
        let program = program.map_or(0..0, Image::range);
        let mut last = 0..0;
        for address in addresses {
            let address = before(*address);
            if program.contains(&address) || last.contains(&address) {
                continue;
            }
            if let Some(module) = modules::find(address) {
                last = module.start()..module.end();
                settled &= self.is_known(images, &module, now);
            }
        }
        settled
    }

    fn is_known(&self, images: &Images, module: &Module, now: impl Fn() -> u64) -> bool {
        let Some((_, image)) = images.of_module(module) else {
            // The table of images is full. Another epoch begins, so that no address is
            // taken for known.
            self.epoch.fetch_add(1, Ordering::AcqRel);
            return true;
        };
        if !image.has_exports().load(Ordering::Relaxed) {
            index_exports(image, module);
        }
        if image.since().is_some() {
            return true;
        }
        self.arrive(images, image, now())
    }

    #[cold]
    fn arrive(&self, images: &Images, image: &Image, now: u64) -> bool {
        let mut settled = true;
        for (_, other) in images.iter() {
            if !core::ptr::eq(other, image) && other.since().is_some() && other.overlaps(image) {
                other.depart(now);
                settled = false;
            }
        }
        image.arrive(now);
        if !settled {
            self.epoch.fetch_add(1, Ordering::AcqRel);
            logdef_unwind::forget();
        }
        settled
    }
}

/// The address by which to look up a return address: that of the call, which
/// can be the last instruction of its function and of its module.
pub(crate) fn before(address: usize) -> usize {
    address.wrapping_sub(1)
}

/// Makes the exported names of a module's functions known, so that they can be
/// written down beside addresses. Not in a handler: it takes as long as the
/// module has symbols.
#[cold]
fn index_exports(image: &Image, module: &Module) {
    if !crate::handler::is_running() {
        module.index_exports();
        image.has_exports().store(true, Ordering::Relaxed);
    }
}
