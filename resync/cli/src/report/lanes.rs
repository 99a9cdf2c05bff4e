//! Threads as lanes: when each logged, where its errors stand, and its longest spans.

use crate::count::rates::Band;
use crate::report::redact::Redact;
use crate::show::clock;
use crate::show::draw::Svg;
use logdef_resync::{Resolved, Spans};
use logdef_wire::record::{Data, Kind};
use logdef_wire::{Run, ThreadNumber};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Threads that have a lane, and those that are followed to choose among them.
const DRAWN: usize = 30;
const FOLLOWED: usize = 1 << 12;
/// Cells of a lane, and spans that are drawn in all: the longest.
const CELLS: usize = 150;
const SPANS: usize = 300;
/// Bytes of the name of a span or a thread.
const NAME: usize = 80;
/// In units: a cell, a lane, and the column of names.
const CELL: usize = 5;
const LANE: usize = 22;
const LABELS: usize = 150;

type Key = (Option<Run>, Option<ThreadNumber>);

#[derive(Clone)]
struct Lane {
    records: u64,
    errors: u64,
    name: Vec<u8>,
    /// The most severe band of each cell.
    cells: Vec<Option<Band>>,
}

/// A span that has ended.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
struct Bar {
    lasted: u64,
    begun: u64,
    key: Key,
    name: Vec<u8>,
}

pub struct Lanes {
    /// The span of time that is drawn.
    from: u64,
    to: u64,
    lanes: BTreeMap<Key, Lane>,
    open: Spans,
    /// The longest spans, the shortest of them on top.
    bars: BinaryHeap<Reverse<Bar>>,
}

impl Lanes {
    /// Lanes of what was logged from one time to another.
    pub fn new(from: u64, to: u64) -> Lanes {
        Lanes {
            from,
            to: to.max(from + 1),
            lanes: BTreeMap::new(),
            open: Spans::default(),
            bars: BinaryHeap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// A record with a thread and a time comes; `resolved` looks its texts up.
    pub fn add<'r>(
        &mut self,
        data: &Data<'_>,
        redact: &Redact,
        resolved: impl FnOnce() -> Resolved<'r>,
    ) {
        let Some(time) = data.time else { return };
        let key = (data.run, data.sequence.map(|sequence| sequence.number()));
        let is_new = !self.lanes.contains_key(&key);
        if is_new && self.lanes.len() >= FOLLOWED {
            return;
        }
        let cell = self.cell(time);
        let is_span = data.kind.is_some_and(|kind| kind != Kind::MESSAGE);
        let resolved = (is_new || is_span).then(resolved);
        if is_new {
            let thread = resolved.as_ref().and_then(|resolved| resolved.thread);
            let name = thread.and_then(|thread| thread.name.as_deref());
            let mut name = redact.text(name.unwrap_or_default());
            name.truncate(NAME);
            let lane = Lane {
                records: 0,
                errors: 0,
                name,
                cells: vec![None; CELLS],
            };
            self.lanes.insert(key, lane);
        }
        if let Some(lane) = self.lanes.get_mut(&key) {
            let band = Band::of(data.level);
            lane.records += 1;
            lane.errors += u64::from(band == Band::Error);
            let kept = &mut lane.cells[cell];
            if kept.is_none_or(|kept| (band as usize) < kept as usize) {
                *kept = Some(band);
            }
        }
        if is_span && let Some(resolved) = resolved {
            self.follow(data, key, time, redact, &resolved);
        }
    }

    fn follow(
        &mut self,
        data: &Data<'_>,
        key: Key,
        time: u64,
        redact: &Redact,
        record: &Resolved<'_>,
    ) {
        let mut name = redact.message(record);
        name.truncate(NAME);
        let Some(span) = self.open.follow(data, &name) else {
            return;
        };
        let Some(lasted) = span.lasted(data) else {
            return;
        };
        self.bars.push(Reverse(Bar {
            lasted,
            begun: time - lasted,
            key,
            name: span.message.into(),
        }));
        if self.bars.len() > SPANS {
            self.bars.pop();
        }
    }

    fn cell(&self, time: u64) -> usize {
        let passed = u128::from(time.clamp(self.from, self.to) - self.from);
        let cell = passed * CELLS as u128 / u128::from(self.to - self.from);
        (cell as usize).min(CELLS - 1)
    }

    /// How many threads have no lane in the picture.
    pub fn left_out(&self) -> usize {
        self.lanes.len().saturating_sub(DRAWN)
    }

    /// The lanes with the most errors and then the most records, by run and thread.
    pub fn svg(&self) -> String {
        let mut drawn: Vec<_> = self.lanes.iter().collect();
        drawn.sort_by_key(|(key, lane)| (Reverse((lane.errors, lane.records)), **key));
        drawn.truncate(DRAWN);
        drawn.sort_by_key(|(key, _)| **key);
        let width = LABELS + CELLS * CELL + 10;
        let height = drawn.len() * LANE + 10;
        let mut svg = Svg::new(width, height, "threads over time, with errors and spans");
        for (row, (key, lane)) in drawn.iter().enumerate() {
            let y = row * LANE + 5;
            svg.label(5, y + 11, &label(key, lane));
            let mut x = LABELS;
            for cells in lane.cells.chunk_by(|a, b| a == b) {
                let width = cells.len() * CELL;
                if let Some(band) = cells[0] {
                    let tip = format!("{}: {}", label(key, lane), band.name());
                    svg.rect(x, y, width, 10, band.fill(), &tip);
                }
                x += width;
            }
            for Reverse(bar) in self.bars.iter().filter(|bar| bar.0.key == **key) {
                let from = self.cell(bar.begun);
                let to = self.cell(bar.begun.saturating_add(bar.lasted));
                let mut lasted = Vec::new();
                clock::push_duration(bar.lasted, &mut lasted);
                let name = String::from_utf8_lossy(&bar.name);
                let tip = format!("{name}: {}", String::from_utf8_lossy(&lasted));
                let (x, width) = (LABELS + from * CELL, (to - from + 1) * CELL);
                svg.rect(x, y + 12, width, 5, "#7a5fb5", &tip);
            }
        }
        svg.finish()
    }
}

fn label((_, number): &Key, lane: &Lane) -> String {
    let number = number.map_or("?".into(), |number| number.0.to_string());
    let name: String = String::from_utf8_lossy(&lane.name)
        .chars()
        .take(18)
        .collect();
    format!("{name}/{number}")
}
