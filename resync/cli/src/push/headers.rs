//! Headers of requests: as words of the command line, and for what is secret from the environment or a
//! file, since other users can see the arguments of a command. Knows no store.

use crate::failure::Failure;
use std::path::{Path, PathBuf};
use ureq::http::{HeaderName, HeaderValue};

/// Where headers come from.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Store")]
pub struct Headers {
    /// Send this header with each request: X-Scope-OrgID=tenant
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub header: Vec<(String, String)>,
    /// The same, with the value of an environment variable, which no list of processes shows:
    /// Authorization=TOKEN
    #[arg(long, value_name = "NAME=VARIABLE", value_parser = pair)]
    pub header_env: Vec<(String, String)>,
    /// The same, with the first line of a file, which is read before each request: Authorization=/run/secrets/token
    #[arg(long, value_name = "NAME=FILE", value_parser = pair)]
    pub header_file: Vec<(String, String)>,
}

/// Parts a word at its first equals sign.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
    pair.ok_or("try NAME=VALUE".into())
}

/// Headers that were looked up, as far as they stay the same.
#[derive(Debug)]
pub struct Known {
    fixed: Vec<(HeaderName, HeaderValue)>,
    files: Vec<(HeaderName, PathBuf)>,
}

impl Headers {
    /// Looks up what stays the same. All are checked: a token that is missing is no matter for a server.
    pub fn known(&self) -> Result<Known, Failure> {
        let mut fixed = Vec::new();
        for (header, text) in &self.header {
            fixed.push((name(header)?, value(header, text)?));
        }
        for (header, variable) in &self.header_env {
            let text = std::env::var(variable).map_err(|error| {
                Failure::Usage(format!("--header-env {header}={variable}: {error}"))
            })?;
            fixed.push((name(header)?, value(header, &text)?));
        }
        let files = self.header_file.iter();
        let files = files.map(|(header, file)| Ok((name(header)?, PathBuf::from(file))));
        let known = Known {
            fixed,
            files: files.collect::<Result<_, Failure>>()?,
        };
        known.now()?;
        Ok(known)
    }
}

impl Known {
    /// The headers of a request that is made now: a token in a file may have been replaced.
    pub fn now(&self) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
        let mut headers = self.fixed.clone();
        for (header, file) in &self.files {
            let text = first_line(file)?;
            headers.push((header.clone(), value(header.as_str(), &text)?));
        }
        Ok(headers)
    }
}

/// The longest file with a token.
const LONGEST: u64 = 64 << 10;

fn first_line(file: &Path) -> Result<String, Failure> {
    use std::io::Read;
    let mut text = String::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|opened| opened.take(LONGEST).read_to_string(&mut text));
    read.map_err(|error| Failure::Unreadable(format!("cannot read {}: {error}", file.display())))?;
    Ok(text.lines().next().unwrap_or("").trim().to_owned())
}

fn name(text: &str) -> Result<HeaderName, Failure> {
    let name = HeaderName::try_from(text);
    name.map_err(|_| Failure::Usage(format!("{text:?} is not the name of a header")))
}

/// The value is not repeated in what is said: it may be secret.
fn value(header: &str, text: &str) -> Result<HeaderValue, Failure> {
    let value = HeaderValue::try_from(text);
    value.map_err(|_| {
        Failure::Usage(format!(
            "the value of header {header} has control characters"
        ))
    })
}
