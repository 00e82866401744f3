//! Captures in the model's format: frames with FCS, as pcap or pcapng.

use crate::error::Errors;
use crate::translate::CapturePlan;
use pcap::{NewInterface, Packet, PcapWriter, PcapngWriter};
use units::Nanos;

/// Length of the frame check sequence, bytes.
const FCS: usize = 4;
/// Maximum packet length.
const SNAP: u32 = 65_535;

/// Number of packets in a file, which can still be growing.
pub fn packets(file: &[u8]) -> Result<usize, Errors> {
    if file.is_empty() {
        return Ok(0);
    }
    pcap::read(file).map(|read| read.records.len()).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> Errors {
    Errors::internal(format!("cannot read the capture: {error}"))
}

/// Merges several pcapng files in order, without the first `skip` packets. Adds the FCS to every whole frame, which the
/// generator does not receive: the model's frames include it.
pub fn capture(files: &[Vec<u8>], plan: &CapturePlan, skip: usize) -> Result<Vec<u8>, Errors> {
    let mut frames = Vec::new();
    for file in files {
        let read = pcap::read(file.as_slice()).map_err(|error| failed(&error))?;
        frames.extend(read.records);
    }
    let whole: Vec<(Nanos, u32, Vec<u8>)> = frames
        .into_iter()
        .skip(skip)
        .map(|record| {
            let is_whole = record.bytes.len() == record.original_len as usize;
            let mut bytes = record.bytes;
            if is_whole {
                // Wire order: lowest byte first (IEEE 802.3 clause 3.2.9).
                bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            }
            bytes.truncate(plan.snap.filter(|snap| *snap > 0).unwrap_or(usize::MAX));
            (record.at, record.original_len + FCS as u32, bytes)
        })
        .collect();
    if plan.pcapng { pcapng(&whole) } else { classic(&whole) }.map_err(|error| failed(&error))
}

fn classic(frames: &[(Nanos, u32, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let mut writer = PcapWriter::new(Vec::new(), SNAP)?;
    for (at, original_len, bytes) in frames {
        writer.write(&packet(*at, *original_len, bytes))?;
    }
    Ok(writer.into_inner())
}

fn pcapng(frames: &[(Nanos, u32, Vec<u8>)]) -> std::io::Result<Vec<u8>> {
    let mut writer = PcapngWriter::new(Vec::new(), "eagre", None)?;
    let interface =
        NewInterface { name: "otg", link_type: pcap::ETHERNET, snap_len: 0, filter: None, comment: None };
    writer.add_interface(&interface)?;
    for (at, original_len, bytes) in frames {
        writer.write(&packet(*at, *original_len, bytes))?;
    }
    Ok(writer.into_inner())
}

fn packet(at: Nanos, original_len: u32, bytes: &[u8]) -> Packet<'_> {
    Packet { at, interface: 0, direction: None, original_len, bytes }
}
