//! Streams of data: a socket, and a thread that sends or receives until it is stopped.

use iperf::{Arrivals, Heard, Pace, Role, Test, Transport, datagram};
use os::{ThreadUsage, sockets};
use rustix::net::RecvFlags;
use socket2::SockRef;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// Time within which a thread that waits for its socket sees that it is to stop.
const WAIT: Duration = Duration::from_millis(20);
/// Longest sleep between two bursts.
const NAP: Duration = Duration::from_millis(20);
/// Sleep of a sender that is through, while others send their share.
const SHORT_NAP: Duration = Duration::from_millis(1);
/// Payload of one call that sends UDP packets.
const BULK: usize = 60_000;
/// Default receive buffer of a UDP stream.
const ROOM: u32 = 8 << 20;
/// A sender's time between two looks at how much is due, in bulk.
const BULK_TIME: Nanos = Nanos(1_000_000);

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

impl Socket {
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        match self {
            Self::Tcp(stream) => Ok((stream.local_addr()?, stream.peer_addr()?)),
            Self::Udp(socket) => Ok((socket.local_addr()?, socket.peer_addr()?)),
        }
    }

    pub(crate) fn options(&self) -> SockRef<'_> {
        match self {
            Self::Tcp(stream) => SockRef::from(stream),
            Self::Udp(socket) => SockRef::from(socket),
        }
    }

    /// Sets the test's options that can be set on a connected socket.
    pub(crate) fn set_up(&self, test: &Test) -> io::Result<()> {
        let options = self.options();
        options.set_read_timeout(Some(WAIT))?;
        options.set_write_timeout(Some(WAIT))?;
        if let Self::Tcp(_) = self {
            options.set_tcp_nodelay(test.nodelay)?;
            if let Some(name) = &test.congestion {
                let unknown = |error: io::Error| {
                    io::Error::other(format!("congestion control '{name}': {}", crate::reason(&error)))
                };
                options.set_tcp_congestion(name.as_bytes()).map_err(unknown)?;
            }
        }
        if test.tos != 0 {
            match self.addresses()?.0.ip() {
                IpAddr::V4(_) => options.set_tos_v4(test.tos.into())?,
                IpAddr::V6(_) => options.set_tclass_v6(test.tos.into())?,
            }
        }
        if let Some(rate) = test.kernel_rate {
            let rate = u32::try_from(rate / 8).unwrap_or(u32::MAX);
            match self {
                Self::Tcp(stream) => sockets::pace(stream, rate)?,
                Self::Udp(socket) => sockets::pace(socket, rate)?,
            }
        }
        Ok(())
    }

    /// Announces the end of sending to the other end, where the protocol supports it.
    pub(crate) fn ends_sending(&self) {
        if let Self::Tcp(stream) = self {
            // One that is closed needs no more.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Name of the congestion control.
    pub(crate) fn congestion(&self) -> Option<String> {
        let Self::Tcp(_) = self else { return None };
        let name = self.options().tcp_congestion().ok()?;
        Some(String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned())
    }
}

/// Counts of a stream so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) bytes: u64,
    /// Blocks or packets sent.
    pub(crate) sent: u64,
    /// Packets received.
    pub(crate) heard: Heard,
    /// For how long its thread ran, and waited for a core; known when it has ended.
    pub(crate) ran: Nanos,
    pub(crate) waited: Nanos,
    /// When the last packet came.
    pub(crate) last: Nanos,
}

/// Time that each stream has for its own share of the blocks; then those that are through send for the others.
const OWN_SHARE: Nanos = Nanos::from_millis(200);

/// Blocks that each sender may still send: iperf3's streams send in turn, here each has a thread, and the first one would send all.
#[derive(Debug)]
pub(crate) struct Shares(Vec<AtomicU64>);

impl Shares {
    /// Of a number of blocks, for this number of senders.
    pub(crate) fn new(blocks: u64, senders: usize) -> Self {
        let count = senders.max(1) as u64;
        let more = |place: u64| u64::from(place < blocks % count);
        Self((0..count).map(|place| AtomicU64::new(blocks / count + more(place))).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|share| share.load(Ordering::Relaxed) == 0)
    }

    /// Takes up to a number of blocks from the share of one sender; returns how many.
    fn take(&self, place: usize, blocks: u64) -> u64 {
        let Some(share) = self.0.get(place) else { return 0 };
        let rest = |left: u64| (left > 0).then(|| left.saturating_sub(blocks));
        share.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).map_or(0, |left| left.min(blocks))
    }

    /// Takes a block from the sender with most left; returns how many that are.
    fn take_over(&self) -> u64 {
        let most = (0..self.0.len()).max_by_key(|place| self.0[*place].load(Ordering::Relaxed));
        most.map_or(0, |place| self.take(place, 1))
    }

    fn give_back(&self, place: usize, blocks: u64) {
        if let Some(share) = self.0.get(place) {
            share.fetch_add(blocks, Ordering::Relaxed);
        }
    }
}

