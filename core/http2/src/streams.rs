//! The open streams of a connection by their numbers.
//!
//! A table with open addressing, by the numbers themselves: they are given out one after the other, so that hardly any two
//! meet.

/// Streams by number.
#[derive(Debug)]
pub(crate) struct Streams<S> {
    slots: Vec<Option<(u32, S)>>,
    len: usize,
}

impl<S> Default for Streams<S> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }
}

impl<S> Streams<S> {
    pub(crate) fn len(&self) -> usize {
        self.len
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

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut S> {
        let at = self.find(id)?;
        self.slots[at].as_mut().map(|(_, stream)| stream)
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&S> {
        let at = self.find(id)?;
        self.slots[at].as_ref().map(|(_, stream)| stream)
    }

    /// Adds a stream whose number is not there yet.
    pub(crate) fn insert(&mut self, id: u32, stream: S) {
        if 2 * (self.len + 1) > self.slots.len() {
            let room = (2 * self.slots.len()).max(4);
            let old =
                std::mem::replace(&mut self.slots, std::iter::repeat_with(|| None).take(room).collect());
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
        self.slots[at] = Some((id, stream));
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> Option<S> {
        let mut hole = self.find(id)?;
        let (_, stream) = self.slots[hole].take()?;
        self.len -= 1;
        // Those behind it that were pushed on move up.
        let mask = self.mask();
        let mut at = (hole + 1) & mask;
        while let Some((other, _)) = &self.slots[at] {
            let wanted = (*other >> 1) as usize & mask;
            if (at.wrapping_sub(wanted) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots.swap(at, hole);
                hole = at;
            }
            at = (at + 1) & mask;
        }
        Some(stream)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &S)> {
        self.slots.iter().flatten().map(|(id, stream)| (*id, stream))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut S)> {
        self.slots.iter_mut().flatten().map(|(id, stream)| (*id, stream))
    }

    /// Gives memory back that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.len == 0 && self.slots.len() > 4 {
            self.slots = Vec::new();
        }
    }
}
