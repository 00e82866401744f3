//! Discovery (RFC 2516 section 5): who is there, and which session a client has.

use super::{PAYLOAD_MAX, PppoeClients};
use crate::frame::{BROADCAST, Link, Mac};
use crate::pppoe::client::{Exchange, PppoeFailure, State};
use crate::pppoe::discovery::{Pppoe, code, put_tag, tag, tags};
use units::Nanos;

/// Requests for a session until a client looks for an access concentrator again.
const REQUESTS_MAX: u8 = 4;
/// Longest value of a tag that is returned.
const RETURNED_MAX: usize = 512;
/// The Broadband Forum's number in its tag (TR-101 section 3.9.1), and what the tag holds.
const FORUM: [u8; 4] = 3_561u32.to_be_bytes();
const CIRCUIT_ID: u8 = 1;
const REMOTE_ID: u8 = 2;

/// Content of a reply's tags.
#[derive(Default)]
struct Said<'f> {
    uniq: Option<&'f [u8]>,
    ac: Option<&'f [u8]>,
    has_service: bool,
    cookie: Option<&'f [u8]>,
    relay: Option<&'f [u8]>,
    max_payload: Option<u16>,
    error: Option<&'f [u8]>,
}

impl<'f> Said<'f> {
    fn read(payload: &'f [u8], service: &str) -> Self {
        let mut said = Self::default();
        for (kind, value) in tags(payload) {
            match kind {
                tag::HOST_UNIQ => said.uniq = Some(value),
                tag::AC_NAME => said.ac = Some(value),
                tag::SERVICE_NAME => said.has_service |= service.is_empty() || value == service.as_bytes(),
                tag::AC_COOKIE => said.cookie = Some(value),
                tag::RELAY_SESSION => said.relay = Some(value),
                tag::MAX_PAYLOAD => {
                    said.max_payload = value.first_chunk().map(|two| u16::from_be_bytes(*two));
                }
                tag::SERVICE_NAME_ERROR | tag::AC_SYSTEM_ERROR | tag::GENERIC_ERROR => {
                    said.error = Some(value);
                }
                _ => {}
            }
        }
        said
    }
}

impl PppoeClients {
    /// Discovers an access concentrator, or requests a session from the one found.
    pub(super) fn ask_for_session(&mut self, now: Nanos, index: u32) {
        let client = &self.clients[index as usize];
        if client.state == State::Requesting && client.sent >= REQUESTS_MAX {
            let began = client.entered;
            self.enter(now, index, State::Initiating, now);
            self.clients[index as usize].entered = began;
        }
        let client = &mut self.clients[index as usize];
        let is_request = client.state == State::Requesting;
        self.counts.repeated += u64::from(client.sent > 0);
        client.sent = client.sent.saturating_add(1);
        let (sent, ac) = (client.sent, client.ac);
        let wait = self.patience(sent);
        self.clients[index as usize].timer = now.saturating_add(wait);
        let tags = self.tags_of(index, is_request);
        let code = if is_request { code::PADR } else { code::PADI };
        *(if is_request { &mut self.counts.requests } else { &mut self.counts.initiations }) += 1;
        let to = if is_request { ac } else { BROADCAST };
        let link = Link { from: self.mac_of(index), to, vlans: &self.config.pool.vlans.of(index) };
        self.outbox.push(link.pppoe_discovery(&Pppoe { code, session: 0, payload: &tags }));
    }

