//! STF: templates of flows from captures, as streams that replay flows.

use crate::Errors;
use crate::convert::{Conversion, Options, PortOptions, ports_of, time};
use crate::multiplier::{Multiplier, Unit};
use crate::yaml::Node;
use serde::Deserialize;
use std::net::IpAddr;

/// When the first flow begins, seconds.
const BEGIN: f64 = 0.01;
/// TRex's ports of clients.
const PORTS: &str = "1024..64000";
/// The highest time to live of what TRex sends.
const TTL_MAX: u8 = 128;
/// Time for the last packets, seconds; the run ends when all flows have.
const SPARE: f64 = 1.0;
/// Longest run, seconds.
const LONGEST: f64 = 365.0 * 86_400.0;

/// A capture, and how its flows are made.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// The capture file.
    pub capture: String,
    /// Flows per second.
    pub cps: f64,
    /// Successive flows with one pair of addresses.
    pub per_pair: u64,
    /// Flows in all.
    pub limit: Option<u64>,
    /// First and last client.
    pub clients: [IpAddr; 2],
    /// First and last server.
    pub servers: [IpAddr; 2],
    /// Times between packets of a flow, µs, by their names in the profile: `ipg` and `rtt`, or `shortest` and `short_gap`.
    pub times: Times,
    /// Packets of the capture.
    pub packets: u64,
    /// From its first packet to its last, µs.
    pub captured_us: f64,
    /// Whether it is of IPv6.
    pub is_ipv6: bool,
    /// Whether it is over UDP.
    pub is_udp: bool,
    /// Times to live above the highest that is sent.
    pub ttls: Vec<u8>,
    /// Congestion notifications that have the bit by which TRex marks packets.
    pub ecns: Vec<u8>,
}

/// Times between packets, µs.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Times {
    /// After a packet of the same direction.
    pub ipg: Option<f64>,
    /// After one of the other.
    pub rtt: Option<f64>,
    /// Captured times below this one are replaced.
    pub shortest: Option<f64>,
    /// By this one.
    pub short_gap: Option<f64>,
}

/// Translates templates: clients' packets are sent from the first port, servers' from the second, or all from the only one.
///
/// # Errors
/// All that cannot be said, each with its template.
pub(crate) fn convert(templates: &[Template], source: &str, options: &Options) -> Result<Conversion, Errors> {
    let factor = match options.multiplier {
        Multiplier { value, unit: Unit::Factor } => value,
        _ => return Err(Errors::one("-m: templates of flows have a factor, not a rate")),
    };
    let (Some(client), 1..=2) = (options.ports.first(), options.ports.len()) else {
        return Err(Errors::one("templates of flows have two ports: the clients' and the servers'"));
    };
    let (mut items, mut errors, mut end) = (Vec::new(), Vec::new(), BEGIN);
    for (number, template) in templates.iter().enumerate() {
        let rate = template.cps * factor;
        if !(1e-6..=1e12).contains(&rate) {
            errors.push(format!("template {number}: {rate} flows per second"));
            continue;
        }
        // No flow begins at the end; those under way run out.
        let begun = options.duration_s.map(|seconds| (seconds * rate).ceil() as u64);
        let limit = [template.limit, begun].into_iter().flatten().min();
        if let Some(limit) = limit {
            end = f64::max(end, BEGIN + limit as f64 / rate + template.span_s());
        }
        items.push(template.stream(number, client, options.ports.get(1), rate, limit));
    }
    if !errors.is_empty() {
        return Err(Errors(errors));
    }
    let streams = items.len();
    let mut pairs = vec![("ports".to_owned(), ports(options)), ("streams".to_owned(), Node::Items(items))];
    if options.duration_s.is_some() {
        let duration = Node::text(time((end + SPARE).min(LONGEST) * 1e9));
        pairs.push(("load".to_owned(), Node::Line(vec![("duration".to_owned(), duration)])));
    }
    let mut text = format!("# The flows of {source} on TRex; made by 'eagre trex convert'.\n");
    Node::Block(pairs).print(0, &mut text);
    Ok(Conversion { text, streams, ports: Vec::new() })
}

