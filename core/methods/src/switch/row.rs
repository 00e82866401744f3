//! Findings of a switch at one frame length, as values and in sentences.

use crate::climb::nothing_known;
use crate::draft::Limit;
use crate::finding::Finding;
use crate::outcome::LatencySummary;
use crate::result::bounded_by;
use crate::settings::Row;
use crate::testbed::Frames;
use crate::text::{grouped, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::quantity;

/// Highest rate of a pattern of traffic. Rates are of all flows together; a broadcast counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFound {
    /// `full_mesh`, `one_to_many`, `many_to_one`, `halves`, `broadcast`.
    pub traffic: String,
    /// The same in words.
    pub words: String,
    /// The highest load without loss, share of the line rate; absent: none.
    pub share: Option<f64>,
    /// The same, frames/s.
    pub rate_pps: Option<f64>,
    /// The lowest rate at which frames were lost, frames/s.
    pub failed_pps: Option<f64>,
    /// The line rate, frames/s.
    pub line_pps: f64,
    /// Limit of the rate from above.
    pub limit: Limit,
    /// The search ends when its bounds are this share of the line rate apart.
    pub resolution: f64,
    /// Share of frames lost at the line rate.
    pub loss_at_line: Option<f64>,
    /// Most frames that arrived per second, at any load tried.
    pub forwarding_pps: Option<f64>,
    /// Most frames of a trial that came to other ports too.
    pub flooded: u64,
    /// Latency at the highest load without loss. Quantiles are the largest of any flow.
    pub latency_ns: Option<LatencySummary>,
}

/// Longest burst that several ports can send to one at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstFound {
    /// Ports that send to each receiver.
    pub senders: u64,
    /// Ports that receive at once.
    pub receivers: u64,
    /// Frames of a sender in the longest burst without loss; absent: none.
    pub burst_frames: Option<u64>,
    /// Frames of a sender in the shortest burst with loss.
    pub failed_frames: Option<u64>,
    /// Frames that the device held at the end of the longest burst without loss, of all receivers.
    pub held_frames: Option<u64>,
    /// The same in bytes with FCS.
    pub held_bytes: Option<u64>,
    /// Bytes it would have had to hold in the shortest burst with loss.
    pub failed_bytes: Option<u64>,
    /// Limit of the burst from above.
    pub limit: Limit,
    /// Largest latency in the longest burst without loss, ns.
    pub latency_max_ns: Option<f64>,
    /// Frames waited for less than half of the time that the port takes at its line rate to send what it would have held: its speed
    /// is only declared.
    pub beyond_line: bool,
}

impl BurstFound {
    /// `3 senders`, `2 ports at once`.
    fn part(&self) -> String {
        match self.receivers {
            1 => format!("{} senders", self.senders),
            more => format!("{more} ports at once"),
        }
    }
}

/// Frames from one port to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowFound {
    /// `a to c`.
    pub flow: String,
    /// Frames sent.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// Lost ÷ sent.
    pub loss_ratio: f64,
    /// Mean latency, ns.
    pub latency_mean_ns: Option<f64>,
    /// Largest latency, ns.
    pub latency_max_ns: Option<f64>,
}

/// Several ports that send to one, for a whole trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFound {
    /// Ports that send at line rate.
    pub senders: u64,
    /// False: the tester was the limit or disturbed, so nothing is known.
    pub judged: bool,
    /// Share of all frames that were lost.
    pub loss_ratio: Option<f64>,
    /// Jain's index of what was received of each sender; 1: equal.
    pub fairness: Option<f64>,
    /// Frames received per second.
    pub received_pps: Option<f64>,
    /// The port took more than its line rate: its speed is only declared.
    pub beyond_line: bool,
    /// By sender.
    pub flows: Vec<FlowFound>,
}

