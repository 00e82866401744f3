//! Parameters of a topology.

use super::cores;
use crate::LabError;
use std::fmt;
use units::{FrameLen, Load, Nanos, Pps};

/// Parameters of a topology. `None` is the topology's default.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Routes in addition to the networks' own.
    pub routes: Option<u32>,
    /// Rules, of which the last permit the traffic.
    pub rules: Option<u32>,
    /// Routers.
    pub routers: Option<u32>,
    /// Flows of the traffic.
    pub flows: Option<u32>,
    /// Whether profiles use AF_PACKET instead of AF_XDP on the kernel's interfaces.
    pub af_packet: bool,
    /// Frame length of the profiles' IPv4 streams.
    pub size: Option<FrameLen>,
    /// Cores of the device, ascending; the tester has the others. `None`: all but the tester's worker core.
    pub dut_cores: Option<Vec<usize>>,
    /// The command that starts the user's device.
    pub dut_command: Option<String>,
    /// The device's name in result tables; `None`: the topology's.
    pub dut_name: Option<String>,
    /// Rate of each stream of the profiles.
    pub rate: Load,
    /// Duration of the profiles.
    pub duration: Nanos,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            routes: None,
            rules: None,
            routers: None,
            flows: None,
            af_packet: false,
            size: None,
            dut_cores: None,
            dut_command: None,
            dut_name: None,
            rate: Load::Packets(Pps::new(20_000)),
            duration: Nanos::from_secs(10),
        }
    }
}

/// A numeric parameter of some topologies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    Routes,
    Rules,
    Routers,
    Flows,
}

impl Parameter {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Routes => "routes",
            Self::Rules => "rules",
            Self::Routers => "routers",
            Self::Flows => "flows",
        }
    }

    /// Minimum and maximum. Routes of 24 bits fill 16.0.0.0/4; a packet with a TTL of 64 can pass 32 routers; the kernel
    /// tracks 262,144 connections by default, in all namespaces together.
    fn range(self) -> (u32, u32) {
        match self {
            Self::Routes => (0, 1 << 20),
            Self::Rules => (0, 65_536),
            Self::Routers => (1, 32),
            Self::Flows => (1, 60_000),
        }
    }
}

/// The topology whose device is the user's.
pub(super) const OWN: &str = "own";

const ALL: [Parameter; 4] = [Parameter::Routes, Parameter::Rules, Parameter::Routers, Parameter::Flows];

impl Parameters {
    fn value(&self, parameter: Parameter) -> Option<u32> {
        match parameter {
            Parameter::Routes => self.routes,
            Parameter::Rules => self.rules,
            Parameter::Routers => self.routers,
            Parameter::Flows => self.flows,
        }
    }

    fn set(&mut self, parameter: Parameter, value: u32) {
        let field = match parameter {
            Parameter::Routes => &mut self.routes,
            Parameter::Rules => &mut self.rules,
            Parameter::Routers => &mut self.routers,
            Parameter::Flows => &mut self.flows,
        };
        *field = Some(value);
    }

    /// The device's configuration, for result tables: `routes=262144 rules=1024`, or `plain`.
    pub(super) fn configuration(&self) -> String {
        let chosen = ALL.iter().filter_map(|&one| {
            let value = self.value(one).filter(|value| *value > 0)?;
            Some(format!("{}={value}", one.name()))
        });
        let cores = self.dut_cores.as_deref().map(|cores| format!("cores={}", os::cpu::format_list(cores)));
        let chosen = chosen.chain(cores).collect::<Vec<_>>().join(" ");
        if chosen.is_empty() { "plain".to_owned() } else { chosen }
    }

    /// These with a topology's defaults filled in.
    pub(super) fn resolved(
        &self,
        topology: &'static str,
        has: &[(Parameter, u32)],
    ) -> Result<Self, LabError> {
        let mut resolved = self.clone();
        if let Some(cores) = &self.dut_cores {
            let reason = cores::refusal(cores, &os::cpu::of_process());
            reason.map_or(Ok(()), |reason| Err(LabError::BadParameter { topology, reason }))?;
        }
        let reason = match (&self.dut_command, topology) {
            (Some(command), OWN) if !command.trim().is_empty() => None,
            (_, OWN) => Some("it has no device: give the command that starts yours with --dut-command"),
            (Some(_), _) => Some("it has a device; --dut-command is for the topology 'own'"),
            (None, _) => None,
        };
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let fits = |name: &String| (1..=40).contains(&name.len()) && name.chars().all(is_fit);
        let reason = match &self.dut_name {
            Some(name) if !fits(name) => {
                Some("--dut-name must be 1 to 40 letters, digits, '-', '_', '.' or '+'")
            }
            _ => reason,
        };
        if let Some(reason) = reason {
            return Err(LabError::BadParameter { topology, reason: reason.to_owned() });
        }
        for parameter in ALL {
            let own = has.iter().find(|(known, _)| *known == parameter).map(|(_, value)| *value);
            let bad = |reason| Err(LabError::BadParameter { topology, reason });
            match (self.value(parameter), own) {
                (Some(_), None) => return bad(format!("no option --{}", parameter.name())),
                (None, Some(own)) => resolved.set(parameter, own),
                (Some(value), Some(_)) => {
                    let (least, most) = parameter.range();
                    if !(least..=most).contains(&value) {
                        return bad(format!("--{} must be from {least} to {most}", parameter.name()));
                    }
                }
                (None, None) => {}
            }
        }
        Ok(resolved)
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chosen =
            ALL.iter().filter_map(|&one| self.value(one).map(|value| format!("--{} {value}", one.name())));
        let cores =
            self.dut_cores.as_deref().map(|cores| format!("--dut-cores {}", os::cpu::format_list(cores)));
        let command = self.dut_command.as_ref();
        let command = command.map(|command| format!("--dut-command '{}'", command.replace('\'', r"'\''")));
        let name = self.dut_name.as_ref().map(|name| format!("--dut-name {name}"));
        f.write_str(&chosen.chain(cores).chain(command).chain(name).collect::<Vec<_>>().join(" "))
    }
}
