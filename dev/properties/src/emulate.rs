//! Frames of any bytes to DHCP, DHCPv6 and PPPoE clients, to who looks for a router, to members of groups, LLDP agents and ports of a lag: they survive them all, and what they make of them is sound.
//!
//! The first byte of an input selects the clients' state: looking for a server, requesting an address, or bound; the
//! rest is the frame.

mod pppoe;
mod vrrp;

use ::emulate::dhcp::{DhcpClients, DhcpConfig, RelayInfo};
use ::emulate::dhcp6::{Dhcp6Clients, Dhcp6Config};
use ::emulate::groups::{GroupHost, GroupMembers, Membership};
use ::emulate::lacp::{LACPDUS_A_SECOND, LacpConfig, LacpMux, LacpPort, LacpState, run_lag};
use ::emulate::lldp::{Advert, LldpAgents, LldpConfig, LldpId, OrganizationTlv};
use ::emulate::{PoolConfig, RouterFinder, is_slow, may_concern};
use std::net::Ipv4Addr;
use std::sync::Arc;
use units::Nanos;
use wire::Vlans;

const CLIENTS: u32 = 3;
const NOW: Nanos = Nanos::from_secs(10);
/// Where a frame without tags has a message's transaction identifier.
const XID: usize = 14 + 20 + 8 + 4;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, frame)) = data.split_first() else { return };
    let (mut clients, _) = clients(how % 3);
    let before = clients.up();
    let was_for_clients = clients.take(NOW, frame);
    assert!(!was_for_clients || may_concern(frame), "took a frame that the filter drops");
    assert!(clients.up().abs_diff(before) <= 1);
    for lease in clients.leases() {
        assert_eq!(clients.lease_of(lease.ip), Some(lease));
        assert!(lease.client < CLIENTS && !lease.ip.is_unspecified() && lease.prefix_len <= 32);
    }
    let mut frames = Vec::new();
    for second in 0..40 {
        clients.poll(Nanos::from_secs(10 + second), &mut frames);
    }
    assert!(frames.len() <= 40 * 64 && frames.iter().all(|frame| frame.len() >= 14 + 20 + 8 + 300));

    let mut members = members();
    let heard = members.take(NOW, frame);
    assert!(!heard || may_concern(frame), "took a frame that the filter drops");
    assert_eq!(members.groups().count(), 2);
    let mut reports = Vec::new();
    for _ in 0..4 {
        let due = members.next_due();
        if due < Nanos::MAX {
            members.poll(due, &mut reports);
        }
    }
    assert!(reports.len() <= 8 && reports.iter().all(|frame| frame.len() <= 1_514));
    check_agent(frame);
    check_lag(how % 3, frame);
    check_dhcp6(how % 3, frame);
    check_router(frame);
    check_slaac(frame);
    pppoe::check(*how, frame);
    vrrp::check(*how, frame);
}

/// An agent that receives a frame knows one neighbour at most, for as long as its TTL, and continues to send.
fn check_agent(frame: &[u8]) {
    let mut agent = agent();
    let mut frames = Vec::new();
    agent.poll(NOW, &mut frames);
    let heard = agent.take(NOW, frame);
    assert!(!heard || may_concern(frame), "took a frame that the filter drops");
    assert!(agent.neighbours().count() as u64 == agent.counts().learnt && agent.counts().learnt <= 1);
    for neighbour in agent.neighbours() {
        let message = &neighbour.message;
        assert!(!message.is_shutdown());
        let texts = [message.chassis.chassis_text(), message.port.port_text()];
        assert!(texts.iter().all(|text| !text.is_empty()));
    }
    while agent.next_due() < Nanos::from_secs(10 + 70_000) {
        let due = agent.next_due();
        agent.poll(due, &mut frames);
    }
    assert!(agent.neighbours().next().is_none() && frames.len() > 20);
}

