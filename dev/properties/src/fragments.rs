//! Fragments in any order, cut anywhere, repeated, overlapping or made up: what is reassembled is what was cut, memory
//! stays within its limits, and all is counted.
//!
//! An operation takes four bytes: what is done, which packet, which fragment, how long it takes. A frame of any bytes is taken
//! from what follows in the input.

use fragment::{Cut, Fragment, FragmentCounts, Limits, Reassembler};
use units::Nanos;

const LIMITS: Limits = Limits { packets: 4, bytes: 8_000, time: Nanos::from_secs(30) };
const ETHERNET: usize = 14;

const DELIVER: u8 = 0;
const WAIT: u8 = 1;
const MOVE: u8 = 2;
const RAW: u8 = 3;
const KINDS: u8 = 4;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let mut reassembler = Reassembler::new(LIMITS);
    let (mut now, mut rest, mut counts) = (Nanos::ZERO, data, FragmentCounts::default());
    let (mut offered, mut put_together) = (0, 0);
    while let Some(([what, which, part, time], behind)) = rest.split_first_chunk() {
        rest = behind;
        let (kind, is_v6) = (what % KINDS, which & 1 != 0);
        let whole = packet(is_v6, usize::from(*which) * 9 + 1_300);
        let mtu = if *part & 1 == 0 { 1_280 } else { 600 };
        let frame = match kind {
            WAIT => {
                now = now.saturating_add(Nanos::from_secs(u64::from(*time)));
                reassembler.expire(now);
                continue;
            }
            RAW => {
                let (frame, behind) = rest.split_at(usize::from(*part).min(rest.len()));
                rest = behind;
                frame.to_vec()
            }
            _ => {
                let Some(cut) = Cut::new(&whole, mtu, u32::from(*which)) else { continue };
                let number = usize::from(part >> 1) % cut.parts();
                let mut frame = vec![0; cut.len(number)];
                cut.write(&whole, number, &mut frame);
                if kind == MOVE && is_v6 {
                    // Elsewhere in the packet: it overlaps, leaves a hole, or ends the packet early.
                    frame[ETHERNET + 40 + 2] ^= time >> 3;
                    frame[ETHERNET + 40 + 3] ^= time << 3;
                }
                frame
            }
        };
        let Some(fragment) = Fragment::read(&frame) else { continue };
        offered += 1;
        if let Some(found) = reassembler.take(now, &fragment) {
            put_together += 1;
            assert_eq!(Fragment::read(&found), None, "a whole packet");
            assert!(found.len() <= ETHERNET + 40 + 65_535 + 2 * 4);
        }
        let (packets, bytes) = reassembler.waiting();
        assert!(packets <= LIMITS.packets && bytes <= LIMITS.bytes, "{packets} packets, {bytes} bytes");
        counts.merge(&reassembler.take_counts());
    }
    reassembler.finish();
    counts.merge(&reassembler.take_counts());
    assert_eq!(reassembler.waiting(), (0, 0));
    assert_eq!((counts.received, counts.reassembled), (offered, put_together));
    let given_up = counts.timed_out + counts.gave_way + counts.overlapped + counts.malformed;
    assert!(counts.reassembled + given_up <= offered, "{counts:?}");
}

/// A frame with an IP packet of `len` bytes after its header.
fn packet(is_v6: bool, len: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    let [high, low] = (len as u16).to_be_bytes();
    let [total_high, total_low] = (len as u16 + 20).to_be_bytes();
    if is_v6 {
        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, 17, 64]);
        frame.extend([0x20; 32]);
    } else {
        frame.extend([
            8, 0, 0x45, 0, total_high, total_low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
    }
    frame.extend((0..len).map(|i| i as u8));
    frame
}

/// Inputs to start from.
pub fn seeds() -> Vec<Vec<u8>> {
    let deliver = |which: u8, parts: &[u8]| -> Vec<u8> {
        parts.iter().flat_map(|part| [DELIVER, which, part << 1, 0]).collect()
    };
    let crossed =
        [deliver(200, &[2, 0]), deliver(201, &[1, 0]), deliver(200, &[1]), deliver(201, &[2])].concat();
    let late = [deliver(7, &[0]), vec![WAIT, 0, 0, 31], deliver(7, &[1])].concat();
    let moved = [deliver(9, &[0]), vec![MOVE, 9, 2, 8], deliver(9, &[1])].concat();
    let many = (0..20).flat_map(|which| deliver(which, &[0])).collect();
    let raw = [vec![RAW, 0, 60, 0], packet(false, 26)].concat();
    vec![crossed, late, moved, many, raw, deliver(3, &[0, 0, 1, 1])]
}
