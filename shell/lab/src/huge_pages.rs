//! Reserves huge pages for a lab and releases them.

use crate::LabError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

const TOTAL: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
const PAGE_MB: u64 = 2;

/// Pages that a lab has added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reservation {
    /// Pages before.
    before: u64,
    /// Pages to add. Recorded before they are added, so that they are released even after a crash.
    added: u64,
}

impl Reservation {
    /// Plans a reservation of this size.
    pub(crate) fn plan(megabytes: u64) -> Result<Self, LabError> {
        Ok(Self { before: read()?, added: megabytes.div_ceil(PAGE_MB) })
    }

    /// Adds the pages.
    pub(crate) fn take(self) -> Result<(), LabError> {
        write(self.before + self.added)?;
        let given = read()?.saturating_sub(self.before);
        if given < self.added {
            return Err(LabError::HugePages { wanted: self.added * PAGE_MB, given: given * PAGE_MB });
        }
        Ok(())
    }

    /// Releases the pages.
    pub(crate) fn give_back(self) -> Result<(), LabError> {
        write(left(self, read()?))
    }
}

/// Number of pages to leave when a reservation ends. Accounts for a reservation that never took effect, and for pages
/// that others added or removed meanwhile.
fn left(reservation: Reservation, now: u64) -> u64 {
    let ours = now.saturating_sub(reservation.before).min(reservation.added);
    now - ours
}

fn read() -> Result<u64, LabError> {
    let text = fs::read_to_string(TOTAL).map_err(|error| LabError::File { path: TOTAL.into(), error })?;
    Ok(text.trim().parse().unwrap_or(0))
}

fn write(pages: u64) -> Result<(), LabError> {
    fs::write(Path::new(TOTAL), pages.to_string())
        .map_err(|error| LabError::File { path: TOTAL.into(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_added_is_given_back() {
        let reservation = Reservation { before: 10, added: 100 };
        assert_eq!(left(reservation, 110), 10);
        assert_eq!(left(reservation, 10), 10, "it was never added");
        assert_eq!(left(reservation, 150), 50, "somebody else added 40");
        assert_eq!(left(reservation, 60), 10, "the kernel had no more than 50");
        assert_eq!(left(reservation, 5), 5);
    }
}