/// A LAG member that receives a frame distributes only with a partner that collects, and continues to send, within its
/// rate limit.
fn check_lag(how: u8, frame: &[u8]) {
    let (mut port, _) = lag_port(how);
    let heard = port.take(NOW, frame);
    assert!(!heard || is_slow(frame), "took a frame that the filter drops");
    let (mut frames, mut now) = (Vec::new(), NOW);
    while now < Nanos::from_secs(50) {
        run_lag(now, &mut [&mut port]);
        let before = frames.len();
        port.poll(now, &mut frames);
        assert!(frames.len() - before <= 2, "a marker response and a LACPDU");
        let collects = port.partner().is_some_and(|partner| partner.state.has(LacpState::COLLECTING));
        assert!(port.mux() < LacpMux::Distributing || collects);
        assert_eq!(port.is_up(), port.trouble().is_none());
        assert!(port.next_due() >= now, "what is due is done");
        now = port.next_due().max(Nanos(now.0 + 1));
    }
    assert!(frames.len() <= 40 * LACPDUS_A_SECOND + 1 && frames.iter().all(|frame| frame.len() == 124));
}

/// A port that received nothing, a partner that is out of sync, or one that collects, and its last LACPDU.
fn lag_port(steps: u8) -> (LacpPort, Vec<u8>) {
    let config = |last: u8| LacpConfig {
        mac: [2, 0, 0, 0, 0, last],
        system: [2, 0, 0, 0, 0, last],
        system_priority: 1,
        key: 1,
        port: 1,
        port_priority: 1,
        active: true,
        short_timeout: true,
    };
    let (mut port, mut other) = (LacpPort::new(config(1)), LacpPort::new(config(9)));
    let mut last = Vec::new();
    for second in 0..=3 * u64::from(steps) {
        let now = Nanos::from_secs(NOW.0 / 1_000_000_000 - 3 * u64::from(steps) + second);
        let (mut sent, mut answers) = (Vec::new(), Vec::new());
        run_lag(now, &mut [&mut port]);
        run_lag(now, &mut [&mut other]);
        port.poll(now, &mut answers);
        other.poll(now, &mut sent);
        if steps == 0 {
            return (port, sent.pop().unwrap_or_default());
        }
        sent.iter().for_each(|frame| assert!(port.take(now, frame)));
        answers.iter().for_each(|frame| assert!(other.take(now, frame)));
        last = sent.pop().unwrap_or(last);
    }
    (port, last)
}

/// DHCPv6 clients that receive a frame continue to send, a limited number at a time, and none has another's address.
fn check_dhcp6(how: u8, frame: &[u8]) {
    let (mut clients, _) = clients6(how);
    let before = clients.up();
    let heard = clients.take(NOW, frame);
    assert!(!heard || may_concern(frame), "took a frame that the filter drops");
    assert!(clients.up().abs_diff(before) <= 1);
    for lease in clients.leases() {
        let ip = lease.ip.expect("all request one");
        assert!(!ip.is_unspecified() && !ip.is_multicast());
        assert_eq!(clients.mac_of_ip(ip), Some(lease.mac));
    }
    let mut frames = Vec::new();
    (0..40).for_each(|second| clients.poll(Nanos::from_secs(10 + second), &mut frames));
    assert!(frames.len() <= 40 * 64 && frames.iter().all(|frame| frame.len() <= 400));
}

/// Clients that make their addresses from a router's prefix have one each, with that prefix, and send nothing but
/// probes for it.
fn check_slaac(frame: &[u8]) {
    let (clients, mut finder) = (clients6(0).0, RouterFinder::new([2, 0, 0, 0, 0, 1], Vlans::NONE));
    let pool = PoolConfig { rate: 100, ..clients.common().clone() };
    let config = Dhcp6Config { slaac: true, prefix_len: None, pool, ..clients.config().clone() };
    let mut clients = Dhcp6Clients::new(config);
    let mut frames = Vec::new();
    clients.poll(NOW, &mut frames);
    if finder.take(NOW, frame) {
        clients.advertise(NOW, finder.autonomous());
    }
    (0..40).for_each(|second| clients.poll(Nanos::from_secs(10 + second), &mut frames));
    let prefix = finder.autonomous().filter(|(_, until)| *until > Nanos::from_secs(49));
    for lease in clients.leases() {
        let (ip, (prefix, _)) = (lease.ip.expect("an address"), prefix.expect("a prefix"));
        assert_eq!(u128::from(ip) >> 64, u128::from(prefix) >> 64);
        assert!(
            !ip.is_unicast_link_local() && !ip.is_multicast() && clients.mac_of_ip(ip) == Some(lease.mac)
        );
    }
    assert!(prefix.is_none() || clients.all_up());
    assert!(frames.len() <= CLIENTS as usize && frames.iter().all(|frame| frame[20] == 58));
}

