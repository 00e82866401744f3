//! Texts in the document that mean something: each is a type, a `format` in the schema, and what was expected in an
//! error, all from one line here.

use crate::condition::Condition;
use crate::document::session_text::{
    AddressText, EndText, OpenText, bytes_range, delay, factor, open_rate, port_range, print_bytes_range,
    print_delay, print_factor, print_limit, print_open_rate, print_port_range, print_session_rate,
    print_time_wait, session_rate, time_limit, time_wait, tls_version, vlan_range,
};
use crate::document::size::SizeText;
use crate::plan::Address;
use schemars::{Schema, json_schema};
use session::plan::HttpVersion;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU64;
use units::{BitRate, FrameLen, Layer, Load, Nanos, Pps};

/// A kind of text: a `format` in the schema.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// Words for it in messages, with an example.
    pub(crate) expected: &'static str,
    #[cfg(test)]
    pub(crate) examples: &'static [&'static str],
    /// Whether a text is one.
    pub(crate) is: fn(&str) -> bool,
    /// Whether values may be written as plain numbers: they are read as the texts they were.
    pub(crate) is_numeric: bool,
}

/// Types of texts, and the list of their formats. `or number` allows plain numbers.
macro_rules! quantities {
    ($($name:ident($vis:vis $inner:ty) = $format:literal $(or $number:ident)?, $expected:expr, [$($example:literal),+], $parse:expr, $print:expr;)+) => {
        $(
            #[doc = concat!("Written as ", $expected, ".")]
            #[derive(Debug, Clone, PartialEq)]
            pub struct $name($vis $inner);

            impl $name {
                pub(crate) fn parse(text: &str) -> Option<Self> {
                    let parse: fn(&str) -> Option<$inner> = $parse;
                    parse(text).map(Self)
                }
            }

            impl std::str::FromStr for $name {
                type Err = units::QuantityError;

                fn from_str(text: &str) -> Result<Self, units::QuantityError> {
                    Self::parse(text).ok_or_else(|| units::QuantityError::new(text, $expected))
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    let print: fn(&$inner) -> String = $print;
                    f.write_str(&print(&self.0))
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                    Self::parse(&text).ok_or_else(|| <D::Error as serde::de::Error>::custom(concat!("not ", $expected)))
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl schemars::JsonSchema for $name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    $crate::document::quantity::text_schema($format, &[$($example),+])
                }
            }
        )+

        /// All of them.
        pub(crate) const FORMATS: &[$crate::document::quantity::Format] = &[$($crate::document::quantity::Format {
            name: $format,
            expected: $expected,
            #[cfg(test)]
            examples: &[$($example),+],
            is: |text| $name::parse(text).is_some(),
            is_numeric: !<[&str]>::is_empty(&[$(stringify!($number))?]),
        }),+];
    };
}
pub(crate) use quantities;

