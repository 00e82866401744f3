//! Checksums of captured packets: which are wrong, which were left to a network card, and putting them right.

use std::collections::BTreeMap;
use wire::{Algorithm, Checksum, checksum, checksums, read};

/// Which wrong checksums of whole packets are put right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Checksums {
    /// None: packets stay as captured.
    #[default]
    Keep,
    /// Those left to a network card: with the sum of the pseudo-header alone, or with zero where zero is not "none".
    Unfinished,
    /// All.
    All,
}

/// Wrong checksums of a protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChecksumReport {
    /// Left to a network card.
    pub unfinished: u64,
    /// Otherwise wrong.
    pub wrong: u64,
    /// Of both, how many are right now.
    pub repaired: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Right,
    Unfinished,
    Wrong,
}

/// Counts the wrong checksums of a whole packet and corrects the ones selected by `which`.
pub(crate) fn repair(
    frame: &mut [u8],
    which: Checksums,
    report: &mut BTreeMap<&'static str, ChecksumReport>,
) {
    let found = checksums(frame);
    if found.iter().all(|checksum| state(checksum, frame) == State::Right) {
        return;
    }
    let headers = read(frame).0;
    // Innermost first: one that covers another is looked at when that is done.
    for checksum in found {
        let state = state(&checksum, frame);
        let header = headers.iter().rev().find(|header| header.offset <= checksum.offset);
        let Some(header) = header.filter(|_| state != State::Right) else { continue };
        let counts = report.entry(header.protocol.name).or_default();
        match state {
            State::Unfinished => counts.unfinished += 1,
            _ => counts.wrong += 1,
        }
        if which == Checksums::All || which == Checksums::Unfinished && state == State::Unfinished {
            checksum.write(frame);
            counts.repaired += 1;
        }
    }
}

fn state(checksum: &Checksum, frame: &[u8]) -> State {
    let Algorithm::Internet { .. } = checksum.algorithm else {
        let mut again = frame.to_vec();
        checksum.write(&mut again);
        return if again == frame { State::Right } else { State::Wrong };
    };
    let Some(field) = frame.get(checksum.offset..).and_then(|rest| rest.first_chunk()) else {
        return State::Right;
    };
    let field = u16::from_be_bytes(*field);
    // All ones and zero are the same to a receiver, who adds up (RFC 1071).
    let sum = u64::from(field) + checksum.sum_without_field(frame);
    if checksum::fold(sum) == 0xffff {
        return State::Right;
    }
    let is_left = match &checksum.pseudo_header {
        // Cards that cut segments take the sum with and without the length.
        Some(_) => {
            let len = (checksum.end - checksum.start) as u64;
            let with = checksum.pseudo_sum(frame);
            field == 0 || field == checksum::fold(with) || field == checksum::fold(with.saturating_sub(len))
        }
        None => field == 0,
    };
    if is_left { State::Unfinished } else { State::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::udp;

    fn repaired(frame: &[u8], which: Checksums) -> (Vec<u8>, BTreeMap<&'static str, ChecksumReport>) {
        let (mut frame, mut report) = (frame.to_vec(), BTreeMap::new());
        repair(&mut frame, which, &mut report);
        (frame, report)
    }

    #[test]
    fn wrong_checksums_are_counted_and_those_asked_for_put_right() {
        let whole = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
        let mut wrong = whole.clone();
        wrong[40] ^= 0x55;
        let (mut unfinished, mut left) = (whole.clone(), whole.clone());
        let udp = checksums(&whole)[0].clone();
        let pseudo = checksum::fold(udp.pseudo_sum(&whole)).to_be_bytes();
        unfinished[40..42].copy_from_slice(&pseudo);
        left[24..26].fill(0);
        let counts = |unfinished, wrong, repaired| ChecksumReport { unfinished, wrong, repaired };
        for (frame, name, which, expected, is_right) in [
            (&wrong, "udp", Checksums::Keep, counts(0, 1, 0), false),
            (&wrong, "udp", Checksums::Unfinished, counts(0, 1, 0), false),
            (&wrong, "udp", Checksums::All, counts(0, 1, 1), true),
            (&unfinished, "udp", Checksums::Keep, counts(1, 0, 0), false),
            (&unfinished, "udp", Checksums::Unfinished, counts(1, 0, 1), true),
            (&left, "ipv4", Checksums::Unfinished, counts(1, 0, 1), true),
        ] {
            let (after, report) = repaired(frame, which);
            assert_eq!(report.into_iter().collect::<Vec<_>>(), [(name, expected)], "{which:?}");
            assert_eq!(after == whole, is_right, "{which:?}");
        }
        let mut none = whole.clone();
        none[40..42].fill(0);
        assert_eq!(repaired(&none, Checksums::All), (none, BTreeMap::new()), "UDP without a checksum");
    }
}
