//! Slots by number, in pages: growing never moves existing ones, and numbers are reused. Free ones form a list, so that
//! they cost no additional memory.
//!
//! Not here: whether a slot is in use; its owner keeps that in the slot.

use std::ops::{Index, IndexMut};

/// Slots of a page: large enough that the allocator's overhead per page does not matter.
const PAGE: usize = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 14;

/// A slot with room for a number while it is free.
pub(crate) trait Linked {
    /// The number that [`Linked::set_link`] left.
    fn link(&self) -> u32;
    fn set_link(&mut self, link: u32);
}

/// No number.
const NONE: u32 = u32::MAX;

/// Slots, numbered from zero.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    pages: Vec<Vec<T>>,
    /// The number given back last, which is used first: it is in the caches. It leads to the one before.
    free: u32,
}

impl<T: Linked> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { pages: Vec::new(), free: NONE }
    }

    /// Numbers ever used: all are below.
    pub(crate) fn end(&self) -> u32 {
        self.pages.last().map_or(0, |page| ((self.pages.len() - 1) * PAGE + page.len()) as u32)
    }

    /// A number that is free, with what was left there.
    #[inline]
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        let index = self.free;
        if index == NONE {
            return None;
        }
        self.free = self[index].link();
        Some(index)
    }

    /// Puts `slot` after all others; `None` if there are 2^32 - 1 of them.
    pub(crate) fn push(&mut self, slot: T) -> Option<u32> {
        let index = self.end();
        if index == u32::MAX {
            return None;
        }
        if self.pages.last().is_none_or(|page| page.len() == PAGE) {
            self.pages.push(Vec::with_capacity(PAGE));
        }
        self.pages.last_mut()?.push(slot);
        Some(index)
    }

    /// Gives a number back.
    #[inline]
    pub(crate) fn give_back(&mut self, index: u32) {
        let before = std::mem::replace(&mut self.free, index);
        self[index].set_link(before);
    }

    /// Numbers in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let next = |index: &u32| Some(self[*index].link()).filter(|link| *link != NONE);
        let free = std::iter::successors(Some(self.free).filter(|index| *index != NONE), next);
        self.end() as usize - free.count()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: u32) -> &T {
        &self.pages[index as usize >> PAGE_BITS][index as usize & (PAGE - 1)]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.pages[index as usize >> PAGE_BITS][index as usize & (PAGE - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Linked for u32 {
        fn link(&self) -> u32 {
            *self
        }

        fn set_link(&mut self, link: u32) {
            *self = link;
        }
    }

    #[test]
    fn numbers_are_used_again_and_pages_stay() {
        let mut slab = Slab::new();
        let count = 2 * PAGE as u32 + 5;
        for n in 0..count {
            assert_eq!(slab.push(n), Some(n));
        }
        assert_eq!((slab.end(), slab.len()), (count, count as usize));
        slab.give_back(7);
        slab.give_back(PAGE as u32);
        assert_eq!(slab.len(), count as usize - 2);
        assert_eq!(
            (slab.take_free(), slab.take_free(), slab.take_free()),
            (Some(PAGE as u32), Some(7), None)
        );
        slab[7] = 1;
        assert_eq!((slab[7], slab[count - 1]), (1, count - 1));
    }
}
