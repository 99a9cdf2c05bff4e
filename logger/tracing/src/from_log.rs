//! Records of the `log` crate that `tracing-log` makes events of. All of them have the same five call
//! sites, and say in fields where they come from.

use crate::sites::level;
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

/// Where the record comes from, as the fields of its event say it.
pub(crate) struct Said {
    level: Level,
    text: String,
    target: Range<usize>,
    module: Range<usize>,
    file: Range<usize>,
    line: u32,
}

impl Said {
    pub fn of(event: &Event<'_>) -> Said {
        let mut said = Said {
            level: level(*event.metadata().level()),
            text: String::new(),
            target: 0..0,
            module: 0..0,
            file: 0..0,
            line: 0,
        };
        event.record(&mut said);
        said
    }

    /// The site, without a span and in one.
    pub fn site(&self, is_in_span: bool) -> CallSite {
        let text = |range: &Range<usize>| &self.text[range.clone()];
        let origin = Origin {
            is_static: false,
            level: self.level,
            file: text(&self.file),
            line: self.line,
            module: text(&self.module),
            target: text(&self.target),
        };
        let sites = if is_in_span { &IN_SPANS } else { &SITES };
        sites.site(&origin)
    }
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
