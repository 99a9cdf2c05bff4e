//! Batches: items of JSON packed into arrays of a bounded size.

/// Most arrays of one answer to a batch request.
pub const BATCH_ENTRIES: usize = 64;
/// The usual limit of an array.
pub const MAX_ARRAY_BYTES: usize = 1 << 20;

const SEPARATOR: &str = ",\n";

/// Packs items, each the JSON text of one object, into array texts of at most `limit` bytes.
///
/// The item that does not fit starts the next array. An item that is too large by itself is alone in an
/// array that is over the limit. Without items there is no array.
///
/// ```
/// use logdef_fuchsia::diagnostics::Batches;
///
/// let arrays: Vec<_> = Batches::new(["1", "2", "333"].map(String::from), 7).collect();
/// assert_eq!(arrays, ["[1,\n2]", "[333]"]);
/// ```
#[derive(Clone, Debug)]
pub struct Batches<I> {
    items: I,
    /// The item that did not fit into the array before.
    next: Option<String>,
    limit: usize,
}

impl<I: Iterator<Item = String>> Batches<I> {
    /// The arrays of `items`, the JSON text of one object each, of at most `limit` bytes.
    pub fn new(items: impl IntoIterator<IntoIter = I>, limit: usize) -> Self {
        Self {
            items: items.into_iter(),
            next: None,
            limit,
        }
    }
}

impl<I: Iterator<Item = String>> Iterator for Batches<I> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let first = self.next.take().or_else(|| self.items.next())?;
        let mut array = String::from("[");
        array.push_str(&first);
        for item in self.items.by_ref() {
            if array.len() + SEPARATOR.len() + item.len() + 1 > self.limit {
                self.next = Some(item);
                break;
            }
            array.push_str(SEPARATOR);
            array.push_str(&item);
        }
        array.push(']');
        Some(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(items: &[&str], limit: usize) -> Vec<String> {
        Batches::new(items.iter().map(ToString::to_string), limit).collect()
    }

    #[test]
    fn an_array_that_fits_exactly_is_one_and_a_byte_less_makes_two() {
        let items = [r#""FFFFFFFFFF""#, r#""GGGGGGGGGG""#];
        let one = "[\"FFFFFFFFFF\",\n\"GGGGGGGGGG\"]";
        assert_eq!(arrays(&items, one.len()), [one]);
        assert_eq!(
            arrays(&items, one.len() - 1),
            [r#"["FFFFFFFFFF"]"#, r#"["GGGGGGGGGG"]"#]
        );
    }

    #[test]
    fn an_item_over_the_limit_is_alone() {
        assert_eq!(
            arrays(&["1", "22222222", "3"], 6),
            ["[1]", "[22222222]", "[3]"]
        );
    }

    #[test]
    fn no_items_make_no_array() {
        assert!(arrays(&[], 100).is_empty());
    }
}
