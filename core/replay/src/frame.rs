//! From records to frames.

use crate::checksums::{ChecksumReport, Checksums, repair};
use crate::length::{Fit, Fitted, TooLong, fit};
use crate::{LONGEST, ReplayError, SHORTEST, TracePacket};
use pcap::{Capture, NoFrame, Record};
use std::collections::BTreeMap;
use units::Nanos;
use wire::is_vlan_type;

/// Treatment of packets that can't be sent as captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Whether a packet that is no Ethernet frame and can't become one is left out; otherwise it refuses the capture.
    pub skip_unsendable: bool,
    /// Treatment of a packet that is longer than the maximum.
    pub too_long: TooLong,
    /// Longest packet after the link's header and tags, bytes; `None`: what the longest frame holds.
    pub mtu: Option<usize>,
    /// Which wrong checksums are put right.
    pub checksums: Checksums,
    /// The longest time between two packets; longer ones are shortened to it.
    pub gap_max: Option<Nanos>,
    /// Whether bytes after an IP packet are left out, as far as a frame stays at least the shortest.
    pub cut_trailers: bool,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            skip_unsendable: true,
            too_long: TooLong::Skip,
            mtu: None,
            checksums: Checksums::Keep,
            gap_max: None,
            cut_trailers: false,
        }
    }
}

/// Packets of a capture that were left out or modified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureReport {
    /// Packets in the file.
    pub packets: u64,
    /// Packets that are left out because they are no frames, by the reason.
    pub unsendable: BTreeMap<NoFrame, u64>,
    /// Packets that were too long.
    pub fitted: Fitted,
    /// Packets whose IP length was zero and is that of the frame now.
    pub lengths: u64,
    /// Wrong checksums of whole packets, by protocol.
    pub checksums: BTreeMap<&'static str, ChecksumReport>,
    /// Times between packets that were shortened, and by how much in all.
    pub gaps: (u64, Nanos),
    /// Packets whose time is before that of one before them in the file, and the number of the first, from 1 on.
    pub backward: (u64, u64),
}

impl CaptureReport {
    /// Packets of the file that are not sent.
    pub fn left_out(&self) -> u64 {
        self.unsendable() + self.fitted.skipped
    }

    /// Packets that are left out because they are no frames.
    pub fn unsendable(&self) -> u64 {
        self.unsendable.values().sum()
    }

    /// Wrong checksums, and how many of them are right now.
    pub fn wrong_checksums(&self) -> (u64, u64) {
        let counts = self.checksums.values();
        counts.fold((0, 0), |(wrong, repaired), one| {
            (wrong + one.unfinished + one.wrong, repaired + one.repaired)
        })
    }

    /// Whether all packets are sent as they were captured, with right checksums.
    pub fn is_plain(&self) -> bool {
        self.left_out() + self.fitted.changed() + self.lengths + self.wrong_checksums().0 + self.gaps.0 == 0
    }
}

/// The frames of a capture, not yet padded, earliest first, from zero on; and what the capture did not give.
#[derive(Debug, Clone)]
pub struct Frames {
    pub(crate) all: Vec<Frame>,
    /// The first one's time by the clock of its capture.
    began: Nanos,
    /// Packets of the capture that were left out or modified.
    pub report: CaptureReport,
}

/// A frame that may be sent, with data from its record.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) at: Nanos,
    pub(crate) interface: u32,
    pub(crate) bytes: Vec<u8>,
    original_len: u32,
}

impl Frame {
    /// Other bytes, `grown` more than before.
    pub(crate) fn resize(&mut self, bytes: Vec<u8>, grown: i64) {
        let original_len = i64::from(self.original_len) + grown;
        self.original_len = original_len.clamp(bytes.len() as i64, i64::from(u32::MAX)) as u32;
        self.bytes = bytes;
    }

    pub(crate) fn into_packet(mut self, place: usize) -> TracePacket {
        self.bytes.resize(self.bytes.len().max(SHORTEST), 0);
        let original_len = self.original_len.max(SHORTEST as u32);
        TracePacket { at: self.at, bytes: self.bytes, original_len, is_filled: false, place: place as u64 }
    }
}

impl Frames {
    /// The frames of a capture. Fails if none is left, or if one refuses the capture. Bytes that are sent as they were captured
    /// are moved, not copied.
    pub fn of(mut capture: Capture, options: &CaptureOptions) -> Result<Self, ReplayError> {
        let records = std::mem::take(&mut capture.records);
        if records.is_empty() {
            return Err(ReplayError::Empty { damage: capture.warnings.first().cloned() });
        }
        let (all, report) = (Vec::with_capacity(records.len()), CaptureReport::default());
        let mut frames = Self { all, began: Nanos::ZERO, report };
        let mut latest = Nanos::ZERO;
        for (index, record) in records.into_iter().enumerate() {
            let at = record.at;
            frames.take(&capture, index, record, options)?;
            if at < latest {
                let (n, first) = frames.report.backward;
                frames.report.backward = (n + 1, if n == 0 { index as u64 + 1 } else { first });
            }
            latest = latest.max(at);
        }
        if frames.all.is_empty() {
            return Err(ReplayError::NothingLeft { report: Box::new(frames.report) });
        }
        if frames.report.backward.0 > 0 {
            frames.all.sort_by_key(|frame| frame.at);
        }
        frames.began = frames.all.first().map_or(Nanos::ZERO, |frame| frame.at);
        frames.count_from_zero(options.gap_max);
        Ok(frames)
    }

