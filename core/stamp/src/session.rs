//! A sender's session: which packet leaves when, and which replies belong to it.

use crate::form::Form;
use crate::packet::{Reply, Request};
use crate::report::{Mode, Report, Sample};
use crate::time::{ErrorEstimate, Format};
use crate::tlv::{self, HEADER};
use units::Nanos;

/// Most packets of a session: all their delays are kept.
pub const PACKETS_MAX: u32 = 1_000_000;

/// Finds out before a session whether the reflector counts replies or copies numbers. It has a separate session of two packets: the
/// number of the second is one that a reflector which counts can't have reached.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    form: Form,
    has_unauthentic: bool,
    sent: [u64; 2],
    replies: [Option<u32>; 2],
}

impl Probe {
    const NUMBERS: [u32; 2] = [0, 7];

    /// One whose packets have this form.
    pub fn new(form: Form) -> Self {
        Self { form, ..Self::default() }
    }

    /// Writes packet 0 or 1 into the first [`Form::base`] octets, at `now`; `tai_ahead_s` is TAI − UTC, s.
    pub fn write(&mut self, which: usize, now: Nanos, format: Format, tai_ahead_s: u64, packet: &mut [u8]) {
        let sent = format.write(now, tai_ahead_s);
        let error = ErrorEstimate::of(None, format);
        Request { number: Self::NUMBERS[which], sent, error, ssid: 0 }.write(packet, &self.form);
        self.sent[which] = sent;
    }

    /// Takes a packet in; whether it is a reply.
    pub fn take(&mut self, packet: &[u8]) -> bool {
        let Some(reply) = Reply::read(packet, &self.form).filter(|_| self.form.is_authentic(packet)) else {
            self.has_unauthentic |= self.form != Form::Open;
            return false;
        };
        let is_of = |which: &usize| {
            Self::NUMBERS[*which] == reply.request.number && self.sent[*which] == reply.request.sent
        };
        let Some(which) = (0..2).find(is_of) else { return false };
        self.replies[which] = Some(reply.number);
        true
    }

    /// Whether both replies have come.
    pub fn is_complete(&self) -> bool {
        self.replies.iter().all(Option::is_some)
    }

    /// Whether a reply has come.
    pub fn has_reply(&self) -> bool {
        self.replies.iter().any(Option::is_some)
    }

    /// Whether a packet has come that does not have the code of the key.
    pub fn has_unauthentic(&self) -> bool {
        self.has_unauthentic
    }

    /// Mode of the reflector.
    pub fn mode(&self) -> Mode {
        match self.replies {
            [_, Some(number)] if number == Self::NUMBERS[1] => Mode::Stateless,
            [_, Some(_)] => Mode::Stateful,
            // TWAMP Light reflectors may begin at 1.
            [Some(first), None] if first != Self::NUMBERS[0] => Mode::Stateful,
            _ => Mode::Unknown,
        }
    }

    /// Number of the first reply in a session of a reflector that counts: 0 by the RFC.
    pub fn first_number(&self) -> u32 {
        self.replies[0].unwrap_or(0)
    }
}

/// Parameters of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Form of the packets.
    pub form: Form,
    /// Number of packets, 1 to [`PACKETS_MAX`].
    pub packets: u32,
    /// Time from packet to packet.
    pub interval: Nanos,
    /// Octets of a packet: [`Form::base`], or at least [`HEADER`] more.
    pub length: usize,
    /// Identifier of the session; 0 is none.
    pub ssid: u16,
    /// Format of timestamps.
    pub format: Format,
    /// Mode of the reflector.
    pub mode: Mode,
    /// Number of the first reply in stateful mode.
    pub first_number: u32,
}

impl Plan {
    /// Whether packets can have this many octets of UDP payload.
    pub fn can_have(form: &Form, length: usize) -> bool {
        length == form.base() || (form.base() + HEADER..=9_000).contains(&length)
    }
}

/// Why a packet is no reply of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is too short.
    Short,
    /// It does not have the code of the key.
    Unauthentic,
    /// It has a number, a time or an identifier that was not sent.
    Foreign,
}

