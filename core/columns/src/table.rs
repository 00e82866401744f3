//! Rows as columns: a table of them, and one that is read.

use crate::column::{self, AT_ONCE, Column};
use result::{JitterResult, LatencyResult, PacingResult, SpreadResult, StreamResult, UndisturbedResult};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Columns of parts of a row.
const OF_LATENCY: usize = 11;
const OF_JITTER: usize = 3;
const OF_SPREAD: usize = 4;
const OF_UNDISTURBED: usize = 1 + OF_LATENCY + OF_JITTER + OF_SPREAD;
const OF_PACING: usize = 5;
/// Columns of a table: 21 are in no part.
const COLUMNS: usize = 21 + OF_LATENCY + OF_JITTER + OF_SPREAD + OF_UNDISTURBED + OF_PACING;
/// Columns that the sender of a stream knows, which are the first.
const SENT: usize = 6 + OF_PACING;
/// The column of `rx`.
const RX: usize = SENT + 2;
/// Values of `integrity`, by number.
const INTEGRITY: [&str; 2] = ["signature", "full"];

/// Rows of a snapshot, as a message has them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RowsMessage {
    /// Rows of both tables: a column that no row has, or whose values are all the same, has no length that shows it.
    rows: [u32; 2],
    /// Parts of rows that are no columns, by place of the row, in ascending order: of the interval, and since the start.
    rest: [Vec<(u32, StreamResult)>; 2],
    /// Both tables. It travels behind the message.
    #[serde(skip)]
    block: Vec<u8>,
}

/// Rows of some streams.
#[derive(Debug, Clone, Default)]
pub struct Table {
    bytes: Arc<Vec<u8>>,
    rows: usize,
    columns: Vec<Column>,
    rest: Vec<(u32, StreamResult)>,
}

/// Goes through the numbers of a row, always in the same order.
trait Visit {
    fn maybe(&mut self, cell: &mut Option<u64>);

    /// A part of a row, of this many columns; the first of them is in every such part.
    fn part<T: Default>(&mut self, part: &mut Option<T>, columns: usize, each: fn(&mut T, &mut Self));

    fn text(&mut self, cell: &mut Option<Cow<'static, str>>, known: &[&'static str]) {
        let own = cell.as_deref().and_then(|text| (0..).zip(known).find(|(_, known)| **known == text));
        let own = own.map(|(number, _)| number);
        let mut number = own;
        self.maybe(&mut number);
        // Another text stays beside the columns.
        if own.is_some() || number.is_some() {
            let text = number.and_then(|number| known.get(usize::try_from(number).ok()?));
            *cell = text.map(|text| Cow::Borrowed(*text));
        }
    }

    #[inline(always)]
    fn count(&mut self, cell: &mut u64) {
        let mut value = Some(*cell);
        self.maybe(&mut value);
        *cell = value.unwrap_or_default();
    }

    fn float(&mut self, cell: &mut f64) {
        let mut value = cell.to_bits();
        self.count(&mut value);
        *cell = f64::from_bits(value);
    }

    fn maybe_float(&mut self, cell: &mut Option<f64>) {
        let mut value = cell.map(f64::to_bits);
        self.maybe(&mut value);
        *cell = value.map(f64::from_bits);
    }
}

/// All numbers of a row that are columns.
#[inline(always)]
fn visit<V: Visit>(row: &mut StreamResult, of: &mut V) {
    visit_sent(row, of);
    visit_arrived(row, of);
}

/// Numbers of the sender of a stream.
#[inline(always)]
fn visit_sent<V: Visit>(row: &mut StreamResult, of: &mut V) {
    of.maybe_float(&mut row.requested_pps);
    of.maybe_float(&mut row.added_s);
    of.maybe_float(&mut row.removed_s);
    of.float(&mut row.offered_pps);
    of.count(&mut row.tx);
    of.count(&mut row.tx_bytes);
    of.part(&mut row.pacing_ns, OF_PACING, |times, of| pacing(times, of));
}

