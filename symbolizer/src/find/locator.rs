//! Finding the file that a log means. Paths in a log are hints from a stranger: they choose among
//! files in directories the user named, never more, and a file is taken only after its fingerprint
//! agrees. Nothing here looks inside DWARF.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use logdef_wire::Magic;

use crate::error::{Error, Refusal};
use crate::find::build_ids;
use crate::find::digests::{Digests, Purpose};
use crate::find::fetch::{Artifact, Fetch};
use crate::fingerprint::{Digest, Fingerprint, Hex};
use crate::image::elf::Elf;
use crate::image::{Image, Proof};
use crate::limits::Limits;
use crate::open::{self, FileBytes, Regular};

/// Where to look for files.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directories with executables and libraries, or such files themselves. Searched for the
    /// logged path below them, the bare file name, the build ID (`.build-id/ab/cdef…`), and then
    /// altogether.
    pub image_dirs: Vec<PathBuf>,
    /// Directories with separate debug files, laid out like `/usr/lib/debug`.
    pub debug_dirs: Vec<PathBuf>,
    /// Whether paths in logs and in debug information may be opened as they stand, where the
    /// program ran on this machine. Only for logs of one's own.
    pub use_logged_paths: bool,
    /// What a file may cost.
    pub limits: Limits,
}

/// Where packages of debug files are installed, below the root of a system.
const DEBUG_DIR: &str = "usr/lib/debug";

impl Options {
    /// The same, with the debug files that are installed in this system, and in those whose roots are
    /// directories of images.
    #[must_use]
    pub fn with_installed_debug_files(mut self) -> Options {
        let roots = [Path::new("/")].into_iter();
        let roots = roots.chain(self.image_dirs.iter().map(PathBuf::as_path));
        self.debug_dirs
            .extend(roots.map(|root| root.join(DEBUG_DIR)));
        self
    }
}

/// Finds images. Cheap to clone; clones share what they found out about the directories.
#[derive(Clone, Debug)]
pub struct Locator {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    fetch: Option<Box<dyn Fetch>>,
    /// Every file below the image directories, with its size.
    files: OnceLock<Vec<(PathBuf, u64)>>,
    /// Those with a build ID.
    build_ids: OnceLock<HashMap<Vec<u8>, Vec<PathBuf>>>,
    /// What was found out about files that were read.
    digests: Digests,
    /// Every executable among them, by the magic of its content.
    magics: OnceLock<HashMap<Magic, PathBuf>>,
}

/// What a candidate must agree with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strictness {
    /// The digest, if the log has one.
    SameBytes,
    /// The digest or the build ID.
    SameAddresses,
}

impl Strictness {
    /// Whether another digest than the one wanted may still do.
    fn is_lenient(self, wanted: &Fingerprint) -> bool {
        self == Strictness::SameAddresses && wanted.build_id.is_some()
    }
}

impl Locator {
    /// A locator that looks where `options` says.
    pub fn new(options: Options) -> Locator {
        Locator::build(options, None)
    }

    /// A locator that asks `fetch` for what is in none of the directories.
    pub fn with_fetch(options: Options, fetch: Box<dyn Fetch>) -> Locator {
        Locator::build(options, Some(fetch))
    }

    fn build(options: Options, fetch: Option<Box<dyn Fetch>>) -> Locator {
        Locator {
            shared: Arc::new(Shared {
                options,
                fetch,
                files: OnceLock::new(),
                build_ids: OnceLock::new(),
                digests: Digests::default(),
                magics: OnceLock::new(),
            }),
        }
    }

    /// What the locator was made with.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// The image that logged, to read strings from. If the log has its digest, the file must have
    /// it too; if there is only a build ID, that decides, and [`Image::proof`] says so.
    pub fn image(&self, logged_path: &[u8], wanted: &Fingerprint) -> Result<Image, Error> {
        self.find(logged_path, wanted, Strictness::SameBytes)
    }

