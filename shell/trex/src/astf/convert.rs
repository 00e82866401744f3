//! Templates as entries of `sessions`.

use super::settings::{self, End};
use super::steps::{self, Reader};
use super::{Profile, Range, Setting, Template};
use crate::Errors;
use crate::clients::{Groups, SIMULATED};
use crate::convert::{Conversion, Options, PortOptions, ports_of, time};
use crate::multiplier::{Multiplier, Unit};
use crate::yaml::Node;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Translates a stateful profile: clients are on the first port, servers on the second; without one they are external.
///
/// # Errors
/// All unsupported parts, each with its template.
pub(crate) fn convert(profile: &Profile, source: &str, options: &Options) -> Result<Conversion, Errors> {
    let over_ipv6 = options.ipv6.then(|| over_ipv6(profile));
    let profile = over_ipv6.as_ref().unwrap_or(profile);
    let factor = match options.multiplier {
        Multiplier { value, unit: Unit::Factor } => value,
        _ => return Err(Errors::one("-m: a stateful profile has a factor, not a rate")),
    };
    let [client, server] = [options.ports.first(), options.ports.get(1)];
    let Some(client) = client else { return Err(Errors::one("no port for the clients")) };
    if options.ports.len() > 2 {
        return Err(Errors::one("a stateful profile has two ports: the clients' and the servers'"));
    }
    // TRex opens sessions for so long, and waits until those that are open have ended.
    let open_s = options.duration_s.filter(|_| !options.no_close);
    let groups = options.groups.as_ref().map(|groups| match options.simulated {
        true => groups.simulated(),
        false => groups.clone(),
    });
    let groups = groups.as_ref();
    groups.map_or(Ok(()), Groups::check)?;
    let mut maker =
        Maker { profile, client, server, groups, factor, open_s, notes: Vec::new(), ramp_up_s: None };
    let (mut entries, mut errors) = (Vec::new(), Vec::new());
    for (number, template) in profile.templates.iter().enumerate() {
        match maker.entry(number, template) {
            Ok(entry) => entries.push(entry),
            Err(error) => errors.push(format!("template {number}: {error}")),
        }
    }
    if !errors.is_empty() {
        return Err(Errors(errors));
    }
    let drain = if options.no_close || open_s.is_some() { "100ms" } else { "60s" };
    let mut load = vec![("drain".to_owned(), Node::text(drain))];
    if let Some(duration) = open_s.map(|open_s| open_s + WAIT_S).or(options.duration_s) {
        load.insert(0, ("duration".to_owned(), Node::text(time(duration * 1e9))));
    }
    if let Some(seconds) = maker.ramp_up_s {
        load.push(("ramp_up".to_owned(), Node::text(format!("{seconds}s"))));
    }
    let streams = entries.len();
    let mut ports = with_macs(ports_of(options), options);
    if let Some(groups) = groups {
        let of_servers = match server {
            Some(_) => groups.server_hosts(first_server(profile)),
            None => Ok(Vec::new()),
        };
        let of_servers = of_servers.map_err(|reason| Errors::one(format!("--cc: {reason}")))?;
        ports = with_hosts(ports, [groups.client_hosts(), of_servers]);
        maker.note(GROUPS.to_owned());
    }
    let pairs = vec![
        ("ports".to_owned(), ports),
        ("sessions".to_owned(), Node::Items(entries)),
        ("load".to_owned(), Node::Line(load)),
    ];
    let mut text = format!("# The sessions of {source} on TRex; made by 'eagre trex convert'.\n");
    for note in &maker.notes {
        text.push_str(&format!("# {note}\n"));
    }
    Node::Block(pairs).print(0, &mut text);
    Ok(Conversion { text, streams, ports: Vec::new() })
}

/// A profile whose clients are switched to IPv6.
fn over_ipv6(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    let ipv6 = profile.c_glob_info.entry("ipv6".to_owned()).or_default();
    ipv6.insert("enable".to_owned(), Setting::Number(1));
    profile
}

/// The lowest address of servers.
fn first_server(profile: &Profile) -> Ipv4Addr {
    let servers = profile.templates.iter().filter_map(|template| {
        let index = template.client_template.ip_gen.dist_server.index;
        Some(profile.ip_gen_dist_list.get(index)?.ip_start)
    });
    servers.min().unwrap_or(Ipv4Addr::LOCALHOST)
}

/// Note on groups of clients.
const GROUPS: &str = "A group of clients has its own MAC address unless 'src_mac' sets one; servers reply to where a frame came from.";

/// Ports; in TRex's simulator with its MAC addresses: both ends have one each, and send to the other's.
fn with_macs(ports: Node, options: &Options) -> Node {
    let Node::Block(ports) = ports else { return ports };
    let ports = ports.into_iter().enumerate().map(|(index, (name, mut port))| {
        if let Node::Line(keys) = &mut port
            && let Some(mac) = SIMULATED.get(index).filter(|_| options.simulated)
            && keys.iter().all(|(key, _)| key != "mac")
        {
            keys.push(pair("mac", Node::text(mac)));
        }
        (name, port)
    });
    Node::Block(ports.collect())
}

