//! Readings of a hop and their differences. Pure: no clock, no device.
//!
//! Invariant: a difference is known or absent. A counter that decreased has no difference, unless it wrapped around.

use std::collections::BTreeMap;
use units::Nanos;

/// A counter's value and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counter {
    value: u64,
    /// Width in bits.
    bits: u32,
}

impl Counter {
    /// A 64-bit counter.
    pub(crate) const fn wide(value: u64) -> Self {
        Self { value, bits: 64 }
    }

    /// A 32-bit counter.
    pub(crate) const fn narrow(value: u32) -> Self {
        Self { value: value as u64, bits: 32 }
    }

    pub(crate) const fn value(self) -> u64 {
        self.value
    }

    /// The sum, as wide as the narrower counter, so that it wraps with it.
    pub(crate) fn plus(self, other: Self) -> Self {
        let bits = self.bits.min(other.bits);
        Self { value: self.value.wrapping_add(other.value) & mask(bits), bits }
    }

    /// Growth since `earlier`; none if the counter was reset.
    ///
    /// A smaller value has wrapped if the growth is less than half the range (RFC 2578 section 7.1.6: it can't be
    /// determined otherwise), and was reset otherwise.
    pub(crate) fn since(self, earlier: Self) -> Option<u64> {
        let bits = self.bits.min(earlier.bits);
        let grown = self.value.wrapping_sub(earlier.value) & mask(bits);
        let wrapped = grown <= mask(bits) / 2;
        (self.value >= earlier.value || wrapped).then_some(grown)
    }
}

const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Source of a counter, most specific first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Nft,
    Conntrack,
    Qdisc,
    Ip,
    Link,
    Ethtool,
    /// Of the machine, not the hop: several hops can share it.
    Softnet,
}

/// A counter's source and name.
pub(crate) type Key = (Source, String);

/// Counters of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) rx_packets: Counter,
    pub(crate) tx_packets: Counter,
    pub(crate) rx_bytes: Counter,
    pub(crate) tx_bytes: Counter,
}

/// CPU times, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) busy: Counter,
    pub(crate) idle: Counter,
    pub(crate) softirq: Counter,
}

/// One reading of a hop.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Reading {
    /// Time since the poller started.
    pub(crate) at: Nanos,
    /// Uptime of the agent, hundredths of a second: sysUpTime (RFC 3418).
    pub(crate) uptime_cs: Option<u32>,
    /// Ingress interface; absent if it does not exist.
    pub(crate) inside: Option<Interface>,
    /// Egress interface.
    pub(crate) outside: Option<Interface>,
    /// Drop counters.
    pub(crate) drops: BTreeMap<Key, Counter>,
    /// Other counters.
    pub(crate) others: BTreeMap<String, Counter>,
    /// Values that are not counters.
    pub(crate) gauges: BTreeMap<String, u64>,
    pub(crate) ticks: Option<Ticks>,
    /// Recent CPU load, 0 to 1, where there are no ticks: hrProcessorLoad (RFC 2790).
    pub(crate) load: Option<f64>,
    /// Rules that drop packets without counting them.
    pub(crate) uncounted: Vec<String>,
}

/// Packets and bytes over the two interfaces of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flow {
    pub(crate) rx_in: u64,
    pub(crate) tx_in: u64,
    pub(crate) rx_out: u64,
    pub(crate) tx_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Packets enter and leave by the same interface; the `out` fields are 0.
    pub(crate) one_armed: bool,
}

impl Flow {
    /// Packets that entered the hop, from both sides.
    pub(crate) fn entered(self) -> u64 {
        self.rx_in + self.rx_out
    }

    /// Packets that left the hop, to both sides.
    pub(crate) fn left(self) -> u64 {
        self.tx_in + self.tx_out
    }

    /// Packets that entered and did not leave, per direction: packets sent back do not offset packets not forwarded.
    pub(crate) fn lost(self) -> u64 {
        if self.one_armed {
            return self.rx_in.saturating_sub(self.tx_in);
        }
        self.rx_in.saturating_sub(self.tx_out) + self.rx_out.saturating_sub(self.tx_in)
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            rx_in: self.rx_in + other.rx_in,
            tx_in: self.tx_in + other.tx_in,
            rx_out: self.rx_out + other.rx_out,
            tx_out: self.tx_out + other.tx_out,
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
            one_armed: self.one_armed || other.one_armed,
        }
    }

    /// Whether packets left much longer than they entered, as when a kernel merges them (generic receive offload).
    pub(crate) fn looks_merged(self) -> bool {
        let mean = |bytes: u64, packets: u64| bytes as f64 / packets.max(1) as f64;
        self.left() > 0 && mean(self.bytes_out, self.left()) > 1.5 * mean(self.bytes_in, self.entered())
    }
}

