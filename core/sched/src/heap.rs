//! Order of slots by due time.

use units::Nanos;

/// A source and when its next slot is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) due: Nanos,
    pub(crate) source: u32,
}

/// A binary heap, earliest due first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    /// Empties it and takes in the sources that are due at `dues`, numbered from 0.
    pub(crate) fn fill(&mut self, dues: impl Iterator<Item = Nanos>) {
        self.entries.clear();
        self.entries.extend(dues.zip(0..).map(|(due, source)| Entry { due, source }));
        for i in (0..self.entries.len() / 2).rev() {
            self.sift_down(i);
        }
    }

    /// The source that is due first.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<Entry> {
        self.entries.first().copied()
    }

    /// When the first source but that one is due.
    #[inline(always)]
    pub(crate) fn second_due(&self) -> Nanos {
        let due = |i: usize| self.entries.get(i).map_or(Nanos::MAX, |entry| entry.due);
        due(1).min(due(2))
    }

    /// Notes that the first source is now due at `due`.
    #[inline(always)]
    pub(crate) fn set_first(&mut self, due: Nanos) {
        self.entries[0].due = due;
        self.sift_down(0);
    }

    #[inline(always)]
    fn sift_down(&mut self, mut i: usize) {
        let entries = &mut self.entries[..];
        let moved = entries[i];
        loop {
            let left = 2 * i + 1;
            if left + 1 >= entries.len() {
                if left < entries.len() && entries[left].due < moved.due {
                    entries[i] = entries[left];
                    i = left;
                }
                break;
            }
            let least = left + usize::from(entries[left + 1].due < entries[left].due);
            if entries[least].due >= moved.due {
                break;
            }
            entries[i] = entries[least];
            i = least;
        }
        entries[i] = moved;
    }
}
