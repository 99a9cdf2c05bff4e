//! What the side tables say that records need: their sites, and their threads'
//! `pthread_self()`. Knows the columns of these tables.

use crate::folder::{self, Identity};
use crate::guard::wrong;
use crate::rebuild::index_of;
use crate::schema::Unit;
use crate::site::{Type, slots};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use foldhash::fast::RandomState;
use logdef_wire::msgpack::Encoder;
use logdef_wire::record::field;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// What records are put together from, beside their own columns.
pub(crate) struct Stored {
    pub(crate) unit: Unit,
    pub(crate) sites: HashMap<u64, Arc<StoredSite>, RandomState>,
    /// By run and number.
    pub(crate) threads: HashMap<(u64, u32), Option<u64>, RandomState>,
}

/// A site with its fields as they stand on the wire.
#[derive(Default)]
pub(crate) struct StoredSite {
    /// Fields 0 to 4, and how many there are.
    pub(crate) front: (Vec<u8>, u32),
    /// Fields 11 and 12.
    pub(crate) texts: (Vec<u8>, u32),
    /// Field 14.
    pub(crate) kind: Option<u64>,
    pub(crate) types: Vec<Type>,
    /// Where the values of each are in a row group's.
    pub(crate) slots: Vec<Option<usize>>,
    /// How field 9 begins, and how many values it has.
    pub(crate) args: Option<(Vec<u8>, usize)>,
    /// The keys, each as msgpack.
    pub(crate) keys: Option<Vec<Vec<u8>>>,
}

impl StoredSite {
    /// How many fields its records have of it.
    pub(crate) fn fields(&self) -> u32 {
        let optional = [
            self.args.is_some(),
            self.keys.is_some(),
            self.kind.is_some(),
        ];
        let optional = optional.into_iter().map(u32::from).sum::<u32>();
        self.front.1 + self.texts.1 + optional
    }

    /// How many of its values are arguments.
    pub(crate) fn args(&self) -> usize {
        self.args.as_ref().map_or(0, |(_, len)| *len)
    }
}

/// Encodes into a vector that has room for it.
pub(crate) fn encoded(
    room: usize,
    with: impl FnOnce(&mut Encoder<'_>) -> Result<(), logdef_wire::msgpack::OutOfRoom>,
) -> Vec<u8> {
    let mut bytes = vec![0; room];
    let mut encoder = Encoder::new(&mut bytes);
    let written = with(&mut encoder);
    debug_assert!(written.is_ok());
    let len = encoder.position();
    bytes.truncate(len);
    bytes
}

/// A column of numbers, row by row.
fn number(batch: &RecordBatch, name: &str, row: usize) -> io::Result<Option<u64>> {
    let column = batch
        .column_by_name(name)
        .ok_or_else(|| wrong("a column is missing"))?;
    let column = column.as_primitive::<UInt64Type>();
    Ok(column.is_valid(row).then(|| column.value(row)))
}

fn texts(batch: &RecordBatch, name: &str, row: usize) -> io::Result<Vec<Option<String>>> {
    let column = batch
        .column_by_name(name)
        .ok_or_else(|| wrong("a column is missing"))?;
    let list = column.as_list::<i32>();
    if list.is_null(row) {
        return Ok(Vec::new());
    }
    let list = list.value(row);
    let list = list.as_string_view();
    Ok(list.iter().map(|text| text.map(str::to_owned)).collect())
}

fn bytes(batch: &RecordBatch, name: &str, row: usize) -> io::Result<Option<Vec<u8>>> {
    let column = batch
        .column_by_name(name)
        .ok_or_else(|| wrong("a column is missing"))?;
    let column = column.as_binary_view();
    Ok(column.is_valid(row).then(|| column.value(row).to_vec()))
}

pub(crate) fn stored_sites(
    batches: &[RecordBatch],
) -> io::Result<HashMap<u64, Arc<StoredSite>, RandomState>> {
    let mut sites = HashMap::default();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let id = number(batch, "site", row)?.ok_or_else(|| wrong("a site without a number"))?;
            sites.insert(id, Arc::new(site(batch, row)?));
        }
    }
    Ok(sites)
}

