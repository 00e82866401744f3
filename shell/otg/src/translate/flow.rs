//! Translates a flow to streams of a profile.

use super::ports::{Endpoint, Ports};
use super::timing::{Duration, Given, Sizes, nanos, rate, sizes, stream_rate};
use super::{EgressTag, FlowPlan, StreamPlan};
use crate::node::Node;
use crate::packet::{Packet, TaggedBits};
use profile::document::{
    self, Content, FieldValue, GeneratorDoc, MeasureDoc, Name, OneOrMany, PacketElement, StreamDoc, VaryDoc,
};
use profile::plan::{EGRESS_BITS_MAX, EGRESS_VALUES_MAX};
use std::collections::HashSet;
use units::{FrameLen, Load};
use wire::signature;

/// Streams of a flow.
pub(super) const STREAMS_MAX: usize = 4096;

/// Sender and receiver of frames.
struct Pair {
    from: Endpoint,
    to: Option<Endpoint>,
    /// Other ports at which frames count as received.
    also: Vec<usize>,
}

/// Reads the flow number `index`; its streams go into `documents`.
pub(super) fn flow(
    node: &Node<'_>,
    index: usize,
    ports: &Ports,
    documents: &mut Vec<StreamDoc>,
) -> Option<FlowPlan> {
    let name = node.text("name").to_owned();
    let (mut pairs, between_devices) = pairs(node, ports)?;
    let absent = Absent::of(node);
    if between_devices {
        share_receivers(&mut pairs, ports, &absent);
    }
    let metrics = Metrics::read(node);
    let mut packet = Packet::read(node, between_devices);
    packet.put_in_order(node);
    let extra = if metrics.enable { signature::LEN } else { 0 };
    let sizes = sizes(node, packet.shortest(extra));
    let fill = payload(node, &mut packet, &sizes, extra);
    if packet.spoil(sizes.shortest) && (metrics.enable || sizes.one.is_none()) {
        node.warn_at(
            "packet",
            "the bad checksum is a fixed value: of varying packets, one in 65536 has a correct checksum",
        );
    }
    let branches = packet.branches(node);
    let parts = pairs.len() * branches.len();
    let egress = egress(node, &packet, parts);
    if parts > STREAMS_MAX {
        node.fail(format!("makes {parts} streams: at most {STREAMS_MAX}"));
        return None;
    }
    let rate = rate(node);
    let speed = ports.speed(pairs.first()?.from.port);
    let given = Given { rate, size: sizes.one, speed, parts: parts as u64 };
    let duration = Duration::read(node, &given);
    if duration.packets.is_some_and(|packets| packets < parts as u64) {
        node.fail_at("duration", format!("must have at least one packet per stream of the flow ({parts})"));
    }
    let mut plan = FlowPlan {
        name,
        tx_port: ports.name(pairs.first()?.from.port).to_owned(),
        rx_ports: receivers(&pairs).into_iter().map(|port| ports.name(port).to_owned()).collect(),
        enabled: metrics.enable,
        loss: metrics.loss,
        latency: metrics.latency,
        cut_through: metrics.cut_through,
        frame_bytes: sizes.one.map(FrameLen::bytes),
        timestamps: metrics.timestamps,
        packets: duration.in_all,
        ends_at_s: duration.ends_at_s,
        egress: egress.iter().map(|bits| EgressTag { name: bits.name.clone(), width: bits.width }).collect(),
        streams: Vec::new(),
    };
    if metrics.cut_through && sizes.one.is_none() {
        node.child("metrics").child("latency").warn_at(
            "mode",
            "frames have several lengths: from the minimum and the maximum the time of a mean frame on the link is taken off",
        );
    }
    let shared = Shared {
        sizes: &sizes,
        rate,
        duration: &duration,
        measure: metrics.enable,
        fill: &fill,
        egress: &egress,
        is_v4: absent.header.map(|header| header == "ipv4"),
    };
    for pair in &pairs {
        ports.check_mtu(node, pair.from, sizes.longest);
        for branch in &branches {
            ports.check_vlan(node, pair.from, is_resolved(&branch.document().0));
            let number = plan.streams.len();
            let stream = format!("flow{index}-{number}");
            let (mut elements, mut vary) = branch.document();
            absent.fill(node, pair.from, "src", ports, &mut elements, &mut vary);
            if let Some(to) = pair.to {
                absent.fill(node, to, "dst", ports, &mut elements, &mut vary);
            }
            elements.extend(shared.fill.iter().cloned());
            let part = StreamPart { name: &stream, pair, number: number as u64, parts: parts as u64 };
            documents.push(shared.document(&part, elements, vary, ports));
            let paths = paths(pair, &pairs, ports);
            plan.streams.push(StreamPlan { name: stream, tags: branch.tags.clone(), paths });
        }
    }
    Some(plan)
}

