//! The reflector (RFC 8762 section 4.3), which unknown senders can send anything to.
//!
//! Invariants: a reply is never longer than its request, unless short requests are allowed; a reply never gets a reply, so two
//! reflectors can't keep each other busy; replies per second and sessions have a limit.

use crate::form::Form;
use crate::packet::{BASE, Reply, Request, u64_at};
use crate::time::{ErrorEstimate, Format};
use crate::tlv;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Nanos;

/// Longest time between a packet's arrival and its reply by which a reply is recognized, s.
const REFLECTED_WITHIN_S: u64 = 10;
/// Octets of a TWAMP Light request whose reply is as long: up to the field with the TTL.
const SHORTEST_SYMMETRIC: usize = 41;
/// A session of which nothing comes for so long is forgotten.
const IDLE: Nanos = Nanos::from_secs(60);
/// Number 0 begins a session again if the session is at least this old.
const AGAIN: Nanos = Nanos::from_secs(1);

/// Mode and limits of a reflector.
#[derive(Debug, Clone)]
pub struct ReflectorOptions {
    /// Form of the packets that get a reply.
    pub form: Form,
    /// Count the replies of each session instead of copying the sender's numbers.
    pub is_stateful: bool,
    /// Format of timestamps.
    pub format: Format,
    /// Reply also to packets of TWAMP Light that are shorter than their reply.
    pub allows_short: bool,
    /// Most replies per second.
    pub rate_max: u32,
    /// Most sessions of stateful mode.
    pub sessions_max: usize,
}

/// Why a packet gets no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// It is shorter than any packet of the protocol.
    Malformed,
    /// It is shorter than its reply would be.
    Short,
    /// It does not have the code of the key.
    Unauthentic,
    /// It is the reply of a reflector.
    Reflected,
    /// There were too many in this second.
    Rate,
    /// There are as many sessions as there may be.
    Sessions,
}

/// Packets by their fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorCounts {
    /// Packets with a reply.
    pub replies: u64,
    /// Packets shorter than any of the protocol.
    pub malformed: u64,
    /// Packets shorter than their reply would be.
    pub short: u64,
    /// Packets without the code of the key.
    pub unauthentic: u64,
    /// Replies of reflectors.
    pub reflected: u64,
    /// Packets above the limit of replies per second.
    pub over_rate: u64,
    /// Packets of sessions above the limit.
    pub over_sessions: u64,
    /// Sessions of stateful mode that began.
    pub sessions: u64,
}

/// A packet that came.
#[derive(Debug, Clone, Copy)]
pub struct Reflected {
    /// Sender.
    pub peer: SocketAddr,
    /// Time of arrival, T2, ns since 1970.
    pub at: Nanos,
    /// TTL, or hop limit, with which it came.
    pub hops: Option<u8>,
    /// Bound on the error of this host's clock, ns, if it is synchronized.
    pub error_max_ns: Option<u64>,
    /// TAI − UTC, s.
    pub tai_ahead_s: u64,
}

/// A session of stateful mode.
#[derive(Debug)]
struct Session {
    began: Nanos,
    last: Nanos,
    replies: u32,
}

/// Replies to packets of any number of senders.
#[derive(Debug)]
pub struct Reflector {
    options: ReflectorOptions,
    /// By sender and SSID (RFC 8972 section 3).
    sessions: BTreeMap<(SocketAddr, u16), Session>,
    tidied: Nanos,
    /// Replies that may leave at once, in billionths, and the time of that number.
    tokens: u64,
    refilled: Nanos,
    counts: ReflectorCounts,
}

impl Reflector {
    /// A reflector that begins at `now`, on the scale of [`Reflector::reply`].
    pub fn new(options: ReflectorOptions, now: Nanos) -> Self {
        Self {
            sessions: BTreeMap::new(),
            tidied: now,
            tokens: Self::burst(&options),
            refilled: now,
            counts: ReflectorCounts::default(),
            options,
        }
    }

    /// Packets so far.
    pub fn counts(&self) -> ReflectorCounts {
        self.counts
    }

