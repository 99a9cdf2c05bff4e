//! A record of more than a record can hold: what is cut, what is left out, and how the record shows it.

use std::borrow::Cow;

use super::argument::{Argument, Value};
use super::error::EncodeError;
use super::record::RecordWriter;
use super::words::padded;
use super::{MAX_ARGUMENTS, MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_TEXT_BYTES, Severity};

/// Put where a text was cut.
const CUT: &str = "…";
/// The argument that counts the arguments that were left out.
const LEFT_OUT: &str = "left_out";
/// Bytes before the arguments.
const START: usize = 16;

/// What a record has lost by its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Texts that end with `…`, as the rest did not fit.
    pub texts: usize,
    /// Arguments that the record does not have; its argument `left_out` says how many.
    pub left_out: usize,
}

impl Cut {
    /// Whether the record has all that it was given.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Writes a record of `arguments` whatever their number and size. Texts that are too long together are
/// cut, the longest first, all that are cut to one length; arguments without a valid name, and those
/// beyond the fifteenth, are left out and counted in the argument `left_out`.
///
/// For the rare record: the common one is written by a [`RecordWriter`], which allocates nothing.
///
/// # Errors
/// If the buffer is smaller than [`MAX_RECORD_BYTES`].
///
/// ```
/// use logdef_fuchsia::structured::{MAX_RECORD_BYTES, Record, Profile, Severity, Value, fit};
///
/// let mut buffer = vec![0; MAX_RECORD_BYTES];
/// let long = "x".repeat(40_000);
/// let (bytes, cut) = fit(&mut buffer, 72, Severity::INFO, &[("message", Value::from(&*long))])?;
/// assert_eq!((bytes.len(), cut.texts, cut.left_out), (MAX_RECORD_BYTES, 1, 0));
/// # Ok::<(), logdef_fuchsia::structured::EncodeError>(())
/// ```
pub fn fit<'b>(
    buffer: &'b mut [u8],
    timestamp: i64,
    severity: Severity,
    arguments: &[(&str, Value<'_>)],
) -> Result<(&'b [u8], Cut), EncodeError> {
    if buffer.len() < MAX_RECORD_BYTES {
        return Err(EncodeError::BufferTooSmall(MAX_RECORD_BYTES));
    }
    let is_named = |name: &str| (1..=MAX_NAME_BYTES).contains(&name.len());
    let named = arguments.iter().filter(|(name, _)| is_named(name)).count();
    let all_fit = named == arguments.len() && named <= MAX_ARGUMENTS;
    let most = if all_fit {
        MAX_ARGUMENTS
    } else {
        MAX_ARGUMENTS - 1
    };
    let mut cut = Cut {
        texts: 0,
        left_out: arguments.len() - named.min(most),
    };
    let kept = || {
        arguments
            .iter()
            .filter(|(name, _)| is_named(name))
            .take(most)
    };
    let reserved = match cut.left_out {
        0 => 0,
        _ => size(LEFT_OUT, &Value::UnsignedInt(0)),
    };
    let longest = longest_text(kept(), reserved);
    let mut writer = RecordWriter::new(buffer, timestamp, severity)?;
    for (name, value) in kept() {
        match value {
            Value::Text(text) if text.len() > longest => {
                cut.texts += 1;
                writer.argument(name, Value::Text(shortened(text, longest)))?;
            }
            value => writer.argument(name, value.clone())?,
        }
    }
    if cut.left_out > 0 {
        writer.argument(LEFT_OUT, cut.left_out as u64)?;
    }
    Ok((writer.finish(), cut))
}

/// The length to which texts must be cut, so that all arguments fit one record and leave
/// `reserved` bytes of it.
fn longest_text<'a>(
    arguments: impl Iterator<Item = &'a (&'a str, Value<'a>)>,
    reserved: usize,
) -> usize {
    let mut room = MAX_RECORD_BYTES - START - reserved;
    let mut texts = Vec::new();
    for (name, value) in arguments {
        match value {
            Value::Text(text) => {
                room -= size(name, &Value::Boolean(false));
                texts.push(padded(text.len()));
            }
            value => room -= size(name, value),
        }
    }
    texts.sort_unstable();
    let count = texts.len();
    for (index, text) in texts.into_iter().enumerate() {
        let share = room / (count - index) / 8 * 8;
        if text > share {
            return share.min(MAX_TEXT_BYTES);
        }
        room -= text;
    }
    MAX_TEXT_BYTES
}

/// Bytes of an argument whose name is valid. All fifteen without their texts take less than a record.
fn size(name: &str, value: &Value<'_>) -> usize {
    Argument::encoded_length(name, value).unwrap_or(0)
}

/// At most `most` bytes of `text`, whole characters, with a mark at the end.
fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let mut end = most.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned([&text[..end], CUT].concat())
}

