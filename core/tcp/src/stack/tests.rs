use super::*;
use crate::segment::{Flags, Segment};
use crate::{Gateway, GroupTunnel, TcpOptions, TimeWait, UdpOptions, UnfinishedChecksums};
use proptest::prelude::*;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::tunnel::{Decap, DecapEntry, Encap, EncapLink, OuterHeaders, Tunnel, TunnelKind};
use wire::{Header, PacketSpec, protocol};

mod lane;
mod link;
use link::{Link, Talk, World, config};

const CLIENT: GroupId = GroupId(0);

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn range(text: &str) -> RangeInclusive<IpAddr> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    first.parse().unwrap()..=last.parse().unwrap()
}

#[test]
fn an_idle_flow_fits_its_budget() {
    let slot = size_of::<Slot<[u32; 9]>>();
    let share = Table::new(1_000_000).bytes().div_ceil(1_000_000);
    assert!(slot + share <= 137, "{slot} + {share}");
}

#[test]
fn bytes_arrive_over_a_clean_link() {
    let mut world = World::new(1, Link::default(), config(), config());
    world.open_many(50, 1_000, 5_000);
    world.run();
    world.check_all_closed(50);
    assert_eq!(world.client.counts(CLIENT).retransmitted(), 0);
}

#[test]
fn checksums_are_left_out() {
    let config =
        GroupConfig { leaves_checksums: true, unfinished_checksums: UnfinishedChecksums::Told, ..config() };
    for transport in [Transport::Tcp, Transport::Udp] {
        for is_v6 in [false, true] {
            let mut world =
                World::new(1, Link { tells: true, ..Link::default() }, config.clone(), config.clone());
            world.is_v6 = is_v6;
            world.open(transport, Talk::client(1_000, 1_200));
            world.step(Nanos::from_millis(20));
            assert_eq!(world.client_app.ends.len(), 1, "{transport:?}");
            let frames = world.client.frame_counts(CLIENT);
            assert_eq!((frames.unfinished_checksum, frames.bad_checksum), (frames.frames_in, 0));
            // Whoever is not told sees that they are not finished, and refuses them.
            let mut world = World::new(1, Link::default(), config.clone(), config.clone());
            world.is_v6 = is_v6;
            world.open(transport, Talk::client(1_000, 1_200));
            world.step(Nanos::from_millis(20));
            let frames = world.server.frame_counts(CLIENT);
            assert!(frames.bad_checksum > 0 && frames.unfinished_untold == frames.bad_checksum, "{frames:?}");
        }
    }
}

#[test]
fn a_card_puts_checksums_where_they_are_left() {
    for (transport, is_v6, vlans) in [
        (Transport::Tcp, false, vec![]),
        (Transport::Tcp, true, vec![5]),
        (Transport::Udp, false, vec![5, 6]),
        (Transport::Udp, true, vec![]),
    ] {
        let config = GroupConfig { leaves_checksums: true, vlans: vlans.into(), ..config() };
        let link = Link { has_cards: true, ..Link::default() };
        let mut world = World::new(1, link, config.clone(), config);
        world.is_v6 = is_v6;
        world.open(transport, Talk::client(1_000, 1_001));
        world.run();
        for stack in [&world.client, &world.server] {
            let frames = stack.frame_counts(CLIENT);
            assert!(frames.frames_in > 0 && frames.bad_checksum == 0, "{transport:?} {is_v6}: {frames:?}");
        }
        assert_eq!(world.client_app.ends.len(), 1, "{transport:?} {is_v6}");
    }
}

#[test]
fn sessions_take_few_segments() {
    let mut world = World::new(1, Link::default(), config(), config());
    world.open_many(1, 100, 100);
    world.run();
    world.check_all_closed(1);
    let (out, back) = (world.client.counts(CLIENT).segments_out, world.server.counts(CLIENT).segments_out);
    assert!(out + back <= 7, "{out} + {back} segments");
}