/// Treatment of frames to an idle port while another port is congested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blocking {
    /// They arrive, and wait no longer than otherwise.
    Absent,
    /// They wait for frames to the congested port, and are lost with them.
    HeadOfLine,
    /// They do not wait, but are lost: frames to the congested port fill a buffer that both use.
    SharedBuffer,
    /// Nothing was lost at the congested port either: the device held all frames back, or the senders (back pressure).
    NoLoss,
}

/// Head-of-line blocking.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CongestionFound {
    /// False: the tester was the limit or disturbed, so nothing is known.
    pub judged: bool,
    /// The port that was to be congested took more than its line rate: its speed is only declared.
    pub beyond_line: bool,
    /// Finding; absent: none.
    pub blocking: Option<Blocking>,
    /// Mean latency of frames to the idle port by themselves, ns.
    pub alone_ns: Option<f64>,
    /// To the idle port, and from both senders to the congested one.
    pub flows: Vec<FlowFound>,
}

impl CongestionFound {
    /// Frames lost ÷ sent at the idle port, and at the congested one.
    fn losses(&self) -> Option<(f64, f64)> {
        let [idle, beside, other] = &self.flows[..] else { return None };
        let sent = (beside.sent + other.sent).max(1) as f64;
        Some((idle.loss_ratio, 1.0 - (beside.received + other.received) as f64 / sent))
    }
}

/// Frames longer than the device is to forward.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OversizeFound {
    /// The frames.
    pub frames: Frames,
    /// Frames sent.
    pub sent: u64,
    /// Frames that arrived; absent: the tester was the limit or disturbed.
    pub received: Option<u64>,
}

/// Findings of a switch at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRow {
    /// The frames.
    pub frames: Frames,
    /// By pattern of traffic, and of broadcasts.
    pub rates: Vec<RateFound>,
    /// By number of senders, and of two senders each to several ports at once.
    pub bursts: Vec<BurstFound>,
    /// By number of senders.
    pub loads: Vec<LoadFound>,
    /// Head-of-line blocking.
    pub congestion: Option<CongestionFound>,
    /// Frames that are too long.
    pub oversize: Option<OversizeFound>,
}

/// Note of a port without a real line rate.
const VIRTUAL: &str =
    "the port took more than its line rate: its speed is only declared, so it was not congested";
const UNJUDGED: &str = "can't be judged: the tester was the limit or disturbed";

impl SwitchRow {
    /// A finding of a part: a pattern, or a number of senders.
    fn at(&self, part: &str, goal: &str, unit: &str) -> Finding {
        let finding = Finding::at(&self.frames, goal, unit);
        let frame = if part.is_empty() { finding.frame } else { format!("{} {part}", finding.frame) };
        Finding { frame, ..finding }
    }

    fn of_rate(&self, found: &RateFound) -> Vec<Finding> {
        let broadcast = found.traffic == "broadcast";
        let (part, goal) =
            if broadcast { ("", "broadcast_rate") } else { (&*found.words, "mesh_throughput") };
        let mut all = vec![Finding {
            value: found.rate_pps,
            lower: found.rate_pps,
            upper: found.failed_pps,
            line: Some(found.line_pps),
            resolution: Some(found.line_pps * found.resolution),
            ..self.at(part, goal, "pps").note(found.limit.note_of(found.rate_pps))
        }];
        if broadcast {
            let mean = found.latency_ns.as_ref().map(|latency| latency.mean);
            all.push(self.at("", "broadcast_latency", "ns").value(mean));
        } else {
            let line = Some(found.line_pps);
            let most = self.at(part, "mesh_forwarding_rate", "pps").value(found.forwarding_pps);
            all.push(Finding { line, ..most });
        }
        all
    }

