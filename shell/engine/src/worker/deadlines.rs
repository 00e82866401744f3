//! Streams that end at a time: what they have not sent by then is discarded.
//!
//! The schedule knows the number of packets due until then; here ends what a port that was too slow has left of them.
//!
//! Invariant: a stream that is held has its deadline moved by as long.

use units::Nanos;

/// A packet due before the deadline may leave so much behind it: a worker that is kept from its core for a moment loses none.
const GRACE: Nanos = Nanos::from_millis(50);

/// The deadlines of one port's streams on one worker.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// Of each stream, on the schedule's time.
    streams: Vec<Deadline>,
    /// The first of them.
    next: Nanos,
    /// Packets discarded.
    pub(crate) given_up: u64,
}

#[derive(Debug, Clone, Copy)]
struct Deadline {
    /// [`Nanos::MAX`] is none.
    at: Nanos,
    /// Since when it is held.
    held: Option<Nanos>,
}

impl Deadline {
    /// When it comes, as things are. A hold that is to begin after it moves nothing.
    fn next(&self) -> Nanos {
        if self.held.is_some_and(|since| since <= self.at) { Nanos::MAX } else { self.at }
    }
}

fn deadline(end: &Option<Nanos>) -> Deadline {
    Deadline { at: end.map_or(Nanos::MAX, |end| end.saturating_add(GRACE)), held: None }
}

impl Deadlines {
    /// Of streams that send until these times; `None` if none of them ends.
    pub(crate) fn new(ends: &[Option<Nanos>]) -> Option<Self> {
        if ends.iter().all(Option::is_none) {
            return None;
        }
        let mut deadlines =
            Self { streams: ends.iter().map(deadline).collect(), next: Nanos::MAX, given_up: 0 };
        deadlines.find_next();
        Some(deadlines)
    }

    /// Adds streams that send until these times to `so_far`, the times of `before` streams.
    pub(crate) fn extend(so_far: &mut Option<Self>, before: usize, ends: &[Option<Nanos>]) {
        if so_far.is_none() && ends.iter().all(Option::is_none) {
            return;
        }
        let all = so_far.get_or_insert_with(|| Self::never(before));
        all.streams.extend(ends.iter().map(deadline));
        all.find_next();
    }

    /// Ends some of `count` streams at `at`, although they are held from then on.
    pub(crate) fn end(so_far: &mut Option<Self>, count: usize, streams: &[u32], at: Nanos) {
        let all = so_far.get_or_insert_with(|| Self::never(count));
        for stream in streams {
            let one = &mut all.streams[*stream as usize];
            *one = Deadline { at: one.at.min(at.saturating_add(GRACE)), held: None };
        }
        all.find_next();
    }

    fn never(count: usize) -> Self {
        Self { streams: vec![deadline(&None); count], next: Nanos::MAX, given_up: 0 }
    }

    /// When a deadline comes.
    #[inline(always)]
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// Takes out the streams whose time is over, ascending.
    pub(crate) fn take(&mut self, now: Nanos) -> Vec<u32> {
        let over = (0..).zip(&mut self.streams).filter(|(_, deadline)| deadline.next() <= now);
        let over = over.map(|(stream, deadline)| {
            deadline.at = Nanos::MAX;
            stream
        });
        let over = over.collect();
        self.find_next();
        over
    }

    /// Some streams, or all, are held from `at` on, or are not any more.
    pub(crate) fn change(&mut self, streams: Option<&[u32]>, held: bool, at: Nanos) {
        for (stream, deadline) in (0..).zip(&mut self.streams) {
            if streams.is_some_and(|streams| !streams.contains(&stream)) {
                continue;
            }
            match (deadline.held, held) {
                (None, true) => deadline.held = Some(at),
                (Some(since), false) => {
                    if since <= deadline.at {
                        deadline.at = deadline.at.saturating_add(at.since(since));
                    }
                    deadline.held = None;
                }
                _ => {}
            }
        }
        self.find_next();
    }

    fn find_next(&mut self) {
        self.next = self.streams.iter().map(Deadline::next).min().unwrap_or(Nanos::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_a_moment_after_its_time() {
        let ms = Nanos::from_millis;
        assert!(Deadlines::new(&[None, None]).is_none());
        let mut deadlines = Deadlines::new(&[Some(ms(100)), None, Some(ms(300))]).unwrap();
        assert_eq!((deadlines.next(), deadlines.take(ms(149))), (ms(150), vec![]));
        assert_eq!((deadlines.take(ms(150)), deadlines.next()), (vec![0], ms(350)));
        assert_eq!((deadlines.take(ms(900)), deadlines.next()), (vec![2], Nanos::MAX));
    }

    #[test]
    fn streams_join_and_leave() {
        let ms = Nanos::from_millis;
        let mut deadlines = None;
        Deadlines::extend(&mut deadlines, 1, &[None]);
        assert!(deadlines.is_none());
        Deadlines::extend(&mut deadlines, 2, &[Some(ms(100)), None]);
        Deadlines::end(&mut deadlines, 4, &[0, 2], ms(20));
        let mut all = deadlines.unwrap();
        assert_eq!((all.next(), all.take(ms(70)), all.next()), (ms(70), vec![0, 2], Nanos::MAX));
    }

    #[test]
    fn a_held_stream_ends_later() {
        let ms = Nanos::from_millis;
        let mut deadlines = Deadlines::new(&[Some(ms(100)), Some(ms(100))]).unwrap();
        deadlines.change(Some(&[0]), true, ms(20));
        assert_eq!(deadlines.next(), ms(150));
        deadlines.change(None, true, ms(30));
        assert_eq!(deadlines.next(), Nanos::MAX, "held for ever");
        deadlines.change(None, false, ms(60));
        assert_eq!(
            (deadlines.take(ms(180)), deadlines.next()),
            (vec![1], ms(190)),
            "held for 40 and for 30 ms"
        );
    }

    #[test]
    fn a_stream_that_ends_before_it_is_held_keeps_its_end() {
        let ms = Nanos::from_millis;
        let mut deadlines = Deadlines::new(&[Some(ms(100)), Some(ms(400))]).unwrap();
        deadlines.change(None, true, ms(300));
        assert_eq!(deadlines.next(), ms(150));
        deadlines.change(None, false, ms(500));
        assert_eq!((deadlines.next(), deadlines.take(ms(150))), (ms(150), vec![0]));
        assert_eq!(deadlines.next(), ms(650), "held for 200 ms");
    }
}
