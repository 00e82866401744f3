//! All DHCPv6 clients of a port: who begins when, whose message is due, whom a server's message is for.

use super::client::{Client, ClientTally6, State};
use super::message::{Association, CLIENT_PORT, Draft, Message6, MessageType6, Value, option, status};
use crate::frame::{Link, Mac, Packet, Received, link_local};
use crate::pool::{Holders, Pool, PoolClient, PoolConfig, Protocol};
use histogram::Timing;
use std::net::Ipv6Addr;
use units::Nanos;

/// Maximum number of distinguished servers.
const SERVERS_MAX: usize = 64;
/// A server that wants to be chosen at once (RFC 8415 section 18.2.1).
const PREFERENCE_MOST: u8 = 255;
/// Longest time between two SOLICIT messages (RFC 8415 section 7.6), and what servers may make of it (section 21.24).
const SOLICIT_MAX_MS: u32 = 3_600_000;
const SOLICIT_MAX_S: std::ops::RangeInclusive<u32> = 60..=86_400;
/// Time for a neighbour that has an address to reply (RFC 4862 section 5.4, RFC 4861 section 10).
const CHECK_FOR: Nanos = Nanos::from_secs(1);
/// Least seconds of a lease that are believed: a shorter one would only be renewed without end.
const LEASE_LEAST: u32 = 2;
/// After refusals or conflicts in a row a client waits for up to 2 to the power of this, in seconds.
const REFUSALS_MAX: u8 = 6;

/// Settings of a port's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dhcp6Config {
    /// As for clients of other protocols. DUID and link-local address follow from the hardware address.
    pub pool: PoolConfig,
    /// Whether each has an address: from a server (IA_NA), or made by itself.
    pub address: bool,
    /// Whether each makes its address from the prefix that a router advertises (RFC 4862). Then nothing is requested
    /// from servers.
    pub slaac: bool,
    /// Length of the prefix that each requests (IA_PD); `None` is none.
    pub prefix_len: Option<u8>,
    /// Whether servers may commit at once (RFC 8415 section 18.2.1).
    pub rapid_commit: bool,
    /// Whether each probes for its address before it uses it (RFC 4862 section 5.4).
    pub check: bool,
    /// Numbers of requested options.
    pub ask_for: Vec<u16>,
}

/// Messages sent and received by all clients of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dhcp6Counts {
    /// SOLICIT sent, repetitions among them, as in all that follow.
    pub solicits: u64,
    /// ADVERTISE received by clients in search of a server.
    pub advertises: u64,
    /// REQUEST sent.
    pub requests: u64,
    /// RENEW sent.
    pub renews: u64,
    /// REBIND sent.
    pub rebinds: u64,
    /// RELEASE sent.
    pub releases: u64,
    /// DECLINE sent.
    pub declines: u64,
    /// REPLY messages received by clients in reply to a request.
    pub replies: u64,
    /// ADVERTISE and REPLY messages without the requested leases.
    pub refused: u64,
    /// Messages retransmitted because no reply arrived.
    pub repeated: u64,
    /// Leases prolonged by their server.
    pub renewed: u64,
    /// Leases prolonged after their server kept silent.
    pub rebound: u64,
    /// Leases that expired without renewal, or were ended by their server.
    pub lost: u64,
    /// Leases of an address or a prefix that another client here had.
    pub conflicts: u64,
    /// Leases of an address that a neighbour has.
    pub duplicates: u64,
    /// Time from a client's first SOLICIT to its first lease; for an autoconfigured address, from when it had a prefix.
    pub bind: Timing,
}

/// Leases of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease6 {
    /// The client's number, from 0.
    pub client: u32,
    /// The client's hardware address.
    pub mac: Mac,
    /// Its link-local address.
    pub link_local: Ipv6Addr,
    /// Its address, if it requested one.
    pub ip: Option<Ipv6Addr>,
    /// Its prefix and the length of that, if it requested one.
    pub prefix: Option<(Ipv6Addr, u8)>,
}

