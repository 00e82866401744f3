//! A translator's record of its mappings as it exports them: IPFIX messages (RFC 7011) with the elements of RFC 8158, and NetFlow version 9
//! (RFC 3954), whose numbers of fields are the same.
//!
//! Templates belong to an exporter and its observation domain, and may come after records that need them, as UDP loses and reorders
//! packets: the first pass over all messages collects them ([`Exports::learn`]), the second reads records ([`Exports::read`]).
//!
//! Not here: files and packets around messages; elements of enterprises.
//!
//! Invariants: reading never panics, and whatever is not read is counted.

use crate::{Endpoint, LogError, Protocol, Record};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Information elements (IANA, "IP Flow Information Export Entities").
mod element {
    pub(super) const PROTOCOL: u16 = 4;
    pub(super) const SOURCE_PORT: u16 = 7;
    pub(super) const SOURCE_V4: u16 = 8;
    pub(super) const DESTINATION_PORT: u16 = 11;
    pub(super) const DESTINATION_V4: u16 = 12;
    pub(super) const SOURCE_V6: u16 = 27;
    pub(super) const DESTINATION_V6: u16 = 28;
    pub(super) const FLOW_START_SECONDS: u16 = 150;
    pub(super) const FLOW_START_MILLISECONDS: u16 = 152;
    pub(super) const FLOW_START_MICROSECONDS: u16 = 154;
    pub(super) const FLOW_START_NANOSECONDS: u16 = 156;
    pub(super) const POST_SOURCE_V4: u16 = 225;
    pub(super) const POST_SOURCE_PORT: u16 = 227;
    pub(super) const NAT_EVENT: u16 = 230;
    pub(super) const POST_SOURCE_V6: u16 = 281;
    pub(super) const SECONDS: u16 = 322;
    pub(super) const MILLISECONDS: u16 = 323;
    pub(super) const MICROSECONDS: u16 = 324;
    pub(super) const NANOSECONDS: u16 = 325;
    pub(super) const RANGE_START: u16 = 361;
    pub(super) const RANGE_END: u16 = 362;
    pub(super) const RANGE_STEP: u16 = 363;
    pub(super) const RANGE_PORTS: u16 = 364;
}

/// Values of natEvent for something created (RFC 8158 section 5.6.1): a translation, a session of NAT44 and NAT64, an entry of their
/// binding tables, a block of ports.
const CREATED: [u64; 6] = [1, 4, 6, 8, 10, 16];
/// Length of a field whose length is in each record (RFC 7011 section 7).
const VARIABLE: u16 = 0xffff;
/// Seconds from 1900, where NTP's time begins, to 1970.
const NTP_TO_UNIX: u64 = 2_208_988_800;
/// Templates kept.
const TEMPLATES_MAX: usize = 65_536;
/// Lengths of the headers of messages.
const IPFIX_HEADER: usize = 16;
const NETFLOW_HEADER: usize = 20;

/// A field of a template: its element, `None` for one of an enterprise, and its length.
type Column = (Option<u16>, u16);

/// Where a template belongs: exporter, version, observation domain, number.
type Place = (Option<Endpoint>, u16, u32, u16);

/// Messages of exporters, and what they are read with.
#[derive(Debug, Default)]
pub struct Exports {
    /// Templates as they are at this place of the log.
    now: HashMap<Place, Arc<[Column]>>,
    /// The first ones, for records that came before.
    first: HashMap<Place, Arc<[Column]>>,
    /// Data records read.
    pub records: u64,
    /// Sets whose template is in no message.
    pub without_template: u64,
    /// Records of blocks whose ports do not follow one another.
    pub scattered: u64,
}

/// A message without its header.
struct Message<'m> {
    version: u16,
    domain: u32,
    sets: &'m [u8],
    /// Length of the whole.
    len: usize,
}

/// Whether bytes begin as a message of IPFIX does.
pub fn is_ipfix(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0, 10])
}

