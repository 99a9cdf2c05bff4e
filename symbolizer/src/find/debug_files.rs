//! Finding what completes an image: its separate debug file, the supplementary file several debug
//! files share, the package of its split units. Each is checked against what refers to it before
//! it is used. What is in them is not looked at here.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use gimli::{EndianSlice, RunTimeEndian};
use object::Object;

use crate::error::Refusal;
use crate::find::digests::Purpose;
use crate::find::fetch::Artifact;
use crate::find::locator::{Locator, below, by_build_id, is_inside};
use crate::image::debug_files::{DebugFiles, Found};
use crate::image::elf::Elf;
use crate::limits::Limits;

impl DebugFiles for Locator {
    fn find(&self, image: &Arc<Elf>, path: &Path) -> Found {
        find(image, path, self)
    }

    fn split_units(&self, image: &Path, comp_dir: &[u8], path: &[u8]) -> Vec<PathBuf> {
        let options = self.options();
        let path = Path::new(OsStr::from_bytes(path));
        let recorded = Path::new(OsStr::from_bytes(comp_dir)).join(path);
        let mut paths = Vec::new();
        if options.use_logged_paths {
            paths.push(recorded.clone());
        }
        let beside = image.parent().map(Path::to_owned);
        let given = options.debug_dirs.iter().chain(&options.image_dirs);
        for dir in beside.iter().chain(given) {
            paths.extend(below(dir, path));
            paths.extend(below(dir, &recorded));
        }
        paths
    }

    fn read(&self, path: &Path) -> Result<Elf, Refusal> {
        Elf::parse(self.bytes(path, Purpose::DebugFile)?)
    }

    fn limits(&self) -> &Limits {
        &self.options().limits
    }
}

fn find(image: &Arc<Elf>, path: &Path, locator: &Locator) -> Found {
    let mut search = Search {
        locator,
        refused: Vec::new(),
        missing: Vec::new(),
    };
    let separate = if image.has_section(".debug_info") {
        None
    } else {
        search.debug_file(image, path)
    };
    let (main, main_path) = match separate {
        Some((elf, path)) => (Arc::new(elf), path),
        None => (image.clone(), path.to_owned()),
    };
    let supplementary = search.supplementary(&main, &main_path);
    let package = search.package(path, &main_path);
    Found {
        main,
        supplementary,
        package,
        refused: search.refused,
        missing: search.missing,
    }
}

struct Search<'a> {
    locator: &'a Locator,
    refused: Vec<(PathBuf, Refusal)>,
    missing: Vec<PathBuf>,
}

