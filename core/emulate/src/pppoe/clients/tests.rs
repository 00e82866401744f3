//! Clients and a model of an access concentrator, with a network between them that loses, repeats and reorders.

use super::*;
use crate::ClientVlans;
use crate::pool::tests::{Network, Serve, common};
use crate::pppoe::discovery::{code as pppoe_code, put_tag, tag, tags};
use crate::pppoe::packet::{options, put_option};
use crate::pppoe::secret::{chap_md5, ms_proof, ms_response};
use std::collections::{BTreeMap, BTreeSet};

const AC: Mac = [2, 0, 0, 0, 0, 0xfe];
const AC_IP: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const COOKIE: [u8; 20] = [7; 20];

/// Whether a frame is of discovery, and its content.
fn pppoe_of(frame: &[u8]) -> (bool, Pppoe<'_>) {
    Pppoe::of(&Received::read(frame).expect("a frame").packet).expect("PPPoE")
}

fn config(clients: u32) -> PppoeConfig {
    PppoeConfig {
        pool: common(clients),
        retry: Nanos::from_secs(3),
        service: String::new(),
        ac: None,
        user: "u{n}@eagre".into(),
        password: "p{n}".into(),
        methods: vec![PppoeMethod::MsChapV2, PppoeMethod::ChapMd5, PppoeMethod::Pap],
        mtu: 1_492,
        dns: true,
        ipv6: false,
        keepalive: Some(Nanos::from_secs(10)),
        keepalive_misses: 3,
        circuit_id: Some("ge-0/0/{n}".into()),
        remote_id: None,
    }
}

/// One session of the concentrator.
#[derive(Default)]
struct Line {
    mac: Mac,
    /// LCP, IPCP, IPV6CP: whether the client's options are agreed to, and its own.
    agreed: [(bool, bool); 3],
    asked_at: [Nanos; 3],
    challenge: Option<Vec<u8>>,
    let_in: bool,
    ip: Option<Ipv4Addr>,
    tries: u8,
}

impl Line {
    fn is_open(&self, layer: usize) -> bool {
        self.agreed[layer] == (true, true)
    }
}

/// An access concentrator that replies in the simplest way.
struct Concentrator {
    /// Name of the method it requests, or none.
    method: Option<PppoeMethod>,
    lines: BTreeMap<u16, Line>,
    next: u16,
    passwords: &'static str,
    /// Says no to the addresses of name servers, and to magic numbers.
    bare: bool,
    max_payload: Option<u16>,
    with_ipv6: bool,
    ignores_ipv6: bool,
    silent: bool,
    answers_echo: bool,
    error: Option<u16>,
    relay: bool,
    offers: u32,
    terminated: u32,
    now: Nanos,
}

impl Concentrator {
    fn new(method: Option<PppoeMethod>) -> Self {
        Self {
            method,
            lines: BTreeMap::new(),
            next: 1,
            passwords: "p",
            bare: false,
            max_payload: None,
            with_ipv6: false,
            ignores_ipv6: false,
            silent: false,
            answers_echo: true,
            error: None,
            relay: false,
            offers: 0,
            terminated: 0,
            now: Nanos::ZERO,
        }
    }

    fn take(&mut self, frame: &[u8], out: &mut Vec<Vec<u8>>) {
        let read = Received::read(frame).expect("clients send what can be read");
        let (discovery, pppoe) = Pppoe::of(&read.packet).expect("PPPoE");
        assert_eq!((&read.vlans[..], frame.len() >= 60), (&[7][..], true));
        if self.silent {
            return;
        }
        if discovery {
            out.extend(self.discover(read.from, *frame.first_chunk().unwrap(), &pppoe));
        } else if self.lines.get(&pppoe.session).is_some_and(|line| line.mac == read.from) {
            let id = pppoe.session;
            let mut said = Vec::new();
            self.hear(id, pppoe.payload, &mut said);
            let link = Link { from: AC, to: read.from, vlans: &[7].into() };
            out.extend(said.iter().map(|payload| link.pppoe_session(id, payload)));
        }
    }

