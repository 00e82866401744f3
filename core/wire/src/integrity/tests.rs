use super::*;
use crate::checksum;
use proptest::prelude::*;

const KEY: (u32, u8, u32) = (0x0a_0b0c, 7, 0x0102_0304);

fn pattern() -> Pattern {
    Pattern::of_run(0xea67_e001)
}

fn key(pattern: &Pattern) -> Key {
    pattern.key(KEY.0, KEY.1, KEY.2)
}

fn source() -> Source {
    Source { stream: KEY.0, lane: KEY.1, sequence: KEY.2 }
}

fn filled(pattern: &Pattern, key: Key, bytes: usize) -> Vec<u8> {
    let mut filling = vec![0; bytes];
    pattern.write(&mut filling, key);
    filling
}

/// Result of examining `room`, and the wrong bytes with their bits.
fn examined(pattern: &Pattern, room: &[u8], place: Place<'_>) -> (Option<Found>, Vec<(usize, u32)>) {
    let mut wrong = Vec::new();
    let found = pattern.examine(room, key(pattern), place, |at, bits| wrong.push((at, bits)));
    (found, wrong)
}

fn damage(pattern: &Pattern, filling: &[u8], lengths: &[u16]) -> Option<Damage> {
    examined(pattern, filling, Place { before: 0, given: &[], lengths }).0.map(|found| found.damage)
}

#[test]
fn the_bytes_of_a_known_packet() {
    let pattern = Pattern::of_run(0);
    let run = random::other_key(random::key(0));
    let of = |block: u64| random::word(run, block + 1);
    let own = random::mix(random::word(run, 0) ^ (3 << 32 | 2 << 24 | 1));
    let filling = filled(&pattern, pattern.key(1, 2, 3), 53);
    let mut right = of(3).to_le_bytes().to_vec();
    right.extend((!of(3)).to_le_bytes());
    right.drain(..11);
    for (block, length) in [(2, 0), (1, 0x35_0035_0035_0035), (0, 0)] {
        let word = of(block) ^ own ^ length;
        right.extend(word.to_le_bytes());
        right.extend((!word).to_le_bytes());
    }
    assert_eq!(filling, right);
}

#[test]
fn every_flipped_bit_is_found_where_it_is() {
    let pattern = pattern();
    for bytes in (0..100).chain([1458, 8_982]) {
        let mut filling = filled(&pattern, key(&pattern), bytes);
        assert!(pattern.matches(&filling, key(&pattern)), "{bytes}");
        for bit in (0..bytes * 8).step_by(if bytes > 1_000 { 97 } else { 1 }) {
            filling[bit / 8] ^= 0x80 >> (bit % 8);
            assert!(!pattern.matches(&filling, key(&pattern)), "bit {bit} of {bytes} bytes");
            let (found, wrong) =
                examined(&pattern, &filling, Place { before: 0, given: &[], lengths: &[bytes as u16] });
            assert_eq!(found, Some(Found { damage: Damage::Bit, filling: bytes }));
            assert_eq!(wrong, [(bit / 8, 1)]);
            filling[bit / 8] ^= 0x80 >> (bit % 8);
        }
        assert_eq!(damage(&pattern, &filling, &[bytes as u16]), None);
    }
}

/// So senders need not add up the payload of each.
#[test]
fn internet_checksums_are_the_same_for_all_packets_of_a_length() {
    let pattern = pattern();
    for bytes in 0..200 {
        for odd in [0, 1] {
            let sum = |sequence| {
                let mut covered = vec![0x5a; odd];
                covered.extend(filled(&pattern, pattern.key(1, 0, sequence), bytes));
                checksum::fold(checksum::sum(&covered, 0))
            };
            let first = sum(0);
            assert!((1..20).all(|sequence| sum(sequence) == first), "{bytes} bytes, {odd} before");
        }
    }
}

#[test]
fn kinds_of_damage_are_told_apart() {
    let pattern = pattern();
    let whole = filled(&pattern, key(&pattern), 400);
    let kind = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut filling = whole.clone();
        change(&mut filling);
        damage(&pattern, &filling, &[400])
    };
    assert_eq!(kind(&|_| ()), None);
    assert_eq!(kind(&|one| one[100] ^= 0x81), Some(Damage::Burst));
    assert_eq!(kind(&|one| (one[100], one[104]) = (one[100] ^ 1, one[104] ^ 1)), Some(Damage::Scattered));
    assert_eq!(kind(&|one| (one[100], one[103]) = (one[100] ^ 0x80, one[103] ^ 1)), Some(Damage::Burst));
    // Whole blocks between the two are right.
    assert_eq!(kind(&|one| (one[50], one[350]) = (one[50] ^ 1, one[350] ^ 1)), Some(Damage::Scattered));
    assert_eq!(kind(&|one| one[40..300].fill(0)), Some(Damage::Scattered));
    let other = filled(&pattern, pattern.key(KEY.0, KEY.1, KEY.2 + 1), 400);
    for range in [0..400, 100..400, 160..200, 0..32] {
        let change = |one: &mut Vec<u8>| one[range.clone()].copy_from_slice(&other[range.clone()]);
        assert_eq!(kind(&change), Some(Damage::OtherPacket), "{range:?}");
    }
    for by in [1, 2, 3, 8, 16, 32, 47] {
        assert_eq!(kind(&|one| one[..300].rotate_left(by)), Some(Damage::Shifted), "{by}");
        let change = |one: &mut Vec<u8>| one[..300].copy_from_slice(&other[by..300 + by]);
        assert_eq!(kind(&change), Some(Damage::OtherPacket), "{by}");
    }
    assert_eq!(damage(&pattern, &whole[1..], &[400]), Some(Damage::Truncated));
}

