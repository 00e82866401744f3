//! Which ports of a switch send to which, when, and how much.
//!
//! Ports are numbered by their place in the profile, from 0.
//!
//! Invariant: in a pattern no port is to receive more than its line rate.

use crate::text::{AsNanos, AsPps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Frames from one port of a switch to another, or to all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowLoad {
    /// The port that sends.
    pub from: u16,
    /// The port that receives; absent: all others, by broadcast.
    pub to: Option<u16>,
    /// Frames per second.
    #[serde(rename = "rate_pps", with = "AsPps")]
    pub rate: Pps,
    /// Number of frames; absent: for the trial's duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<u64>,
    /// When the first frame is due, after the start of traffic.
    #[serde(rename = "start_ns", with = "AsNanos")]
    pub start: Nanos,
}

impl FlowLoad {
    /// Frames that are due in a trial of this length.
    pub fn due(&self, duration: Nanos) -> u64 {
        self.frames.unwrap_or_else(|| self.rate.packets_in(duration))
    }

    /// `0 to 2`, or `0 to all`.
    pub(crate) fn name(&self) -> String {
        self.to.map_or_else(|| format!("{} to all", self.from), |to| format!("{} to {to}", self.from))
    }
}

/// A pattern of traffic between ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Each port sends to all others in turn (RFC 2889 section 5.1).
    FullMesh,
    /// The first port sends to all others in turn (section 5.2).
    OneToMany,
    /// All others send to the first port (section 5.2).
    ManyToOne,
    /// Each port of the first half sends to each of the second, and back. With a half on each of two switches it tests the link
    /// between them (sections 5.3, 5.4).
    Halves,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FullMesh, Self::OneToMany, Self::ManyToOne, Self::Halves];

    /// As documents write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FullMesh => "full_mesh",
            Self::OneToMany => "one_to_many",
            Self::ManyToOne => "many_to_one",
            Self::Halves => "halves",
        }
    }

    /// As sentences have it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::FullMesh => "full mesh",
            Self::OneToMany => "one port to all others",
            Self::ManyToOne => "all other ports to one",
            Self::Halves => "between halves",
        }
    }

    /// Each pair of ports and its turn: ports do not send to the same port at one time.
    fn pairs(self, ports: u16) -> Vec<(u16, u16, u16)> {
        let others = 1..ports;
        match self {
            Self::FullMesh => (0..ports)
                .flat_map(|from| others.clone().map(move |step| (from, (from + step) % ports, step - 1)))
                .collect(),
            Self::OneToMany => others.map(|to| (0, to, to - 1)).collect(),
            Self::ManyToOne => others.map(|from| (from, 0, from - 1)).collect(),
            Self::Halves => {
                let (first, most) = (ports / 2, ports - ports / 2);
                let pair = move |from: u16, to: u16| {
                    let turn = (from + to - first) % most;
                    [(from, to, turn), (to, from, turn)]
                };
                (0..first).flat_map(|from| (first..ports).flat_map(move |to| pair(from, to))).collect()
            }
        }
    }

    /// Pairs that share the line of a port, at most.
    fn sharing(self, ports: u16) -> u64 {
        u64::from(if self == Self::Halves { ports - ports / 2 } else { ports - 1 }).max(1)
    }

    /// The flows that offer `rate` to the busiest line.
    pub(crate) fn flows(self, ports: u16, rate: Pps) -> Vec<FlowLoad> {
        let each = Pps::from_micro(rate.micro() / self.sharing(ports));
        let flow = |(from, to, turn)| FlowLoad {
            from,
            to: Some(to),
            rate: each,
            frames: None,
            start: time_of(u64::from(turn), rate),
        };
        self.pairs(ports).into_iter().map(flow).collect()
    }
}

/// Ports that send to one: `senders` and the receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Incast {
    pub(crate) senders: Vec<u16>,
    pub(crate) receiver: u16,
}

impl Incast {
    /// The first ports to the one that follows them.
    pub(crate) fn of(senders: u16) -> Self {
        Self { senders: (0..senders).collect(), receiver: senders }
    }

