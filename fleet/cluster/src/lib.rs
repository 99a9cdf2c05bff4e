//! Queries on many machines.
