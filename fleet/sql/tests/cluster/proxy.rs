//! A relay between a coordinator and a worker that acts after a number of bytes of the answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Act = Box<dyn FnOnce() + Send>;

/// Listens at a port of its own until the test ends.
pub struct Proxy {
    pub address: String,
    /// Bytes that the worker has sent through it.
    pub passed: Arc<AtomicUsize>,
}

impl Proxy {
    /// Passes all on to `worker`, each piece of its answers through `change`. When `after` bytes have come from it, no
    /// more are passed on: `act` happens then.
    pub fn new(worker: &str, after: usize, change: fn(&mut [u8]), act: Act) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let passed = Arc::new(AtomicUsize::new(0));
        let (worker, counter) = (worker.to_owned(), Arc::clone(&passed));
        let act = Arc::new(Mutex::new(Some(act)));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&worker)) else {
                    continue;
                };
                let (mut to, mut from) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
                let (counter, act) = (Arc::clone(&counter), Arc::clone(&act));
                std::thread::spawn(move || answers(server, client, &counter, after, change, &act));
            }
        });
        Proxy { address, passed }
    }

    /// One that only changes what a worker says.
    pub fn that_changes(worker: &str, change: fn(&mut [u8])) -> Proxy {
        Proxy::new(worker, usize::MAX, change, Box::new(|| ()))
    }
}

fn answers(
    mut server: TcpStream,
    mut client: TcpStream,
    passed: &AtomicUsize,
    after: usize,
    change: fn(&mut [u8]),
    act: &Mutex<Option<Act>>,
) {
    let mut buffer = [0; 4096];
    while let Ok(length) = server.read(&mut buffer) {
        let before = passed.fetch_add(length, Ordering::SeqCst);
        let length = length.min(after.saturating_sub(before));
        change(&mut buffer[..length]);
        if before + length >= after {
            let _ = client.write_all(&buffer[..length]);
            if let Some(act) = act.lock().unwrap().take() {
                act();
            }
            // The worker itself is what closes the connection, or does not.
            continue_silently(server);
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
        if length == 0 || client.write_all(&buffer[..length]).is_err() {
            let _ = client.shutdown(Shutdown::Both);
            return;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}

/// Waits until a worker has closed its side.
fn continue_silently(mut server: TcpStream) {
    let _ = std::io::copy(&mut server, &mut std::io::sink());
}
