//! A stream, checked and completed: its bytes, its rate, its program.

use crate::document::{Mode, Named, RateKind};
use crate::program::{Program, program};
use crate::yaml::Node;
use crate::{base64, named};

/// Shortest frame without FCS.
pub(crate) const FRAME_MIN: usize = 60;
/// Longest frame without FCS.
pub(crate) const FRAME_MAX: usize = 9_280;
/// IPv4 identification, or IPv6 flow label, of the first group that is counted.
pub(crate) const MARK: u32 = 0xff00;
/// The same of streams whose latency is measured.
pub(crate) const MARK_LATENCY: u32 = 0xffff;

/// A stream of a port.
pub(crate) struct Sender {
    pub(crate) index: usize,
    /// Name in the profile.
    pub(crate) name: String,
    pub(crate) frame: Vec<u8>,
    pub(crate) keeps_source: bool,
    pub(crate) keeps_destination: bool,
    pub(crate) mode: Mode,
    pub(crate) program: Program,
    /// Variable fields, as fields of named headers, if the frame and its program are that simple.
    pub(crate) fields: Option<Vec<(String, Node)>>,
    pub(crate) isg_us: f64,
    pub(crate) self_start: bool,
    pub(crate) next: Option<usize>,
    pub(crate) ends: u64,
    pub(crate) seed: u64,
    speed_bps: Option<f64>,
    /// Whether multipliers leave its rate alone.
    pub(crate) is_fixed: bool,
    /// Group that is counted, and whether with latency.
    pub(crate) group: Option<(u64, bool)>,
    /// Whether it is a tagged packet group.
    pub(crate) is_tagged: bool,
    /// Packets per second in the profile.
    pps: f64,
}

impl Sender {
    /// Mean length without FCS.
    pub(crate) fn length(&self) -> f64 {
        self.program.size.as_ref().map_or(self.frame.len() as f64, |(_, mean)| *mean)
    }

    /// Packets per second with a multiplier.
    pub(crate) fn pps_at(&self, factor: f64) -> f64 {
        if self.is_fixed { self.pps } else { self.pps * factor }
    }

    /// Packets per second without one.
    pub(crate) fn pps(&self) -> f64 {
        self.pps
    }