/// Current state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientView6<'c> {
    /// Its number, from 0.
    pub client: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Its lease; `None` if it has none.
    pub held: Option<HeldLease6<'c>>,
    /// Its messages sent and received.
    pub tally: ClientTally6,
}

/// A lease with its times, s from the moment it began or was prolonged last; [`u32::MAX`] is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLease6<'c> {
    /// The client's leases.
    pub lease: Lease6,
    /// DUID of its server.
    pub server: &'c [u8],
    /// Until what it has ends.
    pub valid_s: u32,
    /// Time until it renews with its server, s.
    pub renew_s: u32,
    /// Until any server is.
    pub rebind_s: u32,
}

/// State that all DHCPv6 clients of a port share.
#[derive(Debug)]
pub struct Dhcp6Protocol {
    /// DUIDs of servers.
    servers: Vec<Vec<u8>>,
    /// Holder of each address; and of each prefix, by its first 64 bits: longer ones are not distinguished.
    holders: Holders<Ipv6Addr>,
    prefixes: Holders<u64>,
    solicit_max_ms: u32,
    /// Prefix for autoconfigured addresses, and its expiry.
    advertised: Option<(Ipv6Addr, Nanos)>,
}

impl Default for Dhcp6Protocol {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            holders: Holders::default(),
            prefixes: Holders::default(),
            solicit_max_ms: SOLICIT_MAX_MS,
            advertised: None,
        }
    }
}

/// DHCPv6 clients of a port.
pub type Dhcp6Clients = Pool<Dhcp6Protocol>;

impl Protocol for Dhcp6Protocol {
    type Config = Dhcp6Config;
    type Client = Client;
    type Counts = Dhcp6Counts;

    const ACTS_UNTIL_TURN: bool = false;

    fn common(config: &Dhcp6Config) -> &PoolConfig {
        &config.pool
    }

    fn take(pool: &mut Dhcp6Clients, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { from, vlans, packet }) = Received::read(frame) else { return false };
        match packet {
            Packet::Udp { is_v4: false, to: CLIENT_PORT, payload } => pool.take_message(now, &vlans, payload),
            Packet::Claim { target } => pool.take_claim(now, from, &vlans, target),
            _ => false,
        }
    }

    fn begin(pool: &mut Dhcp6Clients, now: Nanos, index: u32) {
        pool.begin(now, index, now);
    }

    fn act(pool: &mut Dhcp6Clients, now: Nanos, index: u32) {
        let frame = pool.act(now, index);
        pool.outbox.extend(frame);
    }

    fn renew(pool: &mut Dhcp6Clients, now: Nanos, index: u32, at: Nanos) -> bool {
        match pool.clients[index as usize].state {
            State::Waiting | State::Checking | State::Listening => return false,
            State::Bound if pool.config.slaac => return false,
            State::Over | State::Releasing => pool.begin(now, index, at),
            State::Bound => pool.exchange(at, index, State::Renewing, at),
            state => pool.set(index, state, at),
        }
        true
    }

    /// An autoconfigured address needs no message.
    fn leave(pool: &mut Dhcp6Clients, _: Nanos, index: u32, at: Nanos) {
        if pool.config.slaac {
            pool.set(index, State::Over, Nanos::MAX);
        } else {
            pool.exchange(at, index, State::Releasing, at);
        }
    }

    /// An address that is still being checked is kept, too.
    fn give_up(pool: &mut Dhcp6Clients, _: Nanos, index: u32) {
        let client = &pool.clients[index as usize];
        if client.state == State::Checking && !pool.config.slaac {
            let due = client.renews_at();
            pool.set(index, State::Bound, due);
        } else if !client.is_up() && client.state != State::Releasing {
            pool.set(index, State::Over, Nanos::MAX);
        }
    }

    fn prepare(pool: &mut Dhcp6Clients, now: Nanos) {
        pool.expire(now);
    }

    fn next_due(pool: &Dhcp6Clients) -> Nanos {
        let is_over = pool.is_releasing() && pool.up() == 0;
        pool.shared.advertised.filter(|_| !is_over).map_or(Nanos::MAX, |(_, until)| until)
    }
}