/// All others.
#[inline(always)]
fn visit_arrived<V: Visit>(row: &mut StreamResult, of: &mut V) {
    of.maybe(&mut row.tx_before_clear);
    of.maybe(&mut row.rx_before_clear);
    of.maybe(&mut row.rx);
    of.maybe(&mut row.rx_bytes);
    of.maybe(&mut row.lost);
    of.maybe_float(&mut row.loss_ratio);
    of.maybe(&mut row.duplicates);
    of.maybe(&mut row.reordered);
    of.maybe(&mut row.reorder_distance_max);
    of.maybe(&mut row.stale);
    of.maybe(&mut row.rejected);
    of.text(&mut row.integrity, &INTEGRITY);
    of.maybe(&mut row.damaged);
    of.part(&mut row.latency_ns, OF_LATENCY, latency);
    of.part(&mut row.jitter_ns, OF_JITTER, jitter);
    of.part(&mut row.interarrival_ns, OF_SPREAD, spread);
    of.part(&mut row.undisturbed, OF_UNDISTURBED, |times, of| undisturbed(times, of));
    of.maybe(&mut row.first_arrival_ns);
    of.maybe(&mut row.last_arrival_ns);
}

// A field that is added to a part does not compile until it has a column.

#[inline(always)]
fn latency<V: Visit>(times: &mut LatencyResult, of: &mut V) {
    let LatencyResult { min, mean, stddev, p50, p90, p95, p99, p99_9, p99_99, max, samples } = times;
    of.count(min);
    of.float(mean);
    of.float(stddev);
    of.maybe(p50);
    of.maybe(p90);
    of.maybe(p95);
    of.maybe(p99);
    of.maybe(p99_9);
    of.maybe(p99_99);
    of.count(max);
    of.count(samples);
}

#[inline(always)]
fn jitter<V: Visit>(times: &mut JitterResult, of: &mut V) {
    let JitterResult { rfc4689_mean, rfc4689_max, rfc3550 } = times;
    of.float(rfc4689_mean);
    of.count(rfc4689_max);
    of.maybe_float(rfc3550);
}

#[inline(always)]
fn spread<V: Visit>(times: &mut SpreadResult, of: &mut V) {
    let SpreadResult { min, mean, stddev, max } = times;
    of.count(min);
    of.float(mean);
    of.float(stddev);
    of.count(max);
}

#[inline(always)]
fn undisturbed<V: Visit>(times: &mut UndisturbedResult, of: &mut V) {
    let UndisturbedResult { ratio, latency_ns, jitter_ns, interarrival_ns } = times;
    of.float(ratio);
    of.part(latency_ns, OF_LATENCY, latency);
    of.part(jitter_ns, OF_JITTER, jitter);
    of.part(interarrival_ns, OF_SPREAD, spread);
}

#[inline(always)]
fn pacing<V: Visit>(times: &mut PacingResult, of: &mut V) {
    let PacingResult { error_p50, error_p99, error_p99_9, back_to_back_ratio, late_max } = times;
    of.count(error_p50);
    of.count(error_p99);
    of.count(error_p99_9);
    of.float(back_to_back_ratio);
    of.count(late_max);
}

/// Takes the numbers out of rows, one column each.
struct Writer {
    columns: Vec<Vec<Option<u64>>>,
    next: usize,
    /// Whether the visited part is absent.
    is_absent: bool,
}

impl Visit for Writer {
    fn maybe(&mut self, cell: &mut Option<u64>) {
        let value = cell.take().filter(|_| !self.is_absent);
        if let Some(column) = self.columns.get_mut(self.next) {
            column.push(value);
        }
        self.next += 1;
    }

    fn part<T: Default>(&mut self, part: &mut Option<T>, _: usize, each: fn(&mut T, &mut Self)) {
        let outer = self.is_absent;
        self.is_absent |= part.is_none();
        each(&mut part.take().unwrap_or_default(), self);
        self.is_absent = outer;
    }
}

/// Writes rows to a block; returns their number, and parts of them that are no columns.
fn write(rows: impl Iterator<Item = StreamResult>, block: &mut Vec<u8>) -> (u32, Vec<(u32, StreamResult)>) {
    let mut writer = Writer { columns: vec![Vec::new(); COLUMNS], next: 0, is_absent: false };
    let (mut count, mut rest, nothing) = (0, Vec::new(), StreamResult::default());
    for (mut row, place) in rows.zip(0..) {
        count += 1;
        writer.next = 0;
        visit(&mut row, &mut writer);
        if row != nothing {
            rest.push((place, row));
        }
    }
    for cells in &writer.columns {
        column::write(cells, block);
    }
    (count, rest)
}

impl RowsMessage {
    /// Of the rows of an interval, and of those since the start, of the same streams.
    pub fn new(
        interval: impl Iterator<Item = StreamResult>,
        total: impl Iterator<Item = StreamResult>,
    ) -> Self {
        let mut block = Vec::new();
        let [(intervals, interval), (totals, total)] =
            [write(interval, &mut block), write(total, &mut block)];
        Self { rows: [intervals, totals], rest: [interval, total], block }
    }