impl Template {
    /// How long a flow takes, seconds, at most.
    fn span_s(&self) -> f64 {
        let gaps = self.packets.saturating_sub(1) as f64;
        let Times { ipg, rtt, short_gap, .. } = self.times;
        let gap = [ipg, rtt, short_gap].into_iter().flatten().fold(0.0, f64::max);
        (self.captured_us + gaps * gap) / 1e6
    }

    fn stream(
        &self,
        number: usize,
        client: &PortOptions,
        server: Option<&PortOptions>,
        rate: f64,
        limit: Option<u64>,
    ) -> Node {
        let text = |key: &str, value: String| (key.to_owned(), Node::Text(value));
        let mut pairs = vec![text("name", format!("t{number}")), text("from", client.name.clone())];
        pairs.extend(server.map(|server| text("to", server.name.clone())));
        pairs.push(text("start_delay", time(BEGIN * 1e9)));
        let mut replay = vec![text("file", self.capture.clone())];
        replay.extend(server.map(|_| text("split", "first_source".to_owned())));
        let pool = |[first, last]: [IpAddr; 2]| match first == last {
            true => first.to_string(),
            false => format!("{first}..{last}"),
        };
        let mut flows = vec![
            text("rate", format!("{}/s", decimal(rate))),
            text("clients", pool(self.clients)),
            text("servers", pool(self.servers)),
        ];
        if self.per_pair > 1 {
            flows.push(text("per_pair", self.per_pair.to_string()));
        }
        flows.push(text("client_ports", PORTS.to_owned()));
        flows.push(text("first_port", "spread".to_owned()));
        let Times { ipg, rtt, shortest, short_gap } = self.times;
        for (key, us) in [("ipg", ipg), ("rtt", rtt), ("shortest", shortest), ("short_gap", short_gap)] {
            flows.extend(us.map(|us| text(key, time(us * 1e3))));
        }
        flows.extend(limit.map(|limit| text("limit", limit.to_string())));
        replay.push(("flows".to_owned(), Node::Block(flows)));
        replay.push(("rewrite".to_owned(), Node::Block(self.rewrites(server.is_some()))));
        pairs.push(("replay".to_owned(), Node::Block(replay)));
        Node::Block(pairs)
    }

    /// What TRex changes in every packet besides the flow's ends.
    fn rewrites(&self, has_peer: bool) -> Vec<(String, Node)> {
        let mut rules = vec![("ethernet.src".to_owned(), Node::text("port"))];
        rules.extend(has_peer.then(|| ("ethernet.dst".to_owned(), Node::text("next_hop"))));
        let each = |values: &[u8], to: &dyn Fn(u8) -> u8| {
            Node::List(values.iter().map(|value| Node::text(format!("{value} -> {}", to(*value)))).collect())
        };
        let (ttl, ip) = if self.is_ipv6 { ("ipv6.hop_limit", "ipv6") } else { ("ipv4.ttl", "ipv4") };
        if !self.ttls.is_empty() {
            rules.push((ttl.to_owned(), each(&self.ttls, &|_| TTL_MAX)));
        }
        if !self.ecns.is_empty() {
            rules.push((format!("{ip}.ecn"), each(&self.ecns, &|ecn| ecn & 2)));
        }
        if self.is_udp && !self.is_ipv6 {
            rules.push(("udp.checksum".to_owned(), Node::text("0")));
        }
        rules
    }
}

/// The ports; in TRex's simulator with its MAC addresses.
fn ports(options: &Options) -> Node {
    let mut node = ports_of(options);
    let Node::Block(ports) = &mut node else { return node };
    for (port, (_, keys)) in options.ports.iter().zip(ports).filter(|_| options.simulated) {
        let Node::Line(keys) = keys else { continue };
        let base = 0x10 + (port.number & 1) * 0x10;
        let mac = |byte: u8| Node::text(vec![format!("{byte:02x}"); 6].join(":"));
        let net = format!("169.254.{}", port.number);
        let gateway = format!("{net}.1");
        keys.push(("mac".to_owned(), mac(base + 8)));
        keys.push(("ip".to_owned(), Node::text(format!("{net}.2/24"))));
        keys.push(("gateway".to_owned(), Node::text(&gateway)));
        keys.push(("gateway_mac".to_owned(), Node::Line(vec![(gateway, mac(base))])));
    }
    node
}

/// A number with at most six places behind the point.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
