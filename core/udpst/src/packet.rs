//! The packets (RFC 9946), all numbers in network byte order. A reader returns the fields; their validity is judged by
//! the code that knows the test.

use crate::auth::Auth;
use crate::rate::Rate;
use units::Nanos;

/// No value was measured.
pub const NONE: u32 = u32::MAX;
/// Octets of the head of a packet of load.
pub const LOAD: usize = 32;

/// Kind of a packet, by its first two octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Setup request, or response.
    Setup = 0xACE1,
    /// Activation request, or response.
    Activation = 0xACE2,
    /// Opens a way through firewalls; it has no response.
    Null = 0xDEAD,
    /// Load.
    Load = 0xBEEF,
    /// Counters of the load's receiver.
    Status = 0xFEED,
}

impl Kind {
    /// Kind of a packet.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let kind = u16::from_be_bytes(*packet.first_chunk()?);
        [Self::Setup, Self::Activation, Self::Null, Self::Load, Self::Status]
            .into_iter()
            .find(|known| *known as u16 == kind)
    }
}

/// Bits of [`Setup::modifiers`] and [`Activation::modifiers`].
pub mod modifier {
    /// Of a setup: rates above 1 Gbit/s use datagrams of up to 9,000 octets.
    pub const JUMBO: u8 = 1;
    /// Of a setup: IP packets have 1,500 octets instead of 1,250.
    pub const FULL_MTU: u8 = 2;
    /// Of an activation: [`super::Activation::rate_row`] is where the search begins, not the one rate of the test.
    pub const BEGINS: u8 = 1;
}

/// [`Setup::response`] and [`Activation::response`] of what is refused, in words.
pub mod refusal {
    /// Neither refused nor agreed to: a request.
    pub const NONE: u8 = 0;
    /// Agreed to.
    pub const AGREED: u8 = 1;
    /// The version of the protocol is not supported.
    pub const VERSION: u8 = 2;
    /// Client and server must agree on datagrams above the usual MTU.
    pub const JUMBO: u8 = 3;
    /// The server has no keys.
    pub const NO_KEYS: u8 = 4;
    /// The server wants a key.
    pub const KEY_NEEDED: u8 = 5;
    /// The mode of authentication is unknown.
    pub const MODE: u8 = 6;
    /// The key is another one.
    pub const WRONG_KEY: u8 = 7;
    /// The clocks of client and server are too far apart.
    pub const WRONG_TIME: u8 = 8;
    /// The server wants to know how much the client needs.
    pub const BANDWIDTH_NEEDED: u8 = 9;
    /// The server has no capacity left.
    pub const BUSY: u8 = 10;
    /// Client and server must agree on the MTU.
    pub const MTU: u8 = 11;
    /// The connections of a test do not fit each other.
    pub const CONNECTIONS: u8 = 12;
    /// The server can't open another port.
    pub const NO_PORT: u8 = 13;

    /// Why a setup was refused, and what to do.
    pub fn of_setup(response: u8) -> &'static str {
        match response {
            VERSION => "it uses another version of the protocol; this is version 20 (RFC 9946)",
            JUMBO => "it uses no datagrams above the usual MTU; try --no-jumbo",
            NO_KEYS => "it has no keys; leave --key out",
            KEY_NEEDED => "it wants a key: give --key",
            MODE => "it knows no such authentication",
            WRONG_KEY => "it has another key, or none with this --key-id",
            WRONG_TIME => "its clock and this host's are more than five seconds apart",
            BANDWIDTH_NEEDED => "it wants to know how much is needed: give --needs",
            BUSY => "it has no capacity left for this test; try later",
            MTU => "it uses another size of packets; try --full-mtu",
            CONNECTIONS => "it does not take the number of connections",
            NO_PORT => "it can open no more ports; try later",
            _ => "it gives no reason",
        }
    }
}

