//! The end of a service: what writers have sent already is stored first.

use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{SOCKETS, Service, Socket};
use crate::service::storage::Storage;
use crate::socket::accept;

/// How long the end of the service may take what writers have sent already.
const LAST_LOOK: Duration = Duration::from_millis(500);

impl<S: Storage> Service<S> {
    /// Takes what writers have sent already, stores it, and leaves.
    pub(super) fn finish(mut self) -> io::Result<()> {
        for (name, _) in SOCKETS {
            let _ = fs::remove_file(self.settings.directory.join(name));
        }
        let end = Instant::now() + LAST_LOOK;
        let listeners: Vec<_> = self.sockets.keys().copied().collect();
        for token in listeners {
            while let Some(Socket::Writers(listener, format)) = self.sockets.get(&token) {
                let format = *format;
                match accept(listener) {
                    Ok(Some(socket)) => self.welcome_writer(socket, format),
                    _ => break,
                }
            }
        }
        let tokens: Vec<_> = self.sockets.keys().copied().collect();
        for token in tokens {
            while Instant::now() < end && self.receive(token) {}
        }
        self.storage.commit()?;
        self.uncommitted = 0;
        self.commit();
        self.pump();
        Ok(())
    }
}

/// Ends a service, from any thread or from signals.
#[derive(Clone, Debug)]
pub struct Stop(Arc<UnixStream>);

impl Stop {
    /// A handle, and what becomes readable once it is used.
    pub(super) fn pair() -> io::Result<(Self, UnixStream)> {
        let (stop, stopped) = UnixStream::pair()?;
        stop.set_nonblocking(true)?;
        stopped.set_nonblocking(true)?;
        Ok((Self(Arc::new(stop)), stopped))
    }

    /// Makes the service take what was sent, store it, and return.
    pub fn stop(&self) {
        // A full pipe has a stop in it already.
        let _ = (&*self.0).write(&[1]);
    }

    /// Does the same when the process gets SIGTERM or SIGINT.
    ///
    /// # Errors
    /// If the handlers cannot be installed.
    pub fn on_signals(&self) -> io::Result<()> {
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
            signal_hook::low_level::pipe::register(signal, self.0.try_clone()?)?;
        }
        Ok(())
    }
}
