//! How a recovery is done: its memory, its cores, what it believes.

use crate::recover::tables;

/// Cores that an input is walked on, where the machine decides: more wait for the
/// memory, or for the one that puts their reports together.
const CORES: usize = 8;

/// How a recovery is done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Bytes of memory for tables of logdefs.
    pub memory: usize,
    /// Whether suspect frames are given too, with that [standing](crate::Standing::Suspect), and
    /// what they define is believed.
    pub trust_suspects: bool,
    /// Cores to work on; 0 for as many as there are. What comes out is the same.
    pub cores: usize,
    /// Bytes of the [pieces](crate::Recovery::pieces) that are found; by default each input is one. Each piece
    /// takes some memory.
    pub pieces: u64,
    /// Whether the [shapes](crate::Recovery::shapes) of records are found.
    pub shapes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory: tables::DEFAULT_MEMORY,
            trust_suspects: false,
            cores: 0,
            pieces: u64::MAX,
            shapes: false,
        }
    }
}

impl Options {
    /// How many threads walk an input.
    pub(super) fn walkers(&self) -> usize {
        match self.cores {
            0 => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(CORES)),
            cores => cores,
        }
    }

    /// Bytes of a piece.
    pub(super) fn piece(&self) -> u64 {
        self.pieces.max(1)
    }
}