fn site(batch: &RecordBatch, row: usize) -> io::Result<StoredSite> {
    let number = |name| number(batch, name, row);
    let mut front = (Vec::new(), 0);
    let fields = [
        (field::MAGIC, number("magic")?),
        (field::FILE, number("file_address")?),
        (field::LINE, number("line")?),
        (field::LEVEL, number("level")?),
        (field::FORMAT, number("format_address")?),
    ];
    for (tag, value) in fields {
        if let Some(value) = value {
            front.0.extend(encoded(16, |encoder| {
                encoder.uint(tag.into())?;
                match tag {
                    field::MAGIC => encoder.uint64(value),
                    _ => encoder.uint(value),
                }
            }));
            front.1 += 1;
        }
    }
    let mut spelled = (Vec::new(), 0);
    for (tag, name) in [
        (field::FORMAT_TEXT, "format_text"),
        (field::FILE_TEXT, "file_text"),
    ] {
        if let Some(text) = bytes(batch, name, row)? {
            spelled.0.extend(encoded(text.len() + 16, |encoder| {
                encoder.uint(tag.into())?;
                encoder.raw(&text)
            }));
            spelled.1 += 1;
        }
    }
    let types = texts(batch, "types", row)?.into_iter();
    let types: Option<Vec<_>> = types.map(|name| Type::of_name(&name?)).collect();
    let types = types.ok_or_else(|| wrong("a type of argument that is not known"))?;
    let names = texts(batch, "names", row)?;
    let args = number("args")?.map(|args| args as usize);
    let keys = number("keys")?.map(|keys| keys as usize);
    let len = args.unwrap_or(0).checked_add(keys.unwrap_or(0));
    if len != Some(types.len()) || names.len() != types.len() {
        return Err(wrong("a site whose values are not as many as their names"));
    }
    let keys = keys.map(|_| {
        let names = names[args.unwrap_or(0)..].iter();
        let key = |name: &Option<String>| {
            let name = name.as_deref().unwrap_or_default();
            encoded(name.len() + 16, |encoder| encoder.raw(name.as_bytes()))
        };
        names.map(key).collect()
    });
    let args = args.map(|len| {
        let head = encoded(16, |encoder| {
            encoder.uint(field::ARGS.into())?;
            encoder.array(len as u32)
        });
        (head, len)
    });
    // A site with more values than columns has no records but whole ones.
    let slots = slots(&types).unwrap_or_default().into_iter();
    let slots = slots.map(|slot| slot.map(index_of)).collect();
    Ok(StoredSite {
        front,
        texts: spelled,
        kind: number("kind")?,
        slots,
        types,
        args,
        keys,
    })
}

pub(crate) fn stored_threads(
    batches: &[RecordBatch],
) -> io::Result<HashMap<(u64, u32), Option<u64>, RandomState>> {
    let mut threads = HashMap::default();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let run = number(batch, "run", row)?.unwrap_or(0);
            let thread = number(batch, "thread", row)?.unwrap_or(0) as u32;
            threads.insert((run, thread), number(batch, "pthread", row)?);
        }
    }
    Ok(threads)
}

/// A file as it was when it was archived.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) identity: Identity,
    /// What it had lost, in the words of a note.
    pub(crate) losses: Option<String>,
}

pub(crate) fn kept_files(batches: &[RecordBatch]) -> io::Result<Vec<Kept>> {
    let mut files = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let (Some(device), Some(inode), Some(bytes)) = (
                number(batch, "device", row)?,
                number(batch, "inode", row)?,
                number(batch, "bytes", row)?,
            ) else {
                continue;
            };
            let modified = batch.column_by_name("modified");
            let modified = modified.ok_or_else(|| wrong("a column is missing"))?;
            let losses = batch.column_by_name("made_from");
            let losses = losses
                .ok_or_else(|| wrong("a column is missing"))?
                .as_string_view();
            files.push(Kept {
                identity: Identity {
                    device,
                    inode,
                    bytes,
                    modified: modified.as_primitive::<Int64Type>().value(row),
                },
                losses: losses.is_valid(row).then(|| losses.value(row).to_owned()),
            });
        }
    }
    Ok(files)
}

/// Gives the stretches of counts of each thread, by its run and number.
pub(crate) fn each_stretch(
    batches: &[RecordBatch],
    mut with: impl FnMut((u64, u64), u64, u64),
) -> io::Result<()> {
    for batch in batches {
        for row in 0..batch.num_rows() {
            let run = number(batch, "run", row)?.unwrap_or(0);
            let thread = number(batch, "thread", row)?.unwrap_or(0);
            for text in texts(batch, "stretches", row)? {
                let (first, last) = folder::stretch(&text.unwrap_or_default())?;
                with((run, thread), first, last);
            }
        }
    }
    Ok(())
}
