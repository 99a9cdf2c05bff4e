//! Logs and archives behind `http://`, `https://` and `s3://`. Logs, and the small tables of archives, are copied to a
//! folder of this process's own, once; the records of archives stay where they are, and the engine reads ranges of
//! them. What is copied is read like any other file.

use crate::error;
use datafusion::error::Result;
use futures::StreamExt;
use logdef_archive::Table;
use object_store::path::Path as Place;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use std::collections::HashMap;
use std::error::Error as _;
use std::fs::{self, File};
use std::future::Future;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{panic, thread};
use tempfile::TempDir;
use tokio::runtime::Builder;
use url::{Position, Url};

/// Bytes of the front of a file that show whether it is a log.
const FRONT: u64 = 64;

/// What was copied.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    folder: Option<TempDir>,
    paths: usize,
    /// Where the records are of parts whose other tables were copied.
    records: HashMap<PathBuf, Url>,
    stores: Vec<(Url, Arc<dyn ObjectStore>)>,
}

/// Whether a path is of those that are copied from elsewhere.
pub fn is_remote(path: &str) -> bool {
    ["http://", "https://", "s3://"]
        .iter()
        .any(|scheme| path.starts_with(scheme))
}

impl Copies {
    /// Copies what must be read of a path: parts of archives without their records, and logs.
    pub(crate) fn add(&mut self, path: &str) -> Result<Copied> {
        let failed = |why: &dyn std::fmt::Display| error::at(Path::new(path), why);
        let url = Url::parse(path).map_err(|why| failed(&why))?;
        let place = Place::from_url_path(url.path()).map_err(|why| failed(&why))?;
        let to = self.new_folder().map_err(|why| failed(&why))?;
        let store = store(&url).map_err(|why| failed(&said(&why)))?;
        let fetched = wait(Fetched::of(&*store, &place, &to)).map_err(|why| failed(&said(&why)))?;
        if fetched.parts.is_empty() && fetched.logs.is_empty() {
            return Err(failed(&"neither a log, nor an archive or a folder of logs"));
        }
        let base = &url[..Position::BeforePath];
        let base = Url::parse(base).map_err(|why| failed(&why))?;
        for (part, records) in &fetched.parts {
            let mut url = base.clone();
            url.set_path(records.as_ref());
            self.records.insert(part.clone(), url);
        }
        // Connections live in the runtime that made them, and that one is gone.
        let again = self::store(&base).map_err(|why| failed(&said(&why)))?;
        self.stores.push((base, again));
        Ok(Copied {
            parts: fetched.parts.into_iter().map(|(part, _)| part).collect(),
            logs: fetched.logs,
        })
    }

    /// Where the records of a part are, if they were not copied with it.
    pub(crate) fn records(&self, part: &Path) -> Option<&Url> {
        self.records.get(part)
    }

    /// What the engine reads them with, by the front of their address.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &(Url, Arc<dyn ObjectStore>)> {
        self.stores.iter()
    }

    fn new_folder(&mut self) -> std::io::Result<PathBuf> {
        if self.folder.is_none() {
            self.folder = Some(tempfile::Builder::new().prefix("logdef-sql-").tempdir()?);
        }
        let folder = self
            .folder
            .as_ref()
            .map(TempDir::path)
            .unwrap_or(Path::new("."));
        let folder = folder.join(self.paths.to_string());
        self.paths += 1;
        fs::create_dir(&folder)?;
        Ok(folder)
    }
}

/// The folders of parts, and logs, that were copied.
pub(crate) struct Copied {
    pub(crate) parts: Vec<PathBuf>,
    pub(crate) logs: Vec<PathBuf>,
}

/// What a path led to: copies of logs, and of parts without their records, with the places of those.
#[derive(Default)]
struct Fetched {
    logs: Vec<PathBuf>,
    parts: Vec<(PathBuf, Place)>,
}

impl Fetched {
    async fn of(
        store: &dyn ObjectStore,
        place: &Place,
        to: &Path,
    ) -> object_store::Result<Fetched> {
        let mut fetched = Fetched::default();
        if fetched.part(store, place, to).await? {
            return Ok(fetched);
        }
        if has(store, place).await? {
            fetched.logs.push(copy(store, place, to, None).await?);
            return Ok(fetched);
        }
        let mut listed = store.list_with_delimiter(Some(place)).await?;
        // Their numbers have no zeros before them.
        listed
            .common_prefixes
            .sort_by_key(|it| (it.as_ref().len(), it.clone()));
        for folder in &listed.common_prefixes {
            fetched.part(store, folder, to).await?;
        }
        if fetched.parts.is_empty() {
            for object in &listed.objects {
                fetched.log(store, &object.location, to).await?;
            }
        }
        Ok(fetched)
    }

