use super::*;
use std::net::IpAddr;
use units::Nanos;
use wire::Vlans;

const SECOND: Nanos = Nanos::from_secs(1);

fn config(last: u8, priority: u8) -> VrrpConfig {
    VrrpConfig {
        name: String::new(),
        host: 0,
        vlans: Vlans::NONE,
        local: IpAddr::from([10, 0, 0, last]),
        vrid: 7,
        version: VrrpVersion::V3,
        addresses: vec![IpAddr::from([10, 0, 0, 1])],
        priority,
        interval_cs: 100,
        preempt: true,
        preempt_delay: Nanos::ZERO,
        accept: true,
        pseudo_header: true,
        resign: true,
        leave: None,
        rejoin: None,
    }
}

/// A link between ports of one virtual router each.
struct Link {
    now: Nanos,
    ends: Vec<VirtualRouters>,
    /// Frames sent: when, by which, and the frame.
    sent: Vec<(Nanos, usize, Vec<u8>)>,
    /// Ends whose frames are lost.
    dark: Vec<usize>,
}

impl Link {
    fn new(configs: Vec<VrrpConfig>) -> Self {
        let ends = configs.into_iter().map(|config| VirtualRouters::new(vec![config])).collect();
        Self { now: Nanos::ZERO, ends, sent: Vec::new(), dark: Vec::new() }
    }

    fn begin(&mut self, end: usize) {
        self.ends[end].begin(self.now);
    }

    fn router(&mut self, end: usize) -> &mut VrrpRouter {
        &mut self.ends[end].routers_mut()[0]
    }

    fn states(&self) -> Vec<VrrpState> {
        self.ends.iter().map(|end| end.routers()[0].state()).collect()
    }

    fn run(&mut self, span: Nanos) {
        let end = self.now + span;
        loop {
            for from in 0..self.ends.len() {
                let mut frames = Vec::new();
                self.ends[from].poll(self.now, &mut frames);
                for frame in frames {
                    assert!(vrrp_may_concern(&frame));
                    let others = (0..self.ends.len()).filter(|to| *to != from && !self.dark.contains(&from));
                    for to in others.collect::<Vec<_>>() {
                        self.ends[to].take(self.now, &frame);
                    }
                    self.sent.push((self.now, from, frame));
                }
            }
            let due = self.ends.iter().map(VirtualRouters::next_due).min().unwrap();
            if due > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(due);
        }
    }
}

use VrrpState::{Active, Backup, Initialize};

#[test]
fn round_trips_and_rejects_truncation() {
    let (v4, v6) = ([IpAddr::from([10, 0, 0, 2]), IpAddr::from([224, 0, 0, 18])], ["fe80::2", "ff02::12"]);
    let v6 = v6.map(|ip| ip.parse::<IpAddr>().unwrap());
    for (version, [from, to], virtual_ip) in [
        (VrrpVersion::V2, v4, "10.0.0.1"),
        (VrrpVersion::V3, v4, "10.0.0.1"),
        (VrrpVersion::V3, v6, "fe80::1"),
    ] {
        let addresses = vec![virtual_ip.parse().unwrap(); 3];
        let advert = VrrpAdvert { version, vrid: 7, priority: 200, interval_cs: 300, addresses };
        for with_pseudo in [true, false] {
            let message = advert.write(from, to, with_pseudo);
            assert_eq!(VrrpAdvert::read(version, &message, from, to), Ok(advert.clone()));
            for len in 0..message.len() {
                assert!(VrrpAdvert::read(version, &message[..len], from, to).is_err(), "{len} bytes");
            }
            for at in 0..message.len() {
                let mut spoilt = message.clone();
                spoilt[at] ^= 0x40;
                assert!(VrrpAdvert::read(version, &spoilt, from, to).is_err(), "byte {at}");
            }
        }
    }
}

/// The checksum computed by hand (RFC 9568 section 5.2.8).
#[test]
fn the_checksum_covers_the_pseudo_header() {
    let advert = VrrpAdvert {
        version: VrrpVersion::V3,
        vrid: 7,
        priority: 100,
        interval_cs: 100,
        addresses: vec![IpAddr::from([10, 0, 0, 1])],
    };
    let message = advert.write(IpAddr::from([10, 0, 0, 2]), IpAddr::from([224, 0, 0, 18]), true);
    // Sum of 0x3107 0x6401 0x0064 0x0a00 0x0001, and of 0x0a00 0x0002 0xe000 0x0012, 112 and 12 of the pseudo-header.
    assert_eq!(message, [0x31, 7, 100, 1, 0, 100, 0x76, 0x01, 10, 0, 0, 1]);
}

