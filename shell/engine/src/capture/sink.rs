//! Where captured packets end up: a file, one file after the other, or memory until the end.
//!
//! A file has its name from its first packets on, so that others can follow it. An earlier file of that name is `NAME.old`
//! until the capture has ended; without a packet the earlier file stays until then.

use super::options::{CaptureOptions, Every, Keep};
use super::outcome::CaptureError;
use super::record::RecordHead;
use super::shared::Shared;
use os::Draft;
use pcap::{ETHERNET, NewInterface, Packet, PcapngWriter, Statistics};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::Nanos;

/// Size of a file's write buffer.
const BUFFER_BYTES: usize = 256 << 10;
/// Memory a kept packet takes besides its bytes.
const KEPT_BYTES: u64 = (size_of::<Kept>() + 16) as u64;

/// A packet in memory.
struct Kept {
    head: RecordHead,
    bytes: Box<[u8]>,
}

/// The last packets.
struct Last {
    packets: VecDeque<Kept>,
    bytes: u64,
    bytes_max: u64,
    packets_max: u64,
}

/// Where captured packets end up.
pub(super) struct Sink {
    files: Files,
    last: Option<Last>,
    /// Packets taken that are sure to be where they belong.
    safe: u64,
    /// Packets taken since then: on their way to the disk.
    on_the_way: u64,
}

/// Report of a sink at the end.
pub(super) struct Ended {
    pub(super) files: Vec<PathBuf>,
    pub(super) captured: u64,
    pub(super) displaced: u64,
    pub(super) error: Option<String>,
    /// The file, if no packet is in it: it has no name yet.
    pub(super) empty: Option<Draft>,
}

impl Sink {
    pub(super) fn open(options: &CaptureOptions, shared: Arc<Shared>) -> Result<Self, CaptureError> {
        let last = match options.keep {
            Keep::Last { bytes, packets } => {
                Some(Last { packets: VecDeque::new(), bytes: 0, bytes_max: bytes, packets_max: packets })
            }
            Keep::All | Keep::Rotate { .. } => None,
        };
        Ok(Self { files: Files::open(options, shared)?, last, safe: 0, on_the_way: 0 })
    }

    /// Takes a packet.
    pub(super) fn take(&mut self, head: RecordHead, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.last {
            Some(last) => {
                last.bytes += KEPT_BYTES + bytes.len() as u64;
                last.packets.push_back(Kept { head, bytes: bytes.into() });
                while last.bytes > last.bytes_max || last.packets.len() as u64 > last.packets_max {
                    let Some(oldest) = last.packets.pop_front() else { break };
                    last.bytes -= KEPT_BYTES + oldest.bytes.len() as u64;
                    self.files.displaced += 1;
                }
            }
            None => self.files.write(&head, bytes)?,
        }
        self.on_the_way += 1;
        Ok(())
    }

    /// Packets taken that are sure to be where they belong.
    pub(super) fn safe(&self) -> u64 {
        self.safe
    }

    /// Sees to it that what was taken is where it belongs.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        if self.on_the_way > 0 && self.last.is_none() {
            self.files.flush()?;
        }
        self.safe += std::mem::take(&mut self.on_the_way);
        Ok(())
    }

    /// Ends the files. `failure` is what ended the capture early.
    pub(super) fn end(mut self, failure: Option<Failure>) -> Ended {
        let failure = failure.or_else(|| self.finish().err());
        let safe = self.safe + self.files.keep_rest();
        let empty = self.files.empty.take();
        let displaced = self.files.displaced;
        Ended {
            files: self.files.paths(),
            captured: safe,
            displaced,
            error: failure.map(|failure| format!("{}: {}", failure.path.display(), failure.source)),
            empty,
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.settle()?;
        if let Some(last) = &mut self.last {
            let packets = std::mem::take(&mut last.packets);
            // None of them is safe until all are written.
            let count = packets.len() as u64;
            self.safe -= count;
            for kept in &packets {
                self.files.write(&kept.head, &kept.bytes)?;
            }
            self.files.close()?;
            self.safe += count;
            return Ok(());
        }
        self.files.close()
    }
}

