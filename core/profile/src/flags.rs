//! A profile from a handful of options: what `eagre send`, `http`, `replay`, `capture` and `receive` run, and print on request.
//!
//! The options become a [`Document`], and its text is loaded like any other profile.

mod http;

pub use http::{HttpOptions, HttpTls};

use crate::document::{
    Bytes, CaptureDoc, Content, Document, Duration, FieldValue, FrameSizes, Ip, IpPrefix, LoadDoc, LoadPer,
    LoopAddressesForm, Mac, Name, OneOrMany, PacketElement, PortDoc, ReplayDoc, SizeText, SizesDoc, Speedup,
    SplitDoc, SplitWord, StreamDoc, StreamRate, TimestampsDoc, VlanId,
};
use crate::plan::Address;
use indexmap::IndexMap;
use std::net::IpAddr;
use units::{FrameLen, Load, Nanos};

/// Options of `eagre send`: one stream, `send`, from the port `tx` and, if there is a second device, to the port `rx`.
#[derive(Debug, Clone, Default)]
pub struct SendOptions {
    /// Device to send from.
    pub port: String,
    /// Device the packets should arrive at, if it is one of ours.
    pub to: Option<String>,
    /// Address of the sending port with its prefix length.
    pub ip: Option<IpPrefix>,
    /// Address of the receiving port with its prefix length. Without it the receiving port replies for `dst`, on a
    /// network as large as the network of `ip`.
    pub to_ip: Option<IpPrefix>,
    /// Router for destinations outside the sending port's network.
    pub gateway: Option<Ip>,
    /// Source address; without it the sending port's own.
    pub src: Option<IpAddr>,
    /// Destination address; without it the receiving port's.
    pub dst: Option<IpAddr>,
    /// Destination hardware address; without it the next hop's.
    pub dst_mac: Option<Mac>,
    /// Protocol above IP.
    pub transport: Transport,
    /// Source port of UDP or TCP.
    pub sport: Option<u16>,
    /// Destination port of UDP or TCP.
    pub dport: Option<u16>,
    /// VLAN identifier of both ports and of the packets.
    pub vlan: Option<VlanId>,
    /// Frame length; without it the shortest.
    pub size: Option<FrameLen>,
    /// Rate.
    pub rate: Option<Load>,
    /// Duration; default: the profile's.
    pub duration: Option<Nanos>,
    /// Number of packets to send.
    pub count: Option<u64>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// Options of `eagre capture` and `eagre receive`: a port that only listens.
#[derive(Debug, Clone, Default)]
pub struct ListenOptions {
    /// Device to listen on.
    pub port: String,
    /// Address of the port with its prefix length; with one it replies to ARP, neighbour discovery and ping.
    pub ip: Option<IpPrefix>,
    /// Capture file; `None` only counts.
    pub file: Option<String>,
    /// Filter in libpcap's syntax.
    pub filter: Option<String>,
    /// Bytes to keep of each packet.
    pub snap: Option<Bytes>,
    /// Size after which a new file begins.
    pub rotate_size: Option<Bytes>,
    /// Time after which a new file begins.
    pub rotate_time: Option<Nanos>,
    /// Number of files to keep.
    pub files: Option<u32>,
    /// Memory for the newest packets, written at the end.
    pub ring: Option<Bytes>,
    /// Duration; default: the profile's.
    pub duration: Option<Nanos>,
    /// Source of arrival times.
    pub timestamps: TimestampsDoc,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// Options of `eagre replay`: one stream, `replay`, from the port `tx` and, if there is a second device, to the port `rx`.
#[derive(Debug, Clone, Default)]
pub struct ReplayOptions {
    /// Capture file.
    pub file: String,
    /// Device to send from.
    pub port: String,
    /// Device the packets should arrive at, or that sends the other direction.
    pub to: Option<String>,
    /// Rate; default: as captured.
    pub rate: Option<Load>,
    /// Times as fast as captured.
    pub speed: Option<Speedup>,
    /// Number of times to send the file.
    pub loops: Option<u64>,
    /// Other addresses in each loop.
    pub loop_addresses: bool,
    /// Whether the server side of each conversation is sent from `to`.
    pub split: bool,
    /// Fields and their new values.
    pub rewrite: Vec<(String, String)>,
    /// VLAN tag to add in front of all others.
    pub push_vlan: Option<VlanId>,
    /// Remove the outermost VLAN tag.
    pub pop_vlan: bool,
    /// Duration; default: until the file is sent.
    pub duration: Option<Nanos>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
}

/// Protocol above IP.
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

impl SendOptions {
    /// The profile.
    pub fn document(&self) -> Document {
        let mut stream = stream("send", self.to.is_some());
        stream.packet = self.packet();
        stream.size = self.size.map(|size| SizesDoc::Text(FrameSizes(SizeText::One(size))));
        stream.rate = self.rate.map(rate);
        stream.count = self.count;
        let mut ports = IndexMap::from([("tx".to_owned(), self.tx())]);
        ports.extend(self.to.as_deref().map(|device| ("rx".to_owned(), self.rx(device))));
        Document {
            ports,
            streams: vec![stream],
            load: self.duration.map_or_else(LoadDoc::default, lasting),
            ..Document::default()
        }
    }

