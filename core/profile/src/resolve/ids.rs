//! Identifiers of routers, of which each is one router's, and the shapes of what is generated behind them.

use super::Resolver;
use crate::document::{GridDoc, TreeDoc};
use linkstate::Shape;

/// Routers that are generated behind one.
const GENERATED_MAX: u32 = 10_000;

/// Identifiers that are taken: the first and the last of a range, and whose they are.
pub(crate) type Taken = Vec<(u64, u64, String)>;

/// A kind of identifiers.
pub(crate) struct Identifiers {
    /// Kind of the identifier, in words.
    pub(crate) what: &'static str,
    /// The last there is, as a number.
    pub(crate) last: u64,
    /// Notation of one.
    pub(crate) show: fn(u64) -> String,
}

impl Resolver<'_> {
    /// Takes this number of identifiers from the first one on; `false` if one of them is in use.
    pub(crate) fn take_ids(
        &mut self,
        path: &str,
        kind: &Identifiers,
        (first, count): (u64, u64),
        taken: &mut Taken,
    ) -> bool {
        let last = first.saturating_add(count.saturating_sub(1));
        if last > kind.last {
            self.reading.fail(path, format!("{} leaves too few identifiers after it", (kind.show)(first)));
            return false;
        }
        if let Some((from, _, whose)) = taken.iter().find(|(from, to, _)| first <= *to && *from <= last) {
            let both = (kind.show)(first.max(*from));
            self.reading
                .fail(path, format!("the {} {both} is that of another router, by {whose}", kind.what));
            return false;
        }
        taken.push((first, last, path.to_owned()));
        true
    }

    /// Topology of generated routers, and their number.
    pub(crate) fn topology_shape(
        &mut self,
        path: &str,
        (grid, ring, tree): (Option<&GridDoc>, Option<u32>, Option<&TreeDoc>),
    ) -> Option<(Shape, u32)> {
        let shapes = [
            grid.map(|grid| (Shape::Grid { columns: grid.columns }, grid.rows.saturating_mul(grid.columns))),
            ring.map(|routers| (Shape::Ring, routers)),
            tree.map(|tree| (Shape::Tree { children: tree.children }, tree.routers)),
        ];
        let mut said = shapes.into_iter().flatten();
        let (first, second) = (said.next(), said.next());
        if first.is_none() || second.is_some() {
            self.reading.fail(path, "needs one of 'grid', 'ring' and 'tree'");
            return None;
        }
        let (_, routers) = first?;
        if routers > GENERATED_MAX {
            let reason = format!("{routers} routers; there are {GENERATED_MAX} behind a router at most");
            self.reading.fail(path, reason);
            return None;
        }
        first
    }
}
