//! Reads the hops of a path before, during and after a trial: a thread for each hop, which owns what it is read by.
//!
//! Not here: what the readings mean. Invariant: no thread and no process of a poller outlives it.

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

/// Reads a path's counters beside a trial.
///
/// [`Poller::begin`], the trial, its drain, [`Poller::finish`]; then the next trial. Both block: as long as one full reading
/// takes, and for `refresh` more if a hop is read by SNMP.
pub struct Poller {
    hops: Vec<Hop>,
}

/// A hop's thread.
struct Hop {
    config: HopConfig,
    /// What it is read by answers with old values.
    is_late: bool,
    orders: Option<Sender<Order>>,
    records: Receiver<Record>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    /// Read what is before the traffic; then sample.
    Begin,
    /// Read what is after it, and hand over all readings.
    Finish,
}

impl Poller {
    /// Opens all hops of the path.
    ///
    /// # Errors
    /// The description makes no sense, a device does not answer, or it has no such interface: [`CounterError`] names the
    /// hop and why.
    pub fn start(config: &PathConfig) -> Result<Self, CounterError> {
        config.check()?;
        let readers = config.hops.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let started = Instant::now();
        let hops = config.hops.iter().zip(readers).map(|(hop, reader)| {
            let watch = Watch {
                reader,
                started,
                interval: Duration::from_nanos(config.interval.0),
                refresh: Duration::from_nanos(config.refresh.0),
                record: blank(hop),
                missed: 0,
            };
            Hop::start(hop.clone(), watch)
        });
        Ok(Self { hops: hops.collect() })
    }

    /// Reads the counters before the traffic, and begins to sample them. To be called just before traffic starts.
    pub fn begin(&mut self) {
        // Agents take their time; what is read at once is read last, next to the traffic.
        for is_late in [true, false] {
            let hops = || self.hops.iter().filter(|hop| hop.is_late == is_late);
            hops().for_each(|hop| hop.order(Order::Begin));
            for hop in hops() {
                // A thread that has ended is found out when its record is asked for.
                let _ = hop.records.recv();
            }
        }
    }

    /// Reads the counters after the traffic and says where packets went. To be called when all packets have left the path;
    /// `offered` is what the tester sent and received.
    pub fn finish(&mut self, offered: Option<Offered>) -> PathReport {
        self.hops.iter().for_each(|hop| hop.order(Order::Finish));
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
    fn start(config: HopConfig, mut watch: Watch) -> Self {
        let is_late = watch.reader.is_late();
        let (orders, taken) = channel();
        let (given, records) = channel();
        let thread = std::thread::spawn(move || watch.run(&taken, &given));
        Self { config, is_late, orders: Some(orders), records, thread: Some(thread) }
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // A thread that has ended is found out when its record is asked for.
            let _ = orders.send(order);
        }
    }

    fn record(&self) -> Record {
        self.records.recv().unwrap_or_else(|_| {
            let mut record = blank(&self.config);
            record.remarks.push("the thread that read it has ended unexpectedly".to_owned());
            record
        })
    }
}

impl Drop for Hop {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It may have panicked; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

/// Packets that counters at rest may still count between two readings: address resolution, routing protocols, the polling.
const AT_REST: u64 = 100;
/// How often an agent's counters may be found moving, in its refresh times, before a reading is taken as it is.
const REST_REFRESHES: u32 = 3;
/// Time between two readings while an agent's counters come to rest.
const REST_STEP: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(1);

/// What a hop's thread has.
struct Watch {
    reader: Box<dyn Reader>,
    started: Instant,
    interval: Duration,
    refresh: Duration,
    record: Record,
    /// Samples that could not be read.
    missed: u64,
}

impl Watch {
    /// Carries out orders until nobody gives any.
    fn run(&mut self, orders: &Receiver<Order>, records: &Sender<Record>) {
        let mut next = None;
        loop {
            let order = match next {
                None => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(next) => orders.recv_timeout(Instant::saturating_duration_since(&next, Instant::now())),
            };
            let given = match order {
                Ok(Order::Begin) => {
                    self.begin();
                    next = Some(Instant::now() + self.interval);
                    records.send(Record::default())
                }
                Ok(Order::Finish) => {
                    next = None;
                    records.send(self.finish())
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.sample();
                    // What has become late is left out, not made up for.
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
        self.record.before = self.settled("before");
        self.record.asked = self.reader.asked();
    }

    fn finish(&mut self) -> Record {
        // The processors' time until here is the trial's.
        if self.record.before.is_some() {
            self.sample();
        } else if self.record.remarks.is_empty() {
            self.record.remarks.push("its counters were not read before the test".to_owned());
        }
        self.record.after = self.settled("after");
        self.record.asked = self.reader.asked() - self.record.asked;
        if self.missed > 0 {
            let all = self.missed + self.record.during.len() as u64;
            let missed = format!("{} of {all} samples could not be read", self.missed);
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

    /// A reading that is not older than this call; a remark if there is none.
    ///
    /// What a late reader says at an instant was true at some instant within its refresh time before. So the first reading
    /// counts that comes that long after the call, and after the counters were last seen moving.
    fn settled(&mut self, when: &str) -> Option<Reading> {
        let called = Instant::now();
        let mut last = self.read(Depth::Full);
        if !self.reader.is_late() {
            return self.taken(last, when);
        }
        let step = (self.refresh / 4).clamp(*REST_STEP.start(), *REST_STEP.end());
        let end = called + self.refresh * REST_REFRESHES + step;
        let mut moved = called;
        while moved + self.refresh > Instant::now() || last.is_err() {
            let now = Instant::now();
            if now >= end {
                if last.is_ok() {
                    self.record.remarks.push(restless(when, now - called));
                }
                break;
            }
            std::thread::sleep(
                step.min((moved + self.refresh).saturating_duration_since(now)).max(*REST_STEP.start()),
            );
            let asked = Instant::now();
            let next = self.read(Depth::Full);
            // What was not heard in between may have moved.
            if !matches!((&last, &next), (Ok(last), Ok(next)) if is_at_rest(last, next)) {
                moved = asked;
            }
            last = next;
            if last.is_ok() && asked >= moved + self.refresh {
                break;
            }
        }
        self.taken(last, when)
    }

    fn taken(&mut self, reading: Result<Reading, String>, when: &str) -> Option<Reading> {
        let remark = |reason| format!("its counters could not be read {when} the test: {reason}");
        reading.map_err(|reason| self.record.remarks.push(remark(reason))).ok()
    }
}

fn restless(when: &str, waited: Duration) -> String {
    format!(
        "its counters did not come to rest {when} the test within {:.0} s: other traffic passes it, or it keeps old values \
         for longer than 'refresh' says; what it counted may be off",
        waited.as_secs_f64()
    )
}

/// Whether no traffic to speak of came between two readings.
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
