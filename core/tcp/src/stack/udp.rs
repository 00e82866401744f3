//! A UDP flow: datagrams to be sent, and the time of the last received one.
//!
//! Invariant: datagrams leave in the order they were passed.

use std::collections::VecDeque;

/// Runs kept in the flow itself.
const RUNS: usize = 8;
const NONE: u32 = u32::MAX;

/// Datagrams of the same length, one after the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Run {
    len: u16,
    count: u16,
}

/// Longer queues, lent to the flows that need one.
#[derive(Debug, Default)]
pub(crate) struct Backlogs {
    queues: Vec<VecDeque<Run>>,
    free: Vec<u32>,
}

impl Backlogs {
    fn lend(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.queues.push(VecDeque::new());
            self.queues.len() as u32 - 1
        })
    }

    fn take_back(&mut self, id: u32) {
        self.queues[id as usize].clear();
        self.free.push(id);
    }

    /// Queues lent.
    pub(crate) fn in_use(&self) -> usize {
        self.queues.len() - self.free.len()
    }
}

/// A UDP flow. Made of words of 32 bits, to fit where a TCP flow does.
#[derive(Debug, Clone)]
pub(crate) struct Udp {
    /// Bytes of all datagrams sent: lower half, upper half.
    sent: [u32; 2],
    /// The oldest runs, from the first on.
    runs: [Run; RUNS],
    count: u8,
    /// The application has closed it: it ends with the last datagram.
    pub closing: bool,
    /// A datagram was received.
    pub is_answered: bool,
    /// The port was reported unreachable, at tick `refused`, and nothing was received since.
    pub is_refused: bool,
    pub refused: u32,
    /// Where the newer runs are.
    backlog: u32,
    /// The tick of the last datagram in or out.
    pub heard: u32,
}

impl Udp {
    pub(crate) fn new(tick: u32) -> Self {
        Self {
            sent: [0; 2],
            runs: [Run::default(); RUNS],
            count: 0,
            closing: false,
            is_answered: false,
            is_refused: false,
            refused: 0,
            backlog: NONE,
            heard: tick,
        }
    }

    /// Bytes of all datagrams sent.
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.sent[1]) << 32 | u64::from(self.sent[0])
    }

    /// Puts a datagram after the others.
    pub(crate) fn push(&mut self, backlogs: &mut Backlogs, len: u16) {
        if self.backlog == NONE {
            let count = usize::from(self.count);
            if let Some(last) = self.runs[..count].last_mut().filter(|run| run.takes(len)) {
                last.count += 1;
                return;
            }
            if count < RUNS {
                self.runs[count] = Run { len, count: 1 };
                self.count += 1;
                return;
            }
            self.backlog = backlogs.lend();
        }
        let queue = &mut backlogs.queues[self.backlog as usize];
        match queue.back_mut().filter(|run| run.takes(len)) {
            Some(last) => last.count += 1,
            None => queue.push_back(Run { len, count: 1 }),
        }
    }

    /// Length of the datagram to be sent next.
    #[inline]
    pub(crate) fn next(&self) -> Option<u16> {
        self.runs[..usize::from(self.count)].first().map(|run| run.len)
    }

    /// The next datagram was sent.
    pub(crate) fn advance(&mut self, backlogs: &mut Backlogs) {
        if self.count == 0 {
            return;
        }
        self.runs[0].count -= 1;
        let Run { len, count } = self.runs[0];
        let sent = self.offset() + u64::from(len);
        self.sent = [sent as u32, (sent >> 32) as u32];
        if count == 0 {
            self.runs.rotate_left(1);
            self.count -= 1;
            self.refill(backlogs);
        }
    }

    /// Takes the oldest run out of the backlog.
    fn refill(&mut self, backlogs: &mut Backlogs) {
        if self.backlog == NONE {
            return;
        }
        let queue = &mut backlogs.queues[self.backlog as usize];
        if let Some(run) = queue.pop_front() {
            self.runs[usize::from(self.count)] = run;
            self.count += 1;
        }
        if queue.is_empty() {
            self.forget(backlogs);
        }
    }

    /// Gives back what was lent.
    pub(crate) fn forget(&mut self, backlogs: &mut Backlogs) {
        if self.backlog != NONE {
            backlogs.take_back(self.backlog);
            self.backlog = NONE;
        }
    }
}

impl Run {
    fn takes(&self, len: u16) -> bool {
        self.len == len && self.count < u16::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn datagrams_leave_in_order(ops in prop::collection::vec(prop::option::of(0u16..4), 0..400)) {
            let (mut udp, mut backlogs) = (Udp::new(0), Backlogs::default());
            let (mut model, mut sent) = (VecDeque::new(), 0);
            for op in ops.into_iter().chain([None; 400]) {
                match op {
                    Some(len) => {
                        udp.push(&mut backlogs, len);
                        model.push_back(len);
                    }
                    None => {
                        udp.advance(&mut backlogs);
                        sent += u64::from(model.pop_front().unwrap_or(0));
                    }
                }
                prop_assert_eq!((udp.next(), udp.offset()), (model.front().copied(), sent));
            }
            prop_assert_eq!(backlogs.in_use(), 0);
        }
    }
}
