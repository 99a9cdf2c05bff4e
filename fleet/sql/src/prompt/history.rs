//! The file with the questions that were typed before. It is the user's alone: questions name what logs hold.

use rustyline::history::FileHistory;
use rustyline::{Editor, Helper};
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where it is, by the XDG Base Directory Specification; `None` if the environment says nothing.
pub fn path() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("logdef/sql_history"))
}

/// Appends what was typed since the last time. A history that cannot be written is no reason to stop.
pub fn append(editor: &mut Editor<impl Helper, FileHistory>, path: &Path) {
    if let Some(folder) = path.parent() {
        let _ = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    // The editor makes the file with mode 0600.
    let _ = editor.append_history(path);
}
