//! Other addresses, ports and tags in the packets of a trace.
//!
//! Checksums are updated incrementally (RFC 1624), not computed anew: so a wrong checksum remains equally wrong for a
//! receiver, and a packet of which only the beginning was captured keeps the checksum of the whole.

use crate::headers::Headers;
use crate::{LONGEST, RewriteError, SHORTEST, Trace};
use std::ops::Range;
use wire::{
    Algorithm, Auto, Checksum, Field, Header, Kind, PathError, Protocol, ReadHeader, SERVICE_VLAN_TYPE,
    VLAN_TYPE, checksum, is_vlan_type, known_field, known_header,
};

/// Offset of tags: after both hardware addresses.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;

/// A change to every packet it fits. Fields have the names of wire's catalogue, `ipv4.dst`, and are searched for in the
/// outermost header of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// Sets a field.
    Set {
        /// Which one.
        path: String,
        /// To what, as people write it.
        value: String,
    },
    /// Sets the first bits of a field where they equal the bits of `from`; the following bits stay.
    Map {
        /// Which field.
        path: String,
        /// A value with the number of bits that count, `10.0.0.0/8`; without it all do.
        from: String,
        /// Replacement of these bits; as many as in `from`.
        to: String,
    },
    /// Maps addresses of an IP network in all IPv4, IPv6, ARP and neighbour discovery headers, in tunnels and in
    /// packets that ICMP errors quote.
    MapNetwork {
        /// The network, `10.0.0.0/8`.
        from: String,
        /// Replacement; of the same size.
        to: String,
    },
    /// Changes a UDP or TCP port, at either end, in tunnels and in packets that ICMP errors quote.
    MapPort {
        /// The port.
        from: u16,
        /// Replacement.
        to: u16,
    },
    /// Puts a VLAN tag before all others.
    PushVlan {
        /// VLAN identifier, up to 4095.
        id: u16,
        /// Priority, up to 7.
        pcp: u8,
    },
    /// Takes the outermost VLAN tag away.
    PopVlan,
}

/// Effects of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleReport {
    /// Packets that are different now.
    pub changed: u64,
    /// Packets that have the header, but not a value to change.
    pub unchanged: u64,
    /// Packets that have no such header and were left alone.
    pub without: u64,
}

/// Effects of all rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Of each rule, in the order given.
    pub rules: Vec<RuleReport>,
}

/// Applies rules to all packets of a trace, one after the other: a later one sees what an earlier one made.
///
/// IPv4, UDP, TCP, ICMP and ICMPv6 checksums that were right stay right, those that were wrong stay wrong, and a UDP
/// checksum of zero stays zero. First fragments have the header of their transport protocol, and their checksum is updated by
/// what changed in them. All rules are looked at before the first packet is changed; when a packet gets too long, those before
/// it are changed already.
pub fn rewrite(trace: &mut Trace, rules: &[Rewrite]) -> Result<Report, RewriteError> {
    let ready = rules.iter().enumerate().map(|(index, rule)| {
        Ready::new(rule).map_err(|reason| RewriteError::Rule { rule: index + 1, reason })
    });
    let ready = ready.collect::<Result<Vec<Ready>, RewriteError>>()?;
    let mut report = Report { rules: vec![RuleReport::default(); rules.len()] };
    for (number, packet) in trace.packets.iter_mut().enumerate() {
        let mut frame = Frame::new(&mut packet.bytes);
        for (index, rule) in ready.iter().enumerate() {
            let done = frame.apply(rule);
            let counts = &mut report.rules[index];
            match done {
                Done::Changed => counts.changed += 1,
                Done::Unchanged => counts.unchanged += 1,
                Done::Without => counts.without += 1,
                Done::TooLong => {
                    return Err(RewriteError::TooLong { rule: index + 1, packet: number + 1 });
                }
            }
        }
        let grown = frame.grown;
        packet.bytes.resize(packet.bytes.len().max(SHORTEST), 0);
        let original_len = i64::from(packet.original_len) + grown;
        packet.original_len = original_len.clamp(SHORTEST as i64, i64::from(u32::MAX)) as u32;
        packet.original_len = packet.original_len.max(packet.bytes.len() as u32);
    }
    trace.cut = trace.packets.iter().filter(|p| p.bytes.len() < p.original_len as usize).count() as u64;
    Ok(report)
}