/// A session under way. Instants are ns since 1970 unless noted.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    /// T1 of each packet sent, as it is on the wire.
    sent: Vec<u64>,
    has_reply: Vec<bool>,
    replies: Vec<Sample>,
    unique: u32,
    dropped_duplicates: u64,
    unfit: u64,
    has_ssid: bool,
    error_here: Option<u64>,
    error_there: Option<ErrorEstimate>,
    format_there: Format,
}

impl Session {
    /// A session of which nothing is sent yet.
    pub fn new(plan: Plan) -> Self {
        Self {
            format_there: plan.format,
            plan,
            sent: Vec::new(),
            has_reply: Vec::new(),
            replies: Vec::new(),
            unique: 0,
            dropped_duplicates: 0,
            unfit: 0,
            has_ssid: true,
            error_here: None,
            error_there: None,
        }
    }

    /// When the next packet is due, since the beginning; `None` after the last one.
    pub fn next_due(&self) -> Option<Nanos> {
        let number = self.sent.len() as u64;
        (number < self.plan.packets.into()).then(|| Nanos(self.plan.interval.0.saturating_mul(number)))
    }

    /// Writes the next packet, which leaves at `now`, into `packet`, which is as long as the plan has it. `error_max_ns` is of this host's
    /// clock, if it is synchronized; `tai_ahead_s` is TAI − UTC, s.
    pub fn write(&mut self, now: Nanos, error_max_ns: Option<u64>, tai_ahead_s: u64, packet: &mut [u8]) {
        let format = self.plan.format;
        let sent = format.write(now, tai_ahead_s);
        let error = ErrorEstimate::of(error_max_ns, format);
        self.error_here = error_max_ns;
        let number = self.sent.len() as u32;
        Request { number, sent, error, ssid: self.plan.ssid }.write(packet, &self.plan.form);
        if let Some(rest) = packet.get_mut(self.plan.form.base()..).filter(|rest| rest.len() >= HEADER) {
            tlv::padding(rest);
        }
        self.sent.push(sent);
        self.has_reply.push(false);
    }

    /// Takes a packet in that came at `at` (T4) with `hops` left; its round trip without the reflector's time, if its times are possible.
    ///
    /// # Errors
    /// It is no reply of this session.
    pub fn take(
        &mut self,
        packet: &[u8],
        at: Nanos,
        hops: Option<u8>,
        tai_ahead_s: u64,
    ) -> Result<Option<Nanos>, Unfit> {
        let result = self.sample(packet, at, hops, tai_ahead_s);
        match result {
            Ok(sample) => self.keep(sample),
            Err(_) => self.unfit += 1,
        }
        result.map(|sample| Some(Nanos(sample.delays()?[2].unsigned_abs())))
    }

    fn keep(&mut self, sample: Sample) {
        let has_reply = &mut self.has_reply[sample.number as usize];
        if !*has_reply {
            self.unique += 1;
        }
        *has_reply = true;
        // A reflector that repeats itself must not fill the memory.
        if self.replies.len() < 2 * self.plan.packets as usize {
            self.replies.push(sample);
        } else {
            self.dropped_duplicates += 1;
        }
    }

    fn sample(&mut self, packet: &[u8], at: Nanos, hops: Option<u8>, tai_s: u64) -> Result<Sample, Unfit> {
        let form = &self.plan.form;
        let reply = Reply::read(packet, form).ok_or(Unfit::Short)?;
        if !form.is_authentic(packet) {
            return Err(Unfit::Unauthentic);
        }
        let sent = self.sent.get(reply.request.number as usize).ok_or(Unfit::Foreign)?;
        let is_ours = *sent == reply.request.sent && (reply.ssid == self.plan.ssid || reply.ssid == 0);
        if !is_ours {
            return Err(Unfit::Foreign);
        }
        self.has_ssid &= reply.ssid == self.plan.ssid;
        (self.error_there, self.format_there) = (Some(reply.error), reply.error.format);
        let [t2, t3] = [reply.came, reply.sent].map(|stamp| reply.error.format.read(stamp, at, tai_s));
        let t1 = self.plan.format.read(*sent, at, tai_s);
        let times = match (t1, t2, t3) {
            // A reflector can't send before it has received, nor keep a packet for longer than it was away.
            (Some(t1), Some(t2), Some(t3)) if t1 <= at && t2 <= t3 && t3.since(t2) <= at.since(t1) => {
                Some([t1, t2, t3, at])
            }
            _ => None,
        };
        Ok(Sample { number: reply.request.number, reply: reply.number, times, hops: [reply.hops, hops] })
    }

