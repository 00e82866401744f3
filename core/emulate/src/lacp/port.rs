//! A port: what it knows of its partner, and whether it carries traffic (clauses 6.4.11 to 6.4.16).

use super::message::{ETHERTYPE, GROUP, LacpEnd, LacpPdu, LacpState, Marker, SUBTYPE_LACP, SUBTYPE_MARKER};
use crate::frame::{Link, Mac, Packet, Received};
use std::fmt;
use units::Nanos;

/// LACPDUs in any second, at most (clause 6.4.16).
pub const LACPDUS_A_SECOND: usize = 3;
/// Answers to markers in any second, at most: with LACPDUs, all that slow protocols may send (IEEE 802.3 annex 57A.3).
const MARKERS_A_SECOND: usize = 7;
const SECOND: Nanos = Nanos::from_secs(1);
/// Times from one LACPDU to the next (clause 6.4.4).
const FAST: Nanos = SECOND;
const SLOW: Nanos = Nanos::from_secs(30);
/// Time after which a silent partner expires: three intervals.
const SHORT_TIMEOUT: Nanos = Nanos::from_secs(3);
const LONG_TIMEOUT: Nanos = Nanos::from_secs(90);
/// Time for which a port waits for others before it attaches.
const AGGREGATE_WAIT: Nanos = Nanos::from_secs(2);

/// Identity and settings of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LacpConfig {
    /// Hardware address of the port.
    pub mac: Mac,
    /// The system: the same on all ports of a lag.
    pub system: Mac,
    /// Its priority.
    pub system_priority: u16,
    /// The same on all ports of a lag, and on no others of the system.
    pub key: u16,
    /// Number of the port in its system, not 0.
    pub port: u16,
    /// Its priority.
    pub port_priority: u16,
    /// LACP activity: whether it sends unsolicited LACPDUs.
    pub active: bool,
    /// Whether it wants a LACPDU every second, not every 30.
    pub short_timeout: bool,
}

/// Receive state (clause 6.4.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LacpReceive {
    /// LACP is disabled.
    PortDisabled,
    /// The partner has timed out.
    Expired,
    /// Nothing is known.
    Defaulted,
    /// The partner's last LACPDU.
    Current,
}

impl LacpReceive {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::PortDisabled => "port_disabled",
            Self::Expired => "expired",
            Self::Defaulted => "defaulted",
            Self::Current => "current",
        }
    }
}

/// Mux state of a port (clause 6.4.15), in the order in which they are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LacpMux {
    /// It belongs to no lag.
    Detached,
    /// It is to belong to one, and waits for others.
    Waiting,
    /// It belongs to it.
    Attached,
    /// It takes in frames.
    Collecting,
    /// It sends frames, too.
    Distributing,
}

impl LacpMux {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Detached => "detached",
            Self::Waiting => "waiting",
            Self::Attached => "attached",
            Self::Collecting => "collecting",
            Self::Distributing => "distributing",
        }
    }
}

/// PDUs sent and received (clause 7.3.3.1), and how often a port stopped to distribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LacpCounts {
    /// LACPDUs sent.
    pub sent: u64,
    /// LACPDUs received.
    pub received: u64,
    /// PDUs of a wrong length, version, or with wrong TLVs.
    pub illegal: u64,
    /// PDUs of other slow protocols.
    pub unknown: u64,
    /// Markers received.
    pub markers: u64,
    /// Marker responses sent.
    pub markers_answered: u64,
    /// Marker responses received; no markers are sent here.
    pub marker_responses: u64,
    /// Number of times it stopped distributing, other than by [`LacpPort::leave`].
    pub flaps: u64,
}

/// Why a port does not distribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LacpTrouble {
    /// Disabled by a command.
    Disabled,
    /// No LACPDU came so far, nor was one sent: both ends may be passive.
    Passive,
    /// No LACPDU came so far.
    Silent,
    /// None came for the timeout, or longer.
    Expired,
    /// The partner is its own system.
    LoopedBack,
    /// Other ports of the lag have another partner.
    OtherPartner,
    /// It waits for other ports of the lag.
    Waiting,
    /// The partner does not name this port as the other end.
    NotHeard,
    /// The partner is not in sync.
    OutOfSync,
    /// The partner does not collect.
    NotCollecting,
}

