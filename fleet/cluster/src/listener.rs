//! The port of a worker. It takes a certain number of connections, so that strangers cannot use up its descriptors,
//! and gives up those that do not begin to speak.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;
use tonic::transport::server::Connected;

/// Connections at once. A coordinator and each other worker have one.
const CONNECTIONS: usize = 256;
/// How long a connection may be open before it has sent the bytes that HTTP/2 begins with.
const GREETING: Duration = Duration::from_secs(10);
/// How many bytes those are.
const GREETING_LENGTH: usize = 24;

/// The connections that come in. Those that fail are left out: a stranger that hangs up early ends nothing.
pub(crate) fn connections(listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    futures::stream::unfold((listener, free), async |(listener, free)| {
        loop {
            let permit = Arc::clone(&free).acquire_owned().await.ok()?;
            match listener.accept().await {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let silence = Some(Box::pin(tokio::time::sleep(GREETING)));
                    let connection = Connection {
                        stream,
                        silence,
                        greeted: 0,
                        _permit: permit,
                    };
                    return Some((Ok(connection), (listener, free)));
                }
                // Out of descriptors, perhaps: some will be given back.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
}

/// A connection that counts.
pub(crate) struct Connection {
    stream: TcpStream,
    silence: Option<Pin<Box<Sleep>>>,
    greeted: usize,
    _permit: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.greeted += buffer.filled().len() - before;
        if self.greeted >= GREETING_LENGTH {
            self.silence = None;
        }
        if read.is_pending()
            && let Some(silence) = &mut self.silence
            && silence.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
