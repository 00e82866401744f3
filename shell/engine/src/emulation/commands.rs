//! Commands to hosts' protocols: selection of hosts, and their state.

use super::hosts::{Emulation, PortEmulation};
use super::protocol::Listing;
use crate::control::commands::{ActionOn, Command, CommandError, Reply, Request};
use result::{NewProtocolChange, ProtocolStates};
use units::Nanos;

impl Emulation {
    /// Carries out a request about protocols and sends the reply; returns whether it succeeded.
    pub(crate) fn carry_out(&mut self, now: Nanos, request: Request) -> bool {
        let ports = &mut self.ports;
        let answer = match &request.command {
            Command::Protocol(command) => {
                change(ports, now, &command.change).map(Reply::Changed).map_err(CommandError::Refused)
            }
            Command::AskProtocols { routes, limit } => {
                Ok(Reply::Protocols(Box::new(states(ports, now, *routes, *limit))))
            }
            _ => return false,
        };
        let is_done = answer.is_ok();
        request.answer(answer);
        is_done
    }
}

/// Changes what is meant, all or nothing; returns how many ranges of routes, sessions or clients that were.
fn change(ports: &mut [PortEmulation], now: Nanos, command: &NewProtocolChange) -> Result<u64, String> {
    let (on, wanted) = (ActionOn::of(command.action), command.port.as_ref());
    if let Some(name) = wanted.filter(|name| ports.iter().all(|port| port.name != **name)) {
        return Err(format!("there is no port '{name}'"));
    }
    let what = on.whose();
    let has_it = |port: &PortEmulation| port.protocols.each().any(|(.., protocol)| protocol.obeys(on));
    let is_meant = |port: &&mut PortEmulation| wanted.is_none_or(|name| port.name == *name) && has_it(port);
    let mut meant: Vec<&mut PortEmulation> = ports.iter_mut().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(match wanted {
            Some(name) => format!("port '{name}' has no {what}"),
            None => format!("no port has {what}"),
        });
    }
    if command.delay_s.is_some() && on != ActionOn::Restarts {
        return Err("a delay is only valid with 'restart'".to_owned());
    }
    let is_set = command.priority.is_some_and(|priority| (1..=254).contains(&priority));
    if is_set != (on == ActionOn::Virtual) || command.priority.is_some() != is_set {
        return Err("a priority, from 1 to 254, is set by the action 'priority' alone".to_owned());
    }
    if on.has_names() {
        known(&meant, command)?;
    } else if !command.peers.is_empty() || !command.routes.is_empty() {
        return Err(format!(
            "peers and routes are of {}; {what} are meant by 'port'",
            result::hosts_in_words!(routing)
        ));
    }
    let mut changed = 0;
    for port in &mut meant {
        let obeying = port.protocols.each_mut().filter(|(.., protocol)| protocol.obeys(on));
        for (number, _, protocol) in obeying {
            let done = protocol.change(now, command);
            port.commanded[number] += u64::from(done > 0);
            changed += done;
        }
    }
    Ok(changed)
}

/// Whether all names of a command are known.
fn known(ports: &[&mut PortEmulation], command: &NewProtocolChange) -> Result<(), String> {
    let on = ActionOn::of(command.action);
    let all = || {
        let each = ports.iter().flat_map(|port| port.protocols.each()).map(|(.., protocol)| protocol);
        each.filter(|protocol| protocol.obeys(on))
    };
    for name in &command.peers {
        let one = NewProtocolChange { peers: vec![name.clone()], ..command.clone() };
        if all().any(|protocol| protocol.has_member(&one)) {
            continue;
        }
        let mut kinds: Vec<&str> = all().map(|protocol| protocol.member()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        return Err(format!("there is no {} '{name}', and none has that address", kinds.join(" and no ")));
    }
    if matches!(on, ActionOn::Sessions | ActionOn::Restarts | ActionOn::Virtual) && !command.routes.is_empty()
    {
        return Err("routes can be advertised or withdrawn, not taken up or down or restarted".to_owned());
    }
    for name in &command.routes {
        if !all().any(|protocol| protocol.has_routes(command, name)) {
            return Err(format!("there are no routes '{name}'"));
        }
    }
    Ok(())
}

/// State of all at `now`; at most `limit` of each kind are listed.
fn states(ports: &[PortEmulation], now: Nanos, routes: bool, limit: usize) -> ProtocolStates {
    let mut all = ProtocolStates::default();
    for own in ports {
        for (number, _, protocol) in own.protocols.each() {
            let listing = Listing { port: &own.name, now, routes, limit, commands: own.commanded[number] };
            protocol.list(listing, &mut all);
        }
    }
    all
}
