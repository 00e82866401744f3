//! A profile from a handful of options: what `eagre send`, `replay`, `capture` and `receive` run, and print on request.
//!
//! There is one road to a Plan: the options become a document, and its text is loaded like any other. So a bad option
//! is found there, and not here.

use crate::yaml::is_plain_text;
use serde_json::{Map, Value, json};
use units::{FrameLen, Load, Nanos};

/// What `eagre send` is told by flags. One stream, `send`, from the port `tx` and, if there is a second device, to the
/// port `rx`.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Device to send from.
    pub port: String,
    /// Device the packets should arrive at, if it is one of ours.
    pub to: Option<String>,
    /// Address of the sending port with its prefix length: `10.0.0.1/24`.
    pub ip: Option<String>,
    /// Address of the receiving port with its prefix length. Without it the receiving port answers for `dst`, on a
    /// network as large as that of `ip`.
    pub to_ip: Option<String>,
    /// Router for destinations that are not on the sending port's network.
    pub gateway: Option<String>,
    /// Source address; without it the sending port's own.
    pub src: Option<String>,
    /// Destination address; without it the receiving port's.
    pub dst: Option<String>,
    /// Destination hardware address; without it the next hop's.
    pub dst_mac: Option<String>,
    /// What is sent.
    pub transport: Transport,
    /// Source port of UDP or TCP.
    pub sport: Option<u16>,
    /// Destination port of UDP or TCP.
    pub dport: Option<u16>,
    /// VLAN identifier of both ports and of the packets.
    pub vlan: Option<u16>,
    /// Frame length; without it the shortest.
    pub size: Option<FrameLen>,
    /// How fast.
    pub rate: Option<Load>,
    /// For how long; without it the profile's default.
    pub duration: Option<Nanos>,
    /// After how many packets to stop.
    pub count: Option<u64>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// What `eagre capture` and `eagre receive` are told by flags: a port that only listens.
