//! Call sites in memory: the static record that the macros lay down for each
//! log call, and the state beside it. The record's layout is
//! [`logdef_wire::site`]'s; this is the room where its pointers are followed.
//! Nothing here knows how a record is encoded.
//!
//! A site is *resolved* at its first call in a run of the process: its image
//! is found, its addresses become link-time addresses, and the constant part
//! of its records is encoded into a [`Template`]. One thread wins the right to
//! publish the template in the site's state; a thread (or a signal handler)
//! that comes meanwhile uses a template of its own and never waits.

pub(crate) mod run_time;

use crate::crc;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::mem::{MaybeUninit, offset_of};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use logdef_wire::printf::ArgPlan;
use logdef_wire::site as layout;
use logdef_wire::{Description, Level};

/// Arguments on the wire beyond these are left out.
pub(crate) const MAX_WIRE_ARGS: usize = 64;

/// A call site, as it stands in the section `logdef_sites`.
#[derive(Debug)]
#[repr(C)]
pub struct Site {
    format: *const c_char,
    file: *const c_char,
    function: *const c_char,
    module: *const c_char,
    kinds: *const u8,
    plan: *const ArgPlan,
    state: *const SiteState,
    line: u32,
    level: u8,
    args: u8,
    version: u8,
    flags: u8,
}

const _: () = {
    assert!(size_of::<Site>() == layout::SIZE);
    assert!(offset_of!(Site, format) == layout::FORMAT);
    assert!(offset_of!(Site, file) == layout::FILE);
    assert!(offset_of!(Site, function) == layout::FUNCTION);
    assert!(offset_of!(Site, module) == layout::MODULE);
    assert!(offset_of!(Site, kinds) == layout::KINDS);
    assert!(offset_of!(Site, plan) == layout::PLAN);
    assert!(offset_of!(Site, state) == layout::STATE);
    assert!(offset_of!(Site, line) == layout::LINE);
    assert!(offset_of!(Site, level) == layout::LEVEL);
    assert!(offset_of!(Site, args) == layout::ARGS);
    assert!(offset_of!(Site, version) == layout::VERSION_AT);
    assert!(offset_of!(Site, flags) == layout::FLAGS);
};

// SAFETY: the pointers are to statics that are never written, but for the
// state, which is made of atomics.
unsafe impl Sync for Site {}

impl Site {
    /// The record that `logdef!` lays down. The strings end in a NUL; `plan`
    /// is the whole plan of `format`, whose callers pass `args` arguments.
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each field, named by the macro"
    )]
    pub const fn new(
        level: Level,
        format: &'static str,
        file: &'static str,
        module: &'static str,
        line: u32,
        args: usize,
        plan: &'static [ArgPlan],
        state: &'static SiteState,
        flags: u8,
    ) -> Site {
        assert!(args <= u8::MAX as usize);
        assert!(
            first_nul(module) + 1 == module.len(),
            "logdef!: the target has a NUL inside"
        );
        Site {
            format: c_string(format),
            file: c_string(file),
            function: ptr::null(),
            module: c_string(module),
            kinds: ptr::null(),
            plan: plan.as_ptr(),
            state,
            line,
            level: level.0,
            args: args as u8,
            version: layout::VERSION,
            flags,
        }
    }

    /// The format string.
    pub fn format(&self) -> &CStr {
        // SAFETY: the macros and `logdef.h` put a NUL-terminated literal here.
        unsafe { CStr::from_ptr(self.format) }
    }

    /// The format of all that is captured: the format string, unless values are
    /// attached that it does not show.
    pub(crate) fn captured(&self) -> &CStr {
        let shown = self.format();
        if self.flags & layout::flags::ATTACHED == 0 {
            return shown;
        }
        // SAFETY: the macro that sets the flag puts another NUL-terminated literal
        // right after the NUL of the first, in one string.
        unsafe { CStr::from_ptr(self.format.add(shown.count_bytes() + 1)) }
    }

    /// What stands after the format: its grammar and names. Empty if nothing does.
    pub(crate) fn description(&self) -> Description<'_> {
        if self.flags & layout::flags::DESCRIBED == 0 {
            return Description::default();
        }
        let before = self.captured();
        // SAFETY: the macro that sets the flag puts another NUL-terminated literal
        // right after the NUL of what is captured, in one string.
        let description = unsafe { CStr::from_ptr(before.as_ptr().add(before.count_bytes() + 1)) };
        Description::of(description.to_bytes())
    }

    /// The template after the description of a format that is not printf's.
    pub(crate) fn template(&self) -> Option<&CStr> {
        let description = self.description();
        if !description.grammar().is_template() {
            return None;
        }
        let description = description.as_bytes();
        // SAFETY: the macro that writes such a description puts another NUL-terminated
        // literal right after its NUL, in one string.
        Some(unsafe { CStr::from_ptr(description.as_ptr().add(description.len() + 1).cast()) })
    }

    /// The file name.
    pub fn file(&self) -> &CStr {
        // SAFETY: the macros and `logdef.h` put a NUL-terminated literal here.
        unsafe { CStr::from_ptr(self.file) }
    }

    /// The module's name, if the caller has one.
    pub fn module(&self) -> Option<&CStr> {
        // SAFETY: either null or a NUL-terminated literal.
        (!self.module.is_null()).then(|| unsafe { CStr::from_ptr(self.module) })
    }

    /// The line of the call in its source file.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The level that was laid down with the site.
    pub fn level(&self) -> Level {
        Level(self.level)
    }

    /// Whether all its records have one level; else each call passes its own.
    pub fn has_level(&self) -> bool {
        self.level != layout::ANY_LEVEL
    }

    /// How many arguments callers pass.
    pub fn args(&self) -> usize {
        self.args as usize
    }

    /// The kinds of the arguments, where they stand in the record: in C, whose
    /// calls do not pass them.
    pub(crate) fn kinds(&self) -> *const u8 {
        self.kinds
    }

    /// The plan that the compiler made, with its length known to its maker.
    pub(crate) fn plan(&self) -> *const ArgPlan {
        self.plan
    }

    /// See [`layout::flags`].
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// The site's state.
    pub fn state(&self) -> &SiteState {
        // SAFETY: the macros and `logdef.h` point to a static that lives as
        // long as the image.
        unsafe { &*self.state }
    }
}

