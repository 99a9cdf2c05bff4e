//! Reading pieces of logs into batches: from bytes to frames, past what is not to be given, through the
//! conditions of a query, into columns.

use super::Logs;
use super::columns::Columns;
use super::phase::{Exceptions, Mark, Phase};
use super::sieve::{Field, Sieve, Test};
use super::split::Split;
use crate::error;
use crate::schema::{FRONT, LEVEL, RUN, SEQ, SITE, THREAD, TIME};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use logdef_archive::{Calls, Recent, has_columns_only};
use logdef_resync::{FrameItem, Glance, Input, Item, Items, Peek, unmasked};
use logdef_wire::record::Data;
use logdef_wire::{Record, Typed, Value};
use std::sync::Arc;

/// Values of most records.
const FEW: usize = 16;

/// Reads pieces of logs.
pub(super) struct Reader<'l> {
    logs: &'l Logs,
    phase: Arc<Phase>,
    /// Whether records must be looked into, and the calls, if so.
    wants_values: bool,
    calls: Arc<Calls>,
    recent: Recent,
    /// Conditions on what each record has, and on what calls have.
    front: Vec<Test>,
    behind: Vec<Test>,
    /// Whether records of each call may pass the latter.
    may_pass: Vec<bool>,
    columns: Columns,
    /// The log that was opened last.
    input: Option<(u32, Input)>,
    scratch: Vec<u8>,
    /// Records of the piece so far, those among them that are not asked for.
    met: u64,
}

/// A record on its way into columns.
pub(super) struct Row<'r> {
    pub(super) data: &'r Data<'r>,
    /// The index of its call, and the number of that.
    pub(super) call: Option<(usize, u64)>,
    /// The values, if columns hold them.
    pub(super) values: &'r [Value<'r>],
    /// The record, where they do not.
    pub(super) body: Option<&'r [u8]>,
    pub(super) mark: Option<Mark>,
}