    /// Makes the packet its own reply, but for the time of departure, which [`Reflector::depart`] writes; the reply's length. `now` is
    /// monotonic.
    ///
    /// # Errors
    /// The packet gets no reply.
    pub fn reply(&mut self, packet: &mut Vec<u8>, came: &Reflected, now: Nanos) -> Result<(), Drop> {
        let result = self.checked(packet, came, now);
        *match result {
            Ok(_) => &mut self.counts.replies,
            Err(Drop::Malformed) => &mut self.counts.malformed,
            Err(Drop::Short) => &mut self.counts.short,
            Err(Drop::Unauthentic) => &mut self.counts.unauthentic,
            Err(Drop::Reflected) => &mut self.counts.reflected,
            Err(Drop::Rate) => &mut self.counts.over_rate,
            Err(Drop::Sessions) => &mut self.counts.over_sessions,
        } += 1;
        let (request, number) = result?;
        let reply = Reply {
            number,
            sent: 0,
            error: ErrorEstimate::of(came.error_max_ns, self.options.format),
            ssid: request.ssid,
            came: self.options.format.write(came.at, came.tai_ahead_s),
            request,
            hops: came.hops,
        };
        if packet.len() < SHORTEST_SYMMETRIC {
            packet.resize(BASE, 0);
        }
        reply.write(packet, &self.options.form);
        if let Some(extensions) = packet.get_mut(self.options.form.base()..) {
            tlv::reflect(extensions);
        }
        Ok(())
    }

    /// Writes the time of departure, T3, into a reply, and the code of authenticated mode.
    pub fn depart(&self, reply: &mut [u8], at: Nanos, tai_ahead_s: u64) {
        Reply::depart(reply, self.options.format.write(at, tai_ahead_s), &self.options.form);
    }

    /// The request, and the number of its reply.
    fn checked(&mut self, packet: &[u8], came: &Reflected, now: Nanos) -> Result<(Request, u32), Drop> {
        let form = &self.options.form;
        let request = Request::read(packet, form).ok_or(Drop::Malformed)?;
        if packet.len() < SHORTEST_SYMMETRIC && !self.options.allows_short {
            return Err(Drop::Short);
        }
        if !form.is_authentic(packet) {
            return Err(Drop::Unauthentic);
        }
        if is_reply(packet, form) {
            return Err(Drop::Reflected);
        }
        if !self.takes_token(now) {
            return Err(Drop::Rate);
        }
        let number = if self.options.is_stateful { self.count(&request, came, now)? } else { request.number };
        Ok((request, number))
    }

    /// The next number of the packet's session.
    fn count(&mut self, request: &Request, came: &Reflected, now: Nanos) -> Result<u32, Drop> {
        let key = (came.peer, request.ssid);
        if !self.sessions.contains_key(&key) {
            self.tidy(now);
            if self.sessions.len() >= self.options.sessions_max {
                return Err(Drop::Sessions);
            }
            self.counts.sessions += 1;
        }
        let new = || Session { began: now, last: now, replies: 0 };
        let session = self.sessions.entry(key).or_insert_with(new);
        let is_over = now.since(session.last) >= IDLE;
        if is_over || request.number == 0 && now.since(session.began) >= AGAIN {
            *session = new();
        }
        session.last = now;
        let number = session.replies;
        session.replies = number.wrapping_add(1);
        Ok(number)
    }

    /// Forgets idle sessions, at most once a second.
    fn tidy(&mut self, now: Nanos) {
        if now.since(self.tidied) >= Nanos::from_secs(1) {
            self.tidied = now;
            self.sessions.retain(|_, session| now.since(session.last) < IDLE);
        }
    }

    /// Replies that may leave at once, in billionths: a tenth of a second's.
    fn burst(options: &ReflectorOptions) -> u64 {
        u64::from(options.rate_max.div_ceil(10)) * 1_000_000_000
    }

    fn takes_token(&mut self, now: Nanos) -> bool {
        const ONE: u64 = 1_000_000_000;
        let refill = now.since(self.refilled).0.saturating_mul(self.options.rate_max.into());
        self.refilled = now;
        self.tokens = self.tokens.saturating_add(refill).min(Self::burst(&self.options));
        let has_one = self.tokens >= ONE;
        self.tokens -= if has_one { ONE } else { 0 };
        has_one
    }
}