#[test]
fn the_higher_priority_is_active_and_the_other_takes_over_by_the_timers_of_the_rfc() {
    let mut link = Link::new(vec![config(2, 200), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    assert_eq!(link.states(), [Active, Backup]);
    // Section 6.1: three intervals and a skew of 56/256 s.
    let first = link.sent[0].0;
    assert_eq!(first, Nanos::from_millis(3_000) + Nanos(SECOND.0 * 56 / 256));
    let last = link.router(0).next_due() - SECOND;
    link.dark.push(0);
    link.run(Nanos::from_secs(5));
    assert_eq!(link.states(), [Active, Active]);
    let skew = Nanos(SECOND.0 * 156 / 256);
    let counts = *link.router(1).counts();
    assert_eq!(counts.takeover, Some(Nanos::from_secs(3) + skew));
    let change = *link.router(1).changes().last().unwrap();
    assert_eq!((change.at, change.reason), (last + Nanos::from_secs(3) + skew, VrrpReason::Timeout));
    // The first returns, and the lower one yields at its next advertisement.
    link.dark.clear();
    link.run(Nanos::from_secs(2));
    assert_eq!(link.states(), [Active, Backup]);
    assert_eq!(link.router(1).counts().became_backup, 1);
    assert_eq!(link.router(1).changes().last().unwrap().reason, VrrpReason::Preempted);
}

#[test]
fn whoever_leaves_in_order_is_replaced_after_the_skew() {
    let mut link = Link::new(vec![config(2, 200), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    let at = link.now;
    assert!(link.router(0).leave(at) && !link.router(0).leave(at));
    link.run(Nanos::from_secs(1));
    assert_eq!(link.states(), [Initialize, Active]);
    let skew = Nanos(SECOND.0 * 156 / 256);
    assert_eq!(link.router(1).counts().takeover, Some(skew));
    assert_eq!(link.router(0).counts().handover, Some(skew));
    assert_eq!(link.router(1).changes().last().unwrap().reason, VrrpReason::Resigned);
    assert_eq!((link.router(0).counts().sent_leaving, link.router(1).counts().received_leaving), (1, 1));
    // It preempts once it is back.
    let at = link.now;
    assert!(link.router(0).come_back(at));
    link.run(Nanos::from_secs(4));
    assert_eq!(link.states(), [Active, Backup]);
    let change = *link.router(0).changes().last().unwrap();
    assert_eq!(
        (change.reason, change.at),
        (VrrpReason::Preempting, at + link.router(0).active_down_interval())
    );
}

#[test]
fn a_router_that_is_back_at_once_still_knows_when_another_took_over() {
    let mut link = Link::new(vec![config(2, 200), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    let at = link.now;
    link.router(0).leave(at);
    link.run(Nanos::from_millis(100));
    let at = link.now;
    link.router(0).come_back(at);
    link.run(Nanos::from_secs(1));
    assert_eq!(link.states(), [Backup, Active]);
    assert_eq!(link.router(0).counts().handover, Some(Nanos(SECOND.0 * 156 / 256)));
}

#[test]
fn without_resigning_and_by_its_times_it_vanishes_and_returns() {
    let first = VrrpConfig {
        resign: false,
        leave: Some(SECOND),
        rejoin: Some(Nanos::from_secs(10)),
        preempt: false,
        ..config(2, 200)
    };
    let mut link = Link::new(vec![first, config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    let epoch = link.now;
    link.ends.iter_mut().for_each(|end| end.start(epoch));
    link.run(Nanos::from_secs(9));
    assert_eq!(link.states(), [Initialize, Active]);
    let expected = link.router(1).active_down_interval();
    assert_eq!(link.router(1).counts().takeover, Some(expected));
    assert_eq!(link.router(0).counts().sent_leaving, 0);
    link.run(Nanos::from_secs(20));
    assert_eq!(link.states(), [Backup, Active], "it does not preempt");
}

#[test]
fn a_preempting_router_waits_for_its_delay() {
    let late = VrrpConfig { preempt_delay: Nanos::from_secs(5), ..config(3, 200) };
    let mut link = Link::new(vec![config(2, 100), late]);
    link.begin(0);
    link.run(Nanos::from_secs(5));
    link.begin(1);
    let begun = link.now;
    link.run(Nanos::from_secs(6));
    assert_eq!(link.states(), [Active, Backup]);
    assert!(link.ends[1].is_settled());
    link.run(Nanos::from_secs(5));
    assert_eq!(link.states(), [Backup, Active]);
    let change = *link.router(1).changes().last().unwrap();
    // The last advertisement before the delay is over, and the Active_Down interval.
    assert_eq!(change.at.since(begun), Nanos(7_828_125_000));
    assert_eq!(change.reason, VrrpReason::Preempting);
}

#[test]
fn of_equal_priorities_the_higher_address_wins() {
    let mut link = Link::new(vec![config(2, 100), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.dark = vec![0, 1];
    link.run(Nanos::from_secs(5));
    assert_eq!(link.states(), [Active, Active]);
    link.dark.clear();
    link.run(Nanos::from_secs(2));
    assert_eq!(link.states(), [Backup, Active]);
}

#[test]
fn the_owner_is_active_at_once_and_a_new_priority_counts() {
    let mut link = Link::new(vec![config(2, 255), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_millis(10));
    assert_eq!(link.states(), [Active, Backup]);
    let mut link = Link::new(vec![config(2, 200), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    let at = link.now;
    assert!(link.router(0).set_priority(at, 50) && !link.router(0).set_priority(at, 50));
    link.run(Nanos::from_secs(4));
    assert_eq!(link.states(), [Backup, Active]);
}

#[test]
fn version_2_takes_its_skew_of_a_second_and_refuses_other_intervals() {
    let v2 = |last, priority, interval_cs| VrrpConfig {
        version: VrrpVersion::V2,
        interval_cs,
        ..config(last, priority)
    };
    let mut link = Link::new(vec![v2(2, 200, 200), v2(3, 100, 200)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(8));
    assert_eq!(link.states(), [Active, Backup]);
    assert_eq!(link.sent[0].0, Nanos::from_secs(6) + Nanos(SECOND.0 * 56 / 256));
    let mut link = Link::new(vec![v2(2, 200, 200), v2(3, 100, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(10));
    assert_eq!(link.states(), [Active, Active]);
    let interval = VrrpInvalid::ALL.iter().position(|reason| *reason == VrrpInvalid::Interval).unwrap();
    assert!(link.router(0).counts().invalid[interval] > 3);
}

#[test]
fn messages_that_fail_a_check_are_counted_and_change_nothing() {
    let mut link = Link::new(vec![config(2, 200), config(3, 100)]);
    [0, 1].into_iter().for_each(|end| link.begin(end));
    link.run(Nanos::from_secs(5));
    let (.., advert) = link.sent[0].clone();
    let own = VrrpInvalid::Own as usize;
    let mut try_out = |at: usize, value: u8| {
        let mut frame = advert.clone();
        frame[at] = value;
        link.ends[1].take(Nanos::from_secs(100), &frame);
        link.router(1).counts().invalid
    };
    assert_eq!(try_out(22, 254)[VrrpInvalid::Ttl as usize], 1);
    assert_eq!(try_out(34, 0x21)[VrrpInvalid::Version as usize], 1);
    assert_eq!(try_out(34, 0x32)[VrrpInvalid::Type as usize], 1);
    assert_eq!(try_out(37, 2)[VrrpInvalid::Length as usize], 1);
    assert_eq!(try_out(36, 3)[VrrpInvalid::Checksum as usize], 1);
    assert_eq!(try_out(35, 8), [1, 1, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(link.ends[1].strangers(), 1);
    link.ends[0].take(Nanos::from_secs(100), &advert);
    assert_eq!(link.router(0).counts().invalid[own], 1);
    assert_eq!(link.states(), [Active, Backup]);
}

/// A host that requests an address, and the reply to it.
fn ask(router: &mut VirtualRouters, frame: &[u8]) -> Option<Vec<u8>> {
    assert!(vrrp_may_concern(frame));
    let mut frames = Vec::new();
    let taken = router.take(Nanos::from_secs(9), frame);
    router.poll(Nanos::from_secs(9), &mut frames);
    frames.into_iter().next().filter(|_| taken)
}

#[test]
fn the_active_router_replies_with_the_virtual_mac_address() {
    let mut own = config(2, 255);
    own.addresses = vec![IpAddr::from([10, 0, 0, 1])];
    let mut routers = VirtualRouters::new(vec![own.clone()]);
    let client = [2, 0, 0, 0, 0, 9];
    let link = crate::frame::Link { from: client, to: [0xff; 6], vlans: &Vlans::NONE };
    let request = link.arp(1, [10, 0, 0, 9].into(), [10, 0, 0, 1].into());
    assert_eq!(ask(&mut routers, &request), None, "not before it is Active");
    routers.begin(Nanos::from_secs(1));
    let mut frames = Vec::new();
    routers.poll(Nanos::from_secs(1), &mut frames);
    let virtual_mac = [0, 0, 0x5e, 0, 1, 7];
    assert_eq!(routers.routers()[0].mac(), virtual_mac);
    assert!(frames.iter().all(|frame| frame[6..12] == virtual_mac), "the source of all frames");
    let [advert, announcement] = &frames[..] else { panic!("{} frames", frames.len()) };
    assert_eq!((&advert[..6], advert[22], advert[23]), (&[1, 0, 0x5e, 0, 0, 18][..], 255, 112));
    assert_eq!((&announcement[..6], &announcement[28..32]), (&[0xff; 6][..], &[10, 0, 0, 1][..]));
    let reply = ask(&mut routers, &request).unwrap();
    assert_eq!((&reply[..6], &reply[6..12], reply[21]), (&client[..], &virtual_mac[..], 2));
    assert_eq!((&reply[22..28], &reply[28..32]), (&virtual_mac[..], &[10, 0, 0, 1][..]));
    assert_eq!((&reply[32..38], &reply[38..42]), (&client[..], &[10, 0, 0, 9][..]));
    let other = link.arp(1, [10, 0, 0, 9].into(), [10, 0, 0, 2].into());
    assert_eq!(ask(&mut routers, &other), None, "its own address is its host's to reply for");
}

#[test]
fn over_ipv6_it_advertises_itself_as_a_router() {
    let virtual_ip: IpAddr = "fe80::1".parse().unwrap();
    let own = VrrpConfig {
        local: "fe80::2".parse().unwrap(),
        addresses: vec![virtual_ip, "2001:db8::1".parse().unwrap()],
        vlans: [9].into(),
        ..config(2, 255)
    };
    let mut routers = VirtualRouters::new(vec![own]);
    routers.begin(Nanos::ZERO);
    let mut frames = Vec::new();
    routers.poll(Nanos::ZERO, &mut frames);
    let [advert, first, _] = &frames[..] else { panic!("{} frames", frames.len()) };
    assert_eq!(
        (&advert[..6], &advert[6..12]),
        (&[0x33, 0x33, 0, 0, 0, 0x12][..], &[0, 0, 0x5e, 0, 2, 7][..])
    );
    // Router and Override (RFC 9568 section 6.4.2), in the advertisement behind Ethernet, a tag and IPv6.
    assert_eq!((first[58], first[62] & 0xe0), (136, 0xa0));
    let client = "fe80::9".parse().unwrap();
    let solicit =
        [&[135, 0, 0, 0, 0, 0, 0, 0][..], &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]].concat();
    let link = crate::frame::Link { from: [2, 0, 0, 0, 0, 9], to: [0x33; 6], vlans: &[9].into() };
    let reply =
        ask(&mut routers, &link.discovery(client, "ff02::1:ff00:1".parse().unwrap(), &solicit)).unwrap();
    assert_eq!((&reply[..6], reply[62] & 0xe0), (&link.from[..], 0xe0));
}

#[test]
fn it_accepts_packets_to_virtual_addresses_if_it_is_to() {
    for (accept, replies) in [(true, true), (false, false)] {
        let mut routers = VirtualRouters::new(vec![VrrpConfig { accept, ..config(2, 254) }]);
        routers.begin(Nanos::ZERO);
        routers.poll(Nanos::from_secs(5), &mut Vec::new());
        assert_eq!(routers.active(), 1);
        let mut echo =
            vec![0, 0, 0x5e, 0, 1, 7, 2, 0, 0, 0, 0, 9, 8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 9, 1, 0, 0];
        echo.extend([10, 0, 0, 9, 10, 0, 0, 1, 8, 0, 0, 0, 0, 1, 0, 2]);
        let sum = wire::checksum::finish(wire::checksum::sum(&echo[34..], 0));
        echo[36..38].copy_from_slice(&sum.to_be_bytes());
        let reply = ask(&mut routers, &echo);
        assert_eq!(reply.is_some(), replies);
        if let Some(reply) = reply {
            assert_eq!((&reply[26..34], reply[34]), (&[10, 0, 0, 1, 10, 0, 0, 9][..], 0));
            for part in [&reply[14..34], &reply[34..]] {
                assert_eq!(wire::checksum::finish(wire::checksum::sum(part, 0)), 0);
            }
        }
    }
}
