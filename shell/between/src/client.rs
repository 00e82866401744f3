//! The client: one test with a server of iperf3's protocol.

use crate::control::{Came, Control};
use crate::meter::Meter;
use crate::outcome::{self, Usage};
use crate::stream::{Shared, Shares, Socket, Stream, is_udp};
use crate::{Wrong, limit, reason};
use iperf::report::{Connected, Interval, Peer, Report, Start, TestStart, Timestamp};
use iperf::{COOKIE, MOST_RESULTS, Results, Role, State, Test, Transport, Until, datagram};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io::Write;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use units::Nanos;

/// Letters of cookies, as iperf3 has them.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// Time between two looks at the end of a test that octets or blocks end.
const SOON: Duration = Duration::from_millis(2);
/// Time between two looks at an interrupt.
const NOW_AND_THEN: Duration = Duration::from_millis(50);
/// Maximum time in flight of packets at the end.
const UNDER_WAY: Duration = Duration::from_millis(500);
/// Nothing comes any more when nothing came for so long.
const QUIET: Duration = Duration::from_millis(100);
/// Time limit for the rest of a block.
const LAST_BLOCK: Duration = Duration::from_secs(5);
/// Number of connection requests of a UDP stream, and their total time.
const HELLOS: u32 = 10;
/// Time after its scheduled end when a test is ended.
const MOST_LATE: Duration = Duration::from_secs(60);

/// Parameters of a test.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Address to send from.
    pub bind: Option<std::net::IpAddr>,
    /// Addresses of this family only: true for IPv6.
    pub v6: Option<bool>,
    /// The test; a `block` of 0 is as long as the path lets it be.
    pub test: Test,
    /// Time between two intervals; 0 for none.
    pub interval: Nanos,
    /// Longest wait for the connection.
    pub patience: Duration,
}

/// A connection to a server, before the test.
struct Opened {
    control: Control,
    server: SocketAddr,
    cookie: [u8; COOKIE],
}