/// Whether this is the reply of a reflector: its time of departure is just behind a time of arrival by the same clock, whichever that is.
///
/// Senders' packets have zeros there, or TWAMP Light's padding, which looks like this once in 400 million times.
fn is_reply(packet: &[u8], form: &Form) -> bool {
    let layout = form.layout();
    let (sent, came) = (u64_at(packet, layout.sent), u64_at(packet, layout.came));
    came != 0 && sent.wrapping_sub(came) >> 32 < REFLECTED_WITHIN_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Key;
    use proptest::prelude::*;

    const NOW: Nanos = Nanos(1_790_000_000_000_000_000);

    fn options() -> ReflectorOptions {
        ReflectorOptions {
            form: Form::Open,
            is_stateful: false,
            format: Format::Ntp,
            allows_short: false,
            rate_max: 1_000,
            sessions_max: 2,
        }
    }

    fn came(port: u16) -> Reflected {
        let peer = SocketAddr::from(([192, 0, 2, 1], port));
        Reflected { peer, at: NOW, hops: Some(61), error_max_ns: None, tai_ahead_s: 0 }
    }

    fn request(number: u32, length: usize) -> Vec<u8> {
        let mut packet = vec![0; length.max(BASE)];
        let error = ErrorEstimate::of(None, Format::Ntp);
        Request { number, sent: Format::Ntp.write(NOW, 0), error, ssid: 5 }.write(&mut packet, &Form::Open);
        packet.truncate(length);
        packet
    }

    /// Number of the reply.
    fn number(reflector: &mut Reflector, port: u16, request_number: u32, now: Nanos) -> Result<u32, Drop> {
        let mut packet = request(request_number, BASE);
        reflector.reply(&mut packet, &came(port), now)?;
        Ok(Reply::read(&packet, &Form::Open).unwrap().number)
    }

    #[test]
    fn a_reply_has_the_request_and_both_times() {
        let mut reflector = Reflector::new(options(), Nanos(0));
        let mut packet = request(9, 60);
        crate::padding(&mut packet[BASE..]);
        let sent = Request::read(&packet, &Form::Open).unwrap();
        reflector.reply(&mut packet, &came(4000), Nanos(0)).unwrap();
        reflector.depart(&mut packet, NOW + Nanos(1_000), 0);
        let reply = Reply::read(&packet, &Form::Open).unwrap();
        assert_eq!((reply.number, reply.request, reply.ssid, reply.hops), (9, sent, 5, Some(61)));
        assert_eq!(Format::Ntp.read(reply.came, NOW, 0), Some(NOW));
        assert_eq!(Format::Ntp.read(reply.sent, NOW, 0), Some(NOW + Nanos(1_000)));
        assert_eq!((packet.len(), packet[BASE], packet[45]), (60, 0, 1));
        assert_eq!(reflector.counts().replies, 1);
    }

    #[test]
    fn no_reply_is_longer_than_its_request() {
        let mut reflector = Reflector::new(options(), Nanos(0));
        for length in 0..120 {
            let mut packet = request(0, length);
            match reflector.reply(&mut packet, &came(4000), Nanos(0)) {
                Ok(()) => assert_eq!(packet.len(), length),
                Err(drop) => {
                    assert_eq!(drop, if length < 14 { Drop::Malformed } else { Drop::Short });
                    assert!(length < 41);
                }
            }
        }
        // RFC 8762 section 4.6: to a shorter packet of TWAMP Light the base is the reply, where that is allowed.
        let mut lenient = Reflector::new(ReflectorOptions { allows_short: true, ..options() }, Nanos(0));
        let mut packet = request(3, 14);
        lenient.reply(&mut packet, &came(4000), Nanos(0)).unwrap();
        assert_eq!((packet.len(), Reply::read(&packet, &Form::Open).unwrap().request.number), (BASE, 3));
    }

    #[test]
    fn a_reply_gets_no_reply() {
        for format in [Format::Ntp, Format::Ptp] {
            let mut reflector = Reflector::new(ReflectorOptions { format, ..options() }, Nanos(0));
            let mut packet = request(0, 80);
            reflector.reply(&mut packet, &came(862), Nanos(0)).unwrap();
            reflector.depart(&mut packet, NOW + Nanos(2_000_000_000), 0);
            // The other one's clock shows another time.
            let other = Reflected { at: Nanos(86_400_000_000_000), ..came(862) };
            let mut second = Reflector::new(options(), Nanos(0));
            assert_eq!(second.reply(&mut packet, &other, Nanos(0)), Err(Drop::Reflected));
        }
    }

    #[test]
    fn with_a_key_only_its_packets_get_a_reply_which_has_its_code() {
        let form = Form::Authenticated(Key::new(&[1; 16]).unwrap());
        let mut reflector = Reflector::new(ReflectorOptions { form: form.clone(), ..options() }, Nanos(0));
        let request = Request { number: 4, sent: 9, error: ErrorEstimate::of(None, Format::Ntp), ssid: 0 };
        let mut packet = vec![0; 130];
        request.write(&mut packet, &form);
        let right = packet.clone();
        reflector.reply(&mut packet, &came(1), Nanos(0)).unwrap();
        reflector.depart(&mut packet, NOW + Nanos(5), 0);
        assert!(form.is_authentic(&packet) && packet.len() == 130);
        assert_eq!(Reply::read(&packet, &form).unwrap().request, request);
        assert_eq!(reflector.reply(&mut packet, &came(1), Nanos(0)), Err(Drop::Reflected));
        let mut spoilt = right.clone();
        spoilt[3] ^= 1;
        assert_eq!(reflector.reply(&mut spoilt, &came(1), Nanos(0)), Err(Drop::Unauthentic));
        assert_eq!(reflector.reply(&mut right[..44].to_vec(), &came(1), Nanos(0)), Err(Drop::Malformed));
        assert_eq!((reflector.counts().replies, reflector.counts().unauthentic), (1, 1));
    }

    #[test]
    fn sessions_are_counted_apart_and_limited() {
        let mut reflector = Reflector::new(ReflectorOptions { is_stateful: true, ..options() }, Nanos(0));
        let at = |ms: u64| Nanos(ms * 1_000_000);
        assert_eq!([0, 1, 5].map(|n| number(&mut reflector, 1, n, at(n.into()))), [Ok(0), Ok(1), Ok(2)]);
        assert_eq!(number(&mut reflector, 2, 0, at(10)), Ok(0));
        assert_eq!(number(&mut reflector, 3, 0, at(20)), Err(Drop::Sessions));
        // Packet 0 of a young session is a duplicate, of an older one the next session.
        assert_eq!(number(&mut reflector, 1, 0, at(500)), Ok(3));
        assert_eq!(number(&mut reflector, 1, 0, at(1_500)), Ok(0));
        // A minute later the idle one is forgotten.
        assert_eq!(number(&mut reflector, 3, 0, at(60_100)), Ok(0));
        assert_eq!((reflector.counts().sessions, reflector.counts().over_sessions), (3, 1));
    }

    #[test]
    fn replies_have_a_rate() {
        let mut reflector = Reflector::new(options(), Nanos(0));
        let within = |reflector: &mut Reflector, ms: u64| {
            (0..2_000).filter(|n| number(reflector, 1, *n, Nanos(ms * 1_000_000)).is_ok()).count()
        };
        assert_eq!([0, 1, 51, 10_000].map(|ms| within(&mut reflector, ms)), [100, 1, 50, 100]);
        assert_eq!(reflector.counts().over_rate, 8_000 - 251);
    }

    proptest! {
        #[test]
        fn anything_gets_a_reply_of_its_length_or_none(mut bytes: Vec<u8>, is_stateful: bool) {
            let mut reflector = Reflector::new(ReflectorOptions { is_stateful, ..options() }, Nanos(0));
            let length = bytes.len();
            let result = reflector.reply(&mut bytes, &came(1), Nanos(0));
            prop_assert_eq!(bytes.len(), length);
            prop_assert_eq!(result.is_ok(), length >= 41 && reflector.counts().reflected == 0);
        }
    }
}
