//! TRex's settings of TCP and IP in Eagre's words.

use super::{Setting, Settings};
use crate::yaml::Node;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

/// Settings of one end.
#[derive(Debug, Default)]
pub(super) struct End {
    /// Keys of the end: `tcp`, `ip`.
    pub keys: Vec<(String, Node)>,
    /// Upper 96 bits of IPv6 addresses, if they are to be used.
    pub ipv6: Option<Ipv6Addr>,
    /// Time in which rates grow, seconds.
    pub ramp_up_s: Option<i64>,
    /// Settings without effect.
    pub notes: Vec<String>,
}

/// Time to live of TRex's IPv4 packets.
const TTL: u8 = 127;

impl End {
    /// Gives IPv4 packets TRex's time to live by default.
    pub(super) fn default_ttl(&mut self) {
        let ttl = || ("ttl".to_owned(), Node::text(TTL));
        match self.keys.iter_mut().find(|(key, _)| key == "ip") {
            Some((_, Node::Line(pairs))) if pairs.iter().all(|(key, _)| key != "ttl") => pairs.push(ttl()),
            Some(_) => {}
            None => self.keys.push(("ip".to_owned(), Node::Line(vec![ttl()]))),
        }
    }
}

/// One end's settings: the template's take precedence over the profile's. `msb` is the setting with its IPv6 prefix.
pub(super) fn end(profile: &Settings, template: &Settings, msb: &str) -> Result<End, String> {
    let mut all = profile.clone();
    for (section, settings) in template {
        all.entry(section.clone()).or_default().extend(settings.clone());
    }
    let mut end = End::default();
    let (mut tcp, mut ip) = (Vec::new(), Vec::new());
    for (section, settings) in &all {
        for (name, value) in settings {
            let path = format!("{section}.{name}");
            let number = || match value {
                Setting::Number(number) => Ok(*number),
                Setting::Text(text) => Err(format!("{path}: '{text}' is not a number")),
            };
            let mut tcp_key = |key: &str, text: String| tcp.push((key.to_owned(), Node::text(text)));
            match path.as_str() {
                "tcp.mss" => tcp_key("mss", number()?.to_string()),
                "tcp.initwnd" => tcp_key("initial_window", number()?.to_string()),
                "tcp.rxbufsize" => tcp_key("window", format!("{}B", number()?)),
                "tcp.do_sack" => tcp_key("sack", (number()? != 0).to_string()),
                "tcp.do_ecn" => tcp_key("ecn", (number()? != 0).to_string()),
                "tcp.no_delay" => tcp_key("no_delay", (number()? & 1 != 0).to_string()),
                "tcp.delay_ack_msec" => tcp_key("ack_delay", format!("{}ms", number()?)),
                "tcp.keepidle" => tcp_key("keep_alive", format!("{}s", number()?)),
                "tcp.do_rfc1323" => {
                    let on = number()? != 0;
                    tcp_key("timestamps", on.to_string());
                    tcp_key("window_scaling", on.to_string());
                }
                "tcp.cc_algo" => match number()? {
                    0 => tcp_key("congestion", "newreno".to_owned()),
                    1 => tcp_key("congestion", "cubic".to_owned()),
                    other => return Err(format!("{path}: {other} is neither 0 (NewReno) nor 1 (Cubic)")),
                },
                "ip.ttl" => ip.push(("ttl".to_owned(), Node::text(number()?))),
                "ip.tos" => ip.push(("tos".to_owned(), Node::text(number()? & !3))),
                "scheduler.rampup_sec" => end.ramp_up_s = Some(number()?),
                "ipv6.enable" if number()? != 0 => end.ipv6 = Some(prefix(&all, msb)?),
                "ipv6.src_msb" | "ipv6.dst_msb" if matches!(value, Setting::Text(text) if text.starts_with("ff")) =>
                {
                    end.notes.push(format!("{path}: ff… are groups' addresses; fd… is used instead"));
                }
                "ipv6.enable" | "ipv6.src_msb" | "ipv6.dst_msb" => {}
                _ => end.notes.push(format!("{path} has no effect")),
            }
        }
    }
    for (key, pairs) in [("tcp", tcp), ("ip", ip)] {
        if !pairs.is_empty() {
            end.keys.push((key.to_owned(), Node::Line(pairs)));
        }
    }
    Ok(end)
}

fn prefix(all: &BTreeMap<String, BTreeMap<String, Setting>>, msb: &str) -> Result<Ipv6Addr, String> {
    match all.get("ipv6").and_then(|section| section.get(msb)) {
        Some(Setting::Text(text)) => {
            let prefix: Ipv6Addr =
                text.parse().map_err(|_| format!("ipv6.{msb}: '{text}' is not an IPv6 address"))?;
            // TRex's examples have ff02::, which are groups' addresses.
            let mut bytes = prefix.octets();
            if bytes[0] == 0xff {
                bytes[0] = 0xfd;
            }
            Ok(bytes.into())
        }
        _ => Err(format!("ipv6.enable needs ipv6.{msb}")),
    }
}