fn tunnel(kind: usize, v6: bool) -> Tunnel {
    let kind = [
        TunnelKind::Vxlan { vni: 9 },
        TunnelKind::Gre { key: Some(9), ethernet: true },
        TunnelKind::Gre { key: None, ethernet: false },
        TunnelKind::Ip,
    ][kind]
        .clone();
    let own = if v6 { "2001:db8:ff::1" } else { "192.0.2.1" }.parse().unwrap();
    let udp_port = kind.udp_port().unwrap_or(0);
    Tunnel { kind, from: own, to: own, dscp: 0, ttl: 64, udp_port, source_port: None }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn bytes_arrive_over_a_bad_link(
        seed: u64,
        loss in 0u32..25,
        jitter_us in 0u64..3_000,
        room in 1usize..20,
        timestamps: bool,
        sack: bool,
        is_v6: bool,
        vlans in prop::collection::vec(1u16..4_000, 0..3),
        request in 0u64..40_000,
        response in 0u64..100_000,
    ) {
        let link = Link { loss_percent: loss, jitter: Nanos::from_micros(jitter_us), copies_percent: 3, damage_percent: 2, room, ..Link::default() };
        let tcp = TcpOptions { timestamps, sack, ..TcpOptions::default() };
        let config = GroupConfig { tcp, vlans: vlans.into(), ..config() };
        let mut world = World::new(seed, link, config.clone(), config);
        world.is_v6 = is_v6;
        world.open_many(5, request, response);
        world.run();
        world.check_all_closed(5);
    }

    #[test]
    fn bytes_arrive_through_tunnels(
        seed: u64,
        kind in 0usize..4,
        loss in 0u32..10,
        is_v6: bool,
        outer_v6: bool,
        vlan in prop::option::of(1u16..4_000),
        request in 0u64..20_000,
        response in 0u64..60_000,
    ) {
        let link = Link { loss_percent: loss, copies_percent: 3, damage_percent: 2, ..Link::default() };
        let tunnel = tunnel(kind, outer_v6);
        // Both ends have one address here.
        let mac = config().own_mac;
        let way = EncapLink { own_mac: mac, hop_mac: mac, vlans: [7].into() };
        let outer = Arc::new(OuterHeaders::Tunnel(Encap::new(tunnel.clone(), &way)));
        let config = GroupConfig {
            vlans: vlan.into_iter().filter(|_| !tunnel.kind.is_bare()).collect::<Vec<_>>().into(),
            tunnel: Some(GroupTunnel { outer, network: 5 }),
            ..config()
        };
        let mut world = World::new(seed, link, config.clone(), config);
        world.decap = Some(Decap::new(vec![DecapEntry { tunnel, mac, vlans: vec![7], network: 5 }]));
        world.is_v6 = is_v6;
        world.open_many(5, request, response);
        world.run();
        world.check_all_closed(5);
        let (sent, got) = (world.client.frame_counts(CLIENT), world.server.frame_counts(CLIENT));
        prop_assert!(sent.frames_out > 0 && got.frames_in > 0);
    }

    #[test]
    fn takes_any_bytes(frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..20), at in 12usize..24) {
        let mut world = World::new(1, Link::default(), config(), config());
        world.open_many(3, 100, 100);
        world.step(Nanos::from_micros(400));
        for mut bytes in frames {
            // Half of them look like IPv4 to begin with.
            if bytes.len() > 40 && bytes[0] & 1 == 1 {
                bytes[..6].copy_from_slice(&config().own_mac);
                bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
                bytes[at] ^= 1;
            }
            world.server.receive(world.now, &mut world.server_app, &[&bytes]);
        }
        world.run();
        world.check_all_closed(3);
    }
}

/// RFC 9293 section 3.9.2.3, MUST-46. UDP may.
#[test]
fn groups_are_not_opened_to() {
    let mut world = World::new(1, Link::default(), config(), config());
    for (local, remote) in [
        ("10.0.0.1:1000", "224.0.0.251:80"),
        ("10.0.0.1:1000", "255.255.255.255:80"),
        ("10.0.0.1:1000", "0.0.0.0:80"),
        ("[2001:db8::1]:1000", "[ff02::1]:80"),
        ("[2001:db8::1]:1000", "[::]:80"),
    ] {
        let ends = (addr(local), addr(remote));
        let open = |world: &mut World, transport| {
            let app = &mut world.client_app;
            world.client.connect(world.now, app, CLIENT, transport, ends, None, Talk::default())
        };
        assert_eq!(open(&mut world, Transport::Tcp), Err(ConnectError::NoPeer), "{remote}");
        assert!(open(&mut world, Transport::Udp).is_ok(), "{remote}");
    }
}

#[test]
fn a_taken_four_tuple_is_refused() {
    let mut world = World::new(1, Link::default(), config(), config());
    let (local, remote) = (addr("10.0.0.1:1000"), addr("10.1.0.1:80"));
    let open = |world: &mut World| {
        world.server_app.served = Talk::client(1, 1);
        world.opened += 1;
        let app = &mut world.client_app;
        world.client.connect(
            world.now,
            app,
            CLIENT,
            Transport::Tcp,
            (local, remote),
            None,
            Talk::client(1, 1),
        )
    };
    let id = open(&mut world).unwrap();
    assert_eq!(open(&mut world), Err(ConnectError::InUse));
    world.opened = 1;
    assert_eq!(world.client.ends(id), Some((local, remote)));
    let mixed = world.client.connect(
        world.now,
        &mut world.client_app,
        CLIENT,
        Transport::Tcp,
        (local, addr("[::1]:80")),
        None,
        Talk::default(),
    );
    assert_eq!(mixed, Err(ConnectError::Families));
    world.step(Nanos::from_millis(50));
    // The client closes last here, so the server waits; the client's side is free at once or after its time.
    world.run();
    world.check_all_closed(1);
    assert!(open(&mut world).is_ok());
}

#[test]
fn a_peer_in_time_wait_takes_a_new_flow() {
    let tcp = TcpOptions { time_wait: TimeWait::Skip, ..TcpOptions::default() };
    let forgetful = GroupConfig { tcp, ..config() };
    let mut world = World::new(1, Link::default(), forgetful, config());
    for round in 0..5 {
        // Fixed ports, one flow after the other, while the server's side is in TIME-WAIT.
        world.next_port = 1_000;
        world.open_many(1, 10, 10);
        world.step(Nanos::from_millis(5));
        assert_eq!(world.client.flows(), 0, "round {round}");
    }
    world.run();
    world.check_all_closed(5);
}

/// State of the flow that a segment arrived for is not mistaken for the next one's in the same slot.
#[test]
fn a_slot_used_again_leaves_the_table_by_its_own_key() {
    let mut world = World::new(1, Link::default(), config(), config());
    let first = world.open(Transport::Tcp, Talk::client(10, 10));
    world.step(Nanos::from_micros(250));
    assert_eq!(world.client_app.opened, 1, "segments came for the first");
    let abort = |world: &mut World, id| {
        assert!(world.client.with(world.now, &mut world.client_app, id, |_, _, io| io.abort()));
        world.client.flows()
    };
    assert_eq!(abort(&mut world, first), 0);
    for _ in 0..2 {
        world.next_port = 2_000;
        let second = world.open(Transport::Tcp, Talk::client(10, 10));
        assert_eq!((second, world.client.flows()), (first, 1), "the slot is used again");
        assert_eq!(abort(&mut world, second), 0);
    }
}

