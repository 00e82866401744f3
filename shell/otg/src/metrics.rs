//! Metrics of ports, flows, their convergence and protocols, from a run's result, its intervals, and the states of its protocols.
//!
//! Values that were not measured are absent. Rates have at most four decimals: some clients read `1e-05` as a string.

mod convergence;

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::protocols::{self, either};
use crate::translate::{EgressTag, FlowPlan, PortPlan, StreamPlan, Translation};
use result::{
    EgressResult, IntervalDocument, LatencyResult, PortResult, ProtocolStates, StreamResult, TotalDocument,
};
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeMap;
use units::L1_OVERHEAD_BYTES;

pub use convergence::{ControlEvent, ControlEventKind};

/// A flow that ends at a time has ended so much later, s: the last packets may leave late.
const ENDED_AFTER_S: f64 = 0.15;

/// Figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures<'a> {
    /// Counts since the start of traffic.
    pub total: Option<&'a TotalDocument>,
    /// The last interval.
    pub interval: Option<&'a IntervalDocument>,
    /// Time since the start of traffic, s.
    pub at_s: f64,
    /// Whether it is sending, or can again.
    pub active: bool,
}

/// The last requested transmit state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transmit {
    /// Send.
    Started,
    /// Do not send.
    #[default]
    Stopped,
    /// Do not send until resumed.
    Paused,
}

/// State of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortState {
    /// Whether its link is up.
    pub up: bool,
    /// Whether a capture is running.
    pub capturing: bool,
    /// Bit rate of its link, if it is known.
    pub speed_bps: Option<u64>,
}

/// Inputs of metrics.
pub struct MetricsInput<'a> {
    /// The configuration.
    pub translation: &'a Translation,
    /// Figures of the run.
    pub figures: Figures<'a>,
    /// Requested state of each flow, in the translation's order.
    pub requested: &'a [Transmit],
    /// Time for which each flow has been allowed to send until `figures.at_s`, s.
    pub own_s: &'a [f64],
    /// The ports, in the translation's order.
    pub ports: &'a [PortState],
    /// Protocols of the devices.
    pub protocols: &'a ProtocolStates,
    /// Control-plane requests in this run.
    pub events: &'a [ControlEvent],
}

/// Answers a `MetricsRequest`.
pub fn metrics(request: &Value, input: &MetricsInput<'_>) -> Result<Value, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let request_message = message("MetricsRequest");
    let errors = check(request, request_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, request_message, &log);
    let response = match root.choice() {
        "port" => port_metrics(&root.child("port"), input),
        "flow" => flow_metrics(&root.child("flow"), input),
        "convergence" => convergence::convergence_metrics(&root.child("convergence"), input),
        choice => match protocols::metrics().find(|metrics| metrics.request == choice) {
            Some(metrics) => {
                let [response, list] = metrics.response;
                json!({"choice": response, list: (metrics.rows)(&root.child(choice), input)})
            }
            None => {
                let of_protocols = protocols::metrics().map(|metrics| metrics.request);
                let known: Vec<&str> =
                    ["port", "flow", "convergence"].into_iter().chain(of_protocols).collect();
                root.fail_at("choice", format!("'{choice}' is not supported: use {}", either(&known)));
                Value::Null
            }
        },
    };
    if log.is_clean() {
        log.unread(request, request_message);
    }
    match log.end().0 {
        errors if errors.is_empty() => Ok(response),
        errors => Err(validation(errors)),
    }
}

fn port_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("port_names");
    let columns = node.texts("column_names");
    let ports = &input.translation.ports;
    unknown(node, "port_names", &names, |name| ports.iter().any(|port| port.name == name));
    let wanted =
        ports.iter().enumerate().filter(|(_, port)| names.is_empty() || names.contains(&port.name.as_str()));
    let rows: Vec<Value> = wanted.map(|(index, port)| only(port_row(index, port, input), &columns)).collect();
    json!({"choice": "port_metrics", "port_metrics": rows})
}

