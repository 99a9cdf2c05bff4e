//! How things look: records in each form, losses in words, pictures.

pub(crate) mod clock;
pub(crate) mod draw;
pub(crate) mod escape;
pub(crate) mod folded;
pub(crate) mod hyperlink;
pub(crate) mod json;
pub(crate) mod losses;
pub(crate) mod map;
pub(crate) mod markup;
pub(crate) mod printer;
pub(crate) mod signal;
pub(crate) mod tabular;
pub(crate) mod text;
pub(crate) mod words;