impl fmt::Display for LacpTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disabled => "LACP is disabled on it",
            Self::Passive => {
                "no LACPDU was received, and with 'activity: passive' none is sent before: one of both ends must be active"
            }
            Self::Silent => "no LACPDU was received",
            Self::Expired => "the partner has stopped sending LACPDUs",
            Self::LoopedBack => "the partner has this system's own identifier: the port is looped back, or 'system' is given twice",
            Self::OtherPartner => "its partner has another system or key than that of the other ports of the lag",
            Self::Waiting => "it waits for other ports of the lag",
            Self::NotHeard => "the partner does not name this port as its own partner: it may not receive LACPDUs",
            Self::OutOfSync => "the partner is not in sync: it has not selected this link for its lag",
            Self::NotCollecting => "the partner does not collect",
        })
    }
}

/// A port with LACP.
#[derive(Debug)]
pub struct LacpPort {
    config: LacpConfig,
    /// When it began.
    begun: Option<Nanos>,
    receive: LacpReceive,
    /// When what is known of the partner is too old.
    current_until: Nanos,
    /// The partner's last information about itself, or the default while none is known.
    partner: LacpEnd,
    is_known: bool,
    /// Whether it named this port as its own partner.
    is_named: bool,
    mux: LacpMux,
    /// Until when to wait for others; `MAX` once that is over.
    wait_until: Nanos,
    is_selected: bool,
    refusal: Option<LacpTrouble>,
    /// Time from one LACPDU to the next, none of which are sent without, and when the next is due.
    period: Option<Nanos>,
    periodic_at: Nanos,
    /// Whether an LACPDU must be sent (`NTT`).
    must_tell: bool,
    /// When LACPDUs were sent last, oldest first.
    sent: [Option<Nanos>; LACPDUS_A_SECOND],
    /// Answers to markers to send, and when those before were.
    answers: Vec<Vec<u8>>,
    answered: [Option<Nanos>; MARKERS_A_SECOND],
    /// Whether it was requested to leave, and has.
    leaving: Option<bool>,
    up_since: Option<Nanos>,
    first_up: Option<Nanos>,
    counts: LacpCounts,
}

impl LacpPort {
    /// A port that begins with the first [`run_lag`](super::run_lag).
    pub fn new(config: LacpConfig) -> Self {
        Self {
            config,
            begun: None,
            receive: LacpReceive::PortDisabled,
            current_until: Nanos::MAX,
            partner: LacpEnd::default(),
            is_known: false,
            is_named: false,
            mux: LacpMux::Detached,
            wait_until: Nanos::MAX,
            is_selected: false,
            refusal: None,
            period: None,
            periodic_at: Nanos::MAX,
            must_tell: false,
            sent: [None; LACPDUS_A_SECOND],
            answers: Vec::new(),
            answered: [None; MARKERS_A_SECOND],
            leaving: None,
            up_since: None,
            first_up: None,
            counts: LacpCounts::default(),
        }
    }

