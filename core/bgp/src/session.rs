//! The session on one connection: its states, timers and messages (RFC 4271 section 8).
//!
//! Connecting is the speaker's task: a session begins with an open connection, in Connect. The speaker also decides
//! when to send OPEN and when to confirm the peer's by KEEPALIVE, because that depends on the peer's other connection.
//!
//! Invariant: however often routes are to go up and down, a range has one pass over its prefixes under way at most; when it is
//! through, another follows if what is wanted has changed.

use crate::counts::BgpCounts;
use crate::failure::Failure;
use crate::heard::Heard;
use crate::message::{
    AddPath, Capabilities, GracefulRestart, HEADER, Malformed, Message, Notification, Open, PathIds,
    next_message, put_hard_reset, put_keep_alive, put_notification, put_open,
};
use crate::routes::{Family, RouteRange, Speaking, put_end_of_rib};
use std::net::{IpAddr, Ipv4Addr};
use units::Nanos;

/// Time to wait for an OPEN message (RFC 4271 section 8.2.2: 4 minutes).
const OPEN_WAIT: Nanos = Nanos::from_secs(240);
/// Time for which the peer's OPEN message waits for another connection to be chosen.
const CHOICE_WAIT: Nanos = Nanos::from_secs(10);

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// There is no connection.
    Idle,
    /// One is being opened, or is open and no OPEN message was sent.
    Connect,
    /// An OPEN message was sent.
    OpenSent,
    /// The peer's was good.
    OpenConfirm,
    /// Routes are exchanged.
    Established,
}

/// Identity of the speaker and its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The speaker's AS.
    pub own_as: u32,
    /// The peer's; zero is any but the speaker's own.
    pub peer_as: u32,
    /// BGP identifier.
    pub identifier: Ipv4Addr,
    /// Hold time offered, s; zero is none.
    pub hold_s: u16,
    /// Families of routes that are exchanged: IPv4, IPv6.
    pub families: [bool; 2],
    /// The speaker's address of each of them, next hop of its routes.
    pub own: [Option<IpAddr>; 2],
    /// The speaker's number among those with the same routes.
    pub number: u32,
    /// Graceful restart, if it is offered.
    pub restart: Option<Restart>,
    /// Whether a prefix can have several paths, as it is offered: IPv4, IPv6 (RFC 7911).
    pub add_path: [AddPath; 2],
}

/// Graceful restart, as a speaker offers it (RFC 4724).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// Time for which the peer retains routes until the speaker is back, s.
    pub time_s: u16,
    /// Whether the peer is to keep routes after a NOTIFICATION too (RFC 8538).
    pub notification: bool,
    /// Whether packets are forwarded all the while.
    pub forwards: bool,
}

impl Identity {
    /// Whether a peer may have this AS number.
    fn expects(&self, asn: u32) -> bool {
        if self.peer_as == 0 { asn != self.own_as } else { asn == self.peer_as }
    }

    fn capabilities(&self, has_restarted: bool) -> Capabilities {
        let [ipv4, ipv6] = self.families;
        let restart = self.restart.map(|Restart { time_s, notification, forwards }| GracefulRestart {
            has_restarted,
            time_s,
            notification,
            families: self.families.map(|has| has.then_some(forwards)),
        });
        let add_path = std::array::from_fn(|family| match self.families[family] {
            true => self.add_path[family],
            false => AddPath::default(),
        });
        Capabilities { ipv4, ipv6, refresh: true, four_byte_as: true, restart, add_path }
    }
}

/// Progress of advertising a range's prefixes.
#[derive(Debug, Clone, Copy, Default)]
struct Telling {
    /// State at the peer, once `pass` is complete.
    is_up: bool,
    /// Wanted state.
    wanted: bool,
    /// The next prefix to advertise or withdraw.
    pass: Option<u32>,
}

/// Effect of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is no whole message.
    Nothing,
    /// Nothing that others must know.
    Taken,
    /// The peer's OPEN message was good.
    Opened,
    /// The peer has confirmed the OPEN message.
    Confirmed,
    /// The peer sends routes already: it has chosen this connection.
    Chosen,
    /// The session is over.
    Over(Failure),
}

