//! Frames and captures to try things on.

use crate::{CaptureOptions, Frames, Trace, TracePacket};
use pcap::{Capture, ETHERNET, Interface, Record};
use units::Nanos;
use wire::{Header, PacketSpec, protocol};

/// A header with some fields set, as text.
pub(crate) fn header(name: &str, fields: &[(&str, &str)]) -> Header {
    let protocol = protocol(name).unwrap();
    let mut header = Header::new(protocol);
    for (name, text) in fields {
        let field = protocol.field(name).unwrap();
        header.set.push((field, field.parse(text).unwrap()));
    }
    header
}

/// A UDP packet between two ends, `10.0.0.1:7`, from one hardware address to another by their last bytes.
pub(crate) fn udp(macs: [u8; 2], from: &str, to: &str) -> Vec<u8> {
    let ((src, sport), (dst, dport)) = (from.split_once(':').unwrap(), to.split_once(':').unwrap());
    let [src_mac, dst_mac] = macs.map(|last| format!("02:00:00:00:00:{last:02x}"));
    let headers = vec![
        header("ethernet", &[("src", &src_mac), ("dst", &dst_mac)]),
        header("ipv4", &[("src", src), ("dst", dst)]),
        header("udp", &[("src", sport), ("dst", dport)]),
    ];
    PacketSpec { headers, payload: b"hello".to_vec(), ..PacketSpec::default() }
        .build_unpadded()
        .unwrap()
        .bytes
}

/// A frame of bare headers.
pub(crate) fn frame(headers: Vec<Header>) -> Vec<u8> {
    PacketSpec { headers, ..PacketSpec::default() }.build_unpadded().unwrap().bytes
}

pub(crate) fn interface(link_type: u16) -> Interface {
    Interface { link_type, name: None, snap_len: 0, fcs_bytes: 0 }
}

pub(crate) fn record(at: u64, interface: u32, bytes: Vec<u8>) -> Record {
    Record { at: Nanos(at), interface, original_len: bytes.len() as u32, bytes }
}

/// A capture of one Ethernet interface with a packet every 10 ns from 1 s on.
pub(crate) fn capture(frames: impl IntoIterator<Item = Vec<u8>>) -> Capture {
    let records = frames.into_iter().enumerate();
    let records = records.map(|(i, bytes)| record(1_000_000_000 + 10 * i as u64, 0, bytes)).collect();
    Capture { interfaces: vec![interface(ETHERNET)], records, warnings: Vec::new() }
}

/// A trace of these frames, 10 ns apart.
pub(crate) fn trace(frames: impl IntoIterator<Item = Vec<u8>>) -> Trace {
    Trace::new(&capture(frames)).unwrap()
}

/// A trace of one frame just as it is, without padding.
pub(crate) fn bare(bytes: Vec<u8>) -> Trace {
    let packet =
        TracePacket { at: Nanos::ZERO, original_len: bytes.len() as u32, bytes, is_filled: false, place: 0 };
    Trace { packets: vec![packet], ..Trace::default() }
}

pub(crate) fn times(trace: &Trace) -> Vec<u64> {
    trace.packets.iter().map(|packet| packet.at.0).collect()
}

/// The frames of a capture, with all defaults.
pub(crate) fn framed(capture: &Capture) -> Frames {
    Frames::new(capture, &CaptureOptions::default()).unwrap()
}
