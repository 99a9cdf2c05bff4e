//! The format from outside: its document and the C compiler must agree with the code.

mod format_document;
mod table_equals_gcc;