/// Where a text ends for C.
const fn first_nul(text: &str) -> usize {
    let mut at = 0;
    while text.as_bytes()[at] != 0 {
        at += 1;
    }
    at
}

const fn c_string(text: &'static str) -> *const c_char {
    let bytes = text.as_bytes();
    assert!(bytes[bytes.len() - 1] == 0);
    bytes.as_ptr().cast()
}

/// What one image's C and C++ sites share: where to read the gate.
#[derive(Debug)]
#[repr(C)]
pub struct Image {
    gate: AtomicPtr<AtomicU32>,
    reserved: [u64; 7],
}

/// What the logger remembers of a site. All zero at first, but for `image`.
#[derive(Debug)]
#[repr(C)]
pub struct SiteState {
    /// Even and equal to the process's gate: off. One more: on. Anything else:
    /// to be decided again.
    pub gate: AtomicU32,
    /// 0, [`RESOLVING`], or the site's number plus [`FIRST_ID`].
    id: AtomicU32,
    image: *const Image,
    template: UnsafeCell<MaybeUninit<Template>>,
    plan: UnsafeCell<[MaybeUninit<ArgPlan>; INLINE_PLAN]>,
}

const RESOLVING: u32 = 1;
/// Numbers of sites start here, so that they cannot be taken for a state.
pub const FIRST_ID: u32 = 2;
const INLINE_PLAN: usize = 12;

const _: () = assert!(size_of::<SiteState>() == 192);

// SAFETY: `gate` and `id` are atomic; `image` points to a static of the same
// image, which is made of atomics; `template` and `plan` are written by the one
// thread that changed `id` from 0, and read by those that found its number there
// afterwards.
unsafe impl Sync for SiteState {}

impl SiteState {
    /// The state of a site that was never called.
    pub const fn new() -> SiteState {
        SiteState {
            gate: AtomicU32::new(0),
            id: AtomicU32::new(0),
            image: ptr::null(),
            template: UnsafeCell::new(MaybeUninit::uninit()),
            plan: UnsafeCell::new([MaybeUninit::uninit(); INLINE_PLAN]),
        }
    }

    /// Stores the address of the process's gate for the image's C and C++ sites.
    pub(crate) fn connect(&self, gate: &'static AtomicU32) {
        // SAFETY: either null or the static of the site's image.
        if let Some(image) = unsafe { self.image.as_ref() } {
            image
                .gate
                .store(ptr::from_ref(gate).cast_mut(), Ordering::Release);
        }
    }

    /// The template, if one was published.
    #[inline(always)]
    pub(crate) fn template(&self) -> Option<&Template> {
        if self.id.load(Ordering::Acquire) < FIRST_ID {
            return None;
        }
        // SAFETY: written before the number that was just seen, and never again.
        Some(unsafe { (*self.template.get()).assume_init_ref() })
    }