    /// An image with the addresses of the one that logged, to name its code. A build ID that agrees
    /// is enough, and the unstripped twin of a stripped program is taken before it.
    pub fn for_symbols(&self, logged_path: &[u8], wanted: &Fingerprint) -> Result<Image, Error> {
        self.find(logged_path, wanted, Strictness::SameAddresses)
    }

    /// The image whose content a magic names, anywhere in the image directories: for logs
    /// that have lost all other descriptions of it. Reads every executable there once, by
    /// whatever names it stands there, and no more of them than [`Limits::total_size`].
    pub fn by_magic(&self, magic: Magic) -> Option<Image> {
        let path = self.magics().get(&magic)?;
        let bytes = open::read_regular(path, self.options().limits.file_size).ok()?;
        // The file may be another since its magics were taken.
        let is_same = magic_of(&bytes) == Some(magic);
        let elf = Elf::parse(bytes).ok()?;
        let proof = if is_same {
            Proof::Digest
        } else if magic_of_build_id(&elf) == Some(magic) {
            Proof::BuildId
        } else {
            return None;
        };
        Some(self.made(elf, path.clone(), proof))
    }

    fn magics(&self) -> &HashMap<Magic, PathBuf> {
        self.shared.magics.get_or_init(|| {
            let limits = &self.options().limits;
            let mut seen = HashSet::new();
            let files = self.files().iter().map(|(path, _)| path);
            let executables = files.filter(|path| open::starts_with(path, b"\x7fELF"));
            let mut magics = HashMap::new();
            for path in executables {
                let Ok(file) = Regular::open(path) else {
                    continue;
                };
                if !seen.insert(file.id()) {
                    continue;
                }
                let digests = &self.shared.digests;
                let Ok(bytes) = digests.read(file, Purpose::Image, limits) else {
                    continue;
                };
                let of_content = magic_of(&bytes);
                let elf = Elf::parse(bytes).ok().filter(|elf| !elf.only_debug);
                let of_build_id = elf.as_ref().and_then(magic_of_build_id);
                for magic in of_content.into_iter().chain(of_build_id) {
                    magics.entry(magic).or_insert_with(|| path.clone());
                }
            }
            magics
        })
    }

    /// The image at `path`, which the user named; nothing is compared.
    pub fn open(&self, path: &Path) -> Result<Image, Error> {
        self.read(path)
            .map(|elf| self.made(elf, path.to_owned(), Proof::Named))
            .map_err(|refusal| Error {
                wanted: path.to_owned(),
                refused: vec![(path.to_owned(), refusal)],
            })
    }

    /// The image that some bytes are, which the caller has from `path` or elsewhere; nothing is
    /// compared.
    pub fn parse(&self, path: &Path, bytes: Vec<u8>) -> Result<Image, Error> {
        Elf::parse(Arc::new(bytes.into()))
            .map(|elf| self.made(elf, path.to_owned(), Proof::Named))
            .map_err(|refusal| Error {
                wanted: path.to_owned(),
                refused: vec![(path.to_owned(), refusal)],
            })
    }

