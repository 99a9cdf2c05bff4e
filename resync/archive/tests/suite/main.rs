//! Logs become archives and logs again, and files of others are refused.

mod all_fields;
mod hostile;
mod made;
mod parts;
