//! All DHCP clients of a port: who begins when, whose message is due, whom a server's message is for.

use super::client::{Client, ClientTally, REQUESTS_MAX, State};
use super::message::{CLIENT_PORT, Draft, MessageType, Reply, SERVER_PORT, option};
use crate::frame::{BROADCAST, Link, Mac, Packet, Received};
use crate::pool::{Holders, Pool, PoolClient, PoolConfig, Protocol};
use crate::timing::back_off;
use histogram::Timing;
use std::net::Ipv4Addr;
use units::Nanos;

/// The longest message a client takes (RFC 2132 section 9.10): what an Ethernet frame holds.
const MESSAGE_MAX: u16 = 1_500;
/// Options that clients always request: without them there is no network to send in.
const ASKED: [u8; 2] = [option::MASK, option::ROUTER];
/// Sub-options of the relay agent's information (RFC 3046 section 2.0).
const CIRCUIT_ID: u8 = 1;
const REMOTE_ID: u8 = 2;
/// Number of probes for a new address, their interval, and the wait for a reply to the last.
const PROBES: u8 = 2;
const PROBE_EVERY: Nanos = Nanos::from_millis(500);
/// From a DHCPDECLINE until a client begins anew (RFC 2131 section 3.1, point 5).
const DECLINED_FOR: Nanos = Nanos::from_secs(10);
/// Least seconds of a lease that are believed: a shorter one would only be renewed without end.
const LEASE_LEAST: u32 = 2;

/// Information that an access node adds to the messages of a client (RFC 3046).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelayInfo {
    /// `{n}` stands for the client's number, from 0, `{outer}` and `{inner}` for its VLANs.
    pub circuit_id: Option<String>,
    /// The same.
    pub remote_id: Option<String>,
}

/// Settings of a port's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpConfig {
    /// As for clients of other protocols.
    pub pool: PoolConfig,
    /// Time until the first repetition of a message (RFC 2131 section 4.1: 4 s).
    pub retry: Nanos,
    /// Whether each probes for a new address before it uses it.
    pub check: bool,
    /// Whether servers are requested to broadcast their replies.
    pub broadcast: bool,
    /// Name sent; `{n}` stands for the client's number, from 0, `{outer}` and `{inner}` for its VLANs.
    pub host_name: Option<String>,
    /// Vendor class identifier sent.
    pub vendor_class: Option<String>,
    /// Client identifier sent, `{n}` as above; without one a server goes by the hardware address.
    pub client_id: Option<String>,
    /// Numbers of requested options besides mask and router.
    pub ask_for: Vec<u8>,
    /// Information added by an access node.
    pub relay: RelayInfo,
}

/// Messages sent and received by all clients of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DhcpCounts {
    /// DHCPDISCOVER sent, repetitions among them.
    pub discovers: u64,
    /// DHCPOFFER received by clients that waited for one.
    pub offers: u64,
    /// DHCPREQUEST sent, repetitions among them.
    pub requests: u64,
    /// DHCPACK received that began or prolonged a lease.
    pub acks: u64,
    /// DHCPNAK received by clients in reply to a request.
    pub naks: u64,
    /// DHCPDECLINE sent.
    pub declines: u64,
    /// DHCPRELEASE sent.
    pub releases: u64,
    /// DHCPOFFER and DHCPACK with an address that no client can have.
    pub refused: u64,
    /// Leases of an address that a neighbour had.
    pub duplicates: u64,
    /// Messages retransmitted because no reply arrived.
    pub repeated: u64,
    /// Leases prolonged by their server.
    pub renewed: u64,
    /// Leases prolonged after their server kept silent.
    pub rebound: u64,
    /// Leases that expired without renewal, or were ended by a DHCPNAK.
    pub lost: u64,
    /// Leases of an address that another client here had.
    pub conflicts: u64,
    /// From a client's first DHCPDISCOVER to its first lease.
    pub bind: Timing,
}

/// A client's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The client's number, from 0.
    pub client: u32,
    /// The client's hardware address.
    pub mac: Mac,
    /// Its address.
    pub ip: Ipv4Addr,
    /// Length of its network's prefix.
    pub prefix_len: u8,
    /// Its router, if the server named one.
    pub router: Option<Ipv4Addr>,
}

/// Current state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientView {
    /// Its number, from 0.
    pub client: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Its lease; `None` if it has none.
    pub held: Option<HeldLease>,
    /// Its messages sent and received.
    pub tally: ClientTally,
}

