//! Captures made for the purpose, and what becomes of them.

use super::*;
use crate::testing::{Wire, plan};
use pcap::{ETHERNET, Interface, Record};
use proptest::prelude::*;
use wire::{Header, PacketSpec, protocol};

/// A packet from the client (0) or the server (1).
fn frame(kind: &str, side: usize, fields: &[(&str, u128)], payload: &[u8]) -> Vec<u8> {
    let ips = [0x0a00_0001u128, 0x0a00_0002];
    let ports = [40_000u128, 80];
    let mut transport =
        Header::new(protocol(kind).unwrap()).with("src", ports[side]).with("dst", ports[1 - side]);
    for (name, value) in fields {
        transport = transport.with(name, *value);
    }
    let headers = vec![
        Header::new(protocol("ethernet").unwrap()),
        Header::new(protocol("ipv4").unwrap()).with("src", ips[side]).with("dst", ips[1 - side]),
        transport,
    ];
    let spec = PacketSpec { headers, payload: payload.to_vec(), ..PacketSpec::default() };
    let mut bytes = spec.build_unpadded().unwrap().bytes;
    // Padding is not payload.
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

fn tcp(side: usize, seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    frame("tcp", side, &[("seq", seq.into()), ("flags", flags.into())], payload)
}

fn capture(frames: impl IntoIterator<Item = (u64, Vec<u8>)>) -> Capture {
    let interface = Interface { link_type: ETHERNET, name: None, snap_len: 0, fcs_bytes: 0 };
    let record = |(ms, bytes): (u64, Vec<u8>)| Record {
        at: Nanos::from_millis(ms),
        interface: 0,
        original_len: bytes.len() as u32,
        bytes,
    };
    let records = frames.into_iter().map(record).collect();
    Capture { interfaces: vec![interface], records, warnings: Vec::new() }
}

fn only(capture: &Capture, options: ConversationOptions) -> Conversation {
    let mut found = conversations(capture, options);
    assert_eq!((found.all.len(), found.other_packets.total()), (1, 0));
    found.all.remove(0)
}

fn ops(conversation: &Conversation) -> [Vec<Op>; 2] {
    let AppPlan::Program { client, server } = &conversation.app else { panic!("no programs") };
    [client.ops.clone(), server.ops.clone()]
}

fn send(text: &str) -> Op {
    Op::Send(Content::bytes(text))
}

fn expect(text: &str) -> Op {
    Op::Expect(Expect::Recorded(Content::bytes(text)))
}

/// Client: `hello `, `world`; server: `fine`; client: `bye`. Sequence numbers wrap.
fn session() -> Vec<(u64, Vec<u8>)> {
    let c = u32::MAX - 2;
    vec![
        (0, tcp(0, c, 2, b"")),
        (1, tcp(1, 100, 0x12, b"")),
        (2, tcp(0, c.wrapping_add(1), 0x10, b"")),
        (3, tcp(0, c.wrapping_add(1), 0x18, b"hello ")),
        (4, tcp(0, c.wrapping_add(7), 0x18, b"world")),
        (30, tcp(1, 101, 0x18, b"fine")),
        (31, tcp(0, c.wrapping_add(12), 0x18, b"bye")),
        (32, tcp(0, c.wrapping_add(15), 0x11, b"")),
        (33, tcp(1, 105, 0x11, b"")),
    ]
}

#[test]
fn a_session_becomes_two_programs() {
    let found = only(&capture(session()), ConversationOptions::default());
    assert_eq!(
        (found.client.port(), found.server.port(), found.bytes, found.missing),
        (40_000, 80, [14, 4], 0)
    );
    let [client, server] = ops(&found);
    assert_eq!(client, [send("hello world"), expect("fine"), send("bye")]);
    assert_eq!(server, [expect("hello world"), send("fine"), expect("bye")]);
}

#[test]
fn servers_wait_before_their_answers() {
    let answer_delay = Some(Delay::Constant(Nanos::from_millis(5)));
    let options = ConversationOptions { answer_delay, ..ConversationOptions::default() };
    let [client, server] = ops(&only(&capture(session()), options));
    assert_eq!(client, [send("hello world"), expect("fine"), send("bye")]);
    let wait = Op::Wait(Delay::Constant(Nanos::from_millis(5)));
    assert_eq!(server, [expect("hello world"), wait, send("fine"), expect("bye")]);
}

#[test]
fn pauses_are_kept_if_wanted() {
    let pauses = Some(Nanos::from_millis(20));
    let [client, server] =
        ops(&only(&capture(session()), ConversationOptions { pauses, ..ConversationOptions::default() }));
    assert_eq!(client, [send("hello world"), expect("fine"), send("bye")]);
    let wait = Op::Wait(Delay::Constant(Nanos::from_millis(26)));
    assert_eq!(server, [expect("hello world"), wait, send("fine"), expect("bye")]);
}

#[test]
fn a_reset_is_played_or_becomes_a_close() {
    for side in [0, 1] {
        let mut frames = session();
        frames.truncate(7);
        frames.push((32, tcp(side, if side == 0 { 12 } else { 105 }, 4, b"")));
        let ops_of = |closes| {
            ops(&only(
                &capture(frames.clone()),
                ConversationOptions { closes, ..ConversationOptions::default() },
            ))
        };
        let plain = [
            vec![send("hello world"), expect("fine"), send("bye")],
            vec![expect("hello world"), send("fine"), expect("bye")],
        ];
        let mut reset = plain.clone();
        reset[side].push(Op::Reset);
        assert_eq!((ops_of(false), ops_of(true)), (reset, plain), "{side}");
    }
}

#[test]
fn programs_of_a_capture_run() {
    let found = only(&capture(session()), ConversationOptions::default());
    let mut wire = Wire::new(plan(found.app), &[3, 1]);
    wire.open(0);
    wire.run(Nanos::from_secs(60));
    wire.assert_complete(1);
    assert_eq!((wire.sent(0), wire.sent(1)), (&b"hello worldbye"[..], &b"fine"[..]));
}

#[test]
fn what_is_missing_is_filled_and_counted() {
    let mut frames = session();
    frames.remove(3);
    let found = only(&capture(frames), ConversationOptions::default());
    assert_eq!((found.bytes, found.missing), ([14, 4], 6));
    // The capture begins in the middle.
    let found = only(&capture(session().split_off(5)), ConversationOptions::default());
    assert_eq!((found.client.port(), found.bytes), (80, [4, 3]));
}

#[test]
fn the_server_may_close_or_reset() {
    let both = |flags| {
        vec![(0, tcp(0, 5, 0x18, b"ask")), (1, tcp(1, 9, 0x18, b"tell")), (2, tcp(1, 13, flags, b""))]
    };
    let [client, server] = ops(&only(&capture(both(0x11)), ConversationOptions::default()));
    assert_eq!(client, [send("ask"), expect("tell"), Op::Expect(Expect::End)]);
    assert_eq!(server, [expect("ask"), send("tell"), Op::Close]);
    let [_, server] = ops(&only(&capture(both(0x14)), ConversationOptions::default()));
    assert_eq!(server.last(), Some(&Op::Reset));
    // Half a close.
    let frames =
        vec![(0, tcp(0, 5, 0x19, b"ask")), (1, tcp(1, 9, 0x18, b"tell")), (2, tcp(1, 13, 0x11, b""))];
    let found = only(&capture(frames), ConversationOptions::default());
    assert_eq!(ops(&found)[0][1], Op::HalfClose);
    let mut wire = Wire::new(plan(found.app), &[3, 1]);
    wire.open(0);
    wire.run(Nanos::from_secs(60));
    wire.assert_complete(1);
}

#[test]
fn datagrams_stay_apart() {
    let frames = vec![
        (0, frame("udp", 0, &[], b"one")),
        (1, frame("udp", 0, &[], b"two")),
        (2, frame("udp", 1, &[], b"three")),
    ];
    let found = only(&capture(frames), ConversationOptions::default());
    assert_eq!(ops(&found)[0], [send("one"), send("two"), expect("three")]);
    let mut entry = plan(found.app);
    entry.carrier = Carrier::Udp;
    let mut wire = Wire::new(entry, &[1]);
    wire.open(0);
    wire.run(Nanos::from_secs(60));
    wire.assert_complete(1);
}

#[test]
fn ports_used_again_are_another_conversation() {
    let mut frames = session();
    frames.extend([(50, tcp(0, 777, 2, b"")), (51, tcp(0, 778, 0x18, b"again"))]);
    let found = conversations(&capture(frames), ConversationOptions::default());
    assert_eq!(found.all.iter().map(|one| one.bytes).collect::<Vec<_>>(), [[14, 4], [5, 0]]);
    let mut arp = vec![0xff; 12];
    arp.extend([8, 6]);
    arp.resize(60, 0);
    let found = conversations(&capture([(0, arp)]), ConversationOptions::default());
    assert_eq!((found.all.len(), found.other_packets.total()), (0, 1));
}

proptest! {
    /// However a stream is cut, disordered and repeated, it is reassembled.
    #[test]
    fn segments_are_put_together(len in 1usize..400, start: u32, pieces in proptest::collection::vec((0usize..400, 1usize..60), 0..40)) {
        let data: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
        let mut frames = vec![(0, tcp(0, start, 2, b""))];
        let seq = |offset: usize| start.wrapping_add(1 + offset as u32);
        for (offset, n) in pieces {
            let from = offset.min(len - 1);
            frames.push((1, tcp(0, seq(from), 0x18, &data[from..(from + n).min(len)])));
        }
        // In the end all of it is there, last piece first.
        for (index, piece) in data.chunks(50).enumerate().rev() {
            frames.push((2, tcp(0, seq(index * 50), 0x18, piece)));
        }
        frames.push((3, tcp(0, seq(len), 0x11, b"")));
        let found = only(&capture(frames), ConversationOptions::default());
        prop_assert_eq!(found.missing, 0);
        let [client, _] = ops(&found);
        let said: Vec<u8> = client.iter().flat_map(|op| match op {
            Op::Send(Content { parts }) => match &parts[0] { crate::plan::Part::Bytes(bytes) => bytes.to_vec(), _ => vec![] },
            _ => vec![],
        }).collect();
        prop_assert_eq!(said, data);
    }
}

#[test]
fn fragments_are_put_together_and_those_that_lack_some_are_counted() {
    let question = frame("udp", 0, &[], b"question");
    let mut answer = frame("udp", 1, &[("checksum", 0)], &[7; 2_500]);
    let len = 20 + 8 + 2_500u16;
    assert_eq!(answer.len(), 14 + usize::from(len));
    let cut = fragment::Cut::new(&answer, 1_500, 9).unwrap();
    let [first, second]: [Vec<u8>; 2] = cut.frames(&answer).collect::<Vec<_>>().try_into().unwrap();
    let said = only(
        &capture([(0, question.clone()), (1, second.clone()), (2, first.clone())]),
        ConversationOptions::default(),
    );
    assert_eq!((said.bytes, said.missing), ([8, 2_500], 0));
    let found = conversations(&capture([(0, question.clone()), (1, first)]), ConversationOptions::default());
    assert_eq!((found.other_packets.fragments, found.all[0].bytes), (1, [8, 0]));
    // A length that was left to a card is that of the frame.
    answer[16..18].fill(0);
    let said = only(&capture([(0, question), (1, answer)]), ConversationOptions::default());
    assert_eq!((said.bytes, said.missing), ([8, 2_500], 0));
}