    /// Adds the frames of a capture of the other side, by the same clock: its own frames are of interface 0 from now on, the other's
    /// of interface 1. In neither a gap may have been shortened: it is done here. Returns the time between the captures if they do not
    /// overlap. The report is that of this capture, but for its gaps.
    pub fn join(&mut self, other: Self, gap_max: Option<Nanos>) -> Option<Nanos> {
        let [first, last] = [&*self, &other].map(|frames| {
            let took = frames.all.last().map_or(Nanos::ZERO, |frame| frame.at);
            (frames.began, frames.began.saturating_add(took))
        });
        let began = first.0.min(last.0);
        let apart = last.0.since(first.1).max(first.0.since(last.1));
        for frame in &mut self.all {
            (frame.at, frame.interface) = (frame.at.saturating_add(first.0.since(began)), 0);
        }
        self.all.extend(other.all.into_iter().map(|frame| {
            let at = frame.at.saturating_add(last.0.since(began));
            Frame { at, interface: 1, ..frame }
        }));
        self.all.sort_by_key(|frame| frame.at);
        self.began = began;
        self.count_from_zero(gap_max);
        Some(apart).filter(|apart| *apart > Nanos::ZERO)
    }

    /// The same of a capture that is needed afterwards.
    pub fn new(capture: &Capture, options: &CaptureOptions) -> Result<Self, ReplayError> {
        Self::of(capture.clone(), options)
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none; never.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn take(
        &mut self,
        capture: &Capture,
        index: usize,
        record: Record,
        options: &CaptureOptions,
    ) -> Result<(), ReplayError> {
        let (at, interface) = (record.at, record.interface);
        self.report.packets += 1;
        let framed = match pcap::into_frame(capture, record) {
            Ok(framed) => framed,
            Err(reason) if options.skip_unsendable => {
                *self.report.unsendable.entry(reason).or_default() += 1;
                return Ok(());
            }
            Err(reason) => return Err(ReplayError::Unsendable { record: index + 1, reason }),
        };
        self.report.lengths += u64::from(framed.was_without_length);
        let (mut bytes, mut original_len) = (framed.bytes.into_owned(), framed.original_len);
        if let Some(len) = packet_len(&bytes).filter(|_| options.cut_trailers) {
            let len = len.max(SHORTEST);
            bytes.truncate(len);
            original_len = original_len.min(len as u32);
        }
        if bytes.len() as u64 >= u64::from(original_len) {
            repair(&mut bytes, options.checksums, &mut self.report.checksums);
        }
        let mut push = |bytes: Vec<u8>, original_len| {
            self.all.push(Frame { at, interface, bytes, original_len });
        };
        let whole = bytes.len();
        let longest = options.mtu.map_or(LONGEST, |mtu| LONGEST.min(mtu + link_len(&bytes)));
        match fit(bytes, original_len, longest, options.too_long, index as u32) {
            Fit::Fits(bytes) => push(bytes, original_len),
            Fit::Cut(bytes) => {
                let len = bytes.len() as u32;
                push(bytes, len);
                self.report.fitted.cut += 1;
            }
            Fit::Shortened(bytes) => {
                push(bytes, longest as u32);
                self.report.fitted.shortened += 1;
            }
            Fit::Pieces { frames, are_fragments } => {
                self.report.fitted.pieces += frames.len() as u64;
                self.report.fitted.segmented += u64::from(!are_fragments);
                self.report.fitted.fragmented += u64::from(are_fragments);
                for bytes in frames {
                    let len = bytes.len() as u32;
                    push(bytes, len);
                }
            }
            Fit::Skipped => self.report.fitted.skipped += 1,
            Fit::Refused => {
                return Err(ReplayError::TooLong { record: index + 1, bytes: whole, longest });
            }
        }
        Ok(())
    }

    /// Times from the first frame on, with no gap longer than `gap_max`.
    fn count_from_zero(&mut self, gap_max: Option<Nanos>) {
        let Some(mut before) = self.all.first().map(|frame| frame.at) else { return };
        let (mut taken, mut now) = (0, Nanos::ZERO);
        for frame in &mut self.all {
            let gap = frame.at.since(before);
            before = frame.at;
            let kept = gap_max.map_or(gap, |most| gap.min(most));
            taken += u64::from(kept < gap);
            self.report.gaps.1 = self.report.gaps.1.saturating_add(gap.since(kept));
            now = now.saturating_add(kept);
            frame.at = now;
        }
        self.report.gaps.0 = taken;
    }
}

/// Length of a frame up to the end of its IP packet, by its length field; `None` without an IP packet.
fn packet_len(frame: &[u8]) -> Option<usize> {
    const IPV6_HEADER: usize = 40;
    let begin = link_len(frame);
    let ip = frame.get(begin..)?;
    let word =
        |at: usize| ip.get(at..at + 2)?.first_chunk().map(|word| usize::from(u16::from_be_bytes(*word)));
    let length = match frame.get(begin - 2..begin)? {
        [0x08, 0x00] => word(2)?,
        // A length of 0 is that of a jumbogram (RFC 2675).
        [0x86, 0xdd] => word(4).filter(|length| *length > 0)? + IPV6_HEADER,
        _ => return None,
    };
    Some(begin + length)
}

/// Bytes of a frame's hardware addresses, tags and type.
pub(crate) fn link_len(frame: &[u8]) -> usize {
    let mut at = 12;
    while frame
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .is_some_and(|kind| is_vlan_type(u16::from_be_bytes(*kind)))
    {
        at += 4;
    }
    at + 2
}
