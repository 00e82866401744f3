//! STF: templates of flows from captures, as streams that replay flows.

use crate::Errors;
use crate::astf::CLIENT_PORTS;
use crate::convert::{Conversion, Options, PortOptions, ports_of, time};
use crate::multiplier::{Multiplier, Unit};
use crate::yaml::Node;
use serde::Deserialize;
use std::net::IpAddr;

/// When the first flow begins, seconds.
const BEGIN: f64 = 0.01;
/// The highest time to live of what TRex sends.
const TTL_MAX: u8 = 128;
/// Time for the last packets, seconds; the run ends when all flows have.
const SPARE: f64 = 1.0;
/// Hop limit of packets that TRex makes IPv6.
const HOPS: u8 = 64;
/// Rounding error of divisions.
const ROUNDING: f64 = 1e-9;
/// Most loops of a template's flows.
const LOOPS_MAX: f64 = 1e15;
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
    /// From a flow's first packet to its last, µs.
    pub span_us: f64,
    /// Whether its flows are of IPv6.
    pub is_ipv6: bool,
    /// Whether the capture is of IPv4 and becomes IPv6.
    #[serde(default)]
    pub to_ipv6: bool,
    /// VLANs of clients with an even and with an odd address.
    #[serde(default)]
    pub vlans: Option<[u16; 2]>,
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
/// All unsupported parts, each with its template.
pub(crate) fn convert(templates: &[Template], source: &str, options: &Options) -> Result<Conversion, Errors> {
    let factor = match options.multiplier {
        Multiplier { value, unit: Unit::Factor } => value,
        _ => return Err(Errors::one("-m: templates of flows have a factor, not a rate")),
    };
    let (Some(client), 1..=2) = (options.ports.first(), options.ports.len()) else {
        return Err(Errors::one("templates of flows have two ports: the clients' and the servers'"));
    };
    let server = options.ports.get(1);
    if options.sides != Sides::Apart && server.is_none() {
        return Err(Errors::one("-p, --flip and -e need two ports"));
    }
    let (mut items, mut errors, mut end) = (Vec::new(), Vec::new(), BEGIN);
    for (number, template) in templates.iter().enumerate() {
        let rate = template.cps * factor;
        if !(1e-6..=1e12).contains(&rate) {
            errors.push(format!("template {number}: {rate} flows per second"));
            continue;
        }
        let times = template.number(rate, options.duration_s);
        if let Some(limit) = times.flows {
            end = f64::max(end, BEGIN + times.loops.unwrap_or(1) as f64 * template.loop_s(limit, rate));
        }
        let halves = match options.sides != Sides::Apart || template.vlans.is_some() {
            true => template.halves(number),
            false => vec![Half { name: format!("t{number}"), take: None, vlan: None, is_odd: false }],
        };
        items.extend(halves.iter().map(|half| {
            let way = Way::of(options.sides, half.is_odd, client, server);
            template.stream(half, &way, rate, times)
        }));
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

/// From which ports flows are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sides {
    /// Clients' packets from the first, servers' from the second.
    #[default]
    Apart,
    /// Those of clients with an odd address the other way: option `--flip`.
    Flip,
    /// The same, with the addresses of both ends exchanged: option `-e`.
    FlipAddresses,
    /// Both directions from one port, the second for clients with an odd address: option `-p`.
    Together,
}

/// The flows of a template's clients, or of half of them.
struct Half {
    name: String,
    /// The first of them, and every so-many-th.
    take: Option<(u64, u64)>,
    vlan: Option<u16>,
    is_odd: bool,
}

/// From where and to where a stream is.
struct Way<'a> {
    from: &'a PortOptions,
    /// Where the servers' packets leave; `None`: with the clients'.
    to: Option<&'a PortOptions>,
    /// Whether the ends have each other's addresses.
    swap: bool,
    /// Whether frames go to the port's next hop; otherwise to whom they were captured to.
    has_next_hop: bool,
}

impl<'a> Way<'a> {
    fn of(sides: Sides, is_odd: bool, client: &'a PortOptions, server: Option<&'a PortOptions>) -> Self {
        let plain = Self { from: client, to: server, swap: false, has_next_hop: server.is_some() };
        let Some(server) = server else { return plain };
        match sides {
            Sides::Together => Self { from: if is_odd { server } else { client }, to: None, ..plain },
            Sides::Flip | Sides::FlipAddresses if is_odd => {
                Self { from: server, to: Some(client), swap: sides == Sides::FlipAddresses, ..plain }
            }
            _ => plain,
        }
    }
}

/// Number of flows of a template.
#[derive(Debug, Clone, Copy)]
struct Number {
    flows: Option<u64>,
    /// Number of times that they are sent.
    loops: Option<u64>,
}