#[test]
fn flows_that_end_while_they_wait_to_send_leave_the_queue() {
    for is_v6 in [false, true] {
        for transport in [Transport::Tcp, Transport::Udp] {
            let mut world = World::new(1, Link::default(), config(), config());
            world.is_v6 = is_v6;
            let ids: Vec<FlowId> = (0..3).map(|_| world.open(transport, Talk::client(10, 10))).collect();
            assert!(world.client.owes());
            for id in ids {
                assert!(world.client.with(world.now, &mut world.client_app, id, |_, _, io| io.abort()));
            }
            assert_eq!(world.take_from_client().len(), 0, "{transport:?}");
            assert!(!world.client.owes());
            // Who takes the place of one that waited is heard.
            let last = world.open(transport, Talk::client(10, 10));
            world.run();
            assert_eq!(world.client_app.ends[&last].last(), Some(&End::Closed), "{transport:?}");
        }
    }
}

/// A flow of which the server's side is in TIME-WAIT, the client's is gone, and the client's FIN.
fn served_into_time_wait(world: &mut World) -> (FlowId, Vec<u8>) {
    world.open(Transport::Tcp, Talk::client(10, 10));
    let mut fin = Vec::new();
    for _ in 0..100 {
        world.step(Nanos::from_micros(50));
        if let Some(bytes) = world.link_to_server().find(|bytes| bytes[47] & 1 != 0) {
            fin.clone_from(bytes);
        }
    }
    assert_eq!((world.client.flows(), world.server.flows(), fin.is_empty()), (0, 1, false));
    (world.server.flows_from(0).next().unwrap(), fin)
}

#[test]
fn the_end_is_told_when_time_wait_begins_and_only_then() {
    let mut world = World::new(1, Link::default(), config(), config());
    let (id, fin) = served_into_time_wait(&mut world);
    assert_eq!(world.server_app.ends[&id], [End::Closed]);
    let now = world.now;
    assert!(!world.server.with(now, &mut world.server_app, id, |_, _, _| panic!("it is over")));
    // It is a flow all the same, and waits for its time alone.
    assert_eq!(
        (world.server.flows(), world.server.ends(id).is_some(), world.server.owes()),
        (1, true, false)
    );
    assert!(world.server.next_due() > now);
    // Its last acknowledgement was lost: the FIN comes again and is acknowledged again.
    world.step(Nanos::from_millis(100));
    assert_eq!(world.server.receive(world.now, &mut world.server_app, &[&fin]), 0);
    let again = world.take_from_server();
    assert_eq!(again.len(), 1);
    let header = Segment::read(&again[0][34..], false).unwrap().header;
    let of_fin = Segment::read(&fin[34..], false).unwrap();
    assert_eq!((header.flags, header.ack), (Flags::ACK, of_fin.header.seq.wrapping_add(of_fin.span())));
    world.run();
    world.check_all_closed(1);
    assert_eq!(world.server_app.ends[&id], [End::Closed]);
    assert_eq!(world.server_app.woken, 0);
}

#[test]
fn a_reset_in_time_wait_is_told_to_nobody() {
    let mut world = World::new(1, Link::default(), config(), config());
    let (id, fin) = served_into_time_wait(&mut world);
    assert_eq!(world.server.receive(world.now, &mut world.server_app, &[&fin]), 0);
    // The client forgot the flow, and says so to the acknowledgement.
    world.step(Nanos::from_millis(1));
    assert_eq!((world.server.flows(), world.server.counts(CLIENT).resets_in), (0, 1));
    assert_eq!(world.server_app.ends[&id], [End::Closed]);
    world.check_all_closed(1);
}

#[test]
fn a_syn_takes_the_place_of_a_flow_in_time_wait() {
    let mut world = World::new(1, Link::default(), config(), config());
    for round in 1..4 {
        world.next_port = 1_000;
        let (id, _) = served_into_time_wait(&mut world);
        assert_eq!(world.server_app.opened, round);
        assert_eq!(world.server_app.ends[&id], vec![End::Closed; round]);
        assert_eq!(world.server.flows_from(0).count(), 1);
    }
    world.run();
    world.check_all_closed(3);
    assert_eq!(world.server_app.ends.values().map(Vec::len).sum::<usize>(), 3);
}

#[test]
fn nobody_is_woken_in_time_wait() {
    let mut world = World::new(1, Link::default(), config(), config());
    let id = world.open(Transport::Tcp, Talk::client(10, 10));
    world.step(Nanos::from_micros(250));
    let soon = world.now + Nanos::from_millis(20);
    let ask = |_: &mut _, _: &mut Talk, io: &mut Io| {
        io.wake_at(soon);
        io.close();
    };
    assert!(world.client.with(world.now, &mut world.client_app, id, ask));
    world.step(Nanos::from_millis(5));
    assert_eq!((world.client.flows(), &world.client_app.ends[&id][..]), (1, &[End::Closed][..]));
    let (local, remote) = world.client.ends(id).unwrap();
    let again = Talk::client(1, 1);
    let app = &mut world.client_app;
    let taken = world.client.connect(world.now, app, CLIENT, Transport::Tcp, (local, remote), None, again);
    assert_eq!(taken, Err(ConnectError::InUse));
    world.step(Nanos::from_millis(100));
    assert_eq!((world.client.flows(), world.client_app.woken), (1, 0));
    world.run();
    world.check_all_closed(1);
}

