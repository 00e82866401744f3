//! Random packets, drawn from the catalogue, for the properties that must hold for every protocol in it.

use crate::catalogue::{Auto, Field, Protocol};
use crate::protocols::{ALL, ethernet::ETHERNET};
use crate::{Header, PacketSpec};
use proptest::prelude::*;

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
    let choices = prop::collection::vec(any::<u16>(), 0..7);
    let sets = prop::collection::vec((any::<u16>(), any::<u16>(), any::<u128>()), 0..20);
    let payload = prop::collection::vec(any::<u8>(), 0..60);
    (choices, sets, payload).prop_map(move |(choices, sets, payload)| {
        let mut headers = stack(&choices);
        for (header, field, value) in sets {
            let index = usize::from(header) % headers.len();
            set_some(&mut headers[index], field, value, author);
        }
        PacketSpec { headers, payload }
    })
}

/// The headers of the named protocols, with nothing set.
pub(crate) fn headers(names: &[&str]) -> Vec<Header> {
    names.iter().map(|name| Header::new(crate::protocol(name).unwrap())).collect()
}

/// Ethernet and what may follow it, and what may follow that: a way through the catalogue.
fn stack(choices: &[u16]) -> Vec<Header> {
    let mut headers = vec![Header::new(&ETHERNET)];
    for choice in choices {
        let outer = headers[headers.len() - 1].protocol.name;
        let inner: Vec<_> = ALL.iter().filter(|p| p.follows.iter().any(|(name, _)| *name == outer)).collect();
        if inner.is_empty() {
            break;
        }
        headers.push(Header::new(inner[usize::from(*choice) % inner.len()]));
    }
    headers
}

fn set_some(header: &mut Header, choice: u16, value: u128, author: Author) {
    let protocol = header.protocol;
    let fields: Vec<_> = protocol.fields.iter().filter(|f| may_set(protocol, f, author)).collect();
    let field = fields[usize::from(choice) % fields.len()];
    if header.value(field.name).is_some() {
        return;
    }
    // A header can't be shorter than its fields.
    let min = if is_real_length(protocol, field) { field.default } else { 0 };
    let value = if min > 0 { min + value % (field.max() - min + 1) } else { value & field.max() };
    header.set.push((field, value));
}

fn is_real_length(protocol: &Protocol, field: &Field) -> bool {
    protocol.real_length.is_some_and(|(name, _)| name == field.name)
}

/// Whether the packet still has the same headers whatever the field is set to.
fn may_set(protocol: &Protocol, field: &Field, author: Author) -> bool {
    let shares_number = |p: &&&Protocol| p.follows.iter().any(|f| protocol.follows.contains(f));
    let tells_apart =
        ALL.iter().filter(shares_number).any(|p| p.recognise.is_some_and(|(name, _)| name == field.name));
    field.auto != Auto::NextProtocol
        && protocol.fragment != Some(field.name)
        && !tells_apart
        && (author == Author::Careless || field.auto == Auto::Default)
}