impl Search<'_> {
    /// The separate debug file: by build ID, by `.gnu_debuglink`, from a server.
    fn debug_file(&mut self, image: &Elf, path: &Path) -> Option<(Elf, PathBuf)> {
        if let Some(id) = &image.build_id {
            let places = self.dirs().filter_map(|dir| by_build_id(dir, id, ".debug"));
            let found = self.first(places.collect(), |elf| elf.check_build_id(id));
            if found.is_some() {
                return found;
            }
        }
        let link = debug_link(image);
        let refused = self.refused.len();
        if let Some((name, crc)) = &link {
            let found = self.first_linked(link_places(self.locator, path, name), image, *crc);
            if found.is_some() {
                return found;
            }
        }
        let found = self.fetched(image);
        // A file that was refused has its line already.
        if let (None, Some((name, _)), true) = (&found, link, self.refused.len() == refused) {
            self.missing.push(name.into());
        }
        found
    }

    fn fetched(&mut self, image: &Elf) -> Option<(Elf, PathBuf)> {
        let id = image.build_id.as_deref()?;
        let (bytes, source) = self.locator.fetch(id, Artifact::DebugInfo)?;
        match Elf::parse(bytes).and_then(|elf| elf.check_build_id(id).map(|()| elf)) {
            Ok(elf) => Some((elf, source)),
            Err(refusal) => {
                self.refused.push((source, refusal));
                None
            }
        }
    }

    /// What `main` shares with other debug files.
    fn supplementary(&mut self, main: &Elf, main_path: &Path) -> Option<Elf> {
        let (name, id) = supplementary_link(main)?;
        let name = Path::new(OsStr::from_bytes(&name));
        let mut places: Vec<PathBuf> = Vec::new();
        // Usually relative to the debug file, and climbing: `../../.dwz/x86_64/name.debug`.
        let beside = main_path.parent().unwrap_or(Path::new("/"));
        let direct = normalized(&beside.join(name));
        let options = self.locator.options();
        if options.use_logged_paths || self.dirs().any(|dir| is_inside(dir, &direct)) {
            places.push(direct);
        }
        places.extend(below(beside, name));
        for dir in self.dirs() {
            places.extend(by_build_id(dir, &id, ".debug"));
            places.extend(below(&dir.join(".dwz"), name));
            places.extend(below(dir, name));
        }
        let refused = self.refused.len();
        let checked = self.first(places, |elf| {
            let found = supplementary_id(elf).or_else(|| elf.build_id.clone());
            if found.as_deref() == Some(&*id) {
                Ok(())
            } else {
                Err(Refusal::BuildId {
                    found,
                    wanted: id.clone(),
                })
            }
        });
        if checked.is_none() && self.refused.len() == refused {
            self.missing.push(name.to_owned());
        }
        checked.map(|(elf, _)| elf)
    }

    /// The package of split units. Whether a unit in it is the one wanted is seen by its ID.
    fn package(&mut self, image: &Path, main: &Path) -> Option<Elf> {
        let with_suffix = |path: &Path| {
            let mut name = path.as_os_str().to_owned();
            name.push(".dwp");
            PathBuf::from(name)
        };
        let mut places = vec![with_suffix(image)];
        if main != image {
            places.push(with_suffix(main));
            places.push(main.with_extension("dwp"));
        }
        for dir in self.dirs() {
            places.extend(below(dir, &with_suffix(image)));
        }
        let checked = self.first(places, |elf| {
            if elf.has_section(".debug_cu_index") {
                Ok(())
            } else {
                Err(Refusal::NotElf("it has no index of units".to_owned()))
            }
        });
        checked.map(|(elf, _)| elf)
    }

    fn dirs(&self) -> impl Iterator<Item = &Path> {
        let options = self.locator.options();
        let dirs = options.debug_dirs.iter().chain(&options.image_dirs);
        dirs.map(PathBuf::as_path)
    }

    /// The first file that can be read and passes `check`.
    fn first(
        &mut self,
        places: Vec<PathBuf>,
        check: impl Fn(&Elf) -> Result<(), Refusal>,
    ) -> Option<(Elf, PathBuf)> {
        self.first_of(places, |locator, path| {
            let elf = DebugFiles::read(locator, path)?;
            check(&elf)?;
            Ok(elf)
        })
    }

    /// The first file with this CRC-32. It is taken over the bytes, before they are parsed.
    fn first_linked(
        &mut self,
        places: Vec<PathBuf>,
        image: &Elf,
        crc: u32,
    ) -> Option<(Elf, PathBuf)> {
        self.first_of(places, |locator, path| {
            let elf = Elf::parse(locator.bytes_with_crc(path, crc)?)?;
            // A debug file made without its build ID is as good as its CRC.
            if let (Some(wanted), Some(_)) = (&image.build_id, &elf.build_id) {
                elf.check_build_id(wanted)?;
            }
            Ok(elf)
        })
    }

    fn first_of(
        &mut self,
        places: Vec<PathBuf>,
        read: impl Fn(&Locator, &Path) -> Result<Elf, Refusal>,
    ) -> Option<(Elf, PathBuf)> {
        for (index, path) in places.iter().enumerate() {
            if places[..index].contains(path) {
                continue;
            }
            match read(self.locator, path) {
                Ok(elf) => return Some((elf, path.clone())),
                Err(Refusal::NotFound) => {}
                Err(refusal) => self.refused.push((path.clone(), refusal)),
            }
        }
        None
    }
}

/// The bare file name in `.gnu_debuglink`, and the CRC-32 of that file.
fn debug_link(image: &Elf) -> Option<(OsString, u32)> {
    let file = image.object().ok()?;
    let (name, crc) = file.gnu_debuglink().ok()??;
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    Some((name.to_owned(), crc))
}

