//! Limits that the operator sets for clients: ports (decided in `admission`) and rates.

use crate::fault::Fault;
use os::link::LinkFacts;
use profile::Plan;
use profile::plan::Pattern;
use units::{Layer, Load};

/// Permitted ports and rates.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Ports that may be used: names or devices, with `*` for any characters. Empty: all but those that name files of
    /// this machine (`pcap:`) or arguments of a driver (`vdev:`). `admission` decides.
    pub ports: Vec<String>,
    /// Maximum rate of one port: a packet rate or a bit rate.
    pub rate: Option<Load>,
    /// Whether admins may run scripts.
    pub scripts: bool,
}

impl Limits {
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

    /// Load that a rate puts on a port, in the unit of the cap; `None` if unbounded.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let limits = |cap: &str| Limits { rate: Some(cap.parse().unwrap()), ..Limits::default() };
        assert!(limits("1kpps").check(&profile(&["500pps", "500pps"])).is_ok());
        assert_eq!(limits("1kpps").check(&profile(&["500pps", "501pps"])).unwrap_err().status(), 403);
        assert!(limits("10Mbps").check(&profile(&["1kpps"])).is_ok());
        assert_eq!(limits("7Mbps").check(&profile(&["1kpps"])).unwrap_err().status(), 403);
        assert_eq!(limits("7Mbps").check(&profile(&["max"])).unwrap_err().status(), 403);
    }
}