/// Reads fields one after another. Missing bytes are zero: lengths are checked before.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((first, rest)) = self.0.split_first_chunk() else { return [0; N] };
        self.0 = rest;
        *first
    }
    fn u8(&mut self) -> u8 {
        u8::from_be_bytes(self.take())
    }
    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }
    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }
    fn stamp(&mut self) -> Stamp {
        Stamp { seconds: self.u32(), nanos: self.u32() }
    }
    fn rate(&mut self) -> Rate {
        let mut next = || self.u32();
        Rate {
            interval_1: next(),
            payload_1: next(),
            burst_1: next(),
            interval_2: next(),
            payload_2: next(),
            burst_2: next(),
            addition_2: next(),
        }
    }
}

/// Writes fields one after another.
struct Writer<const N: usize> {
    packet: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    fn new(kind: Kind) -> Self {
        Self { packet: [0; N], at: 0 }.u16(kind as u16)
    }
    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.packet[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
        self
    }
    fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }
    fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_be_bytes())
    }
    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_be_bytes())
    }
    fn stamp(self, stamp: Stamp) -> Self {
        self.u32(stamp.seconds).u32(stamp.nanos)
    }
    fn rate(self, rate: &Rate) -> Self {
        let Rate { interval_1, payload_1, burst_1, interval_2, payload_2, burst_2, addition_2 } = *rate;
        let all = [interval_1, payload_1, burst_1, interval_2, payload_2, burst_2, addition_2];
        all.into_iter().fold(self, Self::u32)
    }
    fn auth(self, auth: &Auth) -> Self {
        // A reserved octet and the checksum, which is not used where it is zero, end it.
        self.u8(auth.mode).u32(auth.time).bytes(&auth.digest).u8(auth.key).u8(0).u16(0)
    }
    fn end(self) -> [u8; N] {
        debug_assert_eq!(self.at, N);
        self.packet
    }
}

/// An instant of the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Seconds.
    pub seconds: u32,
    /// Nanoseconds of the next second.
    pub nanos: u32,
}

impl Stamp {
    /// Of nanoseconds since 1970.
    pub fn of(time: Nanos) -> Self {
        Self { seconds: (time.0 / 1_000_000_000) as u32, nanos: (time.0 % 1_000_000_000) as u32 }
    }

    /// Nanoseconds since 1970. One that is no instant is near one.
    pub fn nanos(self) -> Nanos {
        Nanos(u64::from(self.seconds) * 1_000_000_000 + u64::from(self.nanos.min(999_999_999)))
    }
}

/// Setup request, or response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Of the protocol.
    pub version: u16,
    /// Which of the test's connections this is, from 0, and how many there are.
    pub connection: (u8, u8),
    /// The same for all connections of a test.
    pub test: u16,
    /// Whether it is the response.
    pub answers: bool,
    /// See [`refusal`].
    pub response: u8,
    /// Whether load goes to the server, where `needs` is given.
    pub upwards: bool,
    /// Capacity that the test needs, Mbit/s; 0 if not given.
    pub needs: u16,
    /// Of the response: the server's port of the test.
    pub port: u16,
    /// See [`modifier`].
    pub modifiers: u8,
    /// Authentication.
    pub auth: Auth,
}

impl Setup {
    /// Octets of the packet.
    pub const LENGTH: usize = 56;
    const UPWARDS: u16 = 1 << 15;

    /// Reads one.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if Kind::of(packet)? != Kind::Setup
            || packet.len() < Self::LENGTH
            || !sums_up(&packet[..Self::LENGTH])
        {
            return None;
        }
        let mut of = Reader(&packet[2..]);
        let (version, connection, test) = (of.u16(), (of.u8(), of.u8()), of.u16());
        let answers = match of.u8() {
            1 => false,
            2 => true,
            _ => return None,
        };
        let (response, needs) = (of.u8(), of.u16());
        Some(Self {
            version,
            connection,
            test,
            answers,
            response,
            upwards: needs & Self::UPWARDS != 0,
            needs: needs & !Self::UPWARDS,
            port: of.u16(),
            modifiers: of.u8(),
            auth: Auth::read(packet.get(..Self::LENGTH)?)?,
        })
    }

    /// The packet.
    pub fn write(&self) -> [u8; Self::LENGTH] {
        let upwards = if self.upwards { Self::UPWARDS } else { 0 };
        Writer::new(Kind::Setup)
            .u16(self.version)
            .u8(self.connection.0)
            .u8(self.connection.1)
            .u16(self.test)
            .u8(1 + u8::from(self.answers))
            .u8(self.response)
            .u16(self.needs | upwards)
            .u16(self.port)
            .u8(self.modifiers)
            .auth(&self.auth)
            .end()
    }
}

