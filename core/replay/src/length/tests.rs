use super::*;
use crate::testing::{header, udp};
use wire::PacketSpec;

fn tcp(ip: &str, payload: usize, flags: &str) -> Vec<u8> {
    let headers = vec![
        header("ethernet", &[]),
        header(ip, if ip == "ipv4" { &[("id", "65535")] } else { &[] }),
        header("tcp", &[("flags", flags), ("seq", "4294967290")]),
    ];
    let payload = (0..payload).map(|n| n as u8).collect();
    PacketSpec { headers, payload, ..PacketSpec::default() }.build_unpadded().unwrap().bytes
}

fn is_right(frame: &[u8]) -> bool {
    let mut again = frame.to_vec();
    checksums(frame).iter().for_each(|checksum| checksum.write(&mut again));
    again == frame && !checksums(frame).is_empty()
}

fn value(frame: &[u8], name: &str, field: &str) -> u128 {
    read(frame).0.iter().find(|header| header.protocol.name == name).unwrap().value(field).unwrap()
}

#[test]
fn a_joined_segment_becomes_segments() {
    for (ip, start) in [("ipv4", 54), ("ipv6", 74)] {
        let whole = tcp(ip, 3_000, "0x99");
        let Fit::Pieces { frames, are_fragments: false } = fit(whole.clone(), 0, 1_514, TooLong::Segment, 0)
        else {
            panic!("no segments")
        };
        let most = 1_514 - start;
        assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [1_514, 1_514, 3_000 - 2 * most + start]);
        let payload: Vec<u8> = frames.iter().flat_map(|frame| &frame[start..]).copied().collect();
        assert!(payload == whole[start..] && frames.iter().all(|frame| is_right(frame)), "{ip}");
        let flags: Vec<u128> = frames.iter().map(|frame| value(frame, "tcp", "flags")).collect();
        assert_eq!(flags, [0x90, 0x10, 0x19], "CWR at first, PSH and FIN at last");
        let sequence: Vec<u128> = frames.iter().map(|frame| value(frame, "tcp", "seq")).collect();
        assert_eq!(sequence, [4_294_967_290, most as u128 - 6, 2 * most as u128 - 6]);
        if ip == "ipv4" {
            assert_eq!(value(&frames[1], "ipv4", "id"), 0, "counted on, round");
        }
    }
}

#[test]
fn others_become_fragments_or_are_left_out() {
    let mut long = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    long.resize(3_042, 7);
    set_lengths(&mut long, 0);
    long[16..18].copy_from_slice(&3_028u16.to_be_bytes());
    let fragments = |frame: &[u8]| match fit(frame.to_vec(), 0, 1_514, TooLong::Segment, 5) {
        Fit::Pieces { frames, are_fragments: true } => Some(frames),
        Fit::Skipped => None,
        _ => panic!("neither"),
    };
    let frames = fragments(&long).unwrap();
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [1_514, 1_514, 82]);
    assert!(frames.iter().all(|frame| Fragment::read(frame).is_some()));
    let mut piece = frames[0].clone();
    piece.resize(1_600, 0);
    piece[16..18].copy_from_slice(&1_586u16.to_be_bytes());
    let ip = read(&piece).0[1].clone();
    put_header_sum(&mut piece, &ip);
    assert_eq!(fragments(&piece), None, "a fragment is not cut again");
    assert_eq!(fragments(&[0x11; 2_000]), None, "no IP");
}

#[test]
fn a_cut_packet_has_lengths_and_checksums_of_what_is_left() {
    let mut long = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    long.extend([7; 1_000]);
    let len = long.len() as u16;
    long[16..18].copy_from_slice(&(len - 14).to_be_bytes());
    long[38..40].copy_from_slice(&(len - 34).to_be_bytes());
    let Fit::Cut(cut) = fit(long.clone(), 0, 200, TooLong::Cut, 0) else { panic!("not cut") };
    assert_eq!(
        (cut.len(), value(&cut, "ipv4", "total_length"), value(&cut, "udp", "length")),
        (200, 186, 166)
    );
    assert!(is_right(&cut));
    assert!(matches!(fit(long.clone(), 0, 200, TooLong::Refuse, 0), Fit::Refused));
    assert!(matches!(fit(long.clone(), 0, 200, TooLong::Skip, 0), Fit::Skipped));
    assert!(matches!(fit(long.clone(), 0, 2_000, TooLong::Skip, 0), Fit::Fits(_)));
    // Only its beginning was captured: nothing of that is too long.
    let Fit::Shortened(short) = fit(long[..96].to_vec(), u32::from(len), 200, TooLong::Skip, 0) else {
        panic!("not shortened")
    };
    assert_eq!((short.len(), value(&short, "ipv4", "total_length")), (96, 186));
}
