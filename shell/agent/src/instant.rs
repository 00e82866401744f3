//! The instant at which all machines of a run carry out a command.
//!
//! Not here: sending it (`group`), and its one reply (`joint`).
//!
//! Invariant: a command that is sent before the common start takes effect as soon as an engine can do so after it.

use engine::{Command, ProtocolCommand, RateCommand, RemoveCommand};
use result::ResultDocument;
use units::Nanos;

/// Added to the time for an order for each further process on the same machine.
const EACH_NS: u64 = 20_000_000;
/// Round trips that an order for an instant may take.
const TRIPS: u64 = 10;
/// Least time from the start to an instant: an engine lets its workers know of a change 20 ms ahead, and may be late itself.
const FROM_START: Nanos = Nanos::from_millis(50);
/// Less than that is no delay: durations of results are rounded.
const LATE: Nanos = Nanos::from_micros(1);

/// Time for an order to reach all machines before the instant that it names: at least `least` ns, with the longest round trip, ns, and
/// the number of processes on the machine that has most.
pub(crate) fn lead(least: u64, trip: u64, crowd: usize) -> Nanos {
    let others = (crowd as u64).saturating_sub(1);
    Nanos(least.saturating_add(EACH_NS.saturating_mul(others)).saturating_add(TRIPS.saturating_mul(trip)))
}

/// The soonest instant for an order, as time since the start; `None` is a start without a time yet: it follows the order on the same way.
pub(crate) fn soonest(now: Nanos, start: Option<Nanos>, lead: Nanos) -> Nanos {
    start.map_or(Nanos::ZERO, |start| now.saturating_add(lead).since(start))
}

/// A command with the instant at which all parts carry it out, if it has one: changes of the load, the stop, and changes of hosts'
/// protocols. Also that instant, if its sender chose no later one. `soonest`: as far as the way of orders allows. Before the start is ordered
/// (`is_ordered`), there is nothing to stop, and protocols are not in step.
pub(crate) fn timed(command: Command, soonest: Nanos, is_ordered: bool) -> (Command, Option<Nanos>) {
    let change = soonest.max(FROM_START);
    let common = |at: Option<Nanos>| match at.filter(|at| *at > change) {
        Some(chosen) => (Some(chosen), None),
        None => (Some(change), Some(change)),
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
        Command::Protocol(protocol) if is_ordered => {
            let (at, until) = common(protocol.at);
            (Command::Protocol(ProtocolCommand { at, ..protocol }), until)
        }
        Command::Stop if is_ordered => (Command::StopAt(change), Some(change)),
        other => (other, None),
    }
}

/// By how much a machine stopped later than at `at`, by its result; `None` if it had the order in time.
pub(crate) fn late_stop(at: Nanos, result: &ResultDocument) -> Option<Nanos> {
    let ran = Nanos((result.duration_s * 1e9) as u64);
    let late = ran.since(at);
    (result.interrupted && late >= LATE).then_some(late)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Speed;
    use result::NewProtocolChange;

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
        assert_eq!(soonest(ms(80_000), None, ms(900)), ms(0));
        assert_eq!(soonest(ms(80_000), Some(START), ms(900)), ms(0));
        assert_eq!(soonest(ms(89_900), Some(START), ms(200)), ms(100));
        assert_eq!(soonest(START, Some(START), ms(200)), ms(200));
        assert_eq!(soonest(ms(92_000), Some(START), ms(200)), ms(2_200));
    }

    #[test]
    fn an_order_right_after_that_to_start_takes_effect_at_the_start() {
        // Agents that are 50 ms away, 17 of them on one machine: an order 300 ms after that to start still has time.
        let of = |least| lead(least, 50_000_000, 17);
        let (ordered, start) = (ms(70_000), ms(70_000) + of(500_000_000));
        assert_eq!(soonest(ordered + ms(300), Some(start), of(200_000_000)), ms(0));
    }

    #[test]
    fn changes_of_the_load_get_the_instant() {
        let rate = |at| Command::SetRate(RateCommand { stream: None, speed: Speed::Share(0), at });
        let timed = |command, soonest| timed(command, soonest, true);
        assert_eq!(timed(rate(None), ms(300)), (rate(Some(ms(300))), Some(ms(300))));
        assert_eq!(timed(rate(Some(ms(100))), ms(300)), (rate(Some(ms(300))), Some(ms(300))));
        // An engine needs time from the start on.
        assert_eq!(timed(rate(None), ms(0)), (rate(Some(FROM_START)), Some(FROM_START)));
        // A reply does not wait for a later one.
        assert_eq!(timed(rate(Some(ms(400))), ms(300)), (rate(Some(ms(400))), None));
        let remove = |at| Command::RemoveStreams(RemoveCommand { streams: Vec::new(), at });
        assert_eq!(timed(remove(None), ms(300)), (remove(Some(ms(300))), Some(ms(300))));
        assert_eq!(timed(Command::Clear, ms(300)), (Command::Clear, None));
    }

    #[test]
    fn a_machine_that_stops_late_is_found_by_its_result() {
        let stopped = |duration_s, interrupted| {
            let result = ResultDocument { duration_s, interrupted, ..ResultDocument::default() };
            late_stop(ms(2_500), &result)
        };
        assert_eq!(stopped(2.5, true), None);
        assert_eq!(stopped(2.4, true), None, "it was stopped before, for another reason");
        assert_eq!(stopped(2.75, true), Some(ms(250)));
        assert_eq!(stopped(3.0, false), None, "its end came first");
    }

    #[test]
    fn the_stop_and_changes_of_protocols_get_it_once_there_is_a_start() {
        let protocol = |at| Command::Protocol(ProtocolCommand { change: NewProtocolChange::default(), at });
        assert_eq!(timed(protocol(None), ms(300), true), (protocol(Some(ms(300))), Some(ms(300))));
        assert_eq!(timed(protocol(None), ms(0), false), (protocol(None), None));
        assert_eq!(timed(Command::Stop, ms(300), true), (Command::StopAt(ms(300)), Some(ms(300))));
        // An engine needs time from the start on.
        assert_eq!(timed(Command::Stop, ms(0), true), (Command::StopAt(FROM_START), Some(FROM_START)));
        assert_eq!(timed(Command::Stop, ms(0), false), (Command::Stop, None));
    }
}
