//! The stores that records are sent to: address, form of a request, and what an answer means. Opens no
//! connection.

use crate::failure::Failure;
use logdef_resync::export::entry::Entry;
use logdef_resync::export::loki::{self, Services};
use logdef_resync::export::otlp_request::{self, Rejected};
use std::fmt;
use ureq::http::Uri;

#[derive(Debug)]
pub struct Store {
    address: Uri,
    protocol: Protocol,
    /// The name of the service, if it is not to be that of the program.
    service: Option<String>,
}

#[derive(Debug)]
enum Protocol {
    Otlp,
    Loki {
        labels: Vec<(String, String)>,
        services: Services,
    },
}

/// What of a protocol the address may lack.
const OTLP_PATH: &str = "/v1/logs";
const LOKI_PATH: &str = "/loki/api/v1/push";

impl Store {
    /// A collector, or another that takes OpenTelemetry's logs over HTTP.
    pub fn otlp(url: &str, service: Option<String>) -> Result<Store, Failure> {
        Ok(Store {
            address: address(url, OTLP_PATH, |path| path.ends_with(OTLP_PATH))?,
            protocol: Protocol::Otlp,
            service,
        })
    }

    pub fn loki(
        url: &str,
        service: Option<String>,
        labels: Vec<(String, String)>,
    ) -> Result<Store, Failure> {
        if let Some((name, _)) = labels.iter().find(|(name, _)| !is_label(name)) {
            let why = "a label has letters, digits and _, does not begin with a digit, and is not level or service_name";
            return Err(Failure::Usage(format!("--label {name}: {why}")));
        }
        Ok(Store {
            address: address(url, LOKI_PATH, |path| path.ends_with("/push"))?,
            protocol: Protocol::Loki {
                labels,
                services: Services::default(),
            },
            service,
        })
    }

    pub fn address(&self) -> &Uri {
        &self.address
    }

    pub fn content_type(&self) -> &'static str {
        match self.protocol {
            Protocol::Otlp => "application/x-protobuf",
            Protocol::Loki { .. } => "application/json",
        }
    }

    /// Writes a request with these records.
    pub fn encode(&mut self, entries: &[Entry], out: &mut Vec<u8>) {
        let service = self.service.as_deref();
        match &mut self.protocol {
            Protocol::Otlp => otlp_request::encode(entries, service, out),
            Protocol::Loki { labels, services } => {
                loki::encode(entries, labels, service, services, out);
            }
        }
    }

    /// What a store that took a request did not take of it.
    pub fn rejected(&self, body: &[u8]) -> Rejected {
        match self.protocol {
            Protocol::Otlp => otlp_request::rejected(body),
            Protocol::Loki { .. } => Rejected::default(),
        }
    }

    /// Why a request was refused, in the words of the store.
    pub fn refusal(&self, body: &[u8]) -> String {
        let status = match self.protocol {
            Protocol::Otlp => otlp_request::refusal(body),
            Protocol::Loki { .. } => None,
        };
        status.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
    }

    /// Whether what an answer with this status says may pass: OpenTelemetry names those for which a request is
    /// made again, Loki's own clients take all faults of the server for such.
    pub fn may_pass(&self, status: u16) -> bool {
        match self.protocol {
            Protocol::Otlp => matches!(status, 408 | 429 | 502..=504),
            Protocol::Loki { .. } => matches!(status, 408 | 429 | 500 | 502..=599),
        }
    }
}

/// As messages have it.
impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// Whether Loki takes a label of this name, and it is not one of ours.
fn is_label(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
    let is_own = matches!(name, "level" | "service_name");
    !name.is_empty() && name.chars().all(is_letter) && !begins_with_digit && !is_own
}

/// The address, with the protocol's path unless it is there.
fn address(url: &str, path: &str, is_whole: impl Fn(&str) -> bool) -> Result<Uri, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("{url}: {why}"));
    let bare = url.trim_end_matches('/');
    let whole = if is_whole(bare) {
        bare.to_owned()
    } else {
        format!("{bare}{path}")
    };
    let address: Uri = whole.parse().map_err(|_| wrong("try http://HOST:PORT"))?;
    match address.scheme_str() {
        Some("http") => {}
        Some("https") if cfg!(feature = "https") => {}
        Some("https") => {
            let why = "this logdef has no TLS: build it with --features https, or send to a collector on this machine";
            return Err(wrong(why));
        }
        _ => return Err(wrong("try http://HOST:PORT")),
    }
    if address
        .authority()
        .is_some_and(|it| it.as_str().contains('@'))
    {
        let why = "other users can see the arguments of a command: pass a password by --header-env Authorization=VARIABLE";
        return Err(Failure::Usage(why.into()));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_the_path_that_it_lacks() {
        let otlp = |url| Store::otlp(url, None).map(|store| store.to_string());
        let loki = |url| Store::loki(url, None, Vec::new()).map(|store| store.to_string());
        let cases = [
            (otlp("http://c:4318"), "http://c:4318/v1/logs"),
            (otlp("http://c:4318/"), "http://c:4318/v1/logs"),
            (otlp("http://l:3100/otlp"), "http://l:3100/otlp/v1/logs"),
            (otlp("http://c/v1/logs"), "http://c/v1/logs"),
            (loki("http://l:3100"), "http://l:3100/loki/api/v1/push"),
            (loki("http://l/a/push"), "http://l/a/push"),
        ];
        for (address, expected) in cases {
            assert_eq!(address.unwrap(), expected);
        }
        for url in [
            "",
            "c:4318",
            "ftp://c",
            "http://",
            "http://a b",
            "http://u:p@c",
        ] {
            assert!(matches!(otlp(url), Err(Failure::Usage(_))), "{url}");
        }
    }

    #[test]
    fn labels_are_those_that_loki_takes() {
        for name in ["cluster", "_a1", "A"] {
            assert!(is_label(name), "{name}");
        }
        for name in ["", "1a", "a-b", "a.b", "ä", "level", "service_name"] {
            assert!(!is_label(name), "{name}");
        }
    }
}