/// Settings common to all streams of a flow.
struct Shared<'a> {
    sizes: &'a Sizes,
    rate: Load,
    duration: &'a Duration,
    measure: bool,
    fill: &'a [PacketElement],
    egress: &'a [TaggedBits],
    /// Whether the outermost IP header is one of IPv4; `None` without one.
    is_v4: Option<bool>,
}

/// One stream of a flow.
struct StreamPart<'a> {
    name: &'a str,
    pair: &'a Pair,
    number: u64,
    parts: u64,
}

impl Shared<'_> {
    fn document(
        &self,
        part: &StreamPart<'_>,
        packet: Vec<PacketElement>,
        vary: Vec<(String, VaryDoc)>,
        ports: &Ports,
    ) -> StreamDoc {
        let (from, to) = (part.pair.from, part.pair.to);
        // The first streams send what does not divide evenly.
        let count = |packets: u64| packets / part.parts + u64::from(part.number < packets % part.parts);
        let rate = stream_rate(self.rate, part.parts);
        StreamDoc {
            to: to.map(|to| ports.key(to.port)),
            // Only packets with a signature are looked for at several ports.
            also_to: (self.measure && !part.pair.also.is_empty())
                .then(|| OneOrMany::Many(part.pair.also.iter().map(|port| ports.key(*port)).collect())),
            egress: (self.measure && !self.egress.is_empty()).then(|| {
                let bits = |bits: &TaggedBits| format!("bits[{}..{}]", bits.offset, bits.offset + bits.width);
                OneOrMany::Many(self.egress.iter().map(bits).collect())
            }),
            from_host: ports.host_key(from, is_resolved(&packet)),
            to_host: to.filter(|to| to.host.is_some()).and_then(|to| ports.host_key(to, false)),
            // Routes are behind the device, whatever networks it has itself.
            next_hop: to
                .filter(|to| to.routes.is_some() && is_resolved(&packet))
                .and_then(|_| ports.gateway(from, self.is_v4?)),
            packet,
            size: Some(self.sizes.document.clone()),
            vary: vary.into_iter().collect(),
            rate: Some(rate),
            duration: self.duration.time.map(document::Duration),
            pattern: self.duration.pattern.clone(),
            count: self.duration.packets.map(count),
            start_delay: document::Duration(nanos(self.duration.delay_ns)),
            measure: (!self.measure).then_some(MeasureDoc::Signature(false)),
            ..StreamDoc::new(Name(part.name.to_owned()), ports.key(from.port))
        }
    }
}

/// Addresses that a flow's outermost IP header leaves to its devices.
struct Absent {
    /// The header: `ipv4` or `ipv6`; none without one.
    header: Option<&'static str>,
    src: bool,
    dst: bool,
    /// Those of them that are to be leased.
    leased: [bool; 2],
}