    fn tx(&self) -> PortDoc {
        PortDoc {
            ip: self.ip.clone().map(OneOrMany::One),
            gateway: self.gateway.clone().map(OneOrMany::One),
            ..self.port(&self.port)
        }
    }

    fn rx(&self, device: &str) -> PortDoc {
        let emulated = || {
            let prefix_len = self.ip.as_ref()?.0.prefix_len;
            Some(IpPrefix(Address { ip: self.dst?, prefix_len }))
        };
        PortDoc { ip: self.to_ip.clone().or_else(emulated).map(OneOrMany::One), ..self.port(device) }
    }

    /// Settings common to both ports.
    fn port(&self, device: &str) -> PortDoc {
        PortDoc {
            vlan: self.vlan.map(OneOrMany::One),
            allow_default_route: self.allow_default_route,
            ..PortDoc::new(device)
        }
    }

    fn packet(&self) -> Vec<PacketElement> {
        let own = |address: &Option<IpPrefix>| address.as_ref().map(|address| address.0.ip);
        let addresses = [self.dst, self.src, own(&self.to_ip), own(&self.ip)];
        let is_ipv6 = addresses.into_iter().flatten().next().is_some_and(|address| address.is_ipv6());
        let (network, echo) = if is_ipv6 { ("ipv6", "icmpv6") } else { ("ipv4", "icmp") };
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
            Transport::Icmp => echo,
        };
        let text = |value: String| Some(FieldValue::Text(value));
        let port = |port: Option<u16>| port.map(|port| FieldValue::Number(port.into()));
        vec![
            header("ethernet", [("dst", self.dst_mac.as_ref().and_then(|mac| text(mac.to_string())))]),
            header(
                network,
                [("src", self.src), ("dst", self.dst)]
                    .map(|(key, ip)| (key, ip.and_then(|ip| text(ip.to_string())))),
            ),
            header(transport, [("src", port(self.sport)), ("dst", port(self.dport))]),
        ]
    }
}

impl ListenOptions {
    /// The profile.
    pub fn document(&self) -> Document {
        let capture = self.file.as_ref().map(|file| CaptureDoc {
            filter: self.filter.clone(),
            snap: self.snap.clone(),
            rotate_size: self.rotate_size.clone(),
            rotate_time: self.rotate_time.map(Duration),
            files: self.files,
            ring: self.ring.clone(),
            ..CaptureDoc::new(file)
        });
        let port = PortDoc {
            ip: self.ip.clone().map(OneOrMany::One),
            capture,
            timestamps: self.timestamps,
            allow_default_route: self.allow_default_route,
            ..PortDoc::new(&self.port)
        };
        let load =
            self.duration.map(|duration| LoadDoc { drain: Duration(Nanos::ZERO), ..lasting(duration) });
        Document {
            ports: IndexMap::from([("rx".to_owned(), port)]),
            load: load.unwrap_or_default(),
            ..Document::default()
        }
    }
}

impl ReplayOptions {
    /// The profile.
    pub fn document(&self) -> Document {
        let port =
            |device: &str| PortDoc { allow_default_route: self.allow_default_route, ..PortDoc::new(device) };
        let mut ports = IndexMap::from([("tx".to_owned(), port(&self.port))]);
        ports.extend(self.to.as_deref().map(|device| ("rx".to_owned(), port(device))));
        let mut rewrite: IndexMap<String, Vec<FieldValue>> = IndexMap::new();
        for (field, value) in &self.rewrite {
            rewrite.entry(field.clone()).or_default().push(FieldValue::Text(value.clone()));
        }
        let replay = ReplayDoc {
            speed: self.speed.clone(),
            loops: self.loops,
            loop_addresses: self.loop_addresses.then_some(LoopAddressesForm::Default(true)),
            split: self.split.then_some(SplitDoc::Word(SplitWord::FirstSource)),
            rewrite: rewrite.into_iter().map(|(field, values)| (field, OneOrMany::Many(values))).collect(),
            push_vlan: self.push_vlan,
            pop_vlan: self.pop_vlan,
            ..ReplayDoc::new(&self.file)
        };
        let stream = StreamDoc {
            replay: Some(replay),
            rate: self.rate.map(rate),
            ..stream("replay", self.to.is_some())
        };
        // The run ends with the file; a day is longer than any of them is sent.
        let duration = self.duration.unwrap_or(Nanos::from_secs(24 * 3600));
        let load = LoadDoc { drain: Duration(Nanos::from_millis(100)), ..lasting(duration) };
        Document { ports, streams: vec![stream], load, ..Document::default() }
    }
}

/// The one stream, from `tx` and, if it is received here, to `rx`.
fn stream(name: &str, is_received: bool) -> StreamDoc {
    StreamDoc { to: is_received.then(|| "rx".to_owned()), ..StreamDoc::new(Name(name.to_owned()), "tx") }
}

fn rate(load: Load) -> StreamRate {
    StreamRate(LoadPer { load, flow: false })
}

fn lasting(duration: Nanos) -> LoadDoc {
    LoadDoc { duration: Duration(duration), ..LoadDoc::default() }
}

/// `udp`, or `{udp: {…}}` if a field is set.
fn header<const N: usize>(name: &str, fields: [(&str, Option<FieldValue>); N]) -> PacketElement {
    let fields: IndexMap<String, FieldValue> =
        fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    match fields.is_empty() {
        true => PacketElement::Bare(name.to_owned()),
        false => PacketElement::Keyed(IndexMap::from([(name.to_owned(), Content::Fields(fields))])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;
    use crate::plan::NextHop;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn read<T: std::str::FromStr>(text: &str) -> Option<T> {
        Some(text.parse().unwrap_or_else(|_| panic!("{text}")))
    }

    fn loaded(document: &Document) -> crate::Plan {
        let text = document.to_yaml();
        load(&text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
    }

    fn options() -> SendOptions {
        SendOptions {
            port: "veth0".to_owned(),
            ip: read("10.0.0.1/24"),
            dst: read("10.0.0.2"),
            dport: Some(9),
            size: FrameLen::new(64),
            rate: "1Mpps".parse().ok(),
            duration: Some(Nanos::from_secs(30)),
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
load: {duration: 30s}
";
        assert_eq!(options().document().to_yaml(), expected);
    }

    #[test]
    fn what_it_prints_loads() {
        let plan = loaded(&options().document());
        assert_eq!(plan.streams[0].next_hop, NextHop::Resolve("10.0.0.2".parse().unwrap()));
        let options = SendOptions {
            port: "memif:/run/x.sock,server".to_owned(),
            to: some("vdev:net_ring0, \"odd\""),
            ip: read("2001:2::1/64"),
            gateway: read("2001:2::ff"),
            src: read("2001:2::7"),
            dst: read("2001:2:0:1::"),
            dst_mac: read("02:00:00:00:00:01"),
            transport: Transport::Icmp,
            dport: None,
            vlan: Some(VlanId(100)),
            size: None,
            count: Some(5),
            allow_default_route: true,
            ..options()
        };
        let plan = loaded(&options.document());
        assert_eq!(plan.ports[1].device, "vdev:net_ring0, \"odd\"");
        assert_eq!((plan.streams[0].next_hop, plan.streams[0].count), (NextHop::Given, Some(5)));
        assert_eq!(plan.streams[0].packet.headers.len(), 4);
    }

    #[test]
    fn an_address_out_of_reach_is_an_error_of_the_profile() {
        let options = SendOptions { dst: read("10.9.0.1"), ..options() };
        let errors = load(&options.document().to_yaml()).unwrap_err();
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["streams[0].packet[1]"]);
    }

    #[test]
    fn the_receiving_port_gives_the_destination() {
        let options = SendOptions { to: some("veth1"), to_ip: read("10.0.0.7/24"), dst: None, ..options() };
        let plan = loaded(&options.document());
        assert_eq!(plan.streams[0].next_hop, NextHop::Resolve("10.0.0.7".parse().unwrap()));
        let without = SendOptions { to_ip: None, dst: read("10.0.0.2"), ..options };
        let plan = loaded(&without.document());
        assert_eq!(plan.ports[1].own().addresses[0].ip.to_string(), "10.0.0.2");
    }

    #[test]
    fn a_port_that_listens_has_no_streams() {
        let options = ListenOptions {
            port: "veth0".to_owned(),
            file: some("out.pcapng"),
            filter: some("udp port 53"),
            snap: read("128B"),
            duration: Some(Nanos::from_secs(3)),
            ..ListenOptions::default()
        };
        let plan = loaded(&options.document());
        let capture = plan.ports[0].capture.as_ref().unwrap();
        assert_eq!((capture.file.as_str(), capture.snap_bytes, plan.streams.len()), ("out.pcapng", 128, 0));
    }

    #[test]
    fn a_replay_says_what_it_rewrites() {
        let options = ReplayOptions {
            file: "in.pcap".to_owned(),
            port: "veth0".to_owned(),
            speed: read("2x"),
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
load: {duration: 86400s, drain: 100ms}
";
        assert_eq!(options.document().to_yaml(), expected);
    }
}
