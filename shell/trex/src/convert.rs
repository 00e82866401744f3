//! A document's streams as the text of a profile.

use crate::chain::{Link, label, links};
use crate::clients::Groups;
use crate::document::{Document, FlowStats, Mode, Named};
use crate::multiplier::{Multiplier, Unit};
use crate::named::{self, Style};
use crate::stf::Sides;
use crate::stream::{MARK, MARK_LATENCY, Sender, mark, micros};
use crate::yaml::Node;
use crate::{Errors, activity, astf, stf};

/// Bytes of the signature at the end of a measured frame.
const SIGNATURE: usize = 18;

/// Options of a translation.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The ports, in order.
    pub ports: Vec<PortOptions>,
    /// Option `-m`.
    pub multiplier: Multiplier,
    /// Seconds; without it the run's own option decides.
    pub duration_s: Option<f64>,
    /// Speed of the links.
    pub speed_bps: Option<f64>,
    /// Sessions that are open at the end are not waited for.
    pub no_close: bool,
    /// Groups of clients: option `--cc`.
    pub groups: Option<Groups>,
    /// Prefix of stream names.
    pub prefix: String,
    /// From which ports flows of templates are sent.
    pub sides: Sides,
    /// IPv4 becomes IPv6: option `--ipv6`.
    pub ipv6: bool,
    /// For TRex's simulator: MAC addresses as it has them, groups marked, nothing measured.
    pub simulated: bool,
}

/// A port of the profile.
#[derive(Debug, Clone)]
pub struct PortOptions {
    /// Its number in TRex.
    pub number: u8,
    /// Its name in the profile.
    pub name: String,
    /// Its device.
    pub device: String,
    /// More of its keys: `ip`, `gateway`, `mac`.
    pub more: Vec<(String, String)>,
}

/// A profile.
pub struct Conversion {
    /// Its text.
    pub text: String,
    /// Number of streams.
    pub streams: usize,
    /// Streams of each port, and their factor.
    pub(crate) ports: Vec<(Vec<Sender>, f64)>,
}

/// Translates a document.
///
/// # Errors
/// All unsupported parts, each with port and stream.
pub fn convert(document: &Document, options: &Options) -> Result<Conversion, Errors> {
    if document.schema != crate::document::SCHEMA {
        return Err(Errors::one(format!("not a document of {}", crate::document::SCHEMA)));
    }
    if let Some(error) = &document.error {
        return Err(Errors::one(error.clone()));
    }
    if document.templates.is_none() && options.sides != Sides::Apart {
        return Err(Errors::one("-p, --flip and -e are for templates of flows (STF)"));
    }
    if let Some(profile) = &document.profile {
        return astf::convert(profile, &source(document), options);
    }
    if options.groups.is_some() {
        return Err(Errors::one("--cc: groups of clients are for stateful profiles (ASTF)"));
    }
    if let Some(templates) = &document.templates {
        return stf::convert(templates, &source(document), options);
    }
    if options.ipv6 {
        return Err(Errors::one(
            "--ipv6: streams are sent as the profile builds them; it is for templates of flows and stateful profiles",
        ));
    }
    let mut maker = Maker { options, marks: Vec::new(), errors: Vec::new(), notes: Vec::new() };
    let (mut items, mut ports) = (Vec::new(), Vec::new());
    for port in &options.ports {
        let streams = document.ports.get(&port.number).map_or(&[][..], Vec::as_slice);
        let (senders, factor) = maker.senders(port, streams);
        items.extend(senders.iter().map(|sender| maker.stream(port, sender, &senders, factor)));
        ports.push((senders, factor));
    }
    if !maker.errors.is_empty() {
        return Err(Errors(maker.errors));
    }
    let count = items.len();
    let mut pairs = vec![("ports".to_owned(), ports_of(options))];
    if !items.is_empty() {
        pairs.push(("streams".to_owned(), Node::Items(items)));
    }
    let mut load = Vec::new();
    load.extend(options.duration_s.map(|duration| ("duration".to_owned(), Node::text(time(duration * 1e9)))));
    // Beginnings that the profile sets are kept to the nanosecond.
    let is_timed = |sender: &Sender| sender.isg_us > 0.0 || sender.next.is_some();
    if options.simulated || ports.iter().flat_map(|(senders, _)| senders).any(is_timed) {
        load.push(("stagger".to_owned(), Node::text("false")));
    }
    if !load.is_empty() {
        pairs.push(("load".to_owned(), Node::Line(load)));
    }
    pairs.extend(maker.groups(&ports));
    let mut text =
        format!("# Sends what {} sends on TRex; made by 'eagre trex convert'.\n", source(document));
    for note in &maker.notes {
        text.push_str(&format!("# {note}\n"));
    }
    Node::Block(pairs).print(0, &mut text);
    Ok(Conversion { text, streams: count, ports })
}

