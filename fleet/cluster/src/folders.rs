//! The folders a worker may read: an object store that opens regular files under them, and nothing else. Whatever a
//! plan asks for goes through it, so it must not rely on any check that was made before.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, ops::Range};

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::common::{DataFusionError, plan_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use url::Url;

/// The folders of `--data`, without links.
#[derive(Debug)]
pub(crate) struct Folders {
    roots: Vec<PathBuf>,
}

impl Folders {
    pub(crate) fn new(folders: &[PathBuf]) -> io::Result<Folders> {
        let root = |folder: &PathBuf| {
            let root = folder.canonicalize();
            let root = root.and_then(|root| {
                root.is_dir()
                    .then_some(root)
                    .ok_or(io::ErrorKind::NotADirectory.into())
            });
            root.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", folder.display())))
        };
        let roots = folders.iter().map(root).collect::<io::Result<_>>()?;
        Ok(Folders { roots })
    }

    /// Opens a file, and only then asks where it lies: links that change in the meantime gain nothing.
    pub(crate) fn open(&self, path: &std::path::Path) -> Result<File> {
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::NotFound => {
                let text = format!("{}: {e}", path.display());
                Error::NotFound {
                    path: path.display().to_string(),
                    source: text.into(),
                }
            }
            _ => generic(format!("{}: {e}", path.display())),
        };
        let real = path.canonicalize().map_err(failed)?;
        // A pipe or a device may block or act when it is opened.
        if !self.holds(&real) || !real.is_file() {
            return Err(self.refused(path));
        }
        let file = File::open(&real).map_err(failed)?;
        let opened =
            std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(failed)?;
        let regular = file.metadata().map_err(failed)?.is_file();
        if self.holds(&opened) && regular {
            Ok(file)
        } else {
            Err(self.refused(path))
        }
    }

    /// Whether a plan may make this process look at a file, or at all in a folder.
    pub(crate) fn check(&self, path: &std::path::Path) -> Result<()> {
        match path.canonicalize() {
            Ok(real) if self.holds(&real) => Ok(()),
            Ok(_) => Err(self.refused(path)),
            Err(e) => Err(generic(format!("{}: {e}", path.display()))),
        }
    }

    fn holds(&self, path: &std::path::Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn refused(&self, path: &std::path::Path) -> Error {
        generic(format!(
            "{} is not a file under the folders that this worker was started with (--data)",
            path.display()
        ))
    }
}

/// What a store says, without the name of the store.
pub(crate) fn said(error: &Error) -> String {
    match error {
        Error::Generic { source, .. } | Error::NotFound { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}

fn generic(text: String) -> Error {
    Error::Generic {
        store: "logdef",
        source: text.into(),
    }
}

fn read_only<T>() -> Result<T> {
    Err(generic(
        "a worker reads files that it is asked for and does nothing else with them".to_owned(),
    ))
}

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.roots)
    }
}

/// The file and what the store says of it.
fn opened(folders: &Folders, location: Path, options: &GetOptions) -> Result<GetResult> {
    let path = LocalFileSystem::new().path_to_filesystem(&location)?;
    let file = folders.open(&path)?;
    let metadata = file
        .metadata()
        .map_err(|e| generic(format!("{location}: {e}")))?;
    let modified = metadata
        .modified()
        .map_err(|e| generic(format!("{location}: {e}")))?;
    let size = metadata.len();
    let meta = ObjectMeta {
        location,
        last_modified: modified.into(),
        size,
        e_tag: None,
        version: None,
    };
    options.check_preconditions(&meta)?;
    let range = match &options.range {
        Some(range) => range.as_range(size).map_err(|e| generic(e.to_string()))?,
        None => 0..size,
    };
    Ok(GetResult {
        payload: GetResultPayload::File(file, path),
        attributes: Default::default(),
        range,
        meta,
    })
}

fn bytes_of(file: &File, range: &Range<u64>) -> Result<Bytes> {
    let length = range.end.saturating_sub(range.start);
    let have = file.metadata().map_err(|e| generic(e.to_string()))?.len();
    if range.end > have {
        return Err(generic(format!(
            "bytes {} to {} of a file of {have}",
            range.start, range.end
        )));
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|e| generic(e.to_string()))?];
    file.read_exact_at(&mut bytes, range.start)
        .map_err(|e| generic(e.to_string()))?;
    Ok(bytes.into())
}

