//! One virtual router: its states and timers (RFC 9568 section 6).

use super::message::{VrrpAdvert, VrrpInvalid, VrrpVersion};
use super::packet::{self, GROUP_V4, GROUP_V6, TTL, virtual_mac};
use crate::frame::Mac;
use std::collections::VecDeque;
use std::net::IpAddr;
use units::Nanos;
use wire::Vlans;

/// Priority of the owner of the virtual addresses, and that of a router that leaves (RFC 9568 section 5.2.4).
const OWNER: u8 = 255;
const LEAVING: u8 = 0;
/// A hundredth of a second.
const CENTISECOND: Nanos = Nanos::from_millis(10);
/// Changes of state that are kept, the latest.
const CHANGES_MAX: usize = 16;

/// Identity and settings of a virtual router on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VrrpConfig {
    /// Name for commands; may be empty.
    pub name: String,
    /// Number of the host.
    pub host: usize,
    /// VLANs of the host.
    pub vlans: Vlans,
    /// Primary address of the host: source of advertisements. Over IPv6 it is link-local; unspecified until it is known.
    pub local: IpAddr,
    /// Virtual router identifier, from 1 on.
    pub vrid: u8,
    /// Version.
    pub version: VrrpVersion,
    /// Virtual addresses, all of the family of `local`.
    pub addresses: Vec<IpAddr>,
    /// Priority, 1 to 255; 255 is the owner of the addresses, who is Active at once.
    pub priority: u8,
    /// Advertisement interval, hundredths of a second.
    pub interval_cs: u16,
    /// Whether it replaces an Active router of a lower priority.
    pub preempt: bool,
    /// Time for which it lets such a router be.
    pub preempt_delay: Nanos,
    /// Whether it replies to echo requests to virtual addresses (`Accept_Mode`); the owner does anyway.
    pub accept: bool,
    /// Whether checksums of version 3 over IPv4 include the pseudo-header.
    pub pseudo_header: bool,
    /// Whether it advertises priority 0 when it leaves.
    pub resign: bool,
    /// When it leaves, after the start of traffic.
    pub leave: Option<Nanos>,
    /// When it begins again.
    pub rejoin: Option<Nanos>,
}

/// State (RFC 9568 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VrrpState {
    /// It does not take part.
    Initialize,
    /// It watches the Active router.
    Backup,
    /// It replies for the virtual addresses.
    Active,
}

impl VrrpState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Backup => "backup",
            Self::Active => "active",
        }
    }
}

/// Why the state changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VrrpReason {
    /// It began.
    Startup,
    /// No advertisement came for the Active_Down interval.
    Timeout,
    /// The Active router advertised priority 0.
    Resigned,
    /// The Active router's priority is lower.
    Preempting,
    /// A router with a higher priority, or with the same and a higher address, is Active.
    Preempted,
    /// It left, by its time, a command, or the end of the run.
    Left,
}

impl VrrpReason {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Timeout => "timeout",
            Self::Resigned => "resigned",
            Self::Preempting => "preempting",
            Self::Preempted => "preempted",
            Self::Left => "left",
        }
    }
}

/// A change of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VrrpChange {
    /// When.
    pub at: Nanos,
    /// The new state.
    pub state: VrrpState,
    /// Why.
    pub reason: VrrpReason,
    /// To Active: time since the last advertisement of another router was received, if one was.
    pub after: Option<Nanos>,
}

/// Messages and changes since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VrrpCounts {
    /// Advertisements sent.
    pub sent: u64,
    /// Of these with priority 0.
    /// Of these with priority 0.
    pub sent_leaving: u64,
    /// Valid advertisements received.
    pub received: u64,
    /// Of these with priority 0.
    pub received_leaving: u64,
    /// Of these with other virtual addresses or another interval than here.
    pub differing: u64,
    /// Advertisements discarded, in the order of [`VrrpInvalid::ALL`].
    pub invalid: [u64; VrrpInvalid::ALL.len()],
    /// Times it became Active.
    pub became_active: u64,
    /// Times it went from Active to Backup.
    pub became_backup: u64,
    /// Replies to requests for virtual addresses.
    pub replies: u64,
    /// Time from the last advertisement of another router to becoming Active, the latest and the longest.
    pub takeover: Option<Nanos>,
    /// The longest.
    pub takeover_max: Option<Nanos>,
    /// Time from the last advertisement sent as Active before leaving to the first of another router, the latest.
    pub handover: Option<Nanos>,
}

/// The Active router, by its last advertisement.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Nanos,
    from: IpAddr,
    priority: u8,
}

