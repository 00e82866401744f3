use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An agent that refreshes its one counter only every `keeps`.
struct Fake {
    began: Instant,
    keeps: Duration,
    counts: Arc<AtomicU64>,
    kept: (Option<Instant>, u64),
    fails: bool,
}

impl Reader for Fake {
    fn read(&mut self, _: Depth) -> Result<Reading, String> {
        if self.fails {
            return Err("no answer".to_owned());
        }
        if self.kept.0.is_none_or(|at| at.elapsed() >= self.keeps) {
            self.kept = (Some(Instant::now()), self.counts.load(Ordering::Relaxed));
        }
        let counter = Counter::wide(self.kept.1);
        let one =
            Interface { rx_packets: counter, tx_packets: counter, rx_bytes: counter, tx_bytes: counter };
        let uptime_cs = Some((self.began.elapsed().as_millis() / 10) as u32);
        Ok(Reading { uptime_cs, inside: Some(one), outside: Some(one), ..Reading::default() })
    }

    fn is_cached(&self) -> bool {
        true
    }

    fn requests_sent(&self) -> u64 {
        0
    }
}

/// A poller of one such agent, and what the agent counts.
fn poller(fails: bool) -> (Poller, Arc<AtomicU64>) {
    let counts = Arc::new(AtomicU64::new(0));
    let hop: HopConfig =
        serde_json::from_value(serde_json::json!({"name": "r", "in": "a", "out": "b", "local": {}})).unwrap();
    let keeps = Duration::from_millis(250);
    let fake = Fake { began: Instant::now(), keeps, counts: counts.clone(), kept: (None, 0), fails };
    let sampler = HopSampler {
        reader: Box::new(fake),
        started: Instant::now(),
        interval: Duration::from_millis(50),
        refresh: Duration::from_millis(300),
        record: blank(&hop),
        missed: 0,
    };
    (Poller { hops: vec![Hop::start(hop, sampler)] }, counts)
}

#[test]
fn old_values_of_agents_do_not_count() {
    let (mut poller, counts) = poller(false);
    for trial in 1..=2 {
        // What it had counted before, and has not told yet, is not the trial's.
        counts.fetch_add(1_000_000, Ordering::Relaxed);
        poller.begin();
        counts.fetch_add(5_000 * trial, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(120));
        let report = poller.finish(None);
        assert_eq!(report.hops[0].in_packets, Some(10_000 * trial), "{report:#?}");
        assert!(report.hops[0].remarks.is_empty(), "{report:#?}");
        assert!(report.samples.len() >= 2, "{report:#?}");
    }
}

#[test]
fn counters_that_never_rest_are_remarked_upon() {
    let (mut poller, counts) = poller(false);
    let others = std::thread::spawn(move || {
        while Arc::strong_count(&counts) > 1 {
            counts.fetch_add(1_000, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    poller.begin();
    let report = poller.finish(None);
    assert!(report.hops[0].remarks[0].contains("before the test: other traffic"), "{report:#?}");
    drop(poller);
    others.join().unwrap();
}

#[test]
fn agents_that_fall_silent_are_remarked_upon() {
    let (mut poller, _) = poller(true);
    poller.begin();
    let report = poller.finish(None);
    let remarks = &report.hops[0].remarks;
    assert_eq!(remarks[0], "its counters could not be read before the test: no answer");
    assert_eq!(remarks[1], "its counters could not be read after the test: no answer");
    assert_eq!(report.hops[0].in_packets, None);
}

#[test]
fn a_test_that_was_not_begun_has_no_figures() {
    let (mut poller, _) = poller(false);
    let report = poller.finish(None);
    assert_eq!(report.hops[0].remarks, ["its counters were not read before the test"]);
    assert_eq!((report.hops[0].in_packets, report.weakest), (None, None));
}