/// Headers that a device added or took off are not the payload's, for all lengths.
#[test]
fn the_filling_begins_where_it_says() {
    let pattern = pattern();
    let lengths: Vec<u16> = (0..500).collect();
    let mix = &[0, 6, 530, 1_454][..];
    for (bytes, lengths) in
        [(0, mix), (6, mix), (530, mix), (1_454, mix), (32, &lengths[..]), (499, &lengths)]
    {
        let place = Place { before: 42, given: &[], lengths };
        for headers in [38, 42, 46, 92] {
            let mut room = vec![0xee; headers];
            room.extend(filled(&pattern, key(&pattern), bytes));
            assert_eq!(examined(&pattern, &room, place), (None, vec![]), "{bytes} behind {headers}");
            if bytes < TELLS_LENGTH {
                continue;
            }
            // A wrong bit of what tells the length, too.
            for at in [headers, room.len() - 32, room.len() - 17, room.len() - 1] {
                room[at] ^= 4;
                let found = Some(Found { damage: Damage::Bit, filling: bytes });
                assert_eq!(examined(&pattern, &room, place), (found, vec![(at - headers, 1)]));
                room[at] ^= 4;
            }
        }
    }
}

#[test]
fn given_payload_is_compared_as_it_is() {
    let pattern = pattern();
    let place = Place { before: 47, given: b"given", lengths: &[100] };
    let mut room = [&[0xee; 42][..], b"given"].concat();
    room.extend(filled(&pattern, key(&pattern), 100));
    assert_eq!(examined(&pattern, &room, place), (None, vec![]));
    for (at, place_of) in [(42, 0), (46, 4), (47, 5), (146, 104)] {
        room[at] ^= 1;
        let found = Some(Found { damage: Damage::Bit, filling: 100 });
        assert_eq!(examined(&pattern, &room, place), (found, vec![(place_of, 1)]));
        room[at] ^= 1;
    }
    (room[42], room[146]) = (0, 0);
    assert_eq!(examined(&pattern, &room, place).0.map(|found| found.damage), Some(Damage::Scattered));
    let cut = &room[43..];
    assert_eq!(examined(&pattern, cut, place).0.map(|found| found.damage), Some(Damage::Truncated));
}

#[test]
fn a_payload_tells_whose_it_is() {
    let pattern = pattern();
    for bytes in [16, 17, 31, 32, 64, 65, 80, 81, 500] {
        let mut room = vec![0x11; 42];
        room.extend(filled(&pattern, key(&pattern), bytes));
        assert_eq!(pattern.source_before_signature(&room), Some(source()), "{bytes}");
        for cut in 42..room.len() {
            let found = pattern.source_of_beginning(&room[..cut]);
            assert!(found.is_none() || found == Some(source()), "{cut} of {bytes}");
            // Where the first block begins, four that are left, and one that is not.
            assert_eq!(found.is_some(), cut >= 42 + bytes % 16 + 64, "{cut} of {bytes}");
        }
    }
    assert_eq!(pattern.source_before_signature(&[0; 100]), None);
    assert_eq!(pattern.source_of_beginning(&[0xff; 100]), None);
}

#[test]
fn a_run_and_each_packet_have_fillings_of_their_own() {
    let (one, other) = (Pattern::of_run(1), Pattern::of_run(2));
    let filling = filled(&one, one.key(0, 0, 0), 64);
    assert!(!other.matches(&filling, other.key(0, 0, 0)));
    for (stream, lane, sequence) in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
        assert!(!one.matches(&filling, one.key(stream, lane, sequence)));
    }
}

proptest! {
    #[test]
    fn whatever_arrives_is_examined(
        room in proptest::collection::vec(any::<u8>(), 0..300),
        before in 0..80usize,
        mut lengths in proptest::collection::vec(0..400u16, 1..6),
        own in 0..300usize,
    ) {
        let pattern = pattern();
        lengths.sort_unstable();
        let mut room = room;
        let own = own.min(room.len());
        let from = room.len() - own;
        pattern.write(&mut room[from..], key(&pattern));
        let mut bits = 0;
        let found = pattern.examine(&room, key(&pattern), Place { before, given: &[], lengths: &lengths }, |at, wrong| {
            assert!(at < 400);
            bits += wrong;
        });
        let is_counted = found.is_some_and(|found| {
            matches!(found.damage, Damage::Bit | Damage::Burst | Damage::Scattered)
        });
        prop_assert_eq!(bits > 0, is_counted);
        let _ = pattern.source_of_beginning(&room);
    }
}