impl Absent {
    fn of(flow: &Node<'_>) -> Self {
        let is_leased = |header: &Node<'_>, side: &str| {
            let side = header.child(side);
            side.is_given() && side.child_is_message("auto") && side.choice() == "auto"
        };
        let mut found = Self { header: None, src: false, dst: false, leased: [false; 2] };
        for header in flow.items("packet") {
            let Some(name) = ["ipv4", "ipv6"].into_iter().find(|name| header.choice() == *name) else {
                continue;
            };
            let inner = header.child(name);
            let leased = ["src", "dst"].map(|side| is_leased(&inner, side));
            if found.header.is_none() {
                let [src, dst] = ["src", "dst"].map(|side| !inner.child(side).is_given());
                found = Self { header: Some(name), src: src || leased[0], dst: dst || leased[1], leased };
            } else if leased.contains(&true) {
                inner.fail("not supported: leased addresses of an inner header");
            }
        }
        found
    }

    /// Lets an absent address go through the prefixes of a range of routes.
    fn fill(
        &self,
        flow: &Node<'_>,
        end: Endpoint,
        side: &str,
        ports: &Ports,
        elements: &mut [PacketElement],
        vary: &mut Vec<(String, VaryDoc)>,
    ) {
        let is_absent = if side == "src" { self.src } else { self.dst };
        let Some(header) = self.header.filter(|_| is_absent) else { return };
        let is_leased = self.leased[usize::from(side == "dst")];
        if is_leased && end.client.is_none() {
            let reason = format!("{header}.{side}.auto: not supported: there is no DHCP client at this end");
            return flow.fail_at("packet", reason);
        }
        if end.client.is_some() && side == "dst" {
            return flow
                .fail_at("packet", format!("needs {header}.dst: leased addresses are used as sources only"));
        }
        let is_header = |element: &&mut PacketElement| matches!(element, PacketElement::Keyed(headers) if headers.contains_key(header));
        let Some(PacketElement::Keyed(headers)) = elements.iter_mut().find(is_header) else { return };
        let Some(Content::Fields(fields)) = headers.get_mut(header) else { return };
        if end.client.is_some() {
            // Those of the leases are filled in.
            fields.shift_remove(side);
            return;
        }
        let Some(spans) = end.routes.map(|number| &ports.spans[number]) else { return };
        let [span] = &spans[..] else {
            return flow
                .fail_at("packet", format!("needs {header}.{side}: the range of routes has several parts"));
        };
        if span.first.is_ipv4() != (header == "ipv4") {
            return flow.fail_at(
                "packet",
                format!("needs {header}.{side}: the range of routes is of the other family"),
            );
        }
        let (first, step) = span.hosts();
        fields.insert(side.to_owned(), FieldValue::Text(first.to_string()));
        if span.count > 1 {
            let generator = GeneratorDoc {
                from: Some(FieldValue::Text(first.to_string())),
                step: Some(step),
                count: Some(span.count.into()),
                ..GeneratorDoc::default()
            };
            vary.push((format!("{header}[0].{side}"), VaryDoc::Generator(Box::new(generator))));
        }
    }
}

/// Whether the packet's destination MAC address is to be resolved.
fn is_resolved(packet: &[PacketElement]) -> bool {
    let Some(first) = packet.first() else { return false };
    let PacketElement::Keyed(headers) = first else { return true };
    match headers.get("ethernet") {
        Some(Content::Fields(fields)) => !fields.contains_key("dst"),
        _ => true,
    }
}

/// Requested metrics of a flow.
struct Metrics {
    enable: bool,
    loss: bool,
    latency: bool,
    /// Whether the time of a frame on the link is no part of latency.
    cut_through: bool,
    timestamps: bool,
}

impl Metrics {
    fn read(flow: &Node<'_>) -> Self {
        let node = flow.child("metrics");
        let latency = node.child("latency");
        let wanted = latency.flag("enable");
        let cut_through = latency.text("mode") == "cut_through" && wanted;
        let timestamps = node.flag("timestamps");
        Self {
            enable: node.flag("enable"),
            loss: node.flag("loss"),
            latency: wanted,
            cut_through,
            timestamps,
        }
    }
}

/// The tagged bits of received frames, of a flow of this number of streams.
fn egress(flow: &Node<'_>, packet: &Packet, streams: usize) -> Vec<TaggedBits> {
    let fail = |reason: String| flow.fail_at("egress_packet", reason);
    let tags = Packet::read_egress(flow).map(|egress| egress.tagged_bits()).unwrap_or_default();
    let mut names: HashSet<&str> = packet.tag_names().collect();
    for tag in tags.iter().filter(|tag| !names.insert(&tag.name)) {
        fail(format!("two metric_tags of the flow have the name '{}'", tag.name));
    }
    let bits: usize = tags.iter().map(|tag| tag.width).sum();
    if bits > EGRESS_BITS_MAX.into() {
        fail(format!("its metric_tags have {bits} bits: at most {EGRESS_BITS_MAX} in all"));
    } else if !tags.is_empty() && streams << bits > EGRESS_VALUES_MAX {
        let reason = format!("{streams} streams with metric_tags of {bits} bits in egress_packet");
        fail(format!("{reason} have more than {EGRESS_VALUES_MAX} values"));
    }
    tags
}

