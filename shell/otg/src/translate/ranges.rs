//! Ranges of routes, of any protocol: the addresses they span.

use crate::node::Node;
use profile::document::{FieldValue, Ip, Network};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefixes at the same distance: what a part of a range of routes spans.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) first: IpAddr,
    pub(crate) bits: u32,
    pub(crate) count: u32,
    /// In prefixes.
    pub(crate) step: u32,
}

impl Span {
    /// An address in its first prefix, the second where there are several, and the distance to that in the next prefix.
    pub(crate) fn hosts(&self) -> (IpAddr, FieldValue) {
        let (width, one) = if self.first.is_ipv4() {
            (32, u128::from(self.bits < 32))
        } else {
            (128, u128::from(self.bits < 128))
        };
        let far = 1u128.checked_shl(width - self.bits).unwrap_or(0).wrapping_mul(self.step.into());
        match self.first {
            IpAddr::V4(ip) => {
                let first = u32::from(ip).wrapping_add(one as u32);
                (Ipv4Addr::from(first).into(), FieldValue::Number(far as u32 as u64))
            }
            IpAddr::V6(ip) => {
                let first = u128::from(ip).wrapping_add(one);
                (Ipv6Addr::from(first).into(), FieldValue::Text(Ipv6Addr::from(far).to_string()))
            }
        }
    }
}

/// First prefix, number of prefixes and step of each part of a range; and what they span.
pub(crate) type Parts = (Vec<(Network, u32, u32)>, Vec<Span>);

/// The parts of a range of routes, which has one at least.
pub(crate) fn parts(node: &Node<'_>) -> Parts {
    let (mut lines, mut spans) = (Vec::new(), Vec::new());
    for part in node.items("addresses") {
        let first: Option<Ip> = part.quantity("address");
        let (bits, count, step) = (part.whole("prefix") as u8, part.whole("count"), part.whole("step"));
        let Some(Ip(first)) = first else { continue };
        let [count, step] = [count as u32, step as u32];
        match format!("{first}/{bits}").parse() {
            Ok(prefixes) => lines.push((prefixes, count, step)),
            Err(error) => part.fail_at("address", format!("{error}")),
        }
        spans.push(Span { first, bits: bits.into(), count, step });
    }
    if spans.is_empty() {
        node.fail_at("addresses", "must not be empty");
    }
    (lines, spans)
}
