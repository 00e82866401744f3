//! Texts of `sessions:` that mean something: rates, addresses, ports, ranges of sizes and times.

use crate::document::quantity::{bytes, host, network, print_bytes};
use crate::plan::ClientsBy;
use std::net::IpAddr;
use units::{Nanos, Pps};

/// `1000/s`, `10k/s`, `1.5M/s`.
pub fn session_rate(text: &str) -> Option<Pps> {
    let number = text.trim().strip_suffix("/s")?.trim_end();
    // The number and its prefix are written as those of a packet rate.
    format!("{number}pps").parse().ok()
}

/// The same as text.
pub fn print_session_rate(rate: &Pps) -> String {
    rate.to_string().replace("pps", "/s")
}

/// Rate of opening sessions, in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenText {
    /// As fast as possible.
    Max,
    /// Sessions a second.
    Rate(Pps),
}

pub(crate) fn open_rate(text: &str) -> Option<OpenText> {
    match text.trim() {
        "max" => Some(OpenText::Max),
        rate => session_rate(rate).map(OpenText::Rate),
    }
}

pub(crate) fn print_open_rate(open: &OpenText) -> String {
    match open {
        OpenText::Max => "max".to_owned(),
        OpenText::Rate(rate) => print_session_rate(rate),
    }
}

/// `80` or `80..99`.
pub(crate) fn port_range(text: &str) -> Option<(u16, u16)> {
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (port(first)?, port(last)?),
        None => (port(text)?, port(text)?),
    };
    (first <= last).then_some((first, last))
}

pub(crate) fn print_port_range((first, last): &(u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}..{last}") }
}

/// `100` or `100..199`: identifiers of VLANs (IEEE 802.1Q).
pub(crate) fn vlan_range(text: &str) -> Option<(u16, u16)> {
    port_range(text).filter(|(_, last)| *last <= 4_094)
}

/// Addresses in one text: the first and the last, of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressText {
    /// The first.
    pub first: IpAddr,
    /// The last.
    pub last: IpAddr,
}

impl AddressText {
    /// One address, a range, or the hosts of a network: all of its addresses but the one that names it and, in IPv4,
    /// the one that means all of them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (host(first.trim())?, host(last.trim())?);
            return (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last });
        }
        if !text.contains('/') {
            return host(text).map(|ip| Self { first: ip, last: ip });
        }
        let network = network(text)?;
        let (first, last) = network.network();
        let (first, last) = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) if network.prefix_len < 31 => {
                (IpAddr::V4((u32::from(first) + 1).into()), IpAddr::V4((u32::from(last) - 1).into()))
            }
            (IpAddr::V6(first), last) if network.prefix_len < 127 => {
                (IpAddr::V6((u128::from(first) + 1).into()), last)
            }
            all => all,
        };
        let is_host = |ip: IpAddr| host(&ip.to_string()).is_some();
        (is_host(first) && is_host(last)).then_some(Self { first, last })
    }

    /// One multicast group, or a range of them.
    pub(crate) fn parse_groups(text: &str) -> Option<Self> {
        let text = text.trim();
        let group = |text: &str| text.trim().parse::<IpAddr>().ok().filter(IpAddr::is_multicast);
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (group(first)?, group(last)?),
            None => (group(text)?, group(text)?),
        };
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last })
    }

    pub(crate) fn print(&self) -> String {
        if self.first == self.last {
            self.first.to_string()
        } else {
            format!("{}..{}", self.first, self.last)
        }
    }
}

/// Addresses of one end in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndText {
    /// Those that the port's clients get.
    Clients(ClientsBy),
    /// These.
    Of(AddressText),
}

impl EndText {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        match ClientsBy::of_key(text) {
            Some(by) => Some(Self::Clients(by)),
            None => AddressText::parse(text).map(Self::Of),
        }
    }

    pub(crate) fn print(&self) -> String {
        match self {
            Self::Clients(by) => by.key().to_owned(),
            Self::Of(addresses) => addresses.print(),
        }
    }
}

