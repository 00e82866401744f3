//! Packets that arrived damaged, by what is wrong with them and where.
//!
//! Beside the recorder, like [`crate::Egress`]: the caller that compared the packet gives its row, and the result.
//!
//! Not here: which kinds of damage there are, and which row is which stream's. Duplicates count, as often as they come.

/// Kinds of damage.
pub const DAMAGE_KINDS: usize = 7;
/// Number of distinguished positions of wrong bits.
pub const DAMAGE_PLACES: usize = 32;

/// Damaged packets of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DamageCounts {
    /// By kind.
    pub kinds: [u64; DAMAGE_KINDS],
    /// Wrong bits by place.
    pub bits: [u64; DAMAGE_PLACES],
}

impl DamageCounts {
    /// All damaged packets.
    pub fn packets(&self) -> u64 {
        self.kinds.iter().sum()
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.kinds.iter_mut().zip(other.kinds).for_each(|(sum, own)| *sum += own);
        self.bits.iter_mut().zip(other.bits).for_each(|(sum, own)| *sum += own);
    }
}

/// Damaged packets by row.
#[derive(Debug, Clone, Default)]
pub struct Damages {
    rows: Vec<DamageCounts>,
    /// Whether anything was counted.
    any: bool,
}

impl Damages {
    /// Nothing was damaged yet in rows 0 to `rows - 1`.
    pub fn new(rows: usize) -> Self {
        Self { rows: vec![DamageCounts::default(); rows], any: false }
    }

    /// Counts a packet of one kind.
    ///
    /// # Panics
    /// If there is no such row or kind.
    pub fn packet(&mut self, row: usize, kind: usize) {
        self.any = true;
        self.rows[row].kinds[kind] += 1;
    }

    /// Counts wrong bits of such a packet; places beyond the last count there.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn bits(&mut self, row: usize, place: usize, bits: u32) {
        self.rows[row].bits[place.min(DAMAGE_PLACES - 1)] += u64::from(bits);
    }

    /// Counts of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> &DamageCounts {
        &self.rows[row]
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.any) {
            self.rows.fill(DamageCounts::default());
        }
    }

    /// Adds what another of the same shape has counted.
    pub fn merge(&mut self, other: &Self) {
        if other.any {
            self.any = true;
            self.rows.iter_mut().zip(&other.rows).for_each(|(row, other)| row.merge(other));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_counted_by_row_kind_and_place() {
        let (mut one, mut other) = (Damages::new(2), Damages::new(2));
        one.packet(1, 3);
        one.bits(1, 5, 2);
        one.bits(1, DAMAGE_PLACES + 9, 1);
        other.packet(1, 3);
        other.packet(1, 0);
        let mut sum = Damages::new(2);
        sum.merge(&one);
        sum.merge(&other);
        sum.merge(&Damages::new(2));
        let row = sum.row(1);
        assert_eq!((row.packets(), row.kinds[3], row.kinds[0]), (3, 2, 1));
        assert_eq!((row.bits[5], row.bits[DAMAGE_PLACES - 1], row.bits.iter().sum()), (2, 1, 3u64));
        assert_eq!(sum.row(0), &DamageCounts::default());
        sum.clear();
        assert_eq!(sum.row(1), &DamageCounts::default());
    }
}
