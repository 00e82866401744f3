//! Slots by number, in pages: growing never moves existing ones, and numbers are reused. Free ones form a list, so that
//! they cost no additional memory.
//!
//! Not here: whether a slot is in use; its owner keeps that in the slot.

use std::ops::{Index, IndexMut};

/// A slot with room for a number while it is free.
pub(crate) trait Linked {
    /// One that was never used.
    fn unused() -> Self;
    /// The number that [`Linked::set_link`] left.
    fn link(&self) -> u32;
    fn set_link(&mut self, link: u32);
}

/// No number.
const NONE: u32 = u32::MAX;

/// Slots, numbered from zero, in pages of `PAGE`, a power of two: large enough that the allocator's overhead does not matter, and few
/// enough that a page is filled at once.
#[derive(Debug)]
pub(crate) struct Slab<T, const PAGE: usize> {
    pages: Vec<Box<[T; PAGE]>>,
    /// Numbers ever used: all are below.
    end: u32,
    /// The number given back last, which is used first: it is in the caches. It leads to the one before.
    free: u32,
}

impl<T: Linked, const PAGE: usize> Slab<T, PAGE> {
    pub(crate) fn new() -> Self {
        const { assert!(PAGE.is_power_of_two()) };
        Self { pages: Vec::new(), end: 0, free: NONE }
    }

    /// Numbers ever used: all are below.
    pub(crate) fn end(&self) -> u32 {
        self.end
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
        let index = self.end;
        if index == u32::MAX {
            return None;
        }
        if index as usize == self.pages.len() * PAGE {
            let page: Vec<T> = std::iter::repeat_with(T::unused).take(PAGE).collect();
            self.pages.push(page.into_boxed_slice().try_into().ok()?);
        }
        self[index] = slot;
        self.end += 1;
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

impl<T, const PAGE: usize> Index<u32> for Slab<T, PAGE> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: u32) -> &T {
        &self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

impl<T, const PAGE: usize> IndexMut<u32> for Slab<T, PAGE> {
    #[inline(always)]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.pages[index as usize / PAGE][index as usize % PAGE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Linked for u32 {
        fn unused() -> Self {
            0
        }

        fn link(&self) -> u32 {
            *self
        }

        fn set_link(&mut self, link: u32) {
            *self = link;
        }
    }

    #[test]
    fn numbers_are_used_again_and_pages_stay() {
        const PAGE: usize = 16;
        let mut slab = Slab::<u32, PAGE>::new();
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
