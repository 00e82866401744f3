//! The client: one test in one direction.

use super::receiving::receive;
use super::sending::{Steering, send};
use super::{Clock, End, Proof, SILENCE, SharedKey, Tell, sealed};
use crate::udp::{any, bound, mark, resolve};
use crate::{Wrong, reason};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use udpst::{Activation, Capacity, Interval, Keys, Sealed, Setup, modifier, refusal};

/// Interval of repeating a request without a reply.
const AGAIN: Duration = Duration::from_secs(1);
/// Maximum time that a refusal by the kernel takes.
const REFUSAL: Duration = Duration::from_millis(300);

/// Share of lost packets below which the path carried the requested rate.
const WHOLE: f64 = 0.01;

/// Parameters of a test.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Address to send from.
    pub bind: Option<IpAddr>,
    /// Addresses of this family only: true for IPv6.
    pub v6: Option<bool>,
    /// Requested parameters of the test.
    pub asked: Activation,
    /// Datagrams above the usual MTU beyond 1 Gbit/s, if the server has them, too.
    pub jumbo: bool,
    /// IP packets of 1,500 octets instead of 1,250, if the server has them, too.
    pub full_mtu: bool,
    /// Capacity to reserve on the server, Mbit/s; 0 if not given.
    pub needs: u16,
    /// Key for authentication.
    pub key: Option<SharedKey>,
}

/// Runs the test. `began` gets the server's address and the test's parameters, `tell` each interval.
///
/// # Errors
/// The server can't be reached, refuses, goes away, or does not keep to the protocol; the test was interrupted.
pub fn measure(
    order: &Order,
    stop: &AtomicBool,
    began: &mut dyn FnMut(SocketAddr, &Activation),
    tell: &mut dyn FnMut(&Interval),
) -> Result<Capacity, Wrong> {
    let server = resolve(&order.host, order.port, order.bind, order.v6)?;
    let clock = Clock::new();
    let from = SocketAddr::new(order.bind.unwrap_or(any(server.ip())), 0);
    let socket = bound(from).map_err(Wrong::io(&from.to_string()))?;
    socket.set_read_timeout(Some(REFUSAL)).map_err(Wrong::io("a socket"))?;
    let proof = order
        .key
        .as_ref()
        .map(|key| Proof { keys: Keys::derive(key.secret.as_bytes(), clock.seconds()), number: key.number });
    let asking = Asking { order, stop, clock, server, socket, proof };
    let port = asking.set_up()?;
    let peer = SocketAddr::new(server.ip(), port);
    asking.socket.connect(peer).map_err(Wrong::io(&peer.to_string()))?;
    let agreed = asking.activate()?;
    let upwards = order.asked.upwards;
    let end = End::new(asking.socket, stop, clock).map_err(Wrong::io("a socket"))?;
    mark(&end.socket, end.is_v6, agreed.dscp_ecn).map_err(Wrong::io("the packets' marks"))?;
    began(server, &agreed);
    let tell: Tell<'_> = tell;
    let outcome = match upwards {
        true => send(&end, Steering::Told(agreed.rate), agreed.seconds, tell)?,
        false => receive(&end, None, &agreed, tell)?,
    };
    let mut capacity = Capacity::of(upwards, outcome.intervals);
    capacity.round_trip_min_ms = outcome.round_trip_ms.map(f64::from);
    let is_whole = capacity.loss_ratio.is_some_and(|ratio| ratio < WHOLE);
    let asked = (order.asked.is_at_one_rate() && is_whole).then(|| "the requested rate".to_owned());
    capacity.limited_by = outcome.limited_by.or(asked);
    Ok(capacity)
}

struct Asking<'o> {
    order: &'o Order,
    stop: &'o AtomicBool,
    clock: Clock,
    server: SocketAddr,
    socket: UdpSocket,
    proof: Option<Proof>,
}

