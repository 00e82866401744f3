use super::*;
use crate::Interface;
use units::Nanos;

const IPV4: [u8; 20] = [0x45, 0, 0, 20, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];

fn ipv6() -> Vec<u8> {
    let mut packet = vec![0; 40];
    packet[0] = 0x60;
    packet
}

/// The frame of `header` and `packet` captured on a link of this type: its type, its source's last byte, its length.
fn framed(link_type: u16, header: &[u8], packet: &[u8]) -> Result<(u16, u8, usize), NoFrame> {
    let bytes = [header, packet].concat();
    let interface = Interface { link_type, name: None, snap_len: 0, fcs_bytes: 0 };
    let record = Record { at: Nanos::ZERO, interface: 0, original_len: bytes.len() as u32, bytes };
    let capture = Capture { interfaces: vec![interface], ..Capture::default() };
    let framed = frame(&capture, &record)?;
    assert_eq!(framed.original_len as usize, framed.bytes.len());
    Ok((word(&framed.bytes, 12).unwrap(), framed.bytes[11], framed.bytes.len()))
}

#[test]
fn every_kind_of_link_becomes_ethernet() {
    let v4 = Ok((0x0800, 1, 34));
    let v6 = Ok((0x86dd, 1, 54));
    for (link_type, header) in [
        (0, &[2, 0, 0, 0][..]),
        (0, &[0, 0, 0, 2]),
        (108, &[0, 0, 0, 2]),
        (9, &[0xff, 3, 0, 0x21]),
        (9, &[0x21]),
        (9, &[0, 0x21]),
        (50, &[0xff, 3, 0, 0x21]),
        (50, &[0x0f, 0, 8, 0]),
        (104, &[0x0f, 0, 8, 0]),
        (101, &[]),
        (12, &[]),
        (228, &[]),
    ] {
        assert_eq!(framed(link_type, header, &IPV4), v4, "{link_type} {header:?}");
    }
    for (link_type, header) in [
        (0, &[24, 0, 0, 0][..]),
        (0, &[28, 0, 0, 0]),
        (0, &[0, 0, 0, 30]),
        (108, &[0, 0, 0, 24]),
        (9, &[0xff, 3, 0, 0x57]),
        (104, &[0x0f, 0, 0x86, 0xdd]),
        (101, &[]),
        (229, &[]),
    ] {
        assert_eq!(framed(link_type, header, &ipv6()), v6, "{link_type} {header:?}");
    }
}

#[test]
fn cooked_captures_keep_source_and_tags() {
    let cooked =
        |hardware: u8, kind: [u8; 2]| vec![0, 0, 0, hardware, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, kind[0], kind[1]];
    let second = |kind: [u8; 2]| vec![kind[0], kind[1], 0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0];
    assert_eq!(framed(113, &cooked(1, [8, 0]), &IPV4), Ok((0x0800, 9, 34)));
    assert_eq!(framed(276, &second([8, 0]), &IPV4), Ok((0x0800, 9, 34)));
    let tagged = [&[0, 7, 8, 0][..], &IPV4].concat();
    assert_eq!(framed(113, &cooked(1, [0x81, 0]), &tagged), Ok((0x8100, 9, 38)));
    // The source of a tunnel interface is no hardware address.
    assert_eq!(framed(113, &cooked(0xfe, [8, 0]), &IPV4), Ok((0x0800, 1, 34)));
    assert_eq!(framed(113, &cooked(1, [0, 4]), &[0x42, 0x42, 3]), Ok((3, 9, 17)));
}

#[test]
fn what_is_no_frame_is_left_out() {
    assert_eq!(framed(105, &[], &IPV4), Err(NoFrame::LinkType(105)));
    assert_eq!(framed(9, &[0xff, 3, 0xc0, 0x21], &[1, 1]), Err(NoFrame::NotIp(9)));
    assert_eq!(framed(104, &[0x8f, 0, 0x80, 0x35], &[0; 18]), Err(NoFrame::NotIp(104)));
    assert_eq!(framed(0, &[7, 0, 0, 0], &IPV4), Err(NoFrame::NotIp(0)));
    assert_eq!(framed(101, &[], &[0x10]), Err(NoFrame::NotIp(101)));
    assert_eq!(framed(101, &[], &[]), Err(NoFrame::Short));
    assert_eq!(framed(113, &[0; 15], &[]), Err(NoFrame::Short));
    assert_eq!(framed(1, &[0; 13], &[]), Err(NoFrame::Short));
    // An 824 is netlink, in `any` captures with nlmon.
    let netlink = [0, 0, 3, 56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
    assert_eq!(framed(113, &netlink, &IPV4), Err(NoFrame::NotIp(113)));
}

#[test]
fn a_length_left_to_a_card_is_filled_in() {
    let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut packet = IPV4.to_vec();
    packet.extend([0; 3_000]);
    packet[2..4].fill(0);
    let sum = |header: &[u8]| {
        let all: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        (all & 0xffff) + (all >> 16)
    };
    let right = !(sum(&packet[..20]) as u16);
    packet[10..12].copy_from_slice(&right.to_be_bytes());
    let bytes = [&ethernet[..], &packet].concat();
    let record = Record { at: Nanos::ZERO, interface: 0, original_len: bytes.len() as u32, bytes };
    let interface = Interface { link_type: ETHERNET, name: None, snap_len: 0, fcs_bytes: 0 };
    let capture = Capture { interfaces: vec![interface], ..Capture::default() };
    let framed = frame(&capture, &record).unwrap();
    assert!(framed.was_without_length);
    assert_eq!(word(&framed.bytes, 16), Some(3_020));
    assert_eq!(sum(&framed.bytes[14..34]), 0xffff);
}