/// A rule with its names and values resolved.
enum Ready {
    /// In each field of `fields`: bits of `mask` become the bits of `to` where they equal the bits of `from`.
    Fields {
        fields: Vec<Target>,
        from: Option<u128>,
        to: u128,
        mask: u128,
        /// Whether in all headers that have the field; otherwise in the outermost.
        everywhere: bool,
    },
    Push {
        tag: [u8; 2],
    },
    Pop,
}

/// A field of a header.
#[derive(Clone, Copy)]
struct Target {
    protocol: &'static Protocol,
    field: &'static Field,
}

impl Ready {
    fn new(rule: &Rewrite) -> Result<Self, String> {
        match rule {
            Rewrite::Set { path, value } => {
                let target = Target::named(path)?;
                let to = target.field.parse(value).map_err(|error| format!("{path}: {error}"))?;
                Ok(Self::Fields {
                    fields: vec![target],
                    from: None,
                    to,
                    mask: target.field.max(),
                    everywhere: false,
                })
            }
            Rewrite::Map { path, from, to } => {
                let target = Target::named(path)?;
                Self::map(vec![target], from, to, false).map_err(|error| format!("{path}: {error}"))
            }
            Rewrite::MapNetwork { from, to } => {
                let kind = if from.contains(':') { Kind::Ipv6 } else { Kind::Ipv4 };
                let all = wire::protocols::ALL.iter();
                let fields = all.flat_map(|p| p.fields.iter().map(|field| Target { protocol: p, field }));
                Self::map(fields.filter(|target| target.field.kind == kind).collect(), from, to, true)
            }
            Rewrite::MapPort { from, to } => {
                let paths = ["udp.src", "udp.dst", "tcp.src", "tcp.dst"];
                let fields = paths.into_iter().map(Target::named).collect::<Result<_, _>>()?;
                let (from, to) = (Some(u128::from(*from)), u128::from(*to));
                Ok(Self::Fields { fields, from, to, mask: 0xffff, everywhere: true })
            }
            Rewrite::PushVlan { id: 4096.., .. } => Err("a VLAN identifier is at most 4095".to_owned()),
            Rewrite::PushVlan { pcp: 8.., .. } => Err("a VLAN priority is at most 7".to_owned()),
            Rewrite::PushVlan { id, pcp } => {
                Ok(Self::Push { tag: (u16::from(*pcp) << 13 | id).to_be_bytes() })
            }
            Rewrite::PopVlan => Ok(Self::Pop),
        }
    }

    /// All `fields` are of one kind and width.
    fn map(fields: Vec<Target>, from: &str, to: &str, everywhere: bool) -> Result<Self, String> {
        let Some(field) = fields.first().map(|target| target.field) else {
            return Err("there is no such field".to_owned());
        };
        let ((from, bits), (to, bits_to)) = (prefix(field, from)?, prefix(field, to)?);
        if bits != bits_to {
            return Err(format!("/{bits} can't become /{bits_to}: both sides need as many bits"));
        }
        // Shifting by the whole width of the number is no shift.
        let behind = u32::from(field.width) - bits;
        let mask = field.max() & !(1u128.checked_shl(behind).map_or(u128::MAX, |bit| bit - 1));
        Ok(Self::Fields { fields, from: Some(from & mask), to: to & mask, mask, everywhere })
    }
}

/// `10.0.0.0/8`: a value of the field and how many of its bits count.
fn prefix(field: &Field, text: &str) -> Result<(u128, u32), String> {
    let (value, len) = text.split_once('/').map_or((text, None), |(value, len)| (value, Some(len)));
    let value = field.parse(value).map_err(|error| error.to_string())?;
    let width = u32::from(field.width);
    let bits = len.map_or(Some(width), |len| len.trim().parse().ok().filter(|bits| *bits <= width));
    Ok((value, bits.ok_or_else(|| format!("'{text}': behind the / there is a number from 0 to {width}"))?))
}

impl Target {
    fn named(path: &str) -> Result<Self, String> {
        let example = "such as ipv4.dst";
        let (header, name) =
            path.split_once('.').ok_or_else(|| format!("'{path}' is not a header and a field, {example}"))?;
        let told = |error: PathError| format!("{path}: {error}");
        let protocol = known_header(header).map_err(told)?;
        let field = known_field(protocol, name).map_err(told)?;
        Ok(Self { protocol, field })
    }