/// Packets received and sent, bytes received and sent, from one reading to another.
type Step = [u64; 4];

fn step(earlier: &Interface, later: &Interface) -> Option<Step> {
    Some([
        later.rx_packets.since(earlier.rx_packets)?,
        later.tx_packets.since(earlier.tx_packets)?,
        later.rx_bytes.since(earlier.rx_bytes)?,
        later.tx_bytes.since(earlier.tx_bytes)?,
    ])
}

/// An interface's growth over all readings, step by step, so that narrow counters can wrap many times.
fn counted(readings: &[&Reading], of: impl Fn(&Reading) -> Option<Interface>) -> Option<Step> {
    let first = of(readings.first()?)?;
    of(readings.last()?)?;
    let (mut sum, mut earlier) = ([0; 4], first);
    for later in readings[1..].iter().filter_map(|reading| of(reading)) {
        let grown = step(&earlier, &later)?;
        sum.iter_mut().zip(grown).for_each(|(sum, grown)| *sum += grown);
        earlier = later;
    }
    Some(sum)
}

/// Traffic through a hop from the first reading to the last.
pub(crate) fn flow(readings: &[&Reading], one_armed: bool) -> Option<Flow> {
    let [rx_in, tx_in, in_rx_bytes, in_tx_bytes] = counted(readings, |reading| reading.inside)?;
    let outside = if one_armed { Some([0; 4]) } else { counted(readings, |reading| reading.outside) };
    let [rx_out, tx_out, out_rx_bytes, out_tx_bytes] = outside?;
    let (bytes_in, bytes_out) = (in_rx_bytes + out_rx_bytes, in_tx_bytes + out_tx_bytes);
    Some(Flow { rx_in, tx_in, rx_out, tx_out, bytes_in, bytes_out, one_armed })
}

/// Allowed difference of an agent's uptime from the elapsed time: hundredths of a second, plus a fraction of the time.
const UPTIME_SLACK_CS: u64 = 500;
const UPTIME_DRIFT: u64 = 100;

/// Whether the agent restarted between two readings: its uptime did not grow by the elapsed time. An uptime that wraps
/// after 497 days is not a restart.
pub(crate) fn restarted(earlier: &Reading, later: &Reading) -> bool {
    let (Some(from), Some(to)) = (earlier.uptime_cs, later.uptime_cs) else { return false };
    let passed = later.at.since(earlier.at).0 / 10_000_000;
    let grown = u64::from(to.wrapping_sub(from));
    grown.abs_diff(passed) > UPTIME_SLACK_CS + passed / UPTIME_DRIFT
}

/// CPU load between two readings, 0 to 1, and the share of time in soft interrupts.
pub(crate) fn busy(earlier: &Reading, later: &Reading) -> Option<(f64, f64)> {
    let (from, to) = (earlier.ticks?, later.ticks?);
    let busy = to.busy.since(from.busy)? as f64;
    let all = busy + to.idle.since(from.idle)? as f64;
    let softirq = to.softirq.since(from.softirq)? as f64;
    (all > 0.0).then(|| (busy / all, softirq / all))
}