    /// Whether all packets are sent and have a reply.
    pub fn is_complete(&self) -> bool {
        self.unique == self.plan.packets
    }

    /// Packets sent and replies so far, duplicates left out.
    pub fn progress(&self) -> (u64, u64) {
        (self.sent.len() as u64, self.unique.into())
    }

    /// The result.
    pub fn report(&self) -> Report {
        Report::of(&crate::report::Measured {
            plan: &self.plan,
            sent: self.sent.len() as u64,
            replies: &self.replies,
            dropped_duplicates: self.dropped_duplicates,
            unfit: self.unfit,
            has_ssid: self.has_ssid,
            error_here: self.error_here,
            error_there: self.error_there.and_then(ErrorEstimate::error_max_ns),
            format_there: self.format_there,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Key;
    use crate::packet::BASE;
    use crate::reflector::{Reflected, Reflector, ReflectorOptions};

    const START: Nanos = Nanos(1_790_000_000_000_000_000);
    /// The reflector's clock is ahead by this, ns.
    const AHEAD: u64 = 3_000_000;

    fn plan(packets: u32, mode: Mode) -> Plan {
        Plan {
            form: Form::Open,
            packets,
            interval: Nanos(10_000_000),
            length: 100,
            ssid: 9,
            format: Format::Ntp,
            mode,
            first_number: 0,
        }
    }

    fn options(is_stateful: bool, format: Format) -> ReflectorOptions {
        ReflectorOptions {
            form: Form::Open,
            is_stateful,
            format,
            allows_short: false,
            rate_max: 10_000,
            sessions_max: 10,
        }
    }

    fn reflector(is_stateful: bool, format: Format) -> Reflector {
        Reflector::new(options(is_stateful, format), Nanos(0))
    }

    /// A path with a reflector at its end: delays of both directions, and which packets get lost in which.
    struct Path<'a> {
        reflector: Reflector,
        lost: [&'a [u32]; 2],
        delays_us: [u64; 2],
        error_there: Option<u64>,
    }

    impl Path<'_> {
        /// The reply to a packet sent at `now`, and when it comes.
        fn carry(&mut self, packet: &[u8], now: Nanos) -> Option<(Vec<u8>, Nanos)> {
            let number = Request::read(packet, &Form::Open)?.number;
            if self.lost[0].contains(&number) {
                return None;
            }
            let at = now + Nanos(self.delays_us[0] * 1_000 + AHEAD);
            let peer = "192.0.2.1:5000".parse().unwrap();
            let came =
                Reflected { peer, at, hops: Some(62), error_max_ns: self.error_there, tai_ahead_s: 37 };
            let mut packet = packet.to_vec();
            self.reflector.reply(&mut packet, &came, now.since(START)).unwrap();
            // It takes 50 µs.
            self.reflector.depart(&mut packet, at + Nanos(50_000), 37);
            let back = now + Nanos((self.delays_us[0] + 50 + self.delays_us[1]) * 1_000);
            (!self.lost[1].contains(&number)).then_some((packet, back))
        }
    }

    fn run(plan: Plan, path: &mut Path<'_>) -> Session {
        let mut packet = vec![0; plan.length];
        let mut session = Session::new(plan);
        while let Some(due) = session.next_due() {
            let now = START + due;
            session.write(now, path.error_there, 37, &mut packet);
            if let Some((reply, at)) = path.carry(&packet, now) {
                session.take(&reply, at, Some(60), 37).unwrap();
            }
        }
        session
    }

    fn path(is_stateful: bool) -> Path<'static> {
        Path {
            reflector: reflector(is_stateful, Format::Ptp),
            lost: [&[], &[]],
            delays_us: [400, 600],
            error_there: None,
        }
    }

    #[test]
    fn delays_are_those_of_the_path_within_the_stated_uncertainty() {
        let report = run(plan(100, Mode::Stateless), &mut path(false)).report();
        let trip = report.round_trip_ns.unwrap();
        assert_eq!(
            (trip.samples, trip.min_ns, trip.max_ns, trip.jitter_ns),
            (100, 1_000_000, 1_000_000, 0.0)
        );
        let clock = report.clock.unwrap();
        assert_eq!(clock.method, "packets");
        // The middle of the bounds by packets there and back: 3 ms + (400 − 600) / 2 µs.
        assert!((clock.offset_ns - 2_900_000).abs() < 5_000, "{clock:?}");
        assert!((499_000..520_000).contains(&clock.uncertainty_ns), "{clock:?}");
        for (direction, truth) in [(&report.to_reflector, 400_000), (&report.from_reflector, 600_000)] {
            let delay = direction.delay_ns.unwrap();
            assert!(delay.p50_ns.abs_diff(truth) <= clock.uncertainty_ns, "{delay:?}");
        }
        assert_eq!(report.hops.unwrap().at_reflector, Some([62, 62]));
    }

    #[test]
    fn synchronized_clocks_are_better_than_packets_if_they_agree() {
        let mut synchronized = Path { error_there: Some(20_000), ..path(false) };
        let report = run(plan(20, Mode::Stateless), &mut synchronized).report();
        // They state 20 µs each, and are 3 ms apart.
        assert_eq!(report.clock.unwrap().method, "packets");
        assert!(report.notes.iter().any(|note| note.contains("error estimates")), "{:?}", report.notes);
        let mut wide = Path { error_there: Some(1_600_000), ..path(false) };
        assert_eq!(run(plan(20, Mode::Stateless), &mut wide).report().clock.unwrap().method, "packets");
        // Of a path with long delays, packets know little.
        let mut long = Path { error_there: Some(1_600_000), delays_us: [40_000, 60_000], ..path(false) };
        let report = run(plan(20, Mode::Stateless), &mut long).report();
        let clock = report.clock.unwrap();
        assert_eq!((clock.method, clock.offset_ns), ("error_estimate", 0));
        assert!((3_200_000..3_250_000).contains(&clock.uncertainty_ns), "{clock:?}");
        assert!(report.to_reflector.delay_ns.unwrap().p50_ns.abs_diff(40_000_000) <= clock.uncertainty_ns);
    }

    #[test]
    fn a_reflector_that_counts_shows_where_packets_are_lost() {
        let lost: [&[u32]; 2] = [&[0, 3, 4], &[6, 9]];
        let mut there = Path { lost, ..path(true) };
        let report = run(plan(10, Mode::Stateful), &mut there).report();
        assert_eq!((report.sent, report.received, report.lost), (10, 5, 5));
        // After the last reply nothing shows where 9 was lost.
        let losses = (report.to_reflector.lost, report.from_reflector.lost, report.lost_unknown);
        assert_eq!(losses, (Some(3), Some(1), 1));
        let report = run(plan(10, Mode::Stateless), &mut Path { lost, ..path(false) }).report();
        let losses = (report.to_reflector.lost, report.from_reflector.lost, report.lost_unknown);
        assert_eq!(losses, (None, None, 5));
        assert_eq!(run(plan(4, Mode::Stateless), &mut path(false)).report().to_reflector.lost, Some(0));
    }

    #[test]
    fn duplicates_and_order_have_their_direction() {
        let mut session = Session::new(plan(4, Mode::Stateful));
        let mut there = path(true);
        let mut packets = Vec::new();
        while session.next_due().is_some() {
            let mut packet = vec![0; 100];
            session.write(START, None, 0, &mut packet);
            packets.push(packet);
        }
        // The path turns 1 and 2 around and has 3 twice; the way back turns the last two replies around and repeats one.
        let mut replies: Vec<_> =
            [0, 2, 1, 3, 3].iter().map(|n| there.carry(&packets[*n as usize], START).unwrap()).collect();
        replies.swap(3, 4);
        replies.push(replies[0].clone());
        for (reply, at) in &replies {
            session.take(reply, *at, None, 0).unwrap();
        }
        let report = session.report();
        assert_eq!((report.received, report.lost, report.duplicates), (4, 0, 2));
        let (to, from) = (&report.to_reflector, &report.from_reflector);
        assert_eq!((to.reordered, to.duplicates, to.lost), (Some(1), Some(1), Some(0)));
        assert_eq!((from.reordered, from.duplicates, from.lost), (Some(1), Some(1), Some(0)));
    }

    #[test]
    fn foreign_packets_count_for_nothing() {
        let mut session = Session::new(plan(2, Mode::Stateless));
        let mut packet = vec![0; 100];
        session.write(START, None, 0, &mut packet);
        let (reply, at) = path(false).carry(&packet, START).unwrap();
        assert_eq!(session.take(&reply[..20], at, None, 37), Err(Unfit::Short));
        for (place, value) in [(27, 9), (35, 1), (15, 77)] {
            let mut other = reply.clone();
            other[place] ^= value;
            assert_eq!(session.take(&other, at, None, 37), Err(Unfit::Foreign), "{place}");
        }
        // A reply whose times can't be counts as one without delays.
        let mut other = reply.clone();
        other[4..12].fill(0);
        session.take(&other, at, None, 37).unwrap();
        let report = session.report();
        assert_eq!((report.received, report.unfit), (1, 4));
        assert!(report.round_trip_ns.is_none() && report.clock.is_none());
        assert!(report.notes.iter().any(|note| note.contains("1 reply")), "{:?}", report.notes);
    }

    #[test]
    fn only_replies_with_the_code_of_the_key_count() {
        let form = |octet| Form::Authenticated(Key::new(&[octet; 32]).unwrap());
        let reflector = |octet| {
            let options = ReflectorOptions { form: form(octet), ..options(false, Format::Ntp) };
            Reflector::new(options, Nanos(0))
        };
        let came = Reflected {
            peer: "192.0.2.1:5000".parse().unwrap(),
            at: START,
            hops: None,
            error_max_ns: None,
            tai_ahead_s: 37,
        };
        let mut session = Session::new(Plan { form: form(1), length: 120, ..plan(2, Mode::Stateless) });
        let mut packet = vec![0; 120];
        session.write(START, None, 37, &mut packet);
        let request = packet.clone();
        let mut there = reflector(1);
        there.reply(&mut packet, &came, Nanos(0)).unwrap();
        there.depart(&mut packet, START, 37);
        let mut spoilt = packet.clone();
        spoilt[60] ^= 1;
        assert_eq!(session.take(&spoilt, START, None, 37), Err(Unfit::Unauthentic));
        assert!(session.take(&packet, START, None, 37).is_ok());
        assert_eq!(session.take(&packet[..44], START, None, 37), Err(Unfit::Short));
        assert_eq!((session.report().received, session.report().unfit), (1, 2));
        assert_eq!(reflector(2).reply(&mut request.clone(), &came, Nanos(0)), Err(crate::Drop::Unauthentic));
        let (mut probe, mut packet) = (Probe::new(form(1)), vec![0; 112]);
        probe.write(0, START, Format::Ntp, 37, &mut packet);
        assert!(!probe.take(&packet[..44]) && probe.has_unauthentic() && !probe.has_reply());
    }

    #[test]
    fn probes_show_the_mode() {
        for (is_stateful, mode) in [(false, Mode::Stateless), (true, Mode::Stateful)] {
            let mut there = path(is_stateful);
            let (mut probe, mut packet) = (Probe::default(), vec![0; BASE]);
            assert_eq!(probe.mode(), Mode::Unknown);
            for which in [0, 1] {
                probe.write(which, START, Format::Ntp, 0, &mut packet);
                let (reply, _) = there.carry(&packet, START).unwrap();
                assert!(probe.take(&reply) && !probe.take(&packet));
            }
            assert_eq!((probe.mode(), probe.first_number(), probe.is_complete()), (mode, 0, true));
        }
    }
}
