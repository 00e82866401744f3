//! The server: tests with many concurrent clients, each in a separate thread.
//!
//! A connection begins with a cookie. One that a test waits for is a stream of that test; any other begins a test. Packets of UDP
//! have no cookie, so tests over UDP open their streams one after another.

use crate::client::{connected, describe, settle, system};
use crate::control::{Came, Control, PATIENCE};
use crate::meter::Meter;
use crate::outcome::{self, Usage};
use crate::stream::{Shared, Socket, Stream, is_udp};
use crate::{Wrong, limit, reason, text};
use iperf::report::{Interval, Peer, Report};
use iperf::{
    COOKIE, MOST_PARAMETERS, MOST_RESULTS, Parameters, Results, Role, State, Test, Transport, Until, datagram,
};
use socket2::{Domain, Protocol, Type};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::Nanos;

/// Longest wait for a cookie.
const GREETING: Duration = Duration::from_secs(5);
/// Most connections that have not sent theirs.
const MOST_GREETERS: usize = 256;
/// Time between two looks at an interrupt.
const NOW_AND_THEN: Duration = Duration::from_millis(50);
/// Longest wait of a test over UDP for those before it.
const TURN: Duration = Duration::from_secs(60);
/// Maximum time of a test after its scheduled end.
const MOST_LATE: Duration = Duration::from_secs(60);
/// iperf3's numbers of errors: parameters that can't be read, and too many streams.
const BAD_PARAMETERS: u32 = 128;

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen at; none for all of both families.
    pub bind: Option<IpAddr>,
    /// Port to listen at; 0 for one that is free.
    pub port: u16,
    /// Most tests at once.
    pub tests: usize,
    /// Time between two intervals; 0 for none.
    pub interval: Nanos,
    /// End after one test.
    pub once: bool,
    /// Longest test.
    pub longest: Duration,
}

/// Events for display. Tests have numbers from 1.
#[derive(Debug)]
pub enum Event<'a> {
    /// The server listens.
    Listens(SocketAddr),
    /// Data of a test begin.
    Began(u64, SocketAddr, &'a Test),
    /// An interval of a test is over.
    Interval(u64, &'a Interval),
    /// A test has ended.
    Ended(u64, &'a Report),
    /// A test, or what should have become one, failed.
    Failed(SocketAddr, &'a str),
}

/// Receiver of events, from several threads.
type Show = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A connection of a test that waits for its streams, and the how manieth of the server it is.
type Comer = (u64, TcpStream);

struct Server {
    options: ServerOptions,
    show: Show,
    stop: Arc<AtomicBool>,
    /// Tests that wait for streams.
    waiting: Mutex<HashMap<[u8; COOKIE], Sender<Comer>>>,
    tests: AtomicUsize,
    greeters: AtomicUsize,
    ended: AtomicUsize,
    /// Socket for packets of new streams; its holder is the one test that opens some.
    udp: Mutex<UdpSocket>,
    address: SocketAddr,
}

/// Serves until `stop`, or for one test.
///
/// # Errors
/// It can't listen.
pub fn serve(options: ServerOptions, stop: Arc<AtomicBool>, show: Show) -> Result<(), Wrong> {
    let (listener, address) = listen(&options)?;
    let what = format!("UDP, {address}");
    let udp = udp_socket(address).map_err(Wrong::io(&what))?;
    show(Event::Listens(address));
    let server = Arc::new(Server {
        options,
        show,
        stop,
        waiting: Mutex::default(),
        tests: AtomicUsize::new(0),
        greeters: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        udp: Mutex::new(udp),
        address,
    });
    let mut number = 0;
    while !server.is_over() {
        match listener.accept() {
            Ok((stream, peer)) => {
                number += 1;
                server.greet(stream, peer, number);
            }
            // Too many open files pass, as connections that broke before they were taken do.
            Err(_) => std::thread::sleep(NOW_AND_THEN / 10),
        }
    }
    // Tests see the same flag.
    let latest = Instant::now() + PATIENCE;
    while server.tests.load(Ordering::Relaxed) > 0 && Instant::now() < latest {
        std::thread::sleep(NOW_AND_THEN / 5);
    }
    Ok(())
}

fn listen(options: &ServerOptions) -> Result<(TcpListener, SocketAddr), Wrong> {
    let any = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    let addresses = options.bind.map_or(any.to_vec(), |bind| vec![bind]);
    let mut wrong = None;
    for address in addresses {
        let address = SocketAddr::new(address, options.port);
        match tcp_listener(address) {
            Ok(listener) => {
                let address = listener.local_addr().map_err(Wrong::io("a socket's address"))?;
                return Ok((listener, address));
            }
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::AddrInUse => "; is another server running? Choose another port with -p",
                    _ => "",
                };
                wrong.get_or_insert(format!("{address}: {}{remedy}", reason(&error)));
            }
        }
    }
    Err(Wrong::Refused(wrong.unwrap_or_default()))
}

fn tcp_listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Another socket at the server's address; the newest of those that have no peer gets what comes.
fn udp_socket(address: SocketAddr) -> std::io::Result<UdpSocket> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.set_read_timeout(Some(NOW_AND_THEN))?;
    Ok(socket.into())
}

