//! Parses the output of a Linux host's programs. Pure.
//!
//! Output that does not parse is absent: a program can be missing, lack a privilege, or have another format.

use super::{Sections, nft};
use crate::reading::{Counter, Interface, Reading, Source, Ticks};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Converts output sections to a reading.
pub(super) fn reading(sections: &Sections<'_>, inside: &str, outside: &str) -> Reading {
    let mut reading = Reading {
        inside: interface(sections, inside),
        outside: interface(sections, outside),
        ..Reading::default()
    };
    for name in [inside, outside] {
        link_drops(sections, name, &mut reading);
        let section = |what: &str| sections.get(format!("{what} {name}").as_str()).copied();
        section("ethtool").into_iter().for_each(|text| ethtool(text, name, &mut reading));
        section("qdisc").into_iter().for_each(|text| qdisc(text, name, &mut reading));
    }
    let section = |what: &str| sections.get(what).copied();
    section("ip").into_iter().for_each(|text| ip(text, &mut reading));
    section("softnet").into_iter().for_each(|text| softnet(text, &mut reading));
    section("conntrack").into_iter().for_each(|text| conntrack(text, &mut reading));
    for what in ["count", "max"] {
        let level = section(&format!("conntrack {what}")).and_then(|text| text.trim().parse().ok());
        level.into_iter().for_each(|level| {
            reading.gauges.insert(format!("conntrack {what}"), level);
        });
    }
    reading.ticks = section("cpu").and_then(ticks);
    nft::rules(sections, &mut reading);
    reading
}

/// An entry of `ip -s -s -j link show`.
#[derive(Deserialize)]
struct LinkEntry {
    #[serde(default)]
    ifname: String,
    #[serde(default)]
    stats64: LinkStats,
}

/// Counters by name, which differ between kernels.
#[derive(Default, Deserialize)]
struct LinkStats {
    #[serde(default)]
    rx: BTreeMap<String, u64>,
    #[serde(default)]
    tx: BTreeMap<String, u64>,
}

/// An entry of `tc -s -j qdisc show`.
#[derive(Deserialize)]
struct QdiscEntry {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    root: bool,
    drops: Option<u64>,
}

/// The only entry of `ip -j link show dev`.
fn link(sections: &Sections<'_>, name: &str) -> Option<LinkEntry> {
    let text = sections.get(format!("link {name}").as_str())?;
    let mut all: Vec<LinkEntry> = serde_json::from_str(text.trim()).ok()?;
    all.pop().filter(|link| link.ifname == name)
}

/// Whether the interface exists.
pub(super) fn has_link(sections: &Sections<'_>, name: &str) -> bool {
    link(sections, name).is_some()
}

/// The interface names in `ip -j link show`.
pub(super) fn names(text: &str) -> Vec<String> {
    let all: Vec<LinkEntry> = serde_json::from_str(text.trim()).unwrap_or_default();
    all.into_iter().map(|link| link.ifname).filter(|name| !name.is_empty()).collect()
}

/// An interface's packets and bytes, from `ip -s` or `/proc/net/dev`.
fn interface(sections: &Sections<'_>, name: &str) -> Option<Interface> {
    if let Some(dev) = sections.get("dev") {
        let line = dev.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
        let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        let field = |at: usize| fields.get(at).copied().map(Counter::wide);
        let (rx_bytes, rx_packets) = (field(0)?, field(1)?);
        return Some(Interface { rx_packets, tx_packets: field(9)?, rx_bytes, tx_bytes: field(8)? });
    }
    let link = link(sections, name)?;
    let field = |stats: &BTreeMap<String, u64>, name: &str| stats.get(name).copied().map(Counter::wide);
    Some(Interface {
        rx_packets: field(&link.stats64.rx, "packets")?,
        tx_packets: field(&link.stats64.tx, "packets")?,
        rx_bytes: field(&link.stats64.rx, "bytes")?,
        tx_bytes: field(&link.stats64.tx, "bytes")?,
    })
}