/// The source's name on one line.
fn source(document: &Document) -> String {
    let name = document.source.rsplit('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    if name.is_empty() { "the profile".to_owned() } else { name }
}

/// The ports of a profile.
pub(crate) fn ports_of(options: &Options) -> Node {
    let port = |port: &PortOptions| {
        let mut pairs = vec![("device".to_owned(), Node::text(&port.device))];
        pairs.extend(port.more.iter().map(|(key, value)| (key.clone(), Node::text(value))));
        if let Some(speed) = options.speed_bps {
            pairs.push(("speed".to_owned(), Node::text(format!("{}bps", speed.round()))));
        }
        (port.name.clone(), Node::Line(pairs))
    };
    Node::Block(options.ports.iter().map(port).collect())
}

struct Maker<'a> {
    options: &'a Options,
    /// Groups that are counted, in the order of their first use.
    marks: Vec<u64>,
    errors: Vec<String>,
    notes: Vec<String>,
}

impl Maker<'_> {
    fn senders(&mut self, port: &PortOptions, streams: &[Named]) -> (Vec<Sender>, f64) {
        let mut prefix = self.options.prefix.clone();
        if self.options.ports.len() > 1 {
            prefix.push_str(&format!("p{}-", port.number));
        }
        let (links, notes) = match links(streams, &prefix) {
            Ok(found) => found,
            Err(errors) => {
                self.errors.extend(errors.into_iter().map(|error| format!("port {}: {error}", port.number)));
                return (Vec::new(), 1.0);
            }
        };
        self.notes.extend(notes.into_iter().map(|note| format!("port {}: {note}", port.number)));
        let mut senders = Vec::new();
        for (index, Link { named, name, next }) in links.iter().enumerate() {
            match Sender::read(named, index, name.clone(), *next, self.options.speed_bps) {
                Ok(mut sender) => {
                    self.mark(&mut sender, &named.stream.flow_stats);
                    senders.push(sender);
                }
                Err(errors) => {
                    let place = format!("port {}, stream '{}'", port.number, label(named));
                    self.errors.extend(errors.into_iter().map(|error| format!("{place}: {error}")));
                }
            }
        }
        if !self.errors.is_empty() {
            return (Vec::new(), 1.0);
        }
        let factor = self.factor(port, &senders).unwrap_or_else(|error| {
            self.errors.push(format!("port {}: {error}", port.number));
            1.0
        });
        (senders, factor)
    }

    /// Marks a stream that is counted, as TRex's simulator does.
    fn mark(&mut self, sender: &mut Sender, stats: &FlowStats) {
        // Packets of tagged groups have no mark.
        let marked = sender.group.filter(|_| self.options.simulated && !sender.is_tagged);
        let Some((group, latency)) = marked else { return };
        if latency {
            mark(&mut sender.frame, MARK_LATENCY);
            return;
        }
        if !self.marks.contains(&stats.stream_id) {
            self.marks.push(group);
        }
        let number = self.marks.iter().position(|have| *have == group).unwrap_or(0);
        mark(&mut sender.frame, MARK + number as u32);
    }

    /// The factor of a port's rates.
    fn factor(&self, port: &PortOptions, senders: &[Sender]) -> Result<f64, String> {
        let Multiplier { value, unit } = self.options.multiplier;
        let weight = |sender: &Sender| match unit {
            Unit::Factor => 0.0,
            Unit::Pps => sender.pps(),
            Unit::BpsL2 => sender.pps() * (sender.length() + 4.0) * 8.0,
            Unit::Percent | Unit::BpsL1 => sender.pps() * (sender.length() + 24.0) * 8.0,
        };
        let target = match unit {
            Unit::Factor => return Ok(value),
            Unit::Percent => {
                let speed = self.options.speed_bps;
                value / 100.0
                    * speed.ok_or("a share of the link: give the link's speed with --speed 10Gbps")?
            }
            _ => value,
        };
        let (scaled, fixed) = activity::peak(&activity::spans(senders, 1.0), senders, weight);
        if senders.is_empty() {
            return Ok(1.0);
        }
        if scaled <= 0.0 || target <= fixed {
            return Err(format!(
                "the streams of port {} cannot be brought to this rate: latency streams keep theirs",
                port.number
            ));
        }
        Ok((target - fixed) / scaled)
    }

    fn stream(&self, port: &PortOptions, sender: &Sender, all: &[Sender], factor: f64) -> Node {
        let mut pairs =
            vec![("name".to_owned(), Node::text(&sender.name)), ("from".to_owned(), Node::text(&port.name))];
        let peer = self.options.ports.iter().find(|other| other.number == port.number ^ 1);
        pairs.extend(peer.map(|peer| ("to".to_owned(), Node::text(&peer.name))));
        let program = &sender.program;
        let group = sender.group.filter(|_| !self.options.simulated);
        // Latency needs a signature; what is only counted keeps its payload.
        let counted = group.filter(|(_, has_latency)| *has_latency);
        let is_marked = group.is_some() && counted.is_none();
        let fields = sender.fields.as_ref().filter(|_| !self.options.simulated && !is_marked);
        let style = Style {
            keeps_source: sender.keeps_source,
            keeps_destination: sender.keeps_destination,
            keeps_sums: counted.is_none(),
            signature: if counted.is_some() { SIGNATURE } else { 0 },
        };
        match (counted, fields) {
            (Some(_), _) => {
                pairs.push(("packet".to_owned(), named::packet(&sender.frame, style)));
            }
            (None, Some(_)) => {
                pairs.push(("packet".to_owned(), named::packet(&sender.frame, style)));
                pairs.push(("measure".to_owned(), Node::text("false")));
            }
            (None, None) => pairs.push(("frame".to_owned(), self.frame(port, sender))),
        }
        if is_marked {
            pairs.push(("measure".to_owned(), Node::text("mark")));
        }
        let kind = if sender.is_tagged { "tpg" } else { "pg" };
        pairs.extend(group.map(|(group, _)| ("tag".to_owned(), Node::text(format!("{kind}{group}")))));
        match &program.size {
            Some((size, _)) => pairs.push(("size".to_owned(), size.clone())),
            None if counted.is_some() || fields.is_some() => {
                pairs.push(("size".to_owned(), Node::text(format!("{}B", sender.frame.len() + 4))));
            }
            None => {}
        }
        if program.draws && sender.seed != 0 {
            let seed = (sender.seed.wrapping_mul(514_229)) as u32;
            pairs.push(("lcg_seed".to_owned(), Node::text(seed)));
        }
        let vary = fields.unwrap_or(&program.vary);
        if !vary.is_empty() {
            pairs.push(("vary".to_owned(), Node::Block(vary.clone())));
        }
        if let Some(count) = program.repeats {
            pairs.push(("flows".to_owned(), Node::Line(vec![("count".to_owned(), Node::text(count))])));
        }
        pairs.push(("rate".to_owned(), Node::text(sender.rate(factor))));
        pairs.extend(pattern(sender, factor));
        // Streams of equal rate take turns; a nanosecond apart each keeps its own beginning.
        let apart = if self.options.simulated { sender.index as f64 } else { 0.0 };
        let delay = sender.isg_us * 1e3 + apart;
        if sender.self_start && delay > 0.0 {
            pairs.push(("start_delay".to_owned(), Node::text(time(delay))));
        }
        pairs.extend(sender.next.map(|next| ("then".to_owned(), then(sender, &all[next]))));
        let mut comments = Vec::new();
        if program.draws && sender.seed == 0 {
            comments.push("random_seed is 0: values are drawn from the run's seed".to_owned());
        }
        if comments.is_empty() {
            Node::Block(pairs)
        } else {
            Node::Commented(comments, Box::new(Node::Block(pairs)))
        }
    }

    fn frame(&self, port: &PortOptions, sender: &Sender) -> Node {
        let mut bytes = sender.frame.clone();
        if self.options.simulated {
            let base = 0x10 + (port.number & 1) * 0x10;
            if !sender.keeps_destination {
                bytes[0..6].fill(base);
            }
            if !sender.keeps_source {
                bytes[6..12].fill(base + 8);
            }
        }
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut pairs =
            vec![("hex".to_owned(), Node::text(format!("{} {} {}", &hex[..12], &hex[12..24], &hex[24..])))];
        if !sender.program.checksums.is_empty() {
            let sums = sender.program.checksums.iter().map(Node::text).collect();
            pairs.push(("checksums".to_owned(), Node::List(sums)));
        }
        if !self.options.simulated {
            if !sender.keeps_source {
                pairs.push(("src_mac".to_owned(), Node::text("port")));
            }
            if !sender.keeps_destination {
                pairs.push(("dst_mac".to_owned(), Node::text("next_hop")));
            }
        }
        Node::Block(pairs)
    }

    /// A row of results for each group that is counted.
    fn groups(&self, ports: &[(Vec<Sender>, f64)]) -> Option<(String, Node)> {
        let counted = ports.iter().flat_map(|(senders, _)| senders).any(|sender| sender.group.is_some());
        (counted && !self.options.simulated).then(|| {
            let groups = vec![("pg_id".to_owned(), Node::text("tag"))];
            ("groups".to_owned(), Node::Line(groups))
        })
    }
}

