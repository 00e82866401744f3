//! Protocols in a session: LCP (RFC 1661), IPCP (RFC 1332, RFC 1877), IPV6CP (RFC 5072).

use super::authenticate::option;
use super::{PAYLOAD_MAX, PppoeClients};
use crate::frame::link_local;
use crate::pppoe::client::{Layer, PppoeFailure, PppoeMethod, State};
use crate::pppoe::negotiation::{Effects, Step};
use crate::pppoe::packet::{Control, code, options, protocol, put_option};
use std::net::Ipv4Addr;
use units::Nanos;

/// Options of LCP (RFC 1661 section 6).
const MRU: u8 = 1;
const AUTHENTICATION: u8 = 3;
const MAGIC: u8 = 5;
/// Options of IPCP (RFC 1332 section 3.3, RFC 1877 section 1).
const ADDRESS: u8 = 3;
const DNS: [u8; 2] = [129, 131];
/// Option of IPV6CP (RFC 5072 section 4.1).
const INTERFACE: u8 = 1;
/// Bits of [`Negotiation::rejected`](crate::pppoe::negotiation::Negotiation): LCP's options, and IPCP's.
const NO_MRU: u8 = 1;
const NO_MAGIC: u8 = 2;
const NO_ADDRESS: u8 = 1;
const NO_DNS: [u8; 2] = [2, 4];
/// Smallest and largest MRU that a peer may request; others are clamped to these.
const MRU_LEAST: u16 = 128;
const MRU_MOST: u16 = 16_383;
/// Longest part of a packet that is rejected which is returned.
const REJECTED_MAX: usize = 256;

/// Verdict on a peer's options.
enum Judgement {
    Agreed,
    /// Others are wanted, or some not at all.
    Answer(u8, Vec<u8>),
}

impl PppoeClients {
    /// A session began.
    pub(super) fn start_link(&mut self, now: Nanos, index: u32) {
        let effects = self.clients[index as usize].layer(Layer::Lcp).start();
        self.follow(now, index, Layer::Lcp, effects);
    }