/// Data are delivered before the end, even if TIME-WAIT began meanwhile.
#[test]
fn a_paused_application_hears_everything_before_the_end() {
    for resumes in [true, false] {
        let mut world = World::new(1, Link::default(), config(), config());
        let id = world.open(Transport::Tcp, Talk::client(10, 3_000));
        world.server_app.served.request = 20;
        world.step(Nanos::from_millis(1));
        let pause = |_: &mut _, _: &mut Talk, io: &mut Io| {
            io.pause();
            io.send(10);
            io.close();
        };
        assert!(world.client.with(world.now, &mut world.client_app, id, pause));
        world.step(Nanos::from_millis(50));
        assert_eq!((world.client.flows(), world.server.flows()), (1, 0));
        assert!(!world.client_app.ends.contains_key(&id));
        if resumes {
            let resume = |_: &mut _, flow: &mut Talk, io: &mut Io| {
                assert_eq!(flow.received, 0);
                io.resume();
            };
            assert!(world.client.with(world.now, &mut world.client_app, id, resume));
            assert_eq!((world.client.flows(), &world.client_app.ends[&id][..]), (1, &[End::Closed][..]));
            assert_eq!(world.client.lent(), 0);
        }
        world.run();
        world.check_all_closed(1);
        assert_eq!(world.client_app.ends[&id], [End::Closed]);
        assert_eq!(world.client.counts(CLIENT).bytes_in, 3_000);
    }
}

#[test]
fn frames_go_to_the_hop_of_their_flow() {
    let mut world = World::new(1, Link::default(), GroupConfig { hop_mac: None, ..config() }, config());
    let remote = world.remote();
    let open = |world: &mut World, transport, hop| {
        let ends = (world.local(), remote);
        let app = &mut world.client_app;
        world.client.connect(world.now, app, CLIENT, transport, ends, hop, Talk::client(10, 10))
    };
    assert_eq!(open(&mut world, Transport::Tcp, None), Err(ConnectError::NoHop));
    assert_eq!(world.client.flows(), 0);
    let hops = [7, 8, 7].map(|last| [2, 0, 0, 0, 0, last]);
    let ids = [Transport::Tcp, Transport::Udp, Transport::Tcp]
        .into_iter()
        .zip(hops)
        .map(|(transport, hop)| open(&mut world, transport, Some(hop)).unwrap())
        .collect::<Vec<_>>();
    let to = |frames: Vec<Vec<u8>>| frames.iter().map(|bytes| bytes[5]).collect::<Vec<_>>();
    assert_eq!(to(world.take_from_client()), [7, 8, 7]);
    // A flow's hop counts for more than its group's.
    let mut world = World::new(1, Link::default(), config(), config());
    open(&mut world, Transport::Tcp, None).unwrap();
    let id = open(&mut world, Transport::Tcp, Some(hops[1])).unwrap();
    assert_eq!(to(world.take_from_client()), [1, 8]);
    assert_eq!((ids.len(), world.client.ends(id).unwrap().1), (3, remote));
}

#[test]
fn flows_follow_a_hop_that_moves() {
    let mut world = World::new(1, Link::default(), config(), config());
    let remote = world.remote();
    let hop = |last| [2, 0, 0, 0, 0, last];
    let open = |world: &mut World, by| {
        let (ends, app) = ((world.local(), remote), &mut world.client_app);
        world.client.connect(world.now, app, CLIENT, Transport::Tcp, ends, by, Talk::client(10, 10)).unwrap();
    };
    [Some(hop(7)), Some(hop(8)), Some(hop(7)), None].into_iter().for_each(|by| open(&mut world, by));
    let step = |from, to| HopMove { group: CLIENT, remotes: remote.ip()..=remote.ip(), from, to };
    let elsewhere = HopMove { remotes: range("192.0.2.1-192.0.2.9"), ..step(hop(8), hop(5)) };
    assert_eq!(world.client.move_flows(&elsewhere, 0, 100), None, "others' peers");
    assert_eq!(world.client.move_flows(&step(hop(7), hop(9)), 0, 3), Some(3), "some at a time");
    assert_eq!(world.client.move_flows(&step(hop(7), hop(9)), 3, 3), None);
    let own = config().hop_mac.unwrap();
    world.client.move_group(&step(own, hop(6)));
    open(&mut world, None);
    let to: Vec<u8> = world.take_from_client().iter().map(|bytes| bytes[5]).collect();
    assert_eq!(to, [9, 8, 9, own[5], 6]);
}

#[test]
fn answers_go_by_the_gateway() {
    let answered = |networks: &[&str], moved: bool| {
        let gateway =
            Gateway { mac: [2, 0, 0, 0, 0, 7], networks: networks.iter().copied().map(range).collect() };
        let server = GroupConfig { hop_mac: None, gateway: Some(gateway), ..config() };
        let mut world = World::new(1, Link::default(), config(), server);
        if moved {
            let everybody = range("0.0.0.0-255.255.255.255");
            let step = HopMove {
                group: CLIENT,
                remotes: everybody,
                from: [2, 0, 0, 0, 0, 7],
                to: [2, 0, 0, 0, 0, 8],
            };
            world.server.move_group(&step);
        }
        let syn = Header::new(protocol("tcp").unwrap())
            .with("src", 5)
            .with("dst", world.remote().port().into())
            .with("flags", 2);
        let bytes = frame_to_server(vec![syn], b"");
        world.server.receive(world.now, &mut world.server_app, &[&bytes]);
        let frames = world.take_from_server();
        assert_eq!(frames.len(), 1);
        frames[0][5]
    };
    // The peer is 10.0.0.99, and its frame came from another router's address.
    assert_eq!(answered(&["10.1.0.0-10.1.0.255"], false), 7);
    assert_eq!(answered(&["10.1.0.0-10.1.0.255"], true), 8);
    assert_eq!(answered(&["10.1.0.0-10.1.0.255", "10.0.0.0-10.0.0.255"], false), 9, "it is near");
}

