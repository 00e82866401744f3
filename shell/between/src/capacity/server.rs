//! The server: tests with many concurrent clients, each in a separate thread and at a separate port.

use super::receiving::receive;
use super::sending::{Steering, send};
use super::{Clock, End, Outcome, Proof, SILENCE, SharedKey, sealed};
use crate::Wrong;
use crate::udp::{any, bound, listen, mark};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use udpst::{
    Activation, Capacity, Interval, Keys, Kind, Null, SECONDS, Sealed, Search, Setup, Table, modifier,
    refusal,
};

/// Time within which the server sees that it is to stop.
const NOW_AND_THEN: Duration = Duration::from_millis(50);
/// Time for which it then waits for its tests.
const PATIENCE: Duration = Duration::from_secs(5);
/// Clocks of client and server may differ by so much, s, where keys are used.
const CLOCKS: u32 = 5;
/// Maximum number of reported refusals per second.
const REFUSALS: u32 = 10;

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen at; none for all of both families.
    pub bind: Option<IpAddr>,
    /// Port to listen at; 0 for one that is free.
    pub port: u16,
    /// Most tests at once.
    pub tests: usize,
    /// End after one test.
    pub once: bool,
    /// Longest test, s.
    pub longest: u16,
    /// Datagrams above the usual MTU beyond 1 Gbit/s: as clients request, or only for clients that do or don't.
    pub jumbo: Option<bool>,
    /// Keys of clients, if they must have one.
    pub keys: Vec<SharedKey>,
}