/// Counts something while it is there.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts one more, if there are not too many.
fn count(counter: &AtomicUsize, most: usize) -> Option<Counted<'_>> {
    let more = |number| (number < most).then_some(number + 1);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
    Some(Counted(counter))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    fn is_over(&self) -> bool {
        let one = self.options.once && self.ended.load(Ordering::Relaxed) > 0;
        one || self.stop.load(Ordering::Relaxed)
    }

    /// Reads a connection's cookie in a separate thread, which becomes the test's if it begins one.
    fn greet(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, number: u64) {
        let server = self.clone();
        let work = move || {
            let Some(greeter) = count(&server.greeters, MOST_GREETERS) else { return };
            let mut stream = stream;
            let Some(cookie) = read_cookie(&mut stream) else { return };
            let waiting = lock(&server.waiting).get(&cookie).cloned();
            if let Some(test) = waiting {
                // One that has its streams by now takes no more.
                let _ = test.send((number, stream));
                return;
            }
            drop(greeter);
            server.take(stream, peer, cookie, number);
        };
        let thread = std::thread::Builder::new().name("eagre-test".to_owned());
        if let Err(error) = thread.spawn(work) {
            (self.show)(Event::Failed(peer, &reason(&error)));
        }
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr, cookie: [u8; COOKIE], number: u64) {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let Ok(mut control) = Control::new(stream) else { return };
        let most = if self.options.once { 1 } else { self.options.tests };
        let Some(_test) = count(&self.tests, most) else {
            let _ = control.say(State::AccessDenied);
            (self.show)(Event::Failed(
                peer,
                &format!("refused: {most} tests run at once, and no more are allowed"),
            ));
            return;
        };
        let mut report = Report::default();
        let outcome = self.test(&mut control, peer, &cookie, number, &mut report);
        lock(&self.waiting).remove(&cookie);
        match outcome {
            Ok(()) => (self.show)(Event::Ended(number, &report)),
            Err(wrong) => {
                let _ = control.say(State::ServerTerminates);
                let text = match &wrong {
                    Wrong::Interrupted => "ended: this server was interrupted".to_owned(),
                    wrong => wrong.to_string(),
                };
                (self.show)(Event::Failed(peer, &text));
            }
        }
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn test(
        &self,
        control: &mut Control,
        peer: SocketAddr,
        cookie: &[u8; COOKIE],
        number: u64,
        report: &mut Report,
    ) -> Result<(), Wrong> {
        report.start.version = format!("eagre {}", env!("CARGO_PKG_VERSION"));
        report.start.system_info = system();
        report.start.accepted_connection = Some(Peer { host: peer.ip().to_string(), port: peer.port() });
        report.start.cookie = Some(String::from_utf8_lossy(&cookie[..COOKIE - 1]).into_owned());
        control.say(State::ExchangeParameters)?;
        let asked: Parameters = control.document(MOST_PARAMETERS, "the client's parameters")?;
        let test = match Test::asked(&asked) {
            Ok(test) => Arc::new(test),
            Err(text) => {
                let _ = control.fail(BAD_PARAMETERS);
                return Err(Wrong::Unexpected(format!("unsupported request: {text}")));
            }
        };
        describe(&mut report.start, &test);
        let mut streams = match test.transport {
            Transport::Tcp => self.tcp_streams(control, cookie, &test)?,
            Transport::Udp => self.udp_streams(control, peer.ip(), &test)?,
        };
        report.start.connected = connected(&streams);
        control.say(State::Start)?;
        let shared = Shared::new(None);
        control.say(State::Running)?;
        (self.show)(Event::Began(number, peer, &test));
        let outcome = self.with_data(control, number, &test, &mut streams, &shared, report);
        shared.stop();
        streams.iter_mut().for_each(Stream::end);
        outcome
    }

    fn roles(test: &Test) -> impl Iterator<Item = Role> {
        test.roles().into_iter().map(|role| match role {
            Role::Sender => Role::Receiver,
            Role::Receiver => Role::Sender,
        })
    }

    fn tcp_streams(
        &self,
        control: &mut Control,
        cookie: &[u8; COOKIE],
        test: &Test,
    ) -> Result<Vec<Stream>, Wrong> {
        let (sender, receiver): (_, Receiver<Comer>) = channel();
        if lock(&self.waiting).insert(*cookie, sender).is_some() {
            return Err(Wrong::Unexpected("a client with the same cookie waits".to_owned()));
        }
        control.say(State::CreateStreams)?;
        let latest = Instant::now() + PATIENCE;
        let mut comers = Vec::new();
        let number = test.roles().len();
        while comers.len() < number {
            self.is_wanted(control)?;
            match receiver.recv_timeout(NOW_AND_THEN) {
                Ok(comer) => comers.push(comer),
                Err(_) if Instant::now() < latest => {}
                Err(_) => {
                    return Err(Wrong::Unexpected(format!("opened {} of {number} streams", comers.len())));
                }
            }
        }
        lock(&self.waiting).remove(cookie);
        // Threads read the cookies, so connections can overtake each other here.
        comers.sort_by_key(|(number, _)| *number);
        let stream = |(index, (role, (_, stream))): (usize, (Role, Comer))| {
            let socket = Socket::Tcp(stream);
            let options = socket.options();
            if let Some(window) = test.window {
                options.set_send_buffer_size(window as usize)?;
                options.set_recv_buffer_size(window as usize)?;
            }
            socket.set_up(test)?;
            Ok(Stream::new(Test::id(index), role, socket))
        };
        let streams = Self::roles(test).zip(comers).enumerate().map(stream);
        streams.collect::<std::io::Result<_>>().map_err(Wrong::io("a stream"))
    }

    /// An error if the client has gone, or this server is to end.
    fn is_wanted(&self, control: &mut Control) -> Result<(), Wrong> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Wrong::Interrupted);
        }
        match control.listen(Duration::ZERO)? {
            Came::Nothing => Ok(()),
            Came::Gone | Came::State(State::ClientTerminates) => {
                Err(Wrong::Unexpected("the client has gone".to_owned()))
            }
            Came::State(state) => {
                Err(Wrong::Unexpected(format!("unexpected state of the client before data: {state:?}")))
            }
        }
    }

    fn udp_streams(&self, control: &mut Control, client: IpAddr, test: &Test) -> Result<Vec<Stream>, Wrong> {
        let latest = Instant::now() + TURN;
        let mut udp = loop {
            self.is_wanted(control)?;
            match self.udp.try_lock() {
                Ok(udp) => break udp,
                Err(std::sync::TryLockError::Poisoned(udp)) => break udp.into_inner(),
                Err(_) if Instant::now() < latest => std::thread::sleep(NOW_AND_THEN / 25),
                Err(_) => {
                    return Err(Wrong::Unexpected(
                        "other tests over UDP are opening their streams".to_owned(),
                    ));
                }
            }
        };
        control.say(State::CreateStreams)?;
        let latest = Instant::now() + PATIENCE;
        let mut streams = Vec::new();
        let number = test.roles().len();
        for (index, role) in Self::roles(test).enumerate() {
            let socket = loop {
                self.is_wanted(control)?;
                if Instant::now() > latest {
                    return Err(Wrong::Unexpected(format!("opened {index} of {number} streams")));
                }
                let mut hello = [0; 64];
                let Ok((length, from)) = udp.recv_from(&mut hello) else { continue };
                // Anything else is left of streams that have ended, or somebody else's.
                if hello[..length] != datagram::HELLO.to_ne_bytes() || from.ip().to_canonical() != client {
                    continue;
                }
                break self.connect(&mut udp, from).map_err(Wrong::io("a stream"))?;
            };
            let socket = Socket::Udp(socket);
            if let Some(window) = test.window {
                let options = socket.options();
                let set = options.set_send_buffer_size(window as usize);
                set.and_then(|()| options.set_recv_buffer_size(window as usize))
                    .map_err(Wrong::io("a stream"))?;
            }
            socket.set_up(test).map_err(Wrong::io("a stream"))?;
            streams.push(Stream::new(Test::id(index), role, socket));
        }
        Ok(streams)
    }

    /// Makes the socket that of a stream, and another one take its place.
    fn connect(&self, udp: &mut UdpSocket, from: SocketAddr) -> std::io::Result<UdpSocket> {
        udp.connect(from)?;
        let stream = std::mem::replace(udp, udp_socket(self.address)?);
        stream.send(&datagram::WELCOME.to_ne_bytes())?;
        Ok(stream)
    }

    fn with_data(
        &self,
        control: &mut Control,
        number: u64,
        test: &Arc<Test>,
        streams: &mut [Stream],
        shared: &Arc<Shared>,
        report: &mut Report,
    ) -> Result<(), Wrong> {
        let usage = Usage::start(shared);
        let mut meter = Meter::new(test, streams, self.options.interval);
        for stream in streams.iter_mut() {
            stream.start(test, shared, 0).map_err(Wrong::io("a stream's thread"))?;
        }
        self.watch(control, number, test, streams, shared, &mut meter, report)?;
        meter.finish(streams, shared);
        shared.senders_stop.store(true, Ordering::Relaxed);
        let is_open_ended = is_udp(test) || !matches!(test.until, Until::Time(_));
        if !is_open_ended {
            shared.receivers_stop.store(true, Ordering::Relaxed);
        }
        if let Some(interval) = meter.rest(test, streams, shared) {
            (self.show)(Event::Interval(number, &interval));
            report.intervals.push(interval);
        }
        let used = usage.percent(shared);
        // A client may be in the middle of a block, and listens only when that has come or nothing comes any more.
        for stream in streams.iter().filter(|stream| stream.role == Role::Sender) {
            stream.socket.ends_sending();
        }
        control.say(State::ExchangeResults)?;
        let there: Results = control.document(MOST_RESULTS, "the client's results")?;
        settle(streams, shared, |index, stream| {
            let (counts, told) = (stream.counts(), there.streams.get(index));
            told.is_some_and(|told| match test.transport {
                Transport::Udp => counts.heard.packets >= told.packets.count(),
                Transport::Tcp => counts.bytes >= told.bytes.count(),
            })
        });
        shared.stop();
        streams.iter_mut().for_each(Stream::end);
        let congestion = streams.first().and_then(|stream| stream.socket.congestion());
        let own = outcome::own(test, streams, &meter, Some(&there));
        let mut end = outcome::end(test, &own, &there, used, congestion.clone());
        end.limited_by = limit::by(test, streams, &own, &there, &end);
        report.end = end;
        let output = test.wants_server_output.then(|| output(test, report));
        control.tell(&outcome::told(&own, used, congestion, output))?;
        control.say(State::DisplayResults)?;
        // Clients that are content may close the connection without a word.
        let _ = control.hear();
        Ok(())
    }

    fn watch(
        &self,
        control: &mut Control,
        number: u64,
        test: &Test,
        streams: &[Stream],
        shared: &Shared,
        meter: &mut Meter,
        report: &mut Report,
    ) -> Result<(), Wrong> {
        let asked = match test.until {
            Until::Time(time) if time.0 > 0 => Duration::from_nanos((test.omit + time).0) + MOST_LATE,
            _ => self.options.longest,
        };
        let latest = shared.began + asked.min(self.options.longest);
        loop {
            if shared.now() >= meter.due() {
                let interval = meter.look(test, streams, shared);
                (self.show)(Event::Interval(number, &interval));
                report.intervals.push(interval);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Wrong::Interrupted);
            }
            if Instant::now() > latest {
                return Err(Wrong::Unexpected("the client does not end the test".to_owned()));
            }
            let next = meter.due().0.saturating_sub(shared.now().0);
            match control.listen(Duration::from_nanos(next).min(NOW_AND_THEN))? {
                Came::Nothing => {}
                Came::State(State::End) => return Ok(()),
                Came::State(State::ClientTerminates) => {
                    return Err(Wrong::Unexpected("the client was interrupted".to_owned()));
                }
                Came::Gone => return Err(Wrong::Unexpected("the client has gone".to_owned())),
                Came::State(state) => {
                    return Err(Wrong::Unexpected(format!(
                        "unexpected state of the client during data: {state:?}"
                    )));
                }
            }
        }
    }
}

/// Output that the client shows as this server's.
fn output(test: &Test, report: &Report) -> String {
    let mut lines = vec![text::interval_head(test)];
    lines.extend(report.intervals.iter().flat_map(text::interval_lines));
    lines.extend(text::summary_lines(report));
    lines.join("\n") + "\n"
}

/// `None` if none comes in time.
fn read_cookie(stream: &mut TcpStream) -> Option<[u8; COOKIE]> {
    // Accepted sockets take this from nobody.
    stream.set_nonblocking(false).ok()?;
    let latest = Instant::now() + GREETING;
    let mut cookie = [0; COOKIE];
    let mut at = 0;
    while at < COOKIE {
        let left = latest.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        match stream.read(&mut cookie[at..]) {
            Ok(0) => return None,
            Ok(length) => at += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(cookie)
}