quantities! {
    Name(pub String) = "name", "a name of letters, digits, '_' and '-', at most 64",
        ["west", "small-frames"], name, String::clone;
    StreamRate(pub LoadPer) = "stream-rate", "a rate such as 1Mpps, 2.5Gbps, 2.5Gbps-L1, 40%, 100pps/flow or max",
        ["1Mpps", "2.5Gbps", "2.5Gbps-L1", "40%", "100pps/flow", "max"], load_per, print_load_per;
    Rate(pub Load) = "rate", "a rate such as 1Mpps, 2.5Gbps, 2.5Gbps-L1, 40% or max",
        ["1Mpps", "2.5Gbps", "2.5Gbps-L1", "40%", "max"], |t| t.parse().ok(), Load::to_string;
    PacketRate(pub Pps) = "packet-rate", "a packet rate such as 10Mpps, 500kpps or 20pps",
        ["1Mpps", "500kpps"], |t| t.parse().ok(), Pps::to_string;
    Speed(pub u64) = "speed", "a link speed (layer 1) such as 10Gbps",
        ["10Gbps", "1Gbps"], speed, |bps| BitRate { bps: *bps, layer: Layer::L2 }.to_string();
    Duration(pub Nanos) = "duration", "a duration such as 30s, 250us or 1.5ms",
        ["30s", "250us", "1.5ms"], |t| t.parse().ok(), Nanos::to_string;
    Length(pub FrameLen) = "frame-length", "a frame length with FCS from 64B to 16384B, such as 1518B",
        ["64B", "1518B", "9KB"], |t| t.parse().ok(), FrameLen::to_string;
    FrameSizes(pub SizeText) = "frame-sizes", "a frame length with FCS from 64B to 16384B such as 1518B, a range such as \
        64B..1518B step 64B, 'random 64B..1518B', 'genome abceg', or a mix: imix, imix-v4, imix-v6, imix-standard, \
        imix-ipv6, imix-ipsec or imix-tcp",
        ["64B", "64B..1518B step 64B", "random", "random 64B..1518B", "imix", "imix random", "genome abceg"],
        SizeText::parse, SizeText::print;
    Setting(pub String) = "setting" or number, "a value such as 0.01, 60s or true",
        ["0.01", "60s"], |t| (!t.trim().is_empty()).then(|| t.to_owned()), String::clone;
    Values(pub String) = "values", "counter, random, or a range such as 0..100 or 0..100 step 4",
        ["counter", "random", "10.0.0.1..10.0.0.9", "0..100 step 4"],
        |t| (!t.trim().is_empty()).then(|| t.to_owned()), String::clone;
    Bytes(pub u64) = "bytes", "an amount of data such as 128B, 64KB, 100MB or 1GB",
        ["128B", "64KB", "100MB"], bytes, |n| print_bytes(*n);
    Share(pub f64) = "share", "a share from 0% to 100%, such as 0.1%",
        ["0.1%", "2%"], share, |share| Load::LinkShare((share * 1e6).round() as u32).to_string();
    Ip(pub IpAddr) = "ip", "an IPv4 or IPv6 address such as 10.0.0.1 or 2001:2::1",
        ["10.0.0.1", "2001:2::1"], host, IpAddr::to_string;
    IpPrefix(pub Address) = "ip-prefix", "an address with its prefix length such as 10.0.0.2/24 or 2001:2::2/64",
        ["10.0.0.2/24", "2001:2::2/64"], prefix, |a| format!("{}/{}", a.ip, a.prefix_len);
    Step(pub StepBy) = "step" or number, "a number of addresses such as 256, or a difference between addresses such as 0.0.1.0 or 0:0:0:1::",
        ["1", "0.0.1.0", "0:0:0:1::"], step, print_step;
    Network(pub Address) = "network", "a network such as 10.0.0.0/8 or 2001:2::/48",
        ["10.0.0.0/8", "2001:2::/48"], network, |a| format!("{}/{}", a.ip, a.prefix_len);
    Speedup(pub (NonZeroU64, NonZeroU64)) = "speedup", "a factor above zero such as 2x, 0.5x or 1.25x",
        ["2x", "0.5x"], speedup, print_speedup;
    Mac(pub [u8; 6]) = "mac", "a MAC address such as 02:00:00:00:00:01",
        ["02:00:00:00:00:01"], |text| text.parse().ok().map(|units::Mac(mac)| mac), |m| units::Mac(*m).to_string();
    VlanType(pub u16) = "vlan-type", "the EtherType of a VLAN tag: 0x8100, 0x88a8 or 0x9100",
        ["0x8100", "0x88a8", "0x9100"], vlan_type, |kind| format!("{kind:#06x}");
    Hex(pub Vec<u8>) = "hex", "bytes as pairs of hexadecimal digits such as '00 ff'",
        ["00ff", "de ad be ef"], wire::parse_bytes, |bytes| bytes.iter().map(|b| format!("{b:02x}")).collect();
    ChecksumAt(pub wire::Fix) = "checksum-at", "a header and the offset of its first byte such as ipv4@14, udp@34, tcp@34, \
        icmp@34 or icmpv6@54, or with the offset of the IP header around it such as udp@58 over 38",
        ["ipv4@14", "udp@58 over 38"], checksum_at, print_checksum_at;
    SessionRate(pub Pps) = "session-rate", "a rate such as 1000/s, 10k/s or 1.5M/s",
        ["1000/s", "10k/s", "1.5M/s"], session_rate, print_session_rate;
    OpenRateText(pub OpenText) = "open-rate", "a rate such as 1000/s, 10k/s or 1.5M/s, or max",
        ["10000/s", "10k/s", "max"], open_rate, print_open_rate;
    PortRange(pub (u16, u16)) = "port-range" or number, "a port from 1 to 65535 such as 80, or a range such as 1024..65535",
        ["80", "1024..65535"], port_range, print_port_range;
    VlanRange(pub (u16, u16)) = "vlan-range" or number, "a VLAN or a range of VLANs such as 100 or 100..199, from 1 to 4094",
        ["100", "100..199"], vlan_range, print_port_range;
    Addresses(pub AddressText) = "addresses", "an address such as 10.0.0.10, a range such as 10.0.0.10..10.0.0.250, or a \
        network such as 10.1.0.0/16",
        ["10.0.0.10", "10.0.0.10..10.0.0.250", "10.1.0.0/16", "2001:2::10..2001:2::ff"],
        AddressText::parse, AddressText::print;
    EndAddresses(pub EndText) = "end-addresses", "an address such as 10.0.0.10, a range such as 10.0.0.10..10.0.0.250, a \
        network such as 10.1.0.0/16, or dhcp",
        ["10.0.0.10", "10.0.0.10..10.0.0.250", "10.1.0.0/16", "2001:2::10..2001:2::ff", "dhcp"],
        EndText::parse, EndText::print;
    Groups(pub AddressText) = "groups", "a multicast group such as 239.1.1.1 or ff15::1, or a range such as 239.1.1.1..239.1.1.9",
        ["239.1.1.1", "239.1.0.0..239.1.3.231", "ff15::1"], AddressText::parse_groups, AddressText::print;
    BytesRange(pub (u64, u64)) = "bytes-range", "an amount of data such as 100B or 32KB, or a range such as 1KB..64KB",
        ["100B", "32KB", "1KB..64KB"], bytes_range, print_bytes_range;
    DelayText(pub (Nanos, Nanos)) = "delay", "a duration such as 10ms, or a range such as 5ms..20ms",
        ["10ms", "5ms..20ms"], delay, print_delay;
    TimeLimit(pub Option<Nanos>) = "time-limit", "a duration such as 30s, or none",
        ["30s", "none"], time_limit, print_limit;
    TimeWaitText(pub Option<Nanos>) = "time-wait", "a duration such as 1s, or skip",
        ["1s", "skip"], time_wait, print_time_wait;
    TlsVersion(pub u8) = "tls-version" or number, "1.2 or 1.3",
        ["1.2", "1.3"], tls_version, |minor| format!("1.{minor}");
    HttpVersionText(pub HttpVersion) = "http-version" or number, "1.1, 2, 3 or auto",
        ["1.1", "2", "3", "auto"], http_version, print_http_version;
    Factor(pub u64) = "factor" or number, "a factor above zero such as 2, 0.5 or 10",
        ["2", "0.5"], factor, |millionths| print_factor(*millionths);
    Socket(pub SocketAddr) = "socket-address", "an address with a port such as 127.0.0.1:8443 or [::1]:8443",
        ["127.0.0.1:8443", "[::1]:8443"], |t| t.parse().ok(), SocketAddr::to_string;
    ControlText(pub String) = "control", concat!("a control protocol (", wire::control_protocols_in_words!(), "), a field such as \
        ethertype:0x88cc, ip:89, tcp:179, udp:646 or mac:01:80:c2:00:00:0e, or any"),
        ["bgp", "ospf", "ethertype:0x88cc", "tcp:179", "any"],
        |t| wire::control::control_rules(t).map(|_| t.to_owned()), String::clone;
    ConditionText(pub(crate) Condition) = "condition", "a condition such as '< 0.1%', '<= 50us', '>= 1Mpps' or '== 0'",
        ["< 0.1%", "<= 50us", "== 0"], |t| t.parse().ok(), |condition| condition.text.clone();
}

fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().chain(crate::protocols::FORMATS.into_iter().flatten())
}

fn format(name: &str) -> Option<&'static Format> {
    formats().find(|format| format.name == name)
}

/// Whether `text` is of the schema's `format`; `None` for a format that is not ours.
pub(crate) fn is_of_format(name: &str, text: &str) -> Option<bool> {
    format(name).map(|format| (format.is)(text))
}

/// Example of a value of the schema's `format`.
pub(crate) fn expected(name: &str) -> Option<&'static str> {
    format(name).map(|format| format.expected)
}

/// Whether values of the schema's `format` may be written as plain numbers: they are read as the texts they were.
pub(crate) fn is_numeric(name: &str) -> bool {
    format(name).is_some_and(|format| format.is_numeric)
}

/// The schema of a text.
pub(crate) fn text_schema(name: &str, examples: &[&str]) -> Schema {
    let types = match is_numeric(name) {
        true => serde_json::json!(["integer", "number", "string"]),
        false => serde_json::json!("string"),
    };
    json_schema!({"type": types, "format": name, "examples": examples})
}

fn http_version(text: &str) -> Option<HttpVersion> {
    match text {
        "1.1" => Some(HttpVersion::One),
        "2" | "2.0" => Some(HttpVersion::Two),
        "3" | "3.0" => Some(HttpVersion::Three),
        "auto" => Some(HttpVersion::Auto),
        _ => None,
    }
}

