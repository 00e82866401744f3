use crate::testing::*;
use crate::{CaptureOptions, Frames, SplitBy, TooLong, Trace, speed_up, split};
use pcap::{Capture, RAW_IP};
use proptest::prelude::*;
use std::num::NonZeroU64;
use units::Nanos;
use wire::PacketSpec;

#[test]
fn a_trace_begins_at_zero_and_is_in_order() {
    let mut capture = capture([vec![1; 100], vec![2; 20], vec![3; 60]]);
    capture.records[0].at = Nanos(1_000_000_100);
    let trace = Trace::new(&capture).unwrap();
    assert_eq!(times(&trace), [0, 10, 90]);
    assert_eq!(trace.span, Nanos(90));
    let lengths: Vec<_> = trace.packets.iter().map(|p| (p.bytes[0], p.bytes.len(), p.original_len)).collect();
    assert_eq!(lengths, [(2, 60, 60), (3, 60, 60), (1, 100, 100)]);
    assert_eq!((trace.cut, trace.guessed), (0, 0));
}

#[test]
fn captures_of_both_sides_are_aligned_by_their_times() {
    let of = |begin: u64, bytes: &[u8]| {
        let mut capture = capture(bytes.iter().map(|byte| vec![*byte; 60]));
        for (place, record) in capture.records.iter_mut().enumerate() {
            record.at = Nanos(begin + 100 * place as u64);
        }
        Frames::of(capture, &CaptureOptions::default()).unwrap()
    };
    let sent = |frames: Frames| {
        let [clients, servers] = split(frames, &SplitBy::Interface(0)).unwrap();
        assert_eq!(clients.span, servers.span);
        [clients, servers].map(|trace| trace.packets.iter().map(|p| (p.at.0, p.bytes[0])).collect::<Vec<_>>())
    };
    // The second begins earlier, or later.
    for (begin, clients, servers) in [(950, [50, 150], [0, 100]), (1_030, [0, 100], [30, 130])] {
        let mut frames = of(1_000, &[1, 2]);
        assert_eq!(frames.join(of(begin, &[3, 4]), None), None);
        let all = [clients, servers].into_iter().zip([[1, 2], [3, 4]]);
        let expected: Vec<Vec<_>> = all.map(|(at, bytes)| at.into_iter().zip(bytes).collect()).collect();
        assert_eq!(sent(frames)[..], expected);
    }
    // They do not overlap.
    let mut frames = of(1_000, &[1, 2]);
    assert_eq!(frames.join(of(5_100, &[3]), Some(Nanos(500))), Some(Nanos(4_000)));
    assert_eq!(frames.report.gaps, (1, Nanos(3_500)));
    assert_eq!(sent(frames), [vec![(0, 1), (100, 2)], vec![(600, 3)]]);
}

#[test]
fn what_was_not_captured_can_be_filled_up() {
    let mut capture = capture([vec![7; 64], vec![8; 64]]);
    capture.records[1].original_len = 1514;
    let mut trace = Trace::new(&capture).unwrap();
    assert_eq!((trace.cut, trace.packets[1].bytes.len()), (1, 64));
    assert_eq!(trace.fill(), 1);
    assert_eq!((trace.cut, trace.packets[1].bytes.len()), (0, 1514));
    assert_eq!(trace.packets[1].bytes[64..], [0; 1450]);
}

#[test]
fn a_frame_check_sequence_is_taken_off_where_there_is_one() {
    let mut capture = capture([vec![7; 104], vec![7; 104]]);
    capture.interfaces[0].fcs_bytes = 4;
    capture.records[1].original_len = 1518;
    let trace = Trace::new(&capture).unwrap();
    let lengths: Vec<_> = trace.packets.iter().map(|p| (p.bytes.len(), p.original_len)).collect();
    assert_eq!(lengths, [(100, 100), (104, 1514)]);
}

