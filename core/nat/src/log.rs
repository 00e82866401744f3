//! A translator's own record of its mappings, and what it lacks.
//!
//! Records are read from the lines of `conntrack -E -o timestamp`, or from lines that a [`Pattern`] takes apart. Lines that are neither are
//! counted and left out: a log has others, too. A record may be of a whole block of ports that a subscriber got (RFC 6888
//! section 4, RFC 7422).
//!
//! Not here: files; records of released blocks; records in messages (`ipfix`).

use crate::{Endpoint, Mapping, Protocol};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;

/// Bytes of a line that are read, at most.
const LINE_MAX: usize = 4_096;
/// Fields of a pattern, at most.
const FIELDS_MAX: usize = 64;

/// A mapping as a log has it. Fields that the log lacks are absent, and not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Record {
    /// Its protocol.
    pub protocol: Option<Protocol>,
    /// The inside endpoint; of a block of ports with port 0.
    pub inside: Endpoint,
    /// The remote endpoint.
    pub to: Option<Endpoint>,
    /// The outside endpoint; of a block with its first port.
    pub outside: Endpoint,
    /// The last port of a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_port: Option<u16>,
    /// When, ns since 1970-01-01 UTC.
    pub at_ns: Option<u64>,
    /// Its line in the log, or its number among the records of an export, from 1.
    pub line: u64,
}

impl Record {
    /// Whether a mapping's outside endpoint is the record's, or in its block.
    fn covers(&self, outside: Endpoint) -> bool {
        match self.last_port {
            None => self.outside == outside,
            Some(last) => {
                self.outside.address == outside.address && (self.outside.port..=last).contains(&outside.port)
            }
        }
    }
}

/// Format of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// `conntrack -E -o timestamp`: new entries.
    Conntrack,
    /// By a pattern.
    Pattern(Pattern),
}

/// A pattern that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogError(pub String);

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LogError {}

impl LogFormat {
    /// The record in a line; `None` if it has none.
    pub fn read(&self, line: &str, number: u64) -> Option<Record> {
        let line = line.get(..LINE_MAX).unwrap_or(line);
        match self {
            Self::Conntrack => conntrack(line, number),
            Self::Pattern(pattern) => pattern.read(line, number),
        }
    }
}

/// A line such as `[1764403200.123456]\t    [NEW] udp  17 30 src=… dst=… sport=… dport=… [UNREPLIED] src=… …`.
fn conntrack(line: &str, number: u64) -> Option<Record> {
    let mut words = line.split_ascii_whitespace();
    let mut word = words.next()?;
    let stamp = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let at_ns = stamp.and_then(seconds);
    if at_ns.is_some() {
        word = words.next()?;
    }
    if word != "[NEW]" {
        return None;
    }
    let protocol = Protocol::of_name(words.next()?)?;
    // The original direction's, then the reply's.
    let mut values: [[Option<&str>; 4]; 2] = Default::default();
    for word in words {
        let Some((name, value)) = word.split_once('=') else { continue };
        let Some(place) = ["src", "dst", "sport", "dport"].iter().position(|known| *known == name) else {
            continue;
        };
        let free = values.iter_mut().find(|direction| direction[place].is_none())?;
        free[place] = Some(value);
    }
    let endpoint = |direction: usize, place: usize| {
        let [address, port] = [values[direction][place]?, values[direction][place + 2]?];
        Some(Endpoint { address: address.parse().ok()?, port: port.parse().ok()? })
    };
    Some(Record {
        protocol: Some(protocol),
        inside: endpoint(0, 0)?,
        to: Some(endpoint(0, 1)?),
        outside: endpoint(1, 1)?,
        last_port: None,
        at_ns,
        line: number,
    })
}

/// Seconds since 1970 with a fraction, in ns.
fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ns = if fraction.is_empty() { 0 } else { format!("{fraction:0<9}").parse().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// Field of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    Any,
    Time,
    Protocol,
    Inside,
    InsidePort,
    Outside,
    OutsidePort,
    Remote,
    RemotePort,
    FirstPort,
    LastPort,
    BlockSize,
}

