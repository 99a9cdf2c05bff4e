//! Turning a call site, or the strings of a call that has none, into the
//! constant part of its records. Done once for a site; knows neither threads
//! nor sinks.

use crate::call::body;
use crate::call::site::{MAX_WIRE_ARGS, Meta, PREFIX_ROOM, Site, Template, run_time};
use crate::image::{Image, Images};
use core::ffi::CStr;
use core::ptr;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::printf::{ArgPlan, Class, plan_into};
use logdef_wire::record::field;
use logdef_wire::record::masked::may_begin_in;
use logdef_wire::site::flags;
use logdef_wire::{Level, Svma, Tag};

/// A template and the plan it goes with, while they have no other home.
pub(crate) struct Resolved {
    pub template: Template,
    plan: [ArgPlan; MAX_WIRE_ARGS],
}

impl Resolved {
    /// The capture plan.
    pub fn plan(&self) -> &[ArgPlan] {
        &self.plan[..self.template.meta.wire_args as usize]
    }
}

/// Resolves a site and publishes what was found, unless another thread already has.
#[cold]
#[inline(never)]
pub(crate) fn resolve(images: &Images, site: &Site) -> Resolved {
    let mut resolved = resolve_at(images, site, site.level());
    // Numbers are given out freely: a thread that loses the race to publish
    // leaves a gap.
    let id = images.number_site();
    let Resolved { template, plan } = &resolved;
    let plan = &plan[..template.meta.wire_args as usize];
    if site.state().publish(template, plan, id) {
        resolved.template.id = id;
    }
    resolved
}

/// Resolves a site for records of a level, and publishes nothing.
pub(crate) fn resolve_at(images: &Images, site: &Site, level: Level) -> Resolved {
    let mut resolved = if site.is_made_at_run_time() {
        resolve_texts(images, site, level)
    } else {
        let at = ptr::from_ref(site).addr();
        let (file, format) = (site.file(), site.format());
        resolve_strings(images, at, level, site.line(), file, format)
    };
    resolved.template.plan = site.plan();
    let meta = &mut resolved.template.meta;
    if site.flags() & (flags::ATTACHED | flags::DESCRIBED) != 0 {
        meta.wire_args = site.plan_into(&mut resolved.plan) as u8;
    }
    let texts = meta.format_text || meta.file_text;
    let has = |flag: u8| site.flags() & flag != 0;
    meta.tail_fields = u8::from(has(flags::KIND)) + u8::from(has(flags::SPAN));
    meta.quick = !texts && !has(flags::BACKTRACE | flags::LIMITED);
    meta.plain = meta.quick && meta.tail_fields == 0;
    resolved.template.set_checksums();
    resolved
}

/// Resolves the strings of a call; `at` is an address in the image to which
/// the call belongs.
pub(crate) fn resolve_strings(
    images: &Images,
    at: usize,
    level: Level,
    line: u32,
    file: &CStr,
    format: &CStr,
) -> Resolved {
    let found = images.of(at);
    let image = found.map(|(_, image)| image);
    let places = Places {
        file: image.and_then(|image| image.address_of(file)),
        format: image.and_then(|image| image.address_of(format)),
        image: found,
    };
    resolve_places(images, &places, level, line, format)
}

/// Resolves a site that stands in no image.
fn resolve_texts(images: &Images, site: &Site, level: Level) -> Resolved {
    let format = site.format();
    let places = Places {
        image: None,
        file: Some(run_time::number_of(site.file())),
        format: Some(run_time::number_of(format)),
    };
    resolve_places(images, &places, level, site.line(), format)
}

/// Where the strings of a call are: in an image, or numbered; `None` for what each record has.
struct Places<'i> {
    image: Option<(u8, &'i Image)>,
    file: Option<Svma>,
    format: Option<Svma>,
}

fn resolve_places(
    images: &Images,
    places: &Places<'_>,
    level: Level,
    line: u32,
    format: &CStr,
) -> Resolved {
    let mut plan = [ArgPlan::UNNAMED; MAX_WIRE_ARGS];
    // What is beyond the longest plan was refused by the macros; in a wrapper
    // the record goes without arguments.
    let wire_args = plan_into(format.to_bytes(), &mut plan).unwrap_or(0);
    let mut prefix = [0; PREFIX_ROOM];
    let encoded = encode_prefix(&mut prefix, places, level, line);
    debug_assert!(encoded.is_ok(), "the longest prefix fits");
    let prefix_len = encoded.unwrap_or(0);
    let image = places.image.map_or(Meta::NO_IMAGE, |(index, _)| index);
    let meta = Meta {
        prefix_len: prefix_len as u8,
        wire_args: wire_args as u8,
        image,
        file: places
            .file
            .and_then(|at| images.file(image, at))
            .unwrap_or(Meta::NO_FILE),
        format_text: places.format.is_none(),
        file_text: places.file.is_none(),
        tail_fields: 0,
        quick: false,
        plain: false,
        takes_errno: plan[..wire_args]
            .iter()
            .any(|plan| plan.class == Class::Errno),
        may_begin_header: may_begin_in(&prefix[..prefix_len]),
    };
    let mut template = Template {
        prefix,
        meta,
        id: 0,
        plan: ptr::null(),
        crc: 0,
        crc_with_more: 0,
    };
    template.set_checksums();
    Resolved { template, plan }
}

fn encode_prefix(
    prefix: &mut [u8; PREFIX_ROOM],
    places: &Places<'_>,
    level: Level,
    line: u32,
) -> Result<usize, OutOfRoom> {
    let mut encoder = Encoder::new(prefix);
    encoder.uint(Tag::DATA.0 as u64)?;
    let mut fields = encoder.fields()?;
    let identity = places.image.and_then(|(_, image)| image.identity());
    fields.uint64(field::MAGIC, identity.map(|identity| identity.magic.0))?;
    fields.uint(field::FILE, places.file.map(|at| at.0))?;
    fields.uint(field::LINE, Some(line as u64))?;
    fields.uint(field::LEVEL, Some(level.0 as u64))?;
    fields.uint(field::FORMAT, places.format.map(|at| at.0))?;
    fields.finish()?;
    let len = encoder.position();
    // A fixmap counts its fields in its head, and these follow in every record.
    prefix[1] += body::VARYING_FIELDS;
    Ok(len)
}