#[test]
fn what_is_behind_an_ip_packet_can_be_cut() {
    let options = CaptureOptions { cut_trailers: true, ..CaptureOptions::default() };
    let long = |name: &str| {
        let headers =
            vec![header("ethernet", &[]), header("vlan", &[]), header(name, &[]), header("udp", &[])];
        PacketSpec { headers, payload: vec![7; 60], ..PacketSpec::default() }.build_unpadded().unwrap().bytes
    };
    let followed = |frame: &[u8], more: usize| [frame, &vec![9; more][..]].concat();
    let cut = |frame: Vec<u8>| {
        let frames = Frames::new(&capture([frame]), &options).unwrap();
        let packet = Trace::of(frames).packets.remove(0);
        assert_eq!(packet.bytes.len(), packet.original_len as usize);
        packet.bytes
    };
    for name in ["ipv4", "ipv6"] {
        let frame = long(name);
        assert_eq!(cut(followed(&frame, 8)), frame, "{name}");
        assert_eq!(cut(frame.clone()), frame, "{name}");
        let begin = capture([frame[..70].to_vec()]);
        assert_eq!(Frames::new(&begin, &options).unwrap().all[0].bytes, frame[..70], "{name}");
    }
    // A short one keeps its padding.
    let short = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    assert_eq!(cut(followed(&short, 40)), followed(&short, 60 - short.len()));
    let other = vec![5; 80];
    assert_eq!(cut(other.clone()), other);
    let kept = Trace::new(&capture([followed(&long("ipv4"), 8)])).unwrap();
    assert_eq!(kept.packets[0].bytes[kept.packets[0].bytes.len() - 8..], [9; 8]);
}

#[test]
fn a_bare_ip_packet_gets_an_ethernet_header() {
    let whole = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    let mut capture = capture([whole[14..].to_vec()]);
    capture.interfaces[0].link_type = RAW_IP;
    let trace = Trace::new(&capture).unwrap();
    assert_eq!(trace.packets[0].bytes[..whole.len()], whole);
    capture.records[0].bytes[0] = 0x60;
    assert_eq!(Trace::new(&capture).unwrap().packets[0].bytes[12..14], [0x86, 0xdd]);
    capture.records[0].bytes[0] = 0x10;
    let error = Trace::new(&capture).unwrap_err();
    assert_eq!(error.to_string(), "no packet can be sent: 1 packet of link type 101 holds no IP packet");
}

#[test]
fn what_cannot_be_sent_is_left_out_and_counted_or_refuses_the_capture() {
    let error = |capture: &Capture| Trace::new(capture).unwrap_err().to_string();
    assert_eq!(error(&Capture::default()), "the capture has no packets");
    let damaged = Capture { warnings: vec!["record 1 is cut short".to_owned()], ..Capture::default() };
    assert_eq!(error(&damaged), "the capture has no packets: record 1 is cut short");
    let mut mixed = capture([vec![1; 60], vec![1; 13], vec![1; 16_381]]);
    mixed.interfaces.push(interface(105));
    mixed.records.push(record(0, 1, vec![1; 60]));
    let frames = framed(&mixed);
    assert_eq!((frames.len(), frames.report.left_out(), frames.report.packets), (1, 3, 4));
    // Times count from the first that is sent.
    assert_eq!(times(&Trace::of(frames)), [0]);
    let strict = CaptureOptions { skip_unsendable: false, ..CaptureOptions::default() };
    let error = Frames::new(&mixed, &strict).unwrap_err().to_string();
    assert_eq!(error, "record 2 ends within its link-layer header");
    let strict = CaptureOptions { too_long: TooLong::Refuse, ..CaptureOptions::default() };
    let error = Frames::new(&mixed, &strict).unwrap_err().to_string();
    assert!(error.starts_with("record 3 has 16381 bytes without FCS, more than the 16380"), "{error}");
    let mut other = capture([vec![1; 60]]);
    other.interfaces[0].link_type = 105;
    let error = Trace::new(&other).unwrap_err().to_string();
    assert!(
        error.starts_with("no packet can be sent: 1 packet is of link type 105; those that can"),
        "{error}"
    );
}