#[derive(Debug, Clone, Default)]
pub struct ListenOptions {
    /// Device to listen on.
    pub port: String,
    /// Address of the port with its prefix length; with one it answers ARP, neighbour discovery and ping.
    pub ip: Option<String>,
    /// Capture file; `None` only counts.
    pub file: Option<String>,
    /// Filter in libpcap's syntax.
    pub filter: Option<String>,
    /// Bytes kept of each packet: `128B`.
    pub snap: Option<String>,
    /// Size after which a new file begins: `100MB`.
    pub rotate_size: Option<String>,
    /// Time after which a new file begins.
    pub rotate_time: Option<Nanos>,
    /// Newest files kept.
    pub files: Option<u32>,
    /// Memory for the newest packets, written at the end: `64MB`.
    pub ring: Option<String>,
    /// For how long; without it the profile's default.
    pub duration: Option<Nanos>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// What `eagre replay` is told by flags. One stream, `replay`, from the port `tx` and, if there is a second device, to
/// the port `rx`.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// Capture file.
    pub file: String,
    /// Device to send from.
    pub port: String,
    /// Device the packets should arrive at, or that sends the other direction.
    pub to: Option<String>,
    /// How fast instead of as captured.
    pub rate: Option<Load>,
    /// Times as fast as captured: `2x`.
    pub speed: Option<String>,
    /// How often.
    pub loops: Option<u64>,
    /// Whether the server side of each conversation is sent from `to`.
    pub split: bool,
    /// Fields and what becomes of them.
    pub rewrite: Vec<(String, String)>,
    /// VLAN tag to put before all others.
    pub push_vlan: Option<u16>,
    /// Take the outermost VLAN tag away.
    pub pop_vlan: bool,
    /// For how long; without it until the file is sent.
    pub duration: Option<Nanos>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// The profile of a port that only listens, as YAML.
pub fn listen_text(options: &ListenOptions) -> String {
    let capture = options.file.as_deref().map(|file| {
        given([
            ("file", text(file)),
            ("filter", options.filter.as_deref().and_then(text)),
            ("snap", options.snap.as_deref().and_then(text)),
            ("rotate_size", options.rotate_size.as_deref().and_then(text)),
            ("rotate_time", options.rotate_time.map(|time| json!(time.to_string()))),
            ("files", options.files.map(Value::from)),
            ("ring", options.ring.as_deref().and_then(text)),
        ])
    });
    let port = given([
        ("device", text(&options.port)),
        ("ip", options.ip.as_deref().and_then(text)),
        ("allow_default_route", options.allow_default_route.then_some(Value::Bool(true))),
        ("capture", capture),
    ]);
    let load = options.duration.map(|duration| json!({"duration": duration.to_string(), "drain": "0s"}));
    yaml(&given([("ports", Some(json!({"rx": port}))), ("streams", Some(json!([]))), ("load", load)]))
}

/// The profile of a capture sent again, as YAML.
pub fn replay_text(options: &ReplayOptions) -> String {
    let port = |device: &str| {
        given([
            ("device", text(device)),
            ("allow_default_route", options.allow_default_route.then_some(Value::Bool(true))),
        ])
    };
    let mut ports = Map::from_iter([("tx".to_owned(), port(&options.port))]);
    ports.extend(options.to.as_deref().map(|device| ("rx".to_owned(), port(device))));
    let mut rewrite: Map<String, Value> = Map::new();
    for (field, value) in &options.rewrite {
        let values = rewrite.entry(field).or_insert_with(|| json!([]));
        values.as_array_mut().into_iter().for_each(|values| values.push(json!(value)));
    }
    let replay = given([
        ("file", text(&options.file)),
        ("speed", options.speed.as_deref().and_then(text)),
        ("loops", options.loops.map(Value::from)),
        ("split", options.split.then(|| json!("first_source"))),
        ("rewrite", (!rewrite.is_empty()).then_some(Value::Object(rewrite))),
        ("push_vlan", options.push_vlan.map(Value::from)),
        ("pop_vlan", options.pop_vlan.then_some(Value::Bool(true))),
    ]);
    let stream = given([
        ("name", Some(json!("replay"))),
        ("from", Some(json!("tx"))),
        ("to", options.to.as_ref().map(|_| json!("rx"))),
        ("replay", Some(replay)),
        ("rate", options.rate.map(|rate| json!(rate.to_string()))),
    ]);
    // The run ends with the file; a day is longer than any of them is sent.
    let duration = options.duration.map_or_else(|| "24h".to_owned(), |duration| duration.to_string());
    let load = json!({"duration": duration, "drain": "100ms"});
    yaml(&given([
        ("ports", Some(Value::Object(ports))),
        ("streams", Some(json!([stream]))),
        ("load", Some(load)),
    ]))
}

fn yaml(document: &Value) -> String {
    let mut text = String::new();
    block(document, 0, &mut text);
    text
}

/// What is in the IP packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// UDP datagrams.
    #[default]
    Udp,
    /// TCP connection requests.
    Tcp,
    /// Echo requests of ICMP, or of ICMPv6 between IPv6 addresses.
    Icmp,
}

/// The profile the options stand for, as YAML.
pub fn profile_text(options: &SendOptions) -> String {
    yaml(&document(options))
}

fn document(options: &SendOptions) -> Value {
    let mut ports = Map::from_iter([("tx".to_owned(), tx(options))]);
    if let Some(device) = &options.to {
        ports.insert("rx".to_owned(), rx(options, device));
    }
    let stream = given([
        ("name", Some(json!("send"))),
        ("from", Some(json!("tx"))),
        ("to", options.to.as_ref().map(|_| json!("rx"))),
        ("packet", Some(packet(options))),
        ("size", options.size.map(|size| json!(size.to_string()))),
        ("rate", options.rate.map(|rate| json!(rate.to_string()))),
        ("count", options.count.map(Value::from)),
    ]);
    let load = options.duration.map(|duration| json!({"duration": duration.to_string()}));
    given([("ports", Some(Value::Object(ports))), ("streams", Some(json!([stream]))), ("load", load)])
}

