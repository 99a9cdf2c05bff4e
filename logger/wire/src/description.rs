//! The description of a format: which grammar its text is in, how its
//! arguments are called, and which module logs it. It stands after the text in the image, and in
//! the logdef of the text in the log. Knows neither grammar beyond its letter.

/// How the text of a format is to be read.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Grammar {
    /// C's printf, which nothing needs to say.
    #[default]
    Printf,
    /// printf where integers print as they are, whatever the length modifier says:
    /// Rust's.
    PrintfOfValues,
    /// The braces of Rust's `format!`.
    Braces,
    /// The braces of C++'s `std::format`.
    StdFormat,
    /// One of a later version, by its letter.
    Unknown(u8),
}

impl Grammar {
    /// The letter that a description begins with.
    pub const fn letter(self) -> u8 {
        match self {
            Grammar::Printf => b'c',
            Grammar::PrintfOfValues => b'r',
            Grammar::Braces => b'b',
            Grammar::StdFormat => b'f',
            Grammar::Unknown(letter) => letter,
        }
    }

    /// The grammar of a letter.
    pub const fn of_letter(letter: u8) -> Grammar {
        match letter {
            b'c' => Grammar::Printf,
            b'r' => Grammar::PrintfOfValues,
            b'b' => Grammar::Braces,
            b'f' => Grammar::StdFormat,
            letter => Grammar::Unknown(letter),
        }
    }

    /// Whether the text is a template: not one that printf could print.
    pub const fn is_template(self) -> bool {
        !matches!(self, Grammar::Printf | Grammar::PrintfOfValues)
    }
}

/// Grammar and names: a letter, then `:` and the names of the values on the wire,
/// in their order, with commas between them. An empty name means that the value has none;
/// names may be left out at the end. After `;` stand the names of those values alone that the
/// format does not print. After a tab stands the module of the call site, and after
/// another its target, if it has one.
///
/// ```
/// use logdef_wire::{Description, Grammar};
///
/// let description = Description::of(b"b:host,,ms");
/// assert_eq!(description.grammar(), Grammar::Braces);
/// let names: Vec<_> = (0..4).map(|index| description.name(index)).collect();
/// assert_eq!(names, [Some(&b"host"[..]), None, Some(b"ms"), None]);
///
/// let description = Description::of(b"b:host,\tapp::net\tdns");
/// assert_eq!(description.module(), Some(&b"app::net"[..]));
/// assert_eq!(description.target(), Some(&b"dns"[..]));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Description<'a> {
    bytes: &'a [u8],
    /// How many values stand before those that names after `;` are of.
    printed: Option<usize>,
}

impl<'a> Description<'a> {
    /// How many bytes of a description are read: more would only take time, for each record that names it.
    pub const MOST: usize = 64 << 10;

    /// Reads what a logdef or an image has; any bytes are a description, and none
    /// say nothing. Names after `;` are unknown without the format: see
    /// [`of_format`](Self::of_format).
    pub const fn of(bytes: &'a [u8]) -> Self {
        Description {
            bytes,
            printed: None,
        }
    }

    /// Reads the description of a format, which has no NUL at its end.
    ///
    /// ```
    /// use logdef_wire::Description;
    ///
    /// let description = Description::of_format(b"c;host,port", b"%s after %d ms");
    /// assert_eq!(description.name(0), None);
    /// assert_eq!(description.name(3), Some(&b"port"[..]));
    /// ```
    pub const fn of_format(bytes: &'a [u8], format: &[u8]) -> Self {
        let printed = match bytes {
            [_, b';', ..] => Some(crate::printf::wire_args(format)),
            _ => None,
        };
        Description { bytes, printed }
    }

    /// What it was made of, as it stands in the log.
    pub const fn as_bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The grammar of the text.
    pub const fn grammar(self) -> Grammar {
        match self.bytes {
            [letter, ..] => Grammar::of_letter(*letter),
            [] => Grammar::Printf,
        }
    }

