//! One run of the engine in which both ends see every packet: what was sent from where, and as what it arrived.
//!
//! Both ports are captured, and packets found again by their signature. So endpoints are those that really left or
//! arrived. Packets that a capture had no room for make the outcome invalid.

use crate::outcome::of_any;
use crate::{CampaignError, Tester};
use engine::{Commands, TrialObserver};
use methods::TrialOutcome;
use nat::{Datagram, Quoted};
use os::claim::Marker;
use profile::Plan;
use profile::plan::{CapturePlan, CaptureStorage};
use result::ResultDocument;
use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use units::count;
use wire::signature::{self, Mark};

/// Bytes between a worker and the disk: a quarter of a second of a million packets.
const BUFFER_BYTES: u64 = 64 << 20;
/// Longest frame that is kept whole.
const SNAP_BYTES: u32 = 16_384;
const PREFIX: &str = "eagre-nat-";

/// A packet that was sent, and what became of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    /// Its endpoints as it was sent.
    pub(super) sent: Datagram,
    /// When, ns since 1970-01-01 UTC.
    pub(super) sent_ns: u64,
    /// As what it arrived, if it did.
    pub(super) arrived: Option<Arrived>,
}

/// A packet where it arrived first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    /// The port.
    pub(super) port: usize,
    /// Its endpoints.
    pub(super) datagram: Datagram,
    /// Source MAC address of its frame.
    pub(super) mac: [u8; 6],
    /// When, ns since 1970-01-01 UTC.
    pub(super) at_ns: u64,
}

/// Outcome of a run.
pub(super) struct Exchange {
    pub(super) document: ResultDocument,
    pub(super) outcome: TrialOutcome,
    /// Packets in the order in which they were sent.
    pub(super) crossings: Vec<Crossing>,
    /// ICMP errors, by the port that sent or received them.
    pub(super) errors: Vec<(usize, Quoted)>,
}

/// A folder for captures, which goes with it.
pub(super) struct Folder {
    path: PathBuf,
    _marker: Marker,
}

impl Folder {
    pub(super) fn new() -> Result<Self, CampaignError> {
        os::claim::remove_abandoned_folders(&std::env::temp_dir(), |name| name.starts_with(PREFIX));
        let path = std::env::temp_dir().join(format!("{PREFIX}{:016x}", os::entropy::bits()));
        let refused = |error: std::io::Error| CampaignError::Captured(format!("{}: {error}", path.display()));
        std::fs::create_dir(&path).map_err(refused)?;
        let marker = Marker::folder(&path).map_err(refused)?;
        Ok(Self { path, _marker: marker })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is removed by a later one.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Runs `plan` with both ports captured.
pub(super) fn exchange(
    mut plan: Plan,
    folder: &Folder,
    tester: &mut dyn Tester,
    commands: &mut Commands,
    observer: &mut dyn TrialObserver,
) -> Result<Exchange, CampaignError> {
    let mark = Mark::of_run(plan.seed);
    let from: Vec<usize> = plan.streams.iter().map(|stream| stream.from).collect();
    let files: Vec<PathBuf> =
        (0..plan.ports.len()).map(|port| folder.path.join(format!("{port}.pcapng"))).collect();
    for (port, file) in plan.ports.iter_mut().zip(&files) {
        // Of an earlier run: a capture without a packet leaves what is there.
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CampaignError::Captured(format!("{}: {error}", file.display())));
            }
            _ => {}
        }
        port.capture = Some(CapturePlan {
            file: file.to_string_lossy().into_owned(),
            filter: String::new(),
            snap_bytes: SNAP_BYTES,
            rx: true,
            tx: true,
            storage: CaptureStorage::File,
            buffer_bytes: BUFFER_BYTES,
        });
    }
    let document = tester.run(plan, commands, observer)?;
    let (crossings, errors) = read(&files, &mark, &from)?;
    let mut outcome = of_any(&document);
    let dropped: u64 = document.captures.values().map(|capture| capture.dropped).sum();
    let failed = document.captures.values().find_map(|capture| capture.error.clone());
    if dropped > 0 || failed.is_some() {
        // They may have arrived.
        (outcome.valid, outcome.only_worse) = (false, outcome.valid || outcome.only_worse);
        let why = failed.map_or(String::new(), |error| format!(": {error}"));
        outcome.reasons.push(format!("{} packets were not recorded{why}", count(dropped)));
    }
    Ok(Exchange { document, outcome, crossings, errors })
}

type Found = (Vec<Crossing>, Vec<(usize, Quoted)>);

/// The packets of captures of both ports; `from`: the port that sends each stream.
fn read(files: &[PathBuf], mark: &Mark, from: &[usize]) -> Result<Found, CampaignError> {
    let mut crossings: Vec<Crossing> = Vec::new();
    // Stream, lane and number.
    let mut of: HashMap<(u32, u8, u32), usize> = HashMap::new();
    let mut arrived = Vec::new();
    let mut errors = Vec::new();
    for (port, file) in files.iter().enumerate() {
        for (at_ns, bytes) in frames(file)? {
            let Some(datagram) = Datagram::of_frame(&bytes) else {
                errors.extend(nat::quoted(&bytes).map(|quoted| (port, quoted)));
                continue;
            };
            let end = nat::end_of_packet(&bytes).unwrap_or(bytes.len());
            let Ok(found) = signature::read_at_end(&bytes[..end], mark) else { continue };
            let key = (found.stream, found.lane, found.sequence);
            // What a port has sent comes back to it later, if at all.
            if from.get(found.stream as usize) == Some(&port) && !of.contains_key(&key) {
                of.insert(key, crossings.len());
                crossings.push(Crossing { sent: datagram, sent_ns: at_ns, arrived: None });
            } else if let Some(mac) = bytes.get(6..12).and_then(|mac| mac.try_into().ok()) {
                arrived.push((key, Arrived { port, datagram, mac, at_ns }));
            }
        }
    }
    for (key, arrival) in arrived {
        if let Some(crossing) = of.get(&key).and_then(|place| crossings.get_mut(*place)) {
            crossing.arrived.get_or_insert(arrival);
        }
    }
    crossings.sort_by_key(|crossing| crossing.sent_ns);
    Ok((crossings, errors))
}

/// The frames of a file, in the order of time: when, and the bytes; none if there is no file.
fn frames(file: &Path) -> Result<Vec<(u64, Vec<u8>)>, CampaignError> {
    let bad = |error: &dyn std::fmt::Display| CampaignError::Captured(format!("{}: {error}", file.display()));
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(bad(&error)),
    };
    let capture = pcap::read(BufReader::new(opened)).map_err(|error| bad(&error))?;
    let mut frames: Vec<_> = capture.records.into_iter().map(|record| (record.at.0, record.bytes)).collect();
    frames.sort_by_key(|frame| frame.0);
    Ok(frames)
}