#[test]
fn ranges_say_who_serves() {
    let mut world = World::new(1, Link::default(), config(), config());
    world.server = Stack::new(9, 10, vec![config(), config()]);
    world.server.listen(CLIENT, Transport::Tcp, range("10.1.0.1-10.1.0.9"), 80..=89);
    world.server.listen(GroupId(1), Transport::Tcp, range("10.1.0.5-10.1.0.20"), 85..=95);
    world.server.owns(CLIENT, range("10.1.0.30-10.1.0.39"));
    for (remote, group) in [
        ("10.1.0.1:80", Some(0)),
        ("10.1.0.9:89", Some(0)),
        ("10.1.0.5:90", Some(1)),
        ("10.1.0.20:95", Some(1)),
        ("10.1.0.1:90", None),
        ("10.1.0.30:80", None),
    ] {
        let before = [0, 1].map(|group| world.server.counts(GroupId(group)).opened_passive);
        let talk = Talk::client(1, 1);
        world.server_app.served = talk.clone();
        let local = world.local();
        world
            .client
            .connect(
                world.now,
                &mut world.client_app,
                CLIENT,
                Transport::Tcp,
                (local, addr(remote)),
                None,
                talk,
            )
            .unwrap();
        world.step(Nanos::from_millis(5));
        let after = [0, 1].map(|group| world.server.counts(GroupId(group)).opened_passive);
        let opened = (0..2).find(|group| after[*group] > before[*group]);
        assert_eq!(opened, group, "{remote}");
    }
    world.run();
    let refused = world.client_app.ends.values().flatten().filter(|end| **end == End::Refused).count();
    assert_eq!((refused, world.client.counts(CLIENT).resets_in), (2, 2));
    assert_eq!(world.server.frame_counts(CLIENT).resets_to_nobody, 2);
}

#[test]
fn frames_of_others_are_given_back() {
    let mut world = World::new(1, Link::default(), config(), config());
    let good = world.first_syn();
    let change = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        bytes
    };
    let mut elsewhere = good.clone();
    elsewhere[33] ^= 0x80;
    elsewhere[32] ^= 1;
    elsewhere[31] ^= 1;
    fix_ip_sum(&mut elsewhere);
    let mut tagged = good.clone();
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    let frames = [&good[..], &change(5, 0x77), &change(13, 6), &elsewhere, &good[..10], &tagged];
    let foreign = world.server.receive(world.now, &mut world.server_app, &frames);
    assert_eq!(foreign, 0b111110);
    assert_eq!((world.server.flows(), world.server.frame_counts(CLIENT).frames_in), (1, 1));
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert_eq!(world.server.receive(world.now, &mut world.server_app, &[&wrong]), 0);
    assert_eq!(world.server.frame_counts(CLIENT).bad_checksum, 1);
    let mut piece = good;
    piece[20] = 0x20;
    fix_ip_sum(&mut piece);
    // Who puts packets together gets it, and comes again with the whole.
    assert_eq!(world.server.receive(world.now, &mut world.server_app, &[&piece]), 1);
}

