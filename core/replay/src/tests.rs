use crate::testing::*;
use crate::{Trace, speed_up};
use pcap::{Capture, RAW_IP};
use proptest::prelude::*;
use std::num::NonZeroU64;
use units::Nanos;

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
    assert_eq!(error.to_string(), "record 1: it is no IP packet");
}

#[test]
fn says_which_record_is_no_frame() {
    let error = |capture: &Capture| Trace::new(capture).unwrap_err().to_string();
    assert_eq!(error(&Capture::default()), "the capture has no packets");
    assert_eq!(
        error(&capture([vec![1; 60], vec![1; 13]])),
        "record 2: only 13 bytes of it were captured, no whole Ethernet header"
    );
    assert_eq!(
        error(&capture([vec![1; 16_381]])),
        "record 1: it has 16381 bytes without FCS, more than the 16380 a frame may have; was it captured with segmentation \
         offload?"
    );
    let mut other = capture([vec![1; 60]]);
    other.interfaces.push(interface(113));
    other.records.push(record(0, 1, vec![1; 60]));
    assert_eq!(
        error(&other),
        "record 2: its link type is 113; only 1 (Ethernet) and 101 (bare IP) can be sent"
    );
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