/// Where a debug link's file may be: beside the image, in `.debug` beside it, and under the image's
/// directory in the debug directories.
fn link_places(locator: &Locator, image: &Path, name: &OsStr) -> Vec<PathBuf> {
    let beside = image.parent().unwrap_or(Path::new("/"));
    let mut places = vec![beside.join(name), beside.join(".debug").join(name)];
    // A debug link may name the image itself, when both had one name in different directories.
    places.retain(|place| place != image);
    let options = locator.options();
    let absolute = beside.canonicalize().unwrap_or_default();
    for dir in &options.debug_dirs {
        places.extend(below(dir, &absolute.join(name)));
    }
    for dir in &options.image_dirs {
        places.extend(below(dir, Path::new(name)));
    }
    places.retain(|place| place != image);
    places
}

/// The path and the ID of the supplementary file, from `.gnu_debugaltlink` or `.debug_sup`.
fn supplementary_link(main: &Elf) -> Option<(Vec<u8>, Vec<u8>)> {
    let file = main.object().ok()?;
    match file.gnu_debugaltlink().ok()? {
        Some((name, id)) => Some((name.to_vec(), id.to_vec())),
        None => {
            let link = debug_sup(main)?;
            (!link.is_supplementary).then_some((link.name, link.id))
        }
    }
}

/// What a supplementary file says it is.
fn supplementary_id(elf: &Elf) -> Option<Vec<u8>> {
    debug_sup(elf)
        .filter(|it| it.is_supplementary)
        .map(|it| it.id)
}

/// The section `.debug_sup` (DWARF 5, section 7.3.6).
struct DebugSup {
    is_supplementary: bool,
    name: Vec<u8>,
    id: Vec<u8>,
}

fn debug_sup(elf: &Elf) -> Option<DebugSup> {
    const LARGEST: u64 = 64 << 10;
    let bytes = elf.section(".debug_sup", &mut { LARGEST }).ok()??;
    parse_debug_sup(bytes.as_slice(), elf.endian).ok()
}

fn parse_debug_sup(bytes: &[u8], endian: RunTimeEndian) -> gimli::Result<DebugSup> {
    use gimli::Reader as _;

    let mut reader = EndianSlice::new(bytes, endian);
    let version = reader.read_u16()?;
    if version != 5 {
        return Err(gimli::Error::UnknownVersion(version.into()));
    }
    let is_supplementary = reader.read_u8()? != 0;
    let name = reader.read_null_terminated_slice()?;
    let length = reader.read_uleb128()?;
    let id = reader.split(usize::try_from(length).unwrap_or(usize::MAX))?;
    Ok(DebugSup {
        is_supplementary,
        name: name.slice().to_vec(),
        id: id.slice().to_vec(),
    })
}

/// A path without `.` and `..`, by name alone: a link on the way is not followed.
fn normalized(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                result.pop();
            }
            Component::CurDir => {}
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_sup_is_read_as_dwarf_5_lays_it_out() {
        let bytes = [
            &[5, 0][..], // version
            &[0],        // refers to a supplementary file
            b"common.debug\0",
            &[4, 0xde, 0xad, 0xbe, 0xef], // checksum of four bytes
        ]
        .concat();
        let link = parse_debug_sup(&bytes, RunTimeEndian::Little).unwrap();
        assert!(!link.is_supplementary);
        assert_eq!(link.name, b"common.debug");
        assert_eq!(link.id, [0xde, 0xad, 0xbe, 0xef]);
        for length in 0..bytes.len() {
            assert!(parse_debug_sup(&bytes[..length], RunTimeEndian::Little).is_err());
        }
    }

    #[test]
    fn climbing_names_are_resolved_by_name() {
        let path = Path::new("/debug/.build-id/ab/../../.dwz/./x.debug");
        assert_eq!(normalized(path), Path::new("/debug/.dwz/x.debug"));
        assert_eq!(normalized(Path::new("/../../x")), Path::new("/x"));
    }
}
