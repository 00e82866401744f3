//! Captures in the model's format: frames with FCS, as pcap or pcapng.

use crate::error::Errors;
use crate::translate::CapturePlan;
use pcap::{NewInterface, Packet, PcapWriter, PcapngWriter};
use std::io::{BufReader, Read};
use units::Nanos;

/// Length of the frame check sequence, bytes.
const FCS: usize = 4;
/// Maximum packet length.
const SNAP: u32 = 65_535;

/// Type of a pcapng block with a packet.
const PACKET_BLOCK: u32 = 6;
/// Type and length before a block's body.
const BLOCK_HEAD: usize = 8;

/// Number of packets in a pcapng file as this machine writes it, which can still be growing. Holds none of them.
pub fn packets(file: impl Read) -> Result<usize, Errors> {
    let mut file = BufReader::new(file);
    let mut count = 0;
    loop {
        let mut head = Vec::new();
        file.by_ref().take(BLOCK_HEAD as u64).read_to_end(&mut head).map_err(|error| failed(&error))?;
        let number = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let (Some(kind), Some(len)) = (number(0), number(4)) else { return Ok(count) };
        let Some(rest) = u64::from(len).checked_sub(BLOCK_HEAD as u64) else {
            return Err(failed(&"a block is shorter than its head"));
        };
        let skipped = std::io::copy(&mut file.by_ref().take(rest), &mut std::io::sink());
        if skipped.map_err(|error| failed(&error))? < rest {
            return Ok(count);
        }
        count += usize::from(kind == PACKET_BLOCK);
    }
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
