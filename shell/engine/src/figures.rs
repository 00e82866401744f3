//! Current figures of a trial.

use crate::observer::View;
use crate::{rows, trust};
use result::{IntervalDocument, LatencyResult, TotalDocument};
use session::plan::Side;
use std::net::IpAddr;

/// One port in a [`View`].
#[derive(Debug, Clone, PartialEq)]
pub struct PortView {
    /// The port's name.
    pub name: String,
    /// Packets per second sent since the last snapshot.
    pub tx_pps: f64,
    /// Packets per second received since the last snapshot.
    pub rx_pps: f64,
    /// Bits per second at layer 1 sent since the last snapshot.
    pub tx_bps_l1: f64,
    /// Bits per second at layer 1 received since the last snapshot.
    pub rx_bps_l1: f64,
    /// Packets sent since the start.
    pub tx_packets: u64,
    /// Packets received since the start.
    pub rx_packets: u64,
}

/// One stream in a [`View`].
#[derive(Debug, Clone)]
pub struct StreamView<'a> {
    /// The stream's name.
    pub name: &'a str,
    /// Packets per second sent since the last snapshot.
    pub tx_pps: f64,
    /// Test packets per second received since the last snapshot.
    pub rx_pps: f64,
    /// Packets sent since the start.
    pub tx: u64,
    /// Test packets received since the start; `None` without a receiver here.
    pub rx: Option<u64>,
    /// Sent and not received since the start: lost, or still under way. `None` as for `rx`.
    pub missing: Option<u64>,
    /// Latencies since the last snapshot; `None` if nothing was measured.
    pub latency: Option<LatencyResult>,
}

/// A neighbour of a host in a [`View`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourView<'a> {
    /// The port's name.
    pub port: &'a str,
    /// The name of the requesting host behind it; the port's own host has the port's name.
    pub host: &'a str,
    /// The neighbour's address.
    pub ip: IpAddr,
    /// Its hardware address.
    pub mac: [u8; 6],
}

/// One entry under `sessions` in a [`View`].
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The entry's name.
    pub name: String,
    /// Sessions open now.
    pub active: i64,
    /// Sessions established since the start.
    pub established: u64,
    /// Sessions established per second since the last snapshot.
    pub open_per_s: f64,
    /// Responses per second since the last snapshot.
    pub transactions_per_s: f64,
    /// Sessions that failed since the start.
    pub failed: u64,
    /// Bits of applications received per second since the last snapshot.
    pub rx_bps_goodput: f64,
}