fn print_http_version(version: &HttpVersion) -> String {
    let text = match version {
        HttpVersion::One => "1.1",
        HttpVersion::Two => "2",
        HttpVersion::Three => "3",
        HttpVersion::Auto => "auto",
    };
    text.to_owned()
}

/// The type of a tag, in hexadecimal.
fn vlan_type(text: &str) -> Option<u16> {
    let digits = text.trim().strip_prefix("0x")?;
    u16::from_str_radix(digits, 16).ok().filter(|kind| wire::is_vlan_type(*kind))
}

fn checksum_at(text: &str) -> Option<wire::Fix> {
    let (header, ip) = match text.trim().split_once(" over ") {
        Some((header, ip)) => (header, Some(ip.trim().parse::<u16>().ok()?)),
        None => (text, None),
    };
    let (name, offset) = header.trim().split_once('@')?;
    let of = wire::FixOf::ALL.into_iter().find(|of| of.name() == name)?;
    let ip = ip.map(usize::from);
    (of != wire::FixOf::Ipv4 || ip.is_none()).then_some(())?;
    Some(wire::Fix { of, offset: offset.parse::<u16>().ok()?.into(), ip })
}

fn print_checksum_at(wire::Fix { of, offset, ip }: &wire::Fix) -> String {
    let over = ip.map(|ip| format!(" over {ip}")).unwrap_or_default();
    format!("{}@{offset}{over}", of.name())
}

fn name(text: &str) -> Option<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    ((1..=64).contains(&text.len()) && text.chars().all(allowed)).then(|| text.to_owned())
}

fn speed(text: &str) -> Option<u64> {
    let rate: BitRate = text.parse().ok()?;
    (!text.ends_with("-L2") && rate.bps > 0).then_some(rate.bps)
}

fn share(text: &str) -> Option<f64> {
    match text.parse().ok()? {
        Load::LinkShare(ppm) => Some(f64::from(ppm) / 1e6),
        _ => None,
    }
}

/// A load, or what each flow of a stream gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadPer {
    /// The load.
    pub load: Load,
    /// Whether it is what each flow gets.
    pub flow: bool,
}

fn load_per(text: &str) -> Option<LoadPer> {
    match text.trim().strip_suffix("/flow") {
        Some(each) => each.parse().ok().map(|pps| LoadPer { load: Load::Packets(pps), flow: true }),
        None => text.parse().ok().map(|load| LoadPer { load, flow: false }),
    }
}

fn print_load_per(rate: &LoadPer) -> String {
    format!("{}{}", rate.load, if rate.flow { "/flow" } else { "" })
}

pub(crate) fn print_bytes(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let fits = units.iter().find(|(factor, _)| bytes > 0 && bytes.is_multiple_of(*factor));
    fits.map_or_else(|| format!("{bytes}B"), |(factor, unit)| format!("{}{unit}", bytes / factor))
}

pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim() {
        "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits.trim_end().parse::<u64>().ok()?.checked_mul(factor)
}

/// An address a single host can have.
pub(crate) fn host(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    (!ip.is_unspecified() && !ip.is_multicast()).then_some(ip)
}

fn prefix(text: &str) -> Option<Address> {
    network(text).filter(|address| host(&address.ip.to_string()).is_some())
}

/// A number as an exact ratio.
fn speedup(text: &str) -> Option<(NonZeroU64, NonZeroU64)> {
    let text = text.trim().strip_suffix('x')?.trim_end();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || fraction.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, NonZeroU64::new(10u64.pow(fraction.len() as u32))?))
}

/// All its digits: `den` is a power of ten.
fn print_speedup((num, den): &(NonZeroU64, NonZeroU64)) -> String {
    let places = den.get().ilog10() as usize;
    match places {
        0 => format!("{num}x"),
        _ => format!("{}.{:0places$}x", num.get() / den.get(), num.get() % den.get()),
    }
}

