//! Verdicts about neighbours that changed their hardware address: why packets are missing that the device may have
//! lost.

use super::Evidence;
use super::findings::Findings;
use crate::control::neighbours::NeighbourMove;
use units::{Mac, count};

/// Number of moves that are reported individually for each port.
const TOLD_MAX: usize = 3;

impl Evidence<'_> {
    /// Says which neighbours were followed, and what that took.
    pub(super) fn note_moves(&self, verdict: &mut Findings) {
        for (port, end) in self.ends.iter().enumerate() {
            let name = self.port_name(port);
            let told = &end.moves[..end.moves.len().min(TOLD_MAX)];
            told.iter().for_each(|step| verdict.note(note(name, step)));
            let more = end.moves.len() - told.len();
            if more > 0 {
                verdict.note(format!(
                    "port {name}: neighbours changed their hardware address {more} more times"
                ));
            }
        }
    }
}

fn note(port: &str, step: &NeighbourMove) -> String {
    let at = step.at.as_secs_f64();
    let (from, to) = (Mac(step.from), Mac(step.to));
    let how = if step.was_asked { ", according to its reply" } else { "" };
    let moved = format!(
        "port {port}: neighbour {} moved from {from} to {to} {at:.3} s after the start{how}",
        step.ip
    );
    match (step.lost, step.took) {
        (None, _) => format!("{moved}; frames followed at once"),
        (Some(0), _) => format!("{moved}; frames followed at once, and no packet was lost"),
        (Some(lost), None) => {
            let lost = count(lost);
            format!("{moved}; {lost} packets went to the old address, and are lost")
        }
        (Some(lost), Some(took)) => {
            let (lost, took) = (count(lost), took.as_secs_f64());
            format!(
                "{moved}; frames followed {took:.3} s after the last packet that arrived by way of the old address: {lost} packets \
                 went to it since, and are lost"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    #[test]
    fn a_move_is_told_with_what_it_took() {
        let step = NeighbourMove {
            port: 0,
            ip: "10.0.0.1".parse().unwrap(),
            from: [2, 0, 0, 0, 0, 1],
            to: [2, 0, 0, 0, 0, 2],
            at: Nanos::from_millis(3_204),
            was_asked: false,
            lost: Some(5_991),
            took: Some(Nanos::from_millis(1_200)),
        };
        let said = note("west", &step);
        assert_eq!(
            said,
            "port west: neighbour 10.0.0.1 moved from 02:00:00:00:00:01 to 02:00:00:00:00:02 3.204 s after the start; frames \
             followed 1.200 s after the last packet that arrived by way of the old address: 5,991 packets went to it since, and \
             are lost"
        );
        let quick = note("west", &NeighbourMove { lost: Some(0), took: None, was_asked: true, ..step });
        assert!(quick.ends_with(", according to its reply; frames followed at once, and no packet was lost"));
    }
}