/// Events for display. Tests have numbers from 1.
#[derive(Debug)]
pub enum Event<'a> {
    /// The server listens.
    Listens(SocketAddr),
    /// Load of a test begins.
    Began(u64, SocketAddr, &'a Activation),
    /// An interval of a test is over.
    Interval(u64, &'a Interval),
    /// A test has ended.
    Ended(u64, &'a Capacity),
    /// A test, or what should have become one, failed.
    Failed(SocketAddr, &'a str),
}

type Show = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Recent requests, by sender and test; with the time and the reply.
type Answered = HashMap<(SocketAddr, u16), (Instant, Vec<u8>)>;

struct Server {
    options: ServerOptions,
    show: Show,
    stop: Arc<AtomicBool>,
    tests: AtomicUsize,
    ended: AtomicUsize,
    answered: Mutex<Answered>,
}

/// A test that waits for its terms.
struct Waiting {
    number: u64,
    peer: SocketAddr,
    socket: UdpSocket,
    table: Table,
    proof: Option<Proof>,
    clock: Clock,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves until `stop`, or for one test.
///
/// # Errors
/// It can't listen.
pub fn serve(options: ServerOptions, stop: Arc<AtomicBool>, show: Show) -> Result<(), Wrong> {
    let (socket, address) = listen(options.bind, options.port)?;
    socket.set_read_timeout(Some(NOW_AND_THEN)).map_err(Wrong::io("a socket"))?;
    show(Event::Listens(address));
    let server = Arc::new(Server {
        options,
        show,
        stop,
        tests: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        answered: Mutex::default(),
    });
    let (mut number, mut packet) = (0, vec![0; 2048]);
    let (mut refused, mut since) = (0, Instant::now());
    while !server.is_over() {
        let Ok((length, peer)) = socket.recv_from(&mut packet) else { continue };
        let Some(request) = Setup::read(&packet[..length]).filter(|request| !request.answers) else {
            continue;
        };
        let answer = server.answer(&request, &packet[..Setup::LENGTH], peer, &mut number);
        let (answer, why) = match answer {
            Ok(answer) => (answer, None),
            Err(response) => {
                let version = udpst::VERSION;
                let refusal =
                    Setup { answers: true, response, version, port: 0, auth: Default::default(), ..request };
                (refusal.write().to_vec(), Some(response))
            }
        };
        // A client that hears nothing asks again.
        let _ = socket.send_to(&answer, peer);
        if since.elapsed() >= Duration::from_secs(1) {
            (refused, since) = (0, Instant::now());
        }
        if let Some(response) = why
            && refused < REFUSALS
        {
            refused += 1;
            (server.show)(Event::Failed(peer, refused_because(response)));
        }
    }
    let latest = Instant::now() + PATIENCE;
    while server.tests.load(Ordering::Relaxed) > 0 && Instant::now() < latest {
        std::thread::sleep(NOW_AND_THEN / 5);
    }
    Ok(())
}

/// Why a client was refused, as the server sees it.
fn refused_because(response: u8) -> &'static str {
    match response {
        refusal::VERSION => "refused: it uses another version of the protocol",
        refusal::JUMBO => "refused: it requests other datagrams than --jumbo allows",
        refusal::NO_KEYS => "refused: it has a key, and none is given here",
        refusal::KEY_NEEDED => "refused: it has no key",
        refusal::MODE => "refused: its authentication is unknown",
        refusal::WRONG_KEY => "refused: it has another key",
        refusal::WRONG_TIME => "refused: its clock is more than five seconds off this one",
        refusal::BUSY => "refused: there are as many tests as there may be",
        refusal::CONNECTIONS => "refused: it requests an invalid number of connections",
        _ => "refused: no port could be opened",
    }
}

impl Server {
    fn is_over(&self) -> bool {
        let one = self.options.once && self.ended.load(Ordering::Relaxed) > 0;
        one || self.stop.load(Ordering::Relaxed)
    }

    /// The reply to a request, for which a test begins to wait; or the reason of a refusal.
    fn answer(
        self: &Arc<Self>,
        request: &Setup,
        packet: &[u8],
        peer: SocketAddr,
        number: &mut u64,
    ) -> Result<Vec<u8>, u8> {
        let clock = Clock::new();
        let mut answered = lock(&self.answered);
        answered.retain(|_, (at, _)| at.elapsed() < Duration::from_nanos(SILENCE.0));
        if let Some((_, answer)) = answered.get(&(peer, request.test)) {
            return Ok(answer.clone());
        }
        if request.version != udpst::VERSION {
            return Err(refusal::VERSION);
        }
        let (which, connections) = request.connection;
        if connections == 0 || which >= connections {
            return Err(refusal::CONNECTIONS);
        }
        let jumbo = request.modifiers & modifier::JUMBO != 0;
        if self.options.jumbo.is_some_and(|wanted| wanted != jumbo) {
            return Err(refusal::JUMBO);
        }
        let proof = self.proof(request, packet, clock.seconds())?;
        let tests = self.tests.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tests| {
            (tests < self.options.tests).then_some(tests + 1)
        });
        if tests.is_err() {
            return Err(refusal::BUSY);
        }
        let opened = self.begin(request, peer, proof.clone(), clock, number);
        let Ok(port) = opened else {
            self.tests.fetch_sub(1, Ordering::Relaxed);
            return Err(refusal::NO_PORT);
        };
        let answer = Setup {
            answers: true,
            response: refusal::AGREED,
            port,
            auth: Default::default(),
            ..request.clone()
        };
        let proof = proof.as_ref().map(|proof| (&proof.keys.server, proof.number));
        let answer = sealed(answer.write(), proof, &clock).to_vec();
        answered.insert((peer, request.test), (Instant::now(), answer.clone()));
        Ok(answer)
    }

    /// Proof of the sender, if clients must authenticate.
    fn proof(&self, request: &Setup, packet: &[u8], now: u32) -> Result<Option<Proof>, u8> {
        let auth = &request.auth;
        match (auth.mode, self.options.keys.is_empty()) {
            (0, true) => return Ok(None),
            (0, false) => return Err(refusal::KEY_NEEDED),
            (1, true) => return Err(refusal::NO_KEYS),
            (1, false) => {}
            _ => return Err(refusal::MODE),
        }
        let shared = self.options.keys.iter().find(|key| key.number == auth.key).ok_or(refusal::WRONG_KEY)?;
        let keys = Keys::derive(shared.secret.as_bytes(), auth.time);
        if !Sealed::is_genuine(packet, &keys.client) {
            return Err(refusal::WRONG_KEY);
        }
        if auth.time.abs_diff(now) > CLOCKS {
            return Err(refusal::WRONG_TIME);
        }
        Ok(Some(Proof { keys, number: shared.number }))
    }

    /// Opens a port for a test, and has a thread wait there for its terms.
    fn begin(
        self: &Arc<Self>,
        request: &Setup,
        peer: SocketAddr,
        proof: Option<Proof>,
        clock: Clock,
        number: &mut u64,
    ) -> std::io::Result<u16> {
        // A client of IPv4 has an address of IPv6 at a socket of both families.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let socket = bound(SocketAddr::new(self.options.bind.unwrap_or(any(peer.ip())), 0))?;
        socket.connect(peer)?;
        let port = socket.local_addr()?.port();
        *number += 1;
        let table = Table {
            jumbo: request.modifiers & modifier::JUMBO != 0,
            full_mtu: request.modifiers & modifier::FULL_MTU != 0,
        };
        let waiting = Waiting { number: *number, peer, socket, table, proof, clock };
        let server = self.clone();
        std::thread::Builder::new().name(format!("eagre-test-{number}")).spawn(move || {
            let _counted = Counted(&server.tests);
            let made = server.test(waiting);
            if !matches!(made, Err(Wrong::Interrupted)) {
                server.ended.fetch_add(1, Ordering::Relaxed);
            }
            if let Err(wrong) = made {
                (server.show)(Event::Failed(peer, &wrong.to_string()));
            }
        })?;
        Ok(port)
    }

    /// A test, from its terms to its end.
    fn test(&self, waiting: Waiting) -> Result<(), Wrong> {
        let Waiting { number, peer, socket, table, proof, clock } = waiting;
        let keys = proof.as_ref().map(|proof| (&proof.keys.server, proof.number));
        let null = Null { version: udpst::VERSION, auth: Default::default() }.write();
        // It opens firewalls on its way. Some clients refuse it, since they do not listen to this port yet.
        let _ = socket.send(&sealed(null, keys, &clock));
        let asked = self.terms(&socket, proof.as_ref())?;
        let search = Box::new(Search::new(table, &asked));
        let mut agreed = self.agreed(&asked);
        agreed.rate = if agreed.upwards { search.rate() } else { Default::default() };
        let mut end = End::new(socket, &self.stop, clock).map_err(Wrong::io("a socket"))?;
        if mark(&end.socket, end.is_v6, agreed.dscp_ecn).is_err() {
            agreed.dscp_ecn = 0;
        }
        let answer = sealed(agreed.write(), keys, &clock).to_vec();
        end.socket.send(&answer).map_err(Wrong::io(&peer.to_string()))?;
        end.again = Some((Kind::Activation, answer));
        (self.show)(Event::Began(number, peer, &agreed));
        let mut tell = |interval: &Interval| (self.show)(Event::Interval(number, interval));
        let search = Box::new(Search::new(table, &agreed));
        let Outcome { intervals, round_trip_ms, limited_by } = match agreed.upwards {
            true => receive(&end, Some(search), &agreed, &mut tell)?,
            false => send(&end, Steering::Own(search), agreed.seconds, &mut tell)?,
        };
        let mut capacity = Capacity::of(agreed.upwards, intervals);
        capacity.round_trip_min_ms = round_trip_ms.map(f64::from);
        capacity.limited_by = limited_by;
        (self.show)(Event::Ended(number, &capacity));
        Ok(())
    }

    /// Parameters requested by the client.
    fn terms(&self, socket: &UdpSocket, proof: Option<&Proof>) -> Result<Activation, Wrong> {
        let latest = Instant::now() + Duration::from_nanos(SILENCE.0);
        socket.set_read_timeout(Some(NOW_AND_THEN)).map_err(Wrong::io("a socket"))?;
        let mut packet = vec![0; 2048];
        while Instant::now() < latest {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Wrong::Interrupted);
            }
            // A refusal is that of the packet before: see above.
            let Ok(length) = socket.recv(&mut packet) else { continue };
            let Some(asked) = Activation::read(&packet[..length]) else { continue };
            let is_genuine = proof
                .is_none_or(|proof| Sealed::is_genuine(&packet[..Activation::LENGTH], &proof.keys.client));
            if is_genuine && asked.response == refusal::NONE {
                return Ok(asked);
            }
        }
        Err(Wrong::Unexpected(format!("it requested a test and did not send its parameters in {SILENCE}")))
    }

    /// The terms as far as they make sense: what does not is replaced by what is usual.
    fn agreed(&self, asked: &Activation) -> Activation {
        let usual = Activation::usual(asked.upwards, *SECONDS.start());
        let in_or = |value: u16, range: std::ops::RangeInclusive<u16>, usual: u16| {
            if range.contains(&value) { value } else { usual }
        };
        let (low, high) = asked.thresholds;
        let thresholds =
            (in_or(low, 1..=10_000, usual.thresholds.0), in_or(high, 1..=10_000, usual.thresholds.1));
        Activation {
            response: refusal::AGREED,
            thresholds: if thresholds.0 > thresholds.1 { usual.thresholds } else { thresholds },
            trial_ms: in_or(asked.trial_ms, 5..=250, usual.trial_ms),
            seconds: in_or(asked.seconds, SECONDS, 10).min(self.options.longest),
            fast: asked.fast.max(1),
            congestion: asked.congestion.max(1),
            // No other way of searching is known here.
            algorithm: 0,
            interval_ms: in_or(asked.interval_ms, 100..=10_000, usual.interval_ms),
            ..asked.clone()
        }
    }
}

/// A test that is counted as long as it lasts.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