/// From one address to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepBy {
    /// The distance, as a number.
    pub by: u128,
    /// Whether it is for IPv4; `None` is for both families.
    pub v4: Option<bool>,
}

fn step(text: &str) -> Option<StepBy> {
    match text.parse() {
        Ok(IpAddr::V4(ip)) => Some(StepBy { by: u32::from(ip).into(), v4: Some(true) }),
        Ok(IpAddr::V6(ip)) => Some(StepBy { by: ip.into(), v4: Some(false) }),
        Err(_) => text.parse().ok().map(|by: u64| StepBy { by: by.into(), v4: None }),
    }
}

fn print_step(step: &StepBy) -> String {
    match step.v4 {
        Some(true) => Ipv4Addr::from(step.by as u32).to_string(),
        Some(false) => Ipv6Addr::from(step.by).to_string(),
        None => step.by.to_string(),
    }
}

pub(crate) fn network(text: &str) -> Option<Address> {
    let (ip, prefix_len) = text.split_once('/')?;
    let ip: IpAddr = ip.parse().ok()?;
    let prefix_len: u8 = prefix_len.parse().ok()?;
    (prefix_len <= if ip.is_ipv4() { 32 } else { 128 }).then_some(Address { ip, prefix_len })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt;
    use std::str::FromStr;
    use units::QuantityError;

    #[test]
    fn every_example_is_what_it_shows() {
        for format in formats() {
            for example in format.examples {
                assert!((format.is)(example), "{}: {example}", format.name);
            }
        }
    }

    /// A printed value reads back as the same, to the last digit.
    #[test]
    fn quantities_read_back_as_they_were_printed() {
        fn holds<T: FromStr<Err = QuantityError> + ToString + PartialEq + fmt::Debug>(texts: &[&str]) {
            for text in texts {
                let value: T = text.parse().unwrap();
                assert_eq!(value.to_string().parse(), Ok(value), "{text}");
            }
        }
        holds::<Speedup>(&["2x", "0.50x", ".5x", "1.25x", "123456789.123456789x"]);
        holds::<SessionRate>(&["0.5/s", "10k/s", "1234567890.123456/s", "0/s"]);
        holds::<Factor>(&["2", "0.5", "10", "123456789012.123456"]);
        holds::<FrameSizes>(&["64B", "genome abz z=1400B", "imix random", "64B..1518B step 7B", "random"]);
        holds::<Addresses>(&["10.1.0.0/16", "2001:2::1..2001:2::ff"]);
        holds::<StreamRate>(&["100pps/flow", "40%", "2.5Gbps-L1", "max", "333.333333pps"]);
        holds::<Step>(&["0:0:0:1::", "256", "0.0.1.0"]);
    }

    #[test]
    fn refuses_what_is_close_but_wrong() {
        for (format, text) in [
            ("name", ""),
            ("name", "a.b"),
            ("speed", "10Gbps-L2"),
            ("speed", "0bps"),
            ("share", "101%"),
            ("share", "0.5"),
            ("ip", "224.0.0.1"),
            ("ip", "::"),
            ("ip-prefix", "10.0.0.2"),
            ("ip-prefix", "10.0.0.2/33"),
            ("step", "-1"),
            ("step", "/24"),
            ("mac", "02:00:00:00:00"),
            ("mac", "02:00:00:00:00:01:02"),
            ("mac", "2:0:0:0:0:1"),
            ("mac", "+2:00:00:00:00:01"),
            ("session-rate", "10"),
            ("session-rate", "10pps"),
            ("session-rate", "10/min"),
            ("open-rate", "10kpps"),
            ("port-range", "0"),
            ("port-range", "65536"),
            ("port-range", "99..80"),
            ("addresses", "10.0.0.9..10.0.0.1"),
            ("addresses", "10.0.0.1..2001:2::1"),
            ("addresses", "10.0.0.0/33"),
            ("addresses", "224.0.0.0/24"),
            ("addresses", "10.0.0.1-10.0.0.9"),
            ("bytes-range", "64KB..1KB"),
            ("delay", "5..20ms"),
            ("time-wait", "none"),
            ("tls-version", "1.1"),
            ("factor", "0"),
            ("factor", "-1"),
            ("hex", "0"),
            ("hex", "zz"),
        ] {
            assert_eq!(is_of_format(format, text), Some(false), "{format}: {text}");
        }
    }
}
