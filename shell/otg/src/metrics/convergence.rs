//! The `convergence` metrics: how long flows were interrupted, and since which event of the control plane.
//!
//! The run watches flows for outages. Control-plane events are the clients' requests: routes withdrawn or advertised,
//! links set down or up.

use super::{MetricsInput, decimal, unknown};
use crate::node::Node;
use crate::translate::FlowPlan;
use result::OutageResult;
use serde_json::{Map, Value, json};

/// A client's control-plane request.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlEvent {
    /// Kind of event.
    pub kind: ControlEventKind,
    /// The model's name of the range of routes, or of the port.
    pub source: String,
    /// Time of the request, s since the start of traffic.
    pub begin_s: f64,
    /// When it was done.
    pub end_s: f64,
}

/// Which of the model's events of the control plane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEventKind {
    /// A link was set down.
    LinkDown,
    /// A link was set up.
    LinkUp,
    /// Routes were withdrawn.
    RouteWithdraw,
    /// Routes were advertised.
    RouteAdvertise,
}

impl ControlEventKind {
    fn name(self) -> &'static str {
        match self {
            Self::LinkDown => "link_down",
            Self::LinkUp => "link_up",
            Self::RouteWithdraw => "route_withdraw",
            Self::RouteAdvertise => "route_advertise",
        }
    }
}

/// A time, ns since the start of traffic, in which too few frames of a flow arrived.
#[derive(Debug, Clone, Copy)]
struct Outage {
    from: f64,
    until: Option<f64>,
}

pub(super) fn convergence_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("flow_names");
    let flows = &input.translation.flows;
    if input.translation.events.threshold.is_none() {
        node.log_fail(node.path(), "the configuration has no events.dp_events that are enabled");
    }
    unknown(node, "flow_names", &names, |name| flows.iter().any(|flow| flow.name == name));
    let is_wanted = |flow: &&FlowPlan| match &names[..] {
        [] => true,
        names => names.contains(&flow.name.as_str()),
    };
    let watched = flows.iter().filter(|flow| flow.enabled && !flow.rx_ports.is_empty());
    let rows: Vec<Value> = watched.filter(is_wanted).map(|flow| row(flow, input)).collect();
    json!({"choice": "convergence_metrics", "convergence_metrics": rows})
}

fn row(flow: &FlowPlan, input: &MetricsInput<'_>) -> Value {
    let found = flow.streams.iter().filter_map(|stream| {
        let total = input.figures.total?;
        total.streams.get(&stream.name)?.outages.as_ref()
    });
    let ns = |outage: &OutageResult| Outage {
        from: outage.from_ns as f64,
        until: outage.until_ns.map(|until| until as f64),
    };
    let outages = joined(found.flat_map(|outages| &outages.last).map(ns).collect());
    let mut row = Map::new();
    row.insert("name".to_owned(), flow.name.clone().into());
    let last = outages.iter().filter_map(|outage| outage.until).reduce(f64::max);
    if let Some(last) = last {
        let begin = |event: &&ControlEvent| event.begin_s * 1e9;
        let cause = input.events.iter().filter(|event| begin(event) < last);
        let cause = cause.max_by(|a, b| begin(a).total_cmp(&begin(b))).map(|event| begin(&event));
        // Those that followed the event; without one, the last.
        let followed = |outage: &&Outage| match (outage.until, cause) {
            (Some(until), Some(cause)) => until > cause,
            (Some(until), None) => until == last,
            (None, _) => false,
        };
        let longest = outages.iter().filter(followed).filter_map(|outage| Some(outage.until? - outage.from));
        let longest = longest.fold(0.0, f64::max);
        row.insert("data_plane_convergence_us".to_owned(), decimal(longest / 1e3));
        if let Some(cause) = cause {
            row.insert("control_plane_data_plane_convergence_us".to_owned(), decimal((last - cause) / 1e3));
        }
    }
    row.insert("events".to_owned(), events(flow, &outages, input.events).into());
    row.into()
}

/// Outages of a flow's streams, of which several at a time are one of the flow.
fn joined(mut outages: Vec<Outage>) -> Vec<Outage> {
    outages.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut all: Vec<Outage> = Vec::new();
    for outage in outages {
        match all.last_mut() {
            Some(last) if last.until.is_none_or(|until| outage.from <= until) => {
                last.until = last.until.zip(outage.until).map(|(a, b)| a.max(b));
            }
            _ => all.push(outage),
        }
    }
    all
}

/// Events of the control plane, and of a flow, by when they began.
fn events(flow: &FlowPlan, outages: &[Outage], control: &[ControlEvent]) -> Vec<Value> {
    let of_control = control.iter().map(|event| {
        let ControlEvent { kind, source, begin_s, end_s } = event;
        (kind.name(), source.as_str(), begin_s * 1e9, end_s * 1e9)
    });
    let edge = |kind: &'static str, at: f64| (kind, flow.name.as_str(), at, at);
    let of_flow = outages.iter().flat_map(|outage| {
        let above = outage.until.map(|until| edge("flow_rx_rate_above_threshold", until));
        [Some(edge("flow_rx_rate_below_threshold", outage.from)), above].into_iter().flatten()
    });
    let mut all: Vec<_> = of_control.chain(of_flow).collect();
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    let event = |(kind, source, begin, end): (&str, &str, f64, f64)| {
        json!({
            "type": kind, "source": source,
            "begin_timestamp_ns": begin.round(), "end_timestamp_ns": end.round(),
        })
    };
    all.into_iter().map(event).collect()
}
