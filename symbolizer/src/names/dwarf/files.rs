//! The source files of a line table: where their names stand, and the paths of those that were asked for. A
//! table names some hundred files, of which a backtrace shows a few.

use std::cell::OnceCell;
use std::sync::Arc;

use gimli::{
    AttributeValue, DebugLineStrOffset, DebugStrOffset, DebugStrOffsetsIndex, LineProgramHeader,
    Reader as _, Section as _,
};

use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::View;
use crate::names::meter::Reader;

/// Paths beyond this are cut.
const LONGEST_PATH: usize = 64 << 10;

/// The files of one table.
pub(crate) struct Files {
    /// The number of the first file and directory of the lists: 1 before DWARF 5, where 0 is the unit's own.
    first: u64,
    directories: Box<[Text]>,
    files: Box<[File]>,
}

struct File {
    /// 0 is where the unit was compiled.
    directory: u64,
    name: Text,
    path: OnceCell<Option<Arc<str>>>,
}

/// Where a string stands: an offset in a section, or an index.
#[derive(Clone, Copy)]
enum Text {
    InTable(usize),
    InStrings(usize),
    InLineStrings(usize),
    InSupplement(usize),
    Index(usize),
    Unknown,
}

impl Files {
    /// Those that a table's `header` lists. `table` is the section that it stands in.
    pub fn of(header: &LineProgramHeader<Reader<'_>>, table: &Reader<'_>) -> Files {
        let directories = header.include_directories().iter();
        let files = header.file_names().iter().map(|file| File {
            directory: file.directory_index(),
            name: Text::of(file.path_name(), table),
            path: OnceCell::new(),
        });
        Files {
            first: u64::from(header.version() <= 4),
            directories: directories.map(|&it| Text::of(it, table)).collect(),
            files: files.collect(),
        }
    }

    /// The path of a file, below the directory that the unit was compiled in.
    pub fn path<'a>(&self, number: u64, view: &View<'a>, root: &Root<'a>) -> Option<Arc<str>> {
        let Some(index) = number.checked_sub(self.first) else {
            let name = root.unit.name?;
            return Some(finish(joined(base(root)?, &name).ok()?));
        };
        let file = self.files.get(usize::try_from(index).ok()?)?;
        let path = file.path.get_or_init(|| {
            let path = self.joined_path(file, view, root).ok()?;
            Some(finish(path))
        });
        path.clone()
    }

    fn joined_path<'a>(
        &self,
        file: &File,
        view: &View<'a>,
        root: &Root<'a>,
    ) -> gimli::Result<String> {
        let mut path = base(root).unwrap_or_default();
        let directory = file.directory.checked_sub(self.first);
        let directory = directory.filter(|_| file.directory != 0);
        let directory = directory.and_then(|it| self.directories.get(usize::try_from(it).ok()?));
        if let Some(directory) = directory {
            path = joined(path, &directory.read(view, root)?)?;
        }
        joined(path, &file.name.read(view, root)?)
    }
}

impl Text {
    fn of<'a>(value: AttributeValue<Reader<'a>>, table: &Reader<'a>) -> Text {
        match value {
            AttributeValue::String(text) => Text::InTable(text.offset_from(table)),
            AttributeValue::DebugStrRef(at) => Text::InStrings(at.0),
            AttributeValue::DebugLineStrRef(at) => Text::InLineStrings(at.0),
            AttributeValue::DebugStrRefSup(at) => Text::InSupplement(at.0),
            AttributeValue::DebugStrOffsetsIndex(index) => Text::Index(index.0),
            _ => Text::Unknown,
        }
    }

    fn read<'a>(self, view: &View<'a>, root: &Root<'a>) -> gimli::Result<Reader<'a>> {
        let value = match self {
            Text::InTable(at) => {
                let mut rest = *view.debug_line.reader();
                rest.skip(at)?;
                AttributeValue::String(rest.read_null_terminated_slice()?)
            }
            Text::InStrings(at) => AttributeValue::DebugStrRef(DebugStrOffset(at)),
            Text::InLineStrings(at) => AttributeValue::DebugLineStrRef(DebugLineStrOffset(at)),
            Text::InSupplement(at) => AttributeValue::DebugStrRefSup(DebugStrOffset(at)),
            Text::Index(index) => AttributeValue::DebugStrOffsetsIndex(DebugStrOffsetsIndex(index)),
            Text::Unknown => return Err(gimli::Error::ExpectedStringAttributeValue),
        };
        view.attr_string(&root.unit, value)
    }
}

/// The directory that the unit was compiled in, if it says so and can be read.
fn base(root: &Root<'_>) -> Option<String> {
    match root.unit.comp_dir {
        Some(directory) => Some(directory.to_string_lossy().ok()?.into_owned()),
        None => Some(String::new()),
    }
}

/// `path` below `base`, or `path` alone if it begins at a root, also one of Windows.
fn joined(mut base: String, path: &Reader<'_>) -> gimli::Result<String> {
    let path = path.to_string_lossy()?;
    let is_windows = |it: &str| it.starts_with('\\') || it.get(1..3) == Some(":\\");
    if path.starts_with('/') || is_windows(&path) || path.get(1..3) == Some(":/") {
        return Ok(path.into_owned());
    }
    let separator = if is_windows(&base) { '\\' } else { '/' };
    if !base.is_empty() && !base.ends_with(separator) {
        base.push(separator);
    }
    base.push_str(&path);
    Ok(base)
}

fn finish(mut path: String) -> Arc<str> {
    if path.len() > LONGEST_PATH {
        let is_whole = |it: &usize| path.is_char_boundary(*it);
        let end = (0..=LONGEST_PATH).rev().find(is_whole);
        path.truncate(end.unwrap_or(0));
    }
    path.into()
}
