//! Marks: a number in the outermost IP header of packets that carry no signature, so that they can be counted per stream.
//!
//! The identification of IPv4 and the flow label of IPv6 pass routers unchanged (RFC 791, RFC 6437), and nothing of the payload
//! is touched. A foreign packet may have the same number by chance.

use crate::checksum;

/// The lowest number.
pub const FIRST: u16 = 0xfc00;
/// Number of them.
pub const MARKS: u16 = 1023;

/// Bytes of both hardware addresses, and of a VLAN tag.
const ADDRESSES: usize = 12;
const TAG: usize = 4;

/// Offset of the IP header after Ethernet and VLAN tags, and whether it is of IPv4.
#[inline]
fn ip(frame: &[u8]) -> Option<(usize, bool)> {
    let mut at = ADDRESSES;
    loop {
        match frame.get(at..at + 2)? {
            [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00] => at += TAG,
            [0x08, 0x00] => return Some((at + 2, true)),
            [0x86, 0xdd] => return Some((at + 2, false)),
            _ => return None,
        }
    }
}

/// The mark of a frame, from 0; `None` if it has none.
#[inline]
pub fn read(frame: &[u8]) -> Option<u16> {
    let (at, is_ipv4) = ip(frame)?;
    let number = if is_ipv4 {
        let [high, low] = *frame.get(at + 4..at + 6)?.first_chunk()?;
        u32::from(u16::from_be_bytes([high, low]))
    } else {
        u32::from_be_bytes(*frame.get(at..at + 4)?.first_chunk()?) & 0xf_ffff
    };
    let mark = number.checked_sub(FIRST.into())?;
    u16::try_from(mark).ok().filter(|mark| *mark < MARKS)
}

/// Writes a number into the IP header of a frame, whose checksum stays right or wrong; returns whether it has one.
pub fn write(frame: &mut [u8], number: u16) -> bool {
    let Some((at, is_ipv4)) = ip(frame).filter(|(at, _)| frame.len() >= at + 20) else { return false };
    let new = number.to_be_bytes();
    if is_ipv4 {
        let word = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let sum = checksum::update(word(frame, at + 10), word(frame, at + 4), number);
        frame[at + 4..at + 6].copy_from_slice(&new);
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        frame[at + 1] &= 0xf0;
        frame[at + 2..at + 4].copy_from_slice(&new);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, PacketSpec, protocol};

    fn frame(names: &[&str]) -> Vec<u8> {
        let headers = names.iter().map(|name| Header::new(protocol(name).unwrap())).collect();
        PacketSpec { headers, ..PacketSpec::default() }.build_unpadded().unwrap().bytes
    }

    #[test]
    fn a_mark_is_read_where_it_was_written_and_the_checksum_stays_right() {
        for names in [&["ethernet", "ipv4", "udp"][..], &["ethernet", "vlan", "vlan", "ipv6", "tcp"]] {
            let mut frame = frame(names);
            for mark in [0, 1, MARKS - 1] {
                assert!(write(&mut frame, FIRST + mark));
                assert_eq!(read(&frame), Some(mark));
                let mut again = frame.clone();
                crate::checksums(&frame).iter().for_each(|sum| sum.write(&mut again));
                assert_eq!(frame, again);
            }
        }
    }

    #[test]
    fn other_frames_have_no_mark() {
        for names in [&["ethernet", "ipv4", "udp"][..], &["ethernet", "ipv6", "udp"], &["ethernet", "arp"]] {
            let whole = frame(names);
            for len in 0..whole.len() {
                assert_eq!(read(&whole[..len]), None);
            }
        }
        let mut above = frame(&["ethernet", "ipv4"]);
        write(&mut above, FIRST + MARKS);
        assert_eq!(read(&above), None);
        assert!(!write(&mut frame(&["ethernet", "arp"]), FIRST));
    }
}
