//! `contains(text, part)`, and so `text LIKE '%part%'`: the engine's own function, but for columns of texts that share
//! buffers, as those of archives do with a dictionary. In such a buffer the part is looked for once.

mod searched;
mod short;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringViewArray};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::string;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use memchr::memmem::Finder;
use searched::{Begins, Searched};
use short::Short;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The longest part that is looked for in whole buffers, in bytes: one that overlaps with itself takes up to its length
/// for each byte there.
const LONGEST: usize = 64;

/// Whether a text is in another.
#[derive(Debug)]
pub(crate) struct Contains {
    plain: Arc<ScalarUDF>,
    searched: Searched,
}

impl Contains {
    pub(crate) fn new() -> Contains {
        Contains {
            plain: string::contains(),
            searched: Searched::default(),
        }
    }

    /// Whether a part is in each text of a column.
    fn of(&self, texts: &StringViewArray, part: &Part<'_>) -> BooleanArray {
        let (views, buffers) = (texts.views(), texts.data_buffers());
        let is_few = buffers.len() <= searched::MANY;
        let begins = |buffer| {
            let views = size_of_val(&**views);
            self.searched.begins(&part.finder, buffer, views)
        };
        let shared = buffers.iter().map(|buffer| Shared {
            buffer,
            begins: is_few.then(|| begins(buffer)).flatten(),
        });
        let shared: Vec<_> = shared.collect();
        let found = BooleanBuffer::collect_bool(views.len(), |row| part.is_in(views[row], &shared));
        BooleanArray::new(found, texts.nulls().cloned())
    }
}

impl PartialEq for Contains {
    fn eq(&self, _: &Contains) -> bool {
        true
    }
}

impl Eq for Contains {}

impl Hash for Contains {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.plain.hash(state);
    }
}

impl ScalarUDFImpl for Contains {
    fn name(&self) -> &str {
        self.plain.name()
    }

    fn signature(&self) -> &Signature {
        self.plain.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.plain.return_type(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.plain.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [ColumnarValue::Array(texts), ColumnarValue::Scalar(part)] = &args.args[..]
            && let Some(texts) = texts.as_string_view_opt()
            && let Some(Some(part)) = part.try_as_str()
            && let Some(part) = Part::of(part)
        {
            let found: ArrayRef = Arc::new(self.of(texts, &part));
            return Ok(ColumnarValue::Array(found));
        }
        self.plain.invoke_with_args(args)
    }
}

/// A buffer of a column, and where the part begins in it, if that is known.
struct Shared<'b> {
    buffer: &'b Buffer,
    begins: Option<Arc<Begins>>,
}

/// What is looked for.
struct Part<'t> {
    finder: Finder<'t>,
    /// If it may be in a text that stands in its view.
    short: Option<Short>,
}

impl Part<'_> {
    /// `None` of what is left to the engine.
    fn of(text: &str) -> Option<Part<'_>> {
        let is_sought = (1..=LONGEST).contains(&text.len());
        is_sought.then(|| Part {
            finder: Finder::new(text),
            short: Short::of(text.as_bytes()),
        })
    }

    /// Whether it is in the text of a view.
    #[inline]
    fn is_in(&self, view: u128, shared: &[Shared<'_>]) -> bool {
        let len = view as u32 as usize;
        let Some(last) = len.checked_sub(self.finder.needle().len()) else {
            return false;
        };
        if len <= short::MOST {
            return self.short.is_some_and(|part| part.is_in(view, last));
        }
        let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
        let Some(shared) = shared.get(buffer) else {
            return false;
        };
        match &shared.begins {
            Some(begins) => begins.is_at(offset, last + 1),
            None => {
                let text = shared.buffer.get(offset..offset + len);
                text.is_some_and(|text| self.finder.find(text).is_some())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Field;
    use datafusion::config::ConfigOptions;
    use datafusion::scalar::ScalarValue;

    /// Numbers that are the same in each run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % end
        }

        /// A text of few letters, so that others are in it.
        fn text(&mut self, longest: usize) -> String {
            let letters = ["a", "b", "\0", "é", "日"];
            let len = self.below(longest + 1);
            (0..len)
                .map(|_| letters[self.below(letters.len())])
                .collect()
        }
    }

    /// A column some of whose texts stand in its views, and others after each other in few buffers, not all of which
    /// are used; with nulls.
    fn column(numbers: &mut Numbers) -> StringViewArray {
        let few: Vec<String> = (0..20).map(|_| numbers.text(30)).collect();
        let few: StringViewArray = few.iter().map(Some).collect();
        let rows = 1 + numbers.below(300);
        let views = (0..rows).map(|_| few.views()[numbers.below(few.len())]);
        let views = views.collect::<Vec<_>>().into();
        let nulls = (0..rows).map(|_| numbers.below(5) > 0).collect::<Vec<_>>();
        let all = StringViewArray::new(views, few.data_buffers().to_vec(), Some(nulls.into()));
        let from = numbers.below(rows);
        all.slice(from, numbers.below(rows - from + 1))
    }

    fn call(function: &ScalarUDF, texts: &StringViewArray, part: ScalarValue) -> ArrayRef {
        let fields = [texts.data_type().clone(), part.data_type()];
        let fields = fields.map(|it| Arc::new(Field::new("", it, true)));
        let args = ScalarFunctionArgs {
            args: vec![
                ColumnarValue::Array(Arc::new(texts.clone())),
                ColumnarValue::Scalar(part),
            ],
            arg_fields: fields.to_vec(),
            number_rows: texts.len(),
            return_field: Arc::new(Field::new("", DataType::Boolean, true)),
            config_options: Arc::new(ConfigOptions::default()),
        };
        let found = function.invoke_with_args(args).unwrap();
        found.into_array(texts.len()).unwrap()
    }

    #[test]
    fn texts_are_found_where_the_engine_finds_them() {
        let (own, plain) = (ScalarUDF::from(Contains::new()), string::contains());
        let mut numbers = Numbers(1);
        let mut found = 0;
        for _ in 0..2_000 {
            let texts = column(&mut numbers);
            let longest = [2, 4, 20, 80][numbers.below(4)];
            let part = numbers.text(longest);
            // The first is asked twice, before and after its buffers are known.
            for part in [Some(part.clone()), Some(part), None] {
                let part = ScalarValue::Utf8View(part);
                let expected = call(&plain, &texts, part.clone());
                assert_eq!(&call(&own, &texts, part.clone()), &expected, "{part}");
                found += expected.as_boolean().true_count();
            }
        }
        assert!(found > 10_000, "{found}");
    }
}
