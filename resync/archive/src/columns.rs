//! Frames on their way into tables: which site a record is of, and whether columns can hold it.
//! Knows neither the order of the logs nor where the tables are written.

use crate::folder::{self, Known};
use crate::rows::{Rows, Whole};
use crate::side::{self, Frames, SiteNames, Threads};
use crate::site::{self, Recent, Sites};
use crate::table::{SideTable, Sink};
use crate::tables::Table;
use arrow_array::ArrayRef;
use logdef_resync::{MergedFrame, Place, Resolver, Standing};
use logdef_wire::msgpack::Decoder;
use logdef_wire::record::Data;
use logdef_wire::{Record, Tag, Value};
use parquet::errors::Result;

/// Values that most records have on the stack.
const FEW: usize = 16;

/// How many frames were added to an archive, by what became of them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// Records that were put in.
    pub records: u64,
    /// Those among them that columns cannot hold, and that are kept as they are.
    pub whole: u64,
    /// Frames that are no records.
    pub frames: u64,
    /// Records that were left out, since the archive has them.
    pub known: u64,
}

/// The tables of some logs in the making.
pub(crate) struct Columns {
    /// `None` if records are not wanted, only what the side tables say of them.
    rows: Option<Rows>,
    sites: Sites,
    recent: Recent,
    site_rows: SideTable,
    threads: Threads,
    frames: Frames,
    pub(crate) written: Written,
}

impl Columns {
    pub(crate) fn new(rows: Option<Rows>) -> Columns {
        Columns {
            rows,
            sites: Sites::default(),
            recent: Recent::default(),
            site_rows: SideTable::new(Table::Sites),
            threads: Threads::default(),
            frames: Frames::new(),
            written: Written::default(),
        }
    }

    /// Adds a frame: a record becomes a row of the records, any other a row of the side tables.
    pub(crate) fn add(
        &mut self,
        frame: &MergedFrame<'_>,
        mark: Standing,
        resolver: &mut Resolver<'_>,
        known: &Known,
        out: &mut dyn Sink,
    ) -> Result<()> {
        let data = match frame.tag() {
            Tag::DATA => match frame.record() {
                Some(Record::Data(data)) => Some(data),
                _ => None,
            },
            _ => None,
        };
        let Some(data) = data else {
            self.written.frames += 1;
            let before = self.written.records;
            return self.frames.add(before, frame, mark, &mut self.threads, out);
        };
        if let (Some(run), Some(it)) = (data.run, data.sequence)
            && folder::holds(known, run.0, it.number().0, it.count())
        {
            self.written.known += 1;
            return Ok(());
        }
        let (args, keys) = (data.args, data.keys);
        let len = args.map_or(0, |it| it.len()) as usize + keys.map_or(0, |it| it.len()) as usize;
        if len <= FEW && keys.is_none() {
            let mut few = [Value::Nil; FEW];
            let len = args.map_or(0, |args| args.read_into(&mut few[..len]));
            self.record(&data, frame, &few[..len], mark, resolver, out)?;
        } else {
            self.record(&data, frame, &values_of(&data), mark, resolver, out)?;
        }
        self.written.records += 1;
        Ok(())
    }