    fn find(
        &self,
        logged_path: &[u8],
        wanted: &Fingerprint,
        strictness: Strictness,
    ) -> Result<Image, Error> {
        let logged_path = Path::new(OsStr::from_bytes(logged_path));
        let mut error = Error {
            wanted: logged_path.to_owned(),
            refused: Vec::new(),
        };
        if wanted.digest.is_none() && wanted.build_id.is_none() {
            error
                .refused
                .push((logged_path.to_owned(), Refusal::NothingToMatch));
            return Err(error);
        }
        let mut tried = BTreeSet::new();
        // For names a stripped image will do only if its unstripped twin is nowhere.
        let mut stripped = None;
        let near = self.candidates(logged_path, wanted, strictness);
        let far = || self.candidates_far(logged_path, wanted);
        // The directories are walked only if the file is not where its name says.
        for candidate in near.into_iter().chain(std::iter::once_with(far).flatten()) {
            if !tried.insert(candidate.clone()) {
                continue;
            }
            match self.accept(&candidate, wanted, strictness) {
                Ok((elf, proof)) => {
                    let will_do =
                        strictness == Strictness::SameBytes || elf.has_section(".debug_info");
                    let image = self.made(elf, candidate, proof);
                    if will_do {
                        return Ok(image);
                    }
                    stripped.get_or_insert(image);
                }
                Err(Refusal::NotFound) => {}
                Err(refusal) => error.refused.push((candidate, refusal)),
            }
        }
        if let Some(image) = stripped {
            return Ok(image);
        }
        if let Some(id) = &wanted.build_id
            && let Some((bytes, source)) = self.fetch(id, Artifact::Executable)
        {
            let digest_of = |bytes: &[u8], like: Digest| like.same_of(bytes);
            match compare(bytes, wanted, strictness, digest_of) {
                Ok((elf, proof)) => return Ok(self.made(elf, source, proof)),
                Err(refusal) => error.refused.push((source, refusal)),
            }
        }
        Err(error)
    }

    /// A file from the server, if there is one to ask, and the name to show for it.
    pub(crate) fn fetch(&self, build_id: &[u8], what: Artifact) -> Option<(FileBytes, PathBuf)> {
        let limit = self.options().limits.file_size;
        let bytes = self.shared.fetch.as_ref()?.fetch(build_id, what, limit);
        // A server that cannot be reached knows nothing.
        let bytes = bytes.ok()??;
        let source = PathBuf::from(format!("build-id:{}", Hex(build_id)));
        Some((Arc::new(bytes.into()), source))
    }

    /// Files that may be the image, by name.
    fn candidates(
        &self,
        logged_path: &Path,
        wanted: &Fingerprint,
        strictness: Strictness,
    ) -> Vec<PathBuf> {
        let options = self.options();
        let mut paths = Vec::new();
        if options.use_logged_paths && logged_path.is_absolute() {
            paths.push(logged_path.to_owned());
        }
        for dir in &options.image_dirs {
            if dir.is_file() {
                paths.push(dir.clone());
            }
            paths.extend(below(dir, logged_path));
            paths.extend(
                wanted
                    .build_id
                    .as_deref()
                    .and_then(|id| by_build_id(dir, id, "")),
            );
        }
        if strictness == Strictness::SameAddresses {
            for dir in options.image_dirs.iter().chain(&options.debug_dirs) {
                paths.extend(
                    wanted
                        .build_id
                        .as_deref()
                        .and_then(|id| by_build_id(dir, id, ".debug")),
                );
            }
        }
        paths
    }

    /// Files anywhere in the image directories that have the right build ID, the right name or the
    /// right size.
    fn candidates_far(&self, logged_path: &Path, wanted: &Fingerprint) -> Vec<PathBuf> {
        let name = logged_path.file_name();
        let files = self.files();
        let id = wanted.build_id.as_ref();
        let same_build = id.and_then(|id| self.build_ids().get(id));
        let has_size = |size: u64| wanted.digest.is_some() && wanted.size == Some(size);
        let named = files
            .iter()
            .filter(|(path, size)| has_size(*size) || (name.is_some() && path.file_name() == name))
            .map(|(path, _)| path);
        let same_build = same_build.into_iter().flatten();
        same_build.chain(named).cloned().collect()
    }

    fn files(&self) -> &[(PathBuf, u64)] {
        self.shared.files.get_or_init(|| {
            let options = self.options();
            list_files(&options.image_dirs, options.limits.directory_entries)
        })
    }

    /// Every file in the image directories that has a build ID where linkers put it.
    fn build_ids(&self) -> &HashMap<Vec<u8>, Vec<PathBuf>> {
        self.shared.build_ids.get_or_init(|| {
            let mut build_ids: HashMap<Vec<u8>, Vec<PathBuf>> = HashMap::new();
            for (path, _) in self.files() {
                if let Some(id) = build_ids::of_file(path) {
                    build_ids.entry(id).or_default().push(path.clone());
                }
            }
            build_ids
        })
    }