pub(crate) fn port_row(index: usize, port: &PortPlan, input: &MetricsInput<'_>) -> Map<String, Value> {
    let figures = &input.figures;
    let counts = figures.total.and_then(|total| total.ports.get(&port.key));
    let total = |count: fn(&PortResult) -> u64| counts.map_or(0, count);
    let interval = figures.interval.filter(|_| figures.active);
    let rate = |count: fn(&PortResult) -> u64| match interval {
        Some(interval) => per_second(interval, interval.ports.get(&port.key).map(count)),
        None => 0.0,
    };
    let state = input.ports.get(index).copied().unwrap_or_default();
    let sends = |(index, flow): (usize, &FlowPlan)| {
        flow.tx_port == port.name && transmit(index, flow, input) == "started"
    };
    let sends = input.translation.flows.iter().enumerate().any(sends);
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    put("name", port.name.clone().into());
    put("location", port.location.clone().into());
    put("link", if state.up { "up" } else { "down" }.into());
    put("capture", if state.capturing { "started" } else { "stopped" }.into());
    put("frames_tx", total(|port| port.tx_packets).into());
    put("frames_rx", total(|port| port.rx_packets).into());
    put("bytes_tx", total(|port| port.tx_bytes).into());
    put("bytes_rx", total(|port| port.rx_bytes).into());
    put("frames_tx_rate", decimal(rate(|port| port.tx_packets)));
    put("frames_rx_rate", decimal(rate(|port| port.rx_packets)));
    put("bytes_tx_rate", decimal(rate(|port| port.tx_bytes)));
    put("bytes_rx_rate", decimal(rate(|port| port.rx_bytes)));
    put("transmit", if sends { "started" } else { "stopped" }.into());
    if let Some(speed) = port.speed_bps {
        put("speed", (speed / 1_000_000).into());
    }
    row
}

fn flow_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("flow_names");
    let columns = node.texts("metric_names");
    let tagged = Tagged::read(&node.child("tagged_metrics"));
    let flows = &input.translation.flows;
    unknown(node, "flow_names", &names, |name| flows.iter().any(|flow| flow.name == name));
    let selected =
        |flow: &FlowPlan| flow.enabled && (names.is_empty() || names.contains(&flow.name.as_str()));
    let rows = flows.iter().enumerate().filter(|(_, flow)| selected(flow));
    let rows: Vec<Value> =
        rows.map(|(index, flow)| flow_row(index, flow, input, &columns, &tagged)).collect();
    json!({"choice": "flow_metrics", "flow_metrics": rows})
}

fn flow_row(
    index: usize,
    flow: &FlowPlan,
    input: &MetricsInput<'_>,
    columns: &[&str],
    tagged: &Tagged<'_>,
) -> Value {
    let transmit = transmit(index, flow, input);
    // The last interval began before a flow stopped: its rates are of what was.
    let interval = input.figures.interval.filter(|_| transmit != "stopped");
    let figures = Figures { interval, ..input.figures };
    let sum = flow.streams.iter().map(|stream| Sum::of(stream, &figures)).fold(Sum::default(), Sum::add);
    let mut row = Map::new();
    row.insert("name".to_owned(), flow.name.clone().into());
    row.insert("port_tx".to_owned(), flow.tx_port.clone().into());
    row.insert("port_rx".to_owned(), flow.rx_ports.join(",").into());
    row.insert("transmit".to_owned(), transmit.into());
    let speed = || input.translation.rx_speed(flow, &|port| input.ports.get(port)?.speed_bps);
    let speed = if flow.cut_through { speed() } else { None };
    sum.put(flow, speed, &mut row);
    let Value::Object(mut row) = only(row, columns) else { return Value::Null };
    let rows = tagged.rows(flow, speed, &figures);
    if !rows.is_empty() {
        row.insert("tagged_metrics".to_owned(), rows.into());
    }
    row.into()
}

