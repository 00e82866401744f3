//! Hosts whose control plane is in a network namespace.

use super::Resolver;
use crate::document::PuntDoc;
use crate::plan::{HostPlan, PuntPlan};
use wire::control::{control_protocols, control_rules};

/// Characters of an interface's name.
const INTERFACE_MAX: usize = 15;

impl Resolver<'_> {
    pub(super) fn punt(&mut self, port: &str, punt: &PuntDoc, hosts: &[HostPlan]) -> PuntPlan {
        let path = format!("ports.{port}.punt");
        if let Some(name) = &punt.namespace
            && (name.contains(['/', '\0']) || name == "." || name == "..")
        {
            let reason =
                format!("'{name}' is no name of a network namespace; 'ip netns' lists those there are");
            self.reading.fail(format!("{path}.namespace"), reason);
        }
        if let Some(host) = hosts.iter().find(|host| host.name.len() > INTERFACE_MAX) {
            let reason = format!(
                "the host '{}' gets an interface of its name, and that has at most {INTERFACE_MAX} characters; use a shorter \
                 name",
                host.name
            );
            self.reading.fail(&path, reason);
        }
        let rules = match &punt.matches {
            Some(items) => {
                let texts = items.with_paths().into_iter().map(|(_, text)| text.0.clone());
                texts.filter_map(|text| control_rules(&text)).flatten().collect()
            }
            None => control_protocols().filter_map(control_rules).flatten().collect(),
        };
        PuntPlan { namespace: punt.namespace.clone(), rules }
    }
}
