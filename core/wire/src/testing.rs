//! Random packets, drawn from the catalogue, for the properties that must hold for every protocol in it.

use crate::catalogue::{Auto, Field, Found, Protocol};
use crate::protocols::{ALL, ethernet::ETHERNET};
use crate::variable::{Variable, VariableKind};
use crate::{Header, PacketSpec, read};
use proptest::prelude::*;
use units::FrameLen;

/// Which fields a random packet's author sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// Any that leaves the headers what they are, wrong lengths and checksums among them.
    Careless,
    /// Only those nothing computes.
    Honest,
}

/// Any packet the catalogue can express.
pub(crate) fn any_spec(author: Author) -> impl Strategy<Value = PacketSpec> {
    let choices = prop::collection::vec(any::<u16>(), 0..9);
    let sets = prop::collection::vec((any::<u16>(), any::<u16>(), any::<u128>()), 0..20);
    let payload = prop::collection::vec(any::<u8>(), 0..60);
    (choices, sets, payload).prop_map(move |(choices, sets, payload)| {
        let mut headers = stack(&choices);
        for (header, field, value) in sets {
            let index = usize::from(header) % headers.len();
            set_some(&mut headers, index, field, value, author);
        }
        while !can_be_built(&headers) {
            headers.pop();
        }
        close(&mut headers);
        with_payload(headers, payload)
    })
}

/// The headers of the named protocols, with nothing set.
pub(crate) fn headers(names: &[&str]) -> Vec<Header> {
    names.iter().map(|name| Header::new(crate::protocol(name).unwrap())).collect()
}

fn can_be_built(headers: &[Header]) -> bool {
    let spec = PacketSpec { headers: headers.to_vec(), ..PacketSpec::default() };
    spec.build(FrameLen::new(1000).unwrap()).is_ok()
}

/// Ethernet and what may follow it, and what may follow that: a way through the catalogue.
fn stack(choices: &[u16]) -> Vec<Header> {
    let mut headers = vec![Header::new(&ETHERNET)];
    for choice in choices {
        let next: Vec<_> = ALL.iter().filter(|p| !p.only_built && may_come(p, &headers)).collect();
        if next.is_empty() {
            break;
        }
        headers.push(Header::new(next[usize::from(*choice) % next.len()]));
    }
    headers
}

/// Puts a header where anything would be taken for it.
fn close(headers: &mut Vec<Header>) {
    let last = headers[headers.len() - 1].protocol;
    let is_taken = |p: &&&Protocol| {
        p.recognise.is_none() && p.nibble.is_none() && p.follows.iter().any(|(outer, _)| *outer == last.name)
    };
    if let (None, Some(taken)) = (last.next_field(), ALL.iter().find(is_taken)) {
        headers.push(Header::new(taken));
    }
}

/// Whether a reader accepts `p` after `headers`.
pub(crate) fn may_come(p: &Protocol, headers: &[Header]) -> bool {
    let mut with = headers.to_vec();
    with.push(Header::new(ALL.iter().find(|other| other.name == p.name).unwrap()));
    if !can_be_built(&with) {
        return false;
    }
    let Some(whole) = headers.iter().rposition(|h| p.is_part_of(h.protocol)) else { return true };
    let before = headers[whole..].iter().filter(|h| h.protocol.is_part_of(headers[whole].protocol));
    let last = before.map(|h| rank(h.protocol)).max();
    // Where at least one part is counted, there is at least one.
    let counted = ALL.iter().filter(|other| other.is_part_of(headers[whole].protocol));
    let at_least_one =
        counted.filter(|p| matches!(p.part.unwrap().found, Found::ByCount { more: 1, .. })).count();
    match p.part.unwrap().found {
        Found::ByKind if at_least_one > 0 => last.is_some(),
        Found::ByFlag(_) => last.is_none_or(|last| last < rank(p)),
        _ => last.is_none_or(|last| last <= rank(p) && last != LAST),
    }
}

const LAST: usize = usize::MAX;

/// Parts come in the order of their ranks.
fn rank(part: &Protocol) -> usize {
    match part.part.unwrap().found {
        Found::ByKindLast => LAST,
        Found::ByKind => LAST - 1,
        found => ALL.iter().position(|p| p.part.is_some_and(|p| p.found == found)).unwrap(),
    }
}

