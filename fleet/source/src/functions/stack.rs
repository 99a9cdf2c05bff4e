//! `stack(backtrace, run, time)`: the functions of a backtrace, innermost first, a line each. Names come
//! from the programs and libraries, where they are found, or else from what the process itself knew.

use crate::tables::Tables;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::{
    DataType, Field, TimeUnit, TimestampNanosecondType, UInt64Type,
};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use logdef_resync::{LocatedImages, Place, Resolver, StackEntry};
use logdef_symbolizer::Locator;
use logdef_wire::msgpack::Encoder;
use logdef_wire::{Array as Addresses, Run};
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The names of the stacks of some tables.
#[derive(Debug)]
pub(super) struct Stack {
    tables: Arc<Tables>,
    signature: Signature,
    locator: OnceLock<Locator>,
}

impl PartialEq for Stack {
    fn eq(&self, other: &Stack) -> bool {
        Arc::ptr_eq(&self.tables, &other.tables)
    }
}

impl Eq for Stack {}

impl Hash for Stack {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.tables).hash(state);
    }
}

impl Stack {
    pub(super) fn of(tables: &Arc<Tables>) -> Stack {
        let addresses = Field::new("element", DataType::UInt64, true);
        let time = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let types = vec![DataType::List(Arc::new(addresses)), DataType::UInt64, time];
        Stack {
            tables: Arc::clone(tables),
            signature: Signature::exact(types, Volatility::Stable),
            locator: OnceLock::new(),
        }
    }

    pub(super) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// Looks where the user says.
    fn locator(&self) -> Locator {
        let config = self.tables.config();
        let make = || {
            let options = logdef_symbolizer::Options {
                use_logged_paths: !config.no_logged_paths,
                image_dirs: config.image_dirs.clone(),
                debug_dirs: config.debug_dirs.clone(),
                ..logdef_symbolizer::Options::default()
            };
            Locator::new(options.with_installed_debug_files())
        };
        self.locator.get_or_init(make).clone()
    }
}

impl ScalarUDFImpl for Stack {
    fn name(&self) -> &str {
        "stack"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let knowledge = self.tables.knowledge()?;
        let images = LocatedImages::new(self.locator());
        let mut resolver = Resolver::new(knowledge.logdefs(), images);
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let lists = columns[0].as_list::<i32>();
        let runs = columns[1].as_primitive::<UInt64Type>();
        let times = columns[2].as_primitive::<TimestampNanosecondType>();
        let mut out = StringViewBuilder::with_capacity(lists.len());
        let place = Place {
            input: 0,
            offset: 0,
        };
        for row in 0..lists.len() {
            if lists.is_null(row) {
                out.append_null();
                continue;
            }
            let run = runs.is_valid(row).then(|| Run(runs.value(row)));
            let time = times.is_valid(row).then(|| times.value(row) as u64);
            let bytes = encoded(&lists.value(row));
            let len = lists.value_length(row) as u32;
            let addresses = Addresses::from_objects(len, &bytes);
            let stack = addresses.map(|it| resolver.stack(it, run, time, place, false));
            out.append_value(text(&stack.unwrap_or_default()));
        }
        Ok(ColumnarValue::Array(Arc::new(out.finish())))
    }
}

/// Addresses as a record holds them; what is null stands for callers that were left out.
fn encoded(addresses: &ArrayRef) -> Vec<u8> {
    let mut bytes = vec![0; 9 * addresses.len()];
    let mut encoder = Encoder::new(&mut bytes);
    let numbers = addresses.as_primitive_opt::<UInt64Type>();
    let written = numbers.into_iter().flatten().try_for_each(|it| match it {
        Some(address) => encoder.uint(address),
        None => encoder.nil(),
    });
    debug_assert!(written.is_ok());
    let len = encoder.position();
    bytes.truncate(len);
    bytes
}

fn text(stack: &[StackEntry]) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(text);
    };
    for entry in stack {
        for function in entry.functions.iter() {
            line(&named(function));
        }
        if entry.functions.is_empty() {
            line(&nameless(entry));
        }
        if entry.is_cut {
            line("…");
        }
    }
    out
}

fn named(function: &logdef_resync::Function) -> String {
    let mut text = function.function.as_deref().unwrap_or("?").to_owned();
    if let Some(file) = &function.file {
        let _ = write!(text, " ({file}");
        if let Some(line) = function.line {
            let _ = write!(text, ":{line}");
        }
        text.push(')');
    }
    text
}

/// An address whose function is not known.
fn nameless(entry: &StackEntry) -> String {
    let logged = entry.logged.as_ref();
    let symbol = logged.and_then(|it| Some((it.sname.as_ref()?, it.saddr?)));
    if let Some((name, at)) = symbol {
        let name = String::from_utf8_lossy(name);
        return format!("{name}+{:#x}", entry.address.0.wrapping_sub(at.0));
    }
    match &entry.image {
        Some((image, address)) => {
            format!("{}+{:#x}", String::from_utf8_lossy(&image.path), address.0)
        }
        None => format!("{:#x}", entry.address.0),
    }
}
