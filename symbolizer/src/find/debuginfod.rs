//! A client of debuginfod servers: files by build ID over HTTP, kept in the cache directory that
//! other debuggers use, in their layout. The caller checks what comes back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Refusal;
use crate::find::fetch::{Artifact, Fetch};
use crate::fingerprint::Hex;
use crate::open::read_regular;

/// Asks debuginfod servers, one after the other.
#[derive(Clone, Debug)]
pub struct Debuginfod {
    servers: Vec<String>,
    cache: Option<PathBuf>,
    agent: ureq::Agent,
}

impl Debuginfod {
    /// A client of `servers`, given as base URLs. Files are looked for in `cache` first and kept
    /// there. A server that does not answer within `patience` is passed over.
    pub fn new(servers: Vec<String>, cache: Option<PathBuf>, patience: Duration) -> Debuginfod {
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(patience))
            .timeout_recv_response(Some(patience))
            .timeout_recv_body(Some(patience.saturating_mul(10)))
            .user_agent(concat!("logdef/", env!("CARGO_PKG_VERSION")))
            .build();
        Debuginfod {
            servers,
            cache,
            agent: config.into(),
        }
    }

    /// The client that the environment asks for, by the variables all debuginfod clients share:
    /// `DEBUGINFOD_URLS`, `DEBUGINFOD_CACHE_PATH` and `DEBUGINFOD_TIMEOUT` in seconds. `None` if no
    /// server is named.
    pub fn from_env() -> Option<Debuginfod> {
        let urls = std::env::var("DEBUGINFOD_URLS").ok()?;
        let servers: Vec<String> = urls.split_whitespace().map(str::to_owned).collect();
        if servers.is_empty() {
            return None;
        }
        let path = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
        let cache = path("DEBUGINFOD_CACHE_PATH").or_else(|| {
            let caches = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
            Some(caches?.join("debuginfod_client"))
        });
        let seconds = std::env::var("DEBUGINFOD_TIMEOUT").ok();
        let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(90);
        Some(Debuginfod::new(
            servers,
            cache,
            Duration::from_secs(seconds),
        ))
    }

    fn download(&self, url: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let mut response = match self.agent.get(url).call() {
            Ok(response) => response,
            Err(ureq::Error::StatusCode(404)) => return Ok(None),
            Err(error) => return Err(error.into_io()),
        };
        let body = response.body_mut().with_config().limit(limit).read_to_vec();
        body.map(Some).map_err(ureq::Error::into_io)
    }
}

impl Fetch for Debuginfod {
    fn fetch(&self, build_id: &[u8], what: Artifact, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let id = Hex(build_id).to_string();
        let name = match what {
            Artifact::Executable => "executable",
            Artifact::DebugInfo => "debuginfo",
        };
        let kept = self.cache.as_ref().map(|cache| cache.join(&id).join(name));
        if let Some(path) = &kept {
            match read_regular(path, limit) {
                // Other clients remember what no server has as an empty file.
                Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes.to_vec())),
                Ok(_) | Err(Refusal::NotFound) => {}
                Err(refusal) => return Err(io::Error::other(refusal.to_string())),
            }
        }
        let mut failed = None;
        for server in &self.servers {
            let url = format!("{}/buildid/{id}/{name}", server.trim_end_matches('/'));
            match self.download(&url, limit) {
                Ok(Some(bytes)) => {
                    // A full disk costs the next run a download, no more.
                    let _ = kept.as_ref().map(|path| keep(path, &bytes));
                    return Ok(Some(bytes));
                }
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

/// Puts a file into the cache, whole or not at all.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    fs::write(&partial, bytes)?;
    fs::rename(&partial, path)
}
