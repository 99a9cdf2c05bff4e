//! Where the lines are drawn for files that mean harm. The defaults let every honest file through
//! that was at hand when they were chosen, with room to spare.

/// Bounds on what files may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Largest file to read, in bytes. Larger ones are refused.
    pub file_size: u64,
    /// Most bytes to read of files that logs name, all of them together, and as many again of
    /// the debug files that complete them. A file that was read and is not the one wanted is not
    /// read again.
    pub total_size: u64,
    /// Most bytes that the compressed sections of one file may unpack to, all together.
    pub unpacked_size: u64,
    /// Most steps of DWARF decoding for one address. A step is one number or string read from a
    /// section, or one byte passed over; a hundred million take about a second.
    pub steps_per_address: u64,
    /// Most entries to look at in the directories given, when a file is not where its name says.
    pub directory_entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            file_size: 2 << 30,
            total_size: 8 << 30,
            unpacked_size: 2 << 30,
            steps_per_address: 1 << 28,
            directory_entries: 50_000,
        }
    }
}
