//! Live figures of a run on several machines.

use super::{Group, Part};
use crate::figures;
use api::{Latency, Live};
use engine::RawRow;
use result::LatencyResult;

impl Group<'_> {
    /// Live figures of all parts.
    pub(super) fn live(&self) -> Live {
        let there = self.parts.iter().filter(|part| part.loss.is_none());
        let parts: Vec<(&Part, &Live)> =
            there.filter_map(|part| Some((part, &part.live.as_ref()?.0))).collect();
        let losses = self.parts.iter().filter_map(|part| Some(part.loss.as_ref()?.reason().to_owned()));
        let of = |index: usize| {
            let part = self.parts.get(index)?;
            Some((&part.live.as_ref()?.0, &part.columns))
        };
        let raw = RawRow::sum(self.parts.iter().filter_map(|part| part.live.as_ref()).map(|(_, raw)| raw));
        let mut live = Live {
            at_s: parts.iter().map(|(_, live)| live.at_s).fold(f64::MAX, f64::min),
            interval_s: parts.iter().map(|(_, live)| live.interval_s).fold(0.0, f64::max),
            draining: parts.iter().all(|(_, live)| live.draining),
            latency: raw.latency().map(live_latency),
            workers: parts.iter().flat_map(|(_, live)| live.workers.iter().copied()).collect(),
            disturbances: parts
                .iter()
                .flat_map(|(part, live)| {
                    live.disturbances.iter().map(|reason| format!("{}: {reason}", part.title))
                })
                .chain(losses)
                .collect(),
            ..Live::default()
        };
        for (index, part) in self.shares.ports.values().enumerate() {
            let here = of(*part);
            let ports = here.map(|(live, _)| &live.ports);
            let index = place(here.map(|(_, columns)| &columns.ports), index);
            let float = |get: fn(&api::LivePorts) -> &Vec<f64>| cell(ports.map(get), index);
            let count = |get: fn(&api::LivePorts) -> &Vec<u64>| cell(ports.map(get), index);
            live.ports.tx_pps.push(float(|ports| &ports.tx_pps));
            live.ports.rx_pps.push(float(|ports| &ports.rx_pps));
            live.ports.tx_bps_l1.push(float(|ports| &ports.tx_bps_l1));
            live.ports.rx_bps_l1.push(float(|ports| &ports.rx_bps_l1));
            live.ports.tx_packets.push(count(|ports| &ports.tx_packets));
            live.ports.rx_packets.push(count(|ports| &ports.rx_packets));
        }
        let streams: Vec<_> = (0..self.parts.len())
            .map(|index| of(index).map(|(live, columns)| (&live.streams, &columns.streams[..])))
            .collect();
        live.streams = figures::streams(&self.shares, &streams);
        for (index, (client, server)) in self.shares.sessions.values().enumerate() {
            let here = client.or(*server).and_then(of);
            let all = here.map(|(live, _)| &live.sessions);
            let index = place(here.map(|(_, columns)| &columns.sessions), index);
            live.sessions.active.push(cell(all.map(|sessions| &sessions.active), index));
            live.sessions.open_per_s.push(cell(all.map(|sessions| &sessions.open_per_s), index));
            live.sessions
                .transactions_per_s
                .push(cell(all.map(|sessions| &sessions.transactions_per_s), index));
            live.sessions.rx_bps_goodput.push(cell(all.map(|sessions| &sessions.rx_bps_goodput), index));
            live.sessions.failed.push(cell(all.map(|sessions| &sessions.failed), index));
            live.sessions.established.push(cell(all.map(|sessions| &sessions.established), index));
        }
        live
    }
}

/// The place of a row of the plan in the columns of a part.
fn place(rows: Option<&Vec<u32>>, index: usize) -> Option<usize> {
    columns::place(rows?, index)
}

/// A figure; zero where there is none.
fn cell<T: Copy + Default>(column: Option<&Vec<T>>, place: Option<usize>) -> T {
    column.zip(place).and_then(|(column, place)| column.get(place)).copied().unwrap_or_default()
}

fn live_latency(result: LatencyResult) -> Latency {
    Latency {
        p50_ns: result.p50,
        p90_ns: result.p90,
        p95_ns: result.p95,
        p99_ns: result.p99,
        p99_9_ns: result.p99_9,
        max_ns: result.max,
    }
}