impl Asking<'_> {
    /// Asks for a test; the server's port of it.
    fn set_up(&self) -> Result<u16, Wrong> {
        let order = self.order;
        let mut random = [0; 2];
        // One number does as well as another.
        let _ = getrandom::fill(&mut random);
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let request = Setup {
            version: udpst::VERSION,
            connection: (0, 1),
            test: u16::from_be_bytes(random),
            answers: false,
            response: refusal::NONE,
            upwards: order.asked.upwards && order.needs > 0,
            needs: order.needs,
            port: 0,
            modifiers: bit(order.jumbo, modifier::JUMBO) | bit(order.full_mtu, modifier::FULL_MTU),
            auth: Default::default(),
        };
        let request = self.sealed(request.write());
        let is_answer = |packet: &[u8], from: SocketAddr| {
            let answer = Setup::read(packet).filter(|answer| answer.answers)?;
            (from == self.server).then_some(answer)
        };
        let send = || self.socket.send_to(&request, self.server).map(drop);
        let Some((packet, answer)) = self.ask(&send, &is_answer)? else { return Err(self.silent()) };
        if answer.response != refusal::AGREED {
            let why = match answer.response {
                refusal::VERSION => format!(
                    "it uses version {} of the protocol, this is version 20 (RFC 9946)",
                    answer.version
                ),
                other => refusal::of_setup(other).to_owned(),
            };
            return Err(Wrong::Refused(format!("{} refuses the test: {why}", self.server)));
        }
        self.must_be_genuine(&packet[..Setup::LENGTH])?;
        Ok(answer.port)
    }

    /// Says how the test is to be made; how it will be.
    fn activate(&self) -> Result<Activation, Wrong> {
        let request = self.sealed(self.order.asked.write());
        let is_answer = |packet: &[u8], _: SocketAddr| {
            Activation::read(packet).filter(|answer| answer.response != refusal::NONE)
        };
        let send = || self.socket.send(&request).map(drop);
        let Some((packet, answer)) = self.ask(&send, &is_answer)? else {
            let port = self.socket.peer_addr().map_or(0, |peer| peer.port());
            return Err(Wrong::Refused(format!(
                "{} agrees to the test, but its port {port} does not respond; does a firewall drop UDP to it?",
                self.server
            )));
        };
        if answer.response != refusal::AGREED {
            return Err(Wrong::Refused(format!("{} does not make such a test", self.server)));
        }
        self.must_be_genuine(&packet[..Activation::LENGTH])?;
        let asked = &self.order.asked;
        let is_other = answer.upwards != asked.upwards || !answer.rate.can_be_sent();
        if is_other || answer.trial_ms == 0 || answer.interval_ms == 0 {
            return Err(Wrong::Unexpected(format!("{} offers another test than requested", self.server)));
        }
        Ok(answer)
    }

    /// Sends a request until its reply arrives; none if there is none.
    fn ask<T>(
        &self,
        send: &dyn Fn() -> std::io::Result<()>,
        is_answer: &dyn Fn(&[u8], SocketAddr) -> Option<T>,
    ) -> Result<Option<(Vec<u8>, T)>, Wrong> {
        let latest = Instant::now() + Duration::from_nanos(SILENCE.0);
        let (mut next, mut packet) = (Instant::now(), vec![0; 2048]);
        while Instant::now() < latest {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Wrong::Interrupted);
            }
            if Instant::now() >= next {
                next = Instant::now() + AGAIN;
                send().map_err(|error| self.gone(&error))?;
            }
            match self.socket.recv_from(&mut packet) {
                Ok((length, from)) => {
                    if let Some(answer) = is_answer(&packet[..length], from) {
                        packet.truncate(length);
                        return Ok(Some((packet, answer)));
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(self.gone(&error)),
            }
        }
        Ok(None)
    }

    fn gone(&self, error: &std::io::Error) -> Wrong {
        Wrong::Refused(format!("{}: {}", self.server, reason(error)))
    }

    /// No reply arrived. Only a connected socket learns that no process listens there.
    fn silent(&self) -> Wrong {
        let from = SocketAddr::new(any(self.server.ip()), 0);
        let probed = bound(from).and_then(|probe| {
            probe.connect(self.server)?;
            probe.set_read_timeout(Some(REFUSAL))?;
            probe.send(&[0])?;
            probe.recv(&mut [0; 1])
        });
        let server = self.server;
        Wrong::Refused(match probed {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                format!("{server}: no process listens there; start 'eagre capacity --server' on that host")
            }
            _ => format!(
                "{server} does not respond; is it running, and does every firewall allow UDP to this port?"
            ),
        })
    }

    fn sealed<const N: usize>(&self, packet: [u8; N]) -> [u8; N] {
        let proof = self.proof.as_ref().map(|proof| (&proof.keys.client, proof.number));
        sealed(packet, proof, &self.clock)
    }

    fn must_be_genuine(&self, packet: &[u8]) -> Result<(), Wrong> {
        match &self.proof {
            Some(proof) if !Sealed::is_genuine(packet, &proof.keys.server) => {
                Err(Wrong::Unexpected(format!("{} does not prove that it has the key", self.server)))
            }
            _ => Ok(()),
        }
    }
}