/// Whether a flow is being sent.
fn transmit(index: usize, flow: &FlowPlan, input: &MetricsInput<'_>) -> &'static str {
    let figures = &input.figures;
    let requested = input.requested.get(index).copied().unwrap_or_default();
    if !figures.active || requested == Transmit::Stopped {
        return "stopped";
    }
    let own_s = input.own_s.get(index).copied().unwrap_or_default();
    match (has_ended(flow, figures.total, own_s), requested) {
        (true, _) => "stopped",
        (_, Transmit::Paused) => "paused",
        _ => "started",
    }
}

/// Whether all of a flow has been sent that was let send for `own_s` seconds.
pub fn has_ended(flow: &FlowPlan, total: Option<&TotalDocument>, own_s: f64) -> bool {
    let counts = |stream: &StreamPlan| total.and_then(|total| total.streams.get(&stream.name));
    let all = |stream: &StreamResult| stream.tx + stream.tx_before_clear.unwrap_or(0);
    let sent = || flow.streams.iter().filter_map(counts).map(all).sum::<u64>();
    flow.packets.is_some_and(|packets| sent() >= packets)
        || flow.ends_at_s.is_some_and(|end| own_s >= end + ENDED_AFTER_S)
}

/// Counts of one stream, or the sum of several.
#[derive(Debug, Clone, Default)]
struct Sum {
    tx: u64,
    rx: u64,
    tx_rate: f64,
    rx_rate: f64,
    tx_bytes: u64,
    rx_bytes: u64,
    tx_bytes_rate: f64,
    rx_bytes_rate: f64,
    latency: Option<Latency>,
    /// Times of the first and last arrival, ns since the start of traffic.
    arrived: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Latency {
    min: f64,
    max: f64,
    /// Sum over all samples.
    sum: f64,
    samples: f64,
}

impl From<&LatencyResult> for Latency {
    fn from(latency: &LatencyResult) -> Self {
        Self {
            min: latency.min as f64,
            max: latency.max as f64,
            sum: latency.mean * latency.samples as f64,
            samples: latency.samples as f64,
        }
    }
}

impl Sum {
    fn of(stream: &StreamPlan, figures: &Figures<'_>) -> Self {
        let Some(total) = figures.total.and_then(|total| total.streams.get(&stream.name)) else {
            return Self::default();
        };
        let interval = figures.interval.filter(|_| figures.active);
        let rate = |count: fn(&StreamResult) -> Option<u64>| match interval {
            Some(interval) => per_second(interval, interval.streams.get(&stream.name).and_then(count)),
            None => 0.0,
        };
        Self {
            tx: total.tx,
            rx: total.rx.unwrap_or_default(),
            tx_rate: rate(|stream| Some(stream.tx)),
            rx_rate: rate(|stream| stream.rx),
            tx_bytes: total.tx_bytes,
            rx_bytes: total.rx_bytes.unwrap_or_default(),
            tx_bytes_rate: rate(|stream| Some(stream.tx_bytes)),
            rx_bytes_rate: rate(|stream| stream.rx_bytes),
            latency: total.latency_ns.as_ref().filter(|latency| latency.samples > 0).map(Latency::from),
            arrived: total.first_arrival_ns.zip(total.last_arrival_ns),
        }
    }

    /// The arrivals of a stream that had one value of the tagged bits.
    fn of_value(stream: &StreamPlan, value: &str, figures: &Figures<'_>) -> Self {
        let Some(total) = figures.total.and_then(|total| total.streams.get(&stream.name)?.egress.get(value))
        else {
            return Self::default();
        };
        let interval = figures.interval.filter(|_| figures.active);
        let rate = |count: fn(&EgressResult) -> u64| match interval {
            Some(interval) => {
                let row = interval.streams.get(&stream.name).and_then(|row| row.egress.get(value));
                per_second(interval, row.map(count))
            }
            None => 0.0,
        };
        Self {
            rx: total.rx,
            rx_bytes: total.rx_bytes,
            rx_rate: rate(|row| row.rx),
            rx_bytes_rate: rate(|row| row.rx_bytes),
            latency: total.latency_ns.as_ref().map(Latency::from),
            arrived: total.first_arrival_ns.zip(total.last_arrival_ns),
            ..Self::default()
        }
    }

    /// The same with what another has sent.
    fn with_sent(self, sent: &Self) -> Self {
        let Self { tx, tx_rate, tx_bytes, tx_bytes_rate, .. } = *sent;
        Self { tx, tx_rate, tx_bytes, tx_bytes_rate, ..self }
    }

    fn add(self, other: Self) -> Self {
        let both = |a: Latency, b: Latency| Latency {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            sum: a.sum + b.sum,
            samples: a.samples + b.samples,
        };
        Self {
            tx: self.tx + other.tx,
            rx: self.rx + other.rx,
            tx_rate: self.tx_rate + other.tx_rate,
            rx_rate: self.rx_rate + other.rx_rate,
            tx_bytes: self.tx_bytes + other.tx_bytes,
            rx_bytes: self.rx_bytes + other.rx_bytes,
            tx_bytes_rate: self.tx_bytes_rate + other.tx_bytes_rate,
            rx_bytes_rate: self.rx_bytes_rate + other.rx_bytes_rate,
            latency: match (self.latency, other.latency) {
                (Some(a), Some(b)) => Some(both(a, b)),
                (a, b) => a.or(b),
            },
            arrived: match (self.arrived, other.arrived) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (a, b) => a.or(b),
            },
        }
    }

    /// Bytes of a frame with FCS; the mean of those received if they have several lengths.
    fn frame_bytes(&self, flow: &FlowPlan) -> f64 {
        let mean = || self.rx_bytes as f64 / self.rx.max(1) as f64;
        flow.frame_bytes.map_or_else(mean, f64::from)
    }

    /// Adds the columns common to flows and tagged metrics. All counters are always there: clients of some languages take
    /// them without a look. `speed` is that of the link, bit/s, if the time of a frame on it is to be taken off latency.
    fn put(&self, flow: &FlowPlan, speed: Option<u64>, row: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        if !flow.rx_ports.is_empty() && flow.loss {
            put("loss", loss(self.tx, self.rx));
        }
        let sides = [
            ("tx", self.tx, self.tx_rate, self.tx_bytes, self.tx_bytes_rate),
            ("rx", self.rx, self.rx_rate, self.rx_bytes, self.rx_bytes_rate),
        ];
        for (side, frames, frame_rate, bytes, byte_rate) in sides {
            let bits = byte_rate * 8.0;
            put(&format!("frames_{side}"), frames.into());
            put(&format!("frames_{side}_rate"), decimal(frame_rate));
            put(&format!("bytes_{side}"), bytes.into());
            put(
                &format!("{side}_l1_rate_bps"),
                decimal(bits + frame_rate * f64::from(L1_OVERHEAD_BYTES * 8)),
            );
            put(&format!("{side}_rate_bytes"), decimal(byte_rate));
            put(&format!("{side}_rate_bps"), decimal(bits));
            put(&format!("{side}_rate_kbps"), decimal(bits / 1e3));
            put(&format!("{side}_rate_mbps"), decimal(bits / 1e6));
        }
        if let Some(latency) = self.latency.filter(|_| flow.latency) {
            let on_link = speed.map_or(0.0, |speed| self.frame_bytes(flow) * 8e9 / speed as f64);
            let told = |ns: f64| decimal((ns - on_link).max(0.0));
            let mean = latency.sum / latency.samples;
            let latency = json!({
                "minimum_ns": told(latency.min), "maximum_ns": told(latency.max), "average_ns": told(mean),
            });
            put("latency", latency);
        }
        if let Some((first, last)) = self.arrived.filter(|_| flow.timestamps) {
            put("timestamps", json!({"first_timestamp_ns": first as f64, "last_timestamp_ns": last as f64}));
        }
    }
}

/// The request's selection of tagged metrics.
struct Tagged<'a> {
    include: bool,
    include_empty: bool,
    columns: Vec<&'a str>,
    /// Names with their values; all values if empty.
    filters: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Tagged<'a> {
    fn read(node: &Node<'a>) -> Self {
        let filter = |node: &Node<'a>| (node.text("name"), node.texts("values"));
        Self {
            include: node.flag("include"),
            include_empty: node.flag("include_empty_metrics"),
            columns: node.texts("metric_names"),
            filters: node.items("filters").iter().map(filter).collect(),
        }
    }

    /// One row per combination of tag values, sorted.
    fn rows(&self, flow: &FlowPlan, speed: Option<u64>, figures: &Figures<'_>) -> Vec<Value> {
        if !self.include {
            return Vec::new();
        }
        let mut sums: BTreeMap<Tags<'_>, Sum> = BTreeMap::new();
        for stream in &flow.streams {
            add(&mut sums, tags_of(stream), Sum::of(stream, figures));
        }
        let is_egress = !flow.egress.is_empty();
        if is_egress {
            sums = self.by_value(flow, &sums, figures);
        }
        let is_counted = |sum: &Sum| sum.rx + if is_egress { 0 } else { sum.tx } > 0;
        let wanted = sums
            .into_iter()
            .filter(|(tags, sum)| self.wants(tags) && (self.include_empty || is_counted(sum)));
        let row = |(tags, sum): (Tags<'_>, Sum)| {
            let tag = |(name, value): (&str, String)| json!({"name": name, "value": {"choice": "hex", "hex": value}});
            let mut row = Map::new();
            sum.put(flow, speed, &mut row);
            if is_egress {
                // What was lost arrived with no value.
                row.remove("loss");
            }
            let Value::Object(mut row) = only(row, &self.columns) else { return Value::Null };
            row.insert("tags".to_owned(), tags.into_iter().map(tag).collect());
            row.into()
        };
        wanted.map(row).collect()
    }

    /// Arrivals by the flow's tags and the values of its egress tags; what was sent is that of the flow's tags, whose sums are
    /// given.
    fn by_value<'f>(
        &self,
        flow: &'f FlowPlan,
        sent: &BTreeMap<Tags<'f>, Sum>,
        figures: &Figures<'_>,
    ) -> BTreeMap<Tags<'f>, Sum> {
        let mut sums = BTreeMap::new();
        for stream in &flow.streams {
            let own = tags_of(stream);
            if self.include_empty {
                let bits: usize = flow.egress.iter().map(|tag| tag.width).sum();
                let all = (0..1u64 << bits).map(|value| with_values(&own, flow, &apart(value, flow)));
                all.for_each(|tags| add(&mut sums, tags, Sum::default()));
            }
            let total = figures.total.and_then(|total| total.streams.get(&stream.name));
            for key in total.into_iter().flat_map(|total| total.egress.keys()) {
                let values: Result<Vec<u64>, _> = key.split(',').map(str::parse).collect();
                // Frames too short for the bits have no value.
                let Ok(values) = values else { continue };
                add(&mut sums, with_values(&own, flow, &values), Sum::of_value(stream, key, figures));
            }
        }
        let places = flow.streams.first().map_or(0, |stream| stream.tags.len());
        let with_sent = |(tags, sum): (Tags<'f>, Sum)| {
            let sum = match sent.get(&tags[..places]) {
                Some(sent) => sum.with_sent(sent),
                None => sum,
            };
            (tags, sum)
        };
        sums.into_iter().map(with_sent).collect()
    }

    fn wants(&self, tags: &[(&str, String)]) -> bool {
        let passes = |(name, values): &(&str, Vec<&str>)| {
            let equal =
                |value: &str| values.is_empty() || values.iter().any(|wanted| same_hex(wanted, value));
            tags.iter().any(|(tag, value)| tag == name && equal(value))
        };
        !tags.is_empty() && self.filters.iter().all(passes)
    }
}