/// Number of packets, and their bursts.
fn pattern(sender: &Sender, factor: f64) -> Option<(String, Node)> {
    match &sender.mode {
        Mode::Continuous { .. } => None,
        Mode::SingleBurst { total_pkts, .. } => Some(("count".to_owned(), Node::text(total_pkts))),
        Mode::MultiBurst { pkts_per_burst, ibg, count, .. } => {
            let every = (*pkts_per_burst as f64 - 1.0) / sender.pps_at(factor) * 1e9 + ibg * 1e3;
            let burst = vec![
                ("packets".to_owned(), Node::text(pkts_per_burst)),
                ("every".to_owned(), Node::text(time(every))),
                ("bursts".to_owned(), Node::text(count)),
            ];
            Some(("pattern".to_owned(), Node::Line(vec![("multi_burst".to_owned(), Node::Line(burst))])))
        }
    }
}

/// The link to the stream that follows.
fn then(sender: &Sender, next: &Sender) -> Node {
    let mut pairs = vec![("stream".to_owned(), Node::text(&next.name))];
    // A chain that returns to its first stream waits for that one's 'start_delay' again.
    if next.isg_us > 0.0 && !next.self_start {
        pairs.push(("gap".to_owned(), Node::text(time(next.isg_us * 1e3))));
    }
    pairs.push(("from".to_owned(), Node::text("last_packet")));
    if sender.ends > 0 {
        pairs.push(("ends".to_owned(), Node::text(sender.ends)));
    }
    Node::Line(pairs)
}

