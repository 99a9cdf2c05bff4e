//! The program that a line table is packed into (DWARF 5, section 6.2.5). It is gone through twice: once to see
//! where its sequences begin, which takes no more than a look at each opcode, and then, of the sequence that
//! an address lies in, to make its rows.

use std::ops::Range;

use gimli::{EndianSlice, LineProgramHeader, Reader as _, RunTimeEndian};

use crate::names::meter::Reader;

type Bytes<'a> = EndianSlice<'a, RunTimeEndian>;

/// What the header says of how the program is packed.
pub(crate) struct Packing {
    lengths: Box<[u8]>,
    opcode_base: u8,
    line_base: i8,
    line_range: u8,
    instruction_length: u64,
    operations: u64,
    address_size: u8,
}

/// The registers that rows are made of.
#[derive(Clone, Copy)]
struct Registers {
    address: u64,
    /// Which of the operations in an instruction, on machines that have several.
    operation: u64,
    file: u64,
    line: u64,
    column: u64,
    /// The code was thrown away by the linker, up to the next address.
    is_gone: bool,
}

/// What code from `address` to that of the next row was made of.
pub(crate) struct Row {
    pub address: u64,
    pub file: u64,
    /// From 1; 0 if it is no line's.
    pub line: u32,
    pub column: u32,
}

/// What an instruction is to those who make rows.
enum Effect {
    Nothing,
    Row,
    End,
}

impl Packing {
    pub fn of(header: &LineProgramHeader<Reader<'_>>) -> Packing {
        Packing {
            lengths: header.standard_opcode_lengths().bytes().into(),
            opcode_base: header.opcode_base(),
            line_base: header.line_base(),
            line_range: header.line_range(),
            instruction_length: header.minimum_instruction_length().into(),
            operations: header.maximum_operations_per_instruction().into(),
            address_size: header.address_size(),
        }
    }