    /// Two senders each to as many ports as can be kept busy at once.
    pub(crate) fn pairs(ports: u16) -> Vec<Self> {
        let of = |pair: u16| Self { senders: vec![2 * pair, 2 * pair + 1], receiver: (2 * pair + 2) % ports };
        (0..ports / 2).map(of).collect()
    }

    /// Each sends at `rate`: as many frames, or for the trial's duration.
    pub(crate) fn flows(&self, rate: Pps, frames: Option<u64>) -> Vec<FlowLoad> {
        let flow =
            |from: &u16| FlowLoad { from: *from, to: Some(self.receiver), rate, frames, start: Nanos::ZERO };
        self.senders.iter().map(flow).collect()
    }
}

/// Frames inside a device when the last frames of bursts arrive that `senders` ports send to one port at its line rate: all but
/// those that have left. The first leaves while the second ones arrive.
pub(crate) fn held(senders: u64, burst: u64) -> u64 {
    senders * burst - burst.saturating_sub(1)
}

/// Load of head-of-line blocking (RFC 2889 section 5.5, RFC 8239 section 5): the first port sends half of its line to the third and
/// half to the fourth in turn, the second all of its line to the fourth.
pub(crate) fn congestion(line: Pps) -> Vec<FlowLoad> {
    let half = Pps::from_micro(line.micro() / 2);
    let flow = |from, to, rate, turn| FlowLoad {
        from,
        to: Some(to),
        rate,
        frames: None,
        start: time_of(turn, line),
    };
    vec![flow(0, 2, half, 0), flow(0, 3, half, 1), flow(1, 3, line, 0)]
}

/// The first port to all others at once (RFC 2889 section 5.10).
pub(crate) fn broadcast(rate: Pps) -> Vec<FlowLoad> {
    vec![FlowLoad { from: 0, to: None, rate, frames: None, start: Nanos::ZERO }]
}

/// Time of `n` frames at a rate.
pub(crate) fn time_of(n: u64, rate: Pps) -> Nanos {
    let ns = u128::from(n) * 1_000_000_000_000_000 / u128::from(rate.micro().max(1));
    Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        /// No port sends or receives more than its line, and one is full.
        #[test]
        fn patterns_fill_lines_and_no_more(ports in 3u16..24, which in 0usize..4, rate in 1_000u64..2_000_000) {
            let pattern = Pattern::ALL[which];
            let rate = Pps::new(rate);
            let flows = pattern.flows(ports, rate);
            let (mut out, mut into) = (BTreeMap::new(), BTreeMap::new());
            let mut pairs = BTreeSet::new();
            for flow in &flows {
                let to = flow.to.unwrap();
                prop_assert!(flow.from != to && flow.from < ports && to < ports);
                prop_assert!(pairs.insert((flow.from, to)));
                *out.entry(flow.from).or_insert(0) += flow.rate.micro();
                *into.entry(to).or_insert(0) += flow.rate.micro();
            }
            let most = out.values().chain(into.values()).copied().max().unwrap();
            prop_assert!(most <= rate.micro() && rate.micro() - most < 64, "{} {}", most, rate.micro());
        }

        /// Frames that are due at one time go to different ports.
        #[test]
        fn ports_take_turns(ports in 3u16..24) {
            let flows = Pattern::FullMesh.flows(ports, Pps::new(1_000));
            let due: BTreeSet<(Nanos, u16)> = flows.iter().map(|flow| (flow.start, flow.to.unwrap())).collect();
            prop_assert_eq!(due.len(), flows.len());
        }
    }

    #[test]
    fn pairs_of_senders_congest_different_ports() {
        let pairs = Incast::pairs(4);
        assert_eq!(
            pairs,
            [Incast { senders: vec![0, 1], receiver: 2 }, Incast { senders: vec![2, 3], receiver: 0 }]
        );
        assert_eq!(Incast::pairs(5).len(), 2);
        assert_eq!((held(2, 1), held(2, 344), held(3, 10)), (2, 345, 21));
    }
}