fn fix_ip_sum(bytes: &mut [u8]) {
    bytes[24..26].fill(0);
    let sum = wire::checksum::finish(wire::checksum::sum(&bytes[14..34], 0));
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// The three cases of RFC 9293 section 3.10.7.1, each with its reply.
#[test]
fn segments_to_nobody_are_reset() {
    let answer = |flags: u8, payload: &[u8]| {
        let learning = GroupConfig { hop_mac: None, ..config() };
        let mut world = World::new(1, Link::default(), config(), learning);
        let tcp = Header::new(protocol("tcp").unwrap())
            .with("src", 5)
            .with("dst", 6)
            .with("seq", 1_000)
            .with("ack", 2_000)
            .with("flags", flags.into());
        let bytes = frame_to_server(vec![tcp], payload);
        world.server.receive(world.now, &mut world.server_app, &[&bytes]);
        let frames = world.take_from_server();
        assert!(frames.len() <= 1);
        frames.first().map(|bytes| {
            let segment = Segment::read(&bytes[34..], false).unwrap();
            assert_eq!((&bytes[..6], bytes[34..38].to_vec()), (&[2, 0, 0, 0, 0, 9][..], vec![0, 6, 0, 5]));
            (segment.header.flags, segment.header.seq, segment.header.ack)
        })
    };
    assert_eq!(answer(0x10, b""), Some((Flags::RST, 2_000, 0)));
    assert_eq!(answer(0x02, b""), Some((Flags::RST | Flags::ACK, 0, 1_001)));
    assert_eq!(answer(0x01, b"abc"), Some((Flags::RST | Flags::ACK, 0, 1_004)));
    assert_eq!(answer(0x04, b""), None);
}

/// A frame to an address the server owns, from a peer with its own hardware address.
fn frame_to_server(transport: Vec<Header>, payload: &[u8]) -> Vec<u8> {
    let header = |name: &str| Header::new(protocol(name).unwrap());
    let mut headers = vec![
        header("ethernet").with("dst", 0x0200_0000_0001).with("src", 0x0200_0000_0009),
        header("ipv4").with("src", 0x0a00_0063).with("dst", 0x0a01_0001),
    ];
    headers.extend(transport);
    let spec = PacketSpec { headers, payload: payload.to_vec(), ..PacketSpec::default() };
    spec.build_unpadded().unwrap().bytes
}

/// "Port unreachable" in reply to a client's frame.
fn unreachable(frame: &[u8]) -> Vec<u8> {
    let header = |name: &str| Header::new(protocol(name).unwrap());
    let headers = vec![
        header("ethernet").with("dst", 0x0200_0000_0001).with("src", 0x0200_0000_0009),
        header("ipv4").with("src", 0x0a01_0001).with("dst", 0x0a00_0001).with("protocol", 1),
    ];
    let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
    message.extend(&frame[14..42]);
    let sum = wire::checksum::finish(wire::checksum::sum(&message, 0));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let spec = PacketSpec { headers, payload: message, ..PacketSpec::default() };
    spec.build_unpadded().unwrap().bytes
}

/// A datagram in reply to a client's frame: the byte at an offset of the response.
fn datagram_back(frame: &[u8], offset: u64) -> Vec<u8> {
    let port = |at: usize| u128::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let header = |name: &str| Header::new(protocol(name).unwrap());
    let headers = vec![
        header("ethernet").with("dst", 0x0200_0000_0001).with("src", 0x0200_0000_0009),
        header("ipv4").with("src", 0x0a01_0001).with("dst", 0x0a00_0001),
        header("udp").with("src", port(36)).with("dst", port(34)),
    ];
    let spec = PacketSpec { headers, payload: vec![link::byte(true, offset)], ..PacketSpec::default() };
    spec.build_unpadded().unwrap().bytes
}

#[test]
fn udp_flows_come_and_go() {
    let udp = UdpOptions { idle_timeout: Some(Nanos::from_secs(2)), ecn: false, refused_after: Nanos::ZERO };
    let idle = GroupConfig { udp, ..config() };
    for is_v6 in [false, true] {
        let mut world = World::new(1, Link::default(), config(), idle.clone());
        world.is_v6 = is_v6;
        world.open(Transport::Udp, Talk::client(900, 700));
        world.step(Nanos::from_millis(10));
        world.open(Transport::Udp, Talk::client(0, 1_400));
        world.step(Nanos::from_millis(10));
        assert_eq!((world.client.flows(), world.server.flows()), (0, 2), "clients close when answered");
        assert_eq!(world.server.frame_counts(CLIENT).udp_accepted, 2);
        assert_eq!(world.server.frame_counts(CLIENT).datagram_bytes_out, 2_100);
        world.run();
        world.check_all_closed(2);
        let ends: Vec<_> = world.server_app.ends.values().flatten().copied().collect();
        assert!(ends.iter().all(|end| *end == End::IdleTimeout), "{ends:?}");
    }
}

/// A port is reported unreachable: a flow that has had datagrams waits for the next one, one that has had none does not.
#[test]
fn a_flow_that_was_answered_waits_before_it_is_refused() {
    let udp = UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::from_secs(1) };
    let patient = GroupConfig { udp, ..config() };
    let mut world = World::new(1, Link::default(), patient.clone(), patient);
    let new = world.open(Transport::Udp, Talk::client(10, 1 << 20));
    let frame = world.take_from_client().remove(0);
    assert_eq!(world.client.receive(world.now, &mut world.client_app, &[&unreachable(&frame)]), 0);
    assert_eq!(world.client_app.ends[&new], [End::Refused], "nothing has come");
    world.client_app.ends.clear();
    for comes in [true, false] {
        let id = world.open(Transport::Udp, Talk::client(10, 1 << 20));
        let frame = world.take_from_client().remove(0);
        world.client.receive(world.now, &mut world.client_app, &[&datagram_back(&frame, 0)]);
        world.client.receive(world.now, &mut world.client_app, &[&unreachable(&frame)]);
        assert!(!world.client_app.ends.contains_key(&id), "it waits");
        world.step(Nanos::from_millis(500));
        if comes {
            world.client.receive(world.now, &mut world.client_app, &[&datagram_back(&frame, 1)]);
        }
        world.step(Nanos::from_millis(600));
        assert_eq!(!world.client_app.ends.contains_key(&id), comes);
        if !comes {
            assert_eq!(world.client_app.ends[&id], [End::Refused]);
        }
    }
}

/// Two flows exchange their addresses: what each sends and receives goes where the other one's did. Only flows that have a place
/// can be exchanged.
#[test]
fn flows_exchange_their_addresses() {
    for is_v6 in [false, true] {
        let mut world = World::new(1, Link::default(), config(), config());
        world.is_v6 = is_v6;
        let talk = || Talk::client(10, 1 << 20);
        let (one, other) = (world.open(Transport::Udp, talk()), world.open(Transport::Udp, talk()));
        let tcp = world.open(Transport::Tcp, talk());
        let before = [one, other].map(|flow| world.client.ends(flow));
        assert!(world.client.exchange(one, other));
        assert_eq!([other, one].map(|flow| world.client.ends(flow)), before);
        for wrong in [one, tcp, FlowId(99)] {
            assert!(!world.client.exchange(one, wrong));
        }
        world.step(Nanos::from_millis(1));
        let place = |(local, remote): (SocketAddr, SocketAddr)| {
            let addresses = key::addresses(local.ip(), remote.ip()).unwrap();
            let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
            Key { addresses, ports, transport: Transport::Udp, tags: world.client.groups[0].tags }
        };
        for (flow, ends) in [(other, before[0]), (one, before[1])] {
            let key = place(ends.unwrap());
            assert_eq!(world.client.find(&key, world.client.keys.hash(&key)), Some(flow.0));
        }
    }
}

