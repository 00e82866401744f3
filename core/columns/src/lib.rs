//! Rows of streams as columns of numbers: the form in which a machine of a run sends them, and in which they are kept until a client
//! reads one; and one row of each stream, merged from the tables of all machines.
//!
//! Rows are in the order of the streams that a machine has, which is the plan's: they have neither names nor numbers, so a machine
//! can't have rows of another's streams. A column is a byte with its kind; unless no row has it, the smallest value, a bit for each row if
//! only some have it, and of each value the difference to the smallest, all in as many bytes as the largest needs. So any row is
//! found at once, and nothing needs to be unpacked. Rare parts that are no numbers, such as arrivals by port, are in a list beside.
//!
//! Separate because a million rows are written and read each second: it is built for speed, and what uses it for size.
//!
//! Invariants: a row that is read equals, bit by bit, the one that was written, except for numbers that documents do not have (NaN, infinity). Lengths are checked when a block arrives; after that
//! every place in it is there.

#![forbid(unsafe_code)]

mod column;
mod figures;
mod table;
mod tables;

pub use figures::{Figures, FiguresMessage};
pub use table::{RowsMessage, Table};
pub use tables::Tables;

/// The place of a row of the plan among the rows of a machine: their indices, in ascending order.
#[inline]
pub fn place(rows: &[u32], index: usize) -> Option<usize> {
    let index = u32::try_from(index).ok()?;
    // The streams of a machine are often one after the other.
    let guess = index.checked_sub(*rows.first()?)? as usize;
    if rows.get(guess) == Some(&index) {
        return Some(guess);
    }
    rows.binary_search(&index).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_wherever_it_is() {
        for rows in [&[][..], &[0], &[7], &[3, 4, 5], &[0, 2, 3, 9], &[5, 6, 8, 9, u32::MAX]] {
            for index in (0..12).chain([u32::MAX as usize - 1, u32::MAX as usize, u32::MAX as usize + 1]) {
                let expected = rows.iter().position(|row| *row as usize == index);
                assert_eq!(place(rows, index), expected, "{index} of {rows:?}");
            }
        }
    }
}