/// Opens a way through firewalls from the server's new port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Null {
    /// Of the protocol.
    pub version: u16,
    /// Authentication.
    pub auth: Auth,
}

impl Null {
    /// Octets of the packet.
    pub const LENGTH: usize = 48;

    /// The packet.
    pub fn write(&self) -> [u8; Self::LENGTH] {
        Writer::new(Kind::Null).u16(self.version).u8(1).u8(0).u8(0).auth(&self.auth).end()
    }
}

/// Parameters of the test, or the response: the parameters that the server will use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activation {
    /// Of the protocol.
    pub version: u16,
    /// Whether load goes to the server.
    pub upwards: bool,
    /// See [`refusal`].
    pub response: u8,
    /// Rise of the delay below which the rate grows, ms, and above which it falls.
    pub thresholds: (u16, u16),
    /// Time between two statuses, ms.
    pub trial_ms: u16,
    /// Length of the test, s.
    pub seconds: u16,
    /// DSCP and ECN of packets of load.
    pub dscp_ecn: u8,
    /// The one row of the table, or the first; [`Activation::SEARCH`] for a search from the lowest.
    pub rate_row: u16,
    /// Whether the search goes by the one-way delay instead of the round trip.
    pub one_way: bool,
    /// Rows that the rate grows by while there was no congestion.
    pub fast: u8,
    /// Signs of congestion until it no longer grows so fast.
    pub congestion: u16,
    /// Missing packets in a trial that are no sign of it.
    pub errors: u16,
    /// Whether packets in another order and duplicates are no errors.
    pub ignores_order: bool,
    /// See [`modifier`].
    pub modifiers: u8,
    /// Search algorithm for rates: 0 for algorithm B, 1 for C.
    pub algorithm: u8,
    /// Of a response for load to the server: the initial rate.
    pub rate: Rate,
    /// Length of an interval of the result, ms.
    pub interval_ms: u16,
    /// Authentication.
    pub auth: Auth,
}

impl Activation {
    /// Octets of the packet.
    pub const LENGTH: usize = 104;
    /// Of [`rate_row`](Self::rate_row).
    pub const SEARCH: u16 = u16::MAX;

    /// Whether load is to be sent at the rate of one row, instead of the highest that the path carries.
    pub fn is_at_one_rate(&self) -> bool {
        self.rate_row != Self::SEARCH && self.modifiers & modifier::BEGINS == 0
    }

    /// Values suggested by RFC 9097 and TR-471, for this number of seconds.
    pub fn usual(upwards: bool, seconds: u16) -> Self {
        Self {
            version: crate::VERSION,
            upwards,
            response: refusal::NONE,
            thresholds: (30, 90),
            trial_ms: 50,
            seconds,
            dscp_ecn: 0,
            rate_row: Self::SEARCH,
            one_way: false,
            fast: 10,
            congestion: 3,
            errors: 10,
            ignores_order: true,
            modifiers: 0,
            algorithm: 0,
            rate: Rate::default(),
            interval_ms: 1000,
            auth: Auth::default(),
        }
    }