#[cfg(test)]
mod tests {
    use super::super::{Profile, Record};
    use super::*;

    fn of(arguments: &[(&str, Value<'_>)]) -> (Vec<u8>, Cut) {
        let mut buffer = vec![0; MAX_RECORD_BYTES];
        let (bytes, cut) = fit(&mut buffer, 7, Severity::WARN, arguments).unwrap();
        let (record, rest) = Record::parse(bytes, Profile::Strict).unwrap();
        assert!(rest.is_empty());
        assert_eq!((record.timestamp(), record.severity()), (7, Severity::WARN));
        (bytes.to_vec(), cut)
    }

    fn texts(bytes: &[u8]) -> Vec<(String, usize)> {
        let (record, _) = Record::parse(bytes, Profile::Strict).unwrap();
        let text = |argument: Argument<'_>| match argument.value {
            Value::Text(text) => Some((argument.name.to_owned(), text.len())),
            _ => None,
        };
        record.arguments().filter_map(text).collect()
    }

    #[test]
    fn what_fits_is_as_it_was_given() {
        let long = "x".repeat(32_600);
        let (bytes, cut) = of(&[("message", (&*long).into()), ("n", 5_u64.into())]);
        assert!(cut.is_nothing());
        assert_eq!(texts(&bytes), [("message".to_owned(), 32_600)]);
    }

    #[test]
    fn the_longest_texts_are_cut_to_one_length_and_fill_the_record() {
        let (long, longer) = ("é".repeat(12_000), "y".repeat(60_000));
        let (bytes, cut) = of(&[
            ("message", (&*long).into()),
            ("backtrace", (&*longer).into()),
            ("tag", "short".into()),
        ]);
        assert_eq!(
            cut,
            Cut {
                texts: 2,
                left_out: 0
            }
        );
        assert!(bytes.len() > MAX_RECORD_BYTES - 48, "{}", bytes.len());
        let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
        for (argument, _) in record.arguments().zip(0..2) {
            let Value::Text(text) = argument.value else {
                panic!("{argument:?}")
            };
            assert!(text.ends_with('…') && (16_300..=16_376).contains(&text.len()));
        }
        assert_eq!(texts(&bytes)[2], ("tag".to_owned(), 5));
    }

    #[test]
    fn arguments_beyond_the_fifteenth_or_without_a_name_are_counted() {
        let names: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        let mut arguments: Vec<(&str, Value<'_>)> =
            names.iter().map(|name| (&**name, 1_u64.into())).collect();
        let long = "n".repeat(257);
        arguments.insert(1, ("", true.into()));
        arguments.insert(1, (&long, true.into()));
        let (bytes, cut) = of(&arguments);
        assert_eq!(
            cut,
            Cut {
                texts: 0,
                left_out: 8
            }
        );
        let (record, _) = Record::parse(&bytes, Profile::Strict).unwrap();
        assert_eq!(record.arguments().count(), 15);
        let last = record.arguments().last().unwrap();
        assert_eq!((last.name, last.value), (LEFT_OUT, Value::UnsignedInt(8)));
    }

    #[test]
    fn the_longest_names_and_texts_of_all_arguments_fit() {
        let name = "n".repeat(MAX_NAME_BYTES);
        let text = "t".repeat(100_000);
        let all = vec![(&*name, Value::from(&*text)); 40];
        let (bytes, cut) = of(&all);
        assert_eq!((cut.texts, cut.left_out), (14, 26));
        assert!(bytes.len() > MAX_RECORD_BYTES - 14 * 16);
    }
}
