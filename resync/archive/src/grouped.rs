//! Neighbouring rows of one site, run and thread, as `rows` has put them: how the bodies of their records
//! begin. Knows none of the values that each row has for itself.

use crate::stored::{Stored, StoredSite, encoded};
use logdef_wire::record::field;
use std::sync::Arc;

/// What the rows of a group have in common.
pub(crate) struct Grouped {
    pub(crate) site: Option<Arc<StoredSite>>,
    pub(crate) run: Option<u64>,
    pub(crate) thread: Option<u32>,
    /// Where the fields before the sequence are in the bytes of all groups.
    start: usize,
    end: usize,
    /// How many fields all records have beside the time.
    pub(crate) fields: u32,
}

/// The groups of a row group.
#[derive(Default)]
pub(crate) struct Groups {
    all: Vec<Grouped>,
    fronts: Vec<u8>,
    /// The group of each row.
    of_row: Vec<u32>,
}

impl Groups {
    /// Groups of rows, each of which has a site, a run and a thread, or not.
    pub(crate) fn of(
        rows: impl Iterator<Item = (Option<u64>, Option<u64>, Option<u32>)>,
        stored: &Stored,
    ) -> Groups {
        let mut groups = Groups::default();
        let mut last = None;
        for row in rows {
            if last.replace(row) != Some(row) {
                groups.begin(row, stored);
            }
            groups.of_row.push(groups.all.len() as u32 - 1);
        }
        groups
    }

    fn begin(
        &mut self,
        (site, run, thread): (Option<u64>, Option<u64>, Option<u32>),
        stored: &Stored,
    ) {
        let site = site.and_then(|site| stored.sites.get(&site)).cloned();
        let pthread = run.zip(thread);
        let pthread = pthread.and_then(|thread| stored.threads.get(&thread).copied().flatten());
        let start = self.fronts.len();
        let mut fields = u32::from(run.is_some()) + u32::from(pthread.is_some());
        if let Some(site) = &site {
            self.fronts.extend_from_slice(&site.front.0);
            fields += site.fields();
        }
        self.fronts.extend(encoded(32, |encoder| {
            if let Some(run) = run {
                encoder.uint(field::RUN.into())?;
                encoder.uint64(run)?;
            }
            if let Some(pthread) = pthread {
                encoder.uint(field::THREAD.into())?;
                encoder.uint(pthread)?;
            }
            Ok(())
        }));
        self.all.push(Grouped {
            site,
            run,
            thread,
            start,
            end: self.fronts.len(),
            fields,
        });
    }

    #[inline]
    pub(crate) fn of_row(&self, row: usize) -> &Grouped {
        &self.all[self.of_row[row] as usize]
    }

    /// The fields of its records before the sequence, as they stand on the wire.
    #[inline]
    pub(crate) fn front(&self, group: &Grouped) -> &[u8] {
        &self.fronts[group.start..group.end]
    }
}