/// A virtual router on a host.
#[derive(Debug)]
pub struct VrrpRouter {
    config: VrrpConfig,
    mac: Mac,
    priority: u8,
    state: VrrpState,
    has_begun: bool,
    is_down: bool,
    epoch: Nanos,
    /// When the next advertisement is due, as Active; when the Active router is taken for dead, as Backup.
    adver_at: Nanos,
    down_at: Nanos,
    /// `Active_Adver_Interval`.
    active_cs: u16,
    heard: Option<Heard>,
    /// Since when the Active router has a lower priority.
    lower_since: Option<Nanos>,
    last_sent: Option<Nanos>,
    /// When it last advertised before it left as Active, until another router is Active.
    left: Option<Nanos>,
    waiting: Vec<Vec<u8>>,
    changes: VecDeque<VrrpChange>,
    counts: VrrpCounts,
}

impl VrrpRouter {
    /// A router that begins with [`begin`](Self::begin).
    pub fn new(config: VrrpConfig) -> Self {
        Self {
            mac: virtual_mac(config.vrid, config.local.is_ipv4()),
            priority: config.priority,
            state: VrrpState::Initialize,
            has_begun: false,
            is_down: false,
            epoch: Nanos::MAX,
            adver_at: Nanos::MAX,
            down_at: Nanos::MAX,
            active_cs: config.interval_cs,
            heard: None,
            lower_since: None,
            last_sent: None,
            left: None,
            waiting: Vec::new(),
            changes: VecDeque::new(),
            counts: VrrpCounts::default(),
            config,
        }
    }

