//! One column of numbers in a block.

use std::ops::Range;

/// Rows of a column that are read at once.
pub(crate) const AT_ONCE: usize = 16;

/// Kind of a column: no row has it.
const ABSENT: u8 = 0x20;
/// Only some rows have it.
const HAS_GAPS: u8 = 0x10;
/// Bytes of a difference.
const WIDTH: u8 = 0x0f;

/// Rows after which a column states how many values are before them.
const RANKED: usize = 512;

/// A column in a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Column {
    /// Bytes of a difference; none if no row has it.
    width: Option<u8>,
    base: u64,
    /// Which rows have it, if not all.
    gaps: Option<Gaps>,
    /// Where the differences are.
    at: usize,
}

/// Rows that have a column.
#[derive(Debug, Clone)]
struct Gaps {
    /// Where the bits of rows are.
    bits: usize,
    /// Values before each [`RANKED`] rows.
    ranks: Vec<u32>,
}

/// Writes a column of these cells.
pub(crate) fn write(cells: &[Option<u64>], block: &mut Vec<u8>) {
    let values = || cells.iter().flatten().copied();
    let Some(base) = values().min() else { return block.push(ABSENT) };
    let largest = values().max().unwrap_or(base) - base;
    let width = match largest {
        0 => 0,
        1..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    };
    let has_gaps = cells.contains(&None);
    block.push(width | if has_gaps { HAS_GAPS } else { 0 });
    block.extend(base.to_le_bytes());
    if has_gaps {
        let byte = |eight: &[Option<u64>]| {
            eight.iter().zip(0..).fold(0u8, |bits, (cell, n)| bits | u8::from(cell.is_some()) << n)
        };
        block.extend(cells.chunks(8).map(byte));
    }
    for value in values() {
        block.extend_from_slice(&(value - base).to_le_bytes()[..usize::from(width)]);
    }
}

/// Reads where a column of this number of rows is, and steps over it.
pub(crate) fn column(bytes: &[u8], at: &mut usize, rows: usize) -> Result<Column, String> {
    let short = || format!("its rows of {rows} streams end too soon, after {} bytes", bytes.len());
    let mut take = |length: Option<usize>| {
        let from = *at;
        let end = length.and_then(|length| from.checked_add(length)).filter(|end| *end <= bytes.len());
        *at = end.ok_or_else(short)?;
        Ok::<_, String>(from)
    };
    let kind = bytes.get(take(Some(1))?).copied().unwrap_or(ABSENT);
    if kind == ABSENT {
        return Ok(Column::default());
    }
    let width = kind & WIDTH;
    if kind & !(WIDTH | HAS_GAPS) != 0 || !matches!(width, 0 | 1 | 2 | 4 | 8) {
        return Err(format!("a column of its rows is of the unknown kind {kind}"));
    }
    let base = bytes.get(take(Some(8))?..).and_then(|bytes| bytes.first_chunk().copied());
    let (mut gaps, mut values) = (None, rows);
    if kind & HAS_GAPS != 0 {
        let bits = take(Some(rows.div_ceil(8)))?;
        let bits_of_rows = bytes.get(bits..bits + rows.div_ceil(8)).unwrap_or_default();
        let own = Gaps { bits, ranks: ranks(bits_of_rows) };
        values = own.before(bytes, rows);
        gaps = Some(own);
    }
    let at = take(values.checked_mul(usize::from(width)))?;
    Ok(Column { width: Some(width), base: u64::from_le_bytes(base.unwrap_or_default()), gaps, at })
}

fn ranks(bits: &[u8]) -> Vec<u32> {
    let mut before = 0;
    let rank = |part: &[u8]| {
        let rank = before;
        before += ones(part);
        rank
    };
    bits.chunks(RANKED / 8).map(rank).collect()
}

/// Number of ones.
fn ones(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: u32 = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum();
    words + rest.iter().map(|byte| byte.count_ones()).sum::<u32>()
}

impl Gaps {
    /// Number of values before a row.
    fn before(&self, bytes: &[u8], row: usize) -> usize {
        let part = (row / RANKED).min(self.ranks.len().saturating_sub(1));
        let rank = self.ranks.get(part).copied().unwrap_or(0);
        let from = self.bits + part * (RANKED / 8);
        let whole = ones(bytes.get(from..self.bits + row / 8).unwrap_or_default());
        // The bits of the last byte that are of rows before it.
        let last =
            if row.is_multiple_of(8) { 0 } else { bytes.get(self.bits + row / 8).copied().unwrap_or(0) };
        let last = (u32::from(last) & ((1 << (row % 8)) - 1)).count_ones();
        (rank + whole + last) as usize
    }