    fn record(
        &mut self,
        data: &Data<'_>,
        frame: &MergedFrame<'_>,
        values: &[Value<'_>],
        mark: Standing,
        resolver: &mut Resolver<'_>,
        out: &mut dyn Sink,
    ) -> Result<()> {
        let site = self.site(data, frame.place, values, resolver, out)?;
        let is_of_thread = match (data.run, data.sequence) {
            (Some(run), Some(sequence)) => {
                let time = data.time.unwrap_or(0);
                self.threads.add(run, sequence, time, data.thread)
            }
            _ => false,
        };
        let Some(rows) = &mut self.rows else {
            return Ok(());
        };
        if let Some(index) = site
            && is_of_thread
            && !frame.conflict
            && self.sites.all[index].slots.is_some()
            && has_columns_only(data, frame.body)
        {
            let site = &self.sites.all[index];
            rows.push(index, site, data, values, mark);
            return Ok(());
        }
        self.written.whole += 1;
        rows.push_whole(Whole {
            time: data.time,
            site: site.map(|index| self.sites.all[index].id),
            level: data.level.map(|level| level.0),
            run: data.run.map(|run| run.0),
            sequence: data.sequence,
            mark,
            body: frame.body.to_vec(),
        });
        Ok(())
    }

    /// The site of a record; a new one becomes a row of the sites.
    pub(crate) fn site(
        &mut self,
        data: &Data<'_>,
        place: Place,
        values: &[Value<'_>],
        resolver: &mut Resolver<'_>,
        out: &mut dyn Sink,
    ) -> Result<Option<usize>> {
        if let Some(site) = self.sites.find(data, values, &mut self.recent) {
            return Ok(Some(site));
        }
        let resolved = resolver.resolve(data, place);
        let unsigned = resolved.unsigned_places();
        let is_unsigned = |index| unsigned.contains(&index);
        let Some(index) = self.sites.add(data, values, is_unsigned) else {
            return Ok(None);
        };
        let site = &self.sites.all[index];
        let names = SiteNames::of(&resolved, site);
        side::push_site(&mut self.site_rows, site, &names, out)?;
        Ok(Some(index))
    }

    /// Whether a record is of the same site whichever records come before it: no site takes it but the one that it
    /// would make itself.
    pub(crate) fn is_of_own_site(
        &self,
        data: &Data<'_>,
        place: Place,
        values: &[Value<'_>],
        resolver: &mut Resolver<'_>,
    ) -> bool {
        let resolved = resolver.resolve(data, place);
        let unsigned = resolved.unsigned_places();
        let own = site::types(values, |index| unsigned.contains(&index));
        let mut sites = self.sites.of(data, values);
        sites.all(|site| site.values.types == own)
    }

    /// Whether it is time to take the records.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.as_ref().is_some_and(Rows::is_full)
    }

    /// How many records there are to take.
    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, Rows::len)
    }

    /// Takes the records, a column after the other.
    pub(crate) fn take(&mut self, column: impl FnMut(usize, ArrayRef) -> Result<()>) -> Result<()> {
        match &mut self.rows {
            Some(rows) => rows.take(&self.sites.all, column),
            None => Ok(()),
        }
    }

    /// Gives away the sites that are new.
    pub(crate) fn give_sites(&mut self, out: &mut dyn Sink) -> Result<()> {
        self.site_rows.give(out)
    }

    /// Gives away what the side tables have, at the end.
    pub(crate) fn give_rest(&mut self, out: &mut dyn Sink) -> Result<()> {
        self.frames.give(out)?;
        self.threads.write(out)?;
        self.give_sites(out)
    }
}

/// The values of a record, arguments first.
pub(crate) fn values_of<'d>(data: &Data<'d>) -> Vec<Value<'d>> {
    let args = data.args.into_iter().flatten();
    let keys = data.keys.into_iter().flat_map(|map| map.iter());
    args.chain(keys.map(|(_, value)| value)).collect()
}

/// Whether the fields of a record are such that columns hold all of them: it is whole, has no
/// field that is not known, and none twice.
#[inline]
pub(crate) fn has_columns_only(data: &Data<'_>, body: &[u8]) -> bool {
    let is_time = data.time.is_some_and(|time| i64::try_from(time).is_ok());
    let fields = [
        data.magic.is_some(),
        data.file.is_some(),
        data.line.is_some(),
        data.level.is_some(),
        data.format.is_some(),
        data.run.is_some(),
        data.thread.is_some(),
        data.sequence.is_some(),
        data.time.is_some(),
        data.args.is_some(),
        data.backtrace.is_some(),
        data.format_text.is_some(),
        data.file_text.is_some(),
        data.dropped.is_some(),
        data.kind.is_some(),
        data.keys.is_some(),
        data.context.is_some(),
    ];
    let known = fields.iter().filter(|is_there| **is_there).count();
    let stand = body.get(1..).map(Decoder::new);
    let stand = stand.and_then(|mut decoder| decoder.map_head().ok());
    let is_plain = |address: Value<'_>| matches!(address, Value::Uint(_) | Value::Nil);
    is_time
        && stand == Some(known as u32)
        && data
            .backtrace
            .is_none_or(|backtrace| backtrace.iter().all(is_plain))
}
