//! The end that sends load.

use super::{End, FAREWELLS, LONGER, Outcome, SILENCE, Tell, given_up, refuse};
use crate::Wrong;
use os::sockets;
use std::io::ErrorKind;
use std::time::Duration;
use udpst::{Burst, Heard, Interval, LOAD, Load, MOST_PAYLOAD, NONE, Pace, Rate, Search, Stamp, Status};
use units::Nanos;

/// Octets of one call that sends several datagrams.
const BULK: usize = 60_000;
/// Longest sleep, within which a status may wait.
const NAP: Nanos = Nanos::from_millis(5);

/// Rate control.
pub(super) enum Steering {
    /// Here: this is the server.
    Own(Box<Search>),
    /// By the server's instructions.
    Told(Rate),
}

struct Sending<'e, 'a> {
    end: &'e End<'a>,
    pace: Pace,
    number: u32,
    ends: bool,
    /// The last status: when it was sent, and came.
    status: (Stamp, Nanos),
    newest_status: u32,
    missing_statuses: u16,
    heard_at: Nanos,
    which: u32,
    buffer: Vec<u8>,
    /// Segment size for the kernel, and the longest datagrams that it can segment.
    cut: u16,
    most_cut: u32,
    outcome: Outcome,
}

/// Sends load until the other end agrees that the test is over, or for `seconds` if this is the server.
pub(super) fn send(
    end: &End<'_>,
    mut steering: Steering,
    seconds: u16,
    tell: Tell<'_>,
) -> Result<Outcome, Wrong> {
    let began = end.clock.now();
    let rate = match &steering {
        Steering::Own(search) => search.rate(),
        Steering::Told(rate) => *rate,
    };
    let mut sending = Sending {
        end,
        pace: Pace::new(rate, end.is_v6, began),
        number: 0,
        ends: false,
        status: (Stamp::default(), began),
        newest_status: 0,
        missing_statuses: 0,
        heard_at: began,
        which: 0,
        buffer: Vec::new(),
        cut: 0,
        most_cut: MOST_PAYLOAD,
        outcome: Outcome::default(),
    };
    let (mut packet, mut bursts) = (vec![0; 2048], Vec::new());
    let latest = began.saturating_add(Nanos::from_secs(seconds.into())).saturating_add(LONGER);
    loop {
        let now = end.clock.now();
        loop {
            let length = match end.hear(&mut packet) {
                // Whoever has heard that it ends may go.
                Err(_) if sending.ends => None,
                heard => heard?,
            };
            let Some(length) = length else { break };
            let came = &packet[..length];
            let Some(status) = Status::read(came) else {
                end.repeat(came);
                continue;
            };
            sending.hear(&status, now, tell);
            match &mut steering {
                Steering::Own(_) if status.ends => return Ok(sending.over(&steering)),
                Steering::Own(search) => {
                    search.hear(&heard(&status));
                    sending.pace.set(search.rate(), now);
                }
                Steering::Told(_) if status.ends => {
                    sending.ends = true;
                    sending.farewell()?;
                    return Ok(sending.over(&steering));
                }
                Steering::Told(_) if !status.rate.can_be_sent() => {
                    return Err(Wrong::Unexpected(format!(
                        "the server requests load that can't be sent: {:?}",
                        status.rate
                    )));
                }
                Steering::Told(_) => sending.pace.set(status.rate, now),
            }
        }
        let is_silent = now.since(sending.heard_at) >= SILENCE;
        if sending.ends && (is_silent || end.is_stopped()) {
            // The client has heard the end, and its answer was lost.
            return Ok(sending.over(&steering));
        }
        if end.is_stopped() {
            return Err(Wrong::Interrupted);
        }
        if is_silent {
            return Err(Wrong::Unexpected(format!("no status came for {SILENCE}: the other end has gone")));
        }
        sending.ends |= matches!(steering, Steering::Own(_)) && now >= latest;
        sending.pace.take(now, &mut bursts);
        for burst in &bursts {
            match sending.burst(*burst, now) {
                Err(_) if sending.ends => break,
                sent => sent?,
            }
        }
        let until = sending.pace.next().min(now.saturating_add(NAP));
        let left = until.since(end.clock.now());
        if left > Nanos::ZERO {
            std::thread::sleep(Duration::from_nanos(left.0));
        }
    }
}