    fn discover(&mut self, from: Mac, to: Mac, packet: &Pppoe<'_>) -> Option<Vec<u8>> {
        let said: BTreeMap<u16, &[u8]> = tags(packet.payload).collect();
        let mut answer = Vec::new();
        let code = match packet.code {
            pppoe_code::PADI => {
                assert_eq!((to, packet.session), ([0xff; 6], 0));
                let vendor = said[&tag::VENDOR];
                assert!(vendor.starts_with(b"\0\0\x0d\xe9\x01") && vendor[6..].starts_with(b"ge-0/0/"));
                self.offers += 1;
                put_tag(&mut answer, tag::AC_NAME, b"model");
                put_tag(&mut answer, tag::AC_COOKIE, &COOKIE);
                put_tag(&mut answer, tag::SERVICE_NAME, b"gold");
                if self.relay {
                    put_tag(&mut answer, tag::RELAY_SESSION, &[1, 2, 3]);
                }
                pppoe_code::PADO
            }
            pppoe_code::PADR => {
                assert_eq!((to, said[&tag::AC_COOKIE]), (AC, &COOKIE[..]));
                assert_eq!(said.get(&tag::RELAY_SESSION).copied(), self.relay.then_some(&[1, 2, 3][..]));
                pppoe_code::PADS
            }
            pppoe_code::PADT => {
                assert_eq!(to, AC);
                let known = self.lines.get(&packet.session).is_some_and(|line| line.mac == from);
                if known {
                    self.lines.remove(&packet.session);
                    self.terminated += 1;
                }
                return None;
            }
            other => panic!("code {other}"),
        };
        put_tag(&mut answer, tag::SERVICE_NAME, said[&tag::SERVICE_NAME]);
        put_tag(&mut answer, tag::HOST_UNIQ, said[&tag::HOST_UNIQ]);
        let mut session = 0;
        if code == pppoe_code::PADS {
            if let Some(kind) = self.error {
                put_tag(&mut answer, kind, b"no such service");
            } else {
                let known =
                    self.lines.iter().find(|(_, line)| line.mac == from && line.agreed[0] == (false, false));
                session = known.map_or(self.next, |(id, _)| *id);
                self.next += u16::from(session == self.next);
                self.lines.insert(session, Line { mac: from, ..Line::default() });
            }
            if let (Some(most), Some(asked)) = (self.max_payload, said.get(&tag::MAX_PAYLOAD)) {
                assert_eq!(*asked, [0x05, 0xdc]);
                put_tag(&mut answer, tag::MAX_PAYLOAD, &most.to_be_bytes());
            }
        }
        let link = Link { from: AC, to: from, vlans: &[7].into() };
        Some(link.pppoe_discovery(&Pppoe { code, session, payload: &answer }))
    }

    fn hear(&mut self, id: u16, payload: &[u8], out: &mut Vec<Vec<u8>>) {
        let kind = u16::from_be_bytes([payload[0], payload[1]]);
        let packet = Control::read(&payload[2..]).unwrap();
        let reply = |code, data: &[u8]| Control { code, id: packet.id, data }.with_protocol(kind);
        let number = self.lines[&id].mac;
        let number = (u32::from(number[4]) << 8 | u32::from(number[5])).to_string();
        let (user, password) = (format!("u{number}@eagre"), format!("{}{number}", self.passwords));
        let (bare, max) = (self.bare, if self.max_payload.is_some() { 1_500 } else { PAYLOAD_MAX });
        let (with_ipv6, ignores_ipv6) = (self.with_ipv6, self.ignores_ipv6);
        let answers_echo = self.answers_echo;
        let line = self.lines.get_mut(&id).unwrap();
        let layer = [protocol::LCP, protocol::IPCP, protocol::IPV6CP].iter().position(|one| *one == kind);
        if let (Some(layer), code::CONFIGURE_REQUEST) = (layer, packet.code)
            && line.is_open(layer)
        {
            // RFC 1661 section 4.4: what is open is negotiated anew, and all above it.
            (layer..3).for_each(|one| (line.agreed[one], line.asked_at[one]) = ((false, false), Nanos::ZERO));
            (line.let_in, line.challenge) = if layer == 0 { (false, None) } else { (true, None) };
        }
        match (layer, packet.code) {
            (Some(layer), code::CONFIGURE_REQUEST) => {
                if layer == 2 && ignores_ipv6 {
                    return;
                }
                if layer == 2 && !with_ipv6 {
                    let data = [&[packet.code, packet.id][..], packet.data].concat();
                    let data = [&kind.to_be_bytes()[..], &data].concat();
                    let reject = Control { code: code::PROTOCOL_REJECT, id: 77, data: &data };
                    out.push(reject.with_protocol(protocol::LCP));
                    return;
                }
                let (mut no, mut other) = (Vec::new(), Vec::new());
                for (kind, value) in options(packet.data).unwrap() {
                    match (layer, kind) {
                        (0, 1) => assert_eq!(value, u16::to_be_bytes(max)),
                        (0, 5) if !bare => assert_ne!(value, [0; 4]),
                        (1, 3) => {
                            let ip = Ipv4Addr::from(0x0a00_0000 + number.parse::<u32>().unwrap() + 1);
                            line.ip = Some(ip);
                            if value != ip.octets() {
                                put_option(&mut other, 3, &ip.octets());
                            }
                        }
                        (1, 129 | 131) if !bare => {
                            if value != [9, 9, 9, kind] {
                                put_option(&mut other, kind, &[9, 9, 9, kind]);
                            }
                        }
                        (2, 1) => assert_eq!(value[3..5], [0xff, 0xfe]),
                        _ => put_option(&mut no, kind, value),
                    }
                }
                let (code, data) = match (no.is_empty(), other.is_empty()) {
                    (false, _) => (code::CONFIGURE_REJECT, no),
                    (true, false) => (code::CONFIGURE_NAK, other),
                    (true, true) => (code::CONFIGURE_ACK, packet.data.to_vec()),
                };
                line.agreed[layer].0 = code == code::CONFIGURE_ACK;
                out.push(reply(code, &data));
            }
            (Some(layer), code::CONFIGURE_ACK) => line.agreed[layer].1 = true,
            (Some(0), code::CONFIGURE_NAK) => {
                // It wants another method.
                let said = options(packet.data).unwrap();
                let best = said.iter().find(|(kind, _)| *kind == 3).unwrap().1;
                assert_eq!(best, [0xc2, 0x23, 0x81]);
                self.method = Some(PppoeMethod::MsChapV2);
                line.asked_at[0] = Nanos::ZERO;
            }
            (Some(0), code::ECHO_REQUEST) if answers_echo => out.push(reply(code::ECHO_REPLY, &[0, 0, 0, 9])),
            (Some(_), code::TERMINATE_REQUEST) => out.push(reply(code::TERMINATE_ACK, &[])),
            (None, 1) if kind == protocol::PAP => {
                assert_eq!(packet.data[1..], [user.as_bytes(), &packet.data[1 + user.len()..]].concat());
                let is_right = packet.data.ends_with(password.as_bytes());
                line.let_in |= is_right;
                let code = if is_right { code::PAP_ACK } else { code::PAP_NAK };
                out.push(reply(code, b"\x0dwho are you?\0"));
            }
            (None, code::RESPONSE) => {
                let Some(challenge) = line.challenge.as_deref() else { return };
                let (value, name) = packet.data[1..].split_at(packet.data[0].into());
                assert_eq!(name, user.as_bytes());
                let mut message = "welcome".to_owned();
                let is_right = if self.method == Some(PppoeMethod::MsChapV2) {
                    let (challenge, own) = (challenge.try_into().unwrap(), value[..16].try_into().unwrap());
                    message = ms_proof(&user, &password, challenge, own) + " M=welcome";
                    ms_response(&user, &password, challenge, own) == value
                } else {
                    chap_md5(packet.id, password.as_bytes(), challenge) == value
                };
                line.let_in |= is_right;
                let message = if is_right { message } else { "E=691 R=0".into() };
                out.push(reply(if is_right { code::SUCCESS } else { code::FAILURE }, message.as_bytes()));
            }
            _ => {}
        }
        self.tell(id, out);
    }