    /// A bit for each of these rows.
    fn has(&self, bytes: &[u8], rows: &Range<usize>) -> u32 {
        // Sixteen bits are in three bytes, wherever they begin.
        let byte = |n: usize| bytes.get(self.bits + rows.start / 8 + n).copied().unwrap_or(0);
        let all = (1 << rows.len().min(AT_ONCE)) - 1;
        u32::from_le_bytes([byte(0), byte(1), byte(2), 0]) >> (rows.start % 8) & all
    }
}

impl Column {
    /// The values of at most [`AT_ONCE`] rows; returns a bit for each that has one. The values of others are any.
    pub(crate) fn read(&self, bytes: &[u8], rows: Range<usize>, values: &mut [u64; AT_ONCE]) -> u32 {
        let Some(width) = self.width else { return 0 };
        let count = rows.len().min(AT_ONCE);
        let all = (1u32 << count) - 1;
        let Some(gaps) = &self.gaps else {
            self.values(bytes, width, rows.start, &mut values[..count]);
            return all;
        };
        let has = gaps.has(bytes, &rows);
        if has == 0 {
            return 0;
        }
        let first = gaps.before(bytes, rows.start);
        if has == all {
            self.values(bytes, width, first, &mut values[..count]);
            return all;
        }
        let mut own = [0; AT_ONCE];
        self.values(bytes, width, first, &mut own[..has.count_ones() as usize]);
        let mut next = 0;
        for (row, value) in values.iter_mut().enumerate() {
            *value = own[next % AT_ONCE];
            next += (has >> row & 1) as usize;
        }
        has
    }

    /// Values one after the other, from the one with this number on.
    fn values(&self, bytes: &[u8], width: u8, first: usize, values: &mut [u64]) {
        let differences = bytes.get(self.at + first * usize::from(width)..).unwrap_or_default();
        match width {
            0 => values.fill(self.base),
            1 => read_each(differences, values, self.base, |[byte]: [u8; 1]| u64::from(byte)),
            2 => read_each(differences, values, self.base, |bytes| u64::from(u16::from_le_bytes(bytes))),
            4 => read_each(differences, values, self.base, |bytes| u64::from(u32::from_le_bytes(bytes))),
            _ => read_each(differences, values, self.base, u64::from_le_bytes),
        }
    }

    /// The value of one row, if it has one.
    pub(crate) fn cell(&self, bytes: &[u8], row: usize) -> Option<u64> {
        let mut values = [0; AT_ONCE];
        (self.read(bytes, row..row + 1, &mut values) == 1).then_some(values[0])
    }
}

/// Values from differences of one length.
#[inline(always)]
fn read_each<const N: usize>(
    bytes: &[u8],
    values: &mut [u64],
    base: u64,
    difference: impl Fn([u8; N]) -> u64,
) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *value = base.wrapping_add(difference(*bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_beyond_the_first_gaps() {
        // Few gaps, few values, and both apart; more rows than one rank.
        let kinds: [fn(u64) -> bool; 4] =
            [|n| n % 97 != 5, |n| n % 97 == 5, |n| n >= 700, |n| n % 3 == 0 && !(500..900).contains(&n)];
        for has in kinds {
            for rows in [1, 511, 512, 513, 1_024, 1_500] {
                for scale in [0, 1, 100, 100_000, 1 << 40] {
                    let cell = |n: u64| has(n).then_some(7 + n * scale);
                    let cells: Vec<Option<u64>> = (0..rows as u64).map(cell).collect();
                    let (mut block, mut at) = (vec![9], 1);
                    write(&cells, &mut block);
                    let column = column(&block, &mut at, rows).unwrap();
                    assert_eq!(at, block.len());
                    let read = |row| column.cell(&block, row);
                    assert_eq!((0..rows).map(read).collect::<Vec<_>>(), cells);
                    for first in 0..rows {
                        let (mut values, own) = ([0; AT_ONCE], first..rows.min(first + AT_ONCE));
                        let bits = column.read(&block, own.clone(), &mut values);
                        let read = (0..own.len()).map(|n| (bits >> n & 1 == 1).then_some(values[n]));
                        assert_eq!(read.collect::<Vec<_>>(), cells[own]);
                        assert_eq!(bits >> (rows - first).min(AT_ONCE), 0);
                    }
                }
            }
        }
    }

    #[test]
    fn absent_values_take_no_bytes() {
        let length = |cells: &[Option<u64>]| {
            let mut block = Vec::new();
            write(cells, &mut block);
            block.len()
        };
        let mut cells: Vec<_> = (0..800).map(|n| Some(n * (1 << 40))).collect();
        assert_eq!(length(&cells), 9 + 800 * 8);
        cells[100..].fill(None);
        assert_eq!(length(&cells), 9 + 100 + 100 * 8);
    }
}
