//! Slots by number, in pages: growing never moves what is there, and numbers are used again.
//!
//! Not here: whether a slot is in use; its owner keeps that in the slot.

use std::ops::{Index, IndexMut};

/// Slots of a page.
const PAGE: usize = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;

/// Slots, numbered from zero.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    pages: Vec<Vec<T>>,
    /// Numbers given back, the last one to be used first: it is in the caches.
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { pages: Vec::new(), free: Vec::new() }
    }

    /// Numbers ever used: all are below.
    pub(crate) fn end(&self) -> u32 {
        self.pages.last().map_or(0, |page| ((self.pages.len() - 1) * PAGE + page.len()) as u32)
    }

    /// A number that is free, with what was left there.
    #[inline]
    pub(crate) fn take_free(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Puts `slot` behind all others; `None` if there are 2^32 - 1 of them.
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
        self.free.push(index);
    }

    /// Numbers in use.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.end() as usize - self.free.len()
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