/// Error of the disk for a file.
pub(super) struct Failure {
    path: PathBuf,
    source: io::Error,
}

/// A file that packets are written to.
struct Open {
    path: PathBuf,
    writer: PcapngWriter<BufWriter<Draft>>,
    first_at: Option<Nanos>,
    packets: u64,
    /// Bytes that are sure to be on the disk.
    settled: u64,
}

/// One file, or one after the other.
struct Files {
    path: PathBuf,
    rotation: Option<(Every, Option<u32>)>,
    interface: String,
    snap_len: u32,
    filter: Option<String>,
    comment: Option<String>,
    wall_zero: Nanos,
    shared: Arc<Shared>,
    /// Number of the current file, from 1.
    number: u32,
    current: Option<Open>,
    /// Closed files and the packets in them, oldest first.
    closed: VecDeque<(PathBuf, u64)>,
    /// First and last packet of all files.
    span: Option<(Nanos, Nanos)>,
    displaced: u64,
    /// The only file, closed without a packet.
    empty: Option<Draft>,
}

impl Files {
    fn open(options: &CaptureOptions, shared: Arc<Shared>) -> Result<Self, CaptureError> {
        let rotation = match options.keep {
            Keep::Rotate { every, files_max } => Some((every, files_max.map(|n| n.max(1)))),
            Keep::All | Keep::Last { .. } => None,
        };
        let mut files = Self {
            path: options.path.clone(),
            rotation,
            interface: options.interface.clone(),
            snap_len: options.snap_len,
            filter: options.filter.clone(),
            comment: options.comment.clone(),
            wall_zero: options.wall_zero,
            shared,
            number: 0,
            current: None,
            closed: VecDeque::new(),
            span: None,
            displaced: 0,
            empty: None,
        };
        files.next().map_err(|Failure { path, source }| CaptureError::File { path, source })?;
        Ok(files)
    }