const FIELDS: [(&str, Field); 12] = [
    ("*", Field::Any),
    ("time", Field::Time),
    ("protocol", Field::Protocol),
    ("inside", Field::Inside),
    ("inside_port", Field::InsidePort),
    ("outside", Field::Outside),
    ("outside_port", Field::OutsidePort),
    ("remote", Field::Remote),
    ("remote_port", Field::RemotePort),
    ("first_port", Field::FirstPort),
    ("last_port", Field::LastPort),
    ("block_size", Field::BlockSize),
];

/// Fields that a record of a mapping, and one of a block of ports, can't do without.
const MAPPING: [&str; 4] = ["inside", "inside_port", "outside", "outside_port"];
const BLOCK: [&str; 3] = ["inside", "outside", "first_port"];

/// Text with fields in braces: `{*}created {inside}:{inside_port} -> {outside}:{outside_port}`. A field ends where the text behind it
/// begins; the line may be longer than the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Text before the first field.
    begin: String,
    /// Fields, and the text behind each.
    fields: Vec<(Field, String)>,
}

impl std::str::FromStr for Pattern {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        let names = || FIELDS.map(|(name, _)| format!("{{{name}}}")).join(" ");
        let mut parts = text.split('{');
        let begin = parts.next().unwrap_or_default().to_owned();
        let mut fields: Vec<(Field, String)> = Vec::new();
        for part in parts {
            let (name, behind) = part
                .split_once('}')
                .ok_or_else(|| LogError(format!("'{{{part}' is not closed: fields are {}", names())))?;
            let field = FIELDS.iter().find(|(known, _)| *known == name);
            let (_, field) = *field
                .ok_or_else(|| LogError(format!("there is no field '{{{name}}}': fields are {}", names())))?;
            if fields.last().is_some_and(|(_, text)| text.is_empty()) {
                return Err(LogError(format!(
                    "there is no text between '{{{name}}}' and the field before it"
                )));
            }
            if field != Field::Any && fields.iter().any(|(other, _)| *other == field) {
                return Err(LogError(format!("'{{{name}}}' is in it twice")));
            }
            fields.push((field, behind.to_owned()));
        }
        if fields.len() > FIELDS_MAX {
            return Err(LogError(format!("it has more than {FIELDS_MAX} fields")));
        }
        let has = |name: &str| {
            FIELDS
                .iter()
                .any(|(known, field)| *known == name && fields.iter().any(|(other, _)| other == field))
        };
        let is_block = has("first_port");
        let needed: &[&str] = if is_block { &BLOCK } else { &MAPPING };
        if let Some(name) = needed.iter().find(|name| !has(name)) {
            let known = if is_block {
                "a block of ports is known by its owner and its ports"
            } else {
                "a mapping is known by its two endpoints"
            };
            return Err(LogError(format!("'{{{name}}}' is missing: {known}")));
        }
        if is_block && has("last_port") == has("block_size") {
            return Err(LogError("a block has either '{last_port}' or '{block_size}'".to_owned()));
        }
        Ok(Self { begin, fields })
    }
}

