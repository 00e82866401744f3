//! The end that receives load.

use super::{End, FAREWELLS, LONGER, Outcome, SILENCE, Tell, refuse};
use crate::Wrong;
use os::sockets;
use std::io::ErrorKind;
use udpst::{Activation, Heard, Interval, Load, Meter, Rate, Search};
use units::Nanos;

/// Octets that one call may receive.
const BULK: usize = 1 << 16;

/// Receives load until the other end announces the end of the test, or for its time if this is the server, which has
/// the search.
pub(super) fn receive(
    end: &End<'_>,
    mut search: Option<Box<Search>>,
    asked: &Activation,
    tell: Tell<'_>,
) -> Result<Outcome, Wrong> {
    let began = end.clock.now();
    let trial = Nanos::from_millis(asked.trial_ms.into());
    let latest = began.saturating_add(Nanos::from_secs(asked.seconds.into())).saturating_add(LONGER);
    let mut meter = Meter::new(began, Nanos::from_millis(asked.interval_ms.into()), trial);
    let (mut outcome, mut which) = (Outcome::default(), 0);
    let (mut next, mut told_end, mut buffer) = (began.saturating_add(trial), false, vec![0; BULK]);
    // Where the kernel joins nothing, packets come one by one.
    let _ = sockets::join(&end.socket);
    loop {
        let (length, each) = match sockets::receive(&end.socket, &mut buffer) {
            Ok(came) => came,
            // Whoever was told that it ends may go.
            Err(error) if told_end && error.kind() == ErrorKind::ConnectionRefused => break,
            Err(error) => {
                refuse(error)?;
                (0, 1)
            }
        };
        let now = end.clock.now();
        let mut is_over = false;
        for packet in buffer[..length].chunks(each) {
            let Some(load) = Load::read(packet) else {
                end.repeat(packet);
                continue;
            };
            if load.ends {
                is_over = true;
                break;
            }
            // It counts as long as it came, whatever it says.
            meter.take(&Load { payload: packet.len() as u16, ..load }, now);
        }
        if end.is_stopped() && !told_end {
            return Err(Wrong::Interrupted);
        }
        let is_silent = meter.silence(now) >= SILENCE;
        if is_silent && !told_end {
            let what = if meter.has_begun() { "load stopped" } else { "no load came" };
            return Err(Wrong::Unexpected(format!("{what} for {SILENCE}: the other end has gone")));
        }
        is_over |= is_silent || end.is_stopped();
        if is_over || now >= next {
            if let Some(search) = &mut search
                && meter.has_begun()
            {
                let (one_way_ms, round_trip_ms) = meter.rises();
                search.hear(&Heard { errors: meter.errors(), one_way_ms, round_trip_ms });
            }
            told_end |= search.is_some() && now >= latest;
            let rate = search.as_ref().map_or_else(Rate::default, |search| search.rate());
            if meter.has_begun() || told_end {
                let ends = told_end || is_over;
                let status = meter.status(now, rate, ends).write();
                // The client's farewell is all that the server waits for.
                let times = if search.is_none() && is_over { FAREWELLS } else { 1 };
                for _ in 0..times {
                    match end.socket.send(&status) {
                        Err(error) if !is_over && !told_end => refuse(error)?,
                        _ => {}
                    }
                }
            }
            let (newest, counts) = meter.whole();
            if newest > which {
                which = newest;
                let interval = Interval::of(&counts, end.is_v6);
                tell(&interval);
                outcome.intervals.push(interval);
            }
            next = now.saturating_add(trial);
        }
        if is_over {
            break;
        }
    }
    outcome.round_trip_ms = meter.round_trip_ms();
    let lost_here = sockets::dropped(&end.socket).unwrap_or(0);
    if lost_here > 0 {
        outcome.limited_by = Some(format!(
            "this host, which had no room for {} of the packets that reached it",
            units::count(lost_here)
        ));
    } else if search.is_some_and(|search| search.is_at_the_top()) {
        outcome.limited_by = Some("the highest rate of the table".to_owned());
    }
    Ok(outcome)
}