/// Ports with more hosts behind each.
fn with_hosts(ports: Node, hosts: [Vec<Node>; 2]) -> Node {
    let Node::Block(ports) = ports else { return ports };
    let ports = ports.into_iter().zip(hosts).map(|((name, port), hosts)| match port {
        Node::Line(mut pairs) => {
            pairs.push(("hosts".to_owned(), Node::Items(hosts)));
            (name, Node::Block(pairs))
        }
        port => (name, port),
    });
    Node::Block(ports.collect())
}

/// TRex's ports of clients.
pub(crate) const CLIENT_PORTS: &str = "1024..64000";
/// Maximum time to wait for sessions that are open at the end.
const WAIT_S: f64 = 60.0;

struct Maker<'a> {
    profile: &'a Profile,
    client: &'a PortOptions,
    server: Option<&'a PortOptions>,
    groups: Option<&'a Groups>,
    factor: f64,
    /// Seconds in which sessions are opened, if they are waited for.
    open_s: Option<f64>,
    notes: Vec<String>,
    ramp_up_s: Option<i64>,
}

fn pair(key: &str, node: Node) -> (String, Node) {
    (key.to_owned(), node)
}

impl Maker<'_> {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn entry(&mut self, number: usize, template: &Template) -> Result<Node, String> {
        let (client, server) = (&template.client_template, &template.server_template);
        let group = template.tg_id.and_then(|id| self.profile.tg_names.get(id.checked_sub(1)?));
        let mut pairs = vec![pair("name", Node::text(format!("t{number}")))];
        let mut client_end = settings::end(&self.profile.c_glob_info, &client.glob_info, "src_msb")?;
        let mut server_end = settings::end(&self.profile.s_glob_info, &server.glob_info, "dst_msb")?;
        if client_end.ipv6.is_none() {
            client_end.default_ttl();
            server_end.default_ttl();
        }
        // TRex's client says whether there is IPv6, and what both ends' addresses begin with.
        let prefixes = match client_end.ipv6 {
            Some(source) => {
                let target = settings::end(&self.profile.c_glob_info, &client.glob_info, "dst_msb")?.ipv6;
                Some((source, target.unwrap_or(source)))
            }
            None => None,
        };
        let range = |index: usize| {
            self.profile
                .ip_gen_dist_list
                .get(index)
                .ok_or_else(|| format!("there is no range of addresses {index}"))
        };
        let (clients, servers) =
            (range(client.ip_gen.dist_client.index)?, range(client.ip_gen.dist_server.index)?);
        let random = [clients, servers].iter().any(|range| range.distribution == "rand");
        let port = match &server.assoc[..] {
            [] => client.port,
            [rule] if rule.ip_start.is_none() || covers((rule.ip_start, rule.ip_end), servers) => rule.port,
            [_] => {
                return Err("servers on some of the addresses only; use a template for each range".to_owned());
            }
            _ => return Err("servers on several ports; use a template for each".to_owned()),
        };
        let (transport, app) = self.app(template)?;
        let is_tcp = self.profile.program_list[client.program_index].stream;
        let ends = [
            ("client", Some(self.client), clients, client_end, prefixes.map(|(source, _)| source), None),
            ("server", self.server, servers, server_end, prefixes.map(|(_, target)| target), Some(port)),
        ];
        for (key, own, range, end, prefix, port) in ends {
            let mut side: Vec<(String, Node)> = Vec::new();
            side.extend(own.map(|own| pair("port", Node::text(&own.name))));
            let text = addresses(range, prefix);
            side.push(pair("addresses", Node::text(&text)));
            if let Some(groups) = self.groups.filter(|_| own.is_some()) {
                if prefix.is_some() {
                    return Err("groups of clients (--cc) are for IPv4 only".to_owned());
                }
                match key {
                    "client" => side.extend(groups.clients(range.ip_start, range.ip_end)?),
                    _ => side.push(groups.servers(&text)?),
                }
            }
            match port {
                Some(port) => side.push(pair("ports", Node::text(port))),
                None => {
                    side.push(pair("ports", Node::text(CLIENT_PORTS)));
                    side.push(pair("first_port", Node::text("spread")));
                }
            }
            let End { keys, notes, ramp_up_s, .. } = end;
            // Without a port the servers are somebody else's.
            side.extend(keys.into_iter().filter(|(key, _)| own.is_some() && (is_tcp || key != "tcp")));
            notes.into_iter().for_each(|note| self.note(note));
            self.ramp_up_s = self.ramp_up_s.max(ramp_up_s);
            pairs.push(pair(key, Node::Line(side)));
        }
        // On TRex both ranges are gone through side by side.
        let order = if random { "random" } else { "in_step" };
        let is_one = |range: &Range| range.ip_start == range.ip_end;
        if !(is_one(clients) && is_one(servers)) {
            pairs.push(pair("order", Node::text(order)));
        }
        pairs.extend(transport.map(|transport| pair("transport", Node::text(transport))));
        pairs.push(pair("app", app));
        pairs.push(pair("open", Node::text(format!("{}/s", per_second(client.cps * self.factor)))));
        pairs.extend(self.open_s.map(|seconds| pair("for", Node::text(time(seconds * 1e9)))));
        // So many sessions in all; or, with 'cont', at a time.
        let key = if client.cont == Some(true) { "concurrent" } else { "count" };
        pairs.extend(client.limit.filter(|limit| *limit > 0).map(|limit| pair(key, Node::text(limit))));
        let entry = Node::Block(pairs);
        Ok(match group {
            Some(group) => {
                Node::Commented(vec![format!("Template group {}", group.escape_debug())], Box::new(entry))
            }
            None => entry,
        })
    }

    /// The application of a template, and its transport if the application does not determine it.
    fn app(&mut self, template: &Template) -> Result<(Option<&'static str>, Node), String> {
        let program = |index: usize| {
            self.profile.program_list.get(index).ok_or_else(|| format!("there is no program {index}"))
        };
        let client = program(template.client_template.program_index)?;
        let server = program(template.server_template.program_index)?;
        if client.stream != server.stream {
            return Err("one end's program is for TCP and the other's for UDP".to_owned());
        }
        match (&client.capture, &server.capture) {
            (Some(file), Some(other)) if file == other => {
                let mut keys = vec![pair("file", Node::text(file))];
                // On TRex programs of captures end by closing.
                if client.stream {
                    keys.push(pair("reset", Node::text("close")));
                }
                // Of TCP, TRex keeps the order only.
                if !client.stream {
                    keys.push(pair("timing", Node::text("as_captured")));
                    keys.extend(longest_datagram(client)?.map(|bytes| pair("datagram_max", bytes)));
                }
                let delay = server.s_delay.as_ref().map(steps::delay);
                keys.extend(delay.map(|delay| pair("answer_delay", delay)));
                return Ok((None, Node::Line(vec![pair("pcap", Node::Line(keys))])));
            }
            (None, None) => {}
            _ => return Err("only one end plays a capture".to_owned()),
        }
        if client.udp_mtu.or(server.udp_mtu).is_some() {
            self.note("'udp_mtu' applies to captures; programs send their own sizes, as on TRex.".to_owned());
        }
        let delay = server.s_delay.as_ref().map(steps::delay);
        let mut of_client = Reader::new(client, &self.profile.buf_list, None);
        let mut of_server = Reader::new(server, &self.profile.buf_list, delay);
        let at = |end: &'static str| move |error: String| format!("the {end}'s program: {error}");
        of_client.learn(&of_server).map_err(at("client"))?;
        of_server.learn(&of_client).map_err(at("server"))?;
        let waits = |program: &super::Program| program.commands.iter().any(|command| command.name == "nc");
        let ends = client.stream && waits(client) && !waits(server);
        let steps = of_client.steps().map_err(at("client"))?;
        let mut answers = of_server.steps().map_err(at("server"))?;
        // The end whose program is over closes; a profile's client does so by itself.
        if ends {
            answers.push(Node::text("close"));
        }
        let notes: Vec<String> = of_client.notes.drain(..).chain(of_server.notes.drain(..)).collect();
        notes.into_iter().for_each(|note| self.note(note));
        let mut sides = vec![pair("client", Node::Items(steps))];
        if self.server.is_some() {
            sides.push(pair("server", Node::Items(answers)));
        }
        let program = Node::Block(vec![pair("program", Node::Block(sides))]);
        Ok(((!client.stream).then_some("udp"), program))
    }
}

