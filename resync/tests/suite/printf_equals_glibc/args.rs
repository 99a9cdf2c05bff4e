//! The arguments of one call, for both sides, and the call of the C library.

use std::ffi::CString;

use logdef_resync::render::CompiledFormat;
use logdef_wire::Value;

/// Arguments, both as a record holds them and as a C caller passes them.
#[derive(Default)]
pub struct Args<'a> {
    pub values: Vec<Value<'a>>,
    /// The three general registers that `snprintf` has left, then the stack.
    registers: Vec<u64>,
    stack: Vec<u64>,
    floats: Vec<f64>,
}

impl<'a> Args<'a> {
    pub fn word(&mut self, word: u64) {
        match self.registers.len() {
            3 => self.stack.push(word),
            _ => self.registers.push(word),
        }
    }

    pub fn int(mut self, value: i64) -> Self {
        self.values.push(match u64::try_from(value) {
            Ok(value) => Value::Uint(value),
            Err(_) => Value::Int(value),
        });
        self.word(value as u64);
        self
    }

    pub fn uint(mut self, value: u64) -> Self {
        self.values.push(Value::Uint(value));
        self.word(value);
        self
    }

    pub fn double(mut self, value: f64) -> Self {
        self.values.push(Value::Float(value));
        self.floats.push(value);
        self
    }

    pub fn long_double(mut self, bytes: &'a [u8; 10]) -> Self {
        self.values.push(Value::Raw(bytes));
        if self.stack.len() % 2 == 1 {
            self.stack.push(0);
        }
        let (low, high) = bytes.split_first_chunk().unwrap();
        self.stack.push(u64::from_le_bytes(*low));
        self.stack
            .push(u16::from_le_bytes(high.try_into().unwrap()) as u64);
        self
    }

    /// A string and its terminator; the record has it without.
    pub fn string(mut self, text: Option<&'a [u8]>) -> Self {
        match text {
            Some(text) => {
                assert_eq!(text.last(), Some(&0));
                self.values.push(Value::Raw(&text[..text.len() - 1]));
                self.word(text.as_ptr() as u64);
            }
            None => {
                self.values.push(Value::Nil);
                self.word(0);
            }
        }
        self
    }

    /// A wide string by its characters and, for the record, in UTF-8.
    pub fn wide_string(mut self, wide: &'a [u32], text: &'a str) -> Self {
        assert_eq!(wide.last(), Some(&0));
        self.values.push(Value::Raw(text.as_bytes()));
        self.word(wide.as_ptr() as u64);
        self
    }

    pub fn errno(mut self, number: i32) -> Self {
        self.values.push(match number {
            0.. => Value::Uint(number as u64),
            _ => Value::Int(number as i64),
        });
        self
    }

    /// What the C library writes; none if it reports an error.
    fn snprintf(&self, format: &[u8], errno: i32) -> Option<Vec<u8>> {
        let format = CString::new(format).unwrap();
        let mut buffer = vec![0u8; 24_000];
        assert!(self.floats.len() <= 8 && self.stack.len() <= 12);
        let r = |i| self.registers.get(i).copied().unwrap_or(0);
        let s = |i| self.stack.get(i).copied().unwrap_or(0);
        let f = |i| self.floats.get(i).copied().unwrap_or(0.0);
        // SAFETY: the buffer is as long as the length passed, the format ends with a NUL, and each
        // directive finds its argument, of its type, where the ABI puts it: integers
        // and pointers in the three registers and then on the stack, doubles in
        // vector registers, long doubles on the stack. Pointers are null or lead to
        // terminated strings that `self` borrows.
        let length = unsafe {
            *libc::__errno_location() = errno;
            libc::snprintf(
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                format.as_ptr(),
                r(0),
                r(1),
                r(2),
                s(0),
                s(1),
                s(2),
                s(3),
                s(4),
                s(5),
                s(6),
                s(7),
                s(8),
                s(9),
                s(10),
                s(11),
                f(0),
                f(1),
                f(2),
                f(3),
                f(4),
                f(5),
                f(6),
                f(7),
            )
        };
        let length = usize::try_from(length).ok()?;
        assert!(length < buffer.len(), "{format:?} needs {length} bytes");
        buffer.truncate(length);
        Some(buffer)
    }

    fn render(&self, format: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        CompiledFormat::new(format).render(&self.values, &mut out);
        out
    }

    /// Compares both; false if the C library reports an error.
    pub fn compare(&self, format: &[u8]) -> bool {
        self.compare_with(format, format, 0)
    }

    pub fn compare_with(&self, format: &[u8], c_format: &[u8], errno: i32) -> bool {
        let Some(expected) = self.snprintf(c_format, errno) else {
            return false;
        };
        let text = self.render(format);
        assert!(
            text == expected,
            "{} of {:x?}\n ours: {}\nglibc: {}",
            format.escape_ascii(),
            self.values,
            text.escape_ascii(),
            expected.escape_ascii()
        );
        true
    }
}
