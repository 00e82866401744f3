//! Streams: names, ports, size, rate; and one plan for each copy.

use super::Resolver;
use super::packet::{Draft, Route};
use crate::document::{PatternDoc, StreamDoc};
use crate::plan::{NextHop, Pattern, StreamPlan};
use std::collections::HashMap;
use units::{FrameLen, Load, Pps};
use wire::signature;

/// The port a stream names.
#[derive(Clone, Copy)]
enum PortName {
    /// Index in the plan; nothing is wrong with the port.
    Sound(usize),
    /// Index in the plan; something about the port is wrong and was said.
    Broken(usize),
    /// The plan has no such port; that was said.
    Missing,
}

impl PortName {
    fn index(self) -> usize {
        match self {
            Self::Sound(index) | Self::Broken(index) => index,
            Self::Missing => 0,
        }
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn streams(&mut self) -> Vec<StreamPlan> {
        let document = self.document;
        let total: u64 = document.streams.iter().map(|stream| u64::from(stream.copies.unwrap_or(1))).sum();
        if total > signature::STREAMS_MAX as u64 {
            let most = signature::STREAMS_MAX;
            self.reading.fail("streams", format!("{total} streams, copies included; the most is {most}"));
        }
        let mut names: HashMap<&str, String> = HashMap::new();
        let mut plans = Vec::new();
        for (path, stream) in self.kept_streams() {
            let name = stream.name.0.as_str();
            if let Some(other) = names.get(name) {
                self.reading
                    .fail(format!("{path}.name"), format!("the name '{name}' is already that of {other}"));
            } else {
                names.insert(name, path.clone());
            }
            let plan = self.stream(&path, stream);
            if self.reading.errors.is_empty() {
                add_copies(&mut plans, plan, stream.copies);
            }
        }
        plans
    }

    /// The streams that could be read, each with its path.
    fn kept_streams(&self) -> Vec<(String, &'a StreamDoc)> {
        let paths =
            (0..).map(|index| format!("streams[{index}]")).filter(|path| !self.reading.is_dropped(path));
        paths.zip(&self.document.streams).collect()
    }

    fn stream(&mut self, path: &str, stream: &StreamDoc) -> StreamPlan {
        let from = self.port_name(&format!("{path}.from"), &stream.from);
        let to = stream.to.as_ref().map(|to| self.port_name(&format!("{path}.to"), to));
        let rate = self.rate(path, stream);
        self.within_a_year(&format!("{path}.start_delay"), stream.start_delay.0);
        let mut draft = Draft::default();
        let (mut next_hop, mut size) = (NextHop::Given, FrameLen::MIN);
        if !self.reading.is_broken(&format!("{path}.packet")) {
            draft = self.draft(&format!("{path}.packet"), &stream.packet, from.index());
            if let Some(route) = route(from, to) {
                next_hop = self.address(&format!("{path}.packet"), &mut draft, route);
            }
            size = self.size(path, stream, &draft);
        }
        StreamPlan {
            name: stream.name.0.clone(),
            from: from.index(),
            to: to.map(PortName::index),
            next_hop,
            fill_source_mac: draft
                .spec
                .headers
                .first()
                .is_some_and(|ethernet| ethernet.value("src").is_none()),
            packet: draft.spec,
            size,
            rate,
            pattern: match stream.pattern {
                PatternDoc::Continuous => Pattern::Continuous,
                PatternDoc::Bursts(packets) => Pattern::Bursts { packets },
            },
            count: stream.count,
            start_delay: stream.start_delay.0,
            measure: stream.measure,
        }
    }

    fn port_name(&mut self, path: &str, name: &str) -> PortName {
        if let Some(index) = self.ports.iter().position(|port| port.name == name) {
            let broken = self.reading.is_broken(&format!("ports.{name}"));
            return if broken { PortName::Broken(index) } else { PortName::Sound(index) };
        }
        if !self.reading.is_dropped(&format!("ports.{name}")) {
            let known: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            self.reading.fail(path, crate::error::unknown("port", name, &known));
        }
        PortName::Missing
    }

    fn rate(&mut self, path: &str, stream: &StreamDoc) -> Load {
        let rate = self.overrides.rate.or(stream.rate.as_ref().map(|rate| rate.0));
        let path = format!("{path}.rate");
        if self.reading.is_broken(&path) {
            return Load::Max;
        }
        match rate {
            None => self
                .reading
                .fail(path, "no rate: give one such as 1Mpps, 2.5Gbps, 40% or max, here or by --rate"),
            Some(rate) if is_zero(rate) => self.reading.fail(path, format!("a rate of {rate} sends nothing")),
            Some(_) => {}
        }
        rate.unwrap_or(Load::Max)
    }

    /// The frame length, once the packet is known to fit it.
    fn size(&mut self, path: &str, stream: &StreamDoc, draft: &Draft) -> FrameLen {
        let signature = if stream.measure { signature::LEN } else { 0 };
        let (bare, whole) = (draft.spec.shortest(0), draft.spec.shortest(signature));
        if self.reading.is_broken(&format!("{path}.size")) {
            return whole;
        }
        let size = stream.size.as_ref().map_or(whole, |size| size.0);
        let size_path = format!("{path}.size");
        if whole > FrameLen::MAX {
            let reason = format!("the packet takes {whole} with FCS; the longest frame is {}", FrameLen::MAX);
            self.reading.fail(format!("{path}.packet"), reason);
            return size;
        }
        if size < bare {
            let reason = format!(
                "headers and payload take {bare} with FCS, more than {size}; the smallest size here is {whole}"
            );
            self.reading.fail(size_path, reason);
        } else if size < whole {
            let reason = format!(
                "{size} has no room for the {signature} bytes of the test signature; \
                 the smallest size here is {whole}, or set measure: false"
            );
            self.reading.fail(size_path, reason);
        }
        self.check_order(&format!("{path}.packet"), draft, size.max(whole));
        size
    }
}

fn route(from: PortName, to: Option<PortName>) -> Option<Route> {
    let sound = |port| match port {
        PortName::Sound(index) => Some(index),
        _ => None,
    };
    let to = match to {
        Some(to) => Some(sound(to)?),
        None => None,
    };
    Some(Route { from: sound(from)?, to })
}

fn is_zero(load: Load) -> bool {
    match load {
        Load::Packets(pps) => pps == Pps::ZERO,
        Load::Bits(rate) => rate.bps == 0,
        Load::LinkShare(ppm) => ppm == 0,
        Load::Max => false,
    }
}

/// Name of the copy `index` of the stream `name`.
pub(super) fn copy_name(name: &str, index: u32) -> String {
    format!("{name}[{index}]")
}

fn add_copies(plans: &mut Vec<StreamPlan>, plan: StreamPlan, copies: Option<u32>) {
    match copies {
        None => plans.push(plan),
        Some(copies) => {
            plans.extend((0..copies).map(|i| StreamPlan { name: copy_name(&plan.name, i), ..plan.clone() }));
        }
    }
}