fn tx(options: &SendOptions) -> Value {
    given([
        ("device", text(&options.port)),
        ("ip", options.ip.as_deref().and_then(text)),
        ("gateway", options.gateway.as_deref().and_then(text)),
        ("vlan", options.vlan.map(Value::from)),
        ("allow_default_route", options.allow_default_route.then_some(Value::Bool(true))),
    ])
}

fn rx(options: &SendOptions, device: &str) -> Value {
    let played = || {
        let (_, prefix_len) = options.ip.as_ref()?.split_once('/')?;
        text(&format!("{}/{prefix_len}", options.dst.as_ref()?))
    };
    given([
        ("device", text(device)),
        ("ip", options.to_ip.as_deref().and_then(text).or_else(played)),
        ("vlan", options.vlan.map(Value::from)),
        ("allow_default_route", options.allow_default_route.then_some(Value::Bool(true))),
    ])
}

fn packet(options: &SendOptions) -> Value {
    let addresses = [&options.dst, &options.src, &options.to_ip, &options.ip];
    let is_ipv6 = addresses.into_iter().flatten().next().is_some_and(|address| address.contains(':'));
    let (network, echo) = if is_ipv6 { ("ipv6", "icmpv6") } else { ("ipv4", "icmp") };
    let transport = match options.transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
        Transport::Icmp => echo,
    };
    let addresses =
        [("src", options.src.as_deref().and_then(text)), ("dst", options.dst.as_deref().and_then(text))];
    let ports = [("src", options.sport.map(Value::from)), ("dst", options.dport.map(Value::from))];
    json!([
        header("ethernet", given([("dst", options.dst_mac.as_deref().and_then(text))])),
        header(network, given(addresses)),
        header(transport, given(ports)),
    ])
}

/// `udp`, or `{udp: {…}}` if a field is set.
fn header(name: &str, fields: Value) -> Value {
    match fields.as_object().is_some_and(Map::is_empty) {
        true => json!(name),
        false => json!({name: fields}),
    }
}

fn text(text: &str) -> Option<Value> {
    Some(Value::String(text.to_owned()))
}

/// A mapping of what is there.
fn given<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect())
}

/// Longest text written on one line in braces or brackets.
const FLOW_WIDTH: usize = 88;

/// Writes a mapping or list as YAML, a line for each entry that fits one.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                out.push_str(&format!("{pad}{}:", scalar(key)));
                entry(value, indent == 0, indent + 2, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut text = String::new();
                block(item, indent + 2, &mut text);
                out.push_str(&format!("{pad}- {}", text.trim_start()));
            }
        }
        _ => out.push_str(&format!("{pad}{}\n", scalar_of(value))),
    }
}

/// What is behind a key: on its line if it fits, else below. Lists and mappings of the document's top stand below.
fn entry(value: &Value, top: bool, indent: usize, out: &mut String) {
    let text = flow(value);
    let small = value.as_object().is_none_or(|map| !top || map.values().all(|v| !v.is_object()));
    let is_empty = value.as_array().is_some_and(Vec::is_empty);
    if is_empty || (text.len() <= FLOW_WIDTH && small && !(top && value.is_array())) {
        out.push_str(&format!(" {text}\n"));
    } else {
        out.push('\n');
        block(value, indent, out);
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        _ => scalar_of(value),
    }
}

fn scalar_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), scalar)
}