impl View<'_> {
    /// Each port's rates since the last snapshot.
    pub fn ports(&self) -> Vec<PortView> {
        let seconds = self.span.as_secs_f64().max(1e-9);
        let l1 = |bytes: u64, packets: u64| rows::l1_bits(bytes, packets) / seconds;
        let plans = self.trial.plan.ports.iter();
        let counts = plans.zip(self.interval.ports.iter().zip(&self.total.ports));
        let view = counts.map(|(plan, (n, all))| PortView {
            name: plan.name.clone(),
            tx_pps: n.tx_packets as f64 / seconds,
            rx_pps: n.rx_packets as f64 / seconds,
            tx_bps_l1: l1(n.tx_bytes, n.tx_packets),
            rx_bps_l1: l1(n.rx_bytes, n.rx_packets),
            tx_packets: all.tx_packets,
            rx_packets: all.rx_packets,
        });
        view.collect()
    }

    /// Number of streams.
    pub fn stream_count(&self) -> usize {
        self.trial.streams.len()
    }

    /// Each stream's rates and latencies since the last snapshot, and its packets since the start.
    pub fn streams(&self) -> impl Iterator<Item = StreamView<'_>> {
        let seconds = self.span.as_secs_f64().max(1e-9);
        self.trial.plan.streams.iter().zip(&self.trial.streams).enumerate().map(
            move |(index, (plan, stream))| {
                let (new, all) =
                    (&self.interval.arrivals.streams[index], &self.total.arrivals.streams[index]);
                let tx = self.total.sent[index];
                let rx = rows::is_counted(stream, all).then_some(all.counts.received);
                StreamView {
                    name: &plan.name,
                    tx_pps: self.interval.sent[index] as f64 / seconds,
                    rx_pps: new.counts.received as f64 / seconds,
                    tx,
                    rx,
                    missing: rx.map(|rx| tx.saturating_sub(rx)),
                    latency: rows::latency(&new.counts.latency, new.latency.as_ref()),
                }
            },
        )
    }

    /// Latencies of all streams together since the last snapshot; `None` if nothing was measured or histograms are not kept.
    pub fn latency(&self) -> Option<LatencyResult> {
        rows::latency_of_all(&self.interval.arrivals.streams)
    }

    /// The share of its time each worker was busy since the last snapshot.
    pub fn busy_ratios(&self) -> impl Iterator<Item = f64> {
        self.interval.workers.iter().map(|time| time.busy_ns as f64 / time.total_ns.max(1) as f64)
    }

    /// Disturbances of the tester since the last snapshot; none in virtual time, or while waiting for late packets.
    pub fn disturbances(&self) -> Vec<String> {
        if !self.is_real || self.draining {
            return Vec::new();
        }
        trust::disturbances(self.trial, self.interval)
    }

    /// Figures of each entry's clients, or of its servers if the clients are external.
    pub fn sessions(&self) -> Vec<SessionView> {
        let seconds = self.span.as_secs_f64().max(1e-9);
        let view = |(index, entry): (usize, &profile::plan::SessionEntry)| {
            let side = if entry.session.client.is_some() { Side::Client } else { Side::Server };
            let (new, all) = (self.interval.sessions(index, side).app, self.total.sessions(index, side).app);
            SessionView {
                name: entry.session.name.clone(),
                active: all.active(),
                established: all.established,
                open_per_s: new.established as f64 / seconds,
                transactions_per_s: new.transactions as f64 / seconds,
                failed: all.failed_in_all(),
                rx_bps_goodput: new.bytes_received as f64 * 8.0 / seconds,
            }
        };
        self.trial.plan.sessions.iter().enumerate().map(view).collect()
    }

    /// Test packets sent and, of those that should come back here, not yet received, since the start.
    pub fn sent_and_outstanding(&self) -> (u64, u64) {
        let measured = self.trial.measured();
        let sent = self.total.sent.iter().sum();
        let streams = self.total.sent.iter().zip(&self.total.arrivals.streams).zip(&measured);
        let outstanding = streams
            .filter(|(_, measured)| **measured)
            .map(|((sent, got), _)| sent.saturating_sub(got.counts.received))
            .sum();
        (sent, outstanding)
    }

    /// Neighbours that are resolved, or whose hardware address was given.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourView<'_>> {
        let trial = self.trial;
        trial.known.iter().map(|known| {
            let host = trial.hosts.plan(&trial.plan, known.port, known.host);
            let port = &trial.plan.ports[known.port].name;
            NeighbourView { port, host: &host.name, ip: known.ip, mac: known.mac }
        })
    }

    /// Names of the entries under `groups`.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.trial.plan.groups.iter().map(|group| group.name.as_str())
    }

    /// Totals since the start. Packets in flight count as lost until they arrive.
    pub fn total(&self) -> TotalDocument {
        rows::total_document(self, true)
    }

    /// The same without rows of streams.
    pub fn total_without_streams(&self) -> TotalDocument {
        rows::total_document(self, false)
    }

    /// Everything about the time since the last snapshot.
    pub fn document(&self) -> IntervalDocument {
        rows::interval_document(self, true)
    }

    /// The same with the sum of all streams instead of their rows.
    pub fn document_in_sum(&self) -> IntervalDocument {
        rows::interval_document(self, false)
    }
}