/// Hosts that receive a router's advertisement know one at most, for as long as its lifetime.
fn check_router(frame: &[u8]) {
    let mut finder = RouterFinder::new([2, 0, 0, 0, 0, 1], Vlans::NONE);
    let heard = finder.take(NOW, frame);
    assert!(!heard || may_concern(frame), "took a frame that the filter drops");
    let router = finder.router(NOW);
    assert!(router.is_none_or(|router| heard && router.is_unicast_link_local()));
    assert_eq!(finder.router(Nanos::from_secs(10 + 65_536)), None, "a router's lifetime has 16 bits");
}

/// Settings that clients of all protocols have.
fn pool(clients: u32) -> PoolConfig {
    let vlans = wire::Vlans::NONE.into();
    PoolConfig { clients, mac: [2, 0, 0, 0, 0, 1], vlans, rate: 1, outstanding: clients, seed: 1 }
}

/// DHCPv6 clients after some steps, and the last reply they received.
fn clients6(steps: u8) -> (Dhcp6Clients, Vec<u8>) {
    let mut clients = Dhcp6Clients::new(Dhcp6Config {
        pool: pool(CLIENTS),
        address: true,
        slaac: false,
        prefix_len: Some(56),
        rapid_commit: false,
        check: true,
        ask_for: Vec::new(),
    });
    let mut last = Vec::new();
    for step in 0..=steps {
        let mut frames = Vec::new();
        clients.poll(NOW, &mut frames);
        clients.poll(NOW, &mut frames);
        // With a lease they ask their neighbours, not a server.
        let Some(asked) = frames.iter().find(|frame| frame[20] == 17) else { break };
        // An advertisement, then a reply.
        last = answer6(asked, if step == 0 { 2 } else { 7 });
        if step < steps {
            assert!(clients.take(NOW, &last));
        }
    }
    (clients, last)
}

/// A server's reply to a client's message: the message with a server and leases after it.
fn answer6(asked: &[u8], kind: u8) -> Vec<u8> {
    let mut frame = asked[..62 + 4 + 14].to_vec();
    frame[54..58].copy_from_slice(&[2, 35, 2, 34]);
    frame[62] = kind;
    frame.extend([0, 2, 0, 7, 0, 2, 0, 0, 0, 9, 1, 0, 7, 0, 1, 255]);
    let times = [0, 0, 0, 50, 0, 0, 0, 90];
    let prefix = [0x20, 1, 0xd, 0xb8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    frame.extend([0, 3, 0, 40, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 20, 0, 5, 0, 24]);
    frame.extend([&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9][..], &times].concat());
    frame.extend([0, 25, 0, 41, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 20, 0, 26, 0, 25]);
    frame.extend([&times[..], &[56], &prefix].concat());
    let len = ((frame.len() - 54) as u16).to_be_bytes();
    frame[18..20].copy_from_slice(&len);
    frame[58..60].copy_from_slice(&len);
    frame
}

fn agent() -> LldpAgents {
    let advert = Advert {
        chassis: None,
        port: LldpId::port_interface("west"),
        port_description: Some("port".into()),
        system_name: Some("tide".into()),
        system_description: None,
        capabilities: None,
        management: vec![Ipv4Addr::new(10, 0, 0, 2).into()],
        organization: vec![OrganizationTlv { oui: [0, 0x12, 0x0f], subtype: 1, value: vec![1] }],
    };
    let agents = vec![([2, 0, 0, 0, 0, 1], advert)];
    LldpAgents::new(LldpConfig { agents, interval: Nanos::from_secs(3_000), ttl_s: 12_001 })
}

/// Clients after some steps, and the last reply they received.
fn clients(steps: u8) -> (DhcpClients, Vec<u8>) {
    let mut clients = DhcpClients::new(DhcpConfig {
        pool: pool(CLIENTS),
        retry: Nanos::from_secs(4),
        check: false,
        broadcast: false,
        host_name: None,
        vendor_class: None,
        client_id: None,
        ask_for: Vec::new(),
        relay: RelayInfo::default(),
    });
    let mut last = Vec::new();
    for step in 0..=steps {
        let mut frames = Vec::new();
        clients.poll(NOW, &mut frames);
        let Some(asked) = frames.first() else { break };
        // An offer, then an acknowledgement.
        last = answer(asked, if step == 0 { 2 } else { 5 });
        if step < steps {
            assert!(clients.take(NOW, &last));
        }
    }
    (clients, last)
}