    /// Looks at a received frame; returns whether it was of a slow protocol.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { vlans, packet: Packet::Direct { kind: ETHERTYPE, to: GROUP, message }, .. }) =
            Received::read(frame)
        else {
            return false;
        };
        if !vlans.is_empty() {
            return false;
        }
        if self.receive == LacpReceive::PortDisabled || self.is_down() {
            return true;
        }
        match message.first() {
            Some(&SUBTYPE_LACP) => match LacpPdu::read(message) {
                Some(pdu) => self.take_pdu(now, &pdu),
                None => self.counts.illegal += 1,
            },
            Some(&SUBTYPE_MARKER) => self.take_marker(now, message),
            Some(_) => self.counts.unknown += 1,
            None => self.counts.illegal += 1,
        }
        true
    }

    /// Adds the frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        for answer in std::mem::take(&mut self.answers) {
            frames.push(Link::slow(self.config.mac, &answer));
        }
        if self.period.is_none() {
            // Clause 6.4.16: nobody is told anything while both ends are passive.
            self.must_tell = false;
        } else if self.periodic_at <= now {
            self.must_tell = true;
            self.periodic_at = now.saturating_add(self.period.unwrap_or(SLOW));
        }
        if self.must_tell && self.may_send_at() <= now {
            self.must_tell = false;
            note(&mut self.sent, now);
            self.counts.sent += 1;
            let pdu = LacpPdu { actor: self.actor(), partner: self.partner };
            frames.push(Link::slow(self.config.mac, &pdu.write()));
        }
        if self.leaving == Some(false) && !self.must_tell {
            self.leaving = Some(true);
            self.receive = LacpReceive::PortDisabled;
            self.forget();
            (self.current_until, self.period, self.periodic_at) = (Nanos::MAX, None, Nanos::MAX);
        }
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        if self.begun.is_none() || !self.answers.is_empty() {
            return Nanos::ZERO;
        }
        let tell = if self.must_tell { self.may_send_at() } else { Nanos::MAX };
        tell.min(self.current_until).min(self.wait_until).min(self.periodic_at)
    }

    /// Leaves its LAG, and informs the partner that it is out of sync; done when [`has_left`](Self::has_left).
    pub fn leave(&mut self, now: Nanos) {
        if self.leaving.is_none() {
            self.leaving = Some(false);
            self.is_selected = false;
            self.step(now);
            self.must_tell = true;
            self.current_until = Nanos::MAX;
            if self.begun.is_none() {
                self.begun = Some(now);
            }
        }
    }

    /// Speaks again after [`leave`](Self::leave).
    pub fn come_back(&mut self, now: Nanos) {
        if self.leaving.take().is_some() {
            self.initialize(now);
        }
    }

    /// Whether it was requested to leave, and not to return.
    pub fn is_down(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether it has informed its partner that it leaves.
    pub fn has_left(&self) -> bool {
        self.leaving == Some(true)
    }

    /// Whether it carries traffic.
    pub fn is_up(&self) -> bool {
        self.mux == LacpMux::Distributing
    }

    /// Since when it distributes.
    pub fn up_since(&self) -> Option<Nanos> {
        self.up_since
    }

    /// Time from its beginning until it distributed for the first time.
    pub fn came_up_after(&self) -> Option<Nanos> {
        Some(self.first_up?.since(self.begun?))
    }

    /// Why it does not distribute; `None` if it does.
    pub fn trouble(&self) -> Option<LacpTrouble> {
        if self.is_up() {
            return None;
        }
        let is_synced = self.partner.state.has(LacpState::SYNCHRONIZATION);
        Some(match self.receive {
            _ if self.is_down() => LacpTrouble::Disabled,
            _ if !self.is_known && self.counts.received > 0 => LacpTrouble::Expired,
            _ if !self.is_known && !self.config.active => LacpTrouble::Passive,
            _ if !self.is_known => LacpTrouble::Silent,
            LacpReceive::Expired => LacpTrouble::Expired,
            _ if self.refusal.is_some() => self.refusal?,
            _ if !self.is_named => LacpTrouble::NotHeard,
            _ if self.mux <= LacpMux::Waiting => LacpTrouble::Waiting,
            _ if !is_synced => LacpTrouble::OutOfSync,
            _ => LacpTrouble::NotCollecting,
        })
    }

    /// This end of the link.
    pub fn actor(&self) -> LacpEnd {
        let config = &self.config;
        let state = LacpState::AGGREGATION
            .with(LacpState::ACTIVITY, config.active)
            .with(LacpState::TIMEOUT, config.short_timeout)
            .with(LacpState::SYNCHRONIZATION, self.mux >= LacpMux::Attached)
            .with(LacpState::COLLECTING, self.mux >= LacpMux::Collecting)
            .with(LacpState::DISTRIBUTING, self.mux >= LacpMux::Distributing)
            .with(LacpState::DEFAULTED, !self.is_known)
            .with(LacpState::EXPIRED, self.receive == LacpReceive::Expired);
        LacpEnd {
            system_priority: config.system_priority,
            system: config.system,
            key: config.key,
            port_priority: config.port_priority,
            port: config.port,
            state,
        }
    }

    /// The other end, as it described itself last; `None` if nothing is known.
    pub fn partner(&self) -> Option<&LacpEnd> {
        self.is_known.then_some(&self.partner)
    }

    /// Receive state.
    pub fn receive(&self) -> LacpReceive {
        self.receive
    }

    /// Mux state.
    pub fn mux(&self) -> LacpMux {
        self.mux
    }

    /// Counters of sent and received PDUs.
    pub fn counts(&self) -> &LacpCounts {
        &self.counts
    }

    /// Its identity and settings.
    pub fn config(&self) -> &LacpConfig {
        &self.config
    }

    /// The partner that can be joined; `None` if there is none.
    pub(super) fn candidate(&self) -> Option<&LacpEnd> {
        let own = (self.config.system_priority, self.config.system);
        let is_own = (self.partner.system_priority, self.partner.system) == own;
        self.partner().filter(|_| !is_own && !self.is_down())
    }

    /// Begins, and lets time pass.
    pub(super) fn tick(&mut self, now: Nanos) {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.initialize(now);
        }
        while self.current_until <= now {
            match self.receive {
                LacpReceive::Current => self.expire(now),
                _ => {
                    self.receive = LacpReceive::Defaulted;
                    self.current_until = Nanos::MAX;
                    self.unselect(now);
                    self.forget();
                }
            }
        }
        if self.wait_until <= now {
            self.wait_until = Nanos::MAX;
        }
        self.step(now);
    }

    /// Decision of the LAG: whether the port belongs to it.
    pub(super) fn select(&mut self, now: Nanos, is_in: bool, refusal: Option<LacpTrouble>) {
        let is_own = self.partner().is_some() && self.candidate().is_none();
        self.refusal = if is_own { Some(LacpTrouble::LoopedBack) } else { refusal };
        self.is_selected = is_in;
        self.step(now);
    }

    /// Whether it is to attach, and its time to wait for others is not over.
    pub(super) fn is_waiting(&self) -> bool {
        self.mux == LacpMux::Waiting && self.wait_until < Nanos::MAX
    }

    /// All that are to attach are ready to.
    pub(super) fn attach(&mut self, now: Nanos) {
        if self.mux == LacpMux::Waiting && self.is_selected {
            self.enter(now, LacpMux::Attached);
            self.step(now);
        }
    }

    fn initialize(&mut self, now: Nanos) {
        self.is_selected = false;
        self.refusal = None;
        self.forget();
        self.expire(now);
        self.must_tell = true;
        self.step(now);
    }

    /// A silent partner is assumed to be passive, and to want LACPDUs at the fast rate: one that appears is found soon.
    fn forget(&mut self) {
        self.partner = LacpEnd { state: LacpState::TIMEOUT, ..LacpEnd::default() };
        self.is_known = false;
        self.is_named = false;
    }

    /// Clause 6.4.12, EXPIRED: LACPDUs at the fast rate solicit the partner.
    fn expire(&mut self, now: Nanos) {
        self.receive = LacpReceive::Expired;
        let state = self.partner.state.with(LacpState::SYNCHRONIZATION, false);
        self.partner.state = state.with(LacpState::TIMEOUT, true);
        self.current_until = now.saturating_add(SHORT_TIMEOUT);
    }

    fn take_pdu(&mut self, now: Nanos, pdu: &LacpPdu) {
        self.counts.received += 1;
        if !self.partner.is_same(&pdu.actor) {
            self.unselect(now);
        }
        let own = self.actor();
        let told = LacpState::ACTIVITY.0
            | LacpState::TIMEOUT.0
            | LacpState::SYNCHRONIZATION.0
            | LacpState::AGGREGATION.0;
        self.is_named = pdu.partner.is_same(&own);
        if !self.is_named || (pdu.partner.state.0 ^ own.state.0) & told != 0 {
            self.must_tell = true;
        }
        self.record(pdu);
        self.receive = LacpReceive::Current;
        let timeout = if self.config.short_timeout { SHORT_TIMEOUT } else { LONG_TIMEOUT };
        self.current_until = now.saturating_add(timeout);
        self.step(now);
    }

    /// Clause 6.4.9, `recordPDU`: the partner is in sync if it reports so for this very link, and the link will be
    /// maintained.
    fn record(&mut self, pdu: &LacpPdu) {
        let said = pdu.actor.state;
        let is_alone = !said.has(LacpState::AGGREGATION);
        let is_active = said.has(LacpState::ACTIVITY)
            || (self.config.active && pdu.partner.state.has(LacpState::ACTIVITY));
        let is_synced = said.has(LacpState::SYNCHRONIZATION) && is_active && (self.is_named || is_alone);
        self.partner = LacpEnd { state: said.with(LacpState::SYNCHRONIZATION, is_synced), ..pdu.actor };
        self.is_known = true;
    }

    fn take_marker(&mut self, now: Nanos, message: &[u8]) {
        match Marker::read(message) {
            Some(Marker::Asks(answer)) => {
                self.counts.markers += 1;
                if is_past(&self.answered, now) {
                    note(&mut self.answered, now);
                    self.counts.markers_answered += 1;
                    self.answers.push(answer);
                }
            }
            Some(Marker::Answers) => self.counts.marker_responses += 1,
            None => self.counts.illegal += 1,
        }
    }

    fn unselect(&mut self, now: Nanos) {
        self.is_selected = false;
        self.step(now);
    }

    /// Mux and periodic machines, as far as they get.
    fn step(&mut self, now: Nanos) {
        loop {
            let is_synced = self.is_selected && self.partner.state.has(LacpState::SYNCHRONIZATION);
            let collects = is_synced && self.partner.state.has(LacpState::COLLECTING);
            let next = match self.mux {
                LacpMux::Detached if self.is_selected => LacpMux::Waiting,
                LacpMux::Waiting | LacpMux::Attached if !self.is_selected => LacpMux::Detached,
                LacpMux::Attached if is_synced => LacpMux::Collecting,
                LacpMux::Collecting if !is_synced => LacpMux::Attached,
                LacpMux::Collecting if collects => LacpMux::Distributing,
                LacpMux::Distributing if !collects => LacpMux::Collecting,
                _ => break,
            };
            self.enter(now, next);
        }
        self.pace(now);
    }

    fn enter(&mut self, now: Nanos, mux: LacpMux) {
        if self.mux == LacpMux::Distributing {
            self.counts.flaps += u64::from(!self.is_down());
            self.up_since = None;
        }
        self.wait_until =
            if mux == LacpMux::Waiting { now.saturating_add(AGGREGATE_WAIT) } else { Nanos::MAX };
        // Of what the mux machine does, waiting alone is not told.
        self.must_tell |= mux != LacpMux::Waiting;
        self.mux = mux;
        if mux == LacpMux::Distributing {
            self.up_since = Some(now);
            self.first_up.get_or_insert(now);
        }
    }

    /// Clause 6.4.13: how often LACPDUs are sent follows from what the partner wants; with two passive ends, none is.
    fn pace(&mut self, now: Nanos) {
        let is_off = self.receive == LacpReceive::PortDisabled
            || (!self.config.active && !self.partner.state.has(LacpState::ACTIVITY));
        let is_fast = self.partner.state.has(LacpState::TIMEOUT);
        let period = (!is_off).then_some(if is_fast { FAST } else { SLOW });
        if period != self.period {
            self.must_tell |= self.period == Some(SLOW) && period == Some(FAST);
            self.periodic_at = period.map_or(Nanos::MAX, |period| now.saturating_add(period));
            self.period = period;
        }
    }

    fn may_send_at(&self) -> Nanos {
        self.sent[0].map_or(Nanos::ZERO, |at| at.saturating_add(SECOND))
    }
}

/// Whether the oldest of these times is a second ago.
fn is_past(times: &[Option<Nanos>], now: Nanos) -> bool {
    times[0].is_none_or(|at| at.saturating_add(SECOND) <= now)
}

fn note(times: &mut [Option<Nanos>], now: Nanos) {
    times.rotate_left(1);
    times[times.len() - 1] = Some(now);
}