    /// Copies the small tables of a part, if it is one.
    async fn part(
        &mut self,
        store: &dyn ObjectStore,
        place: &Place,
        to: &Path,
    ) -> object_store::Result<bool> {
        let file = |table: Table| place.clone().join(format!("{}.parquet", table.name()));
        if !has(store, &file(Table::Records)).await? {
            return Ok(false);
        }
        let folder = to.join(place.filename().unwrap_or("part"));
        fs::create_dir(&folder).map_err(local)?;
        for table in Table::ALL {
            if table != Table::Records {
                copy(store, &file(table), &folder, None).await?;
            }
        }
        self.parts.push((folder, file(Table::Records)));
        Ok(true)
    }

    /// Copies a file of a folder, if it is a log.
    async fn log(
        &mut self,
        store: &dyn ObjectStore,
        place: &Place,
        to: &Path,
    ) -> object_store::Result<()> {
        let front = copy(store, place, to, Some(FRONT)).await?;
        if logdef_resync::is_log(&front) {
            self.logs.push(copy(store, place, to, None).await?);
        }
        Ok(())
    }
}

async fn has(store: &dyn ObjectStore, place: &Place) -> object_store::Result<bool> {
    match store.head(place).await {
        Ok(_) => Ok(true),
        Err(Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Copies a file, or the front of it, into a folder.
async fn copy(
    store: &dyn ObjectStore,
    place: &Place,
    to: &Path,
    most: Option<u64>,
) -> object_store::Result<PathBuf> {
    let path = to.join(place.filename().unwrap_or("log"));
    let mut file = File::create(&path).map_err(local)?;
    let mut bytes = store.get(place).await?.into_stream();
    let mut copied = 0;
    while let Some(some) = bytes.next().await {
        let some = some?;
        file.write_all(&some).map_err(local)?;
        copied += some.len() as u64;
        if most.is_some_and(|most| copied >= most) {
            break;
        }
    }
    Ok(path)
}

/// What happened to a copy.
fn local(why: std::io::Error) -> Error {
    Error::Generic {
        store: "the folder for temporary files",
        source: why.into(),
    }
}

/// What went wrong, in a line: with the innermost cause, which may be a certificate that is not trusted.
fn said(error: &Error) -> String {
    let mut text = error.to_string();
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    if let Some(cause) = causes.last().map(ToString::to_string)
        && !text.contains(&cause)
    {
        text = format!("{text}: {cause}");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What reads files of a host or a bucket.
#[cfg(feature = "remote")]
fn store(url: &Url) -> object_store::Result<Arc<dyn ObjectStore>> {
    use object_store::aws::AmazonS3Builder;
    use object_store::http::HttpBuilder;
    use object_store::{ClientOptions, RetryConfig};
    /// How often a request is tried again, after 100 ms, then 200, and so on.
    const AGAIN: usize = 4;
    let retry = RetryConfig {
        max_retries: AGAIN,
        ..RetryConfig::default()
    };
    if url.scheme() == "s3" {
        let store = AmazonS3Builder::from_env().with_url(url.as_str());
        return Ok(Arc::new(store.with_retry(retry).build()?));
    }
    let options = ClientOptions::new().with_allow_http(url.scheme() == "http");
    let store = HttpBuilder::new()
        .with_url(&url[..Position::BeforePath])
        .with_client_options(options);
    Ok(Arc::new(store.with_retry(retry).build()?))
}

#[cfg(not(feature = "remote"))]
fn store(url: &Url) -> object_store::Result<Arc<dyn ObjectStore>> {
    Err(Error::NotSupported {
        source: format!("this program was built without {}://", url.scheme()).into(),
    })
}

/// Waits for something, in a thread of its own: who asks may be needed to run other things.
fn wait<T: Send>(
    what: impl Future<Output = object_store::Result<T>> + Send,
) -> object_store::Result<T> {
    let waits = || {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map_err(local)?.block_on(what)
    };
    thread::scope(|scope| {
        let waited = scope.spawn(waits).join();
        waited.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}
