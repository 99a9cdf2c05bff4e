//! A store of the tests' own: it takes requests over HTTP, answers them as it was asked to, and keeps what it took. It
//! reads requests by what RFC 9112 says of a body with a length, and knows nothing of logs.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The first line.
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Unpacked.
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(own, _)| own == name);
        found.next().map(|(_, value)| &**value)
    }
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers so: status line, further headers, body.
    Say(&'static str, &'static str, Vec<u8>),
    /// Closes the connection in the middle of the request.
    Drop,
    /// Closes it in the middle of the answer, but keeps the request.
    Break,
    /// Takes the request, and answers when [`Store::let_go`] says so.
    Hold,
}

pub fn ok() -> Reply {
    Reply::Say("200 OK", "", Vec::new())
}

/// What the threads of a store share.
#[derive(Default)]
struct Shared {
    taken: Mutex<Vec<Request>>,
    /// How many requests came, taken or not.
    came: Mutex<usize>,
    news: Condvar,
    replies: Mutex<VecDeque<Reply>>,
    /// Bodies longer than this are too large.
    most: Mutex<Option<usize>>,
    holds: Mutex<bool>,
    is_over: AtomicBool,
}

/// A store that listens.
pub struct Store {
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: Option<JoinHandle<()>>,
}

impl Store {
    pub fn new() -> Store {
        Store::at("127.0.0.1:0".parse().unwrap())
    }

    /// One that listens at an address where another did.
    pub fn at(address: SocketAddr) -> Store {
        let end = Instant::now() + Duration::from_secs(60);
        let listener = loop {
            match TcpListener::bind(address) {
                Ok(listener) => break listener,
                Err(error) => assert!(Instant::now() < end, "{address}: {error}"),
            }
        };
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let listener = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if own.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let own = Arc::clone(&own);
                let stream = stream.unwrap();
                connections.push(std::thread::spawn(move || serve(&own, stream)));
            }
            connections.into_iter().for_each(|it| it.join().unwrap());
        });
        Store {
            shared,
            address,
            listener: Some(listener),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers the next requests so; those after them are taken.
    pub fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.replies.lock().unwrap().extend(replies);
    }

    /// Finds longer bodies too large.
    pub fn takes_up_to(&self, bytes: usize) {
        *self.shared.most.lock().unwrap() = Some(bytes);
    }

    /// Lets requests that are held be answered.
    pub fn let_go(&self) {
        *self.shared.holds.lock().unwrap() = false;
        self.shared.news.notify_all();
    }

    /// What was taken so far.
    pub fn taken(&self) -> Vec<Request> {
        self.shared.taken.lock().unwrap().clone()
    }

    /// How many requests came.
    pub fn came(&self) -> usize {
        *self.shared.came.lock().unwrap()
    }

    /// Waits until so much came that a condition holds.
    pub fn wait(&self, holds: impl Fn(&Store) -> bool) {
        let end = Instant::now() + Duration::from_secs(120);
        while !holds(self) {
            assert!(Instant::now() < end, "{} requests came", self.came());
            let came = self.shared.came.lock().unwrap();
            let _ = self
                .shared
                .news
                .wait_timeout(came, Duration::from_millis(20))
                .unwrap();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.let_go();
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take()
            && listener.join().is_err()
            && !std::thread::panicking()
        {
            panic!("a thread of the store failed");
        }
    }
}

/// Answers the requests of a connection.
fn serve(shared: &Shared, stream: TcpStream) {
    // A client that keeps the connection must not keep the test.
    stream
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let mut answers = stream.try_clone().unwrap();
    let mut reader = BufReader::new(Patient { stream, shared });
    while !shared.is_over.load(Ordering::SeqCst) {
        let reply = match shared.replies.lock().unwrap().front() {
            Some(Reply::Drop) => Some(Reply::Drop),
            _ => None,
        };
        let Some(request) = request(&mut reader, reply.is_some()) else {
            if reply.is_some() {
                shared.replies.lock().unwrap().pop_front();
                count(shared);
            }
            return;
        };
        let most = *shared.most.lock().unwrap();
        let is_too_large = most.is_some_and(|most| request.body.len() > most);
        let reply = match shared.replies.lock().unwrap().pop_front() {
            _ if is_too_large => Reply::Say("413 Content Too Large", "", Vec::new()),
            Some(reply) => reply,
            None => ok(),
        };
        if matches!(reply, Reply::Hold) {
            *shared.holds.lock().unwrap() = true;
        }
        let is_taken = match &reply {
            Reply::Say(status, ..) => status.starts_with('2'),
            Reply::Hold | Reply::Break => true,
            Reply::Drop => false,
        };
        if is_taken {
            shared.taken.lock().unwrap().push(request);
        }
        count(shared);
        let (status, headers, body) = match reply {
            Reply::Say(status, headers, body) => (status, headers, body),
            Reply::Hold => {
                let mut holds = shared.holds.lock().unwrap();
                while *holds {
                    holds = shared.news.wait(holds).unwrap();
                }
                ("200 OK", "", Vec::new())
            }
            Reply::Break => {
                let _ = answers.write_all(b"HTTP/1.1 200 OK\r\nContent-Le");
                let _ = answers.shutdown(std::net::Shutdown::Both);
                return;
            }
            Reply::Drop => return,
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        // A client that was killed reads nothing.
        if answers
            .write_all(&[head.as_bytes(), &body].concat())
            .is_err()
        {
            return;
        }
    }
}

fn count(shared: &Shared) {
    *shared.came.lock().unwrap() += 1;
    shared.news.notify_all();
}

/// A stream that is read until the test is over.
struct Patient<'s> {
    stream: TcpStream,
    shared: &'s Shared,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    if self.shared.is_over.load(Ordering::SeqCst) {
                        return Ok(0);
                    }
                }
                other => return other,
            }
        }
    }
}

/// Reads a request; `None` if there is no further one, or it is to be left in the middle.
fn request(reader: &mut BufReader<Patient<'_>>, leaves: bool) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader
            .read_line(&mut header)
            .ok()
            .filter(|read| *read > 0)?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request {
        line: line.trim_end().to_owned(),
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .expect("a length")
        .parse()
        .unwrap();
    let mut body = vec![0; if leaves { length / 2 } else { length }];
    reader.read_exact(&mut body).ok()?;
    if leaves {
        return None;
    }
    request.body = body;
    if request.header("content-encoding") == Some("gzip") {
        let mut unpacked = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(&request.body[..]);
        decoder.read_to_end(&mut unpacked).unwrap();
        request.body = unpacked;
    }
    Some(request)
}
