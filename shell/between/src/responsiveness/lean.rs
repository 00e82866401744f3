//! A TCP connection that keeps little unsent data in the kernel (`TCP_NOTSENT_LOWAT`): as much as it sends in 5 ms, by the
//! section "Client-Side Influence", so that a probe waits in the network rather than in the sender.

use os::sockets::tcp_figures;
use socket2::SockRef;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Time that unsent data take to be sent, s.
const UNSENT_S: f64 = 0.005;
/// Interval at which the rate is determined anew.
const AGAIN: Duration = Duration::from_millis(100);
/// Bounds of unsent data, octets. The first one applies until there is a rate.
const LEAST: u32 = 4 << 10;
const MOST: u32 = 4 << 20;

pub(super) struct Lean {
    socket: TcpStream,
    written: u64,
    since: Instant,
    total: Arc<AtomicU64>,
    moved: Arc<AtomicU64>,
}

/// A look at a connection's socket from outside.
pub(super) struct Look {
    socket: OwnedFd,
    written: Arc<AtomicU64>,
}

impl Look {
    /// Octets that the peer has: those written, without those that the kernel still has to send or see acknowledged.
    pub(super) fn delivered(&self) -> u64 {
        let outstanding = tcp_figures(&self.socket).map_or(0, |figures| figures.outstanding);
        self.written.load(Ordering::Relaxed).saturating_sub(outstanding)
    }

    /// TCP's estimate of the round trip, ms, if it has one.
    pub(super) fn round_trip_ms(&self) -> Option<f64> {
        let micros = tcp_figures(&self.socket).ok()?.rtt_us;
        (micros > 0).then_some(micros as f64 / 1e3)
    }
}

impl Lean {
    pub(super) fn new(socket: TcpStream) -> Self {
        let this =
            Self { socket, written: 0, since: Instant::now(), total: Arc::default(), moved: Arc::default() };
        // Without it, a request waits for the acknowledgement of what was sent before.
        let _ = this.socket.set_nodelay(true);
        this.limit(LEAST);
        this
    }

    /// Octets that went either way, as they are counted.
    pub(super) fn moved(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.moved)
    }

    pub(super) fn look(&self) -> io::Result<Look> {
        let socket = self.socket.as_fd().try_clone_to_owned()?;
        Ok(Look { socket, written: Arc::clone(&self.total) })
    }

    fn limit(&self, octets: u32) {
        // A kernel without it keeps more.
        let _ = SockRef::from(&self.socket).set_tcp_notsent_lowat(octets);
    }

    fn count(&mut self, octets: usize) {
        self.written += octets as u64;
        self.total.fetch_add(octets as u64, Ordering::Relaxed);
        self.moved.fetch_add(octets as u64, Ordering::Relaxed);
        let elapsed = self.since.elapsed();
        if elapsed >= AGAIN {
            let unsent = self.written as f64 / elapsed.as_secs_f64() * UNSENT_S;
            self.limit((unsent as u32).clamp(LEAST, MOST));
            (self.written, self.since) = (0, Instant::now());
        }
    }
}

impl AsyncRead for Lean {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        self.moved.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Lean {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, data);
        if let Poll::Ready(Ok(octets)) = written {
            self.count(octets);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