    /// The bytes that travel behind the message, once.
    pub fn detach(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.block)
    }

    /// Takes the bytes that came behind the message.
    pub fn attach(&mut self, block: Vec<u8>) {
        self.block = block;
    }

    /// Both tables, of this number of rows each.
    ///
    /// # Errors
    /// The message has another form, or rows of other streams.
    pub fn tables(self, rows: usize) -> Result<[Table; 2], String> {
        let Self { rows: own, rest, block } = self;
        if let Some(other) = own.into_iter().find(|own| *own as usize != rows) {
            return Err(format!("it has rows of {other} streams, not of its {rows}"));
        }
        let bytes = Arc::new(block);
        let mut at = 0;
        let [interval, total] = rest.map(|rest| Table::read(&bytes, &mut at, rows, rest));
        let tables = [interval?, total?];
        match bytes.len() - at {
            0 => Ok(tables),
            more => Err(format!("its rows of {rows} streams have {more} bytes too many")),
        }
    }
}

impl Table {
    /// Of these rows.
    pub fn of(rows: impl ExactSizeIterator<Item = StreamResult>) -> Self {
        let (count, mut block) = (rows.len(), Vec::new());
        let (_, rest) = write(rows, &mut block);
        // What was written is read.
        Self::read(&Arc::new(block), &mut 0, count, rest).unwrap_or_default()
    }

    fn read(
        bytes: &Arc<Vec<u8>>,
        at: &mut usize,
        rows: usize,
        rest: Vec<(u32, StreamResult)>,
    ) -> Result<Self, String> {
        let columns: Result<Vec<Column>, String> =
            (0..COLUMNS).map(|_| column::column(bytes, at, rows)).collect();
        let is_ascending = rest.is_sorted_by(|one, other| one.0 < other.0);
        if !is_ascending || rest.last().is_some_and(|(place, _)| *place as usize >= rows) {
            return Err(format!("it names rows beyond its {rows} streams, or one twice"));
        }
        Ok(Self { bytes: bytes.clone(), rows, columns: columns?, rest })
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = StreamResult> {
        let mut window = Window::default();
        (0..self.rows).filter_map(move |place| {
            let mut row = StreamResult::default();
            window.row(0, self, place, &mut row).then_some(row)
        })
    }

    /// Parts of a row beside the columns.
    fn rest(&self, place: usize) -> Option<&StreamResult> {
        let rest = self.rest.binary_search_by_key(&place, |(place, _)| *place as usize);
        rest.ok().and_then(|index| self.rest.get(index)).map(|(_, rest)| rest)
    }

    /// Whether packets of a row's stream arrived.
    pub(crate) fn has_arrived(&self, place: usize) -> bool {
        let rx = self.columns.get(RX).filter(|_| place < self.rows);
        rx.and_then(|rx| rx.cell(&self.bytes, place)).unwrap_or(0) > 0
    }
}

/// A column of the rows of a window.
#[derive(Clone, Copy, Default)]
struct Cells {
    values: [u64; AT_ONCE],
    /// A bit for each row that has a value.
    has: u32,
}

/// Some rows of a table, one after the other, of which columns were read. Rows of many tables in any order are read one by one, and of
/// one table in its order many at once.
pub(crate) struct Window {
    /// The number of the table; none before the first.
    table: Option<usize>,
    rows: Range<usize>,
    /// Which columns were read.
    columns: Range<usize>,
    cells: Box<[Cells; COLUMNS]>,
}

impl Default for Window {
    fn default() -> Self {
        Self { table: None, rows: 0..0, columns: 0..0, cells: Box::new([Cells::default(); COLUMNS]) }
    }
}

impl Window {
    /// Reads a row of the table of this number into `row`, which is empty; whether it is there.
    pub(crate) fn row(&mut self, number: usize, table: &Table, place: usize, row: &mut StreamResult) -> bool {
        let Some(mut reader) = self.reader(number, table, place, 0..COLUMNS) else { return false };
        if let Some(rest) = table.rest(place) {
            row.clone_from(rest);
        }
        visit(row, &mut reader);
        true
    }

    /// The same without what the sender of the stream knows.
    pub(crate) fn arrived(
        &mut self,
        number: usize,
        table: &Table,
        place: usize,
        row: &mut StreamResult,
    ) -> bool {
        let Some(mut reader) = self.reader(number, table, place, SENT..COLUMNS) else { return false };
        if let Some(rest) = table.rest(place) {
            row.clone_from(rest);
        }
        visit_arrived(row, &mut reader);
        true
    }