/// Tags with the hexadecimal value of each.
type Tags<'a> = Vec<(&'a str, String)>;

fn tags_of(stream: &StreamPlan) -> Tags<'_> {
    stream.tags.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

fn add<'a>(sums: &mut BTreeMap<Tags<'a>, Sum>, tags: Tags<'a>, sum: Sum) {
    let before = sums.remove(&tags).unwrap_or_default();
    sums.insert(tags, before.add(sum));
}

/// The values of a flow's egress tags, whose bits follow each other in `value`.
fn apart(value: u64, flow: &FlowPlan) -> Vec<u64> {
    let mut below: usize = flow.egress.iter().map(|tag| tag.width).sum();
    let part = |tag: &EgressTag| {
        below -= tag.width;
        value >> below & ((1 << tag.width) - 1)
    };
    flow.egress.iter().map(part).collect()
}

/// A stream's tags, followed by the tags of its flow's `egress_packet` with these values.
fn with_values<'a>(own: &Tags<'a>, flow: &'a FlowPlan, values: &[u64]) -> Tags<'a> {
    let tag = |(tag, value): (&'a EgressTag, &u64)| {
        let digits = tag.width.div_ceil(4);
        (tag.name.as_str(), format!("{value:0digits$x}"))
    };
    own.iter().cloned().chain(flow.egress.iter().zip(values).map(tag)).collect()
}