    /// Unsolicited messages of the concentrator, repeated.
    fn tell(&mut self, id: u16, out: &mut Vec<Vec<u8>>) {
        let (method, with_ipv6) = (self.method, self.with_ipv6);
        let now = self.now;
        let Some(line) = self.lines.get_mut(&id) else { return };
        let mut ask = |line: &mut Line, layer: usize, data: &[u8]| {
            let again =
                line.asked_at[layer] == Nanos::ZERO || now.since(line.asked_at[layer]) > Nanos::from_secs(2);
            if !line.agreed[layer].1 && again {
                line.asked_at[layer] = now;
                line.tries = line.tries.wrapping_add(1);
                let kind = [protocol::LCP, protocol::IPCP, protocol::IPV6CP][layer];
                let packet = Control { code: code::CONFIGURE_REQUEST, id: line.tries, data };
                out.push(packet.with_protocol(kind));
            }
        };
        let mut lcp = vec![1, 4, 0x05, 0xd4, 5, 6, 0, 0, 0, 9];
        if let Some(method) = method {
            put_option(&mut lcp, 3, super::authenticate::option(method));
        }
        ask(line, 0, &lcp);
        if !line.is_open(0) {
            return;
        }
        if method.is_none() {
            line.let_in = true;
        }
        if !line.let_in {
            if method != Some(PppoeMethod::Pap) && line.challenge.is_none() {
                let challenge = vec![id as u8 | 1; 16];
                let data = [&[16][..], &challenge, b"model"].concat();
                line.challenge = Some(challenge);
                out.push(Control { code: code::CHALLENGE, id: 3, data: &data }.with_protocol(protocol::CHAP));
            }
            return;
        }
        ask(line, 1, &[&[3, 6][..], &AC_IP.octets()].concat());
        if with_ipv6 {
            ask(line, 2, &[1, 10, 0, 0, 0, 0, 0, 0, 0, 1]);
        }
    }

    /// Repeats a message without a reply; a challenge, too.
    fn repeat(&mut self, out: &mut Vec<Vec<u8>>) {
        let ids: Vec<u16> = self.lines.keys().copied().collect();
        for id in ids {
            let mut said = Vec::new();
            if self.lines[&id].is_open(0) && !self.lines[&id].let_in {
                let challenge = self.lines[&id].challenge.clone();
                if let Some(challenge) = challenge {
                    let data = [&[16][..], &challenge, b"model"].concat();
                    said.push(
                        Control { code: code::CHALLENGE, id: 3, data: &data }.with_protocol(protocol::CHAP),
                    );
                }
            }
            self.tell(id, &mut said);
            let link = Link { from: AC, to: self.lines[&id].mac, vlans: &[7].into() };
            out.extend(said.iter().map(|payload| link.pppoe_session(id, payload)));
        }
    }
}

impl Serve for Concentrator {
    const SPREAD: Nanos = Nanos(1);

    fn serve(&mut self, now: Nanos, frame: &[u8], replies: &mut Vec<Vec<u8>>) {
        self.now = now;
        self.take(frame, replies);
    }

    fn tick(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.now = now;
        if !self.silent {
            self.repeat(frames);
        }
    }
}

/// Clients and concentrator over a network.
type World = Network<PppoeProtocol, Concentrator>;

impl World {
    fn new(config: PppoeConfig, method: Option<PppoeMethod>) -> Self {
        Self::over(config, method, 0, 0)
    }