/// The session on one connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub state: State,
    input: Vec<u8>,
    theirs: Option<Open>,
    /// Whether an OPEN message was sent.
    has_opened: bool,
    /// Whether the peer's was confirmed.
    has_confirmed: bool,
    /// Whether the peer has confirmed the own one.
    is_confirmed: bool,
    /// Whether the peer keeps routes after a NOTIFICATION that is no hard reset.
    keeps_routes: bool,
    /// Until when another connection may be chosen.
    choice_until: Nanos,
    /// Zero is none.
    hold: Nanos,
    silent_at: Nanos,
    keep_alive_at: Nanos,
    tellings: Vec<Telling>,
    /// Families with all routes advertised: IPv4, IPv6.
    ended: [bool; 2],
    /// Families whose routes the peer requested again.
    refreshed: [bool; 2],
    /// Routes of the peer.
    pub heard: Heard,
}

impl Session {
    /// On an open connection. Up to this number of the peer's routes is stored.
    pub(crate) fn new(now: Nanos, keep: u32) -> Self {
        Self {
            state: State::Connect,
            input: Vec::new(),
            theirs: None,
            has_opened: false,
            has_confirmed: false,
            is_confirmed: false,
            keeps_routes: false,
            choice_until: Nanos::MAX,
            hold: Nanos::ZERO,
            silent_at: now + OPEN_WAIT,
            keep_alive_at: Nanos::MAX,
            tellings: Vec::new(),
            ended: [false; 2],
            refreshed: [false; 2],
            heard: Heard::new(keep as usize),
        }
    }

    /// Sends an OPEN message if none was sent.
    pub(crate) fn open(
        &mut self,
        who: &Identity,
        has_restarted: bool,
        counts: &mut BgpCounts,
        out: &mut Vec<u8>,
    ) {
        if std::mem::replace(&mut self.has_opened, true) {
            return;
        }
        let (asn, hold_s, identifier) = (who.own_as, who.hold_s, who.identifier);
        put_open(out, &Open { asn, hold_s, identifier, capabilities: who.capabilities(has_restarted) });
        counts.opens.0 += 1;
        self.state = self.state.max(State::OpenSent);
    }

