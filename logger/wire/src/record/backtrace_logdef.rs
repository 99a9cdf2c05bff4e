//! Backtrace logdefs (2): what the process can say about an address that stands in
//! backtraces. Its key is (run, address); the latest before a record wins.

use super::{Fields, Tag};
use crate::msgpack::{DecodeError, Encoder, OutOfRoom};
use crate::{Avma, Magic, Run};

/// A code address as `dladdr` would describe it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BacktraceLogdef<'a> {
    /// Field 0: of the data record that follows.
    pub magic: Option<Magic>,
    /// Field 1: the runtime word, as it stands in backtraces.
    pub address: Option<Avma>,
    /// Field 2: `dli_fname`: path of the module that holds it.
    pub fname: Option<&'a [u8]>,
    /// Field 3: `dli_fbase`: where that module is mapped.
    pub fbase: Option<Avma>,
    /// Field 4: `dli_sname`: the nearest symbol below, nil when unknown.
    pub sname: Option<&'a [u8]>,
    /// Field 5: `dli_saddr`: where that symbol is, nil when unknown.
    pub saddr: Option<Avma>,
    /// Field 6: the run.
    pub run: Option<Run>,
    /// Field 7: GNU build ID of the module.
    pub build_id: Option<&'a [u8]>,
    /// Field 8: load bias of the module.
    pub load_bias: Option<u64>,
}

impl<'a> BacktraceLogdef<'a> {
    pub(super) fn decode(fields: &mut Fields<'a>) -> Result<Self, DecodeError> {
        let mut record = BacktraceLogdef::default();
        while let Some((tag, value)) = fields.next_field()? {
            match tag {
                0 => record.magic = value.as_uint().map(Magic),
                1 => record.address = value.as_uint().map(Avma),
                2 => record.fname = value.as_raw(),
                3 => record.fbase = value.as_uint().map(Avma),
                4 => record.sname = value.as_raw(),
                5 => record.saddr = value.as_uint().map(Avma),
                6 => record.run = value.as_uint().map(Run),
                7 => record.build_id = value.as_raw(),
                8 => record.load_bias = value.as_uint(),
                _ => {}
            }
        }
        Ok(record)
    }

    /// Writes the record's body.
    pub fn encode(&self, encoder: &mut Encoder<'_>) -> Result<(), OutOfRoom> {
        encoder.uint(Tag::BACKTRACE_LOGDEF.0 as u64)?;
        let mut fields = encoder.fields()?;
        fields.uint64(0, self.magic.map(|n| n.0))?;
        fields.uint(1, self.address.map(|n| n.0))?;
        fields.raw(2, self.fname)?;
        fields.uint(3, self.fbase.map(|n| n.0))?;
        // Nil, not absent: the writer looked and found none.
        match self.sname {
            Some(name) => fields.field(4)?.raw(name)?,
            None => fields.field(4)?.nil()?,
        }
        match self.saddr {
            Some(address) => fields.field(5)?.uint(address.0)?,
            None => fields.field(5)?.nil()?,
        }
        fields.uint64(6, self.run.map(|n| n.0))?;
        fields.raw(7, self.build_id)?;
        fields.uint(8, self.load_bias)?;
        fields.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Record, assert_vector};

    #[test]
    fn a_backtrace_logdef_is_these_bytes() {
        let bytes = [
            0x02, // tag
            0x88, // eight fields
            0x00, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0a, // 0: magic
            0x01, 0xcd, 0x11, 0x39, // 1: address
            0x02, 0xa2, b'/', b'p', // 2: dli_fname
            0x03, 0xcd, 0x10, 0x00, // 3: dli_fbase
            0x04, 0xc0, // 4: dli_sname, unknown
            0x05, 0xc0, // 5: dli_saddr, unknown
            0x06, 0xcf, 0, 0, 0, 0, 0, 0, 0, 0x0b, // 6: run
            0x08, 0xcd, 0x10, 0x00, // 8: load bias
        ];
        let logdef = BacktraceLogdef {
            magic: Some(Magic(10)),
            address: Some(Avma(0x1139)),
            fname: Some(b"/p"),
            fbase: Some(Avma(0x1000)),
            sname: None,
            saddr: None,
            run: Some(Run(11)),
            build_id: None,
            load_bias: Some(0x1000),
        };
        assert_vector(&bytes, Record::BacktraceLogdef(logdef));
    }
}