    fn over(config: PppoeConfig, method: Option<PppoeMethod>, lost: u64, twice: u64) -> Self {
        Self::between(PppoeClients::new(config), Concentrator::new(method), lost, twice)
    }

    /// Clients have the addresses that the concentrator assigned, and none twice.
    fn check(&self) {
        let sessions: Vec<PppoeSession> = self.clients.sessions().collect();
        assert_eq!(sessions.len(), self.clients.up() as usize);
        let addresses: BTreeSet<Ipv4Addr> = sessions.iter().map(|one| one.ip).collect();
        assert_eq!(addresses.len(), sessions.len(), "an address twice");
        for one in &sessions {
            let line = &self.server.lines[&one.session];
            assert_eq!((line.mac, line.ip, line.let_in), (one.mac, Some(one.ip), true));
            assert_eq!((one.ac, one.peer, one.peer_mru), (AC, AC_IP, 1_492));
            assert_eq!(self.clients.session_of(one.ip), Some(*one));
        }
        assert_eq!(self.clients.counts().conflicts, 0);
    }

    fn count(&self) -> &PppoeCounts {
        self.clients.counts()
    }
}

const METHODS: [Option<PppoeMethod>; 4] =
    [None, Some(PppoeMethod::Pap), Some(PppoeMethod::ChapMd5), Some(PppoeMethod::MsChapV2)];

#[test]
fn all_come_up_at_the_rate_by_each_method() {
    for method in METHODS {
        let mut world = World::new(config(1_500), method);
        world.run_for(Nanos::from_secs(1));
        let begun = world.clients.begun;
        assert!((950..=1_065).contains(&begun), "{begun} began in a second");
        world.run_for(Nanos::from_secs(2));
        world.check();
        assert!(world.clients.all_up(), "{method:?}: {} are up", world.clients.up());
        let counts = world.count();
        let found = (counts.initiations, counts.offers, counts.requests, counts.confirmations);
        assert_eq!(found, (1_500, 1_500, 1_500, 1_500));
        assert_eq!((counts.repeated, counts.sessions, counts.setup.samples()), (0, 1_500, 1_500));
        assert_eq!(counts.authentication.samples(), if method.is_some() { 1_500 } else { 0 });
        assert_eq!(world.clients.sessions().next().unwrap().dns[0], Ipv4Addr::new(9, 9, 9, 129));
        let took = world.clients.set_up_time().unwrap();
        assert!(took > Nanos::from_millis(1_400) && took < Nanos::from_millis(1_700), "{took:?}");
        world.clients.release(world.now);
        world.run_for(Nanos::from_secs(4));
        assert_eq!((world.server.terminated, world.server.lines.len()), (1_500, 0));
        assert_eq!((world.clients.up(), world.clients.next_due()), (0, Nanos::MAX));
    }
}

/// 20 % of frames lost, some twice, all out of order: all come up, and stay so.
#[test]
fn all_come_up_over_a_network_that_loses_and_reorders() {
    for (seed, method) in (0..).zip(METHODS).chain((4..).zip(METHODS)) {
        let config = PppoeConfig {
            pool: PoolConfig { seed, outstanding: 50, ..common(300) },
            keepalive_misses: 12,
            ..config(300)
        };
        let mut world = World::over(config, method, 200, 100);
        world.run_for(Nanos::from_secs(600));
        world.check();
        assert!(world.clients.all_up(), "{method:?}: {} of 300", world.clients.up());
        assert!(world.outstanding_max <= 50);
        world.run_for(Nanos::from_secs(1_200));
        world.check();
        let counts = world.count();
        assert_eq!((counts.lost_ended, counts.lost_other), (0, 0));
        assert!(counts.repeated > 100 && counts.echo_replies > 10_000, "{counts:?}");
        world.lost = 0;
        world.run_for(Nanos::from_secs(60));
        assert!(world.clients.all_up());
    }
}

#[test]
fn a_wrong_password_is_a_failure_and_tried_again_less_and_less() {
    for method in METHODS.into_iter().flatten() {
        let mut world = World::new(config(1), Some(method));
        world.server.passwords = "other";
        world.run_for(Nanos::from_secs(300));
        let counts = world.count();
        assert!((5..=12).contains(&counts.failed_authentication), "{counts:?}");
        assert_eq!((counts.sessions, counts.setup.samples()), (0, 0));
        let said = if method == PppoeMethod::Pap { "who are you?" } else { "E=691 R=0" };
        assert_eq!(world.clients.message(), Some(said));
        let view = world.clients.views().next().unwrap();
        assert_eq!(view.failure, Some(PppoeFailure::Authentication));
        assert_eq!(world.server.lines.len(), usize::from(view.phase != PppoePhase::Pausing));
        world.server.passwords = "p";
        world.run_for(Nanos::from_secs(70));
        assert!(world.clients.all_up());
    }
}