    /// Reads one.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if Kind::of(packet)? != Kind::Activation
            || packet.len() < Self::LENGTH
            || !sums_up(&packet[..Self::LENGTH])
        {
            return None;
        }
        let mut of = Reader(&packet[2..]);
        let version = of.u16();
        let upwards = match of.u8() {
            1 => true,
            2 => false,
            _ => return None,
        };
        let response = of.u8();
        let (thresholds, trial_ms, seconds) = ((of.u16(), of.u16()), of.u16(), of.u16());
        let _ = of.u8();
        Some(Self {
            version,
            upwards,
            response,
            thresholds,
            trial_ms,
            seconds,
            dscp_ecn: of.u8(),
            rate_row: of.u16(),
            one_way: of.u8() != 0,
            fast: of.u8(),
            congestion: of.u16(),
            errors: of.u16(),
            ignores_order: of.u8() != 0,
            modifiers: of.u8(),
            algorithm: of.u8(),
            rate: {
                let _ = of.u8();
                of.rate()
            },
            interval_ms: of.u16(),
            auth: Auth::read(packet.get(..Self::LENGTH)?)?,
        })
    }

    /// The packet.
    pub fn write(&self) -> [u8; Self::LENGTH] {
        Writer::new(Kind::Activation)
            .u16(self.version)
            .u8(if self.upwards { 1 } else { 2 })
            .u8(self.response)
            .u16(self.thresholds.0)
            .u16(self.thresholds.1)
            .u16(self.trial_ms)
            .u16(self.seconds)
            .u8(0)
            .u8(self.dscp_ecn)
            .u16(self.rate_row)
            .u8(self.one_way.into())
            .u8(self.fast)
            .u16(self.congestion)
            .u16(self.errors)
            .u8(self.ignores_order.into())
            .u8(self.modifiers)
            .u8(self.algorithm)
            .u8(0)
            .rate(&self.rate)
            .u16(self.interval_ms)
            .u16(0)
            .u16(0)
            .u8(0)
            .auth(&self.auth)
            .end()
    }
}

/// The head of a packet of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Whether the test ends.
    pub ends: bool,
    /// Whether the sender has received nothing for a second.
    pub hears_nothing: bool,
    /// Counts from 1.
    pub number: u32,
    /// Octets of the datagram.
    pub payload: u16,
    /// Statuses that were missing before the last one.
    pub missing_statuses: u16,
    /// When the last status was sent, by its sender's clock.
    pub status_sent: Stamp,
    /// When this was sent.
    pub sent: Stamp,
    /// Time between the arrival of that status and this packet, ms.
    pub answered_ms: u16,
}

impl Load {
    /// Reads one from the beginning of a datagram.
    #[inline]
    pub fn read(packet: &[u8]) -> Option<Self> {
        let head: &[u8; LOAD] = packet.first_chunk()?;
        let mut of = Reader(head);
        let is_load = of.u16() == Kind::Load as u16;
        let (action, stopped) = (of.u8(), of.u8());
        // What is not used is zero: then there is nothing to sum up.
        let is_whole = head[30..] == [0, 0] || sums_up(head);
        (is_load && action <= 2 && stopped <= 1 && is_whole).then(|| Self {
            ends: action != 0,
            hears_nothing: stopped != 0,
            number: of.u32(),
            payload: of.u16(),
            missing_statuses: of.u16(),
            status_sent: of.stamp(),
            sent: of.stamp(),
            answered_ms: of.u16(),
        })
    }

    /// The head of a datagram.
    #[inline]
    pub fn write(&self) -> [u8; LOAD] {
        Writer::new(Kind::Load)
            .u8(action(self.ends))
            .u8(self.hears_nothing.into())
            .u32(self.number)
            .u16(self.payload)
            .u16(self.missing_statuses)
            .stamp(self.status_sent)
            .stamp(self.sent)
            .u16(self.answered_ms)
            .u16(0)
            .end()
    }
}

/// The end is announced to the other side by 2; 1 is for a server's internal use.
fn action(ends: bool) -> u8 {
    if ends { 2 } else { 0 }
}

/// Counters of a receiver in an interval of the result. Times are in ms, the length in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubInterval {
    /// Packets of load that came.
    pub datagrams: u32,
    /// Octets in them.
    pub bytes: u64,
    /// Its length, µs.
    pub micros: u32,
    /// Packets that are missing.
    pub lost: u32,
    /// Packets that came after later ones.
    pub reordered: u32,
    /// Packets that came again.
    pub duplicates: u32,
    /// Rise of the one-way delay over the shortest: the least, the most, their sum and how many.
    pub rise: (u32, u32, u32, u32),
    /// Rise of the round trip: the least and the most.
    pub round_trip: (u32, u32),
    /// All time so far.
    pub at_ms: u32,
}