#[test]
fn a_datagram_to_nobody_is_reported_and_ends_the_flow() {
    for is_v6 in [false, true] {
        let mut world = World::new(1, Link::default(), config(), config());
        world.is_v6 = is_v6;
        let mut remote = world.remote();
        remote.set_port(7);
        let local = world.local();
        let talk = Talk::client(100, 1);
        let app = &mut world.client_app;
        let id = world
            .client
            .connect(world.now, app, CLIENT, Transport::Udp, (local, remote), None, talk)
            .unwrap();
        world.step(Nanos::from_millis(10));
        assert_eq!(world.server.frame_counts(CLIENT).unreachable_out, 1);
        assert_eq!(world.client_app.ends[&id], [End::Refused]);
        assert_eq!(world.client.frame_counts(CLIENT).icmp_errors_in, 1);
    }
}

/// With an MTU of 1,500: 3,000 bytes are three fragments of 1,480, 1,480 and 48 bytes, which are reassembled to the
/// datagram.
#[test]
fn a_long_datagram_leaves_in_fragments() {
    let mut world = World::new(1, Link::default(), config(), config());
    world.open(Transport::Udp, Talk { datagrams: vec![3_000, 5], ..Talk::client(3_005, 1 << 20) });
    world.step(Nanos::from_micros(1));
    let lengths: Vec<usize> = world.link_to_server().map(|bytes| bytes.len() - 34).collect();
    assert_eq!(lengths, [1_480, 1_480, 48, 13]);
    let mut reassembler = fragment::Reassembler::default();
    let mut pieces = world.link_to_server().filter_map(|bytes| fragment::Fragment::read(bytes));
    let whole = pieces.by_ref().filter_map(|piece| reassembler.take(Nanos::ZERO, &piece)).next().unwrap();
    assert_eq!((whole.len(), pieces.next()), (14 + 20 + 8 + 3_000, None));
    assert_ne!(whole[40..42], [0, 0], "over IPv6 a datagram without a checksum is refused");
    drop(pieces);
    assert_eq!(world.server.receive(world.now, &mut world.server_app, &[&whole]), 0);
    let (sent, got) = (world.client.frame_counts(CLIENT), world.server.frame_counts(CLIENT));
    assert_eq!((sent.datagrams_out, sent.fragments_out, sent.frames_out), (2, 3, 4));
    assert_eq!((sent.datagram_bytes_out, got.datagram_bytes_in, got.bad_checksum), (3_005, 3_000, 0));
}

#[test]
fn several_datagrams_may_be_asked_for_at_once() {
    let mut world = World::new(1, Link::default(), config(), config());
    let id = world
        .open(Transport::Udp, Talk { datagrams: vec![10, 20, 20, 65_508, 0, 5], ..Talk::client(0, 1 << 20) });
    world.step(Nanos::from_micros(1));
    let lengths: Vec<u64> = world.link_to_server().map(|bytes| bytes.len() as u64 - 42).collect();
    assert_eq!(lengths, [10, 20, 20, 0, 5]);
    assert_eq!(world.client.frame_counts(CLIENT).datagrams_too_long, 1);
    assert!(world.client.with(world.now, &mut world.client_app, id, |_, _, io| io.abort()));
    assert_eq!(world.client_app.ends[&id], [End::Aborted]);
    assert!(!world.client.with(world.now, &mut world.client_app, id, |_, _, _| panic!("it is gone")));
}

#[test]
fn too_big_and_unreachable_are_passed_on() {
    let mut world = World::new(1, Link::default(), config(), config());
    let id = world.open(Transport::Tcp, Talk::client(50_000, 10));
    let syn = world.take_from_client().remove(0);
    let error = |kind: u128, repeated: &[u8]| {
        let header = |name: &str| Header::new(protocol(name).unwrap());
        let headers = vec![
            header("ethernet").with("dst", 0x0200_0000_0001).with("src", 0x0200_0000_0009),
            header("ipv4").with("src", 0x0a63_0063).with("dst", 0x0a00_0001).with("protocol", 1),
        ];
        let mut message = vec![3, kind as u8, 0, 0, 0, 0, 0x02, 0x58];
        message.extend(&repeated[14..42]);
        let sum = wire::checksum::finish(wire::checksum::sum(&message, 0));
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let spec = PacketSpec { headers, payload: message, ..PacketSpec::default() };
        spec.build_unpadded().unwrap().bytes
    };
    // Too big: a segment is at most 600 - 40 bytes after it.
    world.push_to_server(syn.clone());
    world.step(Nanos::from_millis(1));
    let too_big = error(4, &syn);
    assert_eq!(world.client.receive(world.now, &mut world.client_app, &[&too_big]), 0);
    world.longest_to_server = 0;
    world.run();
    world.check_all_closed(1);
    assert!(world.longest_to_server <= 614, "{}", world.longest_to_server);
    assert_eq!(world.client_app.ends[&id], [End::Closed]);

    let id = world.open(Transport::Tcp, Talk::client(10, 10));
    let syn = world.take_from_client().remove(0);
    assert_eq!(world.client.receive(world.now, &mut world.client_app, &[&error(1, &syn)]), 0);
    assert_eq!(world.client_app.ends[&id].last(), Some(&End::Unreachable));
}

