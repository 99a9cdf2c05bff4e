//! JSON as the exports write it: text, piece by piece. Knows no form of any store.

use crate::export::text::harmless_json;
use std::io::Write as _;

/// JSON as it is written: a tree of values for each record took ten times as long.
#[derive(Debug, Default)]
pub(super) struct Json(pub(super) Vec<u8>);

impl Json {
    pub(super) fn raw(&mut self, json: &str) {
        self.0.extend_from_slice(json.as_bytes());
    }

    pub(super) fn display(&mut self, value: impl std::fmt::Display) {
        // Writing to memory cannot fail.
        let _ = write!(self.0, "{value}");
    }

    pub(super) fn quoted(&mut self, text: &str) {
        // Nor can text fail to be JSON.
        let _ = if text.bytes().all(|byte| byte < 0x7f) {
            serde_json::to_writer(&mut self.0, text)
        } else {
            serde_json::to_string(text).map(|json| self.raw(&harmless_json(json)))
        };
    }
}
