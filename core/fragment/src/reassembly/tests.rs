use super::*;
use crate::Cut;
use proptest::prelude::*;

const SECOND: Nanos = Nanos::from_secs(1);

/// A frame with an IP packet of `payload` bytes after its header.
fn frame(is_v6: bool, tags: usize, payload: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 7]));
    if is_v6 {
        let [high, low] = (payload as u16).to_be_bytes();
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, 17, 64]);
        frame.extend([0x20; 32]);
    } else {
        let [high, low] = ((payload + 20) as u16).to_be_bytes();
        frame.extend([8, 0, 0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let ip = frame.len() - 20;
        put_header_sum(&mut frame[ip..]);
    }
    frame.extend((0..payload).map(|i| (i / 3) as u8));
    frame
}

fn cut(frame: &[u8], mtu: usize, id: u32) -> Vec<Vec<u8>> {
    Cut::new(frame, mtu, id).map_or_else(|| vec![frame.to_vec()], |cut| cut.frames(frame).collect())
}

/// The same packet: IPv4's identification means nothing in a whole one (RFC 6864).
fn same(whole: &[u8], frame: &[u8], is_v6: bool) -> bool {
    let mut whole = whole.to_vec();
    if !is_v6 {
        let ip = whole.len() - frame_len(&whole);
        put(&mut whole, ip + 4, 0);
        put_header_sum(&mut whole[ip..ip + 20]);
    }
    whole == frame
}

/// Bytes of the IP packet.
fn frame_len(frame: &[u8]) -> usize {
    let (ip, _, _) = crate::network(frame).unwrap();
    frame.len() - ip
}

proptest! {
    /// In any order, some of them twice, and other packets between them.
    #[test]
    fn what_was_cut_is_put_together(
        is_v6: bool,
        tags in 0usize..=2,
        payload in 1usize..9_000,
        mtu in 88usize..2_000,
        order in prop::collection::vec(any::<u32>(), 400),
        twice: bool,
    ) {
        let whole = frame(is_v6, tags, payload);
        let mut pieces: Vec<(u32, Vec<u8>)> = order.iter().copied().zip(cut(&whole, mtu, 7)).collect();
        prop_assert!(pieces.iter().all(|(_, piece)| frame_len(piece) <= mtu));
        pieces.extend(order.iter().rev().copied().zip(cut(&whole, mtu, 8)));
        let count = pieces.len() / 2;
        pieces.sort();
        let (mut reassembler, mut found) = (Reassembler::default(), Vec::new());
        if count == 1 {
            prop_assert_eq!(Fragment::read(&whole), None);
            return Ok(());
        }
        for (_, piece) in &pieces {
            let fragment = Fragment::read(piece).expect("a fragment");
            prop_assert_eq!(fragment.to_mac(), &[2; 6]);
            prop_assert_eq!(fragment.vlans().len(), tags);
            found.extend(reassembler.take(SECOND, &fragment));
            if twice && reassembler.packets.contains_key(&fragment.key) {
                prop_assert_eq!(reassembler.take(SECOND, &fragment), None);
            }
        }
        prop_assert_eq!(found.len(), 2);
        prop_assert!(found.iter().all(|frame| same(frame, &whole, is_v6)));
        prop_assert_eq!((reassembler.waiting(), reassembler.counts.reassembled), ((0, 0), 2));
    }

    /// For any input, the limits are kept and nothing panics; what is reassembled is a whole packet.
    #[test]
    fn limits_are_kept(
        pieces in prop::collection::vec((any::<bool>(), 0u16..4, 0u16..40, any::<bool>(), 0usize..60, 0u64..3), 0..300),
    ) {
        let limits = Limits { packets: 3, bytes: 1_000, time: Nanos::from_secs(5) };
        let mut reassembler = Reassembler::new(limits);
        let (mut now, mut counts, mut offered) = (Nanos::ZERO, FragmentCounts::default(), 0);
        for (is_v6, id, offset, more, len, wait) in pieces {
            let mut piece = frame(is_v6, 0, if is_v6 { len + 8 } else { len });
            if is_v6 {
                piece[20] = 44;
                piece[54..62.min(54 + len + 8)].copy_from_slice(&[17, 0, 0, 0, 0, 0, 0, id as u8]);
                put(&mut piece, 56, offset << 3 | u16::from(more));
            } else {
                put(&mut piece, 18, id);
                put(&mut piece, 20, offset | if more { 0x2000 } else { 0 });
                put_header_sum(&mut piece[14..34]);
            }
            now = now.saturating_add(Nanos::from_secs(wait));
            let Some(fragment) = Fragment::read(&piece) else {
                prop_assert!(offset == 0 && !more);
                continue;
            };
            offered += 1;
            if let Some(whole) = reassembler.take(now, &fragment) {
                prop_assert_eq!(Fragment::read(&whole), None);
            }
            let (packets, bytes) = reassembler.waiting();
            prop_assert!(packets <= limits.packets && bytes <= limits.bytes, "{} {}", packets, bytes);
            prop_assert_eq!(packets, reassembler.ages.len());
            counts.merge(&reassembler.take_counts());
        }
        reassembler.finish();
        counts.merge(&reassembler.take_counts());
        prop_assert_eq!((reassembler.waiting(), counts.received), ((0, 0), offered));
        let ends = counts.reassembled + counts.timed_out + counts.gave_way + counts.overlapped + counts.malformed;
        prop_assert!(ends <= offered);
    }

    /// Bytes of any kind are a fragment or not.
    #[test]
    fn any_bytes_are_read(bytes: Vec<u8>, kind in prop::sample::select(vec![0x0800u16, 0x86dd, 0x8100]), mtu in 0usize..300) {
        let mut frame = vec![0; 12];
        frame.extend(kind.to_be_bytes());
        frame.extend(bytes);
        if let Some(fragment) = Fragment::read(&frame) {
            Reassembler::default().take(SECOND, &fragment);
        }
        if let Some(cut) = Cut::new(&frame, mtu, 1) {
            prop_assert!(cut.frames(&frame).all(|part| !part.is_empty()));
        }
    }
}

fn take(reassembler: &mut Reassembler, now: u64, piece: &[u8]) -> Option<Vec<u8>> {
    reassembler.take(Nanos::from_secs(now), &Fragment::read(piece).unwrap())
}

#[test]
fn fragments_that_overlap_spoil_their_packet() {
    for is_v6 in [false, true] {
        let (one, other) = (frame(is_v6, 0, 3_000), frame(is_v6, 0, 3_000));
        let (first, second) = (cut(&one, 1_000, 7), cut(&other, 900, 7));
        let mut reassembler = Reassembler::default();
        assert_eq!(take(&mut reassembler, 0, &first[0]), None);
        // Its beginning lies over the first one's end.
        assert_eq!(take(&mut reassembler, 0, &second[1]), None);
        // The rest would make a whole packet; RFC 5722 has it thrown away.
        assert!(first.iter().all(|piece| take(&mut reassembler, 1, piece).is_none()));
        let counts = FragmentCounts { received: 2 + first.len() as u64, overlapped: 1, ..Default::default() };
        assert_eq!(reassembler.take_counts(), counts);
        // Its number is free again when its time is over, which is not counted twice.
        let whole = first.iter().filter_map(|piece| take(&mut reassembler, 60, piece)).count();
        assert_eq!((whole, reassembler.take_counts().timed_out), (1, 0));
    }
}

#[test]
fn the_same_place_with_other_bytes_overlaps() {
    let mut pieces = cut(&frame(false, 0, 3_000), 1_000, 7);
    let mut reassembler = Reassembler::default();
    assert_eq!(take(&mut reassembler, 0, &pieces[0]), None);
    *pieces[0].last_mut().unwrap() ^= 1;
    assert_eq!(take(&mut reassembler, 0, &pieces[0]), None);
    assert_eq!(reassembler.take_counts().overlapped, 1);
}

#[test]
fn what_is_not_complete_is_given_up() {
    let pieces = cut(&frame(false, 0, 3_000), 1_000, 7);
    let mut reassembler = Reassembler::default();
    assert_eq!(take(&mut reassembler, 1, &pieces[0]), None);
    reassembler.expire(Nanos::from_secs(30));
    assert_eq!(reassembler.waiting().0, 1);
    reassembler.expire(Nanos::from_secs(31));
    assert_eq!((reassembler.waiting(), reassembler.take_counts().timed_out), ((0, 0), 1));
    // The last one comes too late, and the first of a packet with the same number is another packet's.
    assert!(pieces[1..].iter().all(|piece| take(&mut reassembler, 32, piece).is_none()));
}

#[test]
fn the_oldest_gives_way() {
    let mut reassembler = Reassembler::new(Limits { packets: 2, ..Limits::default() });
    let packets: Vec<_> = (0..3).map(|id| cut(&frame(true, 1, 3_000), 1_400, id)).collect();
    packets.iter().for_each(|pieces| assert_eq!(take(&mut reassembler, 0, &pieces[0]), None));
    let whole = |reassembler: &mut Reassembler, id: usize| {
        packets[id][1..].iter().filter_map(|piece| take(reassembler, 1, piece)).count()
    };
    assert_eq!((whole(&mut reassembler, 2), whole(&mut reassembler, 1)), (1, 1));
    assert_eq!((whole(&mut reassembler, 0), reassembler.take_counts().gave_way), (0, 1));
}

#[test]
fn nothing_longer_than_a_packet_is_put_together() {
    let mut pieces = cut(&frame(false, 0, 40_000), 1_500, 7);
    let mut reassembler = Reassembler::default();
    let last = pieces.last_mut().unwrap();
    // It says that it belongs to the end of what can be.
    put(last, 20, 8_190);
    put_header_sum(&mut last[14..34]);
    assert!(pieces.iter().all(|piece| take(&mut reassembler, 0, piece).is_none()));
    assert_eq!(reassembler.take_counts().malformed, 1);
}

#[test]
fn extension_headers_before_the_fragment_header_stay() {
    let whole = frame(true, 0, 2_000);
    let mut found = None;
    let mut reassembler = Reassembler::default();
    for piece in cut(&whole, 1_280, 9) {
        // Hop-by-hop options of eight bytes between the IPv6 header and the fragment header.
        let mut piece = [&piece[..54], &[44, 0, 1, 4, 0, 0, 0, 0], &piece[54..]].concat();
        piece[20] = 0;
        let len = (piece.len() - 54) as u16;
        put(&mut piece, 18, len);
        found = found.or(take(&mut reassembler, 0, &piece));
    }
    let found = found.unwrap();
    assert_eq!((found[20], &found[54..62], &found[62..]), (0, &[17, 0, 1, 4, 0, 0, 0, 0][..], &whole[54..]));
    assert_eq!(u16::from_be_bytes([found[18], found[19]]), 2_008);
}

#[test]
fn what_is_wrong_with_a_fragment_is_told() {
    let fragment = |place: u16, payload: usize| {
        let mut frame = vec![2; 12];
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        frame.extend(((payload + 8) as u16).to_be_bytes());
        frame.extend([44, 64]);
        frame.extend([0x20; 32]);
        frame.extend([17, 0]);
        frame.extend(place.to_be_bytes());
        frame.extend([0, 0, 0, 9]);
        frame.extend(vec![7; payload]);
        frame
    };
    let complaint = |frame: &[u8]| Fragment::read(frame).and_then(|fragment| fragment.complaint(frame));
    assert_eq!(complaint(&fragment(1, 64)), None);
    for (frame, at) in [(fragment(1, 61), 4), (fragment(65_528, 64), 42), (fragment(1, 1_301), 4)] {
        let error = complaint(&frame).unwrap();
        let (head, message) = error.split_at(54);
        assert_eq!(message[..2], [4, 0]);
        assert_eq!(message[4..8], [0, 0, 0, at]);
        assert!(error.len() <= 14 + 1280 && frame[14..].starts_with(&message[8..]));
        let sum = wire::checksum::sum(&head[22..54], (message.len() + 58) as u64);
        assert_eq!(wire::checksum::fold(wire::checksum::sum(message, sum)), 0xffff);
    }
}
