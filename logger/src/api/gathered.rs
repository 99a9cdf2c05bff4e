//! The values of a call that a facade is lent one after another, each for less time than the call
//! takes: numbers as they are, texts as copies. A room for unsafe: their words are made here. Knows
//! no facade, and neither records nor sinks.

use crate::api::call_site::CallSite;
use crate::api::in_context::Context;
use crate::call::argument::Passed;
use crate::call::body::Bytes;
use crate::call::emit::emit_with;
use crate::few;
use core::fmt;
use core::mem::MaybeUninit;
use core::{ptr, slice};
use logdef_wire::site::ArgKind;

/// Values beyond these are left out.
const MOST: usize = 64;
/// Bytes of text that stand beside the values; more are allocated.
const NEAR: usize = 256;
/// A text that is longer is cut by the log anyway.
const MOST_TEXT: usize = 1 << 16;

/// What each value is, a bit for each.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    /// A bit for each value that was set.
    set: u64,
    /// A bit for each whose word says where it stands in the text, as a [`TextRange`]: for texts, and
    /// for integers of 128 bits.
    texts: u64,
    wides: u64,
}

/// Values with their types. One that was not set is no value.
pub struct Gathered {
    len: usize,
    marks: Marks,
    /// Those of values that were set.
    kinds: [MaybeUninit<u8>; MOST + 1],
    words: [MaybeUninit<u64>; MOST + 1],
    near: [MaybeUninit<u8>; NEAR],
    /// Bytes of it that were written.
    near_len: usize,
    /// All of the text, once it is too long to be near.
    far: Vec<u8>,
}

impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathered").finish_non_exhaustive()
    }
}

/// Where a value stands in the text.
#[derive(Clone, Copy)]
struct TextRange {
    start: u32,
    len: u32,
}

impl TextRange {
    fn to_word(self) -> u64 {
        u64::from(self.len) << 32 | u64::from(self.start)
    }

    /// What a word made of it says of a text.
    fn of(word: u64, text: &[u8]) -> &[u8] {
        let (start, len) = (word as u32 as usize, (word >> 32) as usize);
        text.get(start..start + len).unwrap_or_default()
    }
}

/// The places of bits.
fn bits(mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}

impl Gathered {
    /// Calls `work` with `len` values, of which none is set.
    #[inline(always)]
    pub fn with<R>(len: usize, work: impl FnOnce(&mut Gathered) -> R) -> R {
        // What it holds is not cleared: a call is over sooner than that.
        work(&mut Gathered {
            len: len.min(MOST),
            marks: Marks::default(),
            kinds: [const { MaybeUninit::uninit() }; MOST + 1],
            words: [const { MaybeUninit::uninit() }; MOST + 1],
            near: [const { MaybeUninit::uninit() }; NEAR],
            near_len: 0,
            far: Vec::new(),
        })
    }

    #[inline(always)]
    fn set(&mut self, index: usize, kind: ArgKind, word: u64) {
        self.set_as(index, kind, word, false, false);
    }

    #[inline(always)]
    fn set_as(&mut self, index: usize, kind: ArgKind, word: u64, is_text: bool, is_wide: bool) {
        if index < self.len {
            self.kinds[index].write(kind.0);
            self.words[index].write(word);
            let marks = &mut self.marks;
            marks.set |= 1 << index;
            marks.texts = marks.texts & !(1 << index) | u64::from(is_text) << index;
            marks.wides = marks.wides & !(1 << index) | u64::from(is_wide) << index;
        }
    }

    /// Sets a value to an integer.
    #[inline]
    pub fn set_signed(&mut self, index: usize, value: i64) {
        self.set(index, ArgKind::INT, value as u64);
    }

    /// Sets a value to an integer that is not negative.
    #[inline]
    pub fn set_unsigned(&mut self, index: usize, value: u64) {
        self.set(index, ArgKind::UINT, value);
    }

    /// Sets a value to a floating point number.
    #[inline]
    pub fn set_float(&mut self, index: usize, value: f64) {
        self.set(index, ArgKind::DOUBLE, value.to_bits());
    }

    /// Sets a value to a truth.
    #[inline]
    pub fn set_bool(&mut self, index: usize, value: bool) {
        self.set(index, ArgKind::BOOL, u64::from(value));
    }

