//! Rights of a server at an agent of a fleet: its operator's ports, on its operator's cores.
//!
//! Not here: who may send it orders, which the fleet's broker decides. Without an agent's name, all is allowed: the server has checked it.

use crate::message::Work;
use dpdk::PortId;
use profile::Plan;

/// Limits of an agent of a fleet.
#[derive(Debug, Clone, Default)]
pub struct Permit {
    /// Name of the agent, in front of its ports; none for an agent on its server's machine.
    pub agent: Option<String>,
    /// Its ports.
    pub ports: Vec<String>,
    /// Cores for its workers, instead of the order's.
    pub cores: Vec<usize>,
    /// How its clock is made wrong, for tests.
    pub wrong_clock: WrongClock,
}

/// A clock that is as much ahead of this machine's, and faster, for tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrongClock {
    /// Offset, ns.
    pub offset_ns: i64,
    /// Drift, parts per 10⁹.
    pub drift_ppb: i64,
}

impl WrongClock {
    /// Its error when CLOCK_MONOTONIC is `now`, ns.
    pub fn error(self, now: u64) -> i64 {
        let drift = i128::from(now) * i128::from(self.drift_ppb) / 1_000_000_000;
        self.offset_ns.saturating_add(i64::try_from(drift).unwrap_or(0))
    }

    /// Whether it is right.
    pub fn is_right(self) -> bool {
        self == Self::default()
    }
}

impl Permit {
    /// Replaces the cores of an order.
    pub(crate) fn assign_cores(&self, cores: &mut Vec<usize>) {
        if self.agent.is_some() {
            cores.clone_from(&self.cores);
        }
    }

    /// Gives ports their names on this machine, and refuses ports of other machines, and ports that its operator did not name.
    pub(crate) fn admit(&self, plan: &mut Plan, work: &Work) -> Result<(), String> {
        let Some(agent) = &self.agent else { return Ok(()) };
        if matches!(work, Work::Campaign(_)) {
            return Err(format!("agent '{agent}' runs profiles only, not test methods"));
        }
        if !plan.protocols.is_empty() {
            return Err(format!("protocols: agent '{agent}' starts no programs for others"));
        }
        if let Some(name) = plan.key_log_entry() {
            return Err(format!(
                "sessions '{name}': tls.key_log: agent '{agent}' writes no secrets to files for others; leave it out"
            ));
        }
        let part = work.part();
        let is_own = |index: &usize| part.is_none_or(|part| part.here.contains(index));
        for (_, port) in plan.ports.iter_mut().enumerate().filter(|(index, _)| is_own(index)) {
            let own = port.device.strip_prefix(agent.as_str()).and_then(|rest| rest.strip_prefix('/'));
            let Some(device) = own else {
                return Err(format!("ports.{}: '{}' is no port of agent '{agent}'", port.name, port.device));
            };
            self.check(device).map_err(|reason| format!("ports.{}: {reason}", port.name))?;
            if port.capture.is_some() {
                return Err(format!(
                    "ports.{}.capture: agent '{agent}' captures no packets; leave it out",
                    port.name
                ));
            }
            if port.punt.as_ref().is_some_and(|punt| punt.namespace.is_some()) {
                return Err(format!(
                    "ports.{}.punt.namespace: agent '{agent}' lends no namespaces; leave it out",
                    port.name
                ));
            }
            port.device = device.to_owned();
        }
        Ok(())
    }

    /// The names of its leased ports: a run gets no others.
    pub fn of_lease<'a>(&self, leased: impl Iterator<Item = &'a str>) -> Vec<String> {
        let leased: Vec<PortId> = leased.filter_map(|port| PortId::resolve(port).ok()).collect();
        let is_leased = |own: &&String| {
            PortId::resolve(own).is_ok_and(|own| leased.iter().any(|leased| own.overlaps(leased)))
        };
        self.ports.iter().filter(is_leased).cloned().collect()
    }

    /// Why a file that was not sent along is not read.
    pub(crate) fn refuse_file(&self, name: &str) -> Result<(), String> {
        match &self.agent {
            Some(agent) => Err(format!(
                "'{name}' was not sent along; agent '{agent}' reads no files of its machine for others"
            )),
            None => Ok(()),
        }
    }

    /// Refuses a port that is not the agent's, whatever it is called.
    pub fn check(&self, device: &str) -> Result<(), String> {
        let resolve = |device: &str| PortId::resolve(device).map_err(|error| error.to_string());
        let own: Result<Vec<PortId>, String> = self.ports.iter().map(|port| resolve(port)).collect();
        if resolve(device)?.is_within(&own?) {
            return Ok(());
        }
        let ports = self.ports.join(", ");
        Err(format!(
            "agent '{}' has the ports {ports}, and not '{device}'",
            self.agent.as_deref().unwrap_or_default()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::RunOrder;

    fn plan(device: &str) -> Plan {
        let stream = "{name: s, from: a, packet: [{ethernet: {dst: '02:00:00:00:00:01'}}, {ipv4: {dst: 10.0.0.9}}, udp], rate: 1pps}";
        let text = format!(
            "ports: {{a: {{device: '{device}', ip: 10.0.0.1/24}}}}\nstreams: [{stream}]\nload: {{duration: 1s}}\n"
        );
        profile::load_with(&text, &profile::Overrides::default(), &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn an_agent_opens_its_own_ports_only() {
        let permit = Permit {
            agent: Some("a1".to_owned()),
            ports: vec!["ring:a".to_owned()],
            cores: vec![1],
            ..Permit::default()
        };
        let work = Work::Run(RunOrder { attended: false, quiet: Vec::new(), keeps: false, part: None });
        let mut own = plan("a1/ring:a");
        permit.admit(&mut own, &work).unwrap();
        assert_eq!(own.ports[0].device, "ring:a");
        for (device, says) in [
            ("ring:a", "is no port of agent 'a1'"),
            ("a2/ring:a", "is no port of agent 'a1'"),
            ("a1/ring:b", "and not 'ring:b'"),
        ] {
            let refused = permit.admit(&mut plan(device), &work).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        Permit::default().admit(&mut plan("ring:b"), &work).unwrap();
    }

    #[test]
    fn a_run_gets_the_ports_of_its_leases_and_no_files() {
        let ports = ["veth0", "veth1", "ring:a"].map(str::to_owned).to_vec();
        let permit = Permit { agent: Some("a1".to_owned()), ports, ..Permit::default() };
        assert_eq!(permit.of_lease(["veth1", "ring:a"].into_iter()), ["veth1", "ring:a"]);
        assert_eq!(permit.of_lease(["afxdp:veth0"].into_iter()), ["veth0"]);
        assert!(permit.of_lease(["veth2", "veth0,veth1"].into_iter()).is_empty());
        assert!(permit.refuse_file("shadow").unwrap_err().contains("agent 'a1' reads no files"));
        Permit::default().refuse_file("own.pcap").unwrap();
    }
}