    /// Begins the next file, and removes the oldest if there are too many.
    fn next(&mut self) -> Result<(), Failure> {
        self.number += 1;
        let path =
            if self.rotation.is_some() { numbered(&self.path, self.number) } else { self.path.clone() };
        let fail = |source| Failure { path: path.clone(), source };
        // Others' traffic is nobody else's to read.
        let file = Draft::create_with_mode(&path, 0o600).map_err(fail)?;
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, file);
        let application = concat!("eagre ", env!("CARGO_PKG_VERSION"));
        let mut writer = PcapngWriter::new(buffered, application, self.comment.as_deref()).map_err(fail)?;
        let interface = NewInterface {
            name: &self.interface,
            link_type: ETHERNET,
            snap_len: self.snap_len,
            filter: self.filter.as_deref(),
            comment: None,
        };
        writer.add_interface(&interface).map_err(fail)?;
        self.current = Some(Open { path, writer, first_at: None, packets: 0, settled: 0 });
        let files_max = self.rotation.and_then(|(_, files_max)| files_max).unwrap_or(u32::MAX) as usize;
        while self.closed.len() >= files_max {
            let Some((path, packets)) = self.closed.pop_front() else { break };
            self.displaced += packets;
            match fs::remove_file(&path) {
                // Someone else was faster.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Failure { path, source: error });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn write(&mut self, head: &RecordHead, bytes: &[u8]) -> Result<(), Failure> {
        let at = Nanos(head.at.0.wrapping_add(self.wall_zero.0));
        if self.is_full(at, bytes.len()) {
            self.close()?;
            self.next()?;
        }
        let Some(open) = &mut self.current else { return Ok(()) };
        let (direction, original_len) = (Some(head.direction), head.original_len);
        let packet = Packet { at, interface: 0, direction, original_len, bytes };
        open.writer.write(&packet).map_err(|source| Failure { path: open.path.clone(), source })?;
        open.first_at.get_or_insert(at);
        open.packets += 1;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        Ok(())
    }

    /// Whether the next packet goes to another file.
    fn is_full(&self, at: Nanos, bytes: usize) -> bool {
        /// Maximum overhead of a packet: block, padding, and the option with its direction.
        const AROUND: u64 = 32 + 3 + 12;
        let Some(first_at) = self.current.as_ref().and_then(|open| open.first_at) else { return false };
        let written = self.current.as_ref().map_or(0, |open| open.writer.written());
        match self.rotation {
            None => false,
            Some((Every::Bytes(most), _)) => written + AROUND + bytes as u64 > most,
            Some((Every::Time(longest), _)) => at.since(first_at) >= longest,
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let Some(open) = &mut self.current else { return Ok(()) };
        let file = open.writer.get_mut();
        let flushed = file.flush().and_then(|()| file.get_mut().publish());
        flushed.map_err(|source| Failure { path: open.path.clone(), source })?;
        open.settled = open.writer.written();
        Ok(())
    }

    /// Writes what was counted so far after the packets and closes the file.
    fn close(&mut self) -> Result<(), Failure> {
        let counts = self.shared.counts();
        let Some(open) = &mut self.current else { return Ok(()) };
        let (start, end) = self.span.unwrap_or((self.wall_zero, self.wall_zero));
        let statistics = Statistics {
            start,
            end,
            received: counts.seen,
            accepted: counts.matched,
            dropped: counts.dropped,
        };
        let written = open.writer.statistics(0, &statistics).and_then(|()| open.writer.get_mut().flush());
        written.map_err(|source| Failure { path: open.path.clone(), source })?;
        if let Some(open) = self.current.take() {
            let Open { path, writer, packets, .. } = open;
            if packets == 0 && self.closed.is_empty() {
                self.empty = writer.into_inner().into_inner().ok();
            } else {
                commit(writer).map_err(|source| Failure { path: path.clone(), source })?;
            }
            self.closed.push_back((path, packets));
        }
        Ok(())
    }

    /// Keeps the packets of a file that could not be completed; returns how many there are behind those that were settled.
    fn keep_rest(&mut self) -> u64 {
        let Some(open) = self.current.take_if(|open| open.packets > 0) else { return 0 };
        let Open { path, writer, packets, settled, .. } = open;
        // Why it is not complete is known.
        let _ = commit(writer);
        let more = cut_to_blocks(&path, settled).unwrap_or(0);
        self.closed.push_back((path, packets));
        more
    }

    /// The files that are there, oldest first.
    fn paths(self) -> Vec<PathBuf> {
        let current = self.current.map(|open| open.path);
        self.closed.into_iter().map(|(path, _)| path).chain(current).collect()
    }
}

/// Gives a file its name for good.
fn commit(writer: PcapngWriter<BufWriter<Draft>>) -> io::Result<()> {
    let (draft, rest) = writer.into_inner().into_parts();
    let committed = draft.commit();
    // What the disk did not take.
    if rest.is_ok_and(|rest| rest.is_empty()) {
        committed
    } else {
        committed.and(Err(io::ErrorKind::WriteZero.into()))
    }
}

/// Cuts off a block that is not whole at the end of a pcapng file; returns the packets of whole blocks from the byte `settled` on.
/// Of a device nothing is cut.
pub(super) fn cut_to_blocks(path: &Path, settled: u64) -> io::Result<u64> {
    const PACKET: [u8; 4] = 6_u32.to_le_bytes();
    let mut file = File::options().read(true).write(true).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Ok(0);
    }
    let (mut at, mut packets) = (settled, 0);
    let mut head = [0; 8];
    while at + head.len() as u64 <= about.len() {
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut head)?;
        let [kind, len] = [0, 4].map(|begin| [0, 1, 2, 3].map(|byte| head[begin + byte]));
        let len = u64::from(u32::from_le_bytes(len)).max(head.len() as u64);
        if at + len > about.len() {
            break;
        }
        at += len;
        packets += u64::from(kind == PACKET);
    }
    file.set_len(at)?;
    Ok(packets)
}

/// `dir/name_00001.pcapng` for `dir/name.pcapng`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|name| name.to_string_lossy().into_owned());
    let stem = part(path.file_stem()).unwrap_or_else(|| "capture".to_owned());
    let extension = part(path.extension()).unwrap_or_else(|| "pcapng".to_owned());
    path.with_file_name(format!("{stem}_{number:05}.{extension}"))
}
