//! The last snapshot of an ended run, from its result document.
//!
//! Rates are means and latencies are values over the whole run. Values that the result lacks are absent.

use super::model::Snapshot;
use api::{Live, LivePorts, LiveSessions, LiveStreams, Names, WorkerLoad};
use result::{LatencyResult, Named, PortResult, ResultDocument, SessionResult, StreamResult, WorkerResult};

/// Converts a result to a snapshot.
pub(crate) fn snapshot(names: &Names, result: &ResultDocument) -> Snapshot {
    let load = |worker: &WorkerResult| WorkerLoad { core: worker.core, busy_ratio: worker.busy_ratio };
    let live = Live {
        at_s: result.duration_s,
        interval_s: result.counted_s(),
        draining: false,
        ports: ports(&rows(&result.ports, &names.ports)),
        streams: streams(&rows(&result.streams, &names.streams), result.counted_s()),
        sessions: sessions(&rows(&result.sessions, &names.sessions)),
        latency: None,
        workers: result.workers.iter().map(load).collect(),
        disturbances: Vec::new(),
        names: None,
    };
    Snapshot { names: Some(names.clone()), live }
}

/// The entries of a map, in the order of names.
fn rows<'a, T>(map: &'a Named<T>, names: &[String]) -> Vec<Option<&'a T>> {
    names.iter().map(|name| map.get(name)).collect()
}

/// One figure of every row; the default for missing rows.
fn column<T, V: Default>(rows: &[Option<&T>], of: impl Fn(&T) -> V) -> Vec<V> {
    rows.iter().map(|row| row.map(&of).unwrap_or_default()).collect()
}

fn ports(rows: &[Option<&PortResult>]) -> LivePorts {
    LivePorts {
        tx_pps: column(rows, |port| port.tx_pps),
        rx_pps: column(rows, |port| port.rx_pps),
        tx_bps_l1: column(rows, |port| port.tx_bps_l1),
        rx_bps_l1: column(rows, |port| port.rx_bps_l1),
        tx_packets: column(rows, |port| port.tx_packets),
        rx_packets: column(rows, |port| port.rx_packets),
    }
}

fn streams(rows: &[Option<&StreamResult>], duration_s: f64) -> LiveStreams {
    let received = |stream: &StreamResult| stream.rx.unwrap_or_default() as f64;
    let latency = |of: fn(&LatencyResult) -> Option<u64>| {
        column(rows, |stream| stream.latency_ns.as_ref().and_then(of))
    };
    LiveStreams {
        tx_pps: column(rows, |stream| stream.offered_pps),
        rx_pps: column(rows, |stream| if duration_s > 0.0 { received(stream) / duration_s } else { 0.0 }),
        tx: column(rows, |stream| stream.tx),
        rx: column(rows, |stream| stream.rx),
        lost: column(rows, |stream| stream.lost),
        latency_p50_ns: latency(|latency| latency.p50),
        latency_p99_ns: latency(|latency| latency.p99),
        latency_max_ns: latency(|latency| Some(latency.max)),
    }
}

fn sessions(rows: &[Option<&SessionResult>]) -> LiveSessions {
    LiveSessions {
        active: column(rows, |_| 0),
        open_per_s: column(rows, |entry| entry.seen.open_per_s),
        transactions_per_s: column(rows, |entry| entry.seen.transactions_per_s),
        rx_bps_goodput: column(rows, |entry| entry.seen.rx_bps_goodput),
        failed: column(rows, |entry| entry.seen.failed.values().sum()),
        established: column(rows, |entry| entry.seen.established),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_follow_the_names() {
        let names = Names {
            ports: vec!["west".to_owned()],
            streams: vec!["b".to_owned(), "a".to_owned()],
            groups: Vec::new(),
            sessions: vec!["web".to_owned()],
        };
        let result = json!({
            "duration_s": 2.0,
            "ports": {"west": {"tx_packets": 9, "tx_pps": 4.5}},
            "streams": {"a": {"tx": 5, "rx": 4, "lost": 1, "offered_pps": 2.5, "latency_ns": {"p50": 7}}, "b": {"tx": 4}},
            "sessions": {"web": {"established": 3, "failed": {"reset": 1, "timeout": 2}}},
            "workers": [{"core": 1, "busy_ratio": 0.5}]
        });
        let live = snapshot(&names, &serde_json::from_value(result).unwrap()).live;
        assert_eq!((live.ports.tx_packets, live.ports.tx_pps), (vec![9], vec![4.5]));
        assert_eq!((live.streams.tx, live.streams.lost), (vec![4, 5], vec![None, Some(1)]));
        assert_eq!((live.streams.latency_p50_ns, live.streams.rx_pps), (vec![None, Some(7)], vec![0.0, 2.0]));
        assert_eq!((live.sessions.failed, live.workers[0].core), (vec![3], Some(1)));
    }
}