/// A lease with its times, s from the moment it began or was prolonged last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldLease {
    /// The address and what belongs to it.
    pub lease: Lease,
    /// The server it is of.
    pub server: Ipv4Addr,
    /// Until it ends; [`u32::MAX`] is never.
    pub lease_s: u32,
    /// Time until it renews with its server, s.
    pub renew_s: u32,
    /// Until any server is.
    pub rebind_s: u32,
    /// That moment.
    pub since: Nanos,
}

/// State that all DHCP clients of a port share.
#[derive(Debug, Default)]
pub struct DhcpProtocol {
    /// Holder of each address.
    holders: Holders<Ipv4Addr>,
}

/// DHCP clients of a port.
pub type DhcpClients = Pool<DhcpProtocol>;

impl Protocol for DhcpProtocol {
    type Config = DhcpConfig;
    type Client = Client;
    type Counts = DhcpCounts;

    const ACTS_UNTIL_TURN: bool = false;

    fn common(config: &DhcpConfig) -> &PoolConfig {
        &config.pool
    }

    /// Looks at a received frame; returns whether it was for a client.
    fn take(pool: &mut DhcpClients, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { from, vlans, packet }) = Received::read(frame) else { return false };
        let payload = match packet {
            Packet::Udp { is_v4: true, to: CLIENT_PORT, payload } => payload,
            Packet::ArpClaim { sender, address } => return pool.take_claim(now, sender, address, &vlans),
            _ => return false,
        };
        let Some(reply) = Reply::read(payload) else { return false };
        let Some(index) = pool.addressed(reply.client, &vlans) else { return false };
        let client = pool.clients[index as usize];
        if client.xid != reply.xid || client.state == State::Waiting {
            return false;
        }
        pool.answer(now, index, from, &reply);
        true
    }

    fn begin(pool: &mut DhcpClients, now: Nanos, index: u32) {
        pool.begin(now, index, now);
    }

    fn act(pool: &mut DhcpClients, now: Nanos, index: u32) {
        let frame = pool.act(now, index);
        pool.outbox.extend(frame);
    }

    fn renew(pool: &mut DhcpClients, now: Nanos, index: u32, at: Nanos) -> bool {
        match pool.clients[index as usize].state {
            State::Waiting => return false,
            State::Over => pool.begin(now, index, at),
            State::Leaving | State::Bound => pool.set(index, State::Bound, at),
            state => pool.set(index, state, at),
        }
        true
    }

    fn leave(pool: &mut DhcpClients, _: Nanos, index: u32, at: Nanos) {
        pool.set(index, State::Leaving, at);
    }

    fn give_up(pool: &mut DhcpClients, _: Nanos, index: u32) {
        let client = &pool.clients[index as usize];
        if client.state == State::Checking {
            // It has the lease, and what neighbours may still say is not waited for.
            let due = client.renews_at();
            pool.set(index, State::Bound, due);
        } else if !client.is_up() {
            pool.set(index, State::Over, Nanos::MAX);
        }
    }
}

impl DhcpClients {
    /// A neighbour has an address, or is about to.
    fn take_claim(&mut self, now: Nanos, sender: Mac, address: Ipv4Addr, vlans: &[u16]) -> bool {
        let holder = self.shared.holders.of(&address);
        let Some(index) = holder.filter(|index| self.config.pool.vlans.are_of(*index, vlans)) else {
            return false;
        };
        if self.clients[index as usize].state != State::Checking || self.number_of(sender).is_some() {
            return false;
        }
        self.counts.duplicates += 1;
        self.set(index, State::Declining, now);
        true
    }