/// Result of a trial in a status.
fn heard(status: &Status) -> Heard {
    let (_, _, sum, number) = status.rise;
    Heard {
        errors: status.errors,
        one_way_ms: (number > 0).then(|| sum / number.max(1)),
        round_trip_ms: Some(status.round_trip_rise_ms).filter(|rise| *rise != NONE),
    }
}

impl Sending<'_, '_> {
    fn hear(&mut self, status: &Status, now: Nanos, tell: Tell<'_>) {
        self.heard_at = now;
        let expected = self.newest_status.wrapping_add(1);
        self.missing_statuses = match status.number.checked_sub(expected) {
            // It came after a later one.
            None => u16::MAX,
            Some(missing) => u16::try_from(missing).unwrap_or(u16::MAX - 1),
        };
        self.newest_status = self.newest_status.max(status.number);
        self.status = (status.sent, now);
        self.outcome.round_trip_ms = Some(status.round_trip_ms).filter(|known| *known != NONE);
        let (which, counts) = &status.interval;
        if *which > self.which {
            self.which = *which;
            let interval = Interval::of(counts, self.end.is_v6);
            tell(&interval);
            self.outcome.intervals.push(interval);
        }
    }

    fn head(&mut self, payload: u32, now: Nanos) -> [u8; LOAD] {
        self.number = self.number.wrapping_add(1);
        let (status_sent, came) = self.status;
        let head = Load {
            ends: self.ends,
            hears_nothing: now.since(self.heard_at) >= Nanos::from_secs(1),
            number: self.number,
            payload: payload as u16,
            missing_statuses: self.missing_statuses,
            status_sent,
            sent: Stamp::of(now),
            answered_ms: u16::try_from(now.since(came).0 / 1_000_000).unwrap_or(u16::MAX),
        };
        head.write()
    }

    /// Sends equal datagrams, several at a time where the kernel cuts them.
    fn burst(&mut self, burst: Burst, now: Nanos) -> Result<(), Wrong> {
        let length = burst.payload as usize;
        let at_once = match burst.payload <= self.most_cut {
            true => (BULK / length).clamp(1, sockets::MOST_SEGMENTS),
            false => 1,
        };
        let mut left = burst.count as usize;
        while left > 0 {
            let number = left.min(at_once);
            left -= number;
            self.cut_into(burst.payload, number);
            let before = self.number;
            self.buffer.resize(number * length, 0);
            for place in 0..number {
                let head = self.head(burst.payload, now);
                self.buffer[place * length..][..LOAD].copy_from_slice(&head);
            }
            match self.end.socket.send(&self.buffer) {
                Ok(_) => {}
                Err(error) if number > 1 && is_too_long(&error) => {
                    // Longer than the interface takes: the kernel fragments it, but does not cut.
                    self.most_cut = burst.payload - 1;
                    self.number = before;
                    return self.burst(Burst { count: (left + number) as u32, ..burst }, now);
                }
                Err(error) => {
                    // What was not sent is not missing.
                    self.number = before;
                    if error.raw_os_error() != Some(rustix::io::Errno::NOBUFS.raw_os_error()) {
                        refuse(error)?;
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Tells the kernel what to cut into, if it does not know.
    fn cut_into(&mut self, payload: u32, number: usize) {
        let cut = match number {
            // A cut that an interface is too small for is refused for single datagrams, too.
            1 if (payload..=self.most_cut).contains(&u32::from(self.cut)) => self.cut,
            1 => 0,
            _ => payload as u16,
        };
        if cut != self.cut && sockets::cut_into(&self.end.socket, cut).is_ok() {
            self.cut = cut;
        }
    }

    /// The end, a few times over.
    fn farewell(&mut self) -> Result<(), Wrong> {
        for _ in 0..FAREWELLS {
            // The server may have gone at the first.
            if self.burst(Burst { payload: LOAD as u32, count: 1 }, self.end.clock.now()).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn over(self, steering: &Steering) -> Outcome {
        let top = match steering {
            Steering::Own(search) if search.is_at_the_top() => {
                Some("the highest rate of the table".to_owned())
            }
            _ => None,
        };
        Outcome { limited_by: given_up(self.pace.given_up_ratio()).or(top), ..self.outcome }
    }
}

fn is_too_long(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::InvalidInput
        || error.raw_os_error() == Some(rustix::io::Errno::MSGSIZE.raw_os_error())
}