impl Dhcp6Clients {
    /// A router advertises the prefix of `prefix/64` for autoconfiguration, until a time (RFC 4862 section 5.5.3);
    /// `None`: no router does. One prefix at a time is used, the first.
    pub fn advertise(&mut self, now: Nanos, prefix: Option<(Ipv6Addr, Nanos)>) {
        if !self.config.slaac || self.shared.advertised == prefix {
            return;
        }
        self.expire(now);
        let was = self.shared.advertised;
        self.shared.advertised = prefix.filter(|(_, until)| now < *until);
        if self.shared.advertised.map(|(prefix, _)| prefix) == was.map(|(prefix, _)| prefix) {
            return;
        }
        self.lose_all();
        if self.shared.advertised.is_some() {
            self.each_in_turn(now, |clients, index, at| {
                let waits = clients.clients[index as usize].state == State::Listening;
                if waits {
                    clients.configure(index, at);
                }
                waits
            });
        }
    }

    /// Ends addresses whose prefix is no longer advertised.
    fn expire(&mut self, now: Nanos) {
        if self.shared.advertised.is_some_and(|(_, until)| until <= now) {
            self.shared.advertised = None;
            self.lose_all();
        }
    }

    /// All clients that have an address have none.
    fn lose_all(&mut self) {
        for index in 0..self.len() {
            let state = self.clients[index as usize].state;
            if state.holds() {
                self.counts.lost += u64::from(state.has_lease());
                let next = if self.is_releasing() { State::Over } else { State::Listening };
                self.set(index, next, Nanos::MAX);
            }
        }
    }

    /// Makes a client's address from the prefix there is, from `at` on; without one it listens for a router (RFC 4862 section
    /// 5.5). The interface identifier is the modified EUI-64 of its MAC address (RFC 4291 appendix A).
    fn configure(&mut self, index: u32, at: Nanos) {
        let Some((prefix, _)) = self.shared.advertised else {
            return self.set(index, State::Listening, Nanos::MAX);
        };
        let own = u128::from(link_local(self.mac_of(index))) & u128::from(u64::MAX);
        let ip = Ipv6Addr::from(u128::from(prefix) & !u128::from(u64::MAX) | own);
        let client = &mut self.clients[index as usize];
        (client.ip, client.since, client.t1_s, client.t2_s) = (ip, at, u32::MAX, u32::MAX);
        self.shared.holders.put(ip, index);
        self.exchange(at, index, State::Checking, at);
    }

    /// A neighbour announces that it has an address, or is about to use it.
    fn take_claim(&mut self, now: Nanos, from: Mac, vlans: &[u16], target: Ipv6Addr) -> bool {
        let holder = self.shared.holders.of(&target);
        let Some(index) = holder.filter(|index| self.config.pool.vlans.are_of(*index, vlans)) else {
            return false;
        };
        if self.clients[index as usize].state != State::Checking || self.number_of(from).is_some() {
            return false;
        }
        self.counts.duplicates += 1;
        if self.config.slaac {
            // RFC 4862 section 5.4.5: with this identifier it can have none.
            self.set(index, State::Over, Nanos::MAX);
        } else {
            self.exchange(now, index, State::Declining, now);
        }
        true
    }

    fn take_message(&mut self, now: Nanos, vlans: &[u16], payload: &[u8]) -> bool {
        let Some(message) = Message6::read(payload) else { return false };
        let Some(index) = self.addressed(message.client, vlans) else { return false };
        let client = self.clients[index as usize];
        if client.xid != message.xid || client.state.message(0).is_none() {
            return false;
        }
        let Some(server) = self.server(message.server) else { return false };
        if let Some(most) = message.solicit_max_s.filter(|most| SOLICIT_MAX_S.contains(most)) {
            self.shared.solicit_max_ms = most * 1_000;
        }
        match message.kind {
            MessageType6::Advertise => self.advertised(now, index, server, &message),
            _ => self.replied(now, index, server, &message),
        }
        true
    }