    fn of_burst(&self, found: &BurstFound) -> Vec<Finding> {
        let number = |value: Option<u64>| value.map(|value| value as f64);
        let bounded = |goal: &str, unit: &str, of: [Option<u64>; 2]| Finding {
            value: number(of[0]),
            lower: number(of[0]),
            upper: number(of[1]),
            ..self.at(&found.part(), goal, unit).note(found.limit.note_of(number(of[0])))
        };
        let frames = |burst: Option<u64>| burst.map(|burst| burst * found.senders * found.receivers);
        let length = self.frames.one_length().map(f64::from);
        let step = length.map(|length| length * (found.receivers * (found.senders - 1)) as f64);
        let buffer = match found.beyond_line {
            true => self.at(&found.part(), "switch_buffer", "bytes").note(Some(VIRTUAL)),
            false => bounded("switch_buffer", "bytes", [found.held_bytes, found.failed_bytes]),
        };
        vec![
            Finding { resolution: step, ..buffer },
            bounded("microburst", "frames", [frames(found.burst_frames), frames(found.failed_frames)]),
        ]
    }

    fn of_load(&self, found: &LoadFound) -> Vec<Finding> {
        let note = match (found.judged, found.beyond_line) {
            (false, _) => Some(UNJUDGED),
            (true, true) => Some(VIRTUAL),
            (true, false) => None,
        };
        let part = match found.senders {
            1 => "1 sender".to_owned(),
            senders => format!("{senders} senders"),
        };
        let at = |goal: &str, unit: &str| self.at(&part, goal, unit).note(note);
        let latency = found.flows.iter().filter_map(|flow| flow.latency_max_ns).reduce(f64::max);
        vec![
            at("incast_loss", "ratio").value(found.loss_ratio),
            at("incast_fairness", "").value(found.fairness),
            at("incast_latency", "ns").value(latency),
        ]
    }

    fn of_congestion(&self, found: &CongestionFound) -> Vec<Finding> {
        let losses = found.losses().filter(|_| found.judged);
        let note = match found.blocking {
            _ if !found.judged => Some(UNJUDGED),
            _ if found.beyond_line => Some(VIRTUAL),
            Some(Blocking::HeadOfLine) => Some("head-of-line blocking"),
            Some(Blocking::SharedBuffer) => Some("no head-of-line blocking: a shared buffer was full"),
            Some(Blocking::NoLoss) => Some("nothing was lost at the congested port either"),
            Some(Blocking::Absent) => None,
            None => Some("the latency without congestion is not known"),
        };
        vec![
            self.at("", "head_of_line_loss", "ratio").value(losses.map(|(idle, _)| idle)).note(note),
            self.at("", "congested_loss", "ratio").value(losses.map(|(_, congested)| congested)),
        ]
    }

    fn of_oversize(found: &OversizeFound) -> Finding {
        let share = found.received.map(|received| received as f64 / found.sent.max(1) as f64);
        let note = found.received.is_none().then_some(UNJUDGED);
        Finding::at(&found.frames, "oversize_forwarded", "ratio").value(share).note(note)
    }

    /// Findings in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let rates = self.rates.iter().map(|found| rate_sentence(&self.frames, found));
        let bursts = self.bursts.iter().filter(|found| found.receivers == 1);
        let bursts = bursts.map(|found| burst_sentence(&self.frames, found));
        let loads = self.loads.iter().map(|found| load_sentence(&self.frames, found));
        let congestion = self.congestion.iter().map(|found| congestion_sentence(&self.frames, found));
        let oversize = self.oversize.iter().map(oversize_sentence);
        rates.chain(bursts).chain(self.sharing()).chain(loads).chain(congestion).chain(oversize).collect()
    }

    /// Whether ports share a buffer: what several hold at once, and what one holds.
    fn sharing(&self) -> Option<String> {
        let all = self.bursts.iter().find(|found| found.receivers > 1)?;
        let one = self.bursts.iter().find(|found| found.receivers == 1 && found.senders == all.senders)?;
        if all.beyond_line || one.beyond_line {
            return None;
        }
        let what = format!("Buffer of {} ports at once at {}", all.receivers, self.frames);
        let (Some(together), Some(alone)) = (all.held_bytes, one.held_bytes) else {
            return Some(format!("{what}: {}.", unknown(all.limit)));
        };
        let known = |found: &BurstFound| found.limit == Limit::Dut;
        let near = |a: u64, b: u64| {
            let step = u64::from(self.frames.one_length().unwrap_or(0)) * 2 * all.receivers;
            a.abs_diff(b) <= step
        };
        let kind = match () {
            () if !known(all) || !known(one) => bounded_by(all.limit, all.failed_bytes.map(grouped)),
            () if near(together, alone) => ", as much as one port alone: they share it".to_owned(),
            () if near(together, alone * all.receivers) => {
                ", as much for each as for one alone: they do not share it".to_owned()
            }
            () => format!("; one alone holds {}: they share a part of it", grouped(alone)),
        };
        Some(format!("{what}: {} bytes{kind}.", grouped(together)))
    }
}