/// A server's reply to a client's message.
fn answer(asked: &[u8], kind: u8) -> Vec<u8> {
    let mut frame = asked.to_vec();
    frame[34..38].copy_from_slice(&[0, 67, 0, 68]);
    frame[42] = 2;
    frame[42 + 16..42 + 20].copy_from_slice(&[10, 0, 0, 9]);
    let options =
        [53, 1, kind, 54, 4, 10, 0, 0, 1, 51, 4, 0, 0, 0, 60, 1, 4, 255, 255, 0, 0, 3, 4, 10, 0, 0, 1, 255];
    frame[42 + 240..42 + 240 + options.len()].copy_from_slice(&options);
    frame
}

fn members() -> GroupMembers {
    let mut members = GroupMembers::new(GroupHost {
        mac: [2, 0, 0, 0, 0, 1],
        vlans: wire::Vlans::NONE,
        ip: Ipv4Addr::new(10, 0, 0, 2),
        link_local: "fe80::2".parse().expect("an address"),
        igmp_v2: false,
        mld_v1: false,
        rate: 100,
        seed: 1,
    });
    for group in ["239.1.1.1", "ff15::9"] {
        let group = group.parse().expect("an address");
        members.join(Membership { group, exclude: true, sources: Arc::default() });
    }
    (0..10).for_each(|second| members.poll(Nanos::from_secs(second), &mut Vec::new()));
    members
}

/// Answers to clients at each step, queries of all versions.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for steps in 0..3 {
        let (_, last) = clients(steps);
        if last.is_empty() {
            continue;
        }
        assert!(last.len() > XID);
        let mut nak = last.clone();
        nak[42 + 242] = 6;
        seeds.extend([last, nak].map(|frame| [&[steps], &frame[..]].concat()));
    }
    for steps in 0..3 {
        let (_, last) = clients6(steps);
        seeds.extend((!last.is_empty()).then(|| [&[steps], &last[..]].concat()));
    }
    seeds.extend(pppoe::seeds());
    seeds.extend(vrrp::seeds());
    // A router with a prefix, and a neighbour.
    let icmp = |message: &[u8]| {
        let mut frame = vec![0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x86, 0xdd, 0x60, 0, 0, 0, 0];
        frame.extend([message.len() as u8, 58, 255, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
        frame.extend([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let pseudo = wire::checksum::sum(&frame[22..54], 58 + message.len() as u64);
        let sum = wire::checksum::finish(wire::checksum::sum(message, pseudo)).to_be_bytes();
        frame.extend(message);
        frame[56..58].copy_from_slice(&sum);
        [&[2], &frame[..]].concat()
    };
    let ip = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let router = [
        134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4, 64, 0xc0, 0, 0, 1, 0, 0, 0, 0, 99, 0, 0, 0,
        0,
    ];
    seeds.push(icmp(&[&router[..], &ip].concat()));
    seeds.push(icmp(&[&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &ip].concat()));
    let igmp = |message: &[u8]| {
        let mut frame =
            [&[1, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 0][..], &[20 + message.len() as u8]]
                .concat();
        frame.extend([0, 0, 0, 0, 1, 2, 0, 0, 10, 0, 0, 1, 224, 0, 0, 1]);
        frame.extend(message);
        let sum = wire::checksum::finish(wire::checksum::sum(message, 0)).to_be_bytes();
        frame[36..38].copy_from_slice(&sum);
        [&[0], &frame[..]].concat()
    };
    let mut frames = Vec::new();
    agent().poll(NOW, &mut frames);
    frames[0][11] = 9;
    seeds.push([&[0], &frames[0][..]].concat());
    for steps in 0..3 {
        let (_, last) = lag_port(steps);
        let mut marker = last.clone();
        marker[14..18].copy_from_slice(&[2, 1, 1, 16]);
        seeds.extend([last, marker].map(|frame| [&[steps], &frame[..]].concat()));
    }
    seeds.push(igmp(&[0x11, 10, 0, 0, 0, 0, 0, 0]));
    seeds.push(igmp(&[0x11, 200, 0, 0, 239, 1, 1, 1, 2, 125, 0, 1, 10, 0, 0, 7]));
    seeds.push(igmp(&[0x16, 0, 0, 0, 239, 1, 1, 1]));
    seeds
}
