//! Live figures of streams: a few columns of numbers, without parts.

use crate::column::{self, AT_ONCE};
use serde::{Deserialize, Serialize};

/// Columns of figures of the same rows, as a message has them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FiguresMessage {
    rows: u32,
    /// The columns. They travel behind the message.
    #[serde(skip)]
    block: Vec<u8>,
}

impl FiguresMessage {
    /// Of this number of rows, without columns.
    pub fn new(rows: usize) -> Self {
        // The plan has fewer streams.
        Self { rows: u32::try_from(rows).unwrap_or(u32::MAX), block: Vec::new() }
    }

    /// Adds a column of counts, of which rows may have none.
    pub fn maybe(&mut self, cells: &[Option<u64>]) {
        column::write(cells, &mut self.block);
    }

    /// Adds a column of counts.
    pub fn counts(&mut self, cells: &[u64]) {
        self.maybe(&cells.iter().copied().map(Some).collect::<Vec<_>>());
    }

    /// Adds a column of rates.
    pub fn floats(&mut self, cells: &[f64]) {
        self.maybe(&cells.iter().map(|cell| Some(cell.to_bits())).collect::<Vec<_>>());
    }

    /// The bytes that travel behind the message, once.
    pub fn detach(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.block)
    }

    /// Takes the bytes that came behind the message.
    pub fn attach(&mut self, block: Vec<u8>) {
        self.block = block;
    }

    /// A reader of the columns, of this number of rows each.
    ///
    /// # Errors
    /// The message has figures of other streams.
    pub fn figures(&self, rows: usize) -> Result<Figures<'_>, String> {
        match self.rows as usize == rows {
            true => Ok(Figures { bytes: &self.block, at: 0, rows }),
            false => Err(format!("it has figures of {} streams, not of its {rows}", self.rows)),
        }
    }
}

/// Reads columns in the order in which they were added.
pub struct Figures<'a> {
    bytes: &'a [u8],
    at: usize,
    rows: usize,
}

impl Figures<'_> {
    /// The next column, of counts of which rows may have none.
    ///
    /// # Errors
    /// There is none, or it has another form.
    pub fn maybe(&mut self) -> Result<Vec<Option<u64>>, String> {
        self.read(|value| value)
    }

    /// The next column, of counts; where there is none, it is zero.
    ///
    /// # Errors
    /// There is none, or it has another form.
    pub fn counts(&mut self) -> Result<Vec<u64>, String> {
        self.read(Option::unwrap_or_default)
    }

    /// The next column, of rates; one that is no number is zero.
    ///
    /// # Errors
    /// There is none, or it has another form.
    pub fn floats(&mut self) -> Result<Vec<f64>, String> {
        let number = |value: Option<u64>| value.map(f64::from_bits).filter(|value| value.is_finite());
        self.read(|value| number(value).unwrap_or_default())
    }

    /// Ends.
    ///
    /// # Errors
    /// There are more bytes.
    pub fn end(self) -> Result<(), String> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            more => Err(format!("its figures of {} streams have {more} bytes too many", self.rows)),
        }
    }

    fn read<T>(&mut self, of: impl Fn(Option<u64>) -> T) -> Result<Vec<T>, String> {
        let column = column::column(self.bytes, &mut self.at, self.rows)?;
        let (mut all, mut values) = (Vec::with_capacity(self.rows), [0; AT_ONCE]);
        for first in (0..self.rows).step_by(AT_ONCE) {
            let rows = first..self.rows.min(first + AT_ONCE);
            let has = column.read(self.bytes, rows.clone(), &mut values);
            let cells = values.iter().take(rows.len()).enumerate();
            all.extend(cells.map(|(n, value)| of((has >> n & 1 == 1).then_some(*value))));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(rows: usize) -> FiguresMessage {
        let mut message = FiguresMessage::new(rows);
        message.counts(&counts(rows));
        message.maybe(&maybe(rows));
        message.floats(&floats(rows));
        message
    }

    fn counts(rows: usize) -> Vec<u64> {
        (0..rows as u64).map(|n| u64::MAX - n * 1_000).collect()
    }

    fn maybe(rows: usize) -> Vec<Option<u64>> {
        (0..rows as u64).map(|n| (n % 3 > 0).then_some(n * n)).collect()
    }

    fn floats(rows: usize) -> Vec<f64> {
        (0..rows).map(|n| n as f64 / 3.0).collect()
    }

    #[test]
    fn figures_arrive_bit_by_bit() {
        for rows in [0, 1, 15, 16, 17, 1_000] {
            let mut message = message(rows);
            let block = message.detach();
            let mut arrived: FiguresMessage =
                serde_json::from_slice(&serde_json::to_vec(&message).unwrap()).unwrap();
            arrived.attach(block);
            let mut figures = arrived.figures(rows).unwrap();
            assert_eq!(figures.counts().unwrap(), counts(rows));
            assert_eq!(figures.maybe().unwrap(), maybe(rows));
            assert_eq!(figures.floats().unwrap(), floats(rows));
            figures.end().unwrap();
        }
    }

    #[test]
    fn figures_of_another_number_or_length_are_refused() {
        let read = |message: &FiguresMessage, rows: usize| {
            let mut figures = message.figures(rows)?;
            figures.counts()?;
            figures.maybe()?;
            figures.floats()?;
            figures.end()
        };
        let whole = message(20);
        assert_eq!(read(&whole, 20), Ok(()));
        for rows in [0, 19, 21, usize::MAX] {
            assert!(read(&whole, rows).unwrap_err().contains("figures of 20 streams"));
            // Before there is memory for them.
            let claimed = FiguresMessage { rows: rows as u32, ..whole.clone() };
            assert!(read(&claimed, 20).is_err());
        }
        for end in 0..whole.block.len() {
            let short = FiguresMessage { block: whole.block[..end].to_vec(), ..whole.clone() };
            assert!(read(&short, 20).unwrap_err().contains("end too soon"), "{end}");
        }
        let mut long = whole;
        long.block.push(0);
        assert!(read(&long, 20).unwrap_err().contains("1 bytes too many"));
    }

    #[test]
    fn rates_that_are_no_numbers_are_zero() {
        let mut message = FiguresMessage::new(3);
        message.floats(&[f64::NAN, f64::INFINITY, 2.5]);
        assert_eq!(message.figures(3).unwrap().floats().unwrap(), [0.0, 0.0, 2.5]);
    }
}