    /// The bytes the field has a share in, in a header at `offset`.
    fn bytes(self, offset: usize) -> Range<usize> {
        let (first, behind) = (usize::from(self.field.bit), usize::from(self.field.bit + self.field.width));
        offset + first / 8..offset + behind.div_ceil(8)
    }
}

/// Effect of a rule on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Changed,
    Unchanged,
    Without,
    TooLong,
}

/// A frame and what is in it.
struct Frame<'a> {
    bytes: &'a mut Vec<u8>,
    headers: Vec<ReadHeader>,
    /// Bytes added less bytes taken away.
    grown: i64,
}

impl<'a> Frame<'a> {
    fn new(bytes: &'a mut Vec<u8>) -> Self {
        let headers = Headers::of(bytes).all;
        Self { bytes, headers, grown: 0 }
    }

    fn apply(&mut self, rule: &Ready) -> Done {
        let done = match rule {
            Ready::Fields { fields, from, to, mask, everywhere } => {
                let mut done = Done::Without;
                for target in fields {
                    let is_its = |index: &usize| self.headers[*index].protocol.name == target.protocol.name;
                    let places: Vec<usize> = (0..self.headers.len()).filter(is_its).collect();
                    for place in places.into_iter().take(if *everywhere { usize::MAX } else { 1 }) {
                        done = match (done, self.set(place, *target, *from, *to, *mask)) {
                            (Done::Changed, _) | (_, Done::Changed) => Done::Changed,
                            (Done::Unchanged, _) | (_, Done::Unchanged) => Done::Unchanged,
                            (_, last) => last,
                        };
                    }
                }
                done
            }
            Ready::Push { tag } => self.push(*tag),
            Ready::Pop => self.pop(),
        };
        if done == Done::Changed {
            self.headers = Headers::of(self.bytes).all;
        }
        done
    }

    /// Sets the field in the header with this number.
    fn set(&mut self, place: usize, target: Target, from: Option<u128>, to: u128, mask: u128) -> Done {
        let header = &self.headers[place];
        // Some fields stand behind one of variable length.
        let offset = header.offset + Header::from(header).shift(target.field);
        // A quoted packet may end before its headers do.
        let is_there = target.bytes(offset).end <= self.bytes.len();
        let Some(old) =
            self.bytes.get(offset..).filter(|_| is_there).and_then(|bytes| target.field.get(bytes))
        else {
            return Done::Without;
        };
        let new = old & !mask | to;
        if from.is_some_and(|from| old & mask != from) || new == old {
            return Done::Unchanged;
        }
        let (sums, crcs) = (sums(&self.headers, self.bytes), self.right_crcs());
        let range = target.bytes(offset);
        let mut changes = vec![SavedBytes { at: range.start, old: self.bytes[range].to_vec() }];
        target.field.set(&mut self.bytes[offset..], new);
        for crc in crcs {
            let field = crc.offset..crc.offset + crc.algorithm.bytes();
            changes.push(SavedBytes { at: field.start, old: self.bytes[field].to_vec() });
            crc.write(self.bytes);
        }
        for sum in sums {
            changes.extend(sum.update(self.bytes, &changes));
        }
        Done::Changed
    }

    /// The checksums that are no Internet checksums (SCTP) and are right: they can't be updated by what changes.
    fn right_crcs(&self) -> Vec<Checksum> {
        let mut fields = self.headers.iter().flat_map(|header| header.protocol.fields);
        if !fields.any(|field| field.auto == Auto::Crc32c) {
            return Vec::new();
        }
        let is_right = |checksum: &Checksum| {
            let mut again = self.bytes.clone();
            checksum.write(&mut again);
            again == *self.bytes
        };
        let found = wire::checksums(self.bytes).into_iter();
        found.filter(|checksum| checksum.algorithm == Algorithm::Crc32c && is_right(checksum)).collect()
    }