/// Runs what may wait for a disk outside of the threads that answer.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| generic(e.to_string()))?
}

/// A [`Folders`] as the engine takes it.
#[derive(Clone, Debug)]
pub(crate) struct Store(pub(crate) Arc<Folders>);

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Store {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (folders, location) = (Arc::clone(&self.0), location.clone());
        aside(move || opened(&folders, location, &options)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (folders, location, ranges) = (Arc::clone(&self.0), location.clone(), ranges.to_vec());
        aside(move || {
            let file = folders.open(&LocalFileSystem::new().path_to_filesystem(&location)?)?;
            ranges.iter().map(|range| bytes_of(&file, range)).collect()
        })
        .await
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        read_only()
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        read_only()
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        stream::once(async { read_only() }).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::once(async { read_only() }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        read_only()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        read_only()
    }
}

/// The stores of a worker: files, and no other.
impl ObjectStoreRegistry for Store {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>, DataFusionError> {
        if url.scheme() != "file" {
            return plan_err!("a worker reads files, and not {url}");
        }
        Ok(Arc::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Folders, Store};
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    /// Asks as the engine does, past all that was checked before.
    async fn read(store: &Store, path: &std::path::Path) -> Result<Vec<u8>, String> {
        let path = Path::parse(path.to_str().unwrap().trim_start_matches('/'))
            .map_err(|e| e.to_string())?;
        let whole = store
            .get(&path)
            .await
            .map_err(|e| e.to_string())?
            .bytes()
            .await
            .map_err(|e| e.to_string())?;
        let length = whole.len() as u64;
        let ranges = store
            .get_ranges(&path, std::slice::from_ref(&(0..length)))
            .await
            .map_err(|e| e.to_string())?;
        assert_eq!(ranges[0], whole);
        assert!(
            store
                .get_ranges(&path, std::slice::from_ref(&(0..length + 1)))
                .await
                .is_err()
        );
        assert!(
            store
                .get_ranges(&path, std::slice::from_ref(&(0..u64::MAX)))
                .await
                .is_err()
        );
        Ok(whole.to_vec())
    }

    #[tokio::test]
    async fn files_are_read_under_the_folders_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("own-not"));
        for folder in [&own, &other] {
            std::fs::create_dir_all(folder.join("sub")).unwrap();
            std::fs::write(folder.join("sub/file"), b"text").unwrap();
        }
        symlink(other.join("sub/file"), own.join("out")).unwrap();
        symlink(&other, own.join("folder-out")).unwrap();
        symlink(own.join("sub/file"), own.join("in")).unwrap();
        symlink("/dev/zero", own.join("endless")).unwrap();
        pipe(&own.join("pipe"));
        let store = Store(Arc::new(Folders::new(std::slice::from_ref(&own)).unwrap()));
        for path in ["sub/file", "in"] {
            assert_eq!(read(&store, &own.join(path)).await.unwrap(), b"text");
        }
        let inside = [
            "out",
            "folder-out/sub/file",
            "endless",
            "pipe",
            "sub",
            "",
            "nothing",
        ]
        .map(|path| own.join(path));
        let outside = [
            other.join("sub/file"),
            own.join("../own-not/sub/file"),
            "/etc/passwd".into(),
            "/".into(),
        ];
        for path in inside.iter().chain(&outside) {
            assert!(read(&store, path).await.is_err(), "{}", path.display());
        }
        let path = Path::from_absolute_path(own.join("sub/file")).unwrap();
        assert!(store.put(&path, b"other".as_slice().into()).await.is_err());
        assert!(store.delete(&path).await.is_err());
        assert_eq!(std::fs::read(own.join("sub/file")).unwrap(), b"text");
    }

    fn pipe(path: &std::path::Path) {
        assert!(
            std::process::Command::new("mkfifo")
                .arg(path)
                .status()
                .unwrap()
                .success()
        );
    }

    #[test]
    fn what_is_no_folder_is_an_error() {
        for folder in ["/nowhere/at/all", "/etc/passwd"] {
            assert!(
                Folders::new(&[folder.into()])
                    .unwrap_err()
                    .to_string()
                    .contains(folder)
            );
        }
    }
}
