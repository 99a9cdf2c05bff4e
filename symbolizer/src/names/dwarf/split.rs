//! The other part of a split unit (DWARF 5, section 7.3.2): in a package, or in a file of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use gimli::{Abbreviations, DwarfSections, DwoId, SectionId};

use crate::image::elf::Elf;
use crate::limits::Limits;
use crate::names::abbreviations;
use crate::names::dwarf::root::Root;
use crate::names::dwarf::sections::{self, Package, Section, View, header_at};
use crate::names::meter::{Allowance, metered};

/// The part that has the functions, found.
pub(crate) struct Split {
    /// The file's own sections; without them, it is in the package.
    sections: Option<Box<DwarfSections<Section>>>,
    /// Of its header.
    offset: usize,
    abbreviations: Arc<Abbreviations>,
}

impl Split {
    /// The part with this ID in the package.
    pub fn in_package(package: &Package, id: DwoId, main: &View<'_>) -> Option<Split> {
        Split::in_view(None, &packaged(package, id, main)?)
    }

    /// The part in a file of its own, if it has this ID.
    pub fn in_file(
        elf: &Elf,
        id: DwoId,
        allowance: &mut Allowance,
        limits: &Limits,
    ) -> Option<Split> {
        let name = |id: SectionId| id.dwo_name();
        let sections = sections::load(elf, name, allowance, limits).ok()?;
        let mut split = metered(allowance, limits.steps_per_address, || {
            let view = sections.borrow(Section::reader);
            let split = Split::in_view(None, &view)?;
            let header = header_at(&view, split.offset).ok()?;
            let root = Root::read(&view, header, split.abbreviations.clone()).ok()?;
            (root.unit.dwo_id == Some(id)).then_some(split)
        })?;
        split.sections = Some(Box::new(sections));
        Some(split)
    }

    fn in_view(sections: Option<Box<DwarfSections<Section>>>, view: &View<'_>) -> Option<Split> {
        let header = view.units().next().ok()??;
        let table = BTreeSet::from([header.debug_abbrev_offset().0]);
        abbreviations::vet(view, &table).ok()?;
        Some(Split {
            sections,
            offset: header.offset().0,
            abbreviations: view.abbreviations(&header).ok()?,
        })
    }

    /// What a lookup sees of it. `main` has the part that programs carry.
    pub fn view<'a>(
        &'a self,
        package: Option<&'a Package>,
        id: DwoId,
        main: &View<'a>,
    ) -> Option<View<'a>> {
        match &self.sections {
            None => packaged(package?, id, main),
            Some(sections) => {
                let mut view = sections.borrow(Section::reader);
                view.make_dwo(main);
                Some(view)
            }
        }
    }

    /// The part, opened. `main` is what programs carry of it.
    pub fn open<'a>(&self, view: &View<'a>, main: &Root<'a>) -> gimli::Result<Root<'a>> {
        let header = header_at(view, self.offset)?;
        let mut root = Root::read(view, header, self.abbreviations.clone())?;
        root.unit.copy_relocated_attributes(&main.unit);
        Ok(root)
    }
}

fn packaged<'a>(package: &'a Package, id: DwoId, main: &View<'a>) -> Option<View<'a>> {
    package.view().ok()?.find_cu(id, main).ok()?
}