/// An authenticator that does not know the password can't prove that it does.
#[test]
fn a_concentrator_without_the_password_is_not_believed() {
    let mut world = World::new(config(1), Some(PppoeMethod::MsChapV2));
    let mut said = Vec::new();
    world.run_for(Nanos::from_secs(0));
    for _ in 0..20 {
        world.now += Nanos::from_millis(1);
        let mut frames = Vec::new();
        world.clients.poll(world.now, &mut frames);
        frames.iter().for_each(|frame| world.server.take(frame, &mut said));
        while let Some(std::cmp::Reverse((_, _, to_ac, frame))) = world.wire.pop() {
            if to_ac {
                world.server.take(&frame, &mut said);
            }
        }
        for mut frame in said.drain(..) {
            if let Some(at) = frame.windows(2).position(|two| two == b"S=") {
                frame[at + 2] = if frame[at + 2] == b'0' { b'1' } else { b'0' };
            }
            world.clients.take(world.now, &frame);
        }
    }
    assert_eq!(world.count().failed_authentication, 1);
    assert_eq!(world.clients.message(), Some("the access concentrator does not know the password"));
}

#[test]
fn a_method_that_is_not_allowed_is_refused() {
    // A better one is proposed, and taken.
    let mut world = World::new(config(1), Some(PppoeMethod::Pap));
    world.clients.config.methods = vec![PppoeMethod::MsChapV2];
    world.run_for(Nanos::from_secs(10));
    assert!(world.clients.all_up());
    assert_eq!(world.server.method, Some(PppoeMethod::MsChapV2));
    // Without any the option is rejected, and this concentrator insists.
    let mut world = World::new(config(1), Some(PppoeMethod::Pap));
    world.clients.config.methods = Vec::new();
    world.run_for(Nanos::from_secs(40));
    assert_eq!((world.clients.up(), world.count().failed_link), (0, 1));
}

#[test]
fn nobody_answers() {
    let mut world = World::new(config(3), None);
    world.server.silent = true;
    world.run_for(Nanos::from_secs(60));
    let counts = world.count();
    assert!((12..=18).contains(&counts.initiations), "{counts:?}");
    assert_eq!((counts.repeated, counts.offers), (counts.initiations - 3, 0));
    world.clients.give_up(world.now);
    world.run_for(Nanos::from_secs(300));
    assert!((12..=18).contains(&world.count().initiations));
    assert_eq!(world.clients.next_due(), Nanos::MAX);
}

#[test]
fn errors_of_discovery_are_kept() {
    for kind in [tag::SERVICE_NAME_ERROR, tag::AC_SYSTEM_ERROR, tag::GENERIC_ERROR] {
        let mut world = World::new(config(1), None);
        world.server.error = Some(kind);
        world.run_for(Nanos::from_secs(2));
        assert_eq!(world.count().failed_discovery, 1);
        assert_eq!(world.clients.message(), Some("no such service"));
        world.server.error = None;
        world.run_for(Nanos::from_secs(10));
        assert!(world.clients.all_up());
    }
}

/// One concentrator offers nothing but an error, and another one a session: the client has that.
#[test]
fn an_error_in_an_offer_is_passed_over() {
    let (mut clients, now) = (PppoeClients::new(config(1)), Nanos::from_secs(1));
    let mut frames = Vec::new();
    clients.poll(now, &mut frames);
    let frame = frames.remove(0);
    let (_, pppoe) = pppoe_of(&frame);
    let mut payload = pppoe.payload.to_vec();
    put_tag(&mut payload, tag::AC_SYSTEM_ERROR, b"full");
    let (code, to) = (pppoe_code::PADO, *frame[6..].first_chunk().unwrap());
    let link = Link { from: [2, 0, 0, 0, 0, 0x77], to, vlans: &[7].into() };
    assert!(clients.take(now, &link.pppoe_discovery(&Pppoe { code, session: 0, payload: &payload })));
    assert_eq!((clients.counts().failed_discovery, clients.counts().passed_over), (0, 1));
    assert_eq!(clients.message(), Some("full"));
    let mut ac = Concentrator::new(None);
    ac.take(&frame, &mut frames);
    assert!(clients.take(now, &frames[0]));
    clients.poll(now, &mut frames);
    assert_eq!((clients.counts().requests, clients.counts().offers), (1, 2));
}

#[test]
fn only_the_service_and_the_concentrator_wanted_are_taken() {
    let wanted =
        [("gold", None, true), ("lead", None, true), ("", Some("model"), true), ("", Some("other"), false)];
    for (service, ac, is_taken) in wanted {
        let config = PppoeConfig { service: service.into(), ac: ac.map(str::to_owned), ..config(1) };
        let mut world = World::new(config, None);
        world.run_for(Nanos::from_secs(10));
        assert_eq!(
            (world.clients.all_up(), world.count().passed_over == 0),
            (is_taken, is_taken),
            "{service} {ac:?}"
        );
    }
}

#[test]
fn a_relay_between_is_returned_what_it_said() {
    let mut world = World::new(config(5), None);
    world.server.relay = true;
    world.run_for(Nanos::from_secs(3));
    world.check();
    assert!(world.clients.all_up());
}

/// RFC 4638: 1,500 bytes if both ends agree, and 1,492 if not.
#[test]
fn longer_payloads_need_both_ends() {
    for (offered, mru) in [(Some(1_500), 1_500), (None, 1_492)] {
        let mut world = World::new(PppoeConfig { mtu: 1_500, ..config(1) }, None);
        world.server.max_payload = offered;
        world.run_for(Nanos::from_secs(2));
        assert!(world.clients.all_up());
        assert_eq!(world.clients.clients[0].mru, mru);
    }
}