    fn tags_of(&self, index: u32, is_request: bool) -> Vec<u8> {
        let (config, client) = (&self.config, &self.clients[index as usize]);
        let mut tags = Vec::new();
        put_tag(&mut tags, tag::SERVICE_NAME, config.service.as_bytes());
        put_tag(&mut tags, tag::HOST_UNIQ, &client.uniq.to_be_bytes());
        if config.mtu > PAYLOAD_MAX {
            put_tag(&mut tags, tag::MAX_PAYLOAD, &config.mtu.to_be_bytes());
        }
        if config.circuit_id.is_some() || config.remote_id.is_some() {
            let mut value = FORUM.to_vec();
            for (kind, text) in [(CIRCUIT_ID, &config.circuit_id), (REMOTE_ID, &config.remote_id)] {
                let Some(text) = text.as_ref().map(|text| config.pool.vlans.text(text, index)) else {
                    continue;
                };
                let text = &text.as_bytes()[..text.len().min(u8::MAX.into())];
                value.extend([kind, text.len() as u8]);
                value.extend(text);
            }
            put_tag(&mut tags, tag::VENDOR, &value);
        }
        if let Some(exchange) = client.exchange.as_ref().filter(|_| is_request) {
            let returned = [(tag::AC_COOKIE, &exchange.cookie), (tag::RELAY_SESSION, &exchange.relay)];
            for (kind, value) in
                returned.into_iter().filter_map(|(kind, value)| Some((kind, value.as_ref()?)))
            {
                put_tag(&mut tags, kind, value);
            }
        }
        tags
    }

    /// Takes a discovery packet to a client; returns whether it was for it.
    pub(super) fn discover(&mut self, now: Nanos, index: u32, from: Mac, packet: &Pppoe<'_>) -> bool {
        let client = &self.clients[index as usize];
        let (state, uniq) = (client.state, client.uniq.to_be_bytes());
        let said = Said::read(packet.payload, &self.config.service);
        let is_answer = said.uniq == Some(&uniq);
        match (packet.code, state) {
            (code::PADT, _)
                if client.session == packet.session && client.has_session() && client.ac == from =>
            {
                self.counts.terminations_received += 1;
                // RFC 2516 section 5.5: not even to end it is anything sent in that session.
                self.clients[index as usize].session = 0;
                if let Some(error) = said.error {
                    self.note(error);
                }
                self.fail(now, index, PppoeFailure::Ended);
                true
            }
            (code::PADO, State::Initiating) if is_answer => {
                self.counts.offers += 1;
                if let Some(error) = said.error {
                    // Another one may have what this one has not.
                    self.note(error);
                    self.counts.passed_over += 1;
                    return true;
                }
                let is_wanted = self.config.ac.as_ref().is_none_or(|name| said.ac == Some(name.as_bytes()));
                if !is_wanted || !said.has_service || from[0] & 1 != 0 {
                    self.counts.passed_over += 1;
                    return true;
                }
                let kept =
                    |value: Option<&[u8]>| value.filter(|one| one.len() <= RETURNED_MAX).map(<[u8]>::to_vec);
                let exchange =
                    Exchange { cookie: kept(said.cookie), relay: kept(said.relay), challenge: None };
                let client = &mut self.clients[index as usize];
                (client.ac, client.exchange) = (from, Some(Box::new(exchange)));
                let began = client.entered;
                self.enter(now, index, State::Requesting, now);
                // The time of discovery is that of both questions.
                self.clients[index as usize].entered = began;
                true
            }
            (code::PADS, State::Requesting) if is_answer && client.ac == from => {
                if let Some(error) = said.error.or_else(|| (packet.session == 0).then_some(&b""[..])) {
                    self.note(error);
                    self.fail(now, index, PppoeFailure::Discovery);
                    return true;
                }
                self.counts.confirmations += 1;
                self.counts.discovery.record(now.since(client.entered).0);
                let agreed = said.max_payload.is_some_and(|most| most >= self.config.mtu);
                let most = if agreed { self.config.mtu } else { self.config.mtu.min(PAYLOAD_MAX) };
                let client = &mut self.clients[index as usize];
                (client.session, client.mru, client.peer_mru) = (packet.session, most, PAYLOAD_MAX);
                self.enter(now, index, State::Linking, self.deadline(now));
                self.start_link(now, index);
                true
            }
            _ => false,
        }
    }

    /// Says that a session is over (RFC 2516 section 5.5).
    pub(super) fn terminate(&mut self, index: u32) {
        let client = &self.clients[index as usize];
        let link = Link { from: self.mac_of(index), to: client.ac, vlans: &self.config.pool.vlans.of(index) };
        let packet = Pppoe { code: code::PADT, session: client.session, payload: &[] };
        self.outbox.push(link.pppoe_discovery(&packet));
        self.counts.terminations_sent += 1;
        self.clients[index as usize].session = 0;
    }
}