/// A time in nanoseconds.
pub(crate) fn time(nanos: f64) -> String {
    let nanos = nanos.round();
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("us", 1e3)] {
        if nanos >= size && (nanos / size * 1e3).fract() == 0.0 {
            return format!("{}{unit}", micros(nanos / size));
        }
    }
    format!("{nanos}ns")
}

#[cfg(test)]
mod tests {
    use super::{Options, PortOptions, convert};
    use crate::Multiplier;
    use crate::document::Document;
    use serde_json::{Value, json};

    /// A document of one port with these streams; each gets a packet of 64 zeros unless it has one.
    fn document(streams: Value) -> Document {
        let mut streams = streams;
        for stream in streams.as_array_mut().unwrap() {
            let inner = stream["stream"].as_object_mut().unwrap();
            inner.entry("packet").or_insert_with(|| json!({"binary": "A".repeat(88)}));
            let once = json!({"type": "continuous", "rate": {"type": "pps", "value": 10}});
            inner.entry("mode").or_insert(once);
        }
        serde_json::from_value(json!({"schema": "eagre.trex/1", "ports": {"0": streams}})).unwrap()
    }

    fn options(multiplier: &str) -> Options {
        let port =
            PortOptions { number: 0, name: "port0".to_owned(), device: "veth0".to_owned(), more: Vec::new() };
        let multiplier = multiplier.parse::<Multiplier>().unwrap();
        Options { ports: vec![port], multiplier, speed_bps: Some(10e9), ..Options::default() }
    }

    fn text(streams: Value, multiplier: &str) -> Result<String, Vec<String>> {
        convert(&document(streams), &options(multiplier)).map(|made| made.text).map_err(|errors| errors.0)
    }