impl Template {
    /// The flows that begin in time, at `rate` per second: none at the end, and those under way run out. With a limit the same flows are
    /// sent again when they are over; a loop that has begun runs out, too.
    fn number(&self, rate: f64, duration_s: Option<f64>) -> Number {
        let begun = duration_s.map(|seconds| (seconds * rate).ceil() as u64);
        match (self.limit, duration_s) {
            (Some(limit), Some(seconds)) if Some(limit) <= begun => {
                let loops = (seconds / self.loop_s(limit, rate) + ROUNDING).floor().min(LOOPS_MAX) as u64;
                Number { flows: Some(limit), loops: (loops > 0).then_some(loops + 1) }
            }
            (limit, _) => Number { flows: [limit, begun].into_iter().flatten().min(), loops: None },
        }
    }

    /// The flows of clients with an even address, and the flows of clients with an odd one.
    fn halves(&self, number: usize) -> Vec<Half> {
        let [first, last] = self.clients;
        let lowest = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => ip.to_bits() & 1 == 1,
            IpAddr::V6(ip) => ip.to_bits() & 1 == 1,
        };
        let halves = [(false, "even"), (true, "odd")].into_iter().filter_map(|(is_odd, name)| {
            let at = u64::from(lowest(first) != is_odd);
            (at == 0 || first != last).then(|| Half {
                name: format!("t{number}-{name}"),
                take: Some((at, 2)),
                vlan: self.vlans.map(|vlans| vlans[usize::from(is_odd)]),
                is_odd,
            })
        });
        halves.collect()
    }

    /// From the begin of `limit` flows to when they begin again, seconds.
    fn loop_s(&self, limit: u64, rate: f64) -> f64 {
        limit as f64 / rate + self.span_us / 1e6
    }

    fn stream(&self, half: &Half, way: &Way<'_>, rate: f64, times: Number) -> Node {
        let Way { from: client, to: server, swap, has_next_hop } = *way;
        let text = |key: &str, value: String| (key.to_owned(), Node::Text(value));
        let mut pairs = vec![text("name", half.name.clone()), text("from", client.name.clone())];
        pairs.extend(server.map(|server| text("to", server.name.clone())));
        pairs.push(text("start_delay", time(BEGIN * 1e9)));
        // TRex sends IP packets, not what was captured behind them.
        let mut replay = vec![text("file", self.capture.clone()), text("trailer", "cut".to_owned())];
        replay.extend(server.map(|_| text("split", "first_source".to_owned())));
        replay.extend(self.to_ipv6.then(|| text("to_ipv6", "true".to_owned())));
        replay.extend(half.vlan.map(|vlan| text("push_vlan", vlan.to_string())));
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
        flows.push(text("client_ports", CLIENT_PORTS.to_owned()));
        flows.push(text("first_port", "spread".to_owned()));
        let Times { ipg, rtt, shortest, short_gap } = self.times;
        for (key, us) in [("ipg", ipg), ("rtt", rtt), ("shortest", shortest), ("short_gap", short_gap)] {
            flows.extend(us.map(|us| text(key, time(us * 1e3))));
        }
        if swap {
            flows.push(text("swap", "true".to_owned()));
        }
        flows.extend(half.take.map(|(first, every)| {
            let keys =
                [("every", every), ("first", first)].map(|(key, value)| (key.to_owned(), Node::text(value)));
            ("take".to_owned(), Node::Line(keys.into()))
        }));
        for (key, number) in [("limit", times.flows), ("loops", times.loops)] {
            flows.extend(number.map(|number| text(key, number.to_string())));
        }
        replay.push(("flows".to_owned(), Node::Block(flows)));
        replay.push(("rewrite".to_owned(), Node::Block(self.rewrites(has_next_hop))));
        pairs.push(("replay".to_owned(), Node::Block(replay)));
        Node::Block(pairs)
    }

    /// Fields that TRex changes in every packet besides the flow's ends.
    fn rewrites(&self, has_next_hop: bool) -> Vec<(String, Node)> {
        let mut rules = vec![("ethernet.src".to_owned(), Node::text("port"))];
        rules.extend(has_next_hop.then(|| ("ethernet.dst".to_owned(), Node::text("next_hop"))));
        let each = |values: &[u8], to: &dyn Fn(u8) -> u8| {
            Node::List(values.iter().map(|value| Node::text(format!("{value} -> {}", to(*value)))).collect())
        };
        if self.to_ipv6 {
            let zero = |field: &str| (format!("ipv6.{field}"), Node::text(0));
            rules.extend([zero("dscp"), zero("ecn"), ("ipv6.hop_limit".to_owned(), Node::text(HOPS))]);
            rules.extend(self.is_udp.then(|| ("udp.checksum".to_owned(), Node::text("0"))));
            return rules;
        }
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

/// A number with at most six decimal places.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