#[test]
fn applications_wake_pause_and_give_up() {
    let mut world = World::new(1, Link::default(), config(), config());
    let id = world.open(Transport::Tcp, Talk { pause_after: 3_000, ..Talk::client(10, 300_000) });
    world.run();
    world.check_all_closed(1);
    assert!(world.client_app.woken > 0, "the pause ends by a wake-up");
    assert_eq!(world.client_app.ends[&id], [End::Closed]);

    let id = world.open(Transport::Tcp, Talk::client(10, 300_000));
    world.step(Nanos::from_millis(1));
    assert!(world.client.with(world.now, &mut world.client_app, id, |_, _, io| io.abort()));
    world.run();
    assert_eq!(world.client_app.ends[&id].last(), Some(&End::Aborted));
    assert!(world.server_app.ends.values().any(|ends| ends.contains(&End::Reset)));
    assert_eq!((world.client.flows(), world.server.flows()), (0, 0));
}

#[test]
fn every_flow_can_be_ended_from_outside() {
    let mut world = World::new(1, Link::default(), config(), config());
    world.open_many(100, 1 << 20, 1 << 20);
    world.step(Nanos::from_millis(2));
    let all: Vec<FlowId> = world.client.flows_from(0).collect();
    assert_eq!(all.len(), 100);
    assert_eq!(world.client.flows_from(60).count(), 40);
    for id in all {
        world.client.with(world.now, &mut world.client_app, id, |_, _, io| io.abort());
    }
    assert_eq!(world.client.flows(), 0);
    world.run();
    assert_eq!(world.server.flows(), 0);
    assert_eq!((world.client.lent(), world.server.lent()), (0, 0));
}

#[test]
fn many_flows_are_looked_up_ahead() {
    let mut world = World::new(3, Link::default(), config(), config());
    for round in 0..6 {
        world.open_many(1_000, 10, 10);
        if round % 2 == 0 {
            world.step(Nanos::from_micros(50));
        }
    }
    assert!(world.client.flows() > 4_096);
    world.run();
    world.check_all_closed(6_000);
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let run = || {
        let link = Link { loss_percent: 10, jitter: Nanos::from_micros(500), ..Link::default() };
        let mut world = World::new(7, link, config(), config());
        world.open_many(10, 5_000, 5_000);
        world.run();
        (world.now, world.client.counts(CLIENT).clone(), world.digest)
    };
    assert_eq!(run(), run());
}

/// `count` SYNs without a follow-up, from as many addresses; each from a separate hardware address if `macs`.
fn flood(world: &mut World, count: u32, macs: bool) {
    let header = |name: &str| Header::new(protocol(name).unwrap());
    let headers = vec![
        header("ethernet").with("dst", 0x0200_0000_0001).with("src", 0x0200_0000_0009),
        header("ipv4").with("src", 0x0000_ffff).with("dst", 0x0a01_0001),
        header("tcp").with("src", 0).with("dst", 80).with("seq", 0xffff_0000).with("flags", 2),
    ];
    let mut syn = PacketSpec { headers, ..PacketSpec::default() }.build_unpadded().unwrap().bytes;
    for n in 0..count {
        // A word and its complement, so that checksums stay right.
        let (address, port) = (0x0a00 + (n as u16 & 0x3fff), (n >> 14) as u16);
        syn[26..28].copy_from_slice(&address.to_be_bytes());
        syn[28..30].copy_from_slice(&(!address).to_be_bytes());
        syn[34..36].copy_from_slice(&port.to_be_bytes());
        syn[38..40].copy_from_slice(&(!port).to_be_bytes());
        if macs {
            syn[8..12].copy_from_slice(&n.to_be_bytes());
        }
        world.server.receive(world.now, &mut world.server_app, &[&syn]);
        if n % 1_000 == 0 {
            world.now = world.now.saturating_add(Nanos::from_millis(1));
            world.take_from_server();
        }
    }
}

#[test]
fn half_open_flows_give_way() {
    let mut world = World::new(1, Link::default(), config(), GroupConfig { hop_mac: None, ..config() });
    let most = limits::HALF_OPEN_MAX;
    flood(&mut world, most as u32 + 1, false);
    assert_eq!(world.server.flows(), most / 4 * 3 + 1);
    assert_eq!(world.server.frame_counts(CLIENT).flows_refused as usize, most / 4);
    // Whoever answers gets in, and what was given up was not told of.
    world.open_many(5, 100, 200);
    world.step(Nanos::from_millis(20));
    assert_eq!((world.server_app.opened, world.client.flows()), (5, 0));
    assert!(world.client_app.ends.values().flatten().all(|end| *end == End::Closed));
}

#[test]
fn flows_that_ended_are_not_half_open() {
    let mut world = World::new(1, Link::default(), config(), GroupConfig { hop_mac: None, ..config() });
    let most = 1_000;
    world.server.strangers.limit_to(most);
    // The oldest stays, so that the queue grows behind it; the others open and close in the same few slots.
    flood(&mut world, 1, false);
    for round in 1..=4 {
        world.next_port = 1_000;
        world.open_many(most / 2, 100, 200);
        world.step(Nanos::from_millis(20));
        assert_eq!((world.server_app.opened, world.client.flows()), (round * most / 2, 0));
    }
    assert_eq!(world.server.frame_counts(CLIENT).flows_refused, 0);
    assert!(world.client_app.ends.values().flatten().all(|end| *end == End::Closed));
}

#[test]
fn hardware_addresses_are_forgotten() {
    let mut world = World::new(1, Link::default(), config(), GroupConfig { hop_mac: None, ..config() });
    flood(&mut world, 3 * limits::HOPS_MAX as u32, true);
    assert_eq!(world.server.hops.find([2, 0, 0, 0, 0, 0]), None, "the first is forgotten");
    world.open_many(5, 100, 200);
    world.step(Nanos::from_millis(20));
    assert_eq!((world.server_app.opened, world.client.flows()), (5, 0));
    assert!(world.client_app.ends.values().flatten().all(|end| *end == End::Closed));
}