    /// Puts what the sender of a stream knows into its row, and only reads that; whether the stream is here.
    pub(crate) fn sent(
        &mut self,
        number: usize,
        table: &Table,
        place: usize,
        row: &mut StreamResult,
    ) -> bool {
        let Some(mut reader) = self.reader(number, table, place, 0..SENT) else { return false };
        row.replay = table.rest(place).and_then(|rest| rest.replay.clone());
        visit_sent(row, &mut reader);
        true
    }

    /// A reader of these columns of a row, if it is there.
    #[inline(always)]
    fn reader(
        &mut self,
        number: usize,
        table: &Table,
        place: usize,
        columns: Range<usize>,
    ) -> Option<Reader<'_>> {
        let next = columns.start;
        if self.table != Some(number) || self.columns != columns || !self.rows.contains(&place) {
            self.read(number, table, place, columns)?;
        }
        Some(Reader { cells: &self.cells, index: place.wrapping_sub(self.rows.start) % AT_ONCE, next })
    }

    #[inline(never)]
    fn read(&mut self, number: usize, table: &Table, place: usize, columns: Range<usize>) -> Option<()> {
        let left = table.rows.checked_sub(place).filter(|left| *left > 0)?;
        let follows = self.table == Some(number) && self.columns == columns && self.rows.end == place;
        let count = if follows { (2 * self.rows.len()).clamp(1, AT_ONCE) } else { 1 };
        let rows = place..place + count.min(left);
        let read = self.cells.get_mut(columns.clone())?.iter_mut().zip(table.columns.get(columns.clone())?);
        for (cells, column) in read {
            cells.has = column.read(&table.bytes, rows.clone(), &mut cells.values);
        }
        (self.table, self.rows, self.columns) = (Some(number), rows, columns);
        Some(())
    }
}

/// Reads the numbers of one row.
struct Reader<'a> {
    cells: &'a [Cells; COLUMNS],
    /// Of the row.
    index: usize,
    next: usize,
}

impl Reader<'_> {
    /// The value in the next column.
    #[inline(always)]
    fn next(&self) -> Option<u64> {
        let cells = self.cells.get(self.next)?;
        let value = *cells.values.get(self.index)?;
        (cells.has >> self.index & 1 == 1).then_some(value)
    }
}

