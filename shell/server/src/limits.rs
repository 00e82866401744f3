//! What an operator lets clients do: which ports, how fast.

use crate::fault::Fault;
use os::link::LinkFacts;
use profile::Plan;
use profile::plan::Pattern;
use units::{Layer, Load};

/// Devices that name files of this machine, or arguments of a driver.
const GUARDED: [&str; 2] = ["pcap:", "vdev:"];

/// What may be used, and how much.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Ports that may be used: names or devices, with `*` for any characters. Empty: all but those that name files of
    /// this machine (`pcap:`) or arguments of a driver (`vdev:`).
    pub ports: Vec<String>,
    /// Most that may be asked of one port: a packet rate or a bit rate.
    pub rate: Option<Load>,
}

/// The name a port is leased by: the interface behind it, or the device without its options.
pub(crate) fn port_name(device: &str) -> String {
    if let Some(netdev) = dpdk::netdev(device) {
        return netdev;
    }
    let plain = |device: &str| device.split(',').next().unwrap_or(device).to_owned();
    match device.split_once(':') {
        Some(("pcap", _)) | Some(("vdev", _)) => device.to_owned(),
        _ => plain(device),
    }
}

impl Limits {
    /// Whether the port of this device may be used.
    pub(crate) fn allows(&self, device: &str) -> bool {
        if self.ports.is_empty() {
            return !GUARDED.iter().any(|kind| device.starts_with(kind));
        }
        let name = port_name(device);
        self.ports.iter().any(|pattern| matches(pattern, &name) || matches(pattern, device))
    }

    /// Has the cap kept where frames leave: what a profile's rates, patterns and captured gaps come to is not always known
    /// before. Warns of what is sent later for that.
    pub(crate) fn impose(&self, plan: &mut Plan) {
        let Some(cap) = self.rate else { return };
        plan.ports.iter_mut().for_each(|port| port.rate_max = Some(cap));
        if plan.streams.iter().any(|stream| stream.pattern != Pattern::Continuous) {
            plan.warnings.push(format!(
                "this server limits each port to {cap}: bursts beyond it leave later, or not at all"
            ));
        }
    }

    /// Refuses what goes beyond.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Fault> {
        for port in &plan.ports {
            if !self.allows(&port.device) {
                return Err(Fault::forbidden(format!(
                    "ports.{}: port '{}' is not allowed on this server; its operator can allow it with --allow",
                    port.name, port.device
                )));
            }
        }
        let Some(cap) = self.rate else { return Ok(()) };
        if !plan.sessions.is_empty() {
            return Err(Fault::forbidden(format!(
                "sessions: their rate is not known in advance, and this server limits ports to {cap}"
            )));
        }
        for (index, port) in plan.ports.iter().enumerate() {
            let mut sum = 0.0;
            for stream in plan.streams.iter().filter(|stream| stream.from == index) {
                sum += self.asked(plan, index, stream.sizes.mix(), stream.rate, cap).ok_or_else(|| {
                    Fault::forbidden(format!(
                        "stream {}: it sends as fast as the port can, and this server limits ports to {cap}",
                        stream.name
                    ))
                })?;
            }
            if sum > amount(cap) * (1.0 + 1e-9) {
                return Err(Fault::forbidden(format!(
                    "ports.{}: its streams together exceed {cap}, this server's limit per port",
                    port.name
                )));
            }
        }
        Ok(())
    }

    /// What a rate asks of a port, in the unit of the cap; `None` if that has no bound.
    fn asked(&self, plan: &Plan, port: usize, mix: units::FrameMix, rate: Load, cap: Load) -> Option<f64> {
        let speed = speed(plan, port);
        if matches!(rate, Load::LinkShare(_)) && speed.is_none() {
            return None;
        }
        let packets = rate.packets(mix, speed.unwrap_or(0))?.as_f64();
        match cap {
            Load::Bits(cap) => Some(packets * bits_per_packet(mix, cap.layer)),
            _ => Some(packets),
        }
    }
}

/// The number of a cap in its own unit.
fn amount(cap: Load) -> f64 {
    match cap {
        Load::Packets(pps) => pps.as_f64(),
        Load::Bits(rate) => rate.bps as f64,
        Load::LinkShare(_) | Load::Max => f64::INFINITY,
    }
}

fn bits_per_packet(mix: units::FrameMix, layer: Layer) -> f64 {
    let one = units::BitRate { bps: 1_000_000_000_000, layer };
    1e12 / one.packets(mix).as_f64().max(1e-9)
}

/// Layer-1 speed of a port that is not open yet.
fn speed(plan: &Plan, port: usize) -> Option<u64> {
    let port = &plan.ports[port];
    port.speed_bps.or_else(|| LinkFacts::read(&dpdk::netdev(&port.device)?).ok()?.speed_bps)
}

/// Whether a text is as a pattern says, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, is) in [
            ("veth0", "veth0", true),
            ("veth0", "veth01", false),
            ("veth*", "veth01", true),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn an_interface_has_one_name() {
        assert_eq!(port_name("afxdp:veth0"), "veth0");
        assert_eq!(port_name("afpacket:veth0"), "veth0");
        assert_eq!(port_name("ring:a"), "ring:a");
        assert_eq!(port_name("memif:/run/x.sock,server"), "memif:/run/x.sock");
    }

    #[test]
    fn devices_that_name_files_must_be_allowed() {
        let nothing_said = Limits::default();
        assert!(nothing_said.allows("ring:a") && !nothing_said.allows("pcap:in.pcap,out.pcap"));
        let said = Limits { ports: vec!["veth*".to_owned(), "pcap:*".to_owned()], rate: None };
        assert!(said.allows("afxdp:veth3") && said.allows("pcap:a,b") && !said.allows("ring:a"));
    }

    #[test]
    fn a_cap_is_for_all_streams_of_a_port() {
        let profile = |rates: &[&str]| {
            let streams: String = rates
                .iter()
                .enumerate()
                .map(|(n, rate)| format!("  - {{name: s{n}, from: a, to: b, size: 1000B, rate: {rate}, packet: [ethernet: {{dst: '02:00:00:00:00:01'}}]}}\n"))
                .collect();
            profile::load(&format!("ports: {{a: {{device: 'ring:a'}}, b: {{device: 'ring:b'}}}}\nload: {{duration: 1s}}\nstreams:\n{streams}"))
                .unwrap()
        };
        let limits = |cap: &str| Limits { ports: Vec::new(), rate: Some(cap.parse().unwrap()) };
        assert!(limits("1kpps").check(&profile(&["500pps", "500pps"])).is_ok());
        assert_eq!(limits("1kpps").check(&profile(&["500pps", "501pps"])).unwrap_err().status(), 403);
        assert!(limits("10Mbps").check(&profile(&["1kpps"])).is_ok());
        assert_eq!(limits("7Mbps").check(&profile(&["1kpps"])).unwrap_err().status(), 403);
        assert_eq!(limits("7Mbps").check(&profile(&["max"])).unwrap_err().status(), 403);
    }
}