    /// Sets a value to an integer of 128 bits.
    pub fn set_wide_signed(&mut self, index: usize, value: i128) {
        self.set_wide(index, ArgKind::INT128, value.to_ne_bytes());
    }

    /// Sets a value to an integer of 128 bits that is not negative.
    pub fn set_wide_unsigned(&mut self, index: usize, value: u128) {
        self.set_wide(index, ArgKind::UINT128, value.to_ne_bytes());
    }

    fn set_wide(&mut self, index: usize, kind: ArgKind, bytes: [u8; 16]) {
        let start = self.text().len();
        self.push(&bytes);
        self.set_as(index, kind, self.place(start), false, true);
    }

    /// Sets a value to a text.
    #[inline]
    pub fn set_text(&mut self, index: usize, text: &str) {
        let start = self.text().len();
        self.push(&text.as_bytes()[..text.len().min(MOST_TEXT)]);
        self.set_text_from(index, start);
    }

    /// Sets a value to what `print` prints: as far as it did, if it fails or is too long.
    #[inline]
    pub fn print(&mut self, index: usize, print: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) {
        let start = self.text().len();
        let _ = print(&mut Printer {
            most: start + MOST_TEXT,
            gathered: self,
        });
        self.set_text_from(index, start);
    }

    #[inline]
    fn set_text_from(&mut self, index: usize, start: usize) {
        self.set_as(index, ArgKind::BYTES, self.place(start), true, false);
    }

    /// What has been added to the text from `start` on.
    #[inline]
    fn place(&self, start: usize) -> u64 {
        let len = self.text().len() - start;
        TextRange {
            start: start as u32,
            len: len as u32,
        }
        .to_word()
    }

    #[inline]
    fn text(&self) -> &[u8] {
        if self.far.is_empty() {
            // SAFETY: `push` has written as many.
            unsafe { slice::from_raw_parts(self.near.as_ptr().cast(), self.near_len) }
        } else {
            &self.far
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        let end = self.near_len + bytes.len();
        if self.far.is_empty() && end <= NEAR {
            // SAFETY: there is room for them (`end`), and `bytes` is borrowed while this is
            // borrowed for writing, so they do not overlap.
            unsafe {
                let room = self.near.as_mut_ptr().cast::<u8>().add(self.near_len);
                few::copy(bytes.as_ptr(), room, bytes.len());
            }
            self.near_len = end;
            return;
        }
        self.push_far(bytes);
    }

    #[cold]
    fn push_far(&mut self, bytes: &[u8]) {
        if self.far.is_empty() {
            self.far = self.text().to_vec();
        }
        self.far.extend_from_slice(bytes);
    }

    /// Logs the values by a site: those that it takes, and with the number of a span if it has such.
    /// They are used up.
    #[inline]
    pub fn log(&mut self, site: CallSite, span: u64, pairs: &[(&str, Passed<'_>)]) {
        let site = site.site();
        let mut texts = [const { MaybeUninit::<Bytes>::uninit() }; MOST];
        let marks = core::mem::take(&mut self.marks);
        let after = site.args().min(MOST);
        let wanted = u64::MAX.checked_shr((MOST - after) as u32).unwrap_or(0);
        for index in bits(wanted & !marks.set) {
            self.kinds[index].write(ArgKind::CSTR.0);
            self.words[index].write(0);
        }
        for index in bits(marks.texts | marks.wides) {
            // SAFETY: a value that has a mark was set.
            let word = unsafe { self.words[index].assume_init() };
            let place = TextRange::of(word, self.text());
            let at = if marks.texts >> index & 1 != 0 {
                ptr::from_ref(texts[index].write(Bytes::new(Some(place)))).cast()
            } else {
                place.as_ptr()
            };
            self.words[index].write(at as u64);
        }
        self.words[after].write(span);
        // SAFETY: there is a word for each argument of the site and one after them, each as its
        // kind says: those that were not set, of texts and of wide integers were made just above,
        // and what they point to stays there until `emit_with` returns.
        unsafe {
            emit_with(
                site,
                self.kinds.as_ptr().cast(),
                self.words.as_ptr().cast(),
                pairs,
            );
        }
    }

    /// Logs the values that were set by a site that takes none: as key-values, with the number of a
    /// span if it has such.
    pub fn log_as_pairs(
        &self,
        site: CallSite,
        span: u64,
        names: impl Iterator<Item = &'static str>,
    ) {
        site.log_span(span, &[], &self.values().pairs(names));
    }

    /// The values that were set, if they are few and short.
    pub fn kept(&self) -> Option<Kept> {
        if self.len > FEW || self.near_len > SHORT || !self.far.is_empty() {
            return None;
        }
        Some(Kept {
            marks: self.marks,
            kinds: *self.kinds.first_chunk()?,
            words: *self.words.first_chunk()?,
            text: *self.near.first_chunk()?,
            len: self.near_len,
        })
    }

    /// A context with the values that were set, each by its name, that adds to another one: which
    /// it is itself if there is no value.
    pub fn context(
        &self,
        above: Option<&Context>,
        names: impl Iterator<Item = &'static str>,
    ) -> Option<Context> {
        self.values().context(above, names)
    }

    fn values(&self) -> Values<'_> {
        Values {
            marks: self.marks,
            kinds: &self.kinds,
            words: &self.words,
            text: self.text(),
        }
    }
}

/// What [`Gathered::print`] prints to.
struct Printer<'g> {
    gathered: &'g mut Gathered,
    most: usize,
}

impl fmt::Write for Printer<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.gathered.text().len() >= self.most {
            return Err(fmt::Error);
        }
        self.gathered.push(text.as_bytes());
        Ok(())
    }
}