#[test]
fn options_that_are_rejected_are_not_asked_for_again() {
    let mut world = World::new(config(1), None);
    world.server.bare = true;
    world.run_for(Nanos::from_secs(40));
    assert!(world.clients.all_up());
    let session = world.clients.sessions().next().unwrap();
    assert_eq!(session.dns, [Ipv4Addr::UNSPECIFIED; 2]);
    assert_eq!((world.clients.clients[0].magic, world.count().echo_replies), (0, 3));
}

#[test]
fn interface_identifiers_are_agreed_on_or_done_without() {
    for with_ipv6 in [true, false] {
        let mut world = World::new(PppoeConfig { ipv6: true, ..config(3) }, Some(PppoeMethod::Pap));
        world.server.with_ipv6 = with_ipv6;
        world.run_for(Nanos::from_secs(5));
        assert!(world.clients.all_up());
        let session = world.clients.sessions().nth(2).unwrap();
        assert_eq!(session.interface, with_ipv6.then_some(0x0000_00ff_fe01_0002));
        if with_ipv6 {
            assert_eq!(world.clients.clients[2].peer_interface, 1);
        }
    }
}

/// One that does not even reject IPV6CP: clients wait for it, and then come up without.
#[test]
fn silence_to_ipv6cp_fails_no_client() {
    let mut world = World::new(PppoeConfig { ipv6: true, ..config(50) }, Some(PppoeMethod::Pap));
    world.server.ignores_ipv6 = true;
    world.run_for(Nanos::from_secs(35));
    assert_eq!((world.clients.up(), world.count().failed_network), (50, 0));
    assert!(world.clients.sessions().all(|session| session.interface.is_none()));
}

#[test]
fn a_concentrator_that_falls_silent_is_given_up() {
    let mut world = World::new(config(10), Some(PppoeMethod::ChapMd5));
    world.run_for(Nanos::from_secs(25));
    assert!(world.clients.all_up());
    let before = world.count().echo_replies;
    assert!(before >= 20, "{before}");
    world.clients.give_up(world.now);
    world.server.answers_echo = false;
    world.run_for(Nanos::from_secs(36));
    let counts = world.count();
    assert_eq!((counts.lost_silent, counts.sessions), (10, 10));
    assert_eq!(world.server.terminated, 10);
    world.server.answers_echo = true;
    world.run_for(Nanos::from_secs(10));
    world.check();
    assert_eq!((world.clients.up(), world.count().sessions), (10, 20), "they come back");
    assert_eq!(world.count().setup.samples(), 10, "only first sessions are timed");
}

#[test]
fn a_session_that_the_concentrator_ends_comes_back() {
    let mut world = World::new(config(2), Some(PppoeMethod::Pap));
    world.run_for(Nanos::from_secs(3));
    world.clients.give_up(world.now);
    let ids: Vec<u16> = world.server.lines.keys().copied().collect();
    let session = |world: &World, id: u16| world.server.lines[&id].mac;
    let first = session(&world, ids[0]);
    let link = Link { from: AC, to: first, vlans: &[7].into() };
    let padt = |session| link.pppoe_discovery(&Pppoe { code: pppoe_code::PADT, session, payload: &[] });
    assert!(!world.clients.take(world.now, &padt(ids[1])), "another's session");
    let stranger = Link { from: [2, 9, 9, 9, 9, 9], ..link };
    let forged = stranger.pppoe_discovery(&Pppoe { code: pppoe_code::PADT, session: ids[0], payload: &[] });
    assert!(!world.clients.take(world.now, &forged), "another's word");
    assert!(world.clients.take(world.now, &padt(ids[0])));
    world.server.lines.remove(&ids[0]);
    let link = Link { from: AC, to: session(&world, ids[1]), vlans: &[7].into() };
    let end = Control { code: code::TERMINATE_REQUEST, id: 9, data: b"maintenance" };
    assert!(world.clients.take(world.now, &link.pppoe_session(ids[1], &end.with_protocol(protocol::LCP))));
    assert_eq!((world.clients.up(), world.count().lost_ended), (0, 2));
    assert_eq!((world.count().terminations_received, world.clients.message()), (1, Some("maintenance")));
    // Nothing is said in a session that is over, and no Terminate-Request to who has ended the link.
    let mut frames = Vec::new();
    world.clients.poll(world.now, &mut frames);
    let said: Vec<(bool, u16, Vec<u8>)> = frames
        .iter()
        .map(|frame| {
            let (discovery, pppoe) = pppoe_of(frame);
            (discovery, pppoe.session, pppoe.payload.to_vec())
        })
        .collect();
    let ack = Control { code: code::TERMINATE_ACK, ..end }.with_protocol(protocol::LCP);
    assert_eq!(said, [(false, ids[1], ack), (true, ids[1], vec![])]);
    world.run_for(Nanos::from_secs(10));
    world.check();
    assert_eq!(world.clients.up(), 2);
    assert!(world.clients.views().all(|view| view.tally.lost == 1 && view.tally.sessions == 2));
}