/// Sending and receiving endpoints, and whether they are devices.
fn pairs(flow: &Node<'_>, ports: &Ports) -> Option<(Vec<Pair>, bool)> {
    let node = flow.child("tx_rx");
    if node.choice() == "device" {
        let pairs = device_pairs(&node.child("device"), ports);
        return (!pairs.is_empty()).then_some((pairs, true));
    }
    let node = node.child("port");
    let find = |name: &str, port: &str| {
        let found = ports.find(port);
        if found.is_none() {
            node.fail_at(name, format!("unknown port '{port}'"));
        }
        found
    };
    let from = find("tx_name", node.text("tx_name"));
    let mut receivers = node.texts("rx_names");
    if node.has("rx_name") {
        receivers.push(node.text("rx_name"));
    }
    let field = if node.has("rx_names") { "rx_names" } else { "rx_name" };
    let mut found: Vec<usize> = Vec::new();
    for receiver in receivers {
        let port = find(field, receiver)?;
        if !found.contains(&port) {
            found.push(port);
        }
    }
    let mut found = found.into_iter();
    let to = found.next().map(Endpoint::of_port);
    Some((vec![Pair { from: Endpoint::of_port(from?), to, also: found.collect() }], false))
}

/// The ports at which frames count as received, each once.
fn receivers(pairs: &[Pair]) -> Vec<usize> {
    let mut all = Vec::new();
    for port in
        pairs.iter().flat_map(|pair| pair.to.map(|to| to.port).into_iter().chain(pair.also.iter().copied()))
    {
        if !all.contains(&port) {
            all.push(port);
        }
    }
    all
}

/// Counts frames between devices at the ports of all receivers for which they are the same: receivers with the same
/// routes, or all if the packet defines its destination. The network decides which of them gets one.
fn share_receivers(pairs: &mut [Pair], ports: &Ports, absent: &Absent) {
    let is_written = absent.header.is_some() && !absent.dst;
    let ends: Vec<(Endpoint, Option<Endpoint>)> = pairs.iter().map(|pair| (pair.from, pair.to)).collect();
    for pair in pairs {
        let Some(own) = pair.to else { continue };
        let spans = |end: Endpoint| end.routes.map(|number| &ports.spans[number]);
        for (_, other) in ends.iter().filter(|(from, _)| *from == pair.from) {
            let Some(other) = other.filter(|other| other.port != own.port) else { continue };
            let has_same_routes = spans(own).is_some() && spans(own) == spans(other);
            if (is_written || has_same_routes) && !pair.also.contains(&other.port) {
                pair.also.push(other.port);
            }
        }
    }
}

/// The ranges of routes that packets of a pair may take, with the ports behind which they are; none if there is one path.
fn paths(pair: &Pair, pairs: &[Pair], ports: &Ports) -> Vec<(String, String)> {
    let Some(own) = pair.to.filter(|_| !pair.also.is_empty()) else { return Vec::new() };
    let spans = |end: &Endpoint| end.routes.map(|number| &ports.spans[number]);
    let ends = pairs.iter().filter(|other| other.from == pair.from).filter_map(|other| other.to);
    let same = ends.filter(|end| spans(end).is_some() && spans(end) == spans(&own));
    same.filter_map(|end| Some((ports.ranges[end.routes?].clone(), ports.key(end.port)))).collect()
}