/// Values and bytes of text of most spans.
const FEW: usize = 4;
const SHORT: usize = 64;

/// Few values for later.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    marks: Marks,
    kinds: [MaybeUninit<u8>; FEW],
    words: [MaybeUninit<u64>; FEW],
    text: [MaybeUninit<u8>; SHORT],
    /// Bytes of it that were written.
    len: usize,
}

impl Kept {
    /// As [`Gathered::context`].
    pub fn context(
        &self,
        above: Option<&Context>,
        names: impl Iterator<Item = &'static str>,
    ) -> Option<Context> {
        let values = Values {
            marks: self.marks,
            kinds: &self.kinds,
            words: &self.words,
            // SAFETY: `Gathered::kept` took as many that were written.
            text: unsafe { slice::from_raw_parts(self.text.as_ptr().cast(), self.len) },
        };
        values.context(above, names)
    }
}

/// Values wherever they are: those that were set have a kind and a word.
struct Values<'v> {
    marks: Marks,
    kinds: &'v [MaybeUninit<u8>],
    words: &'v [MaybeUninit<u64>],
    text: &'v [u8],
}

impl<'v> Values<'v> {
    fn context(
        &self,
        above: Option<&Context>,
        names: impl Iterator<Item = &'static str>,
    ) -> Option<Context> {
        let pairs = self.pairs(names);
        match above {
            _ if pairs.is_empty() => above.cloned(),
            Some(above) => Some(above.child(&pairs)),
            None => Some(Context::new(&pairs)),
        }
    }

    /// Those that were set, each with its name.
    fn pairs(&self, names: impl Iterator<Item = &'static str>) -> Vec<(&'static str, Passed<'v>)> {
        let mut pairs = Vec::with_capacity(self.marks.set.count_ones() as usize);
        let mut names = names.enumerate();
        for index in bits(self.marks.set) {
            let named = names.by_ref().find(|(at, _)| *at == index);
            // SAFETY: `bits` gives the indices alone whose bit in `set` says that the value was set.
            let value = unsafe { self.value(index) };
            pairs.extend(named.map(|(_, name)| (name, value)));
        }
        pairs
    }

    /// # Safety
    ///
    /// The value was set.
    unsafe fn value(&self, index: usize) -> Passed<'v> {
        // SAFETY: `set` has written kind and word of a value that was set.
        let (kind, word) = unsafe {
            (
                ArgKind(self.kinds[index].assume_init()),
                self.words[index].assume_init(),
            )
        };
        let place = TextRange::of(word, self.text);
        if self.marks.texts >> index & 1 != 0 {
            return Passed::bytes(Some(place));
        }
        match self.marks.wides >> index & 1 {
            0 => Passed::word(kind, word),
            _ => Passed::word(kind, place.as_ptr() as u64),
        }
    }
}