/// Whether bytes begin as a message of IPFIX or NetFlow 9 does.
pub fn is_message(bytes: &[u8]) -> bool {
    bytes.len() >= IPFIX_HEADER && matches!(word(bytes, 0), Some(9 | 10))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn wrong(why: &str) -> LogError {
    LogError(why.to_owned())
}

impl<'m> Message<'m> {
    /// The message that `bytes` begin with. One of NetFlow has no length: it takes all.
    fn read(bytes: &'m [u8]) -> Result<Self, LogError> {
        let version = word(bytes, 0).ok_or_else(|| wrong("it ends within its first two bytes"))?;
        let header = match version {
            10 => IPFIX_HEADER,
            9 => NETFLOW_HEADER,
            _ => return Err(LogError(format!("version {version} is neither IPFIX (10) nor NetFlow 9"))),
        };
        if bytes.len() < header {
            return Err(wrong("it ends within its header"));
        }
        let len = match version {
            10 => usize::from(word(bytes, 2).unwrap_or(0)),
            _ => bytes.len(),
        };
        if len < header || len > bytes.len() {
            return Err(LogError(format!("its length is {len}, and {} bytes are there", bytes.len())));
        }
        let domain = number(&bytes[header - 4..header]) as u32;
        Ok(Self { version, domain, sets: &bytes[header..len], len })
    }

    /// Its sets: number, and content.
    fn sets(&self) -> impl Iterator<Item = Result<(u16, &'m [u8]), LogError>> + use<'m> {
        let mut rest = self.sets;
        std::iter::from_fn(move || {
            // Less than a header is padding.
            let (id, len) = (word(rest, 0)?, usize::from(word(rest, 2)?));
            if len < 4 || len > rest.len() {
                let why = format!("the length of set {id} is {len}, and {} bytes are there", rest.len());
                rest = &[];
                return Some(Err(LogError(why)));
            }
            let content = &rest[4..len];
            rest = &rest[len..];
            Some(Ok((id, content)))
        })
    }

    /// Number of sets of templates, and of templates of options, which have two numbers more in their header.
    fn template_sets(&self) -> (u16, u16) {
        if self.version == 10 { (2, 3) } else { (0, 1) }
    }
}

/// Templates of a set: number and columns. Of options, `None`: their records are none of mappings.
fn templates(version: u16, options: bool, mut rest: &[u8]) -> Vec<(u16, Option<Vec<Column>>)> {
    let mut found = Vec::new();
    while let (Some(id), Some(mut count)) = (word(rest, 0), word(rest, 2)) {
        if id < 256 {
            break;
        }
        let mut at = 4;
        if options {
            match version {
                10 if count == 0 => {}
                // IPFIX: the number of scopes among the fields comes next.
                10 => at = 6,
                // NetFlow: in place of the count the bytes of scopes, then those of options.
                _ => (count, at) = (count / 4 + word(rest, 4).unwrap_or(0) / 4, 6),
            }
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            let (Some(element), Some(len)) = (word(rest, at), word(rest, at + 2)) else { return found };
            at += 4;
            let is_own = version == 10 && element & 0x8000 != 0;
            at += if is_own { 4 } else { 0 };
            columns.push(((!is_own).then_some(element), len));
        }
        found.push((id, (!options).then_some(columns)));
        rest = rest.get(at..).unwrap_or_default();
    }
    found
}

/// The fields of a record that matter.
#[derive(Debug, Default, Clone, Copy)]
struct Fields {
    protocol: Option<u64>,
    source: Option<IpAddr>,
    source_port: Option<u64>,
    destination: Option<IpAddr>,
    destination_port: Option<u64>,
    post_source: Option<IpAddr>,
    post_source_port: Option<u64>,
    event: Option<u64>,
    at_ns: Option<u64>,
    range: [Option<u64>; 4],
}

/// An instant of NTP's format, ns since 1970.
fn of_ntp(bytes: &[u8]) -> Option<u64> {
    let value = number(bytes);
    let seconds = (value >> 32).checked_sub(NTP_TO_UNIX)?;
    Some(seconds * 1_000_000_000 + (((value & 0xffff_ffff) * 1_000_000_000) >> 32))
}

impl Fields {
    /// Takes a field; of several of the same kind the first counts.
    fn take(&mut self, element: u16, bytes: &[u8]) {
        let address = || match bytes.len() {
            4 => Some(IpAddr::from(Ipv4Addr::from(*bytes.first_chunk::<4>()?))),
            16 => Some(IpAddr::from(Ipv6Addr::from(*bytes.first_chunk::<16>()?))),
            _ => None,
        };
        let set = |place: &mut Option<u64>| *place = place.or(Some(number(bytes)));
        let set_address = |place: &mut Option<IpAddr>| {
            *place = place.or_else(|| address().filter(|address| !address.is_unspecified()));
        };
        let unix = |per_second: u64| number(bytes).checked_mul(1_000_000_000 / per_second);
        match element {
            element::PROTOCOL => set(&mut self.protocol),
            element::SOURCE_PORT => set(&mut self.source_port),
            element::DESTINATION_PORT => set(&mut self.destination_port),
            element::POST_SOURCE_PORT => set(&mut self.post_source_port),
            element::NAT_EVENT => set(&mut self.event),
            element::RANGE_START => set(&mut self.range[0]),
            element::RANGE_END => set(&mut self.range[1]),
            element::RANGE_STEP => set(&mut self.range[2]),
            element::RANGE_PORTS => set(&mut self.range[3]),
            element::SOURCE_V4 | element::SOURCE_V6 => set_address(&mut self.source),
            element::DESTINATION_V4 | element::DESTINATION_V6 => set_address(&mut self.destination),
            element::POST_SOURCE_V4 | element::POST_SOURCE_V6 => set_address(&mut self.post_source),
            element::SECONDS | element::FLOW_START_SECONDS => self.at_ns = self.at_ns.or(unix(1)),
            element::MILLISECONDS | element::FLOW_START_MILLISECONDS => {
                self.at_ns = self.at_ns.or(unix(1_000));
            }
            element::MICROSECONDS
            | element::NANOSECONDS
            | element::FLOW_START_MICROSECONDS
            | element::FLOW_START_NANOSECONDS => self.at_ns = self.at_ns.or_else(|| of_ntp(bytes)),
            _ => {}
        }
    }

    /// The last port of a block, which has a first one.
    fn last_port(&self, first: u16) -> Option<u16> {
        let [_, end, _, ports] = self.range;
        match (end, ports) {
            (Some(end), _) => u16::try_from(end).ok(),
            (None, Some(ports)) => u16::try_from(u64::from(first).checked_add(ports.checked_sub(1)?)?).ok(),
            (None, None) => None,
        }
    }
}

impl Exports {
    /// Learns the templates of a message, and returns its length. `exporter`: who sent it, if it is known.
    pub fn learn(&mut self, exporter: Option<Endpoint>, bytes: &[u8]) -> Result<usize, LogError> {
        let message = Message::read(bytes)?;
        let (plain, options) = message.template_sets();
        for set in message.sets() {
            let (id, content) = set?;
            if id != plain && id != options {
                continue;
            }
            for (number, columns) in templates(message.version, id == options, content) {
                if self.first.len() < TEMPLATES_MAX
                    && columns.as_ref().is_none_or(|columns| !columns.is_empty())
                {
                    let place = (exporter, message.version, message.domain, number);
                    self.first.entry(place).or_insert_with(|| columns.unwrap_or_default().into());
                }
            }
        }
        Ok(message.len)
    }

    /// Reads the records of a message into `out`, and returns its length.
    pub fn read(
        &mut self,
        exporter: Option<Endpoint>,
        bytes: &[u8],
        out: &mut Vec<Record>,
    ) -> Result<usize, LogError> {
        let message = Message::read(bytes)?;
        let (plain, options) = message.template_sets();
        for set in message.sets() {
            let (id, content) = set?;
            let place = |number| (exporter, message.version, message.domain, number);
            if id == plain || id == options {
                for (number, columns) in templates(message.version, id == options, content) {
                    if self.now.len() < TEMPLATES_MAX || self.now.contains_key(&place(number)) {
                        // One without fields withdraws it (RFC 7011 section 8.1).
                        self.now.insert(place(number), columns.unwrap_or_default().into());
                    }
                }
            } else if id >= 256 {
                let columns = match self.now.get(&place(id)).or_else(|| self.first.get(&place(id))) {
                    Some(columns) => columns.clone(),
                    None => {
                        self.without_template += 1;
                        continue;
                    }
                };
                self.data(&columns, content, out);
            }
        }
        Ok(message.len)
    }

    /// The records of a set.
    fn data(&mut self, columns: &[Column], mut rest: &[u8], out: &mut Vec<Record>) {
        // Options, and templates without fields.
        if columns.is_empty() {
            return;
        }
        while !rest.is_empty() {
            let mut fields = Fields::default();
            for (element, len) in columns {
                let Some((skip, len)) = length(rest, *len) else { return };
                let Some(bytes) = rest.get(skip..skip + len) else { return };
                if let Some(element) = element {
                    fields.take(*element, bytes);
                }
                rest = &rest[skip + len..];
            }
            self.records += 1;
            if columns.iter().all(|(_, len)| *len == 0) {
                return;
            }
            out.extend(self.record(&fields));
        }
    }

    /// The record in a data record; `None` if it is about something else.
    fn record(&mut self, fields: &Fields) -> Option<Record> {
        if fields.event.is_some_and(|event| !CREATED.contains(&event)) {
            return None;
        }
        let port = |value: Option<u64>| value.and_then(|value| u16::try_from(value).ok());
        let protocol = match fields.protocol.filter(|number| *number != 0) {
            Some(number) => Some(Protocol::of_number(u8::try_from(number).ok()?)?),
            None => None,
        };
        let (inside, outside) = (fields.source?, fields.post_source?);
        let (at_ns, line) = (fields.at_ns, self.records);
        if let Some(first) = port(fields.range[0]) {
            // Ports by a step or an algorithm are no range.
            let Some(last) = fields.last_port(first).filter(|_| fields.range[2].is_none_or(|step| step <= 1))
            else {
                self.scattered += 1;
                return None;
            };
            return (first <= last).then_some(Record {
                protocol,
                inside: Endpoint { address: inside, port: 0 },
                to: None,
                outside: Endpoint { address: outside, port: first },
                last_port: Some(last),
                at_ns,
                line,
            });
        }
        let to = fields.destination.zip(port(fields.destination_port).filter(|port| *port != 0));
        Some(Record {
            protocol,
            inside: Endpoint { address: inside, port: port(fields.source_port)? },
            to: to.map(|(address, port)| Endpoint { address, port }),
            outside: Endpoint { address: outside, port: port(fields.post_source_port)? },
            last_port: None,
            at_ns,
            line,
        })
    }
}

/// Bytes before a field, and its length.
fn length(rest: &[u8], given: u16) -> Option<(usize, usize)> {
    if given != VARIABLE {
        return Some((0, usize::from(given)));
    }
    match *rest.first()? {
        255 => Some((3, usize::from(word(rest, 1)?))),
        short => Some((1, usize::from(short))),
    }
}

#[cfg(test)]
mod tests;