/// Events for display.
#[derive(Debug)]
pub enum Client<'a> {
    /// Data begin.
    Began(&'a Test, &'a Start),
    /// An interval is over.
    Interval(&'a Interval),
    /// The server's output, if requested.
    ServerOutput(&'a str),
}

/// Makes the test; `report` has what is known when it fails.
///
/// # Errors
/// The server can't be reached, refuses, or does not keep to the protocol; the test was interrupted.
pub fn client(
    order: &Order,
    stop: &AtomicBool,
    report: &mut Report,
    show: &mut dyn FnMut(Client<'_>),
) -> Result<(), Wrong> {
    report.start.version = format!("eagre {}", env!("CARGO_PKG_VERSION"));
    report.start.system_info = system();
    report.start.connecting_to = Some(Peer { host: order.host.clone(), port: order.port });
    let mut opened = open(order)?;
    let mut test = order.test.clone();
    let mss = opened.control.stream();
    let mss = socket2::SockRef::from(mss).tcp_mss().unwrap_or(1448);
    if test.block == 0 {
        test.block = match test.transport {
            Transport::Tcp => 128 << 10,
            Transport::Udp => mss.clamp(64, 65_507),
        };
    }
    test = Test::asked(&test.parameters()).map_err(Wrong::Unexpected)?;
    let cookie = String::from_utf8_lossy(&opened.cookie[..COOKIE - 1]).into_owned();
    report.start.cookie = Some(cookie);
    report.start.tcp_mss_default = (!is_udp(&test)).then_some(mss);
    describe(&mut report.start, &test);
    let outcome =
        Running { order, test: Arc::new(test), stop, report, show, is_interrupted: false }.run(&mut opened);
    if let Err(wrong) = &outcome {
        report.error = Some(wrong.to_string());
        // One that has its results waits for nothing more.
        let _ = opened.control.say(State::ClientTerminates);
    }
    outcome
}

/// Parameters of the test in the report.
pub(crate) fn describe(start: &mut Start, test: &Test) {
    let asked = test.parameters();
    start.timestamp = Some(timestamp());
    start.title.clone_from(&test.title);
    start.extra_data.clone_from(&test.extra_data);
    start.target_bitrate = asked.bandwidth.count();
    start.fq_rate = asked.fqrate.count();
    start.sock_bufsize = asked.window.count();
    start.test_start = Some(TestStart {
        protocol: if is_udp(test) { "UDP" } else { "TCP" },
        num_streams: test.parallel,
        blksize: test.block,
        omit: asked.omit.count(),
        duration: asked.time.count(),
        bytes: asked.num.count(),
        blocks: asked.blockcount.count(),
        reverse: asked.reverse.into(),
        tos: test.tos,
        target_bitrate: asked.bandwidth.count(),
        bidir: asked.bidirectional.into(),
        fqrate: asked.fqrate.count(),
    });
}

fn timestamp() -> Timestamp {
    let now = SystemTime::now();
    let timesecs = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp { time: httpdate::fmt_http_date(now), timesecs }
}

pub(crate) fn system() -> String {
    let uname = rustix::system::uname();
    [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()]
        .map(|part| part.to_string_lossy().into_owned())
        .join(" ")
}

pub(crate) fn connected(streams: &[Stream]) -> Vec<Connected> {
    let of = |stream: &Stream| {
        let (local, remote) = stream.socket.addresses().ok()?;
        Some(Connected {
            socket: stream.id,
            local_host: local.ip().to_canonical().to_string(),
            local_port: local.port(),
            remote_host: remote.ip().to_canonical().to_string(),
            remote_port: remote.port(),
        })
    };
    streams.iter().filter_map(of).collect()
}

fn open(order: &Order) -> Result<Opened, Wrong> {
    let name = format!("{}:{}", order.host, order.port);
    let found = (order.host.as_str(), order.port).to_socket_addrs().map_err(Wrong::io(&order.host))?;
    let family = |address: &SocketAddr| {
        order.v6.or(order.bind.map(|bind| bind.is_ipv6())).is_none_or(|v6| address.is_ipv6() == v6)
    };
    let addresses: Vec<_> = found.filter(family).collect();
    let mut last = format!("{}: no address of the requested family", order.host);
    for server in addresses {
        match connect(order, server, order.patience, None) {
            Ok(stream) => {
                let mut cookie = [0; COOKIE];
                getrandom::fill(&mut cookie).map_err(|error| Wrong::Refused(error.to_string()))?;
                cookie.iter_mut().for_each(|octet| *octet = LETTERS[usize::from(*octet) % LETTERS.len()]);
                cookie[COOKIE - 1] = 0;
                let mut stream = stream;
                stream.write_all(&cookie).map_err(Wrong::io(&name))?;
                let control = Control::new(stream).map_err(Wrong::io(&name))?;
                return Ok(Opened { control, server, cookie });
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                last = format!(
                    "{name} refuses connections: start a server there with 'eagre iperf3 -s' or 'iperf3 -s'"
                );
            }
            Err(error) => last = format!("{name}: {}", reason(&error)),
        }
    }
    Err(Wrong::Refused(last))
}

fn connect(
    order: &Order,
    server: SocketAddr,
    patience: Duration,
    test: Option<&Test>,
) -> std::io::Result<TcpStream> {
    let socket = socket2::Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(bind) = order.bind {
        socket.bind(&SockAddr::from(SocketAddr::new(bind, 0)))?;
    }
    if let Some(test) = test {
        // Windows and segments are agreed on when the connection opens.
        if let Some(window) = test.window {
            socket.set_send_buffer_size(window as usize)?;
            socket.set_recv_buffer_size(window as usize)?;
        }
        if let Some(mss) = test.mss {
            socket.set_tcp_mss(mss)?;
        }
    }
    socket.connect_timeout(&server.into(), patience)?;
    Ok(socket.into())
}

struct Running<'a> {
    order: &'a Order,
    test: Arc<Test>,
    stop: &'a AtomicBool,
    report: &'a mut Report,
    show: &'a mut dyn FnMut(Client<'_>),
    /// Interrupted during data transfer, whose results are still reported.
    is_interrupted: bool,
}

