//! Verdicts on control protocols missing when traffic starts, by the text of their reasons.

use crate::emulation::{NOT_ACKNOWLEDGED, absences};

/// Whether a reason is that sessions, adjacencies or routes of hosts were missing when traffic started.
pub fn is_absence(reason: &str) -> bool {
    absences().chain([NOT_ACKNOWLEDGED]).any(|text| reason.contains(text))
}