/// Drops and errors of an interface. `errors` is the sum of its parts, so the parts do not count as drops.
fn link_drops(sections: &Sections<'_>, name: &str, reading: &mut Reading) {
    let Some(link) = link(sections, name) else { return };
    for (way, stats) in [("rx", link.stats64.rx), ("tx", link.stats64.tx)] {
        for (field, value) in stats {
            let counter = Counter::wide(value);
            match field.as_str() {
                "bytes" | "packets" | "multicast" | "collisions" | "carrier_changes" => {}
                "errors" | "dropped" | "missed_errors" | "nohandler" => {
                    let what = field.strip_suffix("_errors").unwrap_or(&field);
                    reading.drops.insert((Source::Link, format!("{way} {what} of {name}")), counter);
                }
                _ => {
                    reading.others.insert(format!("{way} {field} of {name}"), counter);
                }
            }
        }
    }
}

/// Substrings of drop counter names of drivers.
const BAD_WORDS: [&str; 4] = ["drop", "discard", "err", "miss"];

fn ethtool(text: &str, name: &str, reading: &mut Reading) {
    for (counter, value) in text.lines().filter_map(|line| line.trim().rsplit_once(':')) {
        let Ok(value) = value.trim().parse() else { continue };
        let (counter, value) = (counter.trim(), Counter::wide(value));
        let label = format!("ethtool {counter} of {name}");
        if BAD_WORDS.iter().any(|word| counter.to_ascii_lowercase().contains(word)) {
            reading.drops.insert((Source::Ethtool, label), value);
        } else if counter.ends_with("packets") {
            reading.others.insert(label, value);
        }
    }
}

/// Drops of an interface's queues. A root queue includes the drops of its children.
fn qdisc(text: &str, name: &str, reading: &mut Reading) {
    let all: Vec<QdiscEntry> = serde_json::from_str(text.trim()).unwrap_or_default();
    for QdiscEntry { kind, root, drops } in all {
        let is_outermost = root || matches!(kind.as_str(), "ingress" | "clsact");
        let Some(drops) = drops.filter(|_| is_outermost) else { continue };
        reading.drops.insert((Source::Qdisc, format!("qdisc {kind} of {name}")), Counter::wide(drops));
    }
}

/// Counters of forwarded packets that the IP stack dropped, with the reason.
const IP_DROPS: [(&str, &str); 21] = [
    ("IpInHdrErrors", "bad header or TTL expired"),
    ("IpInAddrErrors", "bad address or forwarding disabled"),
    ("IpInDiscards", "no buffer space"),
    ("IpOutDiscards", "no buffer space"),
    ("IpOutNoRoutes", "no route"),
    ("IpReasmFails", "fragments missing"),
    ("IpFragFails", "too long, not fragmentable"),
    ("IpExtInNoRoutes", "no route"),
    ("IpExtInTruncatedPkts", "truncated"),
    ("IpExtInCsumErrors", "bad checksum"),
    ("TcpExtIPReversePathFilter", "reverse path filter"),
    ("Ip6InHdrErrors", "bad header or TTL expired"),
    ("Ip6InTooBigErrors", "exceeds the next link's MTU"),
    ("Ip6InNoRoutes", "no route"),
    ("Ip6InAddrErrors", "bad address"),
    ("Ip6InTruncatedPkts", "truncated"),
    ("Ip6InDiscards", "no buffer space or forwarding disabled"),
    ("Ip6OutDiscards", "no buffer space"),
    ("Ip6OutNoRoutes", "no route"),
    ("Ip6ReasmFails", "fragments missing"),
    ("Ip6FragFails", "too long, not fragmentable"),
];
const IP_OTHERS: [&str; 2] = ["IpForwDatagrams", "Ip6OutForwDatagrams"];

