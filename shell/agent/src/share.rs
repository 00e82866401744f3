//! Rows for which one machine of a run has figures, by its ports. Rows of other machines are zeros, and it does not send them.
//!
//! Invariant: both ends derive the same rows from the plan, in its order. So columns without names need none.

use profile::Plan;
use result::{IntervalDocument, ResultDocument, TotalDocument};
use std::collections::HashSet;

/// Names of the rows of a machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Share {
    ports: HashSet<String>,
    streams: HashSet<String>,
    sessions: HashSet<String>,
}

impl Share {
    /// Of the machine that has these ports of the plan.
    pub(crate) fn of(plan: &Plan, here: &[usize]) -> Self {
        let is_here = |port: &usize| here.contains(port);
        let ports = plan.ports.iter().enumerate().filter(|(index, _)| is_here(index));
        // A stream without a receiver arrives anywhere.
        let streams = plan.streams.iter().filter(|stream| {
            is_here(&stream.from)
                || stream.to.is_none_or(|to| is_here(&to))
                || stream.also_to.iter().any(is_here)
        });
        let sessions = plan.sessions.iter().map(|entry| &entry.session).filter(|session| {
            [&session.client, &session.server].into_iter().flatten().any(|side| is_here(&side.port))
        });
        Self {
            ports: ports.map(|(_, port)| port.name.clone()).collect(),
            streams: streams.map(|stream| stream.name.clone()).collect(),
            sessions: sessions.map(|session| session.name.clone()).collect(),
        }
    }

    pub(crate) fn has_port(&self, name: &str) -> bool {
        self.ports.contains(name)
    }

    pub(crate) fn has_stream(&self, name: &str) -> bool {
        self.streams.contains(name)
    }

    pub(crate) fn has_sessions(&self, name: &str) -> bool {
        self.sessions.contains(name)
    }

    /// Leaves other machines' rows out.
    pub(crate) fn of_interval(&self, document: &mut IntervalDocument) {
        document.ports.retain(|name, _| self.has_port(name));
        document.streams.retain(|name, _| self.has_stream(name));
        document.sessions.retain(|name, _| self.has_sessions(name));
    }

    /// The same of totals.
    pub(crate) fn of_total(&self, document: &mut TotalDocument) {
        document.ports.retain(|name, _| self.has_port(name));
        document.streams.retain(|name, _| self.has_stream(name));
        document.sessions.retain(|name, _| self.has_sessions(name));
    }

    /// The same of a result.
    pub(crate) fn of_result(&self, document: &mut ResultDocument) {
        document.ports.retain(|name, _| self.has_port(name));
        document.streams.retain(|name, _| self.has_stream(name));
        document.sessions.retain(|name, _| self.has_sessions(name));
    }
}

/// Where the rows of the whole plan are in the columns of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) ports: Vec<Option<usize>>,
    pub(crate) streams: Vec<Option<usize>>,
    pub(crate) sessions: Vec<Option<usize>>,
}

impl Columns {
    /// Of the machine that has these ports of the plan.
    pub(crate) fn of(plan: &Plan, here: &[usize]) -> Self {
        let share = Share::of(plan, here);
        Self {
            ports: places(plan.ports.iter().map(|port| share.has_port(&port.name))),
            streams: places(plan.streams.iter().map(|stream| share.has_stream(&stream.name))),
            sessions: places(plan.sessions.iter().map(|entry| share.has_sessions(&entry.session.name))),
        }
    }
}

/// The place of each row among those that are there.
fn places(are_there: impl Iterator<Item = bool>) -> Vec<Option<usize>> {
    let mut next = 0;
    let place = |is_there: bool| {
        let place = is_there.then_some(next);
        next += usize::from(is_there);
        place
    };
    are_there.map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let stream = |name: &str, from: &str, to: &str| {
            format!(
                "{{name: {name}, from: {from}, {to} packet: [{{ethernet: {{dst: '02:00:00:00:00:01'}}}}, \
                 {{ipv4: {{src: 10.0.0.1, dst: 10.0.0.9}}}}, udp], rate: 1kpps}}"
            )
        };
        let text = format!(
            "ports: {{a: {{device: 'ring:a'}}, b: {{device: 'ring:b'}}, c: {{device: 'ring:c'}}}}\n\
             streams: [{}, {}, {}]\nload: {{duration: 1s}}\n",
            stream("ab", "a", "to: b,"),
            stream("bc", "b", "to: c,"),
            stream("ca", "c", "to: a,"),
        );
        profile::load_with(&text, &profile::Overrides::default(), &|_| Err(String::new())).unwrap()
    }

    #[test]
    fn a_machine_has_the_streams_that_begin_or_end_at_it() {
        let mut plan = plan();
        let columns = |plan: &Plan, here: &[usize]| Columns::of(plan, here);
        let of_a = columns(&plan, &[0]);
        assert_eq!((of_a.ports, of_a.streams), (vec![Some(0), None, None], vec![Some(0), None, Some(1)]));
        assert_eq!(columns(&plan, &[1, 2]).streams, [Some(0), Some(1), Some(2)]);
        // One that may arrive anywhere is everybody's.
        plan.streams[1].to = None;
        assert_eq!(columns(&plan, &[0]).streams, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn documents_keep_own_rows() {
        let share = Share::of(&plan(), &[0]);
        let mut interval = IntervalDocument::default();
        for name in ["ab", "bc", "ca"] {
            interval.streams.insert(name.to_owned(), result::StreamResult::default());
        }
        share.of_interval(&mut interval);
        assert_eq!(interval.streams.keys().collect::<Vec<_>>(), ["ab", "ca"]);
    }
}
