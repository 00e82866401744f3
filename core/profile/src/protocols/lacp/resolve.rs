//! Ports of LAGs: which ports form one LAG, and its system.

use crate::document::{LacpActivityDoc, LacpDoc, LacpTimeoutDoc};
use crate::plan::LacpPlan;
use crate::resolve::Resolver;
use emulate::lacp::LacpConfig;

const PRIORITY: u16 = 32_768;

impl Resolver<'_> {
    /// Gives the ports of all lags their plans.
    pub(crate) fn lags(&mut self) {
        let document = self.document;
        let ports = document.ports.iter().enumerate();
        let all: Vec<(usize, &str, &LacpDoc)> = ports
            .filter_map(|(index, (name, port))| Some((index, name.as_str(), port.lacp.as_ref()?)))
            .collect();
        let mut names: Vec<&str> = Vec::new();
        for (at, &(index, name, lacp)) in all.iter().enumerate() {
            let path = format!("ports.{name}.lacp");
            if !names.contains(&lacp.lag.0.as_str()) {
                names.push(&lacp.lag.0);
            }
            let lag = names.iter().position(|other| **other == lacp.lag.0).unwrap_or(0);
            let members = || all.iter().filter(|(.., other)| other.lag == lacp.lag).map(|(.., other)| *other);
            let system = members().find_map(|other| other.system.as_ref()).map(|mac| mac.0);
            let config = LacpConfig {
                mac: [0; 6],
                system: system.unwrap_or_default(),
                system_priority: members().find_map(|other| other.system_priority).unwrap_or(PRIORITY),
                key: members().find_map(|other| other.key).unwrap_or(lag as u16 + 1),
                port: lacp.port.unwrap_or(index as u16 + 1),
                port_priority: lacp.port_priority,
                active: lacp.activity == LacpActivityDoc::Active,
                short_timeout: lacp.timeout == LacpTimeoutDoc::Short,
            };
            self.within_a_year(&format!("{path}.wait"), lacp.wait.0);
            if lacp.system.as_ref().is_some_and(|mac| mac.0[0] & 1 != 0 || mac.0 == [0; 6]) {
                self.reading.fail(
                    format!("{path}.system"),
                    "must be the MAC address of one system, not of a group, and not 0",
                );
            }
            let differs = |given: bool| {
                given.then(|| format!("differs from that of other ports of the lag '{}'", lacp.lag.0))
            };
            let given = [
                ("system", differs(lacp.system.as_ref().is_some_and(|own| Some(own.0) != system))),
                (
                    "system_priority",
                    differs(lacp.system_priority.is_some_and(|own| own != config.system_priority)),
                ),
                ("key", differs(lacp.key.is_some_and(|own| own != config.key))),
            ];
            for (key, reason) in given {
                if let Some(reason) = reason {
                    self.reading.fail(format!("{path}.{key}"), reason);
                }
            }
            let plan = LacpPlan {
                lag,
                name: lacp.lag.0.clone(),
                config,
                has_system: system.is_some(),
                wait: lacp.wait.0,
            };
            for &(before, other, _) in &all[..at] {
                let Some(theirs) = self.ports.get(before).and_then(|port| port.lacp.as_ref()) else {
                    continue;
                };
                let is_one_system =
                    theirs.has_system && plan.has_system && theirs.config.system == plan.config.system;
                if theirs.lag != lag && is_one_system && theirs.config.key == plan.config.key {
                    let reason = format!(
                        "'{}' has the system and key of the lag '{}' of port '{other}'",
                        lacp.lag.0, theirs.name
                    );
                    self.reading.fail(format!("{path}.lag"), reason);
                    break;
                }
                if (theirs.lag == lag || is_one_system) && theirs.config.port == plan.config.port {
                    let reason =
                        format!("{} is the number of port '{other}' of the same system", plan.config.port);
                    self.reading.fail(format!("{path}.port"), reason);
                    break;
                }
            }
            if let Some(port) = self.ports.get_mut(index) {
                port.lacp = Some(plan);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    fn load(west: &str, east: &str) -> Result<crate::Plan, Vec<crate::ProfileError>> {
        crate::load(&format!(
            "ports: {{a: {{device: \"ring:a\", lacp: {west}}}, b: {{device: \"ring:b\", lacp: {east}}}}}"
        ))
    }

    #[test]
    fn ports_that_name_a_lag_share_what_one_of_them_says() {
        let plan =
            load("{}", "{key: 7, system: 02:00:00:00:00:09, activity: passive, timeout: long}").unwrap();
        let [a, b] = [0, 1].map(|port: usize| plan.ports[port].lacp.clone().unwrap());
        assert_eq!((a.lag, b.lag, a.config.key, a.config.system), (0, 0, 7, [2, 0, 0, 0, 0, 9]));
        assert_eq!((a.config.port, b.config.port, a.config.active, b.config.active), (1, 2, true, false));
        assert!(a.config.short_timeout && !b.config.short_timeout && a.has_system);
        let plan = load("{lag: x}", "{lag: y}").unwrap();
        let [a, b] = [0, 1].map(|port: usize| plan.ports[port].lacp.clone().unwrap());
        assert_eq!((a.lag, b.lag, a.config.key, b.config.key, a.has_system), (0, 1, 1, 2, false));
    }

    #[test]
    fn what_cannot_be_a_lag_is_said() {
        let told = |west: &str, east: &str| {
            load(west, east).unwrap_err().iter().map(ToString::to_string).collect::<String>()
        };
        assert!(told("{port: 2}", "{}").contains("ports.b.lacp.port: 2 is the number of port 'a'"));
        assert!(
            told("{key: 1}", "{key: 2}")
                .contains("ports.b.lacp.key: differs from that of other ports of the lag 'lag'")
        );
        let (one, two) =
            ("{lag: x, key: 5, system: 02:00:00:00:00:01}", "{lag: y, key: 5, system: 02:00:00:00:00:01}");
        assert!(told(one, two).contains("ports.b.lacp.lag: 'y' has the system and key of the lag 'x'"));
        assert!(
            told("{system: 02:00:00:00:00:01}", "{system: 02:00:00:00:00:02}")
                .contains("ports.b.lacp.system: differs")
        );
        assert!(told("{system: 01:00:00:00:00:01}", "{}").contains("ports.a.lacp.system: must be"));
        assert!(told("{key: 0}", "{}").contains("ports.a.lacp.key"));
    }
}