impl Running<'_> {
    fn run(&mut self, opened: &mut Opened) -> Result<(), Wrong> {
        self.expect(&mut opened.control, State::ExchangeParameters)?;
        opened.control.tell(&self.test.parameters())?;
        self.expect(&mut opened.control, State::CreateStreams)?;
        let mut streams = Vec::new();
        for (index, role) in self.test.roles().into_iter().enumerate() {
            streams.push(self.stream(opened, index, role)?);
        }
        self.report.start.connected = connected(&streams);
        if let Some(stream) = streams.first() {
            self.report.start.sndbuf_actual = stream.socket.options().send_buffer_size().unwrap_or(0) as u64;
            self.report.start.rcvbuf_actual = stream.socket.options().recv_buffer_size().unwrap_or(0) as u64;
        }
        self.expect(&mut opened.control, State::Start)?;
        self.expect(&mut opened.control, State::Running)?;
        (self.show)(Client::Began(&self.test, &self.report.start));
        let blocks = match self.test.until {
            Until::Time(_) => None,
            Until::Bytes(number) => Some(number.div_ceil(u64::from(self.test.block))),
            Until::Blocks(number) => Some(number),
        };
        let senders = streams.iter().filter(|stream| stream.role == Role::Sender).count();
        let shared = Shared::new(blocks.map(|blocks| Shares::new(blocks, senders)));
        let outcome = self.with_data(&mut opened.control, &mut streams, &shared);
        shared.stop();
        streams.iter_mut().for_each(Stream::end);
        outcome
    }

    fn stream(&self, opened: &Opened, index: usize, role: Role) -> Result<Stream, Wrong> {
        let what = format!("stream {} of {}", index + 1, self.test.roles().len());
        let socket = match self.test.transport {
            Transport::Tcp => {
                let stream = connect(self.order, opened.server, self.order.patience, Some(&self.test));
                let mut stream = stream.map_err(Wrong::io(&what))?;
                stream.write_all(&opened.cookie).map_err(Wrong::io(&what))?;
                Socket::Tcp(stream)
            }
            Transport::Udp => Socket::Udp(self.say_hello(opened.server).map_err(Wrong::io(&what))?),
        };
        socket.set_up(&self.test).map_err(Wrong::io(&what))?;
        Ok(Stream::new(Test::id(index), role, socket))
    }

    fn say_hello(&self, server: SocketAddr) -> std::io::Result<UdpSocket> {
        let any: std::net::IpAddr = if server.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let socket = UdpSocket::bind(SocketAddr::new(self.order.bind.unwrap_or(any), 0))?;
        let options = socket2::SockRef::from(&socket);
        if let Some(window) = self.test.window {
            options.set_send_buffer_size(window as usize)?;
            options.set_recv_buffer_size(window as usize)?;
        }
        if self.test.dont_fragment {
            os::sockets::forbid_fragments(&socket)?;
        }
        socket.connect(server)?;
        // A packet can be lost, iperf3 sends one only; but a server of it takes each for a stream of its own.
        let wait = self.order.patience.max(Duration::from_secs(1)) / HELLOS;
        socket.set_read_timeout(Some(wait))?;
        socket.send(&datagram::HELLO.to_ne_bytes())?;
        let mut answer = [0; 64];
        for _ in 0..HELLOS {
            match socket.recv(&mut answer) {
                Ok(4) => return Ok(socket),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Err(std::io::Error::other("the server does not respond over UDP: is its port open for UDP, too?"))
    }

    /// Waits for a state.
    fn expect(&mut self, control: &mut Control, wanted: State) -> Result<(), Wrong> {
        let latest = Instant::now() + crate::control::PATIENCE.max(self.order.patience) * 4;
        loop {
            if self.stop.load(Ordering::Relaxed) && !self.is_interrupted {
                return Err(Wrong::Interrupted);
            }
            match control.listen(NOW_AND_THEN)? {
                Came::Nothing if Instant::now() < latest => {}
                Came::Nothing => return Err(Wrong::Unexpected("the server does not respond".to_owned())),
                Came::Gone => return Err(Wrong::Unexpected("the server closed the connection".to_owned())),
                Came::State(state) if state == wanted => return Ok(()),
                Came::State(state) => return Err(other(control, state)),
            }
        }
    }

    fn with_data(
        &mut self,
        control: &mut Control,
        streams: &mut [Stream],
        shared: &Arc<Shared>,
    ) -> Result<(), Wrong> {
        let usage = Usage::start(shared);
        let mut meter = Meter::new(&self.test, streams, self.order.interval);
        let mut senders = 0;
        for stream in streams.iter_mut() {
            stream.start(&self.test, shared, senders).map_err(Wrong::io("a stream's thread"))?;
            senders += usize::from(stream.role == Role::Sender);
        }
        self.watch(control, streams, shared, &mut meter)?;
        shared.senders_stop.store(true, Ordering::Relaxed);
        finish_blocks(streams, shared);
        if shared.left.is_some() && !self.is_interrupted {
            self.deliver(streams, shared);
        }
        meter.finish(streams, shared);
        if !is_udp(&self.test) {
            shared.receivers_stop.store(true, Ordering::Relaxed);
        }
        let last = meter.rest(&self.test, streams, shared);
        if let Some(interval) = last {
            self.keep(interval);
        }
        let used = usage.percent(shared);
        if is_udp(&self.test) && !streams.iter().all(|stream| stream.role == Role::Receiver) {
            // A server of iperf3 looks no more for packets that come behind the end.
            std::thread::sleep(QUIET);
        }
        control.say(State::End)?;
        self.expect(control, State::ExchangeResults)?;
        settle(streams, shared, |_, _| false);
        shared.stop();
        streams.iter_mut().for_each(Stream::end);
        let congestion = streams.first().and_then(|stream| stream.socket.congestion());
        let own = outcome::own(&self.test, streams, &meter, None);
        control.tell(&outcome::told(&own, used, congestion.clone(), None))?;
        let there: Results = control.document(MOST_RESULTS, "the server's results")?;
        let own = outcome::own(&self.test, streams, &meter, Some(&there));
        let mut end = outcome::end(&self.test, &own, &there, used, congestion);
        end.limited_by = limit::by(&self.test, streams, &own, &there, &end);
        self.report.end = end;
        if let Some(text) = &there.server_output_text {
            (self.show)(Client::ServerOutput(text));
        }
        self.expect(control, State::DisplayResults)?;
        control.say(State::Done)?;
        if self.is_interrupted { Err(Wrong::Interrupted) } else { Ok(()) }
    }

    fn keep(&mut self, interval: Interval) {
        (self.show)(Client::Interval(&interval));
        self.report.intervals.push(interval);
    }

    /// Waits until the other end has all sent data: a test of a number of octets is over then.
    fn deliver(&self, streams: &[Stream], shared: &Shared) {
        let is_open = |stream: &Stream| limit::tcp(stream).is_some_and(|tcp| tcp.outstanding > 0);
        let latest = shared.began.elapsed() + MOST_LATE;
        while streams.iter().any(is_open)
            && shared.began.elapsed() < latest
            && !self.stop.load(Ordering::Relaxed)
        {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Until the test is over.
    fn watch(
        &mut self,
        control: &mut Control,
        streams: &[Stream],
        shared: &Shared,
        meter: &mut Meter,
    ) -> Result<(), Wrong> {
        let end = match self.test.until {
            // Without a time, iperf3 goes on until it is interrupted.
            Until::Time(Nanos(0)) => Nanos(u64::MAX),
            Until::Time(time) => self.test.omit + time,
            _ => Nanos(u64::MAX),
        };
        loop {
            let now = shared.now();
            if now >= meter.due() {
                let interval = meter.look(&self.test, streams, shared);
                self.keep(interval);
            }
            // An interrupted test has its results, too.
            self.is_interrupted = self.stop.load(Ordering::Relaxed);
            if now >= end || self.has_all(streams, shared, meter) || self.is_interrupted {
                return Ok(());
            }
            let next = end.min(meter.due()).0.saturating_sub(now.0);
            let most = if shared.left.is_some() { SOON } else { NOW_AND_THEN };
            match control.listen(Duration::from_nanos(next).min(most))? {
                Came::Nothing => {}
                Came::Gone => return Err(Wrong::Unexpected("the server closed the connection".to_owned())),
                Came::State(state) => return Err(other(control, state)),
            }
            if shared.began.elapsed() > Duration::from_nanos(end.0.min(u64::MAX / 2)) + MOST_LATE {
                return Err(Wrong::Unexpected("the test does not end".to_owned()));
            }
        }
    }

    /// Whether the requested amount was sent, or received.
    fn has_all(&self, streams: &[Stream], shared: &Shared, meter: &Meter) -> bool {
        let senders = || streams.iter().filter(|stream| stream.role == Role::Sender);
        if shared.left.as_ref().is_some_and(Shares::is_empty) && senders().next().is_some() {
            return senders().all(|stream| !stream.goes_on());
        }
        let (mut bytes, mut packets) = (0, 0);
        for (stream, base) in
            streams.iter().zip(&meter.base).filter(|(stream, _)| stream.role == Role::Receiver)
        {
            let counts = stream.counts();
            bytes += counts.bytes - base.counts.bytes;
            packets += counts.heard.highest;
        }
        match self.test.until {
            Until::Time(_) => false,
            Until::Bytes(number) => bytes >= number,
            Until::Blocks(number) if is_udp(&self.test) => packets >= number,
            Until::Blocks(number) => bytes / u64::from(self.test.block) >= number,
        }
    }
}

/// Waits until all senders have sent the blocks that they are in.
fn finish_blocks(streams: &mut [Stream], shared: &Shared) {
    let latest = Instant::now() + LAST_BLOCK;
    let sends = |stream: &Stream| stream.role == Role::Sender && stream.goes_on();
    while streams.iter().any(sends) && Instant::now() < latest {
        std::thread::sleep(Duration::from_micros(200));
    }
    if streams.iter().any(sends) {
        shared.is_over.store(true, Ordering::Relaxed);
    }
    streams.iter_mut().filter(|stream| stream.role == Role::Sender).for_each(Stream::end);
}

/// Waits for packets under way: until nothing came for a while, or all of `streams` are complete.
pub(crate) fn settle(streams: &[Stream], shared: &Shared, is_complete: impl Fn(usize, &Stream) -> bool) {
    let latest = Instant::now() + UNDER_WAY;
    let receives = |stream: &Stream| stream.role == Role::Receiver && stream.goes_on();
    while Instant::now() < latest && !shared.receivers_stop.load(Ordering::Relaxed) {
        let mut open = streams
            .iter()
            .enumerate()
            .filter(|(index, stream)| receives(stream) && !is_complete(*index, stream));
        let quiet = Nanos(QUIET.as_nanos() as u64);
        let now = shared.now();
        if open.all(|(_, stream)| now.0.saturating_sub(stream.counts().last.0) > quiet.0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn other(control: &mut Control, state: State) -> Wrong {
    match state {
        State::AccessDenied => Wrong::Refused(
            "the server is busy with a test and takes one at a time; a server of 'eagre iperf3 -s' takes many".to_owned(),
        ),
        State::ServerTerminates => Wrong::Unexpected("the server ended the test".to_owned()),
        State::ServerError => match control.failure() {
            Ok((number, kernel)) => Wrong::Refused(format!(
                "the server failed: {}",
                match kernel {
                    0 => format!("iperf3's error {number}"),
                    _ => reason(&std::io::Error::from_raw_os_error(kernel.cast_signed())),
                }
            )),
            Err(wrong) => wrong,
        },
        state => Wrong::Unexpected(format!("unexpected state of the server: {state:?}")),
    }
}
