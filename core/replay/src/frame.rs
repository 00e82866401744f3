//! From records to frames.

use crate::{LONGEST, ReplayError, SHORTEST, TracePacket};
use pcap::{Capture, ETHERNET, RAW_IP, RAW_IPV4, RAW_IPV6, Record};
use units::Nanos;
use wire::{Header, protocol};

/// A frame that may be sent, with what its record says of it.
pub(crate) struct Frame {
    pub(crate) at: Nanos,
    pub(crate) interface: u32,
    pub(crate) bytes: Vec<u8>,
    original_len: u32,
}

impl Frame {
    pub(crate) fn into_packet(mut self) -> TracePacket {
        self.bytes.resize(self.bytes.len().max(SHORTEST), 0);
        let original_len = self.original_len.max(SHORTEST as u32);
        TracePacket { at: self.at, bytes: self.bytes, original_len }
    }
}

/// The frames of a capture, not yet padded, earliest first, from zero on.
pub(crate) fn frames(capture: &Capture) -> Result<Vec<Frame>, ReplayError> {
    let first = capture.records.iter().map(|record| record.at).min().ok_or(ReplayError::Empty)?;
    let frames = capture.records.iter().enumerate();
    let frames = frames.map(|(index, record)| frame(capture, index, record, first));
    let mut frames = frames.collect::<Result<Vec<Frame>, ReplayError>>()?;
    frames.sort_by_key(|frame| frame.at);
    Ok(frames)
}

fn frame(capture: &Capture, index: usize, record: &Record, first: Nanos) -> Result<Frame, ReplayError> {
    let fail = |reason| ReplayError::Frame { record: index + 1, reason };
    let interface = capture.interfaces.get(record.interface as usize);
    let interface = interface.ok_or_else(|| fail(format!("there is no interface {}", record.interface)))?;
    let (mut bytes, mut original_len) = (record.bytes.clone(), record.original_len);
    // Only a packet captured whole has its frame check sequence.
    let fcs = usize::from(interface.fcs_bytes);
    if bytes.len() >= original_len as usize {
        bytes.truncate(bytes.len().saturating_sub(fcs));
    }
    original_len = original_len.saturating_sub(fcs as u32);
    match interface.link_type {
        ETHERNET => {}
        RAW_IP | RAW_IPV4 | RAW_IPV6 => {
            let header = ethernet(bytes.first()).ok_or_else(|| fail("it is no IP packet".to_owned()))?;
            bytes.splice(..0, header);
            original_len = original_len.saturating_add(14);
        }
        link_type => return Err(ReplayError::LinkType { record: index + 1, link_type }),
    }
    if bytes.len() < 14 {
        return Err(fail(format!(
            "only {} bytes of it were captured, no whole Ethernet header",
            bytes.len()
        )));
    }
    if bytes.len() > LONGEST {
        return Err(fail(format!(
            "it has {} bytes without FCS, more than the {LONGEST} a frame may have; was it captured with segmentation \
             offload?",
            bytes.len()
        )));
    }
    Ok(Frame { at: record.at.since(first), interface: record.interface, bytes, original_len })
}

/// The header that goes before an IP packet with this first byte.
fn ethernet(first: Option<&u8>) -> Option<Vec<u8>> {
    let ip = match first? >> 4 {
        4 => "ipv4",
        6 => "ipv6",
        _ => return None,
    };
    let headers = vec![Header::new(protocol("ethernet")?), Header::new(protocol(ip)?)];
    let built = wire::PacketSpec { headers, ..wire::PacketSpec::default() }.build_unpadded().ok()?;
    Some(built.bytes[..14].to_vec())
}