#[test]
fn sessions_end_and_begin_on_command() {
    let mut world = World::new(config(20), Some(PppoeMethod::ChapMd5));
    world.run_for(Nanos::from_secs(5));
    world.clients.give_up(world.now);
    assert_eq!((world.clients.renew_now(world.now), world.clients.release_now(world.now)), (0, 20));
    world.run_for(Nanos::from_secs(5));
    assert_eq!((world.clients.up(), world.server.lines.len()), (0, 0));
    assert!(world.clients.views().all(|view| view.phase == PppoePhase::Down && view.tally.lost == 0));
    assert_eq!((world.clients.release_now(world.now), world.clients.renew_now(world.now)), (0, 20));
    world.run_for(Nanos::from_secs(5));
    world.check();
    assert!(world.clients.all_up());
}

#[test]
fn what_is_not_known_is_rejected_and_echoes_are_answered() {
    let mut world = World::new(config(1), Some(PppoeMethod::ChapMd5));
    world.run_for(Nanos::from_secs(3));
    let (id, mac) = world.server.lines.first_key_value().map(|(id, line)| (*id, line.mac)).unwrap();
    let link = Link { from: AC, to: mac, vlans: &[7].into() };
    let mut say = |kind: u16, packet: Control<'_>| {
        assert!(world.clients.take(world.now, &link.pppoe_session(id, &packet.with_protocol(kind))));
        let mut frames = Vec::new();
        world.clients.poll(world.now, &mut frames);
        let (_, pppoe) = pppoe_of(&frames[0]);
        pppoe.payload.to_vec()
    };
    // Compression (CCP), an unknown code, an echo, another challenge.
    let answer = say(0x80fd, Control { code: 1, id: 1, data: &[] });
    assert_eq!((&answer[..3], &answer[6..]), (&[0xc0, 0x21, 8][..], &[0x80, 0xfd, 1, 1, 0, 4][..]));
    let answer = say(protocol::LCP, Control { code: 99, id: 4, data: &[1] });
    assert_eq!((&answer[..3], &answer[6..]), (&[0xc0, 0x21, 7][..], &[99, 4, 0, 5, 1][..]));
    let again = say(protocol::LCP, Control { code: 99, id: 4, data: &[1] });
    assert_ne!(again[3], answer[3], "another identifier each time");
    let answer = say(protocol::LCP, Control { code: code::ECHO_REQUEST, id: 5, data: b"\0\0\0\x09tide" });
    assert_eq!((&answer[..4], &answer[10..]), (&[0xc0, 0x21, 10, 5][..], &b"tide"[..]));
    let answer = say(protocol::CHAP, Control { code: code::CHALLENGE, id: 6, data: b"\x04tidex" });
    assert_eq!(answer[7..23], chap_md5(6, b"p0", b"tide"));
    assert_eq!((world.count().rejected, world.count().echoes_answered), (3, 1));
    assert!(world.clients.clients[0].exchange.is_none());
}

/// RFC 1661 section 5: unknown options are rejected, all at once and before others; RFC 2516 section 7: so is compression of
/// headers. The own magic number means a loop (RFC 1661 section 6.4).
#[test]
fn options_of_the_peer_are_judged() {
    let mut world = World::new(config(1), Some(PppoeMethod::ChapMd5));
    world.run_for(Nanos::from_secs(3));
    let (id_of_session, mac) =
        world.server.lines.first_key_value().map(|(id, line)| (*id, line.mac)).unwrap();
    let link = Link { from: AC, to: mac, vlans: &[7].into() };
    let (now, magic) = (world.now, world.clients.clients[0].magic.to_be_bytes());
    let mut ask = |data: &[u8]| {
        let packet = Control { code: code::CONFIGURE_REQUEST, id: 9, data };
        let frame = link.pppoe_session(id_of_session, &packet.with_protocol(protocol::LCP));
        assert!(world.clients.take(now, &frame));
        let mut frames = Vec::new();
        world.clients.poll(now, &mut frames);
        let (_, pppoe) = pppoe_of(&frames[0]);
        assert_eq!((&pppoe.payload[..2], pppoe.payload[3]), (&[0xc0, 0x21][..], 9));
        (pppoe.payload[2], pppoe.payload[6..].to_vec())
    };
    let mru = [1, 4, 0x05, 0xd4];
    let looped = [&[5, 6][..], &magic].concat();
    // Field compression, and of address and control; an option that no one knows.
    let unknown = [7, 2, 8, 2, 200, 3, 1];
    assert_eq!(ask(&[&mru[..], &unknown, &looped].concat()), (code::CONFIGURE_REJECT, unknown.to_vec()));
    let (answer, data) = ask(&[&mru[..], &looped].concat());
    assert_eq!((answer, &data[..2], data[2..] == magic), (code::CONFIGURE_NAK, &[5, 6][..], false));
    let good = [&mru[..], &[5, 6, 1, 2, 3, 4]].concat();
    assert_eq!(ask(&good), (code::CONFIGURE_ACK, good));
    // The client's own options were open, and are to be agreed on anew: by the last identifier, and all of them.
    let (mut frames, later) = (Vec::new(), world.clients.next_due());
    world.clients.poll(later, &mut frames);
    let mut payloads = frames.iter().map(|frame| pppoe_of(frame).1.payload.to_vec());
    let request = payloads.find(|one| one[..3] == [0xc0, 0x21, 1]).expect("a Configure-Request");
    let (own, data) = (request[3], &request[6..]);
    let mut agrees = |id: u8, data: &[u8]| {
        let packet = Control { code: code::CONFIGURE_ACK, id, data };
        world.clients.take(now, &link.pppoe_session(id_of_session, &packet.with_protocol(protocol::LCP)))
    };
    assert!(!agrees(own.wrapping_add(1), data) && !agrees(own, &data[..4]) && agrees(own, data));
}