    /// The client is authenticated: it requests its address.
    pub(super) fn start_network(&mut self, now: Nanos, index: u32) {
        self.enter(now, index, State::Networking, self.deadline(now));
        let eui = link_local(self.mac_of(index)).octets();
        let client = &mut self.clients[index as usize];
        client.interface = eui[8..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let wanted = [Some(Layer::Ipcp), self.config.ipv6.then_some(Layer::Ipv6cp)];
        for layer in wanted.into_iter().flatten() {
            let effects = self.clients[index as usize].layer(layer).start();
            self.follow(now, index, layer, effects);
        }
    }

    /// Does what follows from an event of a layer.
    pub(super) fn follow(&mut self, now: Nanos, index: u32, layer: Layer, effects: Effects) {
        if effects.down {
            self.went_down(now, index, layer);
        }
        let one = self.clients[index as usize].layer(layer);
        if effects.request {
            if one.is_hopeless() {
                self.give_up_layer(now, index, layer);
                return;
            }
            self.counts.repeated += u64::from(one.sent > 0);
            one.id = one.id.wrapping_add(u8::from(one.sent == 0));
            one.sent += 1;
            let id = one.id;
            let wait = self.patience(1);
            self.clients[index as usize].layer(layer).due = now.saturating_add(wait);
            let data = self.wanted(index, layer);
            self.say(index, number(layer), Control { code: code::CONFIGURE_REQUEST, id, data: &data });
        }
        if effects.up {
            self.went_up(now, index, layer);
        }
    }

    fn give_up_layer(&mut self, now: Nanos, index: u32, layer: Layer) {
        match layer {
            Layer::Lcp => self.fail(now, index, PppoeFailure::Link),
            Layer::Ipcp => self.fail(now, index, PppoeFailure::Network),
            Layer::Ipv6cp => self.go_without_ipv6(now, index),
        }
    }

    pub(super) fn go_without_ipv6(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        client.layer(Layer::Ipv6cp).stop();
        client.without_ipv6 = true;
        self.look_whether_up(now, index);
    }

    fn went_up(&mut self, now: Nanos, index: u32, layer: Layer) {
        let client = &self.clients[index as usize];
        match layer {
            Layer::Lcp => {
                if !client.was_up {
                    self.counts.link.record(now.since(client.entered).0);
                }
                if client.method.is_some() {
                    self.enter(now, index, State::Authenticating, now);
                    self.clients[index as usize].sent = 0;
                } else {
                    self.start_network(now, index);
                }
            }
            Layer::Ipcp if client.ip.is_unspecified() => self.fail(now, index, PppoeFailure::Network),
            Layer::Ipcp | Layer::Ipv6cp => self.look_whether_up(now, index),
        }
    }

    fn look_whether_up(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        let is_open = client.layer(Layer::Ipcp).step == Step::Opened;
        let has_ipv6 = client.layer(Layer::Ipv6cp).step == Step::Opened;
        let is_complete = is_open && (!self.config.ipv6 || has_ipv6 || client.without_ipv6);
        if is_complete && client.state == State::Networking {
            self.come_up(now, index);
        }
    }

    /// A layer that was open is negotiated anew.
    fn went_down(&mut self, now: Nanos, index: u32, layer: Layer) {
        if layer == Layer::Lcp {
            let client = &mut self.clients[index as usize];
            [Layer::Ipcp, Layer::Ipv6cp].into_iter().for_each(|layer| client.layer(layer).stop());
            client.method = None;
            self.enter(now, index, State::Linking, self.deadline(now));
        } else if self.clients[index as usize].state == State::Up {
            self.enter(now, index, State::Networking, self.deadline(now));
        }
    }

    /// The options that a client requests.
    fn wanted(&self, index: u32, layer: Layer) -> Vec<u8> {
        let client = &self.clients[index as usize];
        let rejected = client.layers[layer as usize].rejected;
        let mut data = Vec::new();
        match layer {
            Layer::Lcp => {
                if rejected & NO_MRU == 0 {
                    put_option(&mut data, MRU, &client.mru.to_be_bytes());
                }
                if rejected & NO_MAGIC == 0 {
                    put_option(&mut data, MAGIC, &client.magic.to_be_bytes());
                }
            }
            Layer::Ipcp => {
                if rejected & NO_ADDRESS == 0 {
                    put_option(&mut data, ADDRESS, &client.ip.octets());
                }
                for place in (0..2).filter(|place| self.config.dns && rejected & NO_DNS[*place] == 0) {
                    put_option(&mut data, DNS[place], &client.dns[place].octets());
                }
            }
            Layer::Ipv6cp => put_option(&mut data, INTERFACE, &client.interface.to_be_bytes()),
        }
        data
    }

    /// Takes a PPP packet of a client's session; returns whether it was understood.
    pub(super) fn hear(&mut self, now: Nanos, index: u32, payload: &[u8]) -> bool {
        let Some((kind, rest)) = payload.split_first_chunk() else { return false };
        let kind = u16::from_be_bytes(*kind);
        if kind < protocol::CONTROL {
            return false;
        }
        let client = &self.clients[index as usize];
        let is_linked = client.layers[Layer::Lcp as usize].step == Step::Opened;
        let is_networking = matches!(client.state, State::Networking | State::Up);
        let Some(packet) = Control::read(rest) else { return false };
        match kind {
            protocol::LCP => self.hear_link(now, index, &packet),
            protocol::PAP => self.hear_pap(now, index, &packet),
            protocol::CHAP => self.hear_chap(now, index, &packet),
            protocol::IPCP if is_networking => self.hear_layer(now, index, Layer::Ipcp, &packet),
            protocol::IPV6CP if is_networking && self.config.ipv6 && !client.without_ipv6 => {
                self.hear_layer(now, index, Layer::Ipv6cp, &packet)
            }
            // RFC 1661 section 3.4: what comes too early is passed over.
            protocol::IPCP => false,
            _ if is_linked && client.state != State::Leaving => {
                self.reject(index, code::PROTOCOL_REJECT, payload);
                true
            }
            _ => false,
        }
    }

    fn hear_link(&mut self, now: Nanos, index: u32, packet: &Control<'_>) -> bool {
        let client = &mut self.clients[index as usize];
        let is_open = client.layer(Layer::Lcp).step == Step::Opened;
        if client.state == State::Leaving {
            match packet.code {
                code::TERMINATE_ACK => self.close(now, index),
                code::TERMINATE_REQUEST => {
                    self.acknowledge_end(index, packet);
                    self.close(now, index);
                }
                _ => return false,
            }
            return true;
        }
        match packet.code {
            code::TERMINATE_REQUEST => {
                self.acknowledge_end(index, packet);
                self.note(packet.data);
                self.fail(now, index, PppoeFailure::Ended);
            }
            code::PROTOCOL_REJECT => {
                let Some(rejected) = packet.data.first_chunk() else { return false };
                match u16::from_be_bytes(*rejected) {
                    protocol::LCP => self.fail(now, index, PppoeFailure::Link),
                    protocol::IPCP => self.fail(now, index, PppoeFailure::Network),
                    protocol::PAP | protocol::CHAP => self.fail(now, index, PppoeFailure::Authentication),
                    protocol::IPV6CP => self.go_without_ipv6(now, index),
                    _ => return false,
                }
            }
            code::ECHO_REQUEST if is_open => {
                let magic = client.magic.to_be_bytes();
                let is_own = packet.data.first_chunk() == Some(&magic);
                // RFC 1661 section 5.8: one's own magic number comes back on a looped line.
                if !is_own {
                    let data = [&magic[..], packet.data.get(4..).unwrap_or_default()].concat();
                    self.counts.echoes_answered += 1;
                    self.say(
                        index,
                        protocol::LCP,
                        Control { code: code::ECHO_REPLY, id: packet.id, data: &data },
                    );
                }
            }
            code::ECHO_REPLY if is_open => {
                // One of those that found no answer yet.
                let is_its = client.id.wrapping_sub(packet.id) < client.unanswered;
                if client.state == State::Up && is_its {
                    client.unanswered = 0;
                    self.counts.echo_replies += 1;
                }
            }
            code::ECHO_REQUEST | code::ECHO_REPLY | code::DISCARD_REQUEST => {}
            code::IDENTIFICATION | code::TIME_REMAINING => {}
            _ => return self.hear_layer(now, index, Layer::Lcp, packet),
        }
        true
    }

    /// Takes what all layers with options have in common.
    fn hear_layer(&mut self, now: Nanos, index: u32, layer: Layer, packet: &Control<'_>) -> bool {
        let step = self.clients[index as usize].layer(layer).step;
        if step == Step::Starting {
            return false;
        }
        let is_last = self.clients[index as usize].layer(layer).id == packet.id;
        match packet.code {
            code::CONFIGURE_REQUEST => {
                let Some(asked) = options(packet.data) else { return false };
                if layer == Layer::Lcp && step == Step::Opened {
                    // What was agreed on before does not count.
                    self.clients[index as usize].method = None;
                }
                let (answer, data) = match self.judge(index, layer, &asked) {
                    Judgement::Agreed => (code::CONFIGURE_ACK, packet.data.to_vec()),
                    Judgement::Answer(code, data) => (code, data),
                };
                let agreed = answer == code::CONFIGURE_ACK;
                if agreed {
                    self.adopt(index, layer, &asked);
                }
                let effects = self.clients[index as usize].layer(layer).asked(agreed);
                let method = self.clients[index as usize].method;
                self.say(index, number(layer), Control { code: answer, id: packet.id, data: &data });
                self.follow(now, index, layer, Effects { up: false, ..effects });
                if layer == Layer::Lcp {
                    self.clients[index as usize].method = method;
                }
                self.follow(now, index, layer, Effects { request: false, down: false, ..effects });
            }
            code::CONFIGURE_ACK => {
                if !is_last || packet.data != self.wanted(index, layer) {
                    return false;
                }
                let effects = self.clients[index as usize].layer(layer).agreed();
                self.follow(now, index, layer, effects);
            }
            code::CONFIGURE_NAK | code::CONFIGURE_REJECT => {
                let Some(said) = options(packet.data).filter(|_| is_last) else { return false };
                if packet.code == code::CONFIGURE_NAK {
                    self.heed(index, layer, &said);
                } else {
                    self.drop_options(index, layer, &said);
                }
                if layer == Layer::Ipv6cp && packet.code == code::CONFIGURE_REJECT {
                    self.go_without_ipv6(now, index);
                    return true;
                }
                let effects = self.clients[index as usize].layer(layer).refused();
                self.follow(now, index, layer, effects);
            }
            code::TERMINATE_REQUEST => {
                let data = packet.data;
                self.say(index, number(layer), Control { code: code::TERMINATE_ACK, id: packet.id, data });
                match layer {
                    Layer::Ipv6cp => self.go_without_ipv6(now, index),
                    _ => self.fail(now, index, PppoeFailure::Network),
                }
            }
            code::TERMINATE_ACK => {
                let effects = self.clients[index as usize].layer(layer).ended();
                self.follow(now, index, layer, effects);
            }
            code::CODE_REJECT => {
                // RFC 1661 section 5.6: without the first seven codes there is nothing.
                if packet.data.first().is_some_and(|one| (1..=code::CODE_REJECT).contains(one)) {
                    self.give_up_layer(now, index, layer);
                }
            }
            _ => {
                let returned = [
                    &[packet.code, packet.id][..],
                    &(packet.data.len() as u16 + 4).to_be_bytes(),
                    packet.data,
                ];
                self.reject_code(index, layer, &returned.concat());
            }
        }
        true
    }

    /// Verdict on the options that a peer requests (RFC 1661 sections 5.2 to 5.4: first unknown, then unacceptable
    /// ones).
    fn judge(&self, index: u32, layer: Layer, asked: &[(u8, &[u8])]) -> Judgement {
        let client = &self.clients[index as usize];
        let (mut rejected, mut others) = (Vec::new(), Vec::new());
        for (kind, value) in asked {
            match (layer, *kind, value.len()) {
                (Layer::Lcp, MRU, 2) => {}
                (Layer::Lcp, MAGIC, 4) => {
                    if *value == client.magic.to_be_bytes() {
                        let other = random::word(self.key, u64::from(client.magic)) as u32 | 1;
                        put_option(&mut others, MAGIC, &other.to_be_bytes());
                    }
                }
                (Layer::Lcp, AUTHENTICATION, _) => match (self.method_of(value), self.config.methods.first())
                {
                    (Some(_), _) => {}
                    (None, Some(best)) => put_option(&mut others, AUTHENTICATION, option(*best)),
                    (None, None) => put_option(&mut rejected, AUTHENTICATION, value),
                },
                (Layer::Ipcp, ADDRESS, 4) if value.iter().any(|byte| *byte != 0) => {}
                (Layer::Ipv6cp, INTERFACE, 8) => {
                    if value.iter().all(|byte| *byte == 0) || *value == client.interface.to_be_bytes() {
                        let other = random::word(self.key, client.interface) & !(1 << 57) | 1;
                        put_option(&mut others, INTERFACE, &other.to_be_bytes());
                    }
                }
                _ => put_option(&mut rejected, *kind, value),
            }
        }
        if !rejected.is_empty() {
            Judgement::Answer(code::CONFIGURE_REJECT, rejected)
        } else if !others.is_empty() {
            Judgement::Answer(code::CONFIGURE_NAK, others)
        } else {
            Judgement::Agreed
        }
    }

    /// The authentication method in an option, if allowed.
    fn method_of(&self, value: &[u8]) -> Option<PppoeMethod> {
        self.config.methods.iter().copied().find(|method| option(*method) == value)
    }

    /// Stores the agreed options of a peer.
    fn adopt(&mut self, index: u32, layer: Layer, asked: &[(u8, &[u8])]) {
        let method = asked.iter().find(|(kind, _)| *kind == AUTHENTICATION);
        let method = method.and_then(|(_, value)| self.method_of(value));
        let client = &mut self.clients[index as usize];
        if layer == Layer::Lcp {
            (client.method, client.peer_mru) = (method, PAYLOAD_MAX);
        }
        for (kind, value) in asked {
            match (layer, *kind) {
                (Layer::Lcp, MRU) => {
                    if let Some(two) = value.first_chunk() {
                        client.peer_mru = u16::from_be_bytes(*two).clamp(MRU_LEAST, MRU_MOST);
                    }
                }
                (Layer::Ipcp, ADDRESS) => client.peer = address(value).unwrap_or(client.peer),
                (Layer::Ipv6cp, INTERFACE) => client.peer_interface = identifier(value).unwrap_or(0),
                _ => {}
            }
        }
    }

    /// Adopts a peer's counter-proposal.
    fn heed(&mut self, index: u32, layer: Layer, said: &[(u8, &[u8])]) {
        let magic = (self.word() as u32).max(1);
        let client = &mut self.clients[index as usize];
        for (kind, value) in said {
            match (layer, *kind) {
                (Layer::Lcp, MRU) => {
                    if let Some(two) = value.first_chunk() {
                        client.mru = u16::from_be_bytes(*two).clamp(MRU_LEAST, client.mru.max(MRU_LEAST));
                    }
                }
                (Layer::Lcp, MAGIC) => client.magic = magic,
                (Layer::Ipcp, ADDRESS) => client.ip = address(value).unwrap_or(client.ip),
                (Layer::Ipcp, kind) => {
                    if let Some(place) = DNS.iter().position(|dns| *dns == kind) {
                        client.dns[place] = address(value).unwrap_or(client.dns[place]);
                    }
                }
                (Layer::Ipv6cp, INTERFACE) => {
                    client.interface = identifier(value).filter(|one| *one != 0).unwrap_or(client.interface);
                }
                _ => {}
            }
        }
    }

    /// Asks no more for what a peer rejects.
    fn drop_options(&mut self, index: u32, layer: Layer, said: &[(u8, &[u8])]) {
        let client = &mut self.clients[index as usize];
        for (kind, _) in said {
            let bit = match (layer, *kind) {
                (Layer::Lcp, MRU) => NO_MRU,
                (Layer::Lcp, MAGIC) => NO_MAGIC,
                (Layer::Ipcp, ADDRESS) => NO_ADDRESS,
                (Layer::Ipcp, kind) if kind == DNS[0] => NO_DNS[0],
                (Layer::Ipcp, kind) if kind == DNS[1] => NO_DNS[1],
                _ => 0,
            };
            if bit & NO_MAGIC != 0 && layer == Layer::Lcp {
                client.magic = 0;
            }
            client.layer(layer).rejected |= bit;
        }
    }

    fn acknowledge_end(&mut self, index: u32, packet: &Control<'_>) {
        let ack = Control { code: code::TERMINATE_ACK, id: packet.id, data: packet.data };
        self.say(index, protocol::LCP, ack);
    }

    /// Says that a protocol is not known.
    fn reject(&mut self, index: u32, code: u8, returned: &[u8]) {
        let client = &mut self.clients[index as usize];
        client.layer(Layer::Lcp).id = client.layer(Layer::Lcp).id.wrapping_add(1);
        let id = client.layer(Layer::Lcp).id;
        let data = &returned[..returned.len().min(REJECTED_MAX)];
        self.counts.rejected += 1;
        self.say(index, protocol::LCP, Control { code, id, data });
    }

    /// Says that a code is not known.
    fn reject_code(&mut self, index: u32, layer: Layer, returned: &[u8]) {
        let data = &returned[..returned.len().min(REJECTED_MAX)];
        self.counts.rejected += 1;
        // Another one each time (RFC 1661 section 5.6).
        let id = self.counts.rejected as u8;
        self.say(index, number(layer), Control { code: code::CODE_REJECT, id, data });
    }

    /// Asks the peer whether it is there, or gives it up (RFC 1661 section 5.8).
    pub(super) fn keep_alive(&mut self, now: Nanos, index: u32) {
        let Some(every) = self.config.keepalive else { return };
        let client = &mut self.clients[index as usize];
        if client.unanswered >= self.config.keepalive_misses {
            self.fail(now, index, PppoeFailure::Silent);
            return;
        }
        client.unanswered += 1;
        client.id = client.id.wrapping_add(1);
        client.timer = now.saturating_add(every);
        let (id, data) = (client.id, client.magic.to_be_bytes());
        self.counts.echo_requests += 1;
        self.say(index, protocol::LCP, Control { code: code::ECHO_REQUEST, id, data: &data });
    }
}

fn number(layer: Layer) -> u16 {
    match layer {
        Layer::Lcp => protocol::LCP,
        Layer::Ipcp => protocol::IPCP,
        Layer::Ipv6cp => protocol::IPV6CP,
    }
}

fn address(value: &[u8]) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*value.first_chunk::<4>()?))
}

fn identifier(value: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*value.first_chunk()?))
}
