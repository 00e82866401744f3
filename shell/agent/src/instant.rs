//! The instant at which all machines of a run carry out a command.
//!
//! Not here: sending it (`group`), and its one reply (`joint`).
//!
//! Invariant: a command that is sent before the common start takes effect as soon as an engine can do so after it.

use engine::{Command, RateCommand, RemoveCommand};
use units::Nanos;

/// Added to the time for an order for each further process on the same machine.
const EACH_NS: u64 = 20_000_000;
/// Round trips that an order for an instant may take.
const TRIPS: u64 = 10;
/// Least time from the start to an instant: an engine lets its workers know of a change 20 ms ahead, and may be late itself.
const FROM_START: Nanos = Nanos::from_millis(50);

/// Time for an order to reach all machines before the instant that it names: at least `least` ns, with the longest round trip, ns, and
/// the number of processes on the machine that has most.
pub(crate) fn lead(least: u64, trip: u64, crowd: usize) -> Nanos {
    let others = (crowd as u64).saturating_sub(1);
    Nanos(least.saturating_add(EACH_NS.saturating_mul(others)).saturating_add(TRIPS.saturating_mul(trip)))
}

/// The soonest instant for an order, as time since the start; `None` is a start without a time yet: it follows the order on the same way.
pub(crate) fn soonest(now: Nanos, start: Option<Nanos>, lead: Nanos) -> Nanos {
    start.map_or(Nanos::ZERO, |start| now.saturating_add(lead).since(start)).max(FROM_START)
}

/// A command with the instant at which all parts carry it out, if it has one: changes of the load. Also that instant, if its sender
/// chose no later one.
pub(crate) fn timed(command: Command, soonest: Nanos) -> (Command, Option<Nanos>) {
    let common = |at: Option<Nanos>| match at.filter(|at| *at > soonest) {
        Some(chosen) => (Some(chosen), None),
        None => (Some(soonest), Some(soonest)),
    };
    match command {
        Command::SetRate(rate) => {
            let (at, until) = common(rate.at);
            (Command::SetRate(RateCommand { at, ..rate }), until)
        }
        Command::RemoveStreams(remove) => {
            let (at, until) = common(remove.at);
            (Command::RemoveStreams(RemoveCommand { at, ..remove }), until)
        }
        other => (other, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Speed;

    const START: Nanos = Nanos::from_millis(90_000);

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn orders_have_time_for_slow_ways_and_crowded_machines() {
        assert_eq!(lead(200_000_000, 0, 0), ms(200));
        assert_eq!(lead(200_000_000, 0, 1), ms(200));
        assert_eq!(lead(200_000_000, 50_000_000, 17), ms(200 + 500 + 320));
        assert_eq!(lead(1, u64::MAX, usize::MAX), Nanos::MAX);
    }

    #[test]
    fn an_order_is_for_one_instant_after_it() {
        // Before the start, with or without a time of it.
        assert_eq!(soonest(ms(80_000), None, ms(900)), FROM_START);
        assert_eq!(soonest(ms(80_000), Some(START), ms(900)), FROM_START);
        assert_eq!(soonest(ms(89_900), Some(START), ms(200)), ms(100));
        assert_eq!(soonest(START, Some(START), ms(200)), ms(200));
        assert_eq!(soonest(ms(92_000), Some(START), ms(200)), ms(2_200));
    }

    #[test]
    fn an_order_right_after_that_to_start_takes_effect_at_the_start() {
        // Agents that are 50 ms away, 17 of them on one machine: an order 300 ms after that to start still has time.
        let of = |least| lead(least, 50_000_000, 17);
        let (ordered, start) = (ms(70_000), ms(70_000) + of(500_000_000));
        assert_eq!(soonest(ordered + ms(300), Some(start), of(200_000_000)), FROM_START);
    }

    #[test]
    fn changes_of_the_load_get_the_instant() {
        let rate = |at| Command::SetRate(RateCommand { stream: None, speed: Speed::Share(0), at });
        assert_eq!(timed(rate(None), ms(300)), (rate(Some(ms(300))), Some(ms(300))));
        assert_eq!(timed(rate(Some(ms(100))), ms(300)), (rate(Some(ms(300))), Some(ms(300))));
        // A reply does not wait for a later one.
        assert_eq!(timed(rate(Some(ms(400))), ms(300)), (rate(Some(ms(400))), None));
        let remove = |at| Command::RemoveStreams(RemoveCommand { streams: Vec::new(), at });
        assert_eq!(timed(remove(None), ms(300)), (remove(Some(ms(300))), Some(ms(300))));
        assert_eq!(timed(Command::Stop, ms(300)), (Command::Stop, None));
    }
}
