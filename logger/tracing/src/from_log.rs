//! Records of the `log` crate that `tracing-log` makes events of. All of them have the same five call
//! sites, and say in fields where they come from.

use logdef::__private::{Origin, Origins};
use logdef::{CallSite, Level};
use std::fmt::Debug;
use std::ops::Range;
use tracing_core::field::{Field, Visit};
use tracing_core::{Event, Metadata};

static SITES: Origins = Origins::new(|site| site);
static IN_SPANS: Origins = Origins::new(|site| site.in_span());

/// Whether events with these metadata are made of records of `log`.
pub(crate) fn is_of(metadata: &Metadata<'_>) -> bool {
    metadata.target() == "log" && metadata.name() == "log event"
}

/// The site of an event that is made of a record, without a span and in one.
pub(crate) fn site(event: &Event<'_>, level: Level, is_in_span: bool) -> CallSite {
    let mut said = Said::default();
    event.record(&mut said);
    let text = |range: &Range<usize>| &said.text[range.clone()];
    let origin = Origin {
        level,
        file: text(&said.file),
        line: said.line,
        module: text(&said.module),
        target: text(&said.target),
    };
    let sites = if is_in_span { &IN_SPANS } else { &SITES };
    sites.site(&origin)
}

/// Where the record comes from, as its fields say it.
#[derive(Default)]
struct Said {
    text: String,
    target: Range<usize>,
    module: Range<usize>,
    file: Range<usize>,
    line: u32,
}

impl Visit for Said {
    fn record_str(&mut self, field: &Field, value: &str) {
        let range = match field.name() {
            "log.target" => &mut self.target,
            "log.module_path" => &mut self.module,
            "log.file" => &mut self.file,
            _ => return,
        };
        let start = self.text.len();
        self.text.push_str(value);
        *range = start..self.text.len();
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "log.line" {
            self.line = u32::try_from(value).unwrap_or(0);
        }
    }

    /// The message, which is printed when the record is made.
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