impl<'l> Reader<'l> {
    pub(super) fn new(
        logs: &'l Logs,
        schema: SchemaRef,
        projection: Vec<usize>,
        sieve: Sieve,
    ) -> Result<Reader<'l>> {
        let phase = logs.phase()?;
        let (front, behind): (_, Vec<_>) = sieve.tests.into_iter().partition(Test::is_of_front);
        let wants_values = !behind.is_empty() || Columns::wants_values(&projection);
        let calls = if wants_values {
            phase.calls()?
        } else {
            Arc::default()
        };
        let columns = Columns::new(schema, projection, &calls);
        let may_pass = |call| {
            let has = |column| column < FRONT || columns.value_of(Some(call), column).is_some();
            behind.iter().all(|test| test.may_hold(&has))
        };
        Ok(Reader {
            may_pass: (0..calls.len()).map(may_pass).collect(),
            columns,
            logs,
            phase,
            wants_values,
            calls,
            recent: Recent::default(),
            front,
            behind,
            input: None,
            scratch: Vec::new(),
            met: 0,
        })
    }

    /// Reads a piece and gives away batches that are full, until `give` wants no more.
    pub(super) fn read(
        &mut self,
        split: Split,
        give: &mut impl FnMut(RecordBatch) -> bool,
    ) -> Result<()> {
        let input = match self.input.take() {
            Some((index, input)) if index == split.input => input,
            _ => self.logs.open_input(split.input)?,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        self.met = 0;
        let phase = Arc::clone(&self.phase);
        let mut exceptions = Cursor::new(&phase, split);
        let mut items = Items::range(&input, split.from..split.to);
        while let Some(item) = items.next().map_err(error::plain)? {
            let Item::Frame(frame) = item else {
                continue;
            };
            self.frame(&frame, &mut scratch, &mut exceptions);
            if self.columns.is_full() {
                let batch = self.columns.take()?;
                if !give(batch) {
                    return Ok(());
                }
            }
        }
        // Never an answer that lacks something unseen.
        if self.met != split.records {
            let why = "it changed while it was read";
            return Err(error::plain(format!("{}: {why}", input.name())));
        }
        drop(items);
        self.scratch = scratch;
        self.input = Some((split.input, input));
        Ok(())
    }

    /// What is left.
    pub(super) fn rest(&mut self) -> Result<Option<RecordBatch>> {
        if self.columns.is_empty() {
            return Ok(None);
        }
        self.columns.take().map(Some)
    }

    #[inline]
    fn frame(&mut self, frame: &FrameItem<'_>, scratch: &mut Vec<u8>, exceptions: &mut Cursor<'_>) {
        let body = unmasked(frame.body, scratch).unwrap_or(frame.body);
        if self.keeps_back(body) {
            self.met += u64::from(!exceptions.leaves_out(frame.offset));
            return;
        }
        let Ok(Record::Data(data)) = Record::decode(body) else {
            return;
        };
        if exceptions.leaves_out(frame.offset) {
            return;
        }
        self.met += 1;
        if self.logs.is_known(&data) {
            return;
        }
        if !self.passes_front(&data.front) {
            return;
        }
        if !self.wants_values {
            let call = None;
            let mark = exceptions.mark(frame.offset);
            self.columns.push(&Row {
                data: &data,
                call,
                values: &[],
                body: None,
                mark,
            });
            return;
        }
        let (args, keys) = (data.args, data.keys);
        let len = args.map_or(0, |it| it.len()) as usize + keys.map_or(0, |it| it.len()) as usize;
        if len <= FEW && keys.is_none() {
            let mut few = [Value::Nil; FEW];
            let len = args.map_or(0, |args| args.read_into(&mut few[..len]));
            self.record(&data, (frame.offset, body), &few[..len], exceptions);
        } else {
            let keys = keys.into_iter().flat_map(|map| map.iter());
            let args = args.into_iter().flatten();
            let values: Vec<_> = args.chain(keys.map(|(_, value)| value)).collect();
            self.record(&data, (frame.offset, body), &values, exceptions);
        }
    }

    /// Whether a data record does not pass, as far as a quick look shows it.
    #[inline]
    fn keeps_back(&mut self, body: &[u8]) -> bool {
        let mut peek = Peek::default();
        let has_tests = !self.front.is_empty() || !self.behind.is_empty();
        if !has_tests || !peek.look(body) || peek.has_more {
            return false;
        }
        if !self.passes_front(&peek.glance) {
            return true;
        }
        let len = peek.args.map_or(0, |args| args.len()) as usize;
        if self.behind.is_empty() || len > FEW {
            return false;
        }
        let data = Data {
            front: peek.glance,
            args: peek.args,
            ..Data::default()
        };
        let calls = self.calls.candidates(&data, &mut self.recent);
        if !calls.is_empty() && calls.iter().all(|call| !self.may_pass[*call as usize]) {
            return true;
        }
        let mut few = [Value::Nil; FEW];
        let len = peek.args.map_or(0, |args| args.read_into(&mut few[..len]));
        // What columns cannot hold has no values to pass with, so that it is kept back too.
        let call = self.call(&data, &few[..len]);
        !self.passes_behind(&data.front, call, &few[..len])
    }

    #[inline]
    fn passes_front(&self, front: &Glance) -> bool {
        let field = |column| front_field(front, column);
        self.front.iter().all(|test| test.holds(&field))
    }

    #[inline]
    fn passes_behind(
        &self,
        front: &Glance,
        call: Option<(usize, u64)>,
        values: &[Value<'_>],
    ) -> bool {
        let field = |column: usize| match column {
            SITE => call.map(|(_, site)| Field::Number(site.into())),
            column => match self.columns.value_of(call.map(|(call, _)| call), column) {
                Some(index) => values.get(index).and_then(|value| field_of(*value)),
                None => front_field(front, column),
            },
        };
        self.behind.iter().all(|test| test.holds(&field))
    }

    /// The index of a record's call, and the number of that.
    #[inline]
    fn call(&mut self, data: &Data<'_>, values: &[Value<'_>]) -> Option<(usize, u64)> {
        let call = self.calls.find(data, values, &mut self.recent)?;
        Some((call, self.calls.site(call)))
    }

    #[inline]
    fn record(
        &mut self,
        data: &Data<'_>,
        (offset, body): (u64, &[u8]),
        values: &[Value<'_>],
        exceptions: &mut Cursor<'_>,
    ) {
        let call = self.call(data, values);
        let fits = call.is_some_and(|(call, _)| self.calls.columns(call).is_some())
            && data.run.is_some()
            && data.sequence.is_some()
            && has_columns_only(data, body)
            && !exceptions.is_conflict(offset);
        let values = if fits { values } else { &[] };
        if !self.passes_behind(&data.front, call, values) {
            return;
        }
        let body = (!fits).then_some(body);
        let mark = exceptions.mark(offset);
        self.columns.push(&Row {
            data,
            call,
            values,
            body,
            mark,
        });
    }
}

/// What each record has in a column.
#[inline]
fn front_field(front: &Glance, column: usize) -> Option<Field<'static>> {
    let number = match column {
        TIME => i64::try_from(front.time?).ok()?.into(),
        LEVEL => front.level?.0.into(),
        RUN => front.run?.0.into(),
        THREAD => i128::from(front.sequence?.number().0 as u32),
        SEQ => front.sequence?.count().into(),
        _ => return None,
    };
    Some(Field::Number(number))
}