impl Visit for Reader<'_> {
    #[inline(always)]
    fn maybe(&mut self, cell: &mut Option<u64>) {
        *cell = self.next();
        self.next += 1;
    }

    // Documents have no numbers that are none or infinite, whatever the bits of another machine.
    #[inline(always)]
    fn float(&mut self, cell: &mut f64) {
        let mut value = None;
        self.maybe_float(&mut value);
        *cell = value.unwrap_or_default();
    }

    #[inline(always)]
    fn maybe_float(&mut self, cell: &mut Option<f64>) {
        let mut value = None;
        self.maybe(&mut value);
        *cell = value.map(f64::from_bits).filter(|value| value.is_finite());
    }

    #[inline(always)]
    fn part<T: Default>(&mut self, part: &mut Option<T>, columns: usize, each: fn(&mut T, &mut Self)) {
        let end = self.next + columns;
        *part = self.next().is_some().then(|| {
            let mut read = T::default();
            each(&mut read, self);
            read
        });
        self.next = end;
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use result::{DamageResult, EgressResult};

    fn latency_of(n: u64) -> LatencyResult {
        LatencyResult {
            min: n,
            mean: 0.1 + n as f64 / 3.0,
            stddev: f64::MIN_POSITIVE,
            p50: Some(n + 1),
            p90: n.is_multiple_of(2).then_some(u64::MAX),
            max: u64::MAX - n,
            samples: n * 1_000,
            ..LatencyResult::default()
        }
    }

    fn spread_of(n: u64) -> SpreadResult {
        SpreadResult { min: n, mean: -0.5, stddev: n as f64, max: 1 << (n % 64) }
    }

    fn jitter_of(n: u64) -> JitterResult {
        JitterResult {
            rfc3550: n.is_multiple_of(3).then_some(1e300),
            rfc4689_mean: n as f64 * 0.1,
            rfc4689_max: n,
        }
    }

    /// Rows of all kinds: without arrivals, with some parts, with all.
    pub(crate) fn row(n: u64) -> StreamResult {
        let mut row =
            StreamResult { tx: n, tx_bytes: n << 40, offered_pps: n as f64 / 7.0, ..StreamResult::default() };
        row.requested_pps = (!n.is_multiple_of(4)).then_some(1e-300);
        if n.is_multiple_of(5) {
            return row;
        }
        row.rx = Some(n * 3);
        row.rx_bytes = Some(u64::MAX);
        row.lost = n.is_multiple_of(2).then_some(0);
        row.loss_ratio = row.lost.map(|_| 0.0);
        row.duplicates = Some(0);
        row.reordered = Some(n % 256);
        row.reorder_distance_max = Some(1);
        row.stale = Some(65_536 * n);
        row.rejected = Some(1 << 33);
        row.damaged = n.is_multiple_of(7).then_some(3);
        row.added_s = (n % 7 == 1).then_some(1.25);
        row.removed_s = (n % 7 == 2).then_some(2.5);
        row.tx_before_clear = (n % 7 == 3).then_some(0);
        row.rx_before_clear = (n % 7 == 3).then_some(9);
        row.integrity = [None, Some("signature".into()), Some("full".into()), Some("other".into())]
            [n as usize % 4]
            .clone();
        row.latency_ns = (!n.is_multiple_of(3)).then(|| latency_of(n));
        row.jitter_ns = (n % 3 != 1).then(|| jitter_of(n));
        row.interarrival_ns = n.is_multiple_of(2).then(|| spread_of(n));
        row.undisturbed = (n % 4 == 1)
            .then(|| UndisturbedResult {
                ratio: 0.75,
                latency_ns: n.is_multiple_of(3).then(|| latency_of(n)),
                jitter_ns: (n % 8 == 1).then(|| jitter_of(n)),
                interarrival_ns: Some(spread_of(n)),
            })
            .map(Box::new);
        row.first_arrival_ns = Some(n);
        row.last_arrival_ns = (n % 2 == 1).then_some(n + 1);
        row.pacing_ns = (n % 6 == 1)
            .then_some(PacingResult {
                error_p50: n,
                error_p99: 2,
                error_p99_9: 3,
                back_to_back_ratio: 0.125,
                late_max: u64::MAX,
            })
            .map(Box::new);
        if n.is_multiple_of(11) {
            row.egress.insert("46,5".to_owned(), EgressResult { rx: n, ..EgressResult::default() });
            row.damage = Some(DamageResult { bit_errors: n, ..DamageResult::default() }.into());
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::testing::row;
    use super::*;

    /// As it arrives: numbers of documents as JSON, and the block behind it.
    fn sent(mut message: RowsMessage) -> RowsMessage {
        let block = message.detach();
        let mut arrived: RowsMessage =
            serde_json::from_slice(&serde_json::to_vec(&message).unwrap()).unwrap();
        arrived.attach(block);
        arrived
    }

    #[test]
    fn rows_arrive_bit_by_bit() {
        for count in [0, 1, 7, 8, 9, 200] {
            let rows = |from: u64| (from..from + count).map(row);
            let [interval, total] =
                sent(RowsMessage::new(rows(3), rows(1_000))).tables(count as usize).unwrap();
            assert_eq!(interval.rows().collect::<Vec<_>>(), rows(3).collect::<Vec<_>>());
            assert_eq!(total.rows().collect::<Vec<_>>(), rows(1_000).collect::<Vec<_>>());
            let text = |rows: Vec<StreamResult>| serde_json::to_string(&rows).unwrap();
            assert_eq!(text(interval.rows().collect()), text(rows(3).collect()));
            assert_eq!(interval.is_empty(), count == 0);
            for (place, row) in rows(3).enumerate() {
                assert_eq!(interval.has_arrived(place), row.rx.unwrap_or(0) > 0);
            }
        }
        assert!(!Table::of(vec![row(1)].into_iter()).has_arrived(1));
    }

    #[test]
    fn every_number_of_a_row_is_a_column() {
        let mut writer = Writer { columns: vec![Vec::new(); COLUMNS], next: 0, is_absent: false };
        visit(&mut StreamResult::default(), &mut writer);
        assert_eq!(writer.next, COLUMNS);
        writer.next = 0;
        let mut received = StreamResult { rx: Some(7), ..StreamResult::default() };
        visit(&mut received, &mut writer);
        assert_eq!(writer.columns[RX], [None, Some(7)]);
        // What a stream has without rare settings is no JSON.
        let plain = StreamResult { integrity: Some("full".into()), ..row(1) };
        assert!(RowsMessage::new(std::iter::once(plain), std::iter::empty()).rest[0].is_empty());
    }

    fn message() -> RowsMessage {
        RowsMessage::new((0..20).map(row), (0..20).map(row))
    }

    #[test]
    fn a_block_of_another_length_or_form_is_refused() {
        let refused = |change: &dyn Fn(&mut RowsMessage), rows: usize| {
            let mut message = message();
            change(&mut message);
            message.tables(rows).unwrap_err()
        };
        let length = message().block.len();
        for end in 0..length {
            assert!(refused(&|message| message.block.truncate(end), 20).contains("end too soon"), "{end}");
        }
        assert!(refused(&|message| message.block.push(0), 20).contains("1 bytes too many"));
        // Rows of fewer or more streams, or of as many as no memory has.
        for rows in [0, 19, 21, 1 << 40, usize::MAX] {
            assert!(refused(&|_| {}, rows).contains("rows of 20 streams"), "{rows}");
        }
        for rows in [0, 19, 21, u32::MAX] {
            refused(&|message| message.rows = [rows; 2], rows as usize);
            refused(&|message| message.rows[1] = rows, 20);
        }
        for kind in [3, 0x0f, 0x21, 0x40, 0xff] {
            assert!(refused(&|message| message.block[0] = kind, 20).contains("unknown kind"), "{kind}");
        }
    }

    #[test]
    fn rows_without_a_length_are_refused_too() {
        // All columns are absent, or have one value: no byte of the block depends on the number of rows.
        let of = |count: usize| {
            let rows = || std::iter::repeat_n(StreamResult { tx: 7, ..StreamResult::default() }, count);
            sent(RowsMessage::new(rows(), rows()))
        };
        assert_eq!(of(1).block, of(2).block);
        for count in [0, 1, 2] {
            for rows in [0, 1, 2] {
                assert_eq!(of(count).tables(rows).is_ok(), count == rows, "{count} {rows}");
            }
        }
    }

    #[test]
    fn numbers_that_documents_do_not_have_are_none() {
        for bits in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let row = StreamResult {
                requested_pps: Some(bits),
                offered_pps: bits,
                tx: 7,
                ..StreamResult::default()
            };
            let table = Table::of(vec![row].into_iter());
            assert_eq!(table.rows().next(), Some(StreamResult { tx: 7, ..StreamResult::default() }));
        }
    }

    /// With enough rows for values that are found by ranks; bits beyond the last row count for none.
    #[test]
    fn bytes_of_many_rows_are_read_without_harm() {
        const ROWS: usize = 1_101;
        let rows = || {
            (0..ROWS as u64).map(|row| StreamResult {
                tx: row * row,
                rx: (row % 3 == 0).then_some(row),
                offered_pps: if row % 7 == 0 { row as f64 } else { 0.0 },
                ..StreamResult::default()
            })
        };
        let whole = sent(RowsMessage::new(rows(), rows()));
        let tables = whole.tables(ROWS).unwrap();
        assert!(tables.iter().all(|table| table.rows().eq(rows())));
        let (mut state, mut read) = (11u64, 0);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for _ in 0..300 {
            let mut message = sent(RowsMessage::new(rows(), rows()));
            for _ in 0..=random() % 3 {
                let at = random() % message.block.len();
                message.block[at] = random() as u8;
            }
            if let Ok(tables) = message.tables(ROWS) {
                read += tables.iter().flat_map(Table::rows).count();
            }
        }
        assert!(read > 0);
    }

    #[test]
    fn rows_that_a_machine_does_not_have_are_refused() {
        for places in [vec![20], vec![u32::MAX], vec![3, 3], vec![4, 3]] {
            let mut message = message();
            message.rest[1] = places.iter().map(|place| (*place, StreamResult::default())).collect();
            let refused = message.tables(20).unwrap_err();
            assert!(refused.contains("beyond its 20 streams, or one twice"), "{refused}");
        }
    }

    #[test]
    fn bytes_of_any_kind_are_read_without_harm() {
        let mut seed = 7u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize
        };
        let mut read = 0;
        for _ in 0..2_000 {
            let mut message = message();
            for _ in 0..=random() % 3 {
                let at = random() % message.block.len();
                message.block[at] = random() as u8;
            }
            if let Ok(tables) = message.tables(20) {
                read += tables.iter().flat_map(Table::rows).count();
            }
        }
        assert!(read > 0);
    }
}
