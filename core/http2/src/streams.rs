//! The open streams of a connection by their numbers.
//!
//! A table with open addressing, by the numbers themselves: they are given out one after the other, so that hardly any two
//! meet.

/// Streams by number.
#[derive(Debug)]
pub struct Streams<S> {
    slots: Vec<Option<(u32, S)>>,
    len: usize,
    /// Streams that are not where their numbers would have them: nearly always none.
    displaced: usize,
}

impl<S> Default for Streams<S> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0, displaced: 0 }
    }
}

impl<S> Streams<S> {
    /// Number of streams.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    fn place(&self, id: u32) -> usize {
        (id >> 1) as usize & self.mask()
    }

    #[inline]
    fn find(&self, id: u32) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.place(id);
        while let Some((other, _)) = &self.slots[at] {
            if *other == id {
                return Some(at);
            }
            at = (at + 1) & self.mask();
        }
        None
    }

    /// The stream with a number.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut S> {
        let at = self.find(id)?;
        self.slots[at].as_mut().map(|(_, stream)| stream)
    }

    /// The same.
    #[inline]
    pub fn get(&self, id: u32) -> Option<&S> {
        let at = self.find(id)?;
        self.slots[at].as_ref().map(|(_, stream)| stream)
    }

    /// Adds a stream whose number is not there yet.
    pub fn insert(&mut self, id: u32, stream: S) {
        if 2 * (self.len + 1) > self.slots.len() {
            let room = (2 * self.slots.len()).max(4);
            let old =
                std::mem::replace(&mut self.slots, std::iter::repeat_with(|| None).take(room).collect());
            self.displaced = 0;
            old.into_iter().flatten().for_each(|(id, stream)| self.put(id, stream));
        }
        self.put(id, stream);
        self.len += 1;
    }

    fn put(&mut self, id: u32, stream: S) {
        let mut at = self.place(id);
        while self.slots[at].is_some() {
            at = (at + 1) & self.mask();
        }
        self.displaced += usize::from(at != self.place(id));
        self.slots[at] = Some((id, stream));
    }

    /// Takes a stream out.
    #[inline]
    pub fn remove(&mut self, id: u32) -> Option<S> {
        let mut hole = self.find(id)?;
        let (_, stream) = self.slots[hole].take()?;
        self.len -= 1;
        self.displaced -= usize::from(hole != self.place(id));
        if self.displaced == 0 {
            return Some(stream);
        }
        // Those behind it that were pushed on move up.
        let mask = self.mask();
        let mut at = (hole + 1) & mask;
        while let Some((other, _)) = &self.slots[at] {
            let wanted = (*other >> 1) as usize & mask;
            if (at.wrapping_sub(wanted) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots.swap(at, hole);
                self.displaced -= usize::from(hole == wanted);
                hole = at;
            }
            at = (at + 1) & mask;
        }
        Some(stream)
    }

    /// All of them, in any order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &S)> {
        self.slots.iter().flatten().map(|(id, stream)| (*id, stream))
    }

    /// The same.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut S)> {
        self.slots.iter_mut().flatten().map(|(id, stream)| (*id, stream))
    }

    /// Gives memory back that an idle connection does not need.
    pub fn rest(&mut self) {
        if self.len == 0 && self.slots.len() > 4 {
            self.slots = Vec::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    proptest! {
        #[test]
        fn streams_are_found_until_they_are_removed(steps in prop::collection::vec((0u32..40, any::<bool>()), 0..300)) {
            let (mut streams, mut model) = (Streams::default(), BTreeMap::new());
            for (number, (id, adds)) in steps.into_iter().enumerate() {
                // Numbers that meet, and others one after the other.
                let id = if id % 3 == 0 { id << 8 } else { 2 * id };
                if !adds {
                    prop_assert_eq!(streams.remove(id), model.remove(&id));
                } else if let Entry::Vacant(place) = model.entry(id) {
                    streams.insert(id, number);
                    place.insert(number);
                }
                prop_assert_eq!(streams.len(), model.len());
                for (id, number) in &model {
                    prop_assert_eq!(streams.get(*id), Some(number));
                }
            }
        }
    }
}