/// `/proc/net/snmp` and `netstat`: a line of names, a line of values; `snmp6`: a name and a value each line.
fn ip(text: &str, reading: &mut Reading) {
    let mut counters: BTreeMap<String, u64> = BTreeMap::new();
    let mut heads: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        if let Some((group, fields)) = line.split_once(": ") {
            match heads.remove(group) {
                Some(names) => counters.extend(
                    names
                        .split(' ')
                        .zip(fields.split(' '))
                        .filter_map(|(name, value)| Some((format!("{group}{name}"), value.parse().ok()?))),
                ),
                None => heads.extend([(group, fields)]),
            }
        } else if let Some((name, value)) = line.split_once(char::is_whitespace) {
            counters.extend(value.trim().parse().ok().map(|value| (name.to_owned(), value)));
        }
    }
    for (name, why) in IP_DROPS {
        if let Some(value) = counters.get(name) {
            reading.drops.insert((Source::Ip, format!("{name} ({why})")), Counter::wide(*value));
        }
    }
    for name in IP_OTHERS {
        counters.get(name).into_iter().for_each(|value| {
            reading.others.insert(name.to_owned(), Counter::wide(*value));
        });
    }
}

/// One line per CPU, hexadecimal: processed, dropped, out of time, …
fn softnet(text: &str, reading: &mut Reading) {
    let (mut dropped, mut squeezed) = (0_u32, 0_u32);
    for line in text.lines() {
        let mut fields = line.split_whitespace().map(|field| u32::from_str_radix(field, 16).unwrap_or(0));
        dropped = dropped.wrapping_add(fields.nth(1).unwrap_or(0));
        squeezed = squeezed.wrapping_add(fields.next().unwrap_or(0));
    }
    let label = "softnet dropped (whole machine)".to_owned();
    reading.drops.insert((Source::Softnet, label), Counter::narrow(dropped));
    reading.others.insert("softnet time_squeeze (whole machine)".to_owned(), Counter::narrow(squeezed));
}

