//! One request and its answer. Knows when a request may be made again, and does not make it again itself.

use crate::failure::Failure;
use crate::push::headers::Known;
use crate::push::store::Store;
use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use logdef_resync::export::otlp_request::Rejected;
use std::io::Write;
use std::time::Duration;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const ANSWER: u64 = 64 << 10;
/// Letters of what a store says that are repeated.
const WORDS: usize = 300;

/// What became of a request.
#[derive(Debug)]
pub enum Answer {
    Taken(Rejected),
    /// It may be taken later, and not before the time that the store asked for.
    Later(String, Option<Duration>),
    TooLarge,
    /// The store does not take these records.
    Refused(String),
    /// The store takes no records from us.
    Closed(String),
}

/// Makes requests to a store.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    headers: Known,
    packs: bool,
    packed: Vec<u8>,
}

impl Client {
    pub fn new(headers: Known, timeout: Duration, packs: bool) -> Client {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A POST is not redirected.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("logdef/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT.min(timeout)))
            .timeout_global(Some(timeout))
            .build();
        Client {
            agent: config.new_agent(),
            headers,
            packs,
            packed: Vec::new(),
        }
    }

    /// Sends a body to the store.
    pub fn post(&mut self, store: &Store, body: &[u8]) -> Result<Answer, Failure> {
        let mut request = self.agent.post(store.address());
        request = request.header(header::CONTENT_TYPE, store.content_type());
        for (name, value) in self.headers.now()? {
            request = request.header(name, value);
        }
        let sent = if self.packs {
            self.packed.clear();
            let mut encoder = GzEncoder::new(&mut self.packed, Compression::fast());
            // Writing to memory does not fail.
            let _ = encoder.write_all(body).and_then(|()| encoder.try_finish());
            drop(encoder);
            let request = request.header(header::CONTENT_ENCODING, "gzip");
            request.send(&self.packed[..])
        } else {
            request.send(body)
        };
        Ok(match sent {
            Ok(response) => answer(store, response),
            Err(error) => Answer::Later(words(&error.to_string()), None),
        })
    }
}

fn answer(store: &Store, mut response: Response<Body>) -> Answer {
    let status = response.status();
    let asked = response.headers().get(header::RETRY_AFTER);
    let asked = asked.and_then(|asked| pause(asked.to_str().ok()?, Timestamp::now()));
    // What cannot be read of it changes nothing: the status says it.
    let body = response
        .body_mut()
        .with_config()
        .limit(ANSWER)
        .read_to_vec();
    let body = body.unwrap_or_default();
    if status.is_success() {
        let mut rejected = store.rejected(&body);
        rejected.why = words(&rejected.why);
        return Answer::Taken(rejected);
    }
    let said = words(&store.refusal(&body));
    let separator = if said.is_empty() { "" } else { ": " };
    let why = format!("{status}{separator}{said}");
    match status.as_u16() {
        413 => Answer::TooLarge,
        passing if store.may_pass(passing) => Answer::Later(why, asked),
        400 | 422 => Answer::Refused(why),
        _ => Answer::Closed(why),
    }
}

/// The beginning of what a store says, as one line.
fn words(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().take(WORDS).collect()
}

/// How long a `Retry-After` asks to wait: in seconds, or until a time.
fn pause(asked: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = asked.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let time = rfc2822::DateTimeParser::new()
        .parse_timestamp(asked.trim())
        .ok()?;
    Duration::try_from(time.duration_since(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_in_seconds_or_until_a_time() {
        // 2026-10-21 07:28:00 UTC.
        let now = Timestamp::from_second(1_792_567_680 - 90).unwrap();
        let seconds = |asked| pause(asked, now).map(|pause| pause.as_secs());
        assert_eq!(seconds("7"), Some(7));
        assert_eq!(seconds(" 120 "), Some(120));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:28:00 GMT"), Some(90));
        for senseless in ["", "-1", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(seconds(senseless), None, "{senseless}");
        }
    }

    #[test]
    fn what_a_store_says_is_one_short_line() {
        assert_eq!(words("  two\r\n lines "), "two lines");
        assert_eq!(words(&"ä ".repeat(10_000)).chars().count(), WORDS);
    }
}
