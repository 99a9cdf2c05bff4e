//! `logdef-sql`.

fn main() {}
