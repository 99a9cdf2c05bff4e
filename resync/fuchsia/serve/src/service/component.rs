//! Who writes: the name and the place of a process, found out by the service and not taken from records.

use std::fs;
use std::path::Path;

use crate::receive::Credentials;

/// A process that writes records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Component {
    /// The systemd service it runs in, or else the base name of its executable.
    pub(super) moniker: String,
    /// Its executable, as a `file://` URL.
    pub(super) url: Option<String>,
    pub(super) pid: u32,
}

impl Component {
    /// The component of a process, from what the kernel shows of it now.
    pub(super) fn of(credentials: Credentials) -> Self {
        let pid = credentials.pid;
        let executable = fs::read_link(format!("/proc/{pid}/exe")).ok();
        let name = |path: &Path| Some(path.file_name()?.to_string_lossy().into_owned());
        let moniker = fs::read_to_string(format!("/proc/{pid}/cgroup"))
            .ok()
            .and_then(|cgroup| unit(&cgroup))
            .or_else(|| executable.as_deref().and_then(name))
            .unwrap_or_else(|| format!("pid-{pid}"));
        let url = executable.map(|path| format!("file://{}", path.display()));
        Self { moniker, url, pid }
    }

    /// The service itself.
    pub(super) fn service() -> Self {
        Self {
            moniker: "logdef-serve".to_owned(),
            url: None,
            pid: std::process::id(),
        }
    }
}

/// The systemd service that a control group belongs to.
fn unit(cgroup: &str) -> Option<String> {
    let path = cgroup.lines().find_map(|line| line.strip_prefix("0::"))?;
    let name = path.rsplit('/').next()?.strip_suffix(".service")?;
    // A session of a user is no name for the programs in it.
    (!name.starts_with("user@")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_named_after_its_unit() {
        assert_eq!(
            unit("0::/system.slice/cron.service\n").as_deref(),
            Some("cron")
        );
        assert_eq!(unit("0::/user.slice/user-0.slice/session-1.scope\n"), None);
        assert_eq!(unit("0::/user.slice/user-0.slice/user@0.service\n"), None);
        assert_eq!(unit("1:cpu:/\n"), None);
    }

    #[test]
    fn a_process_is_named_after_its_executable_and_a_gone_one_after_its_number() {
        let me = Component::of(Credentials {
            pid: std::process::id(),
            uid: 0,
        });
        let executable = std::env::current_exe().unwrap();
        assert_eq!(me.url, Some(format!("file://{}", executable.display())));
        let gone = Component::of(Credentials { pid: 0, uid: 0 });
        assert_eq!((gone.moniker.as_str(), gone.url), ("pid-0", None));
    }
}