    /// Gives the first address of each sequence, and where in the program it stands, to `found`.
    pub fn sequences(
        &self,
        program: Bytes<'_>,
        mut found: impl FnMut(u64, Range<usize>),
    ) -> gimli::Result<()> {
        let mut rest = program;
        let position = |rest: &Bytes<'_>| program.len() - rest.len();
        let (mut start, mut address) = (0, None);
        while !rest.is_empty() {
            let opcode = rest.read_u8()?;
            if opcode >= self.opcode_base {
                continue;
            }
            if opcode != 0 {
                self.skip_operands(opcode, &mut rest)?;
                continue;
            }
            let mut operands = extended(&mut rest)?;
            match gimli::DwLne(operands.read_u8()?) {
                gimli::DW_LNE_set_address if address.is_none() => {
                    address = Some(operands.read_address(self.address_size)?);
                }
                gimli::DW_LNE_end_sequence => {
                    let end = position(&rest);
                    found(address.unwrap_or(0), start..end);
                    (start, address) = (end, None);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows of one sequence in order, and where its code ends.
    pub fn rows(&self, mut sequence: Bytes<'_>) -> gimli::Result<(Vec<Row>, u64)> {
        let mut registers = Registers::new();
        let mut rows: Vec<Row> = Vec::with_capacity(sequence.len() / 4);
        while !sequence.is_empty() {
            match self.execute(&mut registers, &mut sequence)? {
                Effect::Nothing => {}
                _ if registers.is_gone => {}
                Effect::End => break,
                Effect::Row => {
                    // Of rows for one address the last counts.
                    if rows
                        .last()
                        .is_some_and(|it| it.address == registers.address)
                    {
                        rows.pop();
                    }
                    rows.push(registers.row());
                }
            }
        }
        Ok((rows, registers.address))
    }

    #[inline]
    fn execute(&self, registers: &mut Registers, rest: &mut Bytes<'_>) -> gimli::Result<Effect> {
        let opcode = rest.read_u8()?;
        if opcode >= self.opcode_base {
            let adjusted = opcode - self.opcode_base;
            self.advance(registers, (adjusted / self.line_range).into());
            let line = i64::from(self.line_base) + i64::from(adjusted % self.line_range);
            registers.line = registers.line.wrapping_add_signed(line);
            return Ok(Effect::Row);
        }
        match gimli::DwLns(opcode) {
            gimli::DwLns(0) => return self.execute_extended(registers, &mut extended(rest)?),
            gimli::DW_LNS_copy => return Ok(Effect::Row),
            gimli::DW_LNS_advance_pc => self.advance(registers, rest.read_uleb128()?),
            gimli::DW_LNS_advance_line => {
                registers.line = registers.line.wrapping_add_signed(rest.read_sleb128()?);
            }
            gimli::DW_LNS_set_file => registers.file = rest.read_uleb128()?,
            gimli::DW_LNS_set_column => registers.column = rest.read_uleb128()?,
            gimli::DW_LNS_const_add_pc => {
                let most = 255 - self.opcode_base;
                self.advance(registers, (most / self.line_range).into());
            }
            gimli::DW_LNS_fixed_advance_pc => {
                registers.address = registers.address.wrapping_add(rest.read_u16()?.into());
                registers.operation = 0;
            }
            _ => self.skip_operands(opcode, rest)?,
        }
        Ok(Effect::Nothing)
    }

    fn execute_extended(
        &self,
        registers: &mut Registers,
        operands: &mut Bytes<'_>,
    ) -> gimli::Result<Effect> {
        match gimli::DwLne(operands.read_u8()?) {
            gimli::DW_LNE_end_sequence => return Ok(Effect::End),
            gimli::DW_LNE_set_address => {
                let address = operands.read_address(self.address_size)?;
                // Addresses only grow; linkers give thrown away code low ones, or the last of all.
                registers.is_gone = address < registers.address || address >= self.gone();
                if !registers.is_gone {
                    (registers.address, registers.operation) = (address, 0);
                }
            }
            _ => {}
        }
        Ok(Effect::Nothing)
    }

    /// The least of the addresses that stand for no address: the last but one (DWARF 6, issue 200609.1).
    fn gone(&self) -> u64 {
        (u64::MAX >> (64 - 8 * u32::from(self.address_size.clamp(1, 8)))) - 1
    }

    /// Section 6.2.5.1.
    fn advance(&self, registers: &mut Registers, operations: u64) {
        let (instructions, operation) = match self.operations {
            1 => (operations, 0),
            several => {
                let sum = registers.operation.wrapping_add(operations);
                (sum / several, sum % several)
            }
        };
        let bytes = self.instruction_length.wrapping_mul(instructions);
        registers.address = registers.address.wrapping_add(bytes);
        registers.operation = operation;
    }

    fn skip_operands(&self, opcode: u8, rest: &mut Bytes<'_>) -> gimli::Result<()> {
        if gimli::DwLns(opcode) == gimli::DW_LNS_fixed_advance_pc {
            return rest.skip(2);
        }
        let count = self.lengths.get(usize::from(opcode) - 1);
        for _ in 0..count.copied().unwrap_or(0) {
            rest.skip_leb128()?;
        }
        Ok(())
    }
}

impl Registers {
    fn new() -> Registers {
        Registers {
            address: 0,
            operation: 0,
            file: 1,
            line: 1,
            column: 0,
            is_gone: false,
        }
    }

    fn row(&self) -> Row {
        Row {
            address: self.address,
            file: self.file,
            line: self.line as u32,
            column: self.column as u32,
        }
    }
}

/// The operands of an extended instruction, its own opcode first.
fn extended<'a>(rest: &mut Bytes<'a>) -> gimli::Result<Bytes<'a>> {
    let length = rest.read_uleb128()?;
    rest.split(usize::try_from(length).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use gimli::{ColumnType, DebugLine, DebugLineOffset, LittleEndian};
    use object::{Object, ObjectSection};

    use super::*;
    use crate::names::meter::{Account, Allowance, metered};

    /// All rows of this program's tables as `gimli` makes them, of rows for one address the last.
    fn slow(program: gimli::IncompleteLineProgram<Reader<'_>>) -> Vec<(u64, u64, u32, u32)> {
        let mut all: Vec<(u64, u64, u32, u32)> = Vec::new();
        let (mut first, mut rows) = (0, program.rows());
        while let Some((_, row)) = rows.next_row().unwrap() {
            if row.end_sequence() {
                first = all.len();
                continue;
            }
            if all.len() > first && all[all.len() - 1].0 == row.address() {
                all.pop();
            }
            let column = match row.column() {
                ColumnType::LeftEdge => 0,
                ColumnType::Column(column) => column.get() as u32,
            };
            let line = row.line().map_or(0, |it| it.get() as u32);
            all.push((row.address(), row.file_index(), line, column));
        }
        all
    }

    fn fast(program: &gimli::IncompleteLineProgram<Reader<'_>>) -> Vec<(u64, u64, u32, u32)> {
        let header = program.header();
        let packing = Packing::of(header);
        let bytes = EndianSlice::new(header.raw_program_buf().bytes(), header_endian());
        let mut all = Vec::new();
        let sequences = packing.sequences(bytes, |begin, place| {
            let sequence = EndianSlice::new(&bytes.slice()[place], header_endian());
            let (rows, end) = packing.rows(sequence).unwrap();
            assert!(
                rows.iter()
                    .all(|it| it.address >= begin && it.address <= end)
            );
            all.extend(
                rows.iter()
                    .map(|it| (it.address, it.file, it.line, it.column)),
            );
        });
        sequences.unwrap();
        all
    }

    fn header_endian() -> RunTimeEndian {
        RunTimeEndian::Little
    }

    #[test]
    fn rows_are_those_that_gimli_makes() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".debug_line").unwrap();
        let section = section.uncompressed_data().unwrap();
        let mut allowance = Allowance::default();
        allowance.grow(Account::Lines, section.len());
        let (mut tables, mut rows) = (0, 0);
        metered(&mut allowance, u64::MAX, || {
            let reader = Reader::new(&section, header_endian(), Account::Lines);
            let (lines, mut offset) = (DebugLine::from(reader), 0);
            while offset < section.len() {
                let program = lines.program(DebugLineOffset(offset), 8, None, None);
                let program = program.unwrap();
                let ours = fast(&program);
                let unit = EndianSlice::new(&section[offset..], LittleEndian);
                offset += { unit }.read_u32().unwrap() as usize + 4;
                (tables, rows) = (tables + 1, rows + ours.len());
                assert_eq!(ours, slow(program));
            }
        });
        assert!(tables > 10 && rows > 10_000, "{tables} tables, {rows} rows");
    }
}
