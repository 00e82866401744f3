//! Topology of generated routers, as a function of their number.

/// Topology of generated routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each to the ones beside, above and below it: this many in a row.
    Grid {
        /// Routers of a row.
        columns: u32,
    },
    /// Each to the next one, the last to the first.
    Ring,
    /// Each to this many below it.
    Tree {
        /// Routers below each.
        children: u32,
    },
}

impl Shape {
    /// Those of `n` routers that `number` has a link to, in the order of its links.
    pub fn neighbours(self, n: u32, number: u32) -> Vec<u32> {
        let mut all = Vec::new();
        match self {
            Self::Grid { columns } => {
                let column = number % columns.max(1);
                all.extend(number.checked_sub(columns));
                all.extend((column > 0).then(|| number - 1));
                all.extend((column + 1 < columns).then_some(number + 1));
                all.push(number.saturating_add(columns));
            }
            Self::Ring => {
                let last = n.saturating_sub(1);
                all.push(if number == 0 { last } else { number - 1 });
                all.extend((n > 2).then(|| if number == last { 0 } else { number + 1 }));
            }
            Self::Tree { children } => {
                all.extend((number > 0).then(|| (number - 1) / children.max(1)));
                let first = u64::from(number) * u64::from(children) + 1;
                all.extend((first..first + u64::from(children)).filter_map(|one| u32::try_from(one).ok()));
            }
        }
        all.retain(|other| *other < n && *other != number);
        all
    }

    /// Links that a router has at most, with one to the router before the first.
    pub fn links_max(self) -> u32 {
        match self {
            Self::Grid { .. } => 5,
            Self::Ring => 3,
            Self::Tree { children } => children + 2,
        }
    }
}

/// Which of `count` networks the router `number` of `n` has: equal shares, in order.
pub fn share(n: u32, number: u32, count: u32) -> std::ops::Range<u32> {
    let at = |number: u32| (u64::from(number) * u64::from(count) / u64::from(n.max(1))) as u32;
    at(number)..at(number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_generated_routers_go_both_ways_and_all_are_connected() {
        let shapes = [
            (Shape::Grid { columns: 4 }, 12, 17),
            (Shape::Grid { columns: 1 }, 5, 4),
            (Shape::Ring, 1, 0),
            (Shape::Ring, 2, 1),
            (Shape::Ring, 3, 3),
            (Shape::Ring, 9, 9),
            (Shape::Tree { children: 2 }, 10, 9),
            (Shape::Tree { children: 1 }, 4, 3),
        ];
        for (shape, routers, links) in shapes {
            let mut all = 0;
            let mut reached = vec![0];
            for number in 0..routers {
                for other in shape.neighbours(routers, number) {
                    assert!(
                        shape.neighbours(routers, other).contains(&number),
                        "{shape:?}: {number} and {other}"
                    );
                    all += 1;
                }
                for other in shape.neighbours(routers, reached[number as usize]) {
                    if !reached.contains(&other) {
                        reached.push(other);
                    }
                }
            }
            assert_eq!((all, reached.len()), (2 * links, routers as usize), "{shape:?} of {routers}");
            let shares: Vec<u32> = (0..routers).flat_map(|number| share(routers, number, 100)).collect();
            assert_eq!(shares, (0..100).collect::<Vec<_>>());
        }
    }
}
