//! Reads the hops of a path before, during and after a trial, with one thread per hop.
//!
//! Not here: interpretation of the readings. Invariant: no thread or process of a poller outlives it.

use crate::hop::{Depth, Reader};
use crate::local::LinuxHop;
use crate::reading::{Counter, Interface, Reading};
use crate::report::{self, Offered, PathReport, Record};
use crate::snmp::Agent;
use crate::{CounterError, HopConfig, PathConfig};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// Reads a path's counters during a trial.
///
/// [`Poller::begin`], the trial, its drain, [`Poller::finish`]; then the next trial. Both block for one full
/// reading, plus `refresh` if a hop is read by SNMP.
pub struct Poller {
    hops: Vec<Hop>,
}

/// A hop's thread.
struct Hop {
    config: HopConfig,
    /// Its agent caches values.
    is_cached: bool,
    commands: Option<Sender<PollCommand>>,
    records: Receiver<Record>,
    thread: Option<JoinHandle<()>>,
}

enum PollCommand {
    /// Read the counters before the traffic, then sample.
    Begin,
    /// Read the counters after the traffic, and return all readings.
    Finish,
}

impl Poller {
    /// Opens all hops of the path.
    ///
    /// # Errors
    /// The document is invalid, a device does not respond, or an interface is unknown: [`CounterError`] names the hop
    /// and the reason.
    pub fn start(config: &PathConfig) -> Result<Self, CounterError> {
        config.check()?;
        let readers = config.hops.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let started = Instant::now();
        let hops = config.hops.iter().zip(readers).map(|(hop, reader)| {
            let sampler = HopSampler {
                reader,
                started,
                interval: Duration::from_nanos(config.interval.0),
                refresh: Duration::from_nanos(config.refresh.0),
                record: blank(hop),
                missed: 0,
            };
            Hop::start(hop.clone(), sampler)
        });
        Ok(Self { hops: hops.collect() })
    }

    /// Reads the counters before the traffic and starts sampling. Call it just before traffic starts.
    pub fn begin(&mut self) {
        // Cached hops take longer; the others are read last, right before the traffic.
        for is_cached in [true, false] {
            let hops = || self.hops.iter().filter(|hop| hop.is_cached == is_cached);
            hops().for_each(|hop| hop.command(PollCommand::Begin));
            for hop in hops() {
                // A thread that has ended is detected when its record is read.
                let _ = hop.records.recv();
            }
        }
    }

    /// Reads the counters after the traffic and reports losses. Call it when all packets have left the path; `offered` is
    /// what the tester sent and received.
    pub fn finish(&mut self, offered: Option<Offered>) -> PathReport {
        self.hops.iter().for_each(|hop| hop.command(PollCommand::Finish));
        let records: Vec<Record> = self.hops.iter().map(Hop::record).collect();
        report::report(&records, offered)
    }
}

fn open(hop: &HopConfig) -> Result<Box<dyn Reader>, CounterError> {
    match (&hop.snmp, &hop.local) {
        (Some(snmp), _) => Ok(Box::new(Agent::open(hop, snmp)?)),
        (None, local) => Ok(Box::new(LinuxHop::open(hop, &local.clone().unwrap_or_default())?)),
    }
}

fn blank(hop: &HopConfig) -> Record {
    let (name, inside, outside) = (hop.name.clone(), hop.inside.clone(), hop.outside.clone());
    Record { name, inside, outside, ..Record::default() }
}

impl Hop {
    fn start(config: HopConfig, mut sampler: HopSampler) -> Self {
        let is_cached = sampler.reader.is_cached();
        let (commands, taken) = channel();
        let (given, records) = channel();
        let thread = std::thread::spawn(move || sampler.run(&taken, &given));
        Self { config, is_cached, commands: Some(commands), records, thread: Some(thread) }
    }

    fn command(&self, command: PollCommand) {
        if let Some(commands) = &self.commands {
            // A thread that has ended is detected when its record is read.
            let _ = commands.send(command);
        }
    }

    fn record(&self) -> Record {
        self.records.recv().unwrap_or_else(|_| {
            let mut record = blank(&self.config);
            record.remarks.push("its reader thread ended unexpectedly".to_owned());
            record
        })
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is ignored here.
            let _ = thread.join();
        }
    }
}

/// Background packets allowed between two readings of idle counters: address resolution, routing protocols, polling.
const AT_REST: u64 = 100;
/// Maximum wait for idle counters, in refresh times.
const REST_REFRESHES: u32 = 3;
/// Time between readings while waiting for idle counters.
const REST_STEP: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(1);

/// State of a hop's thread.
struct HopSampler {
    reader: Box<dyn Reader>,
    started: Instant,
    interval: Duration,
    refresh: Duration,
    record: Record,
    /// Failed samples.
    missed: u64,
}