/// A value as its column holds it.
#[inline]
fn field_of(value: Value<'_>) -> Option<Field<'_>> {
    Some(match value {
        Value::Uint(value) => Field::Number(value.into()),
        Value::Int(value) => Field::Number(value.into()),
        Value::Float(value) => Field::Float(value),
        Value::Bool(value) => Field::Bool(value),
        Value::Raw(bytes) => Field::Text(bytes),
        Value::Array(array) => match Typed::of(array)? {
            Typed::Printed(text) => Field::Text(text),
            _ => return None,
        },
        _ => return None,
    })
}

/// The exceptions of an input, from an offset on.
struct Cursor<'p> {
    exceptions: Option<&'p Exceptions>,
    left_out: usize,
    marked: usize,
    conflict: usize,
}

impl<'p> Cursor<'p> {
    fn new(phase: &'p Phase, split: Split) -> Cursor<'p> {
        let exceptions = phase.exceptions.get(split.input as usize);
        let from = split.from;
        let of = |it: &Exceptions| {
            (
                it.left_out.partition_point(|range| range.end <= from),
                it.marked.partition_point(|(range, _)| range.end <= from),
                it.conflicts.partition_point(|at| *at < from),
            )
        };
        let (left_out, marked, conflict) = exceptions.map_or((0, 0, 0), of);
        Cursor {
            exceptions,
            left_out,
            marked,
            conflict,
        }
    }

    #[inline]
    fn leaves_out(&mut self, offset: u64) -> bool {
        let Some(exceptions) = self.exceptions else {
            return false;
        };
        while let Some(range) = exceptions.left_out.get(self.left_out) {
            if offset < range.end {
                return offset >= range.start;
            }
            self.left_out += 1;
        }
        false
    }

    #[inline]
    fn mark(&mut self, offset: u64) -> Option<Mark> {
        let exceptions = self.exceptions?;
        while let Some((range, mark)) = exceptions.marked.get(self.marked) {
            if offset < range.end {
                return (offset >= range.start).then_some(*mark);
            }
            self.marked += 1;
        }
        None
    }

    #[inline]
    fn is_conflict(&mut self, offset: u64) -> bool {
        let Some(exceptions) = self.exceptions else {
            return false;
        };
        while let Some(at) = exceptions.conflicts.get(self.conflict) {
            if offset <= *at {
                return offset == *at;
            }
            self.conflict += 1;
        }
        false
    }
}