/// Whether two hexadecimal strings have the same value.
fn same_hex(a: &str, b: &str) -> bool {
    let digits = |text: &str| {
        let text = crate::check::hex_digits(text).unwrap_or_default().to_lowercase();
        text.trim_start_matches('0').to_owned()
    };
    digits(a) == digits(b)
}

/// Reports unknown names.
pub(crate) fn unknown(node: &Node<'_>, field: &str, names: &[&str], is_known: impl Fn(&str) -> bool) {
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_known(name)) {
        node.log_fail(&format!("{}[{index}]", node.path_of(field)), &format!("unknown name '{name}'"));
    }
}

/// The selected columns, all if none is, and always the name.
pub(crate) fn only(row: Map<String, Value>, columns: &[&str]) -> Value {
    let is_selected = |name: &str| name == "name" || columns.is_empty() || columns.contains(&name);
    row.into_iter().filter(|(name, _)| is_selected(name)).collect()
}

fn per_second(interval: &IntervalDocument, count: Option<u64>) -> f64 {
    let seconds = interval.interval_s;
    if seconds > 0.0 { count.unwrap_or_default() as f64 / seconds } else { 0.0 }
}

/// Lost frames, percent. Rounded, but to zero only if nothing was lost, and to 100 only if nothing arrived.
fn loss(sent: u64, received: u64) -> Value {
    let lost = sent.saturating_sub(received);
    let least = if lost == 0 { 0.0 } else { 1e-4 };
    let most = if received == 0 { 100.0 } else { 100.0 - 1e-4 };
    decimal((lost as f64 * 100.0 / sent.max(1) as f64).clamp(least, most))
}

/// A number rounded to four decimals.
pub(crate) fn decimal(number: f64) -> Value {
    let rounded = (number * 1e4).round() / 1e4;
    Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