    /// Reads a stream.
    ///
    /// # Errors
    /// All reasons why the profile language does not support it.
    pub(crate) fn read(
        named: &Named,
        index: usize,
        name: String,
        next: Option<usize>,
        speed_bps: Option<f64>,
    ) -> Result<Self, Vec<String>> {
        let stream = &named.stream;
        let mut errors = Vec::new();
        let mut frame = base64::decode(&stream.packet.binary).unwrap_or_default();
        if frame.len() < 14 {
            errors.push("packet.binary: not an Ethernet frame in base64".to_owned());
            frame.resize(14, 0);
        }
        if frame.len() > FRAME_MAX {
            errors.push(format!("packet.binary: {} bytes; the longest frame has {FRAME_MAX}", frame.len()));
        }
        if frame.len() < FRAME_MIN {
            frame.resize(FRAME_MIN, 0);
        }
        if stream.dummy_stream {
            errors.push("a dummy stream within a chain: give its time to the next stream's 'isg'".to_owned());
        }
        if stream.start_paused {
            errors.push("start_paused is not supported: leave the stream out, or pause the run".to_owned());
        }
        if stream.isg < 0.0 || !stream.isg.is_finite() {
            errors.push(format!("isg: {} is not a time", stream.isg));
        }
        let stats = &stream.flow_stats;
        let kind = stats.rule_type.as_deref().filter(|_| stats.enabled);
        let is_tagged = kind == Some("tpg");
        let group = stats.enabled.then_some((stats.stream_id, stats.is_latency() || is_tagged));
        match kind {
            Some("stats" | "latency" | "tpg") | None => {}
            Some(other) => errors.push(format!("flow_stats: unknown kind '{other}'")),
        }
        if stats.enabled && (stats.vxlan || stats.ieee_1588) {
            errors.push("flow statistics within VXLAN and by IEEE 1588 are not supported".to_owned());
        }
        let program = program(&stream.vm, &frame).unwrap_or_else(|found| {
            errors.extend(found);
            Program::default()
        });
        let rate = stream.mode.rate();
        if rate.value <= 0.0 || !rate.value.is_finite() {
            errors.push(format!("rate: {} is not a rate", rate.value));
        }
        let length = program.size.as_ref().map_or(frame.len() as f64, |(_, mean)| *mean);
        let pps = rate.pps(length, speed_bps).unwrap_or_else(|| {
            let needs_number = matches!(stream.mode, Mode::MultiBurst { .. });
            if needs_number {
                errors.push(
                    "bursts at a share of the link: give the link's speed with --speed 10Gbps".to_owned(),
                );
            }
            // Only compared with other streams of the port.
            rate.value
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        let is_whole = program.size.is_none() && program.repeats.is_none();
        let fields = is_whole.then(|| named::fields(&stream.vm, &frame)).flatten();
        Ok(Self {
            index,
            name,
            frame,
            keeps_source: stream.flags & 1 == 1,
            keeps_destination: stream.flags >> 1 & 3 == 1,
            mode: stream.mode.clone(),
            fields,
            program,
            isg_us: stream.isg,
            self_start: stream.self_start,
            next,
            ends: stream.action_count,
            seed: stream.random_seed,
            speed_bps,
            is_fixed: stats.is_latency(),
            group,
            is_tagged,
            pps,
        })
    }

    /// The rate in the form of a profile.
    pub(crate) fn rate(&self, factor: f64) -> String {
        let rate = self.mode.rate();
        let value = rate.value * if self.is_fixed { 1.0 } else { factor };
        match rate.kind {
            RateKind::Pps => format!("{}pps", micros(value)),
            RateKind::BpsL2 => format!("{}bps", value.round().max(1.0)),
            RateKind::BpsL1 => format!("{}bps-L1", value.round().max(1.0)),
            // A share has fewer decimals than a rate.
            RateKind::Percentage => match self.speed_bps {
                Some(speed) => format!("{}bps-L1", (value / 100.0 * speed).round().max(1.0)),
                None => format!("{}%", value_of_share(value)),
            },
        }
    }
}

/// A share of a link, in percent, with the decimals that profiles have.
fn value_of_share(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number with at most six decimals, without needless zeros.
pub(crate) fn micros(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Puts the mark by which TRex counts a group into a frame: IPv4 identification or IPv6 flow label, and a bit of the service byte.
pub(crate) fn mark(frame: &mut [u8], mark: u32) {
    let mut at = 14;
    let mut kind = u16::from_be_bytes([frame[12], frame[13]]);
    while matches!(kind, 0x8100 | 0x88a8 | 0x9100) && frame.len() > at + 4 {
        kind = u16::from_be_bytes([frame[at + 2], frame[at + 3]]);
        at += 4;
    }
    if kind == 0x0800 && frame.len() >= at + 20 {
        frame[at + 1] |= 1;
        frame[at + 4..at + 6].copy_from_slice(&(mark as u16).to_be_bytes());
        frame[at + 10..at + 12].fill(0);
        let end = at + usize::from(frame[at] & 15) * 4;
        let sum = header_sum(&frame[at..end.min(frame.len())]);
        frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    } else if kind == 0x86dd && frame.len() >= at + 40 {
        frame[at + 1] = frame[at + 1] & 0xf0 | 0x10 | (mark >> 16) as u8 & 0x0f;
        frame[at + 2..at + 4].copy_from_slice(&(mark as u16).to_be_bytes());
    }
}

/// The Internet checksum of a header (RFC 1071).
pub(crate) fn header_sum(header: &[u8]) -> u16 {
    let mut sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from))
        .sum();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
