//! Turning a call site, or the strings of a call that has none, into the
//! constant part of its records. Done once for a site; knows neither threads
//! nor sinks.

use crate::call::body::{self, MAX_WIRE_ARGS};
use crate::call::site::{Meta, PREFIX_ROOM, Site, Template};
use crate::crc;
use crate::image::{Image, Images};
use core::ffi::CStr;
use core::ptr;
use logdef_wire::msgpack::{Encoder, OutOfRoom};
use logdef_wire::printf::{ArgPlan, Class, caller_args, plan_into};
use logdef_wire::record::field;
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

/// Resolves a site and publishes what was found, if nobody else has.
#[cold]
#[inline(never)]
pub(crate) fn resolve(images: &Images, site: &Site) -> Resolved {
    let mut resolved = resolve_strings(
        images,
        ptr::from_ref(site).addr(),
        site.level(),
        site.line(),
        site.file(),
        site.format(),
    );
    resolved.template.plan = site.plan();
    let meta = &mut resolved.template.meta;
    if site.flags() & flags::ATTACHED != 0 {
        let captured = plan_into(site.captured().to_bytes(), &mut resolved.plan);
        meta.wire_args = captured.unwrap_or(0) as u8;
    }
    if site.flags() & flags::DESCRIBED != 0 {
        // Behind what the format takes, values go as they are.
        let first = caller_args(site.captured().to_bytes());
        for index in first..site.args() {
            let at = meta.wire_args as usize;
            if let Some(plan) = resolved.plan.get_mut(at) {
                *plan = ArgPlan::value(index as u16);
                meta.wire_args += 1;
            }
        }
    }
    let texts = meta.format_text || meta.file_text;
    let rarer = flags::BACKTRACE | flags::KIND | flags::LIMITED | flags::SPAN;
    meta.plain = !texts && site.flags() & rarer == 0;
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
    let mut plan = [ArgPlan::UNNAMED; MAX_WIRE_ARGS];
    let bytes = format.to_bytes();
    // What is beyond the longest plan was refused by the macros; in a wrapper
    // the record goes without arguments.
    let wire_args = plan_into(bytes, &mut plan).unwrap_or(0);
    let found = images.of(at);
    let image = found.map(|(_, image)| image);
    let file_at = image.and_then(|image| image.address_of(file));
    let format_at = image.and_then(|image| image.address_of(format));
    let mut prefix = [0; PREFIX_ROOM];
    let encoded = encode_prefix(&mut prefix, image, level, line, file_at, format_at);
    debug_assert!(encoded.is_ok(), "the longest prefix fits");
    let file_number = match (found, file_at) {
        (Some((index, _)), Some(at)) => images.file(index, at),
        _ => None,
    };
    let meta = Meta {
        prefix_len: encoded.unwrap_or(0) as u8,
        wire_args: wire_args as u8,
        image: found.map_or(Meta::NO_IMAGE, |(index, _)| index),
        file: file_number.unwrap_or(Meta::NO_FILE),
        format_text: format_at.is_none(),
        file_text: file_at.is_none(),
        plain: false,
        takes_errno: plan[..wire_args]
            .iter()
            .any(|plan| plan.class == Class::Errno),
        holds_c1: prefix.contains(&0xc1),
    };
    let mut template = Template {
        prefix,
        meta,
        id: 0,
        plan: ptr::null(),
        crc: 0,
    };
    template.crc = crc::state_after(crc::START, template.prefix());
    Resolved { template, plan }
}

fn encode_prefix(
    prefix: &mut [u8; PREFIX_ROOM],
    image: Option<&Image>,
    level: Level,
    line: u32,
    file: Option<Svma>,
    format: Option<Svma>,
) -> Result<usize, OutOfRoom> {
    let mut encoder = Encoder::new(prefix);
    encoder.uint(Tag::DATA.0 as u64)?;
    let mut fields = encoder.fields()?;
    let identity = image.and_then(Image::identity);
    fields.uint64(field::MAGIC, identity.map(|identity| identity.magic.0))?;
    fields.uint(field::FILE, file.map(|at| at.0))?;
    fields.uint(field::LINE, Some(line as u64))?;
    fields.uint(field::LEVEL, Some(level.0 as u64))?;
    fields.uint(field::FORMAT, format.map(|at| at.0))?;
    fields.finish()?;
    let len = encoder.position();
    // A fixmap counts its fields in its head, and these follow in every record.
    prefix[1] += body::VARYING_FIELDS;
    Ok(len)
}
