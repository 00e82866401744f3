//! Results of hosts' protocols: their rows of the result, and sentences.

use super::hosts::Emulation;
use result::{Named, PortResult, ResultDocument};
use units::Nanos;

impl Emulation {
    /// Adds what became of them to the document of their trial.
    pub(crate) fn report(&self, document: &mut ResultDocument) {
        self.fill(&mut document.ports);
        let verdict = &mut document.verdict;
        for port in &self.ports {
            let name = &port.name;
            for (_, _, protocol) in port.protocols.each() {
                for reason in protocol.complaints() {
                    verdict.lack(format!("port {name}: {reason}"));
                }
                verdict.notes.extend(protocol.note().map(|note| format!("port {name}: {note}")));
            }
        }
    }

    /// Adds notes on the behaviour of their peers to the document of a trial with real ones.
    pub(crate) fn note_peers(&self, document: &mut ResultDocument) {
        let lasted = Nanos((document.duration_s * 1e9) as u64);
        for port in &self.ports {
            let (name, Some(row)) = (&port.name, document.ports.get(&port.name)) else { continue };
            let notes = port.protocols.each().filter_map(|(_, _, protocol)| protocol.peers_note(row, lasted));
            document.verdict.notes.extend(notes.map(|note| format!("port {name}: {note}")));
        }
    }

    /// Adds their figures to rows of ports.
    pub(crate) fn fill(&self, rows: &mut Named<PortResult>) {
        for port in &self.ports {
            let Some(row) = rows.get_mut(&port.name) else { continue };
            for (number, _, protocol) in port.protocols.each() {
                protocol.report(port.commanded[number], row);
            }
        }
    }
}