/// The longest payload of a datagram that fits what TRex calls the MTU: a frame without FCS, without VLANs, over IPv4.
fn longest_datagram(program: &super::Program) -> Result<Option<Node>, String> {
    const HEADERS: u32 = 42;
    match program.udp_mtu {
        None => Ok(None),
        Some(mtu) if mtu > HEADERS => Ok(Some(Node::text(format!("{}B", mtu - HEADERS)))),
        Some(mtu) => Err(format!("udp_mtu {mtu} leaves no room after {HEADERS} bytes of headers")),
    }
}

/// A rate with at most six decimals.
fn per_second(rate: f64) -> String {
    let text = format!("{rate:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether servers on these addresses are all of a range.
fn covers(rule: (Option<Ipv4Addr>, Option<Ipv4Addr>), range: &Range) -> bool {
    rule.0.is_some_and(|start| start <= range.ip_start) && rule.1.is_some_and(|end| end >= range.ip_end)
}

/// A range as an entry has it.
fn addresses(range: &Range, prefix: Option<Ipv6Addr>) -> String {
    let one = |ip: Ipv4Addr| match prefix {
        Some(prefix) => {
            Ipv6Addr::from(u128::from(prefix) & !0xffff_ffff | u128::from(u32::from(ip))).to_string()
        }
        None => ip.to_string(),
    };
    if range.ip_start == range.ip_end {
        return one(range.ip_start);
    }
    format!("{}..{}", one(range.ip_start), one(range.ip_end))
}