impl Row for SwitchRow {
    fn findings(&self) -> Vec<Finding> {
        let rates = self.rates.iter().flat_map(|found| self.of_rate(found));
        let bursts = self.bursts.iter().flat_map(|found| self.of_burst(found));
        let loads = self.loads.iter().flat_map(|found| self.of_load(found));
        let congestion = self.congestion.iter().flat_map(|found| self.of_congestion(found));
        let oversize = self.oversize.iter().map(Self::of_oversize);
        rates.chain(bursts).chain(loads).chain(congestion).chain(oversize).collect()
    }

    fn limits(&self) -> Vec<Limit> {
        let rates = self.rates.iter().map(|found| found.limit);
        rates.chain(self.bursts.iter().map(|found| found.limit)).collect()
    }

    fn is_unjudged(&self) -> bool {
        self.limits().contains(&Limit::Disturbed)
            || self.loads.iter().any(|found| !found.judged)
            || self.congestion.as_ref().is_some_and(|found| !found.judged)
            || self.oversize.as_ref().is_some_and(|found| found.received.is_none())
    }
}

/// Why there is no value.
fn unknown(limit: Limit) -> String {
    match limit {
        Limit::Open => "not yet known".into(),
        limit if limit.is_testers() => nothing_known(limit).into(),
        _ => "none".into(),
    }
}

fn rate_sentence(frames: &Frames, found: &RateFound) -> String {
    let name = match found.traffic.as_str() {
        "broadcast" => "Broadcast rate".to_owned(),
        _ => format!("Throughput, {}", found.words),
    };
    let (Some(rate), Some(share)) = (found.rate_pps, found.share) else {
        let why = match found.limit {
            Limit::Impossible => "none; the smallest load lost frames".to_owned(),
            limit => unknown(limit),
        };
        return format!("{name} at {frames}: {why}.");
    };
    let failed = found.failed_pps.map(|pps| percent(pps / found.line_pps.max(1e-9)));
    let bound = match (&failed, found.limit) {
        (Some(at), Limit::Dut) => format!("; at {at} frames were lost"),
        (_, Limit::Maximum) => String::new(),
        _ => bounded_by(found.limit, failed),
    };
    let loss = match found.loss_at_line {
        Some(loss) if loss > 0.0 => format!("; {} lost at the line rate", percent(loss)),
        _ => String::new(),
    };
    let flooded = match found.flooded {
        0 => String::new(),
        frames => format!("; {} frames came to other ports too", grouped(frames)),
    };
    let latency = found.latency_ns.as_ref().map_or_else(String::new, |latency| {
        format!(
            "; latency {} on average, {} at most",
            quantity(latency.mean, "ns"),
            quantity(latency.max, "ns")
        )
    });
    format!(
        "{name} at {frames}: {} frames/s, {} of the line rate{bound}{loss}{latency}{flooded}.",
        grouped(rate as u64),
        percent(share)
    )
}

