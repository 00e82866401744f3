//! Common parts of the schedule's tests.
#![allow(dead_code, missing_docs)]

use sched::{Chain, Factor, Pace, Schedule, Share, Slot, StreamLoad};
use units::{Nanos, Pps};

/// A call of `Schedule::scale`.
#[derive(Debug, Clone)]
pub(crate) struct RateChange {
    pub streams: Option<Vec<u32>>,
    pub factor: Factor,
    pub at: Nanos,
}

pub(crate) fn load(pace: Pace) -> StreamLoad {
    StreamLoad { pace, group: 1, count: None, start_delay: Nanos::ZERO }
}

pub(crate) fn even(pps: u64) -> StreamLoad {
    load(Pace::Even(Pps::new(pps)))
}

pub(crate) fn counted(pace: Pace, count: u64) -> StreamLoad {
    StreamLoad { count: Some(count), ..load(pace) }
}

/// A slot's packets, one slot each.
pub(crate) fn packets(slot: &Slot) -> impl Iterator<Item = Slot> + use<> {
    let slot = *slot;
    (0..slot.run).map(move |i| Slot { run: 1, number: slot.number + u64::from(i), ..slot })
}

/// All slots of a schedule, polled at every due time, one slot a packet.
pub(crate) fn run(schedule: &mut Schedule) -> Vec<Slot> {
    let (mut slots, mut out) = (Vec::new(), [Slot::default(); 7]);
    let mut polls_for_nothing = 0;
    loop {
        let due = schedule.next_due();
        if due == Nanos::MAX {
            return slots;
        }
        let n = schedule.poll(due, &mut out, 5);
        polls_for_nothing = if n > 0 { 0 } else { polls_for_nothing + 1 };
        assert!(polls_for_nothing < 20, "next_due promised a slot or a change");
        assert!(out[..n].iter().map(|s| s.run).sum::<u32>() <= 5);
        slots.extend(out[..n].iter().flat_map(packets));
    }
}

/// Slots of `share` for `streams` and `chains` from 1 us on.
pub(crate) fn sent(
    streams: &[(u32, StreamLoad)],
    chains: &[Chain],
    duration: Nanos,
    share: Share,
) -> Vec<Slot> {
    let mut schedule = Schedule::new(streams, chains, Nanos(1_000), duration, share);
    let owed = schedule.owed();
    let slots = run(&mut schedule);
    assert_eq!((slots.len() as u64, schedule.owed()), (owed, 0));
    slots
}

/// When the packets of one stream leave within `duration`, from its start.
pub(crate) fn departures(load: StreamLoad, duration: Nanos) -> Vec<u64> {
    assert!(load.pace.is_paced());
    let expected = load.packets_in(duration);
    let slots = sent(&[(0, load)], &[], duration, Share::WHOLE);
    assert_eq!(expected, Some(slots.len() as u64));
    assert!(slots.iter().zip(0..).all(|(slot, number)| slot.number == number), "numbered in order");
    slots.iter().map(|slot| slot.due.0 - 1_000).collect()
}
