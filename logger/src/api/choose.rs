//! For each control of the log, the choice of who does it: the copy of the logger that
//! leads, or this one. The only place where a control is passed on.

use crate::api::here;
use crate::captured::Capture;
use crate::changes::Changed;
use crate::context::Context;
use crate::copies::leader::{leader, services};
use crate::copies::request::OpenRequest;
use crate::observer::Observer;
use crate::state::RawState;
use logdef_wire::Level;
use std::io;

macro_rules! choose {
    (
        calls { $($calls:tt)* }
        controls { $(
            [] fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;
        )* }
        later calls { $($later:tt)* }
    ) => {
        $(pub(crate) fn $name($($argument: $type),*) -> $result {
            match leader() {
                Some(leader) => leader.$name($($argument),*),
                None => here::$name($($argument),*),
            }
        })*
    };
}
services!(choose);