    /// Compares a candidate with what is wanted, and reads it if it may be that.
    fn accept(
        &self,
        path: &Path,
        wanted: &Fingerprint,
        strictness: Strictness,
    ) -> Result<(Elf, Proof), Refusal> {
        let mut file = Regular::open(path)?;
        let id = file.id();
        if let Some(digest) = wanted.digest.filter(|_| !strictness.is_lenient(wanted)) {
            self.check_digest(&file, wanted.size, digest)?;
        } else if let Some(build_id) = &wanted.build_id {
            self.check_build_id(&mut file, wanted, build_id)?;
        }
        let digests = &self.shared.digests;
        let bytes = digests.read(file, Purpose::Image, &self.options().limits)?;
        let digest_of = |bytes: &[u8], like: Digest| digests.of(id, bytes, like);
        compare(bytes, wanted, strictness, digest_of)
    }

    /// Fails if a file has another size or digest. It is hashed in pieces: what is not wanted is
    /// never in memory.
    fn check_digest(
        &self,
        file: &Regular,
        size: Option<u64>,
        wanted: Digest,
    ) -> Result<(), Refusal> {
        let found = file.id().size;
        if let Some(wanted) = size.filter(|size| *size != found) {
            return Err(Refusal::Size { found, wanted });
        }
        let limits = &self.options().limits;
        let found = self.shared.digests.digest(file, wanted, limits)?;
        if found != wanted {
            return Err(Refusal::Digest { found, wanted });
        }
        Ok(())
    }

    /// Fails if a file has another build ID, or none where its digest is another too.
    fn check_build_id(
        &self,
        file: &mut Regular,
        wanted: &Fingerprint,
        build_id: &[u8],
    ) -> Result<(), Refusal> {
        let head = file.head(build_ids::HEAD)?;
        let in_head = build_ids::of_head(&head);
        let is_in_head = in_head.is_some();
        let elsewhere = || build_ids::of_sections(file, &head);
        let digests = &self.shared.digests;
        let found = in_head.or_else(|| digests.build_id(file.id(), elsewhere));
        if found.as_deref() == Some(build_id) {
            return Ok(());
        }
        if let Some(digest) = wanted.digest.filter(|_| !is_in_head) {
            match self.check_digest(file, wanted.size, digest) {
                Err(Refusal::Digest { .. } | Refusal::Size { .. }) => {}
                other => return other,
            }
        }
        let wanted = build_id.to_vec();
        Err(Refusal::BuildId { found, wanted })
    }

    /// The file at `path`, which the user named: it may be as large as any one may.
    fn read(&self, path: &Path) -> Result<Elf, Refusal> {
        Elf::parse(open::read_regular(path, self.options().limits.file_size)?)
    }

    /// The bytes of a file that an image or a log named, if not too much is read for that purpose.
    pub(crate) fn bytes(&self, path: &Path, purpose: Purpose) -> Result<FileBytes, Refusal> {
        let file = Regular::open(path)?;
        let limits = &self.options().limits;
        self.shared.digests.read(file, purpose, limits)
    }

    /// The bytes of a debug file, if it has this CRC-32.
    pub(crate) fn bytes_with_crc(&self, path: &Path, wanted: u32) -> Result<FileBytes, Refusal> {
        let file = Regular::open(path)?;
        let (digests, limits) = (&self.shared.digests, &self.options().limits);
        let found = digests.crc(&file, limits)?;
        if found != wanted {
            return Err(Refusal::Crc { found, wanted });
        }
        digests.read(file, Purpose::DebugFile, limits)
    }

    /// The image that was read from `path`, which asks this locator for what completes it.
    fn made(&self, elf: Elf, path: PathBuf, proof: Proof) -> Image {
        Image::new(elf, path, proof, Arc::new(self.clone()))
    }
}