/// `100B` or `1KB..64KB`.
pub(crate) fn bytes_range(text: &str) -> Option<(u64, u64)> {
    let (least, most) = match text.split_once("..") {
        Some((least, most)) => (bytes(least)?, bytes(most)?),
        None => (bytes(text)?, bytes(text)?),
    };
    (least <= most).then_some((least, most))
}

pub(crate) fn print_bytes_range((least, most): &(u64, u64)) -> String {
    if least == most {
        print_bytes(*least)
    } else {
        format!("{}..{}", print_bytes(*least), print_bytes(*most))
    }
}

/// `10ms` or `5ms..20ms`.
pub(crate) fn delay(text: &str) -> Option<(Nanos, Nanos)> {
    let time = |text: &str| text.trim().parse::<Nanos>().ok();
    let (shortest, longest) = match text.split_once("..") {
        Some((shortest, longest)) => (time(shortest)?, time(longest)?),
        None => (time(text)?, time(text)?),
    };
    (shortest <= longest).then_some((shortest, longest))
}

pub(crate) fn print_delay((shortest, longest): &(Nanos, Nanos)) -> String {
    if shortest == longest { shortest.to_string() } else { format!("{shortest}..{longest}") }
}

/// `30s` or `none`.
pub(crate) fn time_limit(text: &str) -> Option<Option<Nanos>> {
    match text.trim() {
        "none" => Some(None),
        time => time.parse().ok().map(Some),
    }
}

pub(crate) fn print_limit(limit: &Option<Nanos>) -> String {
    limit.map_or_else(|| "none".to_owned(), |time| time.to_string())
}

/// `1s` or `skip`.
pub(crate) fn time_wait(text: &str) -> Option<Option<Nanos>> {
    match text.trim() {
        "skip" => Some(None),
        time => time.parse().ok().map(Some),
    }
}

pub(crate) fn print_time_wait(time: &Option<Nanos>) -> String {
    time.map_or_else(|| "skip".to_owned(), |time| time.to_string())
}

/// The minor number of TLS 1.2 or 1.3.
pub(crate) fn tls_version(text: &str) -> Option<u8> {
    match text {
        "1.2" => Some(2),
        "1.3" => Some(3),
        _ => None,
    }
}

/// A factor above zero in millionths.
pub(crate) fn factor(text: &str) -> Option<u64> {
    let number = text.trim();
    format!("{number}pps")
        .parse::<Pps>()
        .ok()
        .filter(|_| number.ends_with(|c: char| c.is_ascii_digit()))
        .map(Pps::micro)
        .filter(|millionths| *millionths > 0)
}

pub(crate) fn print_factor(millionths: u64) -> String {
    let (whole, rest) = (millionths / 1_000_000, millionths % 1_000_000);
    let text = format!("{whole}.{rest:06}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_their_hosts() {
        for (text, first, last) in [
            ("10.1.0.0/16", "10.1.0.1", "10.1.255.254"),
            ("10.1.2.3/32", "10.1.2.3", "10.1.2.3"),
            ("10.1.2.2/31", "10.1.2.2", "10.1.2.3"),
            ("2001:2::/64", "2001:2::1", "2001:2::ffff:ffff:ffff:ffff"),
            ("10.0.0.9", "10.0.0.9", "10.0.0.9"),
        ] {
            let found = AddressText::parse(text).unwrap();
            assert_eq!(
                (found.first.to_string(), found.last.to_string()),
                (first.into(), last.into()),
                "{text}"
            );
        }
    }

    #[test]
    fn rates_have_prefixes() {
        assert_eq!(session_rate("10k/s"), Some(Pps::new(10_000)));
        assert_eq!(session_rate("1.5M/s"), Some(Pps::new(1_500_000)));
        assert_eq!(session_rate("0.5/s"), Some(Pps::from_micro(500_000)));
        assert_eq!(session_rate("10pp/s"), None);
        assert_eq!((factor("2.5"), factor("3k"), factor("0")), (Some(2_500_000), None, None));
    }
}