    /// The leases there are, by client.
    pub fn leases(&self) -> impl Iterator<Item = Lease> + '_ {
        (0..self.len()).filter_map(|index| self.lease(index))
    }

    /// The lease of the client that has the address `ip`.
    pub fn lease_of(&self, ip: Ipv4Addr) -> Option<Lease> {
        self.shared.holders.of(&ip).and_then(|index| self.lease(index))
    }

    /// Current state of all clients.
    pub fn views(&self) -> impl Iterator<Item = ClientView> + '_ {
        (0..self.len()).map(|index| {
            let client = &self.clients[index as usize];
            let (server, lease_s) = (client.server, client.lease_s);
            let (renew_s, rebind_s) = (client.t1_s, client.t2_s);
            let since = client.since;
            let held = |lease| HeldLease { lease, server, lease_s, renew_s, rebind_s, since };
            ClientView {
                client: index,
                mac: self.mac_of(index),
                held: self.lease(index).map(held),
                tally: client.tally,
            }
        })
    }

    fn lease(&self, index: u32) -> Option<Lease> {
        let client = self.clients[index as usize];
        client.is_up().then(|| Lease {
            client: index,
            mac: self.mac_of(index),
            ip: client.ip,
            prefix_len: client.prefix_len,
            router: Some(client.router).filter(|ip| !ip.is_unspecified()),
        })
    }

    /// Makes a client search for a server from `at` on.
    fn begin(&mut self, now: Nanos, index: u32, at: Nanos) {
        let xid = self.word() as u32;
        let client = &mut self.clients[index as usize];
        if !client.is_outstanding() {
            client.since = now;
        }
        client.xid = xid;
        self.set(index, State::Selecting, at);
    }

    /// Changes a client's state, and when it has something to do.
    fn set(&mut self, index: u32, state: State, due: Nanos) {
        let client = &self.clients[index as usize];
        let held = client.has_address().then_some(client.ip);
        self.change(index, |client| {
            if client.state != state {
                client.sent = 0;
            }
            client.state = state;
        });
        if let Some(ip) = held.filter(|_| !self.clients[index as usize].has_address()) {
            self.shared.holders.forget(&ip, index);
        }
        self.schedule(index, due);
    }

    /// Does what is due for a client.
    fn act(&mut self, now: Nanos, index: u32) -> Option<Vec<u8>> {
        let client = self.clients[index as usize];
        match client.state {
            State::Waiting | State::Over => None,
            State::Leaving => {
                let frame = self.release_of(index);
                self.set(index, State::Over, Nanos::MAX);
                Some(frame)
            }
            State::Requesting if client.sent >= REQUESTS_MAX => {
                self.begin(now, index, now);
                None
            }
            State::Selecting | State::Requesting => Some(self.ask(now, index)),
            State::Checking if client.sent >= PROBES => {
                self.set(index, State::Bound, client.renews_at());
                None
            }
            State::Checking => {
                self.clients[index as usize].sent += 1;
                self.set(index, State::Checking, now.saturating_add(PROBE_EVERY));
                Some(Link::arp_probe(self.mac_of(index), &self.config.pool.vlans.of(index), client.ip))
            }
            State::Declining => {
                let frame = self.decline_of(index);
                self.begin(now, index, now.saturating_add(DECLINED_FOR));
                Some(frame)
            }
            State::Bound => {
                (self.clients[index as usize].xid, self.clients[index as usize].requested) =
                    (self.word() as u32, now);
                self.set(index, State::Renewing, now);
                None
            }
            State::Renewing if now >= client.rebinds_at() => {
                self.set(index, State::Rebinding, now);
                None
            }
            State::Rebinding if now >= client.expires_at() => {
                self.counts.lost += 1;
                self.begin(now, index, now);
                None
            }
            State::Renewing => Some(self.prolong(now, index, client.rebinds_at())),
            State::Rebinding => Some(self.prolong(now, index, client.expires_at())),
        }
    }

    /// Discovers a server, or requests its offer.
    fn ask(&mut self, now: Nanos, index: u32) -> Vec<u8> {
        let word = self.word();
        let client = &mut self.clients[index as usize];
        self.counts.repeated += u64::from(client.sent > 0);
        client.sent = client.sent.saturating_add(1);
        let (state, due) = (client.state, now.saturating_add(back_off(self.config.retry, client.sent, word)));
        let kind = if state == State::Selecting { MessageType::Discover } else { MessageType::Request };
        match kind {
            MessageType::Discover => {
                client.secs = (now.since(client.since).0 / 1_000_000_000).min(u16::MAX.into()) as u16;
            }
            _ => client.requested = now,
        }
        let client = *client;
        self.set(index, state, due);
        let mut draft = self.draft(index, kind);
        let tally = &mut self.clients[index as usize].tally;
        if kind == MessageType::Request {
            self.counts.requests += 1;
            tally.requests += 1;
            draft.option(option::REQUESTED, &client.ip.octets());
            draft.option(option::SERVER, &client.server.octets());
        } else {
            self.counts.discovers += 1;
            tally.discovers += 1;
        }
        self.to_all(index, Ipv4Addr::UNSPECIFIED, draft)
    }

    /// Asks for more time: its server, or any.
    fn prolong(&mut self, now: Nanos, index: u32, until: Nanos) -> Vec<u8> {
        let client = &mut self.clients[index as usize];
        self.counts.repeated += u64::from(client.sent > 0);
        self.counts.requests += 1;
        client.tally.requests += 1;
        client.sent = client.sent.saturating_add(1);
        client.requested = now;
        let (state, due) = (client.state, client.asks_again(now, until));
        let client = *client;
        self.set(index, state, due);
        let mut draft = self.draft(index, MessageType::Request);
        draft.address(client.ip);
        if state == State::Rebinding {
            return self.to_all(index, client.ip, draft);
        }
        self.to_server(index, draft)
    }

    fn release_of(&mut self, index: u32) -> Vec<u8> {
        self.counts.releases += 1;
        self.clients[index as usize].tally.releases += 1;
        let client = self.clients[index as usize];
        self.clients[index as usize].xid = self.word() as u32;
        let mut draft = self.draft(index, MessageType::Release);
        draft.address(client.ip);
        draft.option(option::SERVER, &client.server.octets());
        self.to_server(index, draft)
    }

    /// Declines the address granted by a server (RFC 2131 section 4.4.4: broadcast, from no address).
    fn decline_of(&mut self, index: u32) -> Vec<u8> {
        self.counts.declines += 1;
        self.clients[index as usize].xid = self.word() as u32;
        let client = self.clients[index as usize];
        let mut draft = self.draft(index, MessageType::Decline);
        draft.option(option::REQUESTED, &client.ip.octets());
        draft.option(option::SERVER, &client.server.octets());
        self.to_all(index, Ipv4Addr::UNSPECIFIED, draft)
    }

    /// A message with what all messages of a client have.
    fn draft(&self, index: u32, kind: MessageType) -> Draft {
        let client = &self.clients[index as usize];
        let config = &self.config;
        let secs = if client.is_outstanding() { client.secs } else { 0 };
        let mut draft = Draft::new(kind, self.mac_of(index), client.xid, secs);
        if let Some(id) = &config.client_id {
            // Of no hardware type (RFC 2132 section 9.14).
            draft.option(option::CLIENT_ID, &[&[0], config.pool.vlans.text(id, index).as_bytes()].concat());
        }
        // Neither asks for anything (RFC 2131 table 5).
        if matches!(kind, MessageType::Release | MessageType::Decline) {
            return draft;
        }
        if config.broadcast {
            draft.broadcast();
        }
        draft.option(option::MAX_SIZE, &MESSAGE_MAX.to_be_bytes());
        draft.option(option::PARAMETERS, &[&ASKED[..], &config.ask_for].concat());
        if let Some(name) = &config.host_name {
            draft.option(option::HOST_NAME, config.pool.vlans.text(name, index).as_bytes());
        }
        if let Some(class) = &config.vendor_class {
            draft.option(option::VENDOR_CLASS, class.as_bytes());
        }
        draft.relayed(self.relay_information(index));
        draft
    }

    /// Sub-options that an access node adds for a client.
    fn relay_information(&self, index: u32) -> Vec<u8> {
        let RelayInfo { circuit_id, remote_id } = &self.config.relay;
        let mut information = Vec::new();
        for (number, id) in [(CIRCUIT_ID, circuit_id), (REMOTE_ID, remote_id)] {
            let Some(id) = id.as_ref().map(|id| self.config.pool.vlans.text(id, index)) else { continue };
            let id = &id.as_bytes()[..id.len().min(120)];
            information.extend([number, id.len() as u8]);
            information.extend(id);
        }
        information
    }

    fn to_all(&self, index: u32, from: Ipv4Addr, draft: Draft) -> Vec<u8> {
        let link = Link { from: self.mac_of(index), to: BROADCAST, vlans: &self.config.pool.vlans.of(index) };
        link.udp((from, CLIENT_PORT), (Ipv4Addr::BROADCAST, SERVER_PORT), &draft.finish())
    }

    fn to_server(&self, index: u32, draft: Draft) -> Vec<u8> {
        let client = &self.clients[index as usize];
        let link = Link {
            from: self.mac_of(index),
            to: client.server_mac,
            vlans: &self.config.pool.vlans.of(index),
        };
        link.udp((client.ip, CLIENT_PORT), (client.server, SERVER_PORT), &draft.finish())
    }

    /// Processes a server's reply to a client's message.
    fn answer(&mut self, now: Nanos, index: u32, from: Mac, reply: &Reply) {
        let client = &mut self.clients[index as usize];
        // Another server's answer to what was asked of this one is none (RFC 2131 section 3.1, point 4); any may answer a
        // client that rebinds.
        let is_its = reply.server.is_none_or(|server| server == client.server);
        let is_usable = Reply { server: reply.server.or(Some(client.server)), ..*reply }.is_usable();
        match (client.state, reply.kind) {
            (State::Selecting, MessageType::Offer) if !is_usable => self.counts.refused += 1,
            (State::Requesting, MessageType::Ack) if is_its && !is_usable => {
                self.counts.refused += 1;
                client.ip = reply.address;
                self.set(index, State::Declining, now);
            }
            (State::Renewing | State::Rebinding, MessageType::Ack) if !is_usable => {
                // It keeps the address it has for as long as it may.
                self.counts.refused += 1;
            }
            (State::Selecting, MessageType::Offer) => {
                let Some(server) = reply.server else { return };
                self.counts.offers += 1;
                client.tally.offers += 1;
                (client.ip, client.server, client.requested) = (reply.address, server, now);
                self.set(index, State::Requesting, now);
            }
            (State::Requesting | State::Renewing | State::Rebinding, MessageType::Ack)
                if client.state == State::Rebinding || is_its =>
            {
                self.bind(now, index, from, reply);
            }
            (State::Requesting, MessageType::Nak) if is_its => {
                self.counts.naks += 1;
                client.tally.naks += 1;
                client.naks = client.naks.saturating_add(1);
                let naks = client.naks;
                let word = self.word();
                // At once the first time; a server that says no again and again is asked less and less.
                let wait = if naks > 1 { back_off(self.config.retry, naks - 1, word) } else { Nanos::ZERO };
                self.begin(now, index, now.saturating_add(wait));
            }
            (State::Renewing | State::Rebinding, MessageType::Nak)
                if is_its || client.state == State::Rebinding =>
            {
                self.counts.naks += 1;
                client.tally.naks += 1;
                self.counts.lost += 1;
                self.begin(now, index, now);
            }
            _ => {}
        }
    }

    /// A lease begins, or gets more time.
    fn bind(&mut self, now: Nanos, index: u32, from: Mac, reply: &Reply) {
        let Some(lease_s) = reply.lease_s.map(|lease| lease.max(LEASE_LEAST)) else { return };
        let client = &mut self.clients[index as usize];
        let was = *client;
        self.counts.acks += 1;
        client.tally.acks += 1;
        match was.state {
            State::Renewing => self.counts.renewed += 1,
            State::Rebinding => self.counts.rebound += 1,
            _ => {
                if self.note_up(now) {
                    self.counts.bind.record(now.since(was.since).0);
                }
            }
        }
        let is_new = !was.is_up() || was.ip != reply.address;
        if was.is_up() && is_new {
            self.shared.holders.forget(&was.ip, index);
        }
        let client = &mut self.clients[index as usize];
        // Defaults of RFC 2131 section 4.4.5, also where a server's times are out of order.
        let share = |eighths: u64| (u64::from(lease_s) * eighths / 8) as u32;
        let (t1, t2) = (reply.t1_s.unwrap_or(share(4)), reply.t2_s.unwrap_or(share(7)));
        let is_sound = 0 < t1 && t1 <= t2 && t2 <= lease_s;
        let (t1, t2) = match lease_s {
            u32::MAX => (u32::MAX, u32::MAX),
            _ if is_sound => (t1, t2),
            _ => (share(4).max(1), share(7).max(1)),
        };
        // RFC 2131 section 4.4.1: a lease begins with the request for it.
        client.since = client.requested;
        client.ip = reply.address;
        client.server = reply.server.unwrap_or(client.server);
        client.router = reply.router.unwrap_or(Ipv4Addr::UNSPECIFIED);
        client.prefix_len = reply.prefix_len.unwrap_or(32);
        client.server_mac = from;
        (client.lease_s, client.t1_s, client.t2_s) = (lease_s, t1, t2);
        client.naks = 0;
        let due = client.renews_at();
        let has_twin = self.shared.holders.is_of_other(&reply.address, index);
        self.counts.conflicts += u64::from(has_twin);
        if has_twin && self.config.check {
            // The other client would say so.
            return self.set(index, State::Declining, now);
        }
        self.shared.holders.put(reply.address, index);
        if is_new && self.config.check {
            return self.set(index, State::Checking, now);
        }
        self.set(index, State::Bound, due);
    }
}

#[cfg(test)]
mod tests;