    /// Confirms the peer's OPEN message if that was not done.
    pub(crate) fn confirm(&mut self, now: Nanos, counts: &mut BgpCounts, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.has_confirmed, true) {
            put_keep_alive(out);
            counts.keep_alives.0 += 1;
            self.keep_alive_at = self.next_keep_alive(now);
        }
    }

    /// Whether an OPEN message was sent.
    pub(crate) fn has_opened(&self) -> bool {
        self.has_opened
    }

    /// Whether the peer's OPEN message was confirmed: for the peer, the session may be established.
    pub(crate) fn has_confirmed(&self) -> bool {
        self.has_confirmed
    }

    /// Whether the peer has confirmed the OPEN message.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Whether another connection may still be chosen.
    pub(crate) fn can_wait(&self, now: Nanos) -> bool {
        now < self.choice_until
    }

    /// The peer's OPEN message.
    pub(crate) fn theirs(&self) -> Option<&Open> {
        self.theirs.as_ref()
    }

    /// Whether routes of a family are exchanged.
    pub(crate) fn has(&self, who: &Identity, family: Family) -> bool {
        let theirs = self.theirs.is_some_and(|open| open.capabilities.has(family));
        theirs && who.families[family as usize]
    }

    /// Families whose prefixes have path identifiers, in messages to the peer and in its own: what one side wants to send and the other
    /// can take (RFC 7911 section 4).
    pub(crate) fn path_ids(&self, who: &Identity) -> (PathIds, PathIds) {
        let theirs = self.theirs.map(|open| open.capabilities.add_path).unwrap_or_default();
        let has = Family::ALL.map(|family| self.has(who, family));
        let agreed = |are: fn(&AddPath, &AddPath) -> bool| {
            std::array::from_fn(|family| has[family] && are(&who.add_path[family], &theirs[family]))
        };
        (agreed(|own, theirs| own.send && theirs.receive), agreed(|own, theirs| own.receive && theirs.send))
    }

    /// Takes in bytes that have arrived.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
    }

    /// Takes the next message in. Answers go to `out`.
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        who: &Identity,
        counts: &mut BgpCounts,
        out: &mut Vec<u8>,
    ) -> Step {
        let (_, ids) = self.path_ids(who);
        let (message, len) = match next_message(&self.input, ids) {
            None => return Step::Nothing,
            Some(Err(Malformed(why))) => {
                put_notification(out, why, why.data(&self.input));
                counts.notifications.0 += 1;
                return Step::Over(Failure::Refused(why));
            }
            Some(Ok(found)) => found,
        };
        if let (State::Established, Message::Update(_)) = (self.state, message) {
            let four_byte_as = self.theirs.is_some_and(|open| open.capabilities.four_byte_as);
            self.heard.take(&self.input[HEADER..len], four_byte_as, ids);
        }
        let is_of_established = matches!(message, Message::Update(_) | Message::Refresh(_));
        if self.state == State::OpenConfirm && self.is_confirmed && self.has_confirmed && is_of_established {
            return Step::Chosen;
        }
        self.input.drain(..len);
        if self.hold > Nanos::ZERO {
            self.silent_at = now + self.hold;
        }
        match (self.state, message) {
            (_, Message::Notification(what)) => {
                counts.notifications.1 += 1;
                Step::Over(Failure::RefusedBy(what))
            }
            // RFC 4271 section 8.2.2: in Connect as well, if the own OPEN message is delayed.
            (State::Connect | State::OpenSent, Message::Open(open)) => {
                self.take_open(now, open, who, counts, out)
            }
            (State::OpenConfirm, Message::KeepAlive) => {
                counts.keep_alives.1 += 1;
                self.is_confirmed = true;
                Step::Confirmed
            }
            (State::Established, Message::KeepAlive) => {
                counts.keep_alives.1 += 1;
                Step::Taken
            }
            (State::Established, Message::Update(update)) => {
                counts.updates.1 += 1;
                counts.received_ipv4 += u64::from(update.ipv4);
                counts.received_ipv6 += u64::from(update.ipv6);
                counts.received_withdrawn += u64::from(update.withdrawn);
                counts.ends_of_rib.0 += u64::from(update.end_of_rib == Some(Family::Ipv4));
                counts.ends_of_rib.1 += u64::from(update.end_of_rib == Some(Family::Ipv6));
                Step::Taken
            }
            (State::Established, Message::Refresh(family)) => {
                counts.refreshes += 1;
                // Routes of a family that is not exchanged are not sent again (RFC 2918 section 4).
                if let Some(family) = family {
                    self.ended[family as usize] = false;
                    self.refreshed[family as usize] = true;
                }
                Step::Taken
            }
            (State::OpenConfirm, _) => self.refuse(Notification::UNEXPECTED_IN_OPEN_CONFIRM, counts, out),
            (State::Established, _) => self.refuse(Notification::UNEXPECTED_IN_ESTABLISHED, counts, out),
            _ => self.refuse(Notification::UNEXPECTED_IN_OPEN_SENT, counts, out),
        }
    }

    fn take_open(
        &mut self,
        now: Nanos,
        open: Open,
        who: &Identity,
        counts: &mut BgpCounts,
        out: &mut Vec<u8>,
    ) -> Step {
        counts.opens.1 += 1;
        if !who.expects(open.asn) {
            self.end(Notification::BAD_PEER_AS, counts, out);
            return Step::Over(Failure::OtherAs { is: open.asn, expected: who.peer_as });
        }
        // RFC 4271 section 6.2, RFC 6286 section 2.2: two internal peers have two identifiers.
        if open.identifier == who.identifier && who.own_as == who.peer_as {
            return self.refuse(Notification::BAD_IDENTIFIER, counts, out);
        }
        self.hold = Nanos::from_secs(who.hold_s.min(open.hold_s).into());
        self.silent_at = if self.hold > Nanos::ZERO { now + self.hold } else { Nanos::MAX };
        self.choice_until = self.next_keep_alive(now).min(now + CHOICE_WAIT);
        self.keeps_routes = who.restart.is_some_and(|restart| restart.notification)
            && open.capabilities.restart.is_some_and(|restart| restart.notification);
        self.theirs = Some(open);
        self.state = State::OpenConfirm;
        Step::Opened
    }

    /// A third of the hold time later (RFC 4271 section 4.4).
    fn next_keep_alive(&self, now: Nanos) -> Nanos {
        if self.hold > Nanos::ZERO { now + Nanos(self.hold.0 / 3) } else { Nanos::MAX }
    }

    fn refuse(&mut self, why: Notification, counts: &mut BgpCounts, out: &mut Vec<u8>) -> Step {
        self.end(why, counts, out);
        Step::Over(Failure::Refused(why))
    }

    /// Tells the peer why the session ends. When it ends for good, the peer is to keep no routes.
    pub(crate) fn end(&mut self, why: Notification, counts: &mut BgpCounts, out: &mut Vec<u8>) {
        match why {
            Notification::SHUTDOWN if self.keeps_routes && self.state == State::Established => {
                put_hard_reset(out, why);
            }
            _ => put_notification(out, why, &[]),
        }
        counts.notifications.0 += 1;
    }

    /// Sends what is due; returns why the session is over, if it is.
    pub(crate) fn poll(&mut self, now: Nanos, counts: &mut BgpCounts, out: &mut Vec<u8>) -> Option<Failure> {
        if now >= self.silent_at {
            self.end(Notification::HOLD_EXPIRED, counts, out);
            return Some(Failure::Silent(if self.hold > Nanos::ZERO { self.hold } else { OPEN_WAIT }));
        }
        if now >= self.keep_alive_at {
            put_keep_alive(out);
            counts.keep_alives.0 += 1;
            self.keep_alive_at = self.next_keep_alive(now);
        }
        None
    }

    /// When a timer is due.
    pub(crate) fn next_due(&self) -> Nanos {
        let waits = self.state == State::OpenConfirm && (self.is_confirmed || !self.has_confirmed);
        let choice_until = if waits { self.choice_until } else { Nanos::MAX };
        self.silent_at.min(self.keep_alive_at).min(choice_until)
    }

    /// Says which of `ranges` are to be advertised now: as commands have `said`, or else by their times.
    pub(crate) fn want(
        &mut self,
        who: &Identity,
        ranges: &[RouteRange],
        said: &[Option<bool>],
        since: Nanos,
    ) {
        self.tellings.resize(ranges.len(), Telling::default());
        for (at, range) in ranges.iter().enumerate() {
            let is_up = said.get(at).copied().flatten().unwrap_or_else(|| range.at(since).0);
            let wanted = self.has(who, range.family()) && is_up;
            self.tellings[at].wanted = wanted;
            self.tellings[at].begin();
        }
    }

    /// Tells all routes of a family again (RFC 2918 section 4).
    fn tell_again(&mut self, ranges: &[RouteRange], family: Family) {
        for (telling, range) in self.tellings.iter_mut().zip(ranges) {
            if range.family() == family && telling.is_up {
                telling.pass = Some(0);
            }
        }
    }

    /// Writes UPDATE messages until `out` has `room` bytes or everything is advertised.
    pub(crate) fn tell(
        &mut self,
        who: &Identity,
        ranges: &[RouteRange],
        counts: &mut BgpCounts,
        out: &mut Vec<u8>,
        room: usize,
    ) {
        if self.state != State::Established {
            return;
        }
        for family in Family::ALL {
            if std::mem::take(&mut self.refreshed[family as usize]) {
                self.tell_again(ranges, family);
            }
        }
        let is_internal = who.own_as == who.peer_as;
        let four_byte_as = self.theirs.is_some_and(|open| open.capabilities.four_byte_as);
        let (ids, _) = self.path_ids(who);
        for (telling, range) in self.tellings.iter_mut().zip(ranges) {
            let path_ids = ids[range.family() as usize];
            let own = who.own[range.family() as usize];
            let how = Speaking { own_as: who.own_as, is_internal, four_byte_as, path_ids, own };
            while let Some(next) = telling.pass {
                if out.len() >= room {
                    return;
                }
                let until = range.put_update(out, &how, who.number, next, telling.is_up);
                counts.updates.0 += 1;
                let told = u64::from(until - next);
                *(if telling.is_up { &mut counts.advertised } else { &mut counts.withdrawn }) += told;
                telling.pass = Some(until).filter(|_| until < range.count && until > next);
                telling.begin();
            }
        }
        for family in Family::ALL {
            if self.has(who, family) && !self.ended[family as usize] && out.len() < room {
                self.ended[family as usize] = true;
                put_end_of_rib(out, family);
                counts.updates.0 += 1;
            }
        }
    }

    /// Whether the peer has received everything.
    pub(crate) fn has_told_all(&self) -> bool {
        self.state == State::Established && self.tellings.iter().all(|telling| telling.pass.is_none())
    }
}

