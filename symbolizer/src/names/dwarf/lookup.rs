//! One address looked up in one unit that may have its code.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::Shown;
use crate::names::dwarf::functions::{Function, Functions};
use crate::names::dwarf::inlined::{Call, Inlined};
use crate::names::dwarf::lines::{Lines, Location};
use crate::names::dwarf::origin::{Seen, name};
use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::View;
use crate::names::dwarf::split::Split;
use crate::names::dwarf::units::Unit;
use crate::names::dwarf::{Complaints, Dwarf, FindDwo, RawFrame, Wanted};
use crate::names::meter::{Allowance, Reader, explain, metered};

/// Chains of inlined functions beyond this are cut.
const DEEPEST: usize = 1024;

/// Where an address is looked up.
pub(crate) struct Lookup<'d> {
    pub dwarf: &'d Dwarf,
    pub unit: &'d Unit,
}

impl<'d> Lookup<'d> {
    /// Finds the other part of a split unit, once.
    pub fn complete(
        &self,
        allowance: &mut Allowance,
        find_dwo: FindDwo<'_>,
        complaints: &mut Complaints,
    ) {
        if self.unit.split.get().is_some() || self.unit.functions.get().is_some() {
            return;
        }
        let (dwarf, limits) = (self.dwarf, &self.dwarf.limits);
        let view = dwarf.view();
        let opened = metered(allowance, limits.steps_per_address, || {
            let root = dwarf.main.open(self.unit, &view).ok()?;
            let id = root.unit.dwo_id?;
            let package = dwarf.package.as_ref();
            let packaged = package.and_then(|it| Split::in_package(it, id, &view));
            Some((packaged, root, id))
        });
        let Some((packaged, root, id)) = opened else {
            return;
        };
        let found = packaged.or_else(|| {
            let wanted = Wanted {
                comp_dir: root.unit.comp_dir.as_ref().map_or(&[], Reader::bytes),
                path: root.split_name?.bytes(),
            };
            find_dwo(wanted).find_map(|elf| Split::in_file(&elf, id, allowance, limits))
        });
        if found.is_none() {
            let path = root.split_name.as_ref().map_or(&[][..], Reader::bytes);
            let path = Path::new(OsStr::from_bytes(path));
            complaints.add(format!("split unit {} is missing", Shown(path)));
        }
        self.unit.split.get_or_init(|| found);
    }

    /// The functions at `probe`, innermost first; empty if the unit has neither functions nor lines there.
    pub fn frames(&self, probe: u64, complaints: &mut Complaints) -> Vec<RawFrame> {
        let view = self.dwarf.view();
        let main = match self.dwarf.main.open(self.unit, &view) {
            Ok(main) => main,
            Err(error) => {
                complaints.add(explain(error));
                return Vec::new();
            }
        };
        let lines = self.unit.lines.get_or_init(|| Lines::read(&view, &main));
        let lines = complaints.noted(lines.as_ref().map_err(|it| *it));
        let lines = lines.and_then(Option::as_ref);
        let place = lines.map(|it| it.at(probe, &view, &main));
        let place = place.and_then(|it| complaints.noted(it)).flatten();
        let called_at = |call: &Call| match (call.file, lines) {
            (Some(file), Some(lines)) => lines.location(file, call.line, call.column, &view, &main),
            _ => Location::of(call.line, call.column),
        };
        match complaints.noted(self.functions(probe, &view, &main)) {
            Some(functions) if !functions.is_empty() => chain(functions, place, called_at),
            _ => place.map(|it| RawFrame::at(it, None)).into_iter().collect(),
        }
    }

    /// The function at `probe` and what was inlined there, innermost first.
    fn functions(
        &self,
        probe: u64,
        view: &View<'d>,
        main: &Root<'d>,
    ) -> gimli::Result<Vec<Named<'d>>> {
        let split = self.split(view, main)?;
        let (within, root) = split
            .as_ref()
            .map_or((view, main), |(view, root)| (view, root));
        let unit = root.unit_ref(within);
        let functions = self.unit.functions.get_or_init(|| Functions::read(unit));
        let Some(function) = functions.as_ref().map_err(|it| *it)?.at(probe) else {
            return Ok(Vec::new());
        };
        let Function { entry, inlined } = function;
        let inlined = inlined.get_or_init(|| Inlined::read(unit, *entry));
        let calls = inlined.as_ref().map_err(|it| *it)?.around(probe, DEEPEST);

        let dwarf = self.dwarf;
        let file = Some(&dwarf.main).filter(|_| split.is_none());
        let seen = Seen { view: within, file };
        let supplement = view.sup().map(|view| Seen {
            view,
            file: dwarf.supplement.as_ref(),
        });
        let named = |entry| name(seen, supplement, &root.unit, entry);
        let calls = calls.into_iter().rev();
        let mut chain = calls
            .map(|call| Ok((named(call.entry)?, Some(call))))
            .collect::<gimli::Result<Vec<_>>>()?;
        chain.push((named(*entry)?, None));
        Ok(chain)
    }

    /// The other part of a split unit, if it was found.
    fn split(
        &self,
        view: &View<'d>,
        main: &Root<'d>,
    ) -> gimli::Result<Option<(View<'d>, Root<'d>)>> {
        let split = self.unit.split.get().and_then(Option::as_ref);
        let Some((split, id)) = split.zip(main.unit.dwo_id) else {
            return Ok(None);
        };
        let Some(view) = split.view(self.dwarf.package.as_ref(), id, view) else {
            return Ok(None);
        };
        let root = split.open(&view, main)?;
        Ok(Some((view, root)))
    }
}

/// A function's name, and the call that was replaced by the function.
type Named<'d> = (Option<&'d [u8]>, Option<&'d Call>);

/// Stack frames of `functions`, the innermost of which is at `place`; the others are where the call inside
/// of them stands.
fn chain(
    functions: Vec<Named<'_>>,
    place: Option<Location>,
    called_at: impl Fn(&Call) -> Location,
) -> Vec<RawFrame> {
    let mut place = place.unwrap_or_default();
    let frames = functions.into_iter().map(|(name, call)| {
        let outer = call.map(&called_at).unwrap_or_default();
        RawFrame::at(std::mem::replace(&mut place, outer), name)
    });
    frames.collect()
}