/// A counter's growth from the first reading to the last, and whether it was reset in between, so that the true growth
/// can be larger.
///
/// A counter without a first value started at 0, like that of a new rule.
pub(crate) fn growth(earlier: Option<Counter>, later: Counter) -> (u64, bool) {
    let Some(earlier) = earlier else { return (later.value(), false) };
    later.since(earlier).map_or((later.value(), true), |grown| (grown, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn interface(packets: Counter) -> Option<Interface> {
        Some(Interface { rx_packets: packets, tx_packets: packets, rx_bytes: packets, tx_bytes: packets })
    }

    fn reading(at_s: u64, packets: Counter) -> Reading {
        let (inside, outside) = (interface(packets), interface(packets));
        Reading { at: Nanos::from_secs(at_s), inside, outside, ..Reading::default() }
    }

    #[test]
    fn narrow_counters_come_around() {
        assert_eq!(Counter::narrow(5).since(Counter::narrow(u32::MAX - 4)), Some(10));
        assert_eq!(Counter::wide(5).since(Counter::wide(u64::MAX - 4)), Some(10));
    }

    #[test]
    fn counters_that_were_set_back_have_no_difference() {
        assert_eq!(Counter::narrow(5).since(Counter::narrow(1_000_000)), None);
        assert_eq!(Counter::wide(5).since(Counter::wide(1_000_000)), None);
    }

    #[test]
    fn sums_come_around_where_the_narrower_does() {
        let earlier = Counter::narrow(u32::MAX).plus(Counter::narrow(3));
        let later = Counter::narrow(9).plus(Counter::narrow(4));
        assert_eq!(later.since(earlier), Some(11));
    }

    #[test]
    fn narrow_counters_may_come_around_many_times() {
        let steps: Vec<Reading> =
            (0..7).map(|n| reading(n, Counter::narrow((n * 1_500_000_000) as u32))).collect();
        let flow = flow(&steps.iter().collect::<Vec<_>>(), false).unwrap();
        assert_eq!((flow.rx_in, flow.tx_out), (9_000_000_000, 9_000_000_000));
    }

    #[test]
    fn an_interface_that_is_gone_has_no_flow() {
        let mut gone = reading(2, Counter::wide(20));
        gone.outside = None;
        let (first, last) = (reading(0, Counter::wide(10)), reading(3, Counter::wide(30)));
        assert_eq!(flow(&[&first, &gone], false), None);
        assert_eq!(flow(&[&first, &gone, &last], false).unwrap().tx_out, 20, "it may be missing in between");
        assert_eq!(flow(&[&first, &gone], true).unwrap().rx_in, 10, "nobody asks for the other");
        assert_eq!(flow(&[], false), None);
    }

    #[test]
    fn restarts_are_told_from_uptimes_that_come_around() {
        let at = |s: u64, uptime_cs: u32| Reading {
            at: Nanos::from_secs(s),
            uptime_cs: Some(uptime_cs),
            ..Reading::default()
        };
        assert!(!restarted(&at(0, 100), &at(10, 1_100)));
        assert!(restarted(&at(0, 100_000), &at(10, 300)));
        assert!(restarted(&at(0, 100), &at(10, 300)), "it began anew and has come as far as before");
        assert!(!restarted(&at(0, u32::MAX - 499), &at(10, 500)));
        assert!(!restarted(&at(0, 100), &Reading::default()));
    }

    #[test]
    fn processors_are_busy_by_their_ticks() {
        let ticks = |busy, idle, softirq| Reading {
            ticks: Some(Ticks {
                busy: Counter::wide(busy),
                idle: Counter::wide(idle),
                softirq: Counter::wide(softirq),
            }),
            ..Reading::default()
        };
        assert_eq!(busy(&ticks(100, 100, 10), &ticks(175, 125, 35)), Some((0.75, 0.25)));
        assert_eq!(busy(&ticks(1, 1, 1), &ticks(1, 1, 1)), None);
    }

    #[test]
    fn what_goes_back_does_not_hide_a_loss() {
        // A thousand packets in, none out, a thousand refusals back to the sender.
        let flow = Flow { rx_in: 1_000, tx_in: 1_000, ..Flow::default() };
        assert_eq!((flow.entered(), flow.left(), flow.lost()), (1_000, 1_000, 1_000));
        assert_eq!(Flow { one_armed: true, ..flow }.lost(), 0);
    }

    proptest! {
        #[test]
        fn growth_is_found_however_counters_come_around(
            start: u64, grown in proptest::collection::vec(0u64..1 << 31, 1..20), narrow: bool,
        ) {
            let counter = |value: u64| if narrow { Counter::narrow(value as u32) } else { Counter::wide(value) };
            let mut value = start;
            let mut readings = vec![reading(0, counter(value))];
            for (second, step) in grown.iter().enumerate() {
                value = value.wrapping_add(*step);
                readings.push(reading(second as u64 + 1, counter(value)));
            }
            let flow = flow(&readings.iter().collect::<Vec<_>>(), false).unwrap();
            prop_assert_eq!(flow.rx_in, grown.iter().sum::<u64>());
            prop_assert_eq!(flow.lost(), 0);
        }
    }
}
