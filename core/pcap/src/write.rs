//! Writing pcap and pcapng, little endian, with nanoseconds.

use crate::ETHERNET;
// A span of time, as the library wants it; no clock.
use core::time::Duration;
use pcap_file::pcap::{PcapHeader, RawPcapPacket};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::borrow::Cow;
use std::io::{Error, ErrorKind, Result, Write};
use units::Nanos;

/// Which way a packet went, as seen from the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    Received,
    /// It was sent.
    Sent,
}

/// A packet to write.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// When, since 1970-01-01 UTC.
    pub at: Nanos,
    /// Return value of [`PcapngWriter::add_interface`]; a pcap file has only one.
    pub interface: u32,
    /// Which way it went, if known; a pcap file has no place for it.
    pub direction: Option<Direction>,
    /// Its length on the link, bytes.
    pub original_len: u32,
    /// As much of it as was captured.
    pub bytes: &'a [u8],
}

/// An interface to write.
#[derive(Debug, Clone, Copy)]
pub struct NewInterface<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of what packets begin with: [`ETHERNET`].
    pub link_type: u16,
    /// Most bytes written of a packet; 0 if there is no limit.
    pub snap_len: u32,
    /// Capture filter, in libpcap's syntax.
    pub filter: Option<&'a str>,
    /// Anything, for people.
    pub comment: Option<&'a str>,
}

/// Statistics of an interface since the capture began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// When the capture began, since 1970-01-01 UTC.
    pub start: Nanos,
    /// When the counting ended.
    pub end: Nanos,
    /// Packets seen.
    pub received: u64,
    /// Packets that the filter let through.
    pub accepted: u64,
    /// Packets that the filter let through and that were lost for want of room.
    pub dropped: u64,
}

/// Writes pcapng: a section header, interfaces, packets, statistics. Does not buffer.
pub struct PcapngWriter<W: Write> {
    writer: PcapNgWriter<W>,
    written: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file that `application` writes.
    pub fn new(writer: W, application: &str, comment: Option<&str>) -> Result<Self> {
        let mut options = vec![SectionHeaderOption::UserApplication(Cow::Owned(option_text(application)))];
        options.extend(comment.map(|c| SectionHeaderOption::Comment(Cow::Owned(option_text(c)))));
        let section =
            SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
        let counted = section.clone();
        let writer = PcapNgWriter::with_section_header(writer, section).map_err(told)?;
        // The library does not say how long it was.
        let len = PcapNgWriter::with_section_header(Vec::new(), counted).map_err(told)?.into_inner().len();
        Ok(Self { writer, written: len as u64 })
    }

    /// Writes an interface and returns its number for [`Packet::interface`].
    pub fn add_interface(&mut self, interface: &NewInterface<'_>) -> Result<u32> {
        use InterfaceDescriptionOption as Option;
        let number = self.writer.interfaces().len() as u32;
        let mut options = vec![Option::IfName(Cow::Owned(option_text(interface.name))), Option::IfTsResol(9)];
        // Its first byte says that the filter is text for libpcap.
        let filter = |text| Cow::Owned([&[0], option_text(text).as_bytes()].concat());
        options.extend(interface.filter.map(|text| Option::IfFilter(filter(text))));
        options.extend(interface.comment.map(|text| Option::Comment(Cow::Owned(option_text(text)))));
        let linktype = DataLink::from(u32::from(interface.link_type));
        self.written += self
            .writer
            .write_pcapng_block(InterfaceDescriptionBlock { linktype, snaplen: interface.snap_len, options })
            .map_err(told)? as u64;
        Ok(number)
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<()> {
        let flags = packet.direction.map(|direction| match direction {
            Direction::Received => 1,
            Direction::Sent => 2,
        });
        let block = EnhancedPacketBlock {
            interface_id: packet.interface,
            timestamp: Duration::from_nanos(packet.at.0),
            original_len: packet.original_len,
            data: Cow::Borrowed(packet.bytes),
            options: flags.map(EnhancedPacketOption::Flags).into_iter().collect(),
        };
        self.written += self.writer.write_pcapng_block(block).map_err(told)? as u64;
        Ok(())
    }

    /// Writes what was counted on an interface.
    pub fn statistics(&mut self, interface: u32, statistics: &Statistics) -> Result<()> {
        use InterfaceStatisticsOption as Option;
        // The format wants the upper half of a time first, and the library writes it as one number.
        let time = |at: Nanos| at.0.rotate_left(32);
        let options = vec![
            Option::IsbStartTime(time(statistics.start)),
            Option::IsbEndTime(time(statistics.end)),
            Option::IsbIfRecv(statistics.received),
            Option::IsbIfDrop(statistics.dropped),
            Option::IsbFilterAccept(statistics.accepted),
        ];
        let timestamp = time(statistics.end);
        let block = InterfaceStatisticsBlock { interface_id: interface, timestamp, options };
        self.written += self.writer.write_pcapng_block(block).map_err(told)? as u64;
        Ok(())
    }

    /// Bytes handed to the writer so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Its output.
    pub fn get_mut(&mut self) -> &mut W {
        self.writer.get_mut()
    }

    /// Ends the file and hands its writer back, not flushed.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

/// Writes pcap with nanoseconds. Does not buffer.
pub struct PcapWriter<W: Write> {
    writer: pcap_file::pcap::PcapWriter<W>,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file of Ethernet frames of which at most `snap_len` bytes are written.
    pub fn new(writer: W, snap_len: u32) -> Result<Self> {
        let header = PcapHeader {
            snaplen: snap_len,
            datalink: DataLink::from(u32::from(ETHERNET)),
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::Little,
            ..PcapHeader::default()
        };
        Ok(Self { writer: pcap_file::pcap::PcapWriter::with_header(writer, header).map_err(told)? })
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<()> {
        const SECOND: u64 = 1_000_000_000;
        let Ok(ts_sec) = u32::try_from(packet.at.0 / SECOND) else {
            return Err(Error::new(ErrorKind::InvalidInput, "a pcap file can't represent times beyond 2106"));
        };
        // Not `write_packet`, which refuses packets that are longer than what is captured of them.
        let raw = RawPcapPacket {
            ts_sec,
            ts_frac: (packet.at.0 % SECOND) as u32,
            incl_len: packet.bytes.len() as u32,
            orig_len: packet.original_len,
            data: Cow::Borrowed(packet.bytes),
        };
        self.writer.write_raw_packet(&raw).map_err(told)?;
        Ok(())
    }

    /// Ends the file and hands its writer back, not flushed.
    pub fn into_inner(self) -> W {
        self.writer.into_writer()
    }
}

/// A text that fits an option, whose length is a number of 16 bits.
fn option_text(text: &str) -> String {
    const LONGEST: usize = 65_000;
    let fits = |(start, c): &(usize, char)| start + c.len_utf8() <= LONGEST;
    text.char_indices().take_while(fits).map(|(_, c)| c).collect()
}

/// The library's error as that of the writer it comes from.
fn told(error: pcap_file::PcapError) -> Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => Error::new(ErrorKind::InvalidInput, other.to_string()),
    }
}