    /// Whether every client has its requested leases, or never will: a neighbour has the address it made.
    pub fn is_settled(&self) -> bool {
        let without = if self.config.slaac { self.counts.duplicates } else { 0 };
        u64::from(self.up()) + without >= u64::from(self.len())
    }

    /// The leases there are, by client.
    pub fn leases(&self) -> impl Iterator<Item = Lease6> + '_ {
        (0..self.len()).filter_map(|index| self.lease(index))
    }

    /// The client that has `ip`, as its lease or as its link-local address.
    pub fn client_of_ip(&self, ip: Ipv6Addr) -> Option<u32> {
        if ip.is_unicast_link_local() {
            let [.., a, b, c, _, _, d, e, f] = ip.octets();
            let mac = [a ^ 2, b, c, d, e, f];
            return self.number_of(mac).filter(|_| link_local(mac) == ip);
        }
        self.shared.holders.of(&ip).filter(|index| self.clients[*index as usize].is_up())
    }

    /// The hardware address of the client that has `ip`, as its lease or as its link-local address.
    pub fn mac_of_ip(&self, ip: Ipv6Addr) -> Option<Mac> {
        self.client_of_ip(ip).map(|index| self.mac_of(index))
    }

    /// Current state of all clients.
    pub fn views(&self) -> impl Iterator<Item = ClientView6<'_>> {
        (0..self.len()).map(|index| {
            let client = &self.clients[index as usize];
            let server = client.server.and_then(|server| self.shared.servers.get(usize::from(server)));
            let server = server.map_or(&[][..], Vec::as_slice);
            let (valid_s, renew_s, rebind_s) = (self.valid_s(client), client.t1_s, client.t2_s);
            let held = |lease| HeldLease6 { lease, server, valid_s, renew_s, rebind_s };
            ClientView6 {
                client: index,
                mac: self.mac_of(index),
                held: self.lease(index).map(held),
                tally: client.tally,
            }
        })
    }

    /// Lifetime of what a client has, from its beginning, s.
    fn valid_s(&self, client: &Client) -> u32 {
        match self.shared.advertised {
            Some((_, Nanos::MAX)) => u32::MAX,
            Some((_, until)) => {
                u32::try_from(until.since(client.since).0 / 1_000_000_000).unwrap_or(u32::MAX)
            }
            None => client.valid_s,
        }
    }

    fn lease(&self, index: u32) -> Option<Lease6> {
        let client = &self.clients[index as usize];
        let mac = self.mac_of(index);
        client.is_up().then(|| Lease6 {
            client: index,
            mac,
            link_local: link_local(mac),
            ip: self.config.address.then_some(client.ip),
            prefix: self.config.prefix_len.map(|_| (client.prefix, client.prefix_len)),
        })
    }

    /// The number of a server; `None` if there are too many.
    fn server(&mut self, duid: &[u8]) -> Option<u16> {
        let known = self.shared.servers.iter().position(|known| known == duid);
        if known.is_none() && self.shared.servers.len() < SERVERS_MAX {
            self.shared.servers.push(duid.to_vec());
            return Some(self.shared.servers.len() as u16 - 1);
        }
        known.map(|known| known as u16)
    }

    /// Makes a client search for servers from `at` on; one that is to search no more is over.
    fn begin(&mut self, now: Nanos, index: u32, at: Nanos) {
        if self.is_releasing() {
            self.set(index, State::Over, Nanos::MAX);
            return;
        }
        let client = &mut self.clients[index as usize];
        if !client.is_outstanding() {
            client.since = now;
        }
        client.server = None;
        if self.config.slaac {
            return self.configure(index, at);
        }
        self.exchange(at, index, State::Soliciting, at);
    }

    /// Begins an exchange: the first message goes out at `at`.
    fn exchange(&mut self, asked: Nanos, index: u32, state: State, at: Nanos) {
        let xid = (self.word() & 0x00ff_ffff) as u32;
        // What was held is held until the new state is set.
        self.set(index, state, at);
        let client = &mut self.clients[index as usize];
        (client.xid, client.asked, client.sent, client.wait_ms) = (xid, asked, 0, 0);
    }

    /// Changes a client's state, and when it has something to do.
    fn set(&mut self, index: u32, state: State, due: Nanos) {
        let was = self.clients[index as usize];
        self.change(index, |client| client.state = state);
        if was.state.holds() && !state.holds() {
            self.forget(index, was.ip, was.prefix);
        }
        self.schedule(index, due);
    }

    /// A client has an address and a prefix no more.
    fn forget(&mut self, index: u32, ip: Ipv6Addr, prefix: Ipv6Addr) {
        self.shared.holders.forget(&ip, index);
        self.shared.prefixes.forget(&high(prefix), index);
    }

    /// Does what is due for a client.
    fn act(&mut self, now: Nanos, index: u32) -> Option<Vec<u8>> {
        let client = self.clients[index as usize];
        if now >= client.ends_at() {
            if client.state == State::Renewing {
                self.exchange(now, index, State::Rebinding, now);
            } else {
                self.counts.lost += 1;
                self.begin(now, index, now);
            }
            return None;
        }
        if client.state == State::Bound {
            self.exchange(now, index, State::Renewing, now);
            return None;
        }
        if client.state == State::Checking {
            return self.check(now, index);
        }
        // RFC 8415 section 18.2.1: the best one of those that answered in time.
        if client.state == State::Soliciting && client.server.is_some() {
            self.exchange(now, index, State::Requesting, now);
            return None;
        }
        let (kind, repeats) = client.state.message(self.shared.solicit_max_ms)?;
        if repeats.count > 0 && client.sent >= repeats.count {
            self.exhausted(now, index);
            return None;
        }
        Some(self.say(now, index, kind))
    }

    /// Probes for a client's address; without a reply in time, the client has it.
    fn check(&mut self, now: Nanos, index: u32) -> Option<Vec<u8>> {
        let client = &mut self.clients[index as usize];
        if client.sent > 0 || !self.config.check {
            let (due, since) = (client.renews_at(), client.since);
            client.refusals = 0;
            self.set(index, State::Bound, due);
            if self.config.slaac && self.note_up(now) {
                self.counts.bind.record(now.since(since).0);
            }
            return None;
        }
        client.sent = 1;
        let ip = client.ip;
        self.set(index, State::Checking, now.saturating_add(CHECK_FOR));
        Some(Link::probe(self.mac_of(index), &self.config.pool.vlans.of(index), ip))
    }

    /// No reply arrived after the last retransmission.
    fn exhausted(&mut self, now: Nanos, index: u32) {
        match self.clients[index as usize].state {
            State::Releasing => self.set(index, State::Over, Nanos::MAX),
            State::Declining | State::Returning => self.begin_later(now, index),
            _ => self.begin(now, index, now),
        }
    }

    /// Makes a client that was refused, or could not use what it got, search anew: immediately the first time, then less and less
    /// often (RFC 8415 section 14.1).
    fn begin_later(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        client.refusals = client.refusals.saturating_add(1).min(REFUSALS_MAX);
        let wait = 1_000_000_000u64 << (client.refusals - 1);
        let wait = if client.refusals > 1 { wait + random::below(self.word(), wait / 4) } else { 0 };
        self.begin(now, index, now.saturating_add(Nanos(wait)));
    }

    /// Sends a client's message, and sets when it is sent again.
    fn say(&mut self, now: Nanos, index: u32, kind: MessageType6) -> Vec<u8> {
        let word = self.word();
        let most = self.shared.solicit_max_ms;
        let client = &mut self.clients[index as usize];
        self.counts.repeated += u64::from(client.sent > 0);
        client.sent = client.sent.saturating_add(1);
        if client.sent == 1 {
            // However late it goes out: the time of the first message is zero (RFC 8415 section 21.9).
            client.asked = now;
        }
        if let Some((_, repeats)) = client.state.message(most) {
            client.wait_ms = repeats.next(client.wait_ms, kind == MessageType6::Solicit, word);
        }
        let client = *client;
        let due = now.saturating_add(Nanos::from_millis(client.wait_ms.into())).min(client.ends_at());
        self.set(index, client.state, due);
        self.count(index, kind);
        let elapsed = (now.since(client.asked).0 / 10_000_000).min(u16::MAX.into()) as u16;
        let mac = self.mac_of(index);
        let mut draft = Draft::new(kind, mac, client.xid, elapsed);
        let to_one = matches!(
            kind,
            MessageType6::Request | MessageType6::Renew | MessageType6::Release | MessageType6::Decline
        );
        if let Some(duid) =
            client.server.filter(|_| to_one).and_then(|server| self.shared.servers.get(usize::from(server)))
        {
            draft.option(option::SERVER_ID, duid);
        }
        let is_known = kind != MessageType6::Solicit;
        if self.config.address {
            draft.address(is_known.then_some(client.ip));
        }
        // RFC 8415 section 18.2.8: only addresses are declined.
        if let Some(wanted) = self.config.prefix_len.filter(|_| kind != MessageType6::Decline) {
            let (prefix, len) =
                if is_known { (client.prefix, client.prefix_len) } else { (Ipv6Addr::UNSPECIFIED, wanted) };
            draft.prefix(prefix, len);
        }
        if !matches!(kind, MessageType6::Release | MessageType6::Decline) {
            let asked = std::iter::once(&option::SOL_MAX_RT).chain(&self.config.ask_for);
            draft.option(
                option::OPTION_REQUEST,
                &asked.flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>(),
            );
        }
        if kind == MessageType6::Solicit && self.config.rapid_commit {
            draft.option(option::RAPID_COMMIT, &[]);
        }
        Link::dhcp6(mac, &self.config.pool.vlans.of(index), &draft.finish())
    }

    /// Counts a message of a client or to it.
    fn count(&mut self, index: u32, kind: MessageType6) {
        let (all, own) = (&mut self.counts, &mut self.clients[index as usize].tally);
        let (all, own) = match kind {
            MessageType6::Solicit => (&mut all.solicits, &mut own.solicits),
            MessageType6::Advertise => (&mut all.advertises, &mut own.advertises),
            MessageType6::Request => (&mut all.requests, &mut own.requests),
            MessageType6::Renew => (&mut all.renews, &mut own.renews),
            MessageType6::Rebind => (&mut all.rebinds, &mut own.rebinds),
            MessageType6::Reply => (&mut all.replies, &mut own.replies),
            MessageType6::Release => (&mut all.releases, &mut own.releases),
            MessageType6::Decline => {
                all.declines += 1;
                return;
            }
        };
        *all += 1;
        *own = own.saturating_add(1);
    }

    /// Counts a reply without a client's requested leases.
    fn count_refusal(&mut self, index: u32, kind: MessageType6) {
        self.counts.refused += 1;
        let own = &mut self.clients[index as usize].tally;
        let own = if kind == MessageType6::Advertise { &mut own.passed_over } else { &mut own.refused };
        *own = own.saturating_add(1);
    }

    /// Whether a message has everything that is requested.
    fn offered(&self, own: &Client, message: &Message6<'_>) -> Option<Offer> {
        if message.status != status::SUCCESS {
            return None;
        }
        let mut offer =
            Offer { t1_s: 0, t2_s: 0, preferred_s: u32::MAX, valid_s: u32::MAX, ..Offer::default() };
        if self.config.address {
            offer.ip = offer.take(message.address.as_ref()?, own.ip)?.ip;
        }
        if self.config.prefix_len.is_some() {
            let value = offer.take(message.prefix.as_ref()?, own.prefix)?;
            (offer.prefix, offer.prefix_len) = (value.ip, value.len);
        }
        Some(offer)
    }

    /// A server replies to a client that looks for one.
    fn advertised(&mut self, now: Nanos, index: u32, server: u16, message: &Message6<'_>) {
        let client = self.clients[index as usize];
        if client.state != State::Soliciting {
            return;
        }
        self.count(index, MessageType6::Advertise);
        // RFC 8415 section 18.2.9: what has nothing to offer is passed over.
        let Some(offer) = self.offered(&client, message) else {
            self.count_refusal(index, MessageType6::Advertise);
            return;
        };
        if client.server.is_some() && message.preference <= client.preference {
            return;
        }
        let own = &mut self.clients[index as usize];
        (own.server, own.preference) = (Some(server), message.preference);
        (own.ip, own.prefix, own.prefix_len) = (offer.ip, offer.prefix, offer.prefix_len);
        if message.preference == PREFERENCE_MOST || client.sent > 1 {
            self.exchange(now, index, State::Requesting, now);
        }
    }

    /// A server replies to a client's request.
    fn replied(&mut self, now: Nanos, index: u32, server: u16, message: &Message6<'_>) {
        let client = self.clients[index as usize];
        let is_its = client.server == Some(server);
        let is_awaited = match client.state {
            State::Soliciting => self.config.rapid_commit && message.is_rapid,
            State::Rebinding => true,
            _ => is_its,
        };
        if !is_awaited {
            return;
        }
        self.count(index, MessageType6::Reply);
        match client.state {
            State::Releasing => self.set(index, State::Over, Nanos::MAX),
            State::Declining | State::Returning => self.begin_later(now, index),
            // RFC 8415 section 18.2.10: it asks again as if it had heard nothing.
            _ if message.status == status::UNSPECIFIED => self.count_refusal(index, MessageType6::Reply),
            _ => match self.offered(&client, message) {
                Some(offer) => self.bind(now, index, server, &offer),
                None => self.refused(now, index, server, message),
            },
        }
    }

    /// A server's reply lacks the requested leases.
    fn refused(&mut self, now: Nanos, index: u32, server: u16, message: &Message6<'_>) {
        let state = self.clients[index as usize].state;
        let of = [&message.address, &message.prefix];
        let has_no_binding =
            of.iter().any(|of| of.as_ref().is_some_and(|of| of.status == status::NO_BINDING));
        let is_ended = of.iter().any(|of| of.as_ref().is_some_and(Association::ends));
        match state {
            State::Renewing | State::Rebinding if has_no_binding => {
                // RFC 8415 section 18.2.10.1: it asks the server that said so for the same anew.
                self.count_refusal(index, MessageType6::Reply);
                self.counts.lost += 1;
                let client = &mut self.clients[index as usize];
                (client.since, client.server) = (now, Some(server));
                self.exchange(now, index, State::Requesting, now);
            }
            State::Renewing | State::Rebinding if is_ended => {
                self.counts.lost += 1;
                self.begin(now, index, now);
            }
            State::Renewing | State::Rebinding => {}
            _ => {
                self.count_refusal(index, MessageType6::Reply);
                self.begin_later(now, index);
            }
        }
    }

    /// A lease begins, or gets more time.
    fn bind(&mut self, now: Nanos, index: u32, server: u16, offer: &Offer) {
        let client = &mut self.clients[index as usize];
        let was = *client;
        match was.state {
            State::Renewing => self.counts.renewed += 1,
            State::Rebinding => self.counts.rebound += 1,
            _ => {}
        }
        let (t1, t2, valid) = offer.times();
        client.since = now;
        client.server = Some(server);
        (client.ip, client.prefix, client.prefix_len) = (offer.ip, offer.prefix, offer.prefix_len);
        (client.t1_s, client.t2_s, client.valid_s) = (t1, t2, valid);
        let due = client.renews_at();
        let is_new = !was.state.has_lease() || was.ip != offer.ip;
        if was.state.has_lease() && (was.ip, was.prefix) != (offer.ip, offer.prefix) {
            self.forget(index, was.ip, was.prefix);
        }
        let has_ip_twin = self.config.address && self.shared.holders.is_of_other(&offer.ip, index);
        let has_prefix = self.config.prefix_len.is_some();
        if has_ip_twin || has_prefix && self.shared.prefixes.is_of_other(&high(offer.prefix), index) {
            self.counts.conflicts += 1;
            let state = if has_ip_twin { State::Declining } else { State::Returning };
            self.exchange(now, index, state, now);
            return;
        }
        if !was.is_up() && self.note_up(now) {
            self.counts.bind.record(now.since(was.since).0);
        }
        if self.config.address {
            self.shared.holders.put(offer.ip, index);
        }
        if has_prefix {
            self.shared.prefixes.put(high(offer.prefix), index);
        }
        if self.config.address && self.config.check && is_new {
            self.exchange(now, index, State::Checking, now);
            return;
        }
        self.clients[index as usize].refusals = 0;
        self.set(index, State::Bound, due);
    }
}

