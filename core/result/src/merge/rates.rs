//! Rate changes of a run on several machines: all have the same, at one instant, unless one got the command too late.

use crate::{RateChange, ResultDocument};

/// Largest difference of times that are one instant, s: they are rounded to nanoseconds.
const SAME_INSTANT_S: f64 = 1e-6;

/// The changes of all parts, each at the instant of those that were in time. A part that was lost or had ended has fewer.
pub(super) fn common(parts: &[&ResultDocument]) -> Vec<RateChange> {
    let all = parts.iter().map(|part| &part.rate_changes);
    let most = all.clone().map(Vec::len).max().unwrap_or(0);
    let whole: Vec<&Vec<RateChange>> = all.filter(|changes| changes.len() == most).collect();
    let Some(first) = whole.first() else { return Vec::new() };
    let earliest = |(index, change): (usize, &RateChange)| {
        let times = whole.iter().filter_map(|changes| changes.get(index));
        RateChange { at_s: times.map(|own| own.at_s).fold(change.at_s, f64::min), ..change.clone() }
    };
    first.iter().enumerate().map(earliest).collect()
}

/// Notes on parts that followed after the instant at which all were to change.
pub(super) fn late(names: &[String], parts: &[&ResultDocument], common: &[RateChange]) -> Vec<String> {
    let late = |(name, part): (&String, &&ResultDocument)| {
        let changes = part.rate_changes.iter().zip(common);
        let late = changes.filter(|(own, common)| own.at_s > common.at_s + SAME_INSTANT_S);
        let sentence = |(own, common): (&RateChange, &RateChange)| {
            let ms = (own.at_s - common.at_s) * 1e3;
            format!(
                "{name}: the rate change of {:.3} s took effect {ms:.0} ms later by its clock",
                common.at_s
            )
        };
        late.map(sentence).collect::<Vec<_>>()
    };
    names.iter().zip(parts).flat_map(late).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(at_s: &[f64]) -> ResultDocument {
        let change = |at_s: &f64| RateChange { at_s: *at_s, stream: None, to: "2kpps".to_owned() };
        ResultDocument { rate_changes: at_s.iter().map(change).collect(), ..ResultDocument::default() }
    }

    #[test]
    fn a_machine_that_follows_late_is_named() {
        let names = ["agent 'a1'", "agent 'a2'", "agent 'a3'"].map(str::to_owned);
        let parts = [changed(&[1.0, 2.5]), changed(&[1.012, 2.0]), changed(&[])];
        let parts: Vec<&ResultDocument> = parts.iter().collect();
        let common = common(&parts);
        assert_eq!(common.iter().map(|change| change.at_s).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!(
            late(&names, &parts, &common),
            [
                "agent 'a1': the rate change of 2.000 s took effect 500 ms later by its clock",
                "agent 'a2': the rate change of 1.000 s took effect 12 ms later by its clock",
            ]
        );
        assert!(late(&names, &parts[..1], &super::common(&parts[..1])).is_empty());
        assert!(super::common(&[]).is_empty());
    }
}
