//! Programs that run control protocols behind a port.

use super::Resolver;
use crate::document::{DaemonDoc, ProtocolDoc};
use crate::plan::{Daemon, ProtocolPlan, ProtocolProgram};
use std::collections::HashSet;

impl Resolver<'_> {
    pub(super) fn protocols(&mut self) -> Vec<ProtocolPlan> {
        let document = self.document;
        let paths =
            (0..).map(|index| format!("protocols[{index}]")).filter(|path| !self.reading.is_dropped(path));
        let kept: Vec<_> = paths.zip(&document.protocols).take(document.protocols.len()).collect();
        let mut names = HashSet::new();
        let mut plans = Vec::new();
        for (path, doc) in kept {
            let Some(plan) = self.protocol(&path, doc) else { continue };
            if !names.insert(plan.name.clone()) {
                let reason = format!("there is another '{}'; give each its own 'name'", plan.name);
                self.reading.fail(format!("{path}.name"), reason);
            }
            plans.push(plan);
        }
        plans
    }

    fn protocol(&mut self, path: &str, doc: &ProtocolDoc) -> Option<ProtocolPlan> {
        let program = match (doc.daemon, &doc.command[..]) {
            (Some(daemon), []) => Some(ProtocolProgram::Daemon(named(daemon))),
            (None, [_, ..]) => Some(ProtocolProgram::Command(doc.command.clone())),
            (Some(_), [_, ..]) => {
                self.reading.fail(format!("{path}.command"), "can't be used with 'daemon'");
                None
            }
            (None, []) => {
                self.reading.fail(path, "needs 'daemon', such as bird or frr, or 'command'");
                None
            }
        };
        let port = self.ports.iter().position(|port| port.name == doc.port);
        match port {
            Some(port) if self.ports[port].punt.is_none() => {
                let reason = format!("port '{}' has no 'punt', and so no namespace to run in", doc.port);
                self.reading.fail(format!("{path}.port"), reason);
            }
            None if !self.reading.is_dropped(&format!("ports.{}", doc.port)) => {
                let known: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
                self.reading.fail(format!("{path}.port"), spelling::unknown("port", &doc.port, &known));
            }
            _ => {}
        }
        self.within_a_year(&format!("{path}.timeout"), doc.timeout.0);
        let config = self.protocol_config(path, doc);
        if config.is_none() && matches!(doc.daemon, Some(DaemonDoc::Bird | DaemonDoc::Frr | DaemonDoc::Gobgp))
        {
            self.reading.fail(path, "needs 'config' or 'config_file'");
        }
        let program = program?;
        let name = match (&doc.name, &program) {
            (Some(name), _) => name.0.clone(),
            (None, ProtocolProgram::Daemon(daemon)) => daemon.name().to_owned(),
            (None, ProtocolProgram::Command(words)) => {
                let name = words[0].rsplit('/').next().unwrap_or_default();
                name.chars()
                    .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                    .take(64)
                    .collect()
            }
        };
        Some(ProtocolPlan {
            name,
            port: port?,
            program,
            config: config.unwrap_or_default(),
            ready: doc.ready.clone(),
            timeout: doc.timeout.0,
            folder: doc.folder.clone(),
        })
    }

    fn protocol_config(&mut self, path: &str, doc: &ProtocolDoc) -> Option<String> {
        match (&doc.config, &doc.config_file) {
            (Some(_), Some(_)) => {
                self.reading.fail(format!("{path}.config_file"), "can't be used with 'config'");
                None
            }
            (Some(text), None) => Some(text.clone()),
            (None, Some(name)) => {
                let path = format!("{path}.config_file");
                let text = String::from_utf8(self.file(&path, name)?);
                text.map_err(|_| self.reading.fail(path, format!("'{name}' is no text (UTF-8)"))).ok()
            }
            (None, None) => None,
        }
    }
}

fn named(daemon: DaemonDoc) -> Daemon {
    match daemon {
        DaemonDoc::Bird => Daemon::Bird,
        DaemonDoc::Frr => Daemon::Frr,
        DaemonDoc::Gobgp => Daemon::Gobgp,
        DaemonDoc::Lldpd => Daemon::Lldpd,
    }
}