/// The first 64 bits of a prefix.
fn high(prefix: Ipv6Addr) -> u64 {
    (u128::from(prefix) >> 64) as u64
}

/// Offer of a server to a client.
#[derive(Debug, Clone, Copy)]
struct Offer {
    ip: Ipv6Addr,
    prefix: Ipv6Addr,
    prefix_len: u8,
    /// 0 leaves it to the client.
    t1_s: u32,
    t2_s: u32,
    preferred_s: u32,
    valid_s: u32,
}

impl Default for Offer {
    fn default() -> Self {
        let none = Ipv6Addr::UNSPECIFIED;
        Self { ip: none, prefix: none, prefix_len: 0, t1_s: 0, t2_s: 0, preferred_s: 0, valid_s: 0 }
    }
}

impl Offer {
    /// Takes what is offered in an association: the soonest of all times counts.
    fn take(&mut self, of: &Association, own: Ipv6Addr) -> Option<Value> {
        let value = of.usable(own).filter(|_| of.status == status::SUCCESS)?;
        let sooner = |mine: u32, other: u32| {
            if mine == 0 { other } else { mine.min(if other == 0 { mine } else { other }) }
        };
        (self.t1_s, self.t2_s) = (sooner(self.t1_s, of.t1_s), sooner(self.t2_s, of.t2_s));
        self.preferred_s = self.preferred_s.min(value.preferred_s);
        self.valid_s = self.valid_s.min(value.valid_s);
        Some(value)
    }

    /// T1, T2 and the end of the lease, s. Where the server leaves them to the client, or they are out of order, half and
    /// four fifths of the preferred lifetime (RFC 8415 section 21.4).
    fn times(&self) -> (u32, u32, u32) {
        let valid = self.valid_s.max(LEASE_LEAST);
        if valid == u32::MAX && self.t1_s == 0 {
            return (u32::MAX, u32::MAX, u32::MAX);
        }
        let preferred = if self.preferred_s == 0 { valid } else { self.preferred_s.min(valid) };
        let share = |tenths: u64| (u64::from(preferred) * tenths / 10).max(1) as u32;
        let t1 = if self.t1_s == 0 { share(5) } else { self.t1_s };
        let t2 = if self.t2_s == 0 { share(8).max(t1) } else { self.t2_s };
        if t1 <= t2 && t2 <= valid { (t1, t2, valid) } else { (share(5), share(8), valid) }
    }
}

impl Association {
    /// Whether the server ends what it gave: everything in it is valid no more.
    fn ends(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| value.valid_s == 0)
    }
}

#[cfg(test)]
mod tests;