impl Pattern {
    fn read(&self, line: &str, number: u64) -> Option<Record> {
        let mut rest = line.strip_prefix(self.begin.as_str())?;
        let mut values: HashMap<Field, &str> = HashMap::new();
        for (place, (field, behind)) in self.fields.iter().enumerate() {
            let is_last = place + 1 == self.fields.len();
            let end = match behind.as_str() {
                // The last field ends with its word.
                "" if is_last => rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len()),
                text => rest.find(text)?,
            };
            values.insert(*field, &rest[..end]);
            rest = &rest[end + behind.len()..];
        }
        let port = |field| values.get(&field).map(|text| text.trim().parse::<u16>());
        let address = |field| values.get(&field).map(|text| text.trim().parse::<IpAddr>());
        let endpoint =
            |at: Field, on: Field| Some(Endpoint { address: address(at)?.ok()?, port: port(on)?.ok()? });
        let to = match values.contains_key(&Field::Remote) && values.contains_key(&Field::RemotePort) {
            true => Some(endpoint(Field::Remote, Field::RemotePort)?),
            false => None,
        };
        let protocol = match values.get(&Field::Protocol) {
            Some(name) => Some(Protocol::of_name(name.trim())?),
            None => None,
        };
        let at_ns = values.get(&Field::Time).and_then(|text| seconds(text.trim()));
        if let Some(first) = port(Field::FirstPort) {
            let first = first.ok()?;
            let last = match port(Field::LastPort) {
                Some(last) => last.ok()?,
                None => first.checked_add(port(Field::BlockSize)?.ok()?.checked_sub(1)?)?,
            };
            let (inside, outside) = (address(Field::Inside)?.ok()?, address(Field::Outside)?.ok()?);
            return (first <= last).then_some(Record {
                protocol,
                inside: Endpoint { address: inside, port: 0 },
                to,
                outside: Endpoint { address: outside, port: first },
                last_port: Some(last),
                at_ns,
                line: number,
            });
        }
        Some(Record {
            protocol,
            inside: endpoint(Field::Inside, Field::InsidePort)?,
            to,
            outside: endpoint(Field::Outside, Field::OutsidePort)?,
            last_port: None,
            at_ns,
            line: number,
        })
    }
}

/// A mapping, and the record that differs from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mismatch {
    /// The mapping.
    pub mapping: Mapping,
    /// The record.
    pub record: Record,
}

/// A log held against what was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Comparison {
    /// Mappings that the log has, right and in time.
    pub matched: u64,
    /// Mappings that it has not.
    pub missing: Vec<Mapping>,
    /// Mappings that it has with another outside endpoint.
    pub wrong: Vec<Mismatch>,
    /// Mappings that it has right, but late.
    pub late: Vec<Mismatch>,
    /// Records of other connections.
    pub extra: Vec<Record>,
}

impl Comparison {
    /// Whether the log has every mapping, right and in time.
    pub fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.wrong.is_empty() && self.late.is_empty()
    }
}

/// Largest difference between the clocks of translator and tester, ns.
const SKEW_NS: u64 = 1_000_000_000;

