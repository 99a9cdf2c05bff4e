//! The directory of the sockets: a user who can replace files in it can pose as the service.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Another user may put files there. That others may look is no harm: the sockets are for this user only.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Any user may rename what is in it, but for the sticky bit.
const WRITABLE_BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The usual directory: `logdef` in the runtime directory of the user. Where there is none it is one in
/// `/tmp`, which [`own_directory`] makes or refuses.
pub(super) fn usual() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|runtime| !runtime.is_empty());
    if let Some(runtime) = runtime {
        return Path::new(&runtime).join("logdef");
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = match user {
        0 => PathBuf::from("/run"),
        _ => PathBuf::from(format!("/run/user/{user}")),
    };
    if runtime.is_dir() {
        return runtime.join("logdef");
    }
    PathBuf::from(format!("/tmp/logdef-{user}"))
}

/// Makes the directory if it does not exist, and refuses one that another user owns or may write to.
pub(super) fn own_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let found = fs::symlink_metadata(directory)?;
    if found.is_symlink() {
        return refused(directory, "is a symbolic link");
    }
    let owner = found.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return refused(directory, &format!("belongs to user {owner}"));
    }
    let mode = found.mode() & 0o7777;
    if mode & WRITABLE_BY_OTHERS != 0 {
        let why = format!("can be written by other users (mode {mode:04o}): try chmod 700");
        return refused(directory, &why);
    }
    let whole = directory.canonicalize()?;
    for above in whole.ancestors().skip(1) {
        let mode = fs::metadata(above)?.mode();
        if mode & WRITABLE_BY_ALL != 0 && mode & STICKY == 0 {
            let why = format!(
                "can be replaced by any user, as {} can be written by all",
                above.display()
            );
            return refused(directory, &why);
        }
    }
    Ok(())
}

fn refused(directory: &Path, why: &str) -> io::Result<()> {
    let message = format!("{} {why}", directory.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

#[cfg(test)]
#[path = "../../../../../samples/src/skip.rs"]
mod skip;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refusal(directory: &Path) -> String {
        own_directory(directory).unwrap_err().to_string()
    }

    #[test]
    fn a_directory_that_others_have_a_say_in_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("own");
        own_directory(&own).unwrap();
        assert_eq!(fs::metadata(&own).unwrap().mode() & 0o7777, 0o700);
        own_directory(&own).unwrap();

        let link = place.path().join("link");
        symlink(&own, &link).unwrap();
        assert!(refusal(&link).ends_with("is a symbolic link"));

        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        own_directory(&own).unwrap();
        for mode in [0o777, 0o720, 0o702, 0o1777] {
            fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
            let why = refusal(&own);
            assert!(why.contains(&format!("(mode {mode:04o})")), "{why}");
        }

        let open = place.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let why = refusal(&open.join("within"));
        assert!(why.contains("can be replaced by any user"), "{why}");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        own_directory(&open.join("within")).unwrap();
    }

    #[test]
    fn a_directory_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            skip::skip("only root can give a directory away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let theirs = place.path().join("theirs");
        own_directory(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65_534), None).unwrap();
        assert!(refusal(&theirs).ends_with("belongs to user 65534"));
    }
}
