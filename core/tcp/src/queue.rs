//! Numbers of flows and other small things, first in, first out.
//!
//! A list, and the place of the first one that is left: most of the time all are taken before the list is full, and it begins anew.

/// A queue of small things.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    items: Vec<T>,
    first: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { items: Vec::new(), first: 0 }
    }
}

impl<T: Copy> Queue<T> {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.items.len()
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.first
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Moves what is left to the front, if half of the list has gone: otherwise it grows.
    #[cold]
    fn make_room(&mut self) {
        if self.first > self.items.len() / 2 {
            self.items.drain(..self.first);
            self.first = 0;
        } else {
            self.items.reserve(1);
        }
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(self.first)
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = *self.items.get(self.first)?;
        self.first += 1;
        if self.is_empty() {
            self.items.clear();
            self.first = 0;
        }
        Some(item)
    }

    /// Puts one before all others.
    pub(crate) fn push_front(&mut self, item: T) {
        match self.first.checked_sub(1) {
            Some(first) => (self.first, self.items[first]) = (first, item),
            None => self.items.insert(0, item),
        }
    }

    /// Takes those for which `stays` does not hold.
    pub(crate) fn retain(&mut self, stays: impl FnMut(&T) -> bool) {
        self.items.drain(..self.first);
        self.first = 0;
        self.items.retain(stays);
    }

    /// Takes the first ones, this number of them.
    pub(crate) fn take_first(&mut self, count: usize) -> impl Iterator<Item = T> {
        self.items.drain(..self.first);
        self.first = 0;
        self.items.drain(..count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn numbers_come_in_order(steps in prop::collection::vec(0u8..8, 0..400)) {
            let (mut queue, mut model) = (Queue::default(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                let number = number as u32;
                match step {
                    0..4 => (queue.push_back(number), model.push_back(number)),
                    4 => (queue.push_front(number), model.push_front(number)),
                    5 if number.is_multiple_of(16) => {
                        (queue.retain(|number| !number.is_multiple_of(3)), model.retain(|number| !number.is_multiple_of(3)))
                    }
                    5 if number % 16 == 1 => {
                        let half = model.len() / 2;
                        let first: Vec<u32> = queue.take_first(half).collect();
                        prop_assert_eq!(first, model.drain(..half).collect::<Vec<_>>());
                        ((), ())
                    }
                    _ => {
                        prop_assert_eq!(queue.pop_front(), model.pop_front());
                        ((), ())
                    }
                };
                prop_assert_eq!((queue.len(), queue.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(queue.front(), model.front());
            }
            while let Some(number) = model.pop_front() {
                prop_assert_eq!(queue.pop_front(), Some(number));
            }
            prop_assert!(queue.is_empty());
        }
    }
}