/// State shared by the streams of a test.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) senders_stop: AtomicBool,
    pub(crate) receivers_stop: AtomicBool,
    /// Nobody waits for the rest of a block any more.
    pub(crate) is_over: AtomicBool,
    /// Blocks that may still be sent, where their number ends the test.
    pub(crate) left: Option<Shares>,
    /// When data began.
    pub(crate) began: Instant,
}

impl Shared {
    /// With data from now on.
    pub(crate) fn new(left: Option<Shares>) -> Arc<Self> {
        Arc::new(Self {
            senders_stop: AtomicBool::new(false),
            receivers_stop: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            left,
            began: Instant::now(),
        })
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.began.elapsed().as_nanos() as u64)
    }

    pub(crate) fn stop(&self) {
        self.senders_stop.store(true, Ordering::Relaxed);
        self.receivers_stop.store(true, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Relaxed);
    }
}

pub(crate) struct Stream {
    pub(crate) id: u64,
    pub(crate) role: Role,
    pub(crate) socket: Arc<Socket>,
    counts: Arc<Mutex<Counts>>,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    pub(crate) fn new(id: u64, role: Role, socket: Socket) -> Self {
        Self { id, role, socket: Arc::new(socket), counts: Arc::default(), thread: None }
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As the sender in this place, if it is one.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub(crate) fn start(&mut self, test: &Arc<Test>, shared: &Arc<Shared>, place: usize) -> io::Result<()> {
        let work = Work {
            place,
            test: test.clone(),
            shared: shared.clone(),
            socket: self.socket.clone(),
            counts: self.counts.clone(),
        };
        let role = self.role;
        let thread = std::thread::Builder::new().name(format!("eagre-stream-{}", self.id));
        self.thread = Some(thread.spawn(move || {
            match (role, &*work.socket) {
                (Role::Sender, Socket::Tcp(stream)) => work.send_tcp(stream),
                (Role::Sender, Socket::Udp(socket)) => work.send_udp(socket),
                (Role::Receiver, Socket::Tcp(stream)) => work.receive_tcp(stream),
                (Role::Receiver, Socket::Udp(socket)) => work.receive_udp(socket),
            }
            // The thread is new: this is all of its time.
            if let Ok(usage) = ThreadUsage::read(os::cpu::current_tid()) {
                work.count(|counts| {
                    (counts.ran, counts.waited) = (Nanos(usage.run_ns), Nanos(usage.wait_ns))
                });
            }
        })?);
        Ok(())
    }

    /// Whether its thread is running.
    pub(crate) fn goes_on(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Waits until its thread has ended, which it does soon after a request to stop.
    pub(crate) fn end(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// State of a stream's thread.
struct Work {
    /// Its place among senders.
    place: usize,
    test: Arc<Test>,
    shared: Arc<Shared>,
    socket: Arc<Socket>,
    counts: Arc<Mutex<Counts>>,
}

impl Work {
    fn count(&self, add: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        add(&mut counts);
    }

    fn pace(&self) -> Option<Pace> {
        self.test.rate.map(|rate| Pace::new(rate, self.test.block, self.test.burst))
    }

    /// Takes this number of blocks from the sender's share, or fewer if less is left; late in the test it takes them from other shares.
    fn reserve(&self, blocks: u64) -> u64 {
        let Some(left) = &self.shared.left else { return blocks };
        loop {
            let granted = left.take(self.place, blocks);
            if granted > 0 || left.is_empty() || self.stops() {
                return granted;
            }
            if self.shared.now() >= OWN_SHARE {
                return left.take_over();
            }
            std::thread::sleep(SHORT_NAP);
        }
    }

    fn stops(&self) -> bool {
        self.shared.senders_stop.load(Ordering::Relaxed)
    }

    /// Sleeps until the next block is due, or a while.
    fn rest(&self, pace: &Pace, sent: u64) {
        let until = pace.at(sent).0.saturating_sub(self.shared.now().0);
        std::thread::sleep(Duration::from_nanos(until).min(NAP));
    }

    fn send_tcp(&self, mut stream: &TcpStream) {
        let block = payload(self.test.block as usize);
        let pace = self.pace();
        let mut sent = 0;
        while !self.stops() {
            if let Some(pace) = &pace
                && pace.due(self.shared.now()) <= sent
            {
                self.rest(pace, sent);
                continue;
            }
            if self.reserve(1) == 0 {
                return;
            }
            let mut at = 0;
            while at < block.len() {
                match stream.write(&block[at..]) {
                    Ok(0) => return,
                    Ok(length) => {
                        at += length;
                        self.count(|counts| counts.bytes += length as u64);
                    }
                    Err(error) if is_wait(&error) => {}
                    Err(_) => return,
                }
                // iperf3 reads whole blocks: half of one would keep it from all else.
                if self.shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
            }
            sent += 1;
            self.count(|counts| counts.sent = sent);
        }
    }

    fn receive_tcp(&self, stream: &TcpStream) {
        // What is received is not looked at: the kernel need not copy it.
        let mut buffer = vec![0; (self.test.block as usize).max(256 << 10)];
        let mut flags = RecvFlags::TRUNC;
        while !self.shared.receivers_stop.load(Ordering::Relaxed) {
            match rustix::net::recv(stream, &mut buffer[..], flags) {
                Ok((_, 0)) => return,
                Ok((_, length)) => {
                    let now = self.shared.now();
                    self.count(|counts| {
                        counts.bytes += length as u64;
                        counts.last = now;
                    });
                }
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::FAULT | rustix::io::Errno::INVAL) if !flags.is_empty() => {
                    flags = RecvFlags::empty();
                }
                Err(_) => return,
            }
        }
    }

    fn send_udp(&self, socket: &UdpSocket) {
        let block = self.test.block as usize;
        let wide = self.test.wide_counters;
        let bulk = (BULK / block).clamp(1, sockets::MOST_SEGMENTS) as u64;
        let mut is_cut = bulk > 1 && sockets::cut_into(socket, block as u16).is_ok();
        let mut packets = payload(block * bulk as usize);
        let pace = self.pace();
        let mut sent: u64 = 0;
        while !self.stops() {
            let now = self.shared.now();
            let due = pace.as_ref().map_or(bulk, |pace| pace.due(now).saturating_sub(sent));
            if let (0, Some(pace)) = (due, &pace) {
                self.rest(pace, sent);
                continue;
            }
            // Many at once only where that many are due within a moment.
            let most = pace.as_ref().map_or(bulk, |pace| pace.due(BULK_TIME).max(1));
            let number = self.reserve(due.min(if is_cut { bulk.min(most) } else { 1 }));
            if number == 0 {
                return;
            }
            for (packet, place) in packets.chunks_exact_mut(block).zip(1..=number) {
                datagram::write(packet, sent + place, now, wide);
            }
            match self.send_all(socket, &packets[..block * number as usize]) {
                Ok(true) => {
                    sent += number;
                    self.count(|counts| {
                        counts.bytes += number * block as u64;
                        counts.sent = sent;
                    });
                }
                Ok(false) => {}
                // An interface that can't cut; a path whose packets are shorter.
                Err(_) if is_cut => {
                    is_cut = false;
                    let _ = sockets::cut_into(socket, 0);
                    self.give_back(number);
                }
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    self.give_back(number);
                }
            }
        }
    }

    /// Sends once; false if it was stopped meanwhile.
    fn send_all(&self, socket: &UdpSocket, packets: &[u8]) -> io::Result<bool> {
        loop {
            match socket.send(packets) {
                Ok(_) => return Ok(true),
                // A packet before met a port that is closed.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) if is_wait(&error) => {}
                Err(error) => return Err(error),
            }
            if self.stops() {
                return Ok(false);
            }
        }
    }

    fn give_back(&self, blocks: u64) {
        if let Some(left) = &self.shared.left {
            left.give_back(self.place, blocks);
        }
    }

    fn receive_udp(&self, socket: &UdpSocket) {
        let mut arrivals = Arrivals::default();
        let mut buffer = vec![0; 1 << 17];
        // Without it, they come one by one.
        let _ = sockets::join(socket);
        if self.test.window.is_none() {
            sockets::enlarge_receive_buffer(socket, ROOM);
        }
        while !self.shared.receivers_stop.load(Ordering::Relaxed) {
            let (length, each) = match sockets::receive(socket, &mut buffer) {
                Ok(came) => came,
                Err(error) if is_wait(&error) => continue,
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            let now = self.shared.now();
            let mut bytes = 0;
            for packet in buffer[..length].chunks(each.max(1)) {
                if let Some((number, sent)) = datagram::read(packet, self.test.wide_counters) {
                    arrivals.take(number, self.test.wide_counters, sent, now);
                    bytes += packet.len() as u64;
                }
            }
            self.count(|counts| {
                counts.bytes += bytes;
                counts.heard = arrivals.heard();
                counts.last = now;
            });
        }
    }
}

/// Data to send: incompressible for any link.
fn payload(length: usize) -> Vec<u8> {
    let mut octets = vec![0; length];
    // Zeros do as well where there is no randomness.
    let _ = getrandom::fill(&mut octets);
    octets
}

fn is_wait(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Whether data go over sockets of UDP.
pub(crate) fn is_udp(test: &Test) -> bool {
    test.transport == Transport::Udp
}