#[test]
fn long_gaps_are_shortened() {
    let mut capture = capture([vec![1; 60], vec![2; 60], vec![3; 60]]);
    capture.records[2].at = Nanos(90_000_000_000);
    let options = CaptureOptions { gap_max: Some(Nanos(1_000)), ..CaptureOptions::default() };
    let frames = Frames::new(&capture, &options).unwrap();
    assert_eq!(frames.report.gaps, (1, Nanos(88_999_999_990 - 1_000)));
    assert_eq!(times(&Trace::of(frames)), [0, 10, 1_010]);
}

#[test]
fn times_that_go_back_are_counted() {
    let mut capture = capture([vec![1; 60], vec![2; 60], vec![3; 60], vec![4; 60]]);
    assert_eq!(Frames::new(&capture, &CaptureOptions::default()).unwrap().report.backward, (0, 0));
    capture.records[1].at = Nanos(1_000_000_090);
    let frames = Frames::new(&capture, &CaptureOptions::default()).unwrap();
    assert_eq!(frames.report.backward, (2, 3));
    let sent: Vec<u8> = Trace::of(frames).packets.iter().map(|packet| packet.bytes[0]).collect();
    assert_eq!(sent, [1, 3, 4, 2]);
}

#[test]
fn a_trace_fits_another_link_afterwards() {
    let mut capture = capture([vec![7; 64], vec![8; 64], vec![9; 3_000]]);
    capture.records[1].original_len = 2_000;
    let mut trace = Trace::new(&capture).unwrap();
    trace.fill();
    let fitted = trace.fit(|_| 1_514, TooLong::Skip).unwrap();
    assert_eq!((fitted.skipped, fitted.shortened), (1, 1));
    let lengths: Vec<_> = trace.packets.iter().map(|packet| packet.bytes.len()).collect();
    assert_eq!(lengths, [64, 1_514]);
}

#[test]
fn what_fits_may_depend_on_the_frame() {
    let tagged = |len: usize| [&[2; 12][..], &[0x81, 0], &vec![0; len - 14][..]].concat();
    let mut trace = trace([tagged(1_518), tagged(1_519), vec![7; 1_514], vec![7; 1_515]]);
    let longest = |frame: &[u8]| if wire::is_tagged(frame) { 1_518 } else { 1_514 };
    assert_eq!(trace.fit(longest, TooLong::Skip).unwrap().skipped, 2);
    let lengths: Vec<_> = trace.packets.iter().map(|packet| packet.bytes.len()).collect();
    assert_eq!(lengths, [1_518, 1_514]);
}

fn faster(traces: &mut [Trace], num: u64, den: u64) {
    speed_up(traces, NonZeroU64::new(num).unwrap(), NonZeroU64::new(den).unwrap());
}

#[test]
fn time_is_scaled_exactly() {
    for (num, den, expected, span) in
        [(1, 1, [[0, 10], [0, 7]], 10), (2, 1, [[0, 5], [0, 3]], 5), (3, 10, [[0, 33], [0, 23]], 33)]
    {
        let mut traces = [trace([vec![1; 60], vec![1; 60]]), trace([vec![1; 60], vec![1; 60]])];
        traces[1].packets[1].at = Nanos(7);
        faster(&mut traces, num, den);
        assert_eq!(traces.each_ref().map(times), expected, "{num}/{den}");
        assert_eq!(traces.map(|trace| trace.span.0), [span, span], "{num}/{den}");
    }
}

proptest! {
    #[test]
    fn slowing_down_and_speeding_up_again_changes_nothing(times in prop::collection::vec(0u64..1 << 40, 1..20), by in 1u64..1000) {
        let mut capture = capture(times.iter().map(|_| vec![1; 60]));
        for (record, at) in capture.records.iter_mut().zip(&times) {
            record.at = Nanos(*at);
        }
        let trace = Trace::new(&capture).unwrap();
        let mut traces = [trace.clone()];
        faster(&mut traces, 1, by);
        prop_assert_eq!(traces[0].span.0, trace.span.0 * by);
        faster(&mut traces, by, 1);
        prop_assert_eq!(&traces[0], &trace);
    }
}