/// One line per CPU: `cpu=0 found=0 … drop=0 …`. `insert_failed` includes `chaintoolong`.
fn conntrack(text: &str, reading: &mut Reading) {
    let mut sums: BTreeMap<&str, u32> = BTreeMap::new();
    for field in text.split_whitespace().filter_map(|word| word.split_once('=')) {
        let sum = sums.entry(field.0).or_default();
        *sum = sum.wrapping_add(field.1.parse().unwrap_or(0));
    }
    for (name, sum) in sums {
        let (label, counter) = (format!("conntrack {name}"), Counter::narrow(sum));
        match name {
            "insert_failed" | "drop" => {
                reading.drops.insert((Source::Conntrack, label), counter);
            }
            "early_drop" | "invalid" | "error" | "chaintoolong" | "clash_resolve" | "search_restart" => {
                reading.others.insert(label, counter);
            }
            _ => {}
        }
    }
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal, … (guests are in user).
fn ticks(text: &str) -> Option<Ticks> {
    let fields: Vec<u64> = text.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>().ok()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = fields[..] else { return None };
    Some(Ticks {
        busy: Counter::wide(user + nice + system + irq + softirq + steal),
        idle: Counter::wide(idle + iowait),
        softirq: Counter::wide(softirq),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drops(reading: &Reading) -> Vec<(&str, u64)> {
        reading.drops.iter().map(|((_, name), counter)| (name.as_str(), counter.value())).collect()
    }

    const LINK: &str = r#"[{"ifname":"r0","stats64":{"rx":{"bytes":100,"packets":2,"errors":3,"dropped":4,
        "crc_errors":3,"missed_errors":5,"multicast":9},"tx":{"bytes":7,"packets":1,"errors":0,"dropped":0,
        "carrier_changes":2}}}]"#;

    #[test]
    fn interfaces_are_read() {
        let sections = Sections::from([("link r0", LINK), ("link r1", "[{}]")]);
        let found = reading(&sections, "r0", "r1");
        let inside = found.inside.unwrap();
        assert_eq!((inside.rx_packets.value(), inside.tx_bytes.value()), (2, 7));
        assert_eq!(found.outside, None);
        let expected = [
            ("rx dropped of r0", 4),
            ("rx errors of r0", 3),
            ("rx missed of r0", 5),
            ("tx dropped of r0", 0),
            ("tx errors of r0", 0),
        ];
        assert_eq!(drops(&found), expected);
        assert_eq!(found.others["rx crc_errors of r0"].value(), 3);
        assert_eq!(names(LINK), ["r0"]);
    }

    #[test]
    fn interfaces_are_read_cheaply() {
        let dev = "Inter-|   Receive\n face |bytes\n    r0: 100 2 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n r00: 1 1 0 0 0 0 0 0 1 1\n";
        let found = reading(&Sections::from([("dev", dev)]), "r0", "r1");
        let inside = found.inside.unwrap();
        assert_eq!((inside.rx_bytes.value(), inside.rx_packets.value()), (100, 2));
        assert_eq!((inside.tx_bytes.value(), inside.tx_packets.value()), (7, 1));
        assert_eq!(found.outside, None);
    }

    #[test]
    fn drivers_and_queues_are_read() {
        let text = "NIC statistics:\n     rx_packets: 12\n     rx_missed_errors: 5\n     peer_ifindex: 3\n";
        let queues = r#"[{"kind":"tbf","handle":"8001:","root":true,"drops":7},{"kind":"bfifo","parent":"8001:1","drops":7}]"#;
        let found = reading(&Sections::from([("ethtool r0", text), ("qdisc r0", queues)]), "r0", "r1");
        assert_eq!(drops(&found), [("qdisc tbf of r0", 7), ("ethtool rx_missed_errors of r0", 5)]);
        assert_eq!(found.others.keys().collect::<Vec<_>>(), ["ethtool rx_packets of r0"]);
    }

    #[test]
    fn the_ip_stack_is_read() {
        let text = "Ip: Forwarding InHdrErrors ForwDatagrams\nIp: 1 3 9\nIpExt: InNoRoutes\nIpExt: 4\n\
                    Ip6InNoRoutes                   \t5\n";
        let found = reading(&Sections::from([("ip", text)]), "a", "b");
        let expected = [
            ("Ip6InNoRoutes (no route)", 5),
            ("IpExtInNoRoutes (no route)", 4),
            ("IpInHdrErrors (bad header or TTL expired)", 3),
        ];
        assert_eq!(drops(&found), expected);
        assert_eq!(found.others["IpForwDatagrams"].value(), 9);
    }

    #[test]
    fn the_machine_is_read() {
        let sections = Sections::from([
            ("softnet", "00000010 00000002 00000001 0\n00000010 0000000a 00000002 0\n"),
            ("conntrack", "cpu=0 \tfound=0 insert_failed=1 drop=2 early_drop=3 \ncpu=1 \tdrop=4\n"),
            ("conntrack count", "17\n"),
            ("cpu", "cpu  10 0 20 60 10 1 4 5 0 0\n"),
        ]);
        let found = reading(&sections, "a", "b");
        let expected =
            [("conntrack drop", 6), ("conntrack insert_failed", 1), ("softnet dropped (whole machine)", 12)];
        assert_eq!(drops(&found), expected);
        assert_eq!(found.gauges["conntrack count"], 17);
        let ticks = found.ticks.unwrap();
        assert_eq!((ticks.busy.value(), ticks.idle.value(), ticks.softirq.value()), (40, 70, 4));
    }

    #[test]
    fn what_does_not_parse_is_absent() {
        let names =
            ["link a", "dev", "ethtool a", "qdisc a", "ip", "softnet", "conntrack", "cpu", "nft json"];
        let sections: Sections<'_> = names.into_iter().map(|name| (name, "\u{0}: {[}\n\n=:\n")).collect();
        let found = reading(&sections, "a", "b");
        assert_eq!((found.inside, found.ticks), (None, None));
    }
}