#[test]
fn a_link_that_is_negotiated_anew_comes_up_again() {
    let mut world = World::new(config(1), Some(PppoeMethod::Pap));
    world.run_for(Nanos::from_secs(3));
    world.clients.give_up(world.now);
    for line in world.server.lines.values_mut() {
        (line.agreed, line.asked_at, line.let_in) = ([(false, false); 3], [Nanos::ZERO; 3], false);
    }
    world.run_for(Nanos::from_secs(10));
    world.check();
    assert_eq!((world.clients.up(), world.count().sessions, world.count().lost_other), (1, 1, 0));
}

#[test]
fn frames_of_any_kind_change_nothing_that_is_not_sound() {
    let mut world = World::new(config(2), Some(PppoeMethod::ChapMd5));
    world.run_for(Nanos::from_secs(3));
    let (id, mac) = world.server.lines.first_key_value().map(|(id, line)| (*id, line.mac)).unwrap();
    let echo = Control { code: code::ECHO_REQUEST, id: 5, data: b"\0\0\0\x09" }.with_protocol(protocol::LCP);
    let frame = Link { from: AC, to: mac, vlans: &[7].into() }.pppoe_session(id, &echo);
    for at in 0..frame.len() {
        for bit in 0..8 {
            let mut other = frame.clone();
            other[at] ^= 1 << bit;
            let _ = world.clients.take(world.now, &other);
        }
        let _ = world.clients.take(world.now, &frame[..at]);
    }
    let mut other = frame.clone();
    other[15] = 8;
    assert!(!world.clients.take(world.now, &other), "another VLAN");
    // A client that was reset by one of these comes back.
    world.run_for(Nanos::from_secs(60));
    world.check();
    assert!(world.clients.all_up());
}

#[test]
fn the_same_seed_sends_the_same() {
    let frames = || {
        let mut clients = PppoeClients::new(config(3));
        let mut frames = Vec::new();
        (0..9).for_each(|second| clients.poll(Nanos::from_secs(second), &mut frames));
        frames
    };
    assert_eq!(frames(), frames());
    assert!(frames().len() >= 6);
}

/// 10,000 clients that are up: what is stored of each, with room that is allocated and not used.
#[test]
fn an_idle_client_takes_less_than_300_bytes() {
    let mut world = World::new(config(10_000), Some(PppoeMethod::MsChapV2));
    world.run_for(Nanos::from_secs(15));
    world.check();
    assert!(world.clients.all_up(), "{} are up", world.clients.up());
    let clients = &world.clients;
    assert_eq!(clients.clients.iter().filter(|client| client.exchange.is_some()).count(), 0);
    let each = world.bytes_each(&[(clients.shared.holders.len(), size_of::<(Ipv4Addr, u32)>())]);
    assert!(each <= 300, "{each} bytes, {} of them a record", size_of::<Client>());
}

#[test]
fn clients_with_their_own_vlans_are_in_no_others() {
    let each = crate::EachVlan { outer: Some((100, 101)), inner: (5, 6) };
    let vlans = ClientVlans::each(each, &wire::Vlans::NONE);
    let circuit_id = Some("olt {outer}.{inner}".into());
    let mut clients =
        PppoeClients::new(PppoeConfig { pool: PoolConfig { vlans, ..common(3) }, circuit_id, ..config(3) });
    let mut frames = Vec::new();
    (1..10).for_each(|ms| clients.poll(Nanos::from_millis(ms), &mut frames));
    let sent: Vec<_> = frames.iter().map(|frame| Received::read(frame).expect("a frame").vlans).collect();
    assert_eq!(sent, [[100, 5], [100, 6], [101, 5]]);
    assert!(frames[2].windows(9).any(|text| text == b"olt 101.5"));
    let offer = |vlans: [u16; 2]| {
        let (_, pppoe) = pppoe_of(&frames[1]);
        let uniq = tags(pppoe.payload).find(|(kind, _)| *kind == tag::HOST_UNIQ).expect("a tag").1;
        let mut all = Vec::new();
        for (kind, value) in [(tag::SERVICE_NAME, &b""[..]), (tag::AC_NAME, b"ac"), (tag::HOST_UNIQ, uniq)] {
            put_tag(&mut all, kind, value);
        }
        let link = Link { from: AC, to: *frames[1][6..].first_chunk().unwrap(), vlans: &vlans.into() };
        link.pppoe_discovery(&Pppoe { code: pppoe_code::PADO, session: 0, payload: &all })
    };
    let now = Nanos::from_millis(20);
    for (vlans, offers) in [([100, 5], 0), ([101, 6], 0), ([100, 6], 1)] {
        assert_eq!((clients.take(now, &offer(vlans)), clients.counts().offers), (offers == 1, offers));
    }
}