/// The text, in quotes if YAML would read something else without them.
fn scalar(text: &str) -> String {
    if is_plain_text(text) { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::plan::NextHop;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn options() -> SendOptions {
        SendOptions {
            port: "veth0".to_owned(),
            ip: some("10.0.0.1/24"),
            dst: some("10.0.0.2"),
            dport: Some(9),
            size: FrameLen::new(64),
            rate: "1Mpps".parse().ok(),
            duration: Some(Nanos::from_secs(10)),
            ..SendOptions::default()
        }
    }

    #[test]
    fn prints_a_profile_people_can_read() {
        let expected = "\
ports:
  tx: {device: veth0, ip: 10.0.0.1/24}
streams:
  - name: send
    from: tx
    packet: [ethernet, {ipv4: {dst: 10.0.0.2}}, {udp: {dst: 9}}]
    size: 64B
    rate: 1Mpps
load: {duration: 10s}
";
        assert_eq!(profile_text(&options()), expected);
    }

    #[test]
    fn what_it_prints_loads() {
        let plan = load(&profile_text(&options())).unwrap();
        assert_eq!(plan.streams[0].next_hop, NextHop::Resolve("10.0.0.2".parse().unwrap()));
        let text = profile_text(&SendOptions {
            port: "memif:/run/x.sock,server".to_owned(),
            to: some("vdev:net_ring0, \"odd\""),
            ip: some("2001:2::1/64"),
            gateway: some("2001:2::ff"),
            src: some("2001:2::7"),
            dst: some("2001:2:0:1::"),
            dst_mac: some("02:00:00:00:00:01"),
            transport: Transport::Icmp,
            dport: None,
            vlan: Some(100),
            size: None,
            count: Some(5),
            allow_default_route: true,
            ..options()
        });
        let plan = load(&text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
        assert_eq!(plan.ports[1].device, "vdev:net_ring0, \"odd\"");
        assert_eq!((plan.streams[0].next_hop, plan.streams[0].count), (NextHop::Given, Some(5)));
        assert_eq!(plan.streams[0].packet.headers.len(), 4);
    }

    #[test]
    fn a_bad_option_is_an_error_of_the_profile() {
        let options = SendOptions { dst: some("10.0.0.999"), ip: some("nowhere: #"), ..options() };
        let errors = load(&profile_text(&options)).unwrap_err();
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["ports.tx.ip", "streams[0].packet[1].ipv4.dst"]);
    }

    #[test]
    fn the_receiving_port_gives_the_destination() {
        let options = SendOptions { to: some("veth1"), to_ip: some("10.0.0.7/24"), dst: None, ..options() };
        let plan = load(&profile_text(&options)).unwrap();
        assert_eq!(plan.streams[0].next_hop, NextHop::Resolve("10.0.0.7".parse().unwrap()));
        let without = SendOptions { to_ip: None, dst: some("10.0.0.2"), ..options };
        let plan = load(&profile_text(&without)).unwrap();
        assert_eq!(plan.ports[1].own().addresses[0].ip.to_string(), "10.0.0.2");
    }

    #[test]
    fn a_port_that_listens_has_no_streams() {
        let options = ListenOptions {
            port: "veth0".to_owned(),
            file: some("out.pcapng"),
            filter: some("udp port 53"),
            snap: some("128B"),
            duration: Some(Nanos::from_secs(3)),
            ..ListenOptions::default()
        };
        let plan = load(&listen_text(&options)).unwrap();
        let capture = plan.ports[0].capture.as_ref().unwrap();
        assert_eq!((capture.file.as_str(), capture.snap_bytes, plan.streams.len()), ("out.pcapng", 128, 0));
    }

    #[test]
    fn a_replay_says_what_it_rewrites() {
        let options = ReplayOptions {
            file: "in.pcap".to_owned(),
            port: "veth0".to_owned(),
            speed: some("2x"),
            rewrite: [("ipv4.dst", "10.0.0.9"), ("addresses", "10.0.0.0/8 -> 11.0.0.0/8")]
                .map(|(field, value)| (field.to_owned(), value.to_owned()))
                .into(),
            ..ReplayOptions::default()
        };
        let expected = "\
ports:
  tx: {device: veth0}
streams:
  - name: replay
    from: tx
    replay:
      file: in.pcap
      speed: 2x
      rewrite: {ipv4.dst: [10.0.0.9], addresses: [\"10.0.0.0/8 -> 11.0.0.0/8\"]}
load: {duration: 24h, drain: 100ms}
";
        assert_eq!(replay_text(&options), expected);
    }
}