    /// Begins, the first time.
    pub fn begin(&mut self, now: Nanos) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.startup(now);
        }
    }

    /// Traffic starts at `epoch`: times in the configuration count from then.
    pub fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
    }

    /// Begins again after [`leave`](Self::leave); returns whether that is a change.
    pub fn come_back(&mut self, now: Nanos) -> bool {
        let was_down = std::mem::replace(&mut self.is_down, false);
        if was_down {
            self.startup(now);
        }
        was_down
    }

    /// Leaves; returns whether that is a change (RFC 9568 section 6.4: a Shutdown event).
    pub fn leave(&mut self, now: Nanos) -> bool {
        let was_up = !std::mem::replace(&mut self.is_down, true);
        self.has_begun = true;
        if was_up {
            self.shutdown(now);
        }
        was_up
    }

    /// Leaves for good.
    pub(super) fn end(&mut self, now: Nanos) {
        (self.config.leave, self.config.rejoin) = (None, None);
        self.leave(now);
    }

    /// Sets the priority; returns whether that is a change. An Active router advertises it at once.
    pub fn set_priority(&mut self, now: Nanos, priority: u8) -> bool {
        let is_new = self.priority != priority;
        self.priority = priority;
        if is_new && self.state == VrrpState::Active {
            self.advertise(now);
        }
        is_new
    }

    /// Adds the frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        if self.config.leave.is_some_and(|at| self.epoch.saturating_add(at) <= now) {
            self.config.leave = None;
            self.leave(now);
        }
        if self.config.leave.is_none()
            && self.config.rejoin.is_some_and(|at| self.epoch.saturating_add(at) <= now)
        {
            self.config.rejoin = None;
            self.come_back(now);
        }
        if self.down_at <= now {
            self.activate(now, self.reason());
        }
        if self.adver_at <= now {
            let due = self.adver_at + self.interval();
            self.advertise(now);
            // Without drift, unless one was late.
            self.adver_at = if due > now { due } else { self.adver_at };
        }
        frames.append(&mut self.waiting);
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        if !self.waiting.is_empty() {
            return Nanos::ZERO;
        }
        let later = [self.config.leave, self.config.rejoin].into_iter().flatten();
        let later = later.map(|at| self.epoch.saturating_add(at)).min().unwrap_or(Nanos::MAX);
        self.adver_at.min(self.down_at).min(later)
    }

    /// Whether it is Active, or watches an Active router that it is not about to replace.
    pub fn is_settled(&self) -> bool {
        let is_watching = |heard: &Heard| heard.priority >= self.priority || !self.config.preempt;
        let is_patient = self.lower_since.is_some() && self.config.preempt_delay > Nanos::ZERO;
        match self.state {
            VrrpState::Active => true,
            VrrpState::Backup => self.heard.as_ref().is_some_and(is_watching) || is_patient,
            VrrpState::Initialize => self.is_down,
        }
    }

    /// Its settings.
    pub fn config(&self) -> &VrrpConfig {
        &self.config
    }

    /// Its virtual MAC address.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// Its priority.
    pub fn priority(&self) -> u8 {
        self.priority
    }

    /// Its state.
    pub fn state(&self) -> VrrpState {
        self.state
    }

    /// Whether it was requested to leave.
    pub fn is_down(&self) -> bool {
        self.is_down
    }

    /// Address and priority of the other router that advertised last.
    pub fn peer(&self) -> Option<(IpAddr, u8)> {
        self.heard.map(|heard| (heard.from, heard.priority))
    }

    /// The last changes of its state, the oldest first.
    pub fn changes(&self) -> impl Iterator<Item = &VrrpChange> {
        self.changes.iter()
    }

    /// Messages and changes since the beginning.
    pub fn counts(&self) -> &VrrpCounts {
        &self.counts
    }

    /// `Active_Down_Interval` (RFC 9568 section 6.1, RFC 3768 section 6.1).
    pub fn active_down_interval(&self) -> Nanos {
        let interval = CENTISECOND.0 * u64::from(self.active_cs);
        Nanos(3 * interval) + self.skew()
    }

    /// `Skew_Time`.
    fn skew(&self) -> Nanos {
        let of = match self.config.version {
            VrrpVersion::V2 => Nanos::from_secs(1).0,
            VrrpVersion::V3 => CENTISECOND.0 * u64::from(self.active_cs),
        };
        Nanos(of * (256 - u64::from(self.priority)) / 256)
    }

    fn interval(&self) -> Nanos {
        Nanos(CENTISECOND.0 * u64::from(self.config.interval_cs))
    }

    /// Whether the frame is of its link, and the address of its family.
    pub(super) fn is_on(&self, vlans: &[u16], from: IpAddr) -> bool {
        *vlans == self.config.vlans[..] && from.is_ipv4() == self.config.local.is_ipv4()
    }

    /// Takes in an advertisement with its VRID.
    pub(super) fn take(&mut self, now: Nanos, from: IpAddr, to: IpAddr, ttl: u8, message: &[u8]) {
        match self.check(from, to, ttl, message) {
            Ok(advert) => self.take_advert(now, from, &advert),
            Err(reason) => {
                if let Some(count) = self.counts.invalid.get_mut(reason as usize) {
                    *count += 1;
                }
            }
        }
    }

    /// RFC 9568 section 7.1.
    fn check(&self, from: IpAddr, to: IpAddr, ttl: u8, message: &[u8]) -> Result<VrrpAdvert, VrrpInvalid> {
        if ttl != TTL {
            return Err(VrrpInvalid::Ttl);
        }
        let advert = VrrpAdvert::read(self.config.version, message, from, to)?;
        let is_v2 = self.config.version == VrrpVersion::V2;
        if is_v2 && advert.interval_cs != self.config.interval_cs {
            return Err(VrrpInvalid::Interval);
        }
        if from == self.config.local {
            return Err(VrrpInvalid::Own);
        }
        if self.priority == OWNER && self.state == VrrpState::Active {
            return Err(VrrpInvalid::Owner);
        }
        Ok(advert)
    }

    fn take_advert(&mut self, now: Nanos, from: IpAddr, advert: &VrrpAdvert) {
        self.counts.received += 1;
        let is_leaving = advert.priority == LEAVING;
        self.counts.received_leaving += u64::from(is_leaving);
        let is_same = |one: &IpAddr| self.config.addresses.contains(one);
        let has_same = advert.addresses.len() == self.config.addresses.len()
            && advert.addresses.iter().all(is_same)
            && advert.interval_cs == self.config.interval_cs;
        self.counts.differing += u64::from(!has_same);
        let heard = Heard { at: now, from, priority: advert.priority };
        match self.state {
            VrrpState::Initialize => {}
            VrrpState::Backup => self.watch(now, heard, advert.interval_cs),
            VrrpState::Active if is_leaving => self.advertise(now),
            VrrpState::Active => self.compete(now, heard, advert.interval_cs),
        }
        if !is_leaving && let Some(last) = self.left.take() {
            self.counts.handover = Some(now.since(last));
        }
        self.heard = Some(heard);
    }

    /// An advertisement as Backup (RFC 9568 section 6.4.2).
    fn watch(&mut self, now: Nanos, heard: Heard, interval_cs: u16) {
        if heard.priority == LEAVING {
            self.down_at = now + self.skew();
            return;
        }
        if heard.priority >= self.priority {
            self.lower_since = None;
        } else {
            let since = *self.lower_since.get_or_insert(now);
            if self.config.preempt && now.since(since) >= self.config.preempt_delay {
                // Discarded: the timer runs out.
                return;
            }
        }
        self.follow(now, interval_cs);
    }

    /// An advertisement as Active (RFC 9568 section 6.4.3).
    fn compete(&mut self, now: Nanos, heard: Heard, interval_cs: u16) {
        if (heard.priority, heard.from) > (self.priority, self.config.local) {
            self.adver_at = Nanos::MAX;
            self.counts.became_backup += 1;
            self.change(now, VrrpState::Backup, VrrpReason::Preempted, None);
            self.follow(now, interval_cs);
        } else {
            // Asserts its state to the sender, and to bridges that learn.
            self.advertise(now);
        }
    }

    /// Watches a router that advertises at this interval. Version 2 has its own.
    fn follow(&mut self, now: Nanos, interval_cs: u16) {
        self.active_cs = interval_cs.max(1);
        self.down_at = now + self.active_down_interval();
    }

    /// A Startup event (RFC 9568 section 6.4.1).
    fn startup(&mut self, now: Nanos) {
        (self.heard, self.lower_since) = (None, None);
        self.active_cs = self.config.interval_cs;
        if self.priority == OWNER {
            self.activate(now, VrrpReason::Startup);
        } else {
            self.change(now, VrrpState::Backup, VrrpReason::Startup, None);
            self.down_at = now + self.active_down_interval();
        }
    }

    /// A Shutdown event.
    fn shutdown(&mut self, now: Nanos) {
        if self.state == VrrpState::Active {
            if self.config.resign {
                let priority = std::mem::replace(&mut self.priority, LEAVING);
                self.advertise(now);
                self.priority = priority;
                self.counts.sent_leaving += 1;
            }
            self.left = self.last_sent;
        }
        (self.adver_at, self.down_at) = (Nanos::MAX, Nanos::MAX);
        if self.state != VrrpState::Initialize {
            self.change(now, VrrpState::Initialize, VrrpReason::Left, None);
        }
    }

    /// Why the Active_Down timer runs out.
    fn reason(&self) -> VrrpReason {
        match self.heard {
            None => VrrpReason::Timeout,
            Some(Heard { priority: LEAVING, .. }) => VrrpReason::Resigned,
            Some(heard) if heard.priority < self.priority && self.config.preempt => {
                // Had it died, its last advertisement would be as old as the interval.
                let is_alive = self.down_at.since(heard.at) < self.active_down_interval();
                if is_alive { VrrpReason::Preempting } else { VrrpReason::Timeout }
            }
            Some(_) => VrrpReason::Timeout,
        }
    }

    /// Becomes Active: advertises itself and announces the virtual addresses.
    fn activate(&mut self, now: Nanos, reason: VrrpReason) {
        let after = self.heard.map(|heard| now.since(heard.at));
        self.counts.became_active += 1;
        self.counts.takeover = after.or(self.counts.takeover);
        self.counts.takeover_max = self.counts.takeover_max.max(after);
        self.down_at = Nanos::MAX;
        (self.lower_since, self.left) = (None, None);
        self.change(now, VrrpState::Active, reason, after);
        self.advertise(now);
        let announced = self.config.addresses.iter();
        self.waiting.extend(announced.map(|ip| packet::announcement(self.mac, &self.config.vlans, *ip)));
    }

    fn change(&mut self, at: Nanos, state: VrrpState, reason: VrrpReason, after: Option<Nanos>) {
        self.state = state;
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(VrrpChange { at, state, reason, after });
    }

    /// Sends an advertisement, and restarts the timer of the next.
    fn advertise(&mut self, now: Nanos) {
        let config = &self.config;
        let to = if config.local.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() };
        let advert = VrrpAdvert {
            version: config.version,
            vrid: config.vrid,
            priority: self.priority,
            interval_cs: config.interval_cs,
            addresses: config.addresses.clone(),
        };
        let message = advert.write(config.local, to, config.pseudo_header);
        self.waiting.push(packet::advertisement(self.mac, &config.vlans, config.local, &message));
        self.counts.sent += 1;
        self.last_sent = Some(now);
        self.adver_at = now + self.interval();
    }

    /// Replies to a request for a virtual address, as Active; returns whether it did.
    pub(super) fn reply(&mut self, to: Mac, from: IpAddr, target: IpAddr) -> bool {
        if self.state != VrrpState::Active || !self.config.addresses.contains(&target) {
            return false;
        }
        let reply = packet::reply(self.mac, to, &self.config.vlans, from, target);
        self.counts.replies += u64::from(reply.is_some());
        self.waiting.extend(reply);
        true
    }

    /// The same of an echo request in a frame whose EtherType is at `at`, if it accepts packets to virtual addresses.
    pub(super) fn echo(&mut self, target: IpAddr, at: usize, frame: &[u8]) -> bool {
        let is_accepted = self.config.accept || self.priority == OWNER;
        let is_its =
            self.state == VrrpState::Active && self.config.addresses.contains(&target) && is_accepted;
        // Another router on this port may have the same address in another VRID.
        if !is_its || frame.get(..6) != Some(&self.mac[..]) {
            return false;
        }
        let reply = packet::echo_reply(self.mac, at, frame);
        self.counts.replies += u64::from(reply.is_some());
        self.waiting.extend(reply);
        true
    }
}