/// Holds `records` against `mappings`: a record is late if it is from more than `late_ns` after its packet arrived.
///
/// A connection that was made several times has several records, which are distinguished by their times if they have any.
pub fn compare(mappings: &[Mapping], records: &[Record], late_ns: u64) -> Comparison {
    let mut found = Comparison::default();
    let mut of: HashMap<Endpoint, Vec<usize>> = HashMap::new();
    for (number, record) in records.iter().enumerate() {
        of.entry(record.inside).or_default().push(number);
    }
    let mut used = vec![false; records.len()];
    let mut order: Vec<&Mapping> = mappings.iter().collect();
    order.sort_by_key(|mapping| mapping.sent_ns);
    let mut next: HashMap<(Protocol, Endpoint, Endpoint), u64> = HashMap::new();
    // From the last to the first, so that each knows when its connection was made again.
    let until: Vec<u64> = order
        .iter()
        .rev()
        .map(|mapping| {
            let key = (mapping.protocol, mapping.inside, mapping.to);
            next.insert(key, mapping.sent_ns.saturating_sub(SKEW_NS)).unwrap_or(u64::MAX)
        })
        .collect();
    for (mapping, until) in order.into_iter().zip(until.into_iter().rev()) {
        let from = mapping.sent_ns.saturating_sub(SKEW_NS);
        let fits = |number: &&usize| {
            let record = &records[**number];
            !used[**number]
                && record.protocol.is_none_or(|protocol| protocol == mapping.protocol)
                && record.to.is_none_or(|to| to == mapping.to || to == mapping.remote)
                // A block is assigned once, long before most of its mappings.
                && (record.last_port.is_some() || record.at_ns.is_none_or(|at| (from..until).contains(&at)))
        };
        let block = Endpoint { address: mapping.inside.address, port: 0 };
        let own = of.get(&mapping.inside).into_iter().chain(of.get(&block));
        let candidates: Vec<&usize> = own.flatten().filter(fits).collect();
        let first = candidates.first().copied();
        // Without the other end in it, one record is of all connections of its inside endpoint, or of the whole block.
        let right = candidates
            .into_iter()
            .filter(|number| records[**number].covers(mapping.outside))
            .min_by_key(|number| {
                // One with the other end is of this connection alone: an exporter may record both.
                let record = &records[**number];
                (record.to.is_none(), record.last_port.and(record.at_ns))
            });
        let Some(number) = right.or(first).copied() else {
            found.missing.push(*mapping);
            continue;
        };
        let record = records[number];
        used[number] = record.to.is_some();
        let is_late = record.at_ns.is_some_and(|at| at > mapping.arrived_ns.saturating_add(late_ns));
        match () {
            () if right.is_none() => found.wrong.push(Mismatch { mapping: *mapping, record }),
            () if is_late => found.late.push(Mismatch { mapping: *mapping, record }),
            () => found.matched += 1,
        }
    }
    let mut made: HashSet<Endpoint> = mappings.iter().map(|mapping| mapping.inside).collect();
    made.extend(mappings.iter().map(|mapping| Endpoint { address: mapping.inside.address, port: 0 }));
    let is_extra = |(number, record): (usize, &Record)| {
        let is_known = if record.to.is_some() { used[number] } else { made.contains(&record.inside) };
        (!is_known).then_some(*record)
    };
    found.extra = records.iter().enumerate().filter_map(is_extra).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "[1764403200.123456]\t    [NEW] udp      17 30 src=10.0.0.2 dst=10.0.1.2 sport=1024 dport=9 [UNREPLIED] \
                        src=10.0.1.2 dst=10.0.1.1 sport=9 dport=40000";

    fn mapping(port: u16, sent_s: u64) -> Mapping {
        Mapping {
            protocol: Protocol::Udp,
            inside: Endpoint::new([10, 0, 0, 2], port),
            to: Endpoint::new([10, 0, 1, 2], 9),
            outside: Endpoint::new([10, 0, 1, 1], port + 10_000),
            remote: Endpoint::new([10, 0, 1, 2], 9),
            sent_ns: sent_s * 1_000_000_000,
            arrived_ns: sent_s * 1_000_000_000 + 50_000,
        }
    }

    fn logged(mapping: &Mapping) -> String {
        let seconds = mapping.arrived_ns as f64 / 1e9;
        format!(
            "[{seconds:.6}]\t [NEW] udp 17 30 src={} dst={} sport={} dport={} [UNREPLIED] src={} dst={} sport={} dport={}",
            mapping.inside.address,
            mapping.to.address,
            mapping.inside.port,
            mapping.to.port,
            mapping.remote.address,
            mapping.outside.address,
            mapping.remote.port,
            mapping.outside.port,
        )
    }

    fn read(lines: &[String]) -> Vec<Record> {
        let read = |(number, line): (usize, &String)| LogFormat::Conntrack.read(line, number as u64 + 1);
        lines.iter().enumerate().filter_map(read).collect()
    }

    #[test]
    fn lines_of_conntrack_are_read() {
        let record = LogFormat::Conntrack.read(LINE, 7).unwrap();
        assert_eq!((record.inside, record.line), (Endpoint::new([10, 0, 0, 2], 1024), 7));
        assert_eq!(record.to, Some(Endpoint::new([10, 0, 1, 2], 9)));
        assert_eq!(record.outside, Endpoint::new([10, 0, 1, 1], 40_000));
        assert_eq!(record.at_ns, Some(1_764_403_200_123_456_000));
        let bare = LINE.split_once('\t').unwrap().1;
        assert_eq!(LogFormat::Conntrack.read(bare, 1).unwrap().at_ns, None);
        for other in [
            LINE.replace("[NEW]", "[DESTROY]"),
            LINE.replace(" udp", " icmp"),
            LINE[..90].to_owned(),
            String::new(),
        ] {
            assert_eq!(LogFormat::Conntrack.read(&other, 1), None, "{other}");
        }
    }

    /// Some exporters write the binding of an inside endpoint before each of its connections.
    #[test]
    fn a_connections_own_record_is_preferred_to_its_bindings() {
        let all: Vec<Mapping> = (1_024..1_034).map(|port| mapping(port, 1_764_403_200)).collect();
        let own = read(&all.iter().map(logged).collect::<Vec<_>>());
        let records: Vec<Record> =
            own.into_iter().flat_map(|record| [Record { to: None, at_ns: None, ..record }, record]).collect();
        let found = compare(&all, &records, 1_000_000);
        assert_eq!((found.matched, found.extra.len()), (10, 0));
    }

    #[test]
    fn patterns_take_lines_apart() {
        let pattern = "{time} {*} NAT: created {protocol} {inside}:{inside_port} => {outside}:{outside_port} ({remote} {remote_port})";
        let format = LogFormat::Pattern(pattern.parse().unwrap());
        let line =
            "1764403200.5 gw1 cgn[3]: NAT: created UDP 10.0.0.2:1024 => 192.0.2.1:40000 (10.0.1.2 9) rule 7";
        let record = format.read(line, 1).unwrap();
        assert_eq!(
            (record.protocol, record.outside),
            (Some(Protocol::Udp), Endpoint::new([192, 0, 2, 1], 40_000))
        );
        assert_eq!(
            (record.at_ns, record.to),
            (Some(1_764_403_200_500_000_000), Some(Endpoint::new([10, 0, 1, 2], 9)))
        );
        assert_eq!(format.read("gw1 cgn[3]: link up", 1), None);
        let short: Pattern = "map {inside} {inside_port} {outside} {outside_port}".parse().unwrap();
        let record = LogFormat::Pattern(short).read("map 10.0.0.2 1024 192.0.2.1 40000 ok", 1).unwrap();
        assert_eq!((record.outside.port, record.to, record.at_ns), (40_000, None, None));
    }

    #[test]
    fn patterns_that_make_no_sense_are_refused() {
        for (pattern, why) in [
            ("{inside}", "'{inside_port}' is missing"),
            ("{inside} {port}", "no field '{port}'"),
            ("{inside}{inside_port}", "no text between"),
            ("{inside} {inside} ", "twice"),
            ("{inside", "not closed"),
        ] {
            let error = pattern.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_whole_log_matches_and_what_is_removed_is_named() {
        let all: Vec<Mapping> =
            (0..1_000).map(|n| mapping(1024 + n, 1_764_403_200 + u64::from(n) / 100)).collect();
        let mut lines: Vec<String> = all.iter().map(logged).collect();
        let whole = compare(&all, &read(&lines), 1_000_000);
        assert!(whole.is_complete() && whole.matched == 1_000 && whole.extra.is_empty(), "{whole:?}");
        // Every hundredth.
        let removed: Vec<Mapping> = (0..10)
            .rev()
            .map(|n| {
                lines.remove(100 * n);
                all[100 * n]
            })
            .collect();
        let mut missing = compare(&all, &read(&lines), 1_000_000).missing;
        missing.reverse();
        assert_eq!(missing, removed);
    }

    #[test]
    fn wrong_late_and_extra_records_are_named() {
        let all = [mapping(1024, 100), mapping(1025, 100), mapping(1026, 100)];
        let mut lines: Vec<String> = all.iter().map(logged).collect();
        lines[0] = lines[0].replace("dport=11024", "dport=11025");
        lines[1] = lines[1].replace("[100.", "[103.");
        lines.push(logged(&mapping(2000, 100)));
        let found = compare(&all, &read(&lines), 1_000_000_000);
        assert_eq!((found.matched, found.wrong[0].mapping, found.late[0].mapping), (1, all[0], all[1]));
        assert_eq!((found.extra[0].inside.port, found.extra[0].line), (2000, 4));
        assert_eq!(found.wrong[0].record.line, 1);
    }

    #[test]
    fn a_connection_made_again_has_a_record_of_its_own() {
        let all = [mapping(1024, 100), mapping(1024, 200)];
        let lines: Vec<String> = all.iter().map(logged).collect();
        assert_eq!(compare(&all, &read(&lines), 1_000_000).matched, 2);
        for (left, lost) in [(0, 1), (1, 0)] {
            assert_eq!(compare(&all, &read(&lines[left..=left]), 1_000_000).missing, [all[lost]]);
        }
    }

    #[test]
    fn a_record_without_the_other_end_is_of_all_its_connections() {
        let there = mapping(1024, 100);
        let other =
            Mapping { to: Endpoint::new([10, 0, 1, 3], 9), remote: Endpoint::new([10, 0, 1, 3], 9), ..there };
        let pattern: Pattern = "{inside} {inside_port} {outside} {outside_port}".parse().unwrap();
        let record = LogFormat::Pattern(pattern).read("10.0.0.2 1024 10.0.1.1 11024", 1).unwrap();
        let found = compare(&[there, other], &[record], 0);
        assert!(found.is_complete() && found.matched == 2 && found.extra.is_empty());
    }

    #[test]
    fn a_block_of_ports_has_all_its_mappings() {
        let read = |pattern: &str, line: &str| LogFormat::Pattern(pattern.parse().unwrap()).read(line, 1);
        let by_size = read(
            "{time} PBA {inside} {outside} {first_port}+{block_size}",
            "50 PBA 10.0.0.2 10.0.1.1 11024+2",
        );
        let by_last = read(
            "{time} PBA {inside} {outside} {first_port}-{last_port}",
            "50 PBA 10.0.0.2 10.0.1.1 11024-11025",
        );
        assert!(by_size.is_some() && by_size == by_last);
        let block = by_size.unwrap();
        assert_eq!((block.inside.port, block.outside.port, block.last_port), (0, 11_024, Some(11_025)));
        // Two of the three are in it; the third comes from no block of this subscriber.
        let all = [mapping(1024, 100), mapping(1025, 200), mapping(1026, 100)];
        let found = compare(&all, &[block], 0);
        assert_eq!((found.matched, found.wrong.len(), found.missing.len()), (2, 1, 0));
        assert_eq!((found.wrong[0].mapping, found.extra.len()), (all[2], 0));
        // A second block has it, but was logged late; another subscriber's is extra.
        let second = Record {
            outside: all[2].outside,
            last_port: Some(20_000),
            at_ns: Some(103_000_000_000),
            ..block
        };
        let other = Record { inside: Endpoint::new([10, 0, 0, 3], 0), ..block };
        let found = compare(&all, &[block, second, other], 1_000_000_000);
        assert_eq!((found.matched, found.late.len(), found.late[0].mapping), (2, 1, all[2]));
        assert_eq!((found.extra, found.wrong.len()), (vec![other], 0));
        assert_eq!(compare(&all, &[other], 0).missing, {
            let mut by_time = all.to_vec();
            by_time.sort_by_key(|mapping| mapping.sent_ns);
            by_time
        });
    }

    #[test]
    fn blocks_that_are_none_are_no_records() {
        let pattern: Pattern = "{inside} {outside} {first_port}+{block_size}".parse().unwrap();
        let format = LogFormat::Pattern(pattern);
        for line in ["10.0.0.2 10.0.1.1 11024+0", "10.0.0.2 10.0.1.1 65535+2", "10.0.0.2 10.0.1.1 x+1"] {
            assert_eq!(format.read(line, 1), None, "{line}");
        }
        for (pattern, why) in [
            ("{inside} {outside} {first_port}", "either '{last_port}' or '{block_size}'"),
            ("{inside} {outside} {first_port} {last_port} {block_size}", "either"),
            ("{inside} {first_port} {last_port}", "'{outside}' is missing: a block"),
        ] {
            assert!(pattern.parse::<Pattern>().unwrap_err().to_string().contains(why), "{pattern}");
        }
    }
}