/// Report of a load's receiver to its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Whether the test ends.
    pub ends: bool,
    /// Whether nothing came for a second.
    pub hears_nothing: bool,
    /// Counts from 1.
    pub number: u32,
    /// Of a server: how to send.
    pub rate: Rate,
    /// The last whole interval of the result, and which it is, from 1; 0 before there is one.
    pub interval: (u32, SubInterval),
    /// In the time since the last status: packets missing, late, and again.
    pub errors: [u32; 3],
    /// Shortest difference of the clocks so far, delay included, ms.
    pub clock_delta_ms: i32,
    /// Rise of the one-way delay: the least ([`NONE`] if none came), the most, their sum and how many.
    pub rise: (u32, u32, u32, u32),
    /// Shortest round trip so far, ms; [`NONE`] before there is one.
    pub round_trip_ms: u32,
    /// The last round trip beyond it; [`NONE`] if there was none.
    pub round_trip_rise_ms: u32,
    /// Whether one of both shortest has changed.
    pub is_shorter: bool,
    /// Since the last status: µs, packets, octets.
    pub trial: (u32, u32, u32),
    /// When it was sent.
    pub sent: Stamp,
    /// Mode of authentication of the test, which statuses do not use.
    pub mode: u8,
}

impl Status {
    /// Octets of the packet.
    pub const LENGTH: usize = 204;

    /// Reads one.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if Kind::of(packet)? != Kind::Status || packet.len() != Self::LENGTH || !sums_up(packet) {
            return None;
        }
        let mut of = Reader(&packet[2..]);
        let (action, stopped) = (of.u8(), of.u8());
        if action > 2 || stopped > 1 {
            return None;
        }
        let (number, rate, which) = (of.u32(), of.rate(), of.u32());
        let interval = SubInterval {
            datagrams: of.u32(),
            bytes: of.u64(),
            micros: of.u32(),
            lost: of.u32(),
            reordered: of.u32(),
            duplicates: of.u32(),
            rise: (of.u32(), of.u32(), of.u32(), of.u32()),
            round_trip: (of.u32(), of.u32()),
            at_ms: of.u32(),
        };
        Some(Self {
            ends: action != 0,
            hears_nothing: stopped != 0,
            number,
            rate,
            interval: (which, interval),
            errors: [of.u32(), of.u32(), of.u32()],
            clock_delta_ms: of.u32().cast_signed(),
            rise: (of.u32(), of.u32(), of.u32(), of.u32()),
            round_trip_ms: of.u32(),
            round_trip_rise_ms: of.u32(),
            is_shorter: {
                let is_shorter = of.u8() != 0;
                let _: [u8; 3] = of.take();
                is_shorter
            },
            trial: (of.u32(), of.u32(), of.u32()),
            sent: of.stamp(),
            mode: {
                let _: [u8; 3] = of.take();
                of.u8()
            },
        })
    }

    /// The packet.
    pub fn write(&self) -> [u8; Self::LENGTH] {
        let (which, interval) = &self.interval;
        let rise = |writer: Writer<{ Self::LENGTH }>, rise: (u32, u32, u32, u32)| {
            writer.u32(rise.0).u32(rise.1).u32(rise.2).u32(rise.3)
        };
        let begun = Writer::new(Kind::Status)
            .u8(action(self.ends))
            .u8(self.hears_nothing.into())
            .u32(self.number)
            .rate(&self.rate)
            .u32(*which)
            .u32(interval.datagrams)
            .bytes(&interval.bytes.to_be_bytes())
            .u32(interval.micros)
            .u32(interval.lost)
            .u32(interval.reordered)
            .u32(interval.duplicates);
        let begun = rise(begun, interval.rise)
            .u32(interval.round_trip.0)
            .u32(interval.round_trip.1)
            .u32(interval.at_ms);
        let begun = self.errors.into_iter().fold(begun, Writer::u32).u32(self.clock_delta_ms.cast_unsigned());
        rise(begun, self.rise)
            .u32(self.round_trip_ms)
            .u32(self.round_trip_rise_ms)
            .u8(self.is_shorter.into())
            .bytes(&[0; 3])
            .u32(self.trial.0)
            .u32(self.trial.1)
            .u32(self.trial.2)
            .stamp(self.sent)
            .bytes(&[0; 3])
            .auth(&Auth { mode: self.mode, ..Auth::default() })
            .end()
    }
}

