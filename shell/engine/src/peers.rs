//! Notes on the behaviour of real peers, where it explains a figure: without them an agent that sends every 30 s looks
//! absent, a server that pings an address first looks slow. Facts with versions are in the documentation.
//!
//! Not here: verdicts. A note changes no figure.

use result::{LatencyResult, Named, PortResult};
use units::Nanos;

/// Interval of LLDPDUs (IEEE 802.1AB clause 9.2.5.5, lldpd's default); agents do not respond to new neighbours.
const LLDP_INTERVAL: Nanos = Nanos::from_secs(30);
/// A median time to a lease from which on a server's check of the address is likely: ISC dhcpd waits 1 s for its ping, dnsmasq 3 s.
const CHECKED: Nanos = Nanos::from_millis(900);

/// Notes on the ports of a run that sent for `duration`.
pub(crate) fn notes(ports: &Named<PortResult>, duration: Nanos) -> Vec<String> {
    ports.iter().flat_map(|(name, port)| of_port(name, port, duration)).collect()
}

fn of_port(name: &str, port: &PortResult, duration: Nanos) -> Vec<String> {
    let mut notes = Vec::new();
    let unheard = port.lldp.as_ref().is_some_and(|agents| agents.rx_frames == 0);
    if unheard && duration < LLDP_INTERVAL {
        notes.push(format!(
            "port {name}: no LLDP neighbour within {duration}; most agents send every {LLDP_INTERVAL} and do not respond \
             to new neighbours: run for longer"
        ));
    }
    let clients = [
        ("DHCP", port.dhcp.as_ref().and_then(|clients| clients.bind_ns.as_ref())),
        ("DHCPv6", port.dhcpv6.as_ref().and_then(|clients| clients.bind_ns.as_ref())),
    ];
    notes.extend(clients.into_iter().filter_map(|(kind, bind)| slow_leases(name, kind, bind?)));
    notes
}

fn slow_leases(name: &str, kind: &str, bind: &LatencyResult) -> Option<String> {
    let median = bind.p50.filter(|ns| *ns >= CHECKED.0)?;
    let why = match kind {
        "DHCP" => "servers may ping a new address before they offer it (ISC dhcpd for 1 s, dnsmasq for 3 s)",
        _ => "servers may be slow, or clients check their addresses first",
    };
    Some(format!(
        "port {name}: {kind} clients waited {:.1} s for their leases (median); {why}",
        median as f64 / 1e9
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{DhcpResult, LldpResult};

    fn noted(port: PortResult, seconds: u64) -> Vec<String> {
        notes(&Named::from([("west".to_owned(), port)]), Nanos::from_secs(seconds))
    }

    #[test]
    fn silent_lldp_agents_may_not_have_spoken_yet() {
        let heard = |rx_frames| PortResult {
            lldp: Some(LldpResult { rx_frames, ..LldpResult::default() }),
            ..PortResult::default()
        };
        let said = noted(heard(0), 4);
        assert!(
            said[0].starts_with("port west: no LLDP neighbour within 4s; most agents send every 30s"),
            "{said:?}"
        );
        assert!(noted(heard(1), 4).is_empty() && noted(heard(0), 30).is_empty());
        assert!(noted(PortResult::default(), 4).is_empty());
    }

    #[test]
    fn leases_that_take_seconds_have_a_reason() {
        let bound_after = |ns| {
            let bind = LatencyResult { p50: Some(ns), ..LatencyResult::default() };
            PortResult {
                dhcp: Some(DhcpResult { bind_ns: Some(bind), ..DhcpResult::default() }),
                ..PortResult::default()
            }
        };
        let said = noted(bound_after(3_300_000_000), 1);
        assert!(
            said[0].contains("clients waited 3.3 s for their leases (median); servers may ping"),
            "{said:?}"
        );
        assert!(noted(bound_after(512_000), 1).is_empty());
    }
}