    #[test]
    fn programs_become_words() {
        let vm = json!({"cache": 7, "instructions": [
            {"type": "write_flow_var", "name": "b", "pkt_offset": 30, "add_value": -2, "is_big_endian": false},
            {"type": "flow_var", "name": "b", "size": 2, "op": "dec", "init_value": 9, "min_value": 1, "max_value": 10, "step": 3},
            {"type": "flow_var", "name": "a", "size": 4, "op": "inc", "init_value": 268435457, "min_value": 268435457,
             "max_value": 268435460, "step": 1, "next_var": "b"},
            {"type": "write_mask_flow_var", "name": "a", "pkt_offset": 14, "pkt_cast_size": 2, "mask": 4080, "shift": 4, "add_value": 1},
            {"type": "fix_checksum_ipv4", "pkt_offset": 14}]});
        let text = text(json!([{"stream": {"vm": vm}}]), "1").unwrap();
        let vary = text.split("vary:\n").nth(1).unwrap().split("    flows").next().unwrap();
        let lines: Vec<&str> = vary.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "$a: {bytes: 4, from: 16.0.0.1, to: 16.0.0.4}",
                "$b: {bytes: 2, from: 10, to: 1, begin: 9, step: 3, after: $a}",
                "bytes[30..32]: {same_as: $b, plus: 65534, endian: little}",
                "$a.3: {bytes: 4, same_as: $a, plus: 1}",
                "bytes[14..16]: {same_as: $a.3, shift: 4, mask: 0xff0}",
            ]
        );
        assert!(text.contains("checksums: [ipv4@14]") && text.contains("flows: {count: 7}"), "{text}");
    }

    #[test]
    fn chains_count_from_the_last_packet() {
        let burst = json!({"type": "single_burst", "rate": {"type": "pps", "value": 10}, "total_pkts": 3});
        let streams = json!([
            {"name": "S 0", "next": "S1", "stream": {"isg": 10.0, "mode": burst}},
            {"name": "S1", "next": "S 0", "stream": {"self_start": false, "mode": burst, "action_count": 2}},
            {"name": "never", "stream": {"self_start": false}}]);
        let text = text(streams, "2").unwrap();
        assert!(text.contains("then: {stream: S1, from: last_packet}"), "{text}");
        assert!(text.contains("then: {stream: S_0, from: last_packet, ends: 2}"), "{text}");
        assert!(text.contains("rate: 20pps") && text.contains("start_delay: 10us"), "{text}");
        assert!(text.contains("# port 0: stream 'never' is left out: nothing starts it"), "{text}");
    }

    #[test]
    fn tagged_groups_are_measured() {
        let stats = json!({"enabled": true, "rule_type": "tpg", "stream_id": 7});
        let text = text(json!([{"stream": {"flow_stats": stats}}]), "2").unwrap();
        assert!(text.contains("tag: tpg7") && text.contains("groups: {pg_id: tag}"), "{text}");
        assert!(text.contains("rate: 20pps") && !text.contains("measure"), "{text}");
    }

    #[test]
    fn multipliers_bring_the_sum_to_a_rate() {
        let two =
            json!([{"stream": {}}, {"stream": {"flow_stats": {"enabled": true, "rule_type": "latency"}}}]);
        assert!(text(two.clone(), "30pps").unwrap().contains("rate: 20pps"));
        assert!(text(two.clone(), "30pps").unwrap().contains("rate: 10pps"));
        assert!(text(two, "5pps").unwrap_err()[0].contains("latency streams keep theirs"));
        // 66 bytes, FCS, preamble and gap: 720 bits.
        assert!(text(json!([{"stream": {}}]), "7.2kbpsl1").unwrap().contains("rate: 10pps"));
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let reasons = [
            (json!({"dummy_stream": true, "self_start": true}), "", "it sends nothing"),
            (json!({"start_paused": true}), "start_paused", ""),
            (json!({"flow_stats": {"enabled": true, "rule_type": "tpc"}}), "unknown kind 'tpc'", ""),
            (json!({"packet": {"binary": "AAAA"}}), "not an Ethernet frame", ""),
            (
                json!({"vm": {"instructions": [{"type": "trim_pkt_size", "name": "x"}]}}),
                "'x' is not defined",
                "",
            ),
        ];
        for (stream, error, note) in reasons {
            match text(json!([{"name": "one", "stream": stream}]), "1") {
                Ok(text) => assert!(!note.is_empty() && text.contains(note), "{text}"),
                Err(errors) => {
                    assert!(!error.is_empty() && errors[0].contains(error), "{errors:?}");
                    assert!(errors[0].starts_with("port 0, stream 'one': "), "{errors:?}");
                }
            }
        }
    }
}
