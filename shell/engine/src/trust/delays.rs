//! Delays longer than a test packet can represent: its time of departure has 40 bits, which wrap every 18 minutes.
//!
//! Not here: jitter of such packets, and times between arrivals, which are still right.

use super::Evidence;
use super::findings::Findings;
use units::Nanos;

/// The longest one-way delay that can be distinguished from a shorter one, less the delay of recording departures.
const DELAY_MAX: Nanos = Nanos((1 << 39) - 10_000_000_000);

impl Evidence<'_> {
    /// Streams whose first packet arrived so long after the first was sent that its latency is ambiguous.
    pub(super) fn judge_delays(&self, verdict: &mut Findings) {
        let late = self.first_sent.iter().enumerate().filter_map(|(index, sent)| {
            let (sent, arrived) = ((*sent)?, self.spans.of(index)?.first);
            let took = arrived.since(sent);
            (self.trial.streams[index].is_counted() && is_too_long(took)).then_some((index, took))
        });
        let mut late = late.peekable();
        let Some((index, took)) = late.next() else { return };
        let name = &self.trial.plan.streams[index].name;
        let streams = match late.count() {
            0 => format!("stream {name}"),
            more => format!("stream {name} and {more} more"),
        };
        verdict.fault(format!(
            "{streams}: the first packet arrived {:.1} minutes after the first was sent. One-way delays of more than 9.1 minutes (2^39 ns) \
             can't be measured: latencies are wrong by multiples of 18.3 minutes, or packets count as received before they were sent",
            took.as_secs_f64() / 60.0
        ));
    }
}

fn is_too_long(took: Nanos) -> bool {
    took > DELAY_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::signature::unwrap_time;

    #[test]
    fn what_is_not_said_to_be_too_long_is_measured() {
        let sent = Nanos::from_secs(5_000);
        for seconds in [0, 1, 60, 500, 530, 540, 1_102, 3_000] {
            let took = Nanos::from_secs(seconds);
            let now = sent + took;
            let measured = now.0.wrapping_sub(unwrap_time(sent.0 & ((1 << 40) - 1), now).0);
            assert!(measured == took.0 || is_too_long(took), "{seconds} s");
        }
        assert!(!is_too_long(Nanos::from_secs(530)) && is_too_long(Nanos::from_secs(1_102)));
    }
}
