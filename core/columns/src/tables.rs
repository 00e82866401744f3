//! One row of each stream from the tables of all machines.

use crate::table::{Table, Window};
use result::merge::{self, Shares};
use result::{Named, StreamResult};

/// The tables of all parts, as rows of the plan.
pub struct Tables<'a> {
    /// Of each part the indices of the plan's streams that it has, in ascending order, and their rows, if there are some.
    pub parts: Vec<(&'a [u32], Option<&'a Table>)>,
}

impl Tables<'_> {
    /// Rows of all streams that parts have, one after the other, in the order of the plan.
    pub fn each(&self, shares: &Shares, final_counts: bool, take: &mut dyn FnMut(&str, StreamResult)) {
        shares.each_stream(&mut Cursor::new(self), final_counts, take);
    }

    /// The same by name.
    pub fn streams(&self, shares: &Shares, final_counts: bool) -> Named<StreamResult> {
        shares.streams(&mut Cursor::new(self), final_counts)
    }

    fn place(&self, part: usize, stream: usize) -> Option<(&Table, usize)> {
        let (streams, table) = self.parts.get(part)?;
        Some(((*table)?, crate::place(streams, stream)?))
    }
}

/// Reads the tables in the order of the plan. Sender and receiver of streams may be two parts.
struct Cursor<'a> {
    tables: &'a Tables<'a>,
    arrived: Window,
    sent: Window,
}

impl<'a> Cursor<'a> {
    fn new(tables: &'a Tables<'a>) -> Self {
        Self { tables, arrived: Window::default(), sent: Window::default() }
    }
}

impl merge::Rows for Cursor<'_> {
    fn is_empty(&self) -> bool {
        self.tables.parts.iter().all(|(_, table)| table.is_none_or(Table::is_empty))
    }

    fn row(&mut self, part: usize, stream: usize, _: &str, row: &mut StreamResult) -> bool {
        let there = self.tables.place(part, stream);
        there.is_some_and(|(table, place)| self.arrived.row(part, table, place, row))
    }

    fn arrived(&mut self, part: usize, stream: usize, _: &str, row: &mut StreamResult) -> bool {
        let there = self.tables.place(part, stream);
        there.is_some_and(|(table, place)| self.arrived.arrived(part, table, place, row))
    }

    fn sent(&mut self, part: usize, stream: usize, _: &str, row: &mut StreamResult) -> bool {
        let there = self.tables.place(part, stream);
        if there.is_some_and(|(table, place)| self.sent.sent(part, table, place, row)) {
            return true;
        }
        merge::put_sent(row, &StreamResult::default());
        false
    }

    fn arrived_at(&self, stream: usize, _: &str) -> Option<usize> {
        let has_arrived = |part: &usize| {
            self.tables.place(*part, stream).is_some_and(|(table, place)| table.has_arrived(place))
        };
        (0..self.tables.parts.len()).find(has_arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::testing::row;

    /// Streams of parts that have them in turn, one after the other, or both.
    fn compare(ends: &[(usize, Option<usize>)], here: [&[u32]; 2]) {
        let shares = Shares {
            parts: vec!["agent 'a1'".to_owned(), "agent 'a2'".to_owned()],
            streams: ends.iter().enumerate().map(|(n, ends)| (format!("s{n}"), *ends)).collect(),
            ..Shares::default()
        };
        let rows = |part: usize| here[part].iter().map(move |n| row(13 * (part as u64 + 1) + u64::from(*n)));
        let named = [0, 1].map(|part| {
            let streams = here[part].iter().map(|n| format!("s{n}")).zip(rows(part)).collect();
            result::TotalDocument { streams, ..result::TotalDocument::default() }
        });
        let tables = [0, 1].map(|part| Table::of(rows(part).collect::<Vec<_>>().into_iter()));
        let parts = here.into_iter().zip(&tables).map(|(here, table)| (here, Some(table))).collect();
        let documents: Vec<_> = named.iter().collect();
        let nothing = [Default::default(), Default::default()];
        let merged = |tables: Tables<'_>| {
            let streams = tables.streams(&shares, true);
            shares.total_of(&nothing.iter().collect::<Vec<_>>(), streams, None)
        };
        let whole = merged(Tables { parts });
        assert_eq!(whole, shares.total(&documents, None));
        assert_eq!(whole.streams.len(), ends.len());
        // Of one without rows, only the other's are there.
        let parts = vec![(here[0], Some(&tables[0])), (here[1], None)];
        assert_eq!(merged(Tables { parts }), shares.total(&[&named[0], &nothing[0]], None));
    }

    #[test]
    fn tables_of_all_machines_are_merged_as_documents_are() {
        // Streams there and back, inside a machine, and to wherever they arrive.
        compare(
            &[(0, Some(1)), (1, Some(0)), (0, Some(0)), (1, None), (0, None)],
            [&[0, 1, 2, 3, 4], &[0, 1, 3, 4]],
        );
    }

    #[test]
    fn rows_of_one_machine_after_another_are_merged_as_documents_are() {
        // More than are read at once, with and without the other's between.
        let ends: Vec<_> = (0..100).map(|n| (n / 50, Some((n / 25) % 2))).collect();
        let all: Vec<u32> = (0..100).collect();
        compare(&ends, [&all, &all]);
        let (even, odd): (Vec<u32>, Vec<u32>) = all.iter().partition(|n| *n % 2 == 0);
        let ends: Vec<_> = (0..100).map(|n| (n % 2, Some(n % 2))).collect();
        compare(&ends, [&even, &odd]);
        let ends: Vec<_> = (0..100).map(|n| (n % 2, Some(n / 40 % 2))).collect();
        compare(&ends, [&all, &all]);
    }
}