impl Telling {
    /// Begins a pass if none is under way and what is wanted has changed.
    fn begin(&mut self) {
        if self.pass.is_none() && self.is_up != self.wanted {
            (self.is_up, self.pass) = (self.wanted, Some(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::put;

    const NOW: Nanos = Nanos::from_secs(1_000);
    const OPEN: u8 = 1;
    const NOTIFICATION: u8 = 3;
    const REFRESH: u8 = 5;

    fn who() -> Identity {
        Identity {
            own_as: 65_001,
            peer_as: 65_000,
            identifier: Ipv4Addr::new(10, 0, 0, 2),
            hold_s: 90,
            families: [true, false],
            own: ["10.0.0.2".parse().ok(), None],
            number: 0,
            restart: None,
            add_path: [AddPath::default(); 2],
        }
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, kind, |out| out.extend(body));
        out
    }

    /// The peer's OPEN message: AS, hold time, the last part of its identifier.
    fn open(asn: u16, hold_s: u16, last: u8) -> Vec<u8> {
        let fixed = [&[4][..], &asn.to_be_bytes(), &hold_s.to_be_bytes(), &[10, 0, 0, last, 0]].concat();
        message(OPEN, &fixed)
    }

    fn keep_alive() -> Vec<u8> {
        let mut out = Vec::new();
        put_keep_alive(&mut out);
        out
    }

    /// A session of the two sides in a state.
    fn session(state: State, who: &Identity, hold_s: u16) -> (Session, BgpCounts) {
        let (mut session, mut counts) = (Session::new(NOW, 0), BgpCounts::default());
        session.open(who, false, &mut counts, &mut Vec::new());
        if state >= State::OpenConfirm {
            let peer_as = if who.peer_as == 0 { 65_000 } else { who.peer_as };
            let (step, said) = hears(&mut session, who, &open(peer_as as u16, hold_s, 1));
            assert_eq!((step, said), (Step::Opened, vec![]));
            session.confirm(NOW, &mut counts, &mut Vec::new());
        }
        if state == State::Established {
            assert_eq!(hears(&mut session, who, &keep_alive()).0, Step::Confirmed);
            session.state = state;
        }
        (session, counts)
    }

    /// Effect of a message, and the reply to it.
    fn hears(session: &mut Session, who: &Identity, bytes: &[u8]) -> (Step, Vec<u8>) {
        let mut out = Vec::new();
        session.take(bytes);
        (session.step(NOW, who, &mut BgpCounts::default(), &mut out), out)
    }

    #[test]
    fn unexpected_messages_are_refused_by_state() {
        let update = message(2, &[0; 4]);
        let refresh = message(REFRESH, &[0, 1, 0, 1]);
        let good = open(65_000, 90, 1);
        for (state, subcode, unexpected) in [
            (State::OpenSent, 1, vec![&update, &refresh]),
            (State::OpenConfirm, 2, vec![&good, &update, &refresh]),
            (State::Established, 3, vec![&good]),
        ] {
            for bytes in unexpected {
                let (mut session, _) = session(state, &who(), 90);
                let (step, said) = hears(&mut session, &who(), bytes);
                let why = Notification { code: 5, subcode };
                assert_eq!(step, Step::Over(Failure::Refused(why)), "{state:?}: {bytes:?}");
                assert_eq!(said, message(NOTIFICATION, &[5, subcode]));
            }
        }
        let (mut session, _) = session(State::OpenSent, &who(), 90);
        assert_eq!(hears(&mut session, &who(), &keep_alive()).1, message(NOTIFICATION, &[5, 1]));
    }

    #[test]
    fn a_message_that_is_none_is_refused_with_what_is_wrong_in_it() {
        let (mut session, _) = session(State::Established, &who(), 90);
        let (step, said) = hears(&mut session, &who(), &message(9, &[]));
        assert_eq!(step, Step::Over(Failure::Refused(Notification { code: 1, subcode: 3 })));
        assert_eq!(said, message(NOTIFICATION, &[1, 3, 9]));
    }

    #[test]
    fn a_notification_is_not_answered() {
        for state in [State::OpenSent, State::OpenConfirm, State::Established] {
            let (mut session, _) = session(state, &who(), 90);
            let (step, said) = hears(&mut session, &who(), &message(NOTIFICATION, &[6, 4, 3, 4, 5]));
            let why = Notification { code: 6, subcode: 4 };
            assert_eq!((step, said), (Step::Over(Failure::RefusedBy(why)), vec![]));
        }
    }

    #[test]
    fn the_lower_hold_time_counts_and_zero_is_none() {
        for (own, theirs, expected) in [(90, 30, 30), (30, 90, 30), (90, 0, 0), (0, 90, 0)] {
            let who = Identity { hold_s: own, ..who() };
            let (mut session, mut counts) = session(State::Established, &who, theirs);
            let keep_alive_at = if expected == 0 { Nanos::MAX } else { NOW + Nanos::from_secs(expected / 3) };
            assert_eq!(session.next_due(), keep_alive_at, "{own} {theirs}");
            let mut out = Vec::new();
            let late = NOW + Nanos::from_secs(expected.max(1) * 1_000);
            let silent = Failure::Silent(Nanos::from_secs(expected));
            let lost = session.poll(late, &mut counts, &mut out);
            assert_eq!(lost, (expected > 0).then_some(silent));
            assert_eq!(out, if expected > 0 { message(NOTIFICATION, &[4, 0]) } else { vec![] });
        }
    }

    #[test]
    fn any_message_of_the_peer_shows_that_it_is_there() {
        let (mut session, mut counts) = session(State::Established, &who(), 9);
        let mut out = Vec::new();
        session.take(&message(2, &[0; 4]));
        let at = NOW + Nanos::from_secs(8);
        assert_eq!(session.step(at, &who(), &mut counts, &mut out), Step::Taken);
        assert_eq!(session.poll(at + Nanos::from_secs(8), &mut counts, &mut out), None);
        assert!(session.poll(at + Nanos::from_secs(9), &mut counts, &mut out).is_some());
    }

    #[test]
    fn an_open_message_is_waited_for_for_four_minutes() {
        let (mut session, mut counts) = session(State::OpenSent, &who(), 90);
        let mut out = Vec::new();
        assert_eq!(session.poll(NOW + Nanos::from_secs(239), &mut counts, &mut out), None);
        let lost = session.poll(NOW + Nanos::from_secs(240), &mut counts, &mut out);
        assert_eq!((lost, out), (Some(Failure::Silent(OPEN_WAIT)), message(NOTIFICATION, &[4, 0])));
    }

    #[test]
    fn only_internal_peers_need_two_identifiers() {
        for (peer_as, refused) in [(65_000, false), (65_001, true)] {
            let who = Identity { peer_as, ..who() };
            let (mut session, _) = session(State::OpenSent, &who, 90);
            let (step, _) = hears(&mut session, &who, &open(peer_as as u16, 90, 2));
            let why = Notification { code: 2, subcode: 3 };
            assert_eq!(step, if refused { Step::Over(Failure::Refused(why)) } else { Step::Opened });
        }
    }

    #[test]
    fn any_peer_is_of_another_as() {
        let who = Identity { peer_as: 0, ..who() };
        for (asn, expected) in [(65_000, Step::Opened), (7, Step::Opened)] {
            let (mut session, _) = session(State::OpenSent, &who, 90);
            assert_eq!(hears(&mut session, &who, &open(asn, 90, 1)).0, expected);
        }
        let (mut own, _) = session(State::OpenSent, &who, 90);
        let (step, said) = hears(&mut own, &who, &open(65_001, 90, 1));
        assert_eq!(step, Step::Over(Failure::OtherAs { is: 65_001, expected: 0 }));
        assert_eq!(said, message(NOTIFICATION, &[2, 2]));
        let (mut none, _) = session(State::OpenSent, &who, 90);
        assert_eq!(hears(&mut none, &who, &open(0, 90, 1)).1, message(NOTIFICATION, &[2, 2]));
    }

    /// RFC 2918: all routes of the family again, and none of a family that is not exchanged.
    #[test]
    fn routes_are_sent_again_on_request() {
        let range = RouteRange {
            name: String::new(),
            first: Ipv4Addr::new(16, 0, 0, 0).into(),
            prefix_len: 24,
            count: 10,
            step: 1,
            same: false,
            path_id: 1,
            attributes: crate::routes::Attributes::default(),
            table: None,
            advertise: Nanos::ZERO,
            withdraw: None,
            flap: None,
        };
        let (ranges, who) = ([range], who());
        let (mut session, mut counts) = session(State::Established, &who, 90);
        session.want(&who, &ranges, &[], Nanos::ZERO);
        for (family, advertised) in [(None, 10), (Some(1), 20), (Some(2), 20), (Some(99), 20)] {
            if let Some(family) = family {
                let (step, said) = hears(&mut session, &who, &message(REFRESH, &[0, family, 0, 1]));
                assert_eq!((step, said), (Step::Taken, vec![]));
            }
            session.tell(&who, &ranges, &mut counts, &mut Vec::new(), 1 << 20);
            assert_eq!((counts.advertised, session.has_told_all()), (advertised, true), "{family:?}");
        }
    }
}