impl HopSampler {
    /// Executes commands until the channel closes.
    fn run(&mut self, commands: &Receiver<PollCommand>, records: &Sender<Record>) {
        let mut next = None;
        loop {
            let command = match next {
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(next) => {
                    commands.recv_timeout(Instant::saturating_duration_since(&next, Instant::now()))
                }
            };
            let given = match command {
                Ok(PollCommand::Begin) => {
                    self.begin();
                    next = Some(Instant::now() + self.interval);
                    records.send(Record::default())
                }
                Ok(PollCommand::Finish) => {
                    next = None;
                    records.send(self.finish())
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.sample();
                    // Late samples are skipped.
                    next = next.map(|due| (due + self.interval).max(Instant::now()));
                    Ok(())
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if given.is_err() {
                return;
            }
        }
    }

    fn begin(&mut self) {
        let Record { name, inside, outside, .. } = std::mem::take(&mut self.record);
        self.record = Record { name, inside, outside, ..Record::default() };
        self.missed = 0;
        self.record.before = self.fresh_reading("before");
        self.record.requests_sent = self.reader.requests_sent();
    }

    fn finish(&mut self) -> Record {
        // CPU load until here belongs to the trial.
        if self.record.before.is_some() {
            self.sample();
        } else if self.record.remarks.is_empty() {
            self.record.remarks.push("its counters were not read before the test".to_owned());
        }
        self.record.after = self.fresh_reading("after");
        self.record.requests_sent = self.reader.requests_sent() - self.record.requests_sent;
        if self.missed > 0 {
            let all = self.missed + self.record.during.len() as u64;
            let missed = format!("{} of {all} samples failed", self.missed);
            self.record.remarks.push(missed);
        }
        let (name, inside) = (self.record.name.clone(), self.record.inside.clone());
        let blank = Record { name, inside, outside: self.record.outside.clone(), ..Record::default() };
        std::mem::replace(&mut self.record, blank)
    }

    fn sample(&mut self) {
        match self.read(Depth::Light) {
            Ok(reading) => self.record.during.push(reading),
            Err(_) => self.missed += 1,
        }
    }

    fn read(&mut self, depth: Depth) -> Result<Reading, String> {
        let at = Nanos(self.started.elapsed().as_nanos() as u64);
        let reading = self.reader.read(depth)?;
        Ok(Reading { at, ..reading })
    }

    /// A reading that is not older than this call; adds a remark if there is none.
    ///
    /// A cached value can be as old as the refresh time. So the first valid reading comes this long after the call, and
    /// after the counters last changed.
    fn fresh_reading(&mut self, when: &str) -> Option<Reading> {
        let called = Instant::now();
        let mut last = self.read(Depth::Full);
        if !self.reader.is_cached() {
            return self.reading_or_remark(last, when);
        }
        let step = (self.refresh / 4).clamp(*REST_STEP.start(), *REST_STEP.end());
        let end = called + self.refresh * REST_REFRESHES + step;
        let mut moved = called;
        while moved + self.refresh > Instant::now() || last.is_err() {
            let now = Instant::now();
            if now >= end {
                if last.is_ok() {
                    self.record.remarks.push(unsettled_remark(when, now - called));
                }
                break;
            }
            std::thread::sleep(
                step.min((moved + self.refresh).saturating_duration_since(now)).max(*REST_STEP.start()),
            );
            let read_at = Instant::now();
            let next = self.read(Depth::Full);
            // A failed reading counts as a change.
            if !matches!((&last, &next), (Ok(last), Ok(next)) if is_at_rest(last, next)) {
                moved = read_at;
            }
            last = next;
            if last.is_ok() && read_at >= moved + self.refresh {
                break;
            }
        }
        self.reading_or_remark(last, when)
    }

    fn reading_or_remark(&mut self, reading: Result<Reading, String>, when: &str) -> Option<Reading> {
        let remark = |reason| format!("its counters could not be read {when} the test: {reason}");
        reading.map_err(|reason| self.record.remarks.push(remark(reason))).ok()
    }
}

fn unsettled_remark(when: &str, waited: Duration) -> String {
    format!(
        "its counters kept changing for {:.0} s {when} the test: other traffic passes it, or it caches values longer than \
         'refresh'; its counts can be inaccurate",
        waited.as_secs_f64(),
    )
}

/// Whether only background traffic occurred between two readings.
fn is_at_rest(earlier: &Reading, later: &Reading) -> bool {
    let grown = |from: Option<Interface>, to: Option<Interface>| {
        let pairs = from.zip(to).map(|(from, to)| {
            let one = |from: Counter, to: Counter| to.since(from).unwrap_or(u64::MAX);
            one(from.rx_packets, to.rx_packets).max(one(from.tx_packets, to.tx_packets))
        });
        pairs.unwrap_or(0)
    };
    grown(earlier.inside, later.inside).max(grown(earlier.outside, later.outside)) <= AT_REST
}

#[cfg(test)]
mod tests;