/// Whether the checksum in the last two octets is right, or not used: zero (as RFC 1071).
fn sums_up(packet: &[u8]) -> bool {
    let is_used = packet.last_chunk::<2>().is_some_and(|sum| *sum != [0, 0]);
    let words = packet.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !is_used || (folded & 0xffff) + (folded >> 16) == 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn auth() -> Auth {
        Auth { mode: 1, time: 0x0102_0304, digest: [9; 32], key: 7 }
    }

    fn rate() -> Rate {
        Rate {
            interval_1: 100,
            payload_1: 1222,
            burst_1: 3,
            interval_2: 1000,
            payload_2: 1222,
            burst_2: 4,
            addition_2: 597,
        }
    }

    #[test]
    fn control_packets_are_read_as_written() {
        let setup = Setup {
            version: 20,
            connection: (0, 1),
            test: 40_703,
            answers: true,
            response: refusal::AGREED,
            upwards: true,
            needs: 500,
            port: 40_000,
            modifiers: modifier::JUMBO,
            auth: auth(),
        };
        assert_eq!(Setup::read(&setup.write()), Some(setup));
        let activation = Activation {
            rate: rate(),
            rate_row: 1000,
            auth: auth(),
            dscp_ecn: 0x88,
            ..Activation::usual(true, 10)
        };
        assert_eq!(Activation::read(&activation.write()), Some(activation));
        let null = Null { version: 20, auth: auth() }.write();
        assert_eq!((Kind::of(&null), null.len(), Setup::read(&null)), (Some(Kind::Null), 48, None));
    }

    #[test]
    fn load_and_status_are_read_as_written() {
        let load = Load {
            ends: true,
            hears_nothing: true,
            number: 70_000,
            payload: 1222,
            missing_statuses: 3,
            status_sent: Stamp { seconds: 5, nanos: 6 },
            sent: Stamp { seconds: 7, nanos: 8 },
            answered_ms: 9,
        };
        assert_eq!(Load::read(&load.write()), Some(load));
        let interval = SubInterval {
            datagrams: 1,
            bytes: 1 << 40,
            micros: 1_000_000,
            lost: 2,
            reordered: 3,
            duplicates: 4,
            rise: (5, 6, 7, 8),
            round_trip: (9, 10),
            at_ms: 11,
        };
        let status = Status {
            ends: false,
            hears_nothing: false,
            number: 12,
            rate: rate(),
            interval: (13, interval),
            errors: [14, 15, 16],
            clock_delta_ms: -17,
            rise: (NONE, 0, 0, 0),
            round_trip_ms: 18,
            round_trip_rise_ms: NONE,
            is_shorter: true,
            trial: (50_000, 19, 20),
            sent: Stamp { seconds: 21, nanos: 22 },
            mode: 1,
        };
        assert_eq!(Status::read(&status.write()), Some(status));
    }

    #[test]
    fn a_checksum_that_is_used_must_be_right() {
        let mut packet = Activation::usual(false, 5).write();
        let words = packet.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
        let sum: u32 = words.sum();
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        packet[102..].copy_from_slice(&sum.to_be_bytes());
        assert!(Activation::read(&packet).is_some());
        packet[103] ^= 1;
        assert!(Activation::read(&packet).is_none());
    }

    #[test]
    fn instants_are_those_of_the_clock() {
        let at = Nanos(1_700_000_000_123_456_789);
        assert_eq!(Stamp::of(at).nanos(), at);
        assert_eq!(Stamp { seconds: 1, nanos: u32::MAX }.nanos(), Nanos(1_999_999_999));
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_not(packet in prop::collection::vec(any::<u8>(), 0..260), kind in 0..5usize) {
            let mut packet = packet;
            let kinds = [0xACE1u16, 0xACE2, 0xDEAD, 0xBEEF, 0xFEED];
            if let Some(first) = packet.first_chunk_mut() {
                *first = kinds[kind].to_be_bytes();
            }
            let _ = (Setup::read(&packet), Activation::read(&packet), Load::read(&packet), Status::read(&packet));
        }
    }
}