    /// Publishes a template under a number, unless another thread is about to or
    /// has. Plans that are not static go into the state if they fit.
    pub(crate) fn publish(&self, template: &Template, plan: &[ArgPlan], id: u32) -> bool {
        let claimed = self
            .id
            .compare_exchange(0, RESOLVING, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_err() {
            return false;
        }
        let mut template = Template { id, ..*template };
        if template.plan.is_null() {
            if plan.len() > INLINE_PLAN {
                // The state stays as it is: this site is resolved at each call.
                return false;
            }
            // SAFETY: this thread changed `id` from 0, so no other thread writes, and none
            // reads before the store below.
            let inline = unsafe { &mut *self.plan.get() };
            for (entry, plan) in inline.iter_mut().zip(plan) {
                entry.write(*plan);
            }
            template.plan = inline.as_ptr().cast();
        }
        // SAFETY: `id` is still not published, so no other thread reads the template.
        unsafe { (*self.template.get()).write(template) };
        self.id.store(id, Ordering::Release);
        true
    }
}

impl Default for SiteState {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of a template's prefix; the longest that can occur takes fewer.
pub const PREFIX_ROOM: usize = 48;

/// The constant part of a site's records, encoded: the tag, the map head for a
/// record with no rarer field, and the fields magic, file, line, level and
/// format, as far as they apply.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Template {
    pub prefix: [u8; PREFIX_ROOM],
    pub meta: Meta,
    /// The state of the checksum after the prefix of a record that names a context, and
    /// has one field more.
    pub crc_with_more: u32,
    /// Null while the plan is nowhere but on its maker's stack.
    pub plan: *const ArgPlan,
    /// The site's number; 0 while it has none.
    pub id: u32,
    /// The state of the checksum after the prefix.
    pub crc: u32,
}

impl Template {
    /// Sets the states of the checksum, once all else is known.
    pub fn set_checksums(&mut self) {
        let state = |more: u8| {
            let mut prefix = self.prefix;
            prefix[1] += self.meta.tail_fields + more;
            crc::state_after(crc::START, &prefix[..self.meta.prefix_len as usize])
        };
        (self.crc, self.crc_with_more) = (state(0), state(1));
    }
}

/// What else is known of a site's records.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Meta {
    /// Bytes of the prefix in use.
    pub prefix_len: u8,
    /// Arguments on the wire.
    pub wire_args: u8,
    /// The image that holds the site, as an index into the process's images;
    /// [`Meta::NO_IMAGE`] if none does.
    pub image: u8,
    /// The site's file name, as an index into the process's file names;
    /// [`Meta::NO_FILE`] if it has none.
    pub file: u16,
    /// The format goes into the record itself.
    pub format_text: bool,
    /// The file name goes into the record itself.
    pub file_text: bool,
    /// Fields after the arguments that all of its records have: their kind, and the span's number.
    pub tail_fields: u8,
    /// No rarer field is the site's own than those and pairs.
    pub quick: bool,
    /// The same, and those are not its own either.
    pub plain: bool,
    /// An errno is among the arguments.
    pub takes_errno: bool,
    /// A frame header may begin in the prefix.
    pub may_begin_header: bool,
}

impl Meta {
    /// A file name without a number.
    pub const NO_FILE: u16 = u16::MAX;
    /// An image without a number, or none.
    pub const NO_IMAGE: u8 = u8::MAX;
}

/// The strings of a call. Measured only when they are needed.
#[derive(Clone, Copy)]
pub(crate) enum Strings<'c> {
    Site(&'c Site),
    Text {
        file: &'c CStr,
        /// A template, if its grammar is not printf's.
        format: &'c CStr,
        description: Description<'c>,
    },
}

impl<'c> Strings<'c> {
    pub fn file(self) -> &'c CStr {
        match self {
            Strings::Site(site) => site.file(),
            Strings::Text { file, .. } => file,
        }
    }

    pub fn format(self) -> &'c CStr {
        match self {
            Strings::Site(site) => site.format(),
            Strings::Text {
                format,
                description,
                ..
            } if !description.grammar().is_template() => format,
            Strings::Text { .. } => c"",
        }
    }

    /// The template, if the format is not printf's; then [`Strings::format`] is empty.
    pub fn template(self) -> Option<&'c CStr> {
        match self {
            Strings::Site(site) => site.template(),
            Strings::Text {
                format,
                description,
                ..
            } => description.grammar().is_template().then_some(format),
        }
    }

    /// Whether the strings have numbers and no addresses in an image.
    pub fn is_made_at_run_time(self) -> bool {
        matches!(self, Strings::Site(site) if site.is_made_at_run_time())
    }

    /// Module, target and function.
    pub fn place(self) -> [Option<&'c CStr>; 3] {
        let names = match self {
            Strings::Site(site) => [site.module(), site.target(), site.function()],
            Strings::Text { .. } => [None; 3],
        };
        names.map(|name| name.filter(|name| !name.is_empty()))
    }

    /// What the site says of the format beside its text.
    pub fn description(self) -> Description<'c> {
        match self {
            Strings::Site(site) => site.description(),
            Strings::Text { description, .. } => description,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_published_once() {
        let state = SiteState::new();
        assert!(state.template().is_none());
        let plan = logdef_wire::printf::plan::<2>(b"%d %s");
        let template = Template {
            prefix: [7; PREFIX_ROOM],
            meta: Meta {
                prefix_len: 48,
                wire_args: 2,
                ..Meta::default()
            },
            id: 0,
            plan: ptr::null(),
            crc: 9,
            crc_with_more: 8,
        };
        assert!(state.publish(&template, &plan, FIRST_ID));
        assert!(!state.publish(&template, &plan, FIRST_ID + 1));
        let published = state.template().unwrap();
        assert_eq!(published.prefix, template.prefix);
        assert_eq!(published.meta, template.meta);
        assert_eq!((published.id, published.crc), (FIRST_ID, 9));
        // SAFETY: the plan of two entries was copied into the state.
        let copied = unsafe { core::slice::from_raw_parts(published.plan, 2) };
        assert_eq!(copied, plan);
    }
}
