//! A service that a test runs, and what it asks of it.

use super::*;

pub const SOON: Duration = Duration::from_secs(20);

pub fn slow() -> bool {
    std::env::var_os("LOGDEF_SLOW").is_some()
}

/// A service in a thread of the test.
pub struct Running {
    pub directory: tempfile::TempDir,
    pub stored: Counted,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Running {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(directory.path());
        change(&mut settings);
        let stored = Counted::default();
        let service = Service::bind(settings, |_| Ok(stored.clone())).unwrap();
        let stop = service.stop_handle();
        let thread = Some(std::thread::spawn(move || service.run()));
        Self {
            directory,
            stored,
            stop,
            thread,
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn client(&self) -> Client {
        Client::connect(self.path()).unwrap()
    }

    pub fn snapshot(&self) -> Vec<LogsData> {
        answers(self.path(), &Request::default()).collect()
    }

    pub fn count(&self, node: &str, name: &str) -> u64 {
        count(self.path(), node, name)
    }
}

/// The state of the service in a directory: a count by its path.
pub fn count(directory: &Path, node: &str, name: &str) -> u64 {
    let request = Request {
        data: Kind::Inspect,
        ..Request::default()
    };
    let answer = ask(directory, &request).unwrap();
    let [data]: [InspectData; 1] = serde_json::from_reader(answer).unwrap();
    let root = data.payload.unwrap().root;
    let child = root.children.iter().find(|(name, _)| name == node);
    let mut properties = child.unwrap().1.properties.iter();
    match properties.find(|(other, _)| other == name).unwrap() {
        (_, Property::SignedInt(value)) => *value as u64,
        (_, other) => panic!("{other:?}"),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            if let Some(ended) = ended {
                ended.unwrap().unwrap();
            }
            assert!(!self.path().join("log").exists(), "the sockets are gone");
        }
    }
}

pub fn answers(directory: &Path, request: &Request) -> impl Iterator<Item = LogsData> + use<> {
    let answer = ask(directory, request).unwrap();
    answer.get_ref().set_read_timeout(Some(SOON)).unwrap();
    serde_json::Deserializer::from_reader(answer)
        .into_iter::<Vec<LogsData>>()
        .flat_map(|array| array.unwrap())
}

pub fn message(data: &LogsData) -> &str {
    data.payload
        .as_ref()
        .and_then(|payload| payload.message.as_deref())
        .unwrap_or("")
}

pub fn raw(path: &Path, kind: SocketType) -> OwnedFd {
    let socket = socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

/// Waits for the end of a connection.
pub fn is_closed(socket: &OwnedFd) -> bool {
    rustix::net::sockopt::set_socket_timeout(
        socket,
        rustix::net::sockopt::Timeout::Recv,
        Some(SOON),
    )
    .unwrap();
    match recv(socket, &mut [0_u8; 64][..], RecvFlags::empty()) {
        Ok((length, _)) => length == 0,
        Err(error) => error == rustix::io::Errno::CONNRESET,
    }
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < SOON, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
