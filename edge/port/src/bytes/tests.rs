use super::*;
use proptest::prelude::*;
use std::thread;

/// A piece that contains its own length and number.
fn piece(number: u32, len: usize) -> (Vec<u8>, Vec<u8>) {
    let head = [number.to_le_bytes(), (len as u32).to_le_bytes()].concat();
    (head, (0..len).map(|i| (number as usize + i) as u8).collect())
}

/// Takes the next piece out.
fn take(receiver: &mut ByteReceiver) -> Option<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    if !receiver.peek(0, &mut head) {
        return None;
    }
    let [number, len] = [0, 4].map(|at| u32::from_le_bytes(*head[at..].first_chunk().unwrap()));
    let mut body = vec![0; len as usize];
    assert!(receiver.peek(8, &mut body), "half a piece");
    receiver.skip(8 + len as usize);
    Some((number, body))
}

#[test]
fn pieces_are_seen_when_published_and_not_before() {
    let (mut sender, mut receiver) = byte_ring(64);
    let pieces = [piece(0, 5), piece(1, 6), piece(2, 7)];
    let mut marks = Vec::new();
    for (head, body) in &pieces {
        assert!(sender.write(head, body));
        marks.push(sender.mark());
    }
    assert_eq!(take(&mut receiver), None);
    sender.publish(marks[1]);
    assert_eq!(take(&mut receiver), Some((0, pieces[0].1.clone())));
    assert_eq!(take(&mut receiver), Some((1, pieces[1].1.clone())));
    assert_eq!(take(&mut receiver), None, "the third is forgotten");
    let (head, body) = piece(3, 56);
    assert!(sender.write(&head, &body), "all the room is there again");
    assert!(!sender.write(&[1], &[]));
    sender.publish(sender.mark());
    assert_eq!(take(&mut receiver), Some((3, body)));
}

#[test]
#[should_panic(expected = "a mark that is not there any more")]
fn a_forgotten_mark_is_refused() {
    let (mut sender, _receiver) = byte_ring(64);
    let start = sender.mark();
    sender.write(&[1], &[2]);
    let forgotten = sender.mark();
    sender.publish(start);
    sender.publish(forgotten);
}

#[test]
#[should_panic(expected = "more bytes than were peeked")]
fn only_what_was_seen_is_skipped() {
    let (mut sender, mut receiver) = byte_ring(64);
    sender.write(&[1], &[2]);
    sender.publish(sender.mark());
    receiver.skip(1);
}

#[test]
fn nothing_is_seen_beyond_what_is_published() {
    let (mut sender, mut receiver) = byte_ring(64);
    // Across the end of the ring too.
    for round in 0..5u8 {
        assert!(sender.write(&[round; 10], &[round; 30]));
        sender.publish(sender.mark());
        for (offset, len) in
            [(0, 41), (41, 0), (40, 1), (usize::MAX, 1), (1, usize::from(u16::MAX)), (64, 64)]
        {
            assert!(!receiver.peek(offset, &mut vec![0; len]), "{offset} {len}");
        }
        let mut bytes = [0; 25];
        assert!(receiver.peek(15, &mut bytes) && bytes == [round; 25] && receiver.peek(40, &mut []));
        receiver.skip(40);
    }
}

#[test]
fn the_receiver_knows_when_the_sender_is_gone() {
    let (sender, receiver) = byte_ring(64);
    assert!(!receiver.is_abandoned());
    drop(sender);
    assert!(receiver.is_abandoned());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 40 }))]
    #[test]
    fn threads_hand_over_every_piece_there_was_room_for(
        capacity in 1usize..4096,
        lens in prop::collection::vec(0usize..300, 1..if cfg!(miri) { 20 } else { 400 }),
        batch in 1usize..20,
    ) {
        let (mut sender, mut receiver) = byte_ring(capacity);
        let sizes = lens.clone();
        let sending = thread::spawn(move || {
            let mut written = Vec::new();
            for (number, len) in sizes.into_iter().enumerate() {
                let (head, body) = piece(number as u32, len);
                if sender.write(&head, &body) {
                    written.push(number as u32);
                }
                if number % batch == 0 {
                    sender.publish(sender.mark());
                    thread::yield_now();
                }
            }
            sender.publish(sender.mark());
            written
        });
        let mut seen = Vec::new();
        loop {
            let last = receiver.is_abandoned();
            while let Some((number, body)) = take(&mut receiver) {
                prop_assert_eq!(&body, &piece(number, lens[number as usize]).1);
                seen.push(number);
            }
            if last {
                break;
            }
            thread::yield_now();
        }
        prop_assert_eq!(seen, sending.join().unwrap());
    }
}