fn device_pairs(node: &Node<'_>, ports: &Ports) -> Vec<Pair> {
    let find = |name: &str| -> Vec<Endpoint> {
        let find = |device: &&str| ports.find_endpoint(device).map_err(|why| node.fail_at(name, why)).ok();
        node.texts(name).iter().filter_map(find).collect()
    };
    let (tx, rx) = (find("tx_names"), find("rx_names"));
    let mut pairs: Vec<Pair> = match node.text("mode") {
        "one_to_one" => {
            if tx.len() != rx.len() {
                node.fail_at("mode", "one_to_one requires as many rx_names as tx_names");
            }
            tx.iter()
                .zip(&rx)
                .map(|(from, to)| Pair { from: *from, to: Some(*to), also: Vec::new() })
                .collect()
        }
        _ => {
            let pair = |from| rx.iter().map(move |to| Pair { from, to: Some(*to), also: Vec::new() });
            tx.iter().flat_map(|from| pair(*from)).collect()
        }
    };
    if node.flag("bidirectional") {
        let back: Vec<Pair> = pairs
            .iter()
            .filter_map(|p| Some(Pair { from: p.to?, to: Some(p.from), also: Vec::new() }))
            .collect();
        pairs.extend(back);
    }
    if pairs.iter().any(|pair| pair.from.port != pairs[0].from.port) {
        node.fail("not supported: use one flow per sending port");
    }
    // The clients of a port send one stream, in turn.
    if let Some(first) = pairs.first().map(|pair| pair.from).filter(|from| from.client.is_some()) {
        let named = |number| pairs.iter().any(|pair| pair.from.client == Some(number));
        if !(0..ports.sides[first.port].clients.len()).all(named) {
            node.fail_at("tx_names", "not supported: some of the DHCP clients of a port; name all of them");
        }
        pairs.retain(|pair| pair.from.client.is_none_or(|number| number == 0));
    }
    pairs
}

/// The flow's payload: bytes into the packet, or elements after its headers that fill frames of any length.
fn payload(flow: &Node<'_>, packet: &mut Packet, sizes: &Sizes, extra: usize) -> Vec<PacketElement> {
    let node = flow.child("payload");
    let choice = node.choice();
    let room = (sizes.longest.without_fcs() as usize + FrameLen::MIN.without_fcs() as usize)
        .saturating_sub(packet.shortest(0).without_fcs() as usize)
        .min(sizes.longest.without_fcs() as usize);
    let bytes: Vec<u8> = match choice {
        "increment_byte" => return vec![PacketElement::with_text("fill", "counter")],
        "fixed" => {
            let fixed = node.child("fixed");
            let (pattern, repeat) = (fixed.bytes("pattern"), fixed.flag("repeat"));
            if pattern.iter().all(|byte| *byte == 0) {
                return Vec::new();
            }
            match text(&pattern).filter(|_| repeat) {
                Some(text) => {
                    let repeat = ("repeat".to_owned(), FieldValue::Text(text));
                    return vec![PacketElement::with_fields("fill", [repeat])];
                }
                None if repeat => pattern.iter().copied().cycle().take(room).collect(),
                None => pattern,
            }
        }
        "decrement_byte" => (0..room).map(|at| 0xff - at as u8).collect(),
        "increment_word" => (0..room).map(|at| ((at / 2) as u16).to_be_bytes()[at % 2]).collect(),
        _ => (0..room).map(|at| (0xffff - (at / 2) as u16).to_be_bytes()[at % 2]).collect(),
    };
    let mut bytes = bytes;
    fit(&node, packet, sizes, &mut bytes, extra);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    packet.payload = bytes;
    if hex.is_empty() { Vec::new() } else { vec![PacketElement::with_text("hex", hex)] }
}

/// Cuts a payload that is written out to what the frames have room for, which must all be of one length then.
fn fit(node: &Node<'_>, packet: &Packet, sizes: &Sizes, bytes: &mut Vec<u8>, extra: usize) {
    let Some(size) = sizes.one else {
        node.fail_at(node.choice(), "requires a fixed frame size");
        return;
    };
    let holds = |length: usize| {
        let mut trial = packet.clone();
        trial.payload = vec![0; length];
        trial.shortest(extra) <= size
    };
    while !bytes.is_empty() && !holds(bytes.len()) {
        bytes.pop();
    }
}

/// Bytes that are a text of printable ASCII, which a profile can repeat.
fn text(bytes: &[u8]) -> Option<String> {
    let printable = bytes.iter().all(|byte| byte.is_ascii_graphic());
    printable.then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
}