fn burst_sentence(frames: &Frames, found: &BurstFound) -> String {
    let what = format!("Bursts of {} senders to one port at {frames}", found.senders);
    let (Some(burst), Some(held), Some(bytes)) = (found.burst_frames, found.held_frames, found.held_bytes)
    else {
        let why = match found.limit {
            Limit::Impossible => "none without loss, not even of one frame each".to_owned(),
            limit => unknown(limit),
        };
        return format!("{what}: {why}.");
    };
    let buffer = match (found.limit, found.failed_bytes) {
        _ if found.beyond_line => format!("nothing is known of a buffer, {VIRTUAL}"),
        (Limit::Dut, Some(failed)) => {
            format!(
                "a buffer of {} to {} bytes ({} frames)",
                grouped(bytes),
                grouped(failed - 1),
                grouped(held)
            )
        }
        (limit, failed) => {
            let bound = bounded_by(limit, failed.map(grouped));
            format!("a buffer of at least {} bytes{bound}", grouped(bytes))
        }
    };
    let latency = found
        .latency_max_ns
        .map_or_else(String::new, |ns| format!("; latency {} at most", quantity(ns, "ns")));
    format!("{what}: up to {} frames each without loss: {buffer}{latency}.", grouped(burst))
}

fn load_sentence(frames: &Frames, found: &LoadFound) -> String {
    let what = match found.senders {
        1 => format!("One sender to one port at {frames}, at line rate"),
        senders => format!("Incast of {senders} senders at {frames}, each at line rate"),
    };
    if !found.judged {
        return format!("{what}: {UNJUDGED}.");
    }
    let losses = found.flows.iter().map(|flow| flow.loss_ratio);
    let (least, most) = (losses.clone().fold(1.0, f64::min), losses.fold(0.0, f64::max));
    let each = if least == most {
        String::new()
    } else {
        format!(" (from {} to {})", percent(least), percent(most))
    };
    let fairness = match found.fairness {
        Some(fairness) if found.senders > 1 => format!("; fairness {fairness:.3}"),
        _ => String::new(),
    };
    let latency = found.flows.iter().filter_map(|flow| flow.latency_max_ns).reduce(f64::max);
    let latency = latency.map_or_else(String::new, |ns| format!("; latency {} at most", quantity(ns, "ns")));
    let beyond = if found.beyond_line { format!("; {VIRTUAL}") } else { String::new() };
    format!("{what}: {} lost{each}{fairness}{latency}{beyond}.", percent(found.loss_ratio.unwrap_or(0.0)))
}

fn congestion_sentence(frames: &Frames, found: &CongestionFound) -> String {
    let what = format!("Head-of-line blocking at {frames}");
    let (Some((idle, congested)), [flow, _, _]) = (found.losses().filter(|_| found.judged), &found.flows[..])
    else {
        return format!("{what}: {UNJUDGED}.");
    };
    let lost = format!("{} lost {}, the congested port {}", flow.flow, percent(idle), percent(congested));
    let latency = match (found.alone_ns, flow.latency_mean_ns) {
        (Some(alone), Some(now)) => {
            format!("; its latency is {}, {} without congestion", quantity(now, "ns"), quantity(alone, "ns"))
        }
        _ => String::new(),
    };
    let verdict = match found.blocking {
        _ if found.beyond_line => return format!("{what}: not tested; {VIRTUAL}."),
        Some(Blocking::Absent) => "none",
        Some(Blocking::HeadOfLine) => "yes, frames to the idle port wait for those to the congested one",
        Some(Blocking::SharedBuffer) => {
            "none, but frames to the idle port are lost because those to the congested one fill a shared buffer"
        }
        Some(Blocking::NoLoss) => {
            "not known, the congested port lost nothing: the device held all frames, or held back the senders (back pressure)"
        }
        None => "can't be judged, because the latency without congestion is not known",
    };
    format!("{what}: {verdict}; {lost}{latency}.")
}

fn oversize_sentence(found: &OversizeFound) -> String {
    let what = format!("Frames of {}, longer than allowed", found.frames);
    match found.received {
        None => format!("{what}: {UNJUDGED}."),
        Some(0) => format!("{what}: none of {} was forwarded, as it should be.", grouped(found.sent)),
        Some(received) => format!("{what}: {} of {} were forwarded.", grouped(received), grouped(found.sent)),
    }
}