    /// The names in order; `None` for an empty one.
    pub fn names(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let named = self.parts().next().unwrap_or_default();
        let (before, names) = match (named, self.printed) {
            ([_, b':', names @ ..], _) => (0, Some(names)),
            ([_, b';', names @ ..], Some(printed)) => (printed, Some(names)),
            _ => (0, None),
        };
        let names = names
            .into_iter()
            .flat_map(|names| names.split(|byte| *byte == b','));
        let names = names.map(|name| (!name.is_empty()).then_some(name));
        core::iter::repeat_n(None, before).chain(names)
    }

    /// The name of the value at this index on the wire.
    pub fn name(self, index: usize) -> Option<&'a [u8]> {
        self.names().nth(index).flatten()
    }

    /// The module of the call site, if it is said.
    pub fn module(self) -> Option<&'a [u8]> {
        self.parts().nth(1).filter(|module| !module.is_empty())
    }

    /// What the call site says that it is about, where that is not the module.
    pub fn target(self) -> Option<&'a [u8]> {
        self.parts().nth(2).filter(|target| !target.is_empty())
    }

    /// Grammar and names, the module, and the target, which may hold tabs.
    fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        let read = self.bytes.get(..Self::MOST).unwrap_or(self.bytes);
        read.splitn(3, |byte| *byte == b'\t')
    }

    /// The value on the wire that has this name.
    pub fn index_of(self, name: &[u8]) -> Option<usize> {
        self.names().position(|other| other == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn letters_and_grammars_are_one_to_one() {
        for letter in 0..=u8::MAX {
            assert_eq!(Grammar::of_letter(letter).letter(), letter);
        }
        assert_eq!(Description::of(b"").grammar(), Grammar::Printf);
        assert_eq!(Description::of(b"z:a").grammar(), Grammar::Unknown(b'z'));
    }

    #[test]
    fn any_bytes_are_a_description() {
        let names = |bytes| Description::of(bytes).names().collect::<Vec<_>>();
        assert_eq!(names(b""), []);
        assert_eq!(names(b"r"), []);
        assert_eq!(names(b"r,a"), []);
        assert_eq!(names(b"r:"), [None]);
        assert_eq!(names(b"r:,,x"), [None, None, Some(&b"x"[..])]);
        assert_eq!(names(b"b:a b,\xff"), [Some(&b"a b"[..]), Some(b"\xff")]);
        assert_eq!(names(b"c;a"), []);
        assert_eq!(Description::of(b"b:a,b,a").index_of(b"b"), Some(1));
        assert_eq!(Description::of(b"b:a,,b").index_of(b""), None);
    }

    /// One of many megabytes was read again for each record of its call site.
    #[test]
    fn what_stands_after_the_most_bytes_is_not_read() {
        let mut bytes = b"b:".to_vec();
        bytes.resize(Description::MOST - 2, b',');
        bytes.extend(b"xy,z\tmodule");
        let description = Description::of(&bytes);
        let last = Description::MOST - 4;
        assert_eq!(description.name(last), Some(&b"xy"[..]));
        assert_eq!(description.names().count(), last + 1);
        assert_eq!(description.module(), None);
        assert_eq!(description.as_bytes(), bytes, "what is copied is whole");
    }

    #[test]
    fn names_behind_a_semicolon_are_of_what_the_format_does_not_print() {
        let index = |format: &[u8]| Description::of_format(b"c;a,b", format).index_of(b"b");
        assert_eq!(index(b"text"), Some(1));
        assert_eq!(index(b"%*d: %m %%"), Some(4));
        assert_eq!(index(b"%2$d %1$d %m %2$d"), Some(4));
        let all = Description::of_format(b"c:a,b", b"%d %d %d");
        assert_eq!(all.index_of(b"b"), Some(1));
    }

    #[test]
    fn the_module_is_no_name() {
        let place = |bytes| {
            let description = Description::of(bytes);
            let names = description.names().count();
            (names, description.module(), description.target())
        };
        assert_eq!(place(b"b"), (0, None, None));
        assert_eq!(place(b"b\tm"), (0, Some(&b"m"[..]), None));
        assert_eq!(place(b"b:a,\tm\t"), (2, Some(&b"m"[..]), None));
        let target = Some(&b"t,\tu"[..]);
        assert_eq!(place(b"b:a,\t\tt,\tu"), (2, None, target));
        assert_eq!(place(b"\tm\tt,\tu"), (0, Some(&b"m"[..]), target));
    }
}