    fn push(&mut self, tag: [u8; 2]) -> Done {
        let Some(next) = self.bytes.get(TAG_AT..TAG_AT + 2) else { return Done::Without };
        if self.bytes.len() + TAG_LEN > LONGEST {
            return Done::TooLong;
        }
        // A service tag stands before another (IEEE 802.1Q clause 9.5).
        let tagged = next.first_chunk().is_some_and(|kind| is_vlan_type(u16::from_be_bytes(*kind)));
        let kind = if tagged { SERVICE_VLAN_TYPE } else { VLAN_TYPE }.to_be_bytes();
        self.bytes.splice(TAG_AT..TAG_AT, [kind[0], kind[1], tag[0], tag[1]]);
        self.grown += TAG_LEN as i64;
        Done::Changed
    }

    fn pop(&mut self) -> Done {
        if self.headers.get(1).is_none_or(|header| header.protocol.name != "vlan") {
            return Done::Without;
        }
        self.bytes.drain(TAG_AT..TAG_AT + TAG_LEN);
        self.grown -= TAG_LEN as i64;
        Done::Changed
    }
}

/// Bytes that changed, as they were before.
struct SavedBytes {
    at: usize,
    old: Vec<u8>,
}

/// A checksum of a frame: its offset and coverage.
pub(crate) struct Sum {
    pub(crate) at: usize,
    pub(crate) covers: [Range<usize>; 2],
    /// Zero stands for no checksum, so a sum of zero is sent as all ones (UDP, RFC 768).
    pub(crate) zero_is_none: bool,
}

/// The checksums of a frame, innermost first: the order in which one that covers another must come.
pub(crate) fn sums(headers: &[ReadHeader], frame: &[u8]) -> Vec<Sum> {
    let sums = headers.iter().enumerate().rev().filter_map(|(index, header)| {
        let (start, end) = (header.offset, frame.len());
        let behind =
            headers.get(index + 1).map_or(start + header.protocol.length_in(&frame[start..]), |h| h.offset);
        let fields = header.protocol.fields.iter();
        fields
            .filter_map(|field| {
                let (covered, addresses, zero_is_none) = match field.auto {
                    Auto::HeaderChecksum => (start..behind.min(end), 0..0, false),
                    Auto::PlainChecksum => (start..end, 0..0, false),
                    Auto::PseudoHeaderChecksum { zero_as_ones } => {
                        (start..end, addresses(&headers[..index]), zero_as_ones)
                    }
                    _ => return None,
                };
                let at = start + usize::from(field.bit / 8);
                Some(Sum { at, covers: [covered, addresses], zero_is_none })
            })
            .next()
    });
    sums.collect()
}

/// The addresses of the nearest of `headers` that has a pseudo-header.
fn addresses(headers: &[ReadHeader]) -> Range<usize> {
    let found = headers.iter().rev().find_map(|header| {
        let addresses = header.protocol.pseudo_header.clone()?;
        Some(header.offset + addresses.start..header.offset + addresses.end)
    });
    found.unwrap_or(0..0)
}

impl Sum {
    /// Puts right what the changes made wrong, and returns the change that is.
    fn update(&self, frame: &mut [u8], changes: &[SavedBytes]) -> Option<SavedBytes> {
        let field = self.at..self.at + 2;
        let before = u16::from_be_bytes(*frame.get(field.clone())?.first_chunk()?);
        if self.zero_is_none && before == 0 {
            return None;
        }
        let (mut old, mut new, mut covered) = (0, 0, 0u64);
        for (at, was) in changes.iter().flat_map(|change| (change.at..).zip(&change.old)) {
            for range in self.covers.iter().filter(|range| range.contains(&at) && !field.contains(&at)) {
                let shift = if (at - range.start).is_multiple_of(2) { 8 } else { 0 };
                old += u64::from(*was) << shift;
                new += u64::from(frame[at]) << shift;
                covered += 1;
            }
        }
        if old == new {
            return None;
        }
        // RFC 1624 equation 3, with the words added up first. A multiple of 2¹⁶ - 1 is zero to a checksum.
        let after = checksum::finish(u64::from(!before) + covered * 0xffff - old + new);
        let after = if self.zero_is_none && after == 0 { 0xffff } else { after };
        frame[field].copy_from_slice(&after.to_be_bytes());
        Some(SavedBytes { at: self.at, old: before.to_be_bytes().to_vec() })
    }
}

#[cfg(test)]
mod tests;
