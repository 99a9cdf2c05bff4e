//! The reader from outside, in one program: logs that are known to the byte ([`synth`]),
//! accidents, campaigns of them ([`seeds`]), what other tools make of exports. What measures
//! the memory of its process is a program of its own.

#[path = "../mutant/mod.rs"]
mod mutant;
#[path = "../synth/mod.rs"]
mod synth;

mod cores;
mod damage;
mod damage_table;
mod export_fxt;
mod export_perfetto;
mod follow;
mod follow_campaign;
mod follow_order;
mod forgeries;
mod fuzz_corpus;
mod hostile;
mod import_fxt;
mod mutations;
mod notes;
mod order;
mod perfetto;
mod places;
mod printf_equals_glibc;
mod printf_is_total;
mod printf_through_the_logger;
mod seeds;
mod since;
mod single_changes;
mod sparse;
mod split;
mod stages;
mod survey;
mod unreadable;
