//! The search for the highest rate (ITU-T Y.1540 Annex B and TR-471 section 5.2.1: algorithm B).

use crate::packet::Activation;
use crate::rate::{Rate, Table};

/// Rows that a rate falls by when congestion is certain, as a multiple of those it grows by.
const FALL: usize = 3;

/// The receiver's report on a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heard {
    /// Packets missing, late, and again.
    pub errors: [u32; 3],
    /// Mean rise of the one-way delay, ms.
    pub one_way_ms: Option<u32>,
    /// Rise of the last round trip, ms.
    pub round_trip_ms: Option<u32>,
}

/// Finds the next rate from what became of the last one.
#[derive(Debug, Clone)]
pub struct Search {
    table: Table,
    asked: Activation,
    row: usize,
    signs: u16,
}

impl Search {
    /// By the terms of a test.
    pub fn new(table: Table, asked: &Activation) -> Self {
        let row = if asked.rate_row == Activation::SEARCH { 0 } else { asked.rate_row.into() };
        Self { table, asked: asked.clone(), row: row.min(table.rows() - 1), signs: 0 }
    }

    /// Current sending rate.
    pub fn rate(&self) -> Rate {
        self.table.row(self.row)
    }

    /// Whether there is no higher rate in the table.
    pub fn is_at_the_top(&self) -> bool {
        self.row + 1 == self.table.rows()
    }

    /// Takes the next row.
    pub fn hear(&mut self, heard: &Heard) {
        let asked = &self.asked;
        if asked.is_at_one_rate() {
            return;
        }
        let [lost, late, again] = heard.errors;
        let errors = if asked.ignores_order { lost } else { lost.saturating_add(late).saturating_add(again) };
        // Nothing known of the delay changes nothing.
        let rise = if asked.one_way { heard.one_way_ms } else { heard.round_trip_ms };
        let rise = rise.unwrap_or(asked.thresholds.0.into());
        let is_clear = errors <= asked.errors.into() && rise < asked.thresholds.0.into();
        let is_congested = errors > asked.errors.into() || rise > asked.thresholds.1.into();
        let (fast, is_slow) = (usize::from(asked.fast), self.row < Table::FAST);
        if is_clear {
            if is_slow && self.signs < asked.congestion {
                self.row = (self.row + fast).min(Table::FAST);
                self.signs = 0;
            } else {
                self.row = (self.row + 1).min(self.table.rows() - 1);
            }
        } else if is_congested {
            self.signs = self.signs.saturating_add(1);
            let fall = if is_slow && self.signs == asked.congestion { fast * FALL } else { 1 };
            self.row = self.row.saturating_sub(fall);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table = Table { jumbo: false, full_mtu: false };

    fn clear() -> Heard {
        Heard { round_trip_ms: Some(0), ..Heard::default() }
    }

    fn lossy() -> Heard {
        Heard { errors: [11, 0, 0], ..clear() }
    }

    #[test]
    fn it_grows_by_ten_then_falls_by_thirty_then_creeps() {
        let mut search = Search::new(TABLE, &Activation::usual(true, 10));
        assert_eq!(search.row, 0);
        (0..5).for_each(|_| search.hear(&clear()));
        assert_eq!(search.row, 50);
        search.hear(&lossy());
        search.hear(&lossy());
        assert_eq!((search.row, search.signs), (48, 2));
        search.hear(&lossy());
        assert_eq!((search.row, search.signs), (18, 3));
        (0..4).for_each(|_| search.hear(&clear()));
        assert_eq!(search.row, 22);
        search.hear(&lossy());
        assert_eq!(search.row, 21);
    }

    #[test]
    fn one_sign_is_forgotten_and_above_a_gigabit_it_creeps() {
        let mut search = Search::new(TABLE, &Activation::usual(true, 10));
        search.hear(&clear());
        search.hear(&lossy());
        search.hear(&clear());
        assert_eq!((search.row, search.signs), (19, 0));
        (0..120).for_each(|_| search.hear(&clear()));
        assert_eq!(search.row, 1000 + 120 - 99);
        (0..2000).for_each(|_| search.hear(&clear()));
        assert!(search.is_at_the_top());
    }

    #[test]
    fn a_delay_between_the_thresholds_changes_nothing() {
        let mut search = Search::new(TABLE, &Activation::usual(true, 10));
        search.hear(&clear());
        for (rise, row) in [(30, 10), (90, 10), (91, 9), (29, 19)] {
            search.hear(&Heard { round_trip_ms: Some(rise), ..Heard::default() });
            assert_eq!(search.row, row, "{rise}");
        }
        search.hear(&Heard::default());
        assert_eq!(search.row, 19);
        let one_way = Activation { one_way: true, ..Activation::usual(true, 10) };
        let mut search = Search::new(TABLE, &one_way);
        search.hear(&Heard { round_trip_ms: Some(200), one_way_ms: Some(1), ..Heard::default() });
        assert_eq!(search.row, 10);
    }

    #[test]
    fn order_counts_where_it_is_asked_for_and_a_fixed_row_stays() {
        let late = Heard { errors: [0, 20, 0], ..clear() };
        let mut search = Search::new(TABLE, &Activation::usual(true, 10));
        search.hear(&late);
        assert_eq!(search.row, 10);
        let strict =
            Activation { ignores_order: false, rate_row: 100, modifiers: 1, ..Activation::usual(true, 10) };
        let mut search = Search::new(TABLE, &strict);
        search.hear(&late);
        assert_eq!(search.row, 99);
        let mut fixed = Search::new(TABLE, &Activation { rate_row: 20, ..Activation::usual(true, 10) });
        fixed.hear(&clear());
        fixed.hear(&lossy());
        assert_eq!(fixed.rate(), TABLE.row(20));
    }
}