/// The magic of a file's content.
fn magic_of(bytes: &[u8]) -> Option<Magic> {
    Magic::of_digest(bytes.len() as u64, Digest::sha1(bytes).as_bytes())
}

/// The magic of an image whose file could not be read in the process.
fn magic_of_build_id(elf: &Elf) -> Option<Magic> {
    let digest = Digest::sha1(elf.build_id.as_deref()?);
    Magic::of_digest(0, digest.as_bytes())
}

/// Compares a file with what is wanted, before anything parses it.
fn compare(
    bytes: FileBytes,
    wanted: &Fingerprint,
    strictness: Strictness,
    digest_of: impl FnOnce(&[u8], Digest) -> Digest,
) -> Result<(Elf, Proof), Refusal> {
    if let Some(digest) = wanted.digest {
        let found = digest_of(&bytes, digest);
        let size = wanted.size.unwrap_or(bytes.len() as u64);
        if found == digest && size == bytes.len() as u64 {
            return Ok((Elf::parse(bytes)?, Proof::Digest));
        }
        if !strictness.is_lenient(wanted) {
            return Err(Refusal::Digest {
                found,
                wanted: digest,
            });
        }
    }
    let build_id = wanted.build_id.as_ref().ok_or(Refusal::NothingToMatch)?;
    let elf = Elf::parse(bytes)?;
    elf.check_build_id(build_id)?;
    if elf.only_debug && strictness == Strictness::SameBytes {
        return Err(Refusal::OnlyDebug);
    }
    Ok((elf, Proof::BuildId))
}

/// Where a file of this path may be in `dir`: under the whole path, as in a copy of the other
/// machine's file system, and under its bare name. Only names inside `dir` come back, whatever the
/// path holds and wherever links lead.
pub(crate) fn below(dir: &Path, path: &Path) -> Vec<PathBuf> {
    let names: Vec<&OsStr> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    let climbs = path.components().any(|it| it == Component::ParentDir);
    let Some(bare) = names.last() else {
        return Vec::new();
    };
    let whole: PathBuf = if climbs {
        PathBuf::from(bare)
    } else {
        names.iter().collect()
    };
    let mut paths = vec![dir.join(&whole)];
    if whole.as_os_str() != *bare {
        paths.push(dir.join(bare));
    }
    paths.retain(|path| is_inside(dir, path));
    paths
}

/// Whether `path` exists in `dir`, links resolved.
pub(crate) fn is_inside(dir: &Path, path: &Path) -> bool {
    match (dir.canonicalize(), path.canonicalize()) {
        (Ok(dir), Ok(path)) => path.starts_with(dir),
        _ => false,
    }
}

/// The file of a build ID in the layout that debuggers share: `.build-id/ab/cdef…`. Its links are
/// the work of the user who made the directory, and they do lead out of it, so they are followed.
pub(crate) fn by_build_id(dir: &Path, id: &[u8], suffix: &str) -> Option<PathBuf> {
    let (first, rest) = id.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let mut name = OsString::from(Hex(rest).to_string());
    name.push(suffix);
    let path = dir
        .join(".build-id")
        .join(format!("{first:02x}"))
        .join(name);
    path.exists().then_some(path)
}

/// The regular files below `dirs` with their sizes, no more than `most` directory entries deep or
/// wide. Links are not followed.
fn list_files(dirs: &[PathBuf], most: usize) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    let mut entries_left = most;
    let mut pending: Vec<PathBuf> = dirs.to_vec();
    for file in dirs.iter().filter(|it| it.is_file()) {
        files.extend(
            file.metadata()
                .map(|metadata| (file.clone(), metadata.len())),
        );
    }
    while let Some(dir) = pending.pop() {
        let Ok(entries) = fs::read_dir(&dir) else {
            continue;
        };
        for entry in entries.flatten() {
            if entries_left == 0 {
                return files;
            }
            entries_left -= 1;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) if metadata.is_file() => files.push((entry.path(), metadata.len())),
                _ => {}
            }
        }
    }
    files.sort_unstable();
    files
}
