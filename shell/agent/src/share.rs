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

/// Which rows of the whole plan a machine has: their indices, in ascending order. The place of a row in its columns is the place here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    /// Of ports.
    pub ports: Vec<u32>,
    /// Of streams.
    pub streams: Vec<u32>,
    /// Of entries of sessions.
    pub sessions: Vec<u32>,
}

impl Columns {
    /// Of all machines of a run; `part` is the machine of each port. All at once, because the plan may be long and the machines many.
    pub(crate) fn of_all(plan: &Plan, part: &[usize], parts: usize) -> Vec<Self> {
        let mut all = vec![Self::default(); parts];
        let mut add =
            |rows: fn(&mut Self) -> &mut Vec<u32>, index: u32, ports: &mut dyn Iterator<Item = usize>| {
                for port in ports {
                    let Some(columns) = part.get(port).and_then(|part| all.get_mut(*part)) else { continue };
                    let rows = rows(columns);
                    if rows.last() != Some(&index) {
                        rows.push(index);
                    }
                }
            };
        for index in 0..plan.ports.len() {
            add(|columns| &mut columns.ports, index as u32, &mut std::iter::once(index));
        }
        for (stream, index) in plan.streams.iter().zip(0..) {
            let rows: fn(&mut Self) -> &mut Vec<u32> = |columns| &mut columns.streams;
            match stream.to {
                Some(to) => {
                    add(rows, index, &mut [stream.from, to].into_iter().chain(stream.also_to.iter().copied()))
                }
                // It arrives anywhere.
                None => add(rows, index, &mut (0..plan.ports.len())),
            }
        }
        for (entry, index) in plan.sessions.iter().zip(0..) {
            let sides = [&entry.session.client, &entry.session.server].into_iter().flatten();
            add(|columns| &mut columns.sessions, index, &mut sides.map(|side| side.port));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use columns::place;

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
        let of_all =
            |plan: &Plan, part: &[usize]| Columns::of_all(plan, part, 1 + *part.iter().max().unwrap());
        let apart = of_all(&plan, &[0, 1, 2]);
        assert_eq!((&apart[0].ports[..], &apart[0].streams[..]), (&[0][..], &[0, 2][..]));
        assert_eq!(place(&apart[0].streams, 2), Some(1));
        assert_eq!((place(&apart[0].streams, 1), place(&apart[0].streams, usize::MAX)), (None, None));
        assert_eq!(of_all(&plan, &[1, 0, 0])[0].streams, [0, 1, 2]);
        // One that may arrive anywhere is everybody's.
        plan.streams[1].to = None;
        assert_eq!(of_all(&plan, &[0, 1, 1])[0].streams, [0, 1, 2]);
        // Each machine derives the same.
        for (part, columns) in of_all(&plan, &[0, 1, 0]).iter().enumerate() {
            let here: Vec<usize> = [vec![0, 2], vec![1]][part].clone();
            let share = Share::of(&plan, &here);
            let own = plan.streams.iter().zip(0..).filter(|(stream, _)| share.has_stream(&stream.name));
            assert_eq!(own.map(|(_, index)| index).collect::<Vec<u32>>(), columns.streams);
        }
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