/// The packet with a payload that no reader takes for a header.
fn with_payload(headers: Vec<Header>, payload: Vec<u8>) -> PacketSpec {
    let plain = PacketSpec { headers, payload, ..PacketSpec::default() };
    let prefixes: [&[u8]; 4] = [&[], &[0xff; 4], &[0xff, 0, 0xff, 0], &[0x70, 0xff, 0x70, 0xff]];
    let specs = prefixes.map(|prefix| {
        let payload = [prefix, &plain.payload[..]].concat();
        PacketSpec { headers: plain.headers.clone(), payload, ..PacketSpec::default() }
    });
    let is_plain = |spec: &&PacketSpec| {
        let packet = spec.build(spec.shortest(100)).unwrap();
        read(&packet.bytes).0.len() == spec.headers.len()
    };
    specs.iter().find(is_plain).unwrap_or(&plain).clone()
}

fn set_some(headers: &mut [Header], index: usize, choice: u16, value: u128, author: Author) {
    let protocol = headers[index].protocol;
    let fields: Vec<_> = protocol.fields.iter().filter(|f| may_set(headers, index, f, author)).collect();
    if let Some(variable) =
        protocol.variable.as_ref().filter(|_| choice.is_multiple_of(3) || fields.is_empty())
    {
        headers[index].variable = Some(any_bytes(protocol, variable, value));
        return;
    }
    let Some(field) = fields.get(usize::from(choice) % fields.len().max(1)) else { return };
    let header = &mut headers[index];
    if header.value(field.name).is_some() {
        return;
    }
    // A header can't be shorter than its fields.
    let min = if is_real_length(protocol, field) { field.default } else { 0 };
    let value = if min > 0 { min + value % (field.max() - min + 1) } else { value & field.max() };
    header.set.push((field, value));
}

/// Bytes for a field of variable length, as many as need no padding.
fn any_bytes(protocol: &Protocol, variable: &Variable, value: u128) -> Vec<u8> {
    if variable.kind == VariableKind::Name {
        return variable.parse(&format!("{:x}.{:x}.test", value >> 100, value as u16)).unwrap();
    }
    let mut bytes = value.to_be_bytes()[..value as usize % 16].to_vec();
    while protocol
        .real_length
        .is_some_and(|length| length.of(protocol.len + bytes.len()).1 != protocol.len + bytes.len())
    {
        bytes.push(0xa5);
    }
    bytes
}

fn is_real_length(protocol: &Protocol, field: &Field) -> bool {
    protocol.real_length.is_some_and(|length| length.field == field.name)
}

/// Whether the packet has the same headers for every value of the field.
fn may_set(headers: &[Header], index: usize, field: &Field, author: Author) -> bool {
    let protocol = headers[index].protocol;
    let parts = || ALL.iter().filter(|p| p.is_part_of(protocol));
    let tells_parts = parts().any(|p| match p.part.unwrap().found {
        Found::ByFlag(fields) => fields.contains(&field.name),
        Found::ByCount { field: count, .. } => count == field.name,
        _ => false,
    });
    let tells_end = is_real_length(protocol, field)
        && (author == Author::Honest
            || protocol.variable.is_some()
            || protocol.part.is_some()
            || parts().next().is_some());
    let tells_version = protocol.nibble.is_some() && field.bit == 0;
    let is_length = matches!(field.auto, Auto::LengthWithHeader | Auto::LengthBehindHeader);
    let hides = is_length && headers.iter().any(|h| ends_with_the_packet(h.protocol));
    let tells = [
        field.auto == Auto::NextProtocol,
        protocol.fragment.iter().any(|(name, _)| *name == field.name),
        tells_apart(protocol, field),
        tells_parts,
        tells_end,
        tells_version,
        hides,
    ];
    !tells.contains(&true) && (author == Author::Careless || field.auto == Auto::Default)
}

/// Whether the field distinguishes the header from others that may be in its place.
fn tells_apart(protocol: &Protocol, field: &Field) -> bool {
    let shares_place = |p: &&&Protocol| {
        p.follows.iter().any(|place| protocol.follows.contains(place))
            || p.part.zip(protocol.part).is_some_and(|(a, b)| a.of.iter().any(|whole| b.of.contains(whole)))
    };
    ALL.iter().filter(shares_place).any(|p| p.recognise.is_some_and(|(name, _)| name == field.name))
}

/// Whether a reader looks for the header only before the end of its packet.
fn ends_with_the_packet(protocol: &Protocol) -> bool {
    match protocol.part {
        Some(part) => part.of.iter().any(|whole| crate::protocol(whole).unwrap().real_length.is_none()),
        None => protocol.recognise.is_some(),
    }
}
