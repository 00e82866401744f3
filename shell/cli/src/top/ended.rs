//! The last snapshot of an ended run, from its result document.
//!
//! Rates are means and latencies are values over the whole run. Values that the result lacks are absent.

use super::model::Snapshot;
use api::{Live, LivePorts, LiveSessions, LiveStreams, Names, WorkerLoad};
use serde_json::Value;

/// Converts a result to a snapshot.
pub(crate) fn snapshot(names: &Names, result: &Value) -> Snapshot {
    let duration_s = result["duration_s"].as_f64().unwrap_or(0.0);
    let live = Live {
        at_s: duration_s,
        interval_s: duration_s,
        draining: false,
        ports: ports(&rows(&result["ports"], &names.ports)),
        streams: streams(&rows(&result["streams"], &names.streams), duration_s),
        sessions: sessions(&rows(&result["sessions"], &names.sessions)),
        latency: None,
        workers: workers(&result["workers"]),
    };
    Snapshot { names: Some(names.clone()), live }
}

/// The entries of an object, in the order of names.
fn rows<'a>(object: &'a Value, names: &[String]) -> Vec<&'a Value> {
    names.iter().map(|name| &object[name.as_str()]).collect()
}

fn column<T>(rows: &[&Value], of: impl Fn(&Value) -> T) -> Vec<T> {
    rows.iter().map(|row| of(row)).collect()
}

fn float(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or(0.0)
}

fn count(row: &Value, field: &str) -> u64 {
    row[field].as_u64().unwrap_or(0)
}

fn ports(rows: &[&Value]) -> LivePorts {
    LivePorts {
        tx_pps: column(rows, |row| float(row, "tx_pps")),
        rx_pps: column(rows, |row| float(row, "rx_pps")),
        tx_bps_l1: column(rows, |row| float(row, "tx_bps_l1")),
        rx_bps_l1: column(rows, |row| float(row, "rx_bps_l1")),
        tx_packets: column(rows, |row| count(row, "tx_packets")),
        rx_packets: column(rows, |row| count(row, "rx_packets")),
    }
}

fn streams(rows: &[&Value], duration_s: f64) -> LiveStreams {
    let latency = |field: &'static str| {
        column(rows, |row| row["latency_ns"][field].as_f64().map(|nanoseconds| nanoseconds as u64))
    };
    LiveStreams {
        tx_pps: column(rows, |row| float(row, "offered_pps")),
        rx_pps: column(rows, |row| if duration_s > 0.0 { float(row, "rx") / duration_s } else { 0.0 }),
        tx: column(rows, |row| count(row, "tx")),
        rx: column(rows, |row| row["rx"].as_u64()),
        lost: column(rows, |row| row["lost"].as_u64()),
        latency_p50_ns: latency("p50"),
        latency_p99_ns: latency("p99"),
        latency_max_ns: latency("max"),
    }
}

fn sessions(rows: &[&Value]) -> LiveSessions {
    let failed = |row: &Value| {
        row["failed"].as_object().map_or(0, |reasons| reasons.values().filter_map(Value::as_u64).sum())
    };
    LiveSessions {
        active: column(rows, |_| 0),
        open_per_s: column(rows, |row| float(row, "open_per_s")),
        transactions_per_s: column(rows, |row| float(row, "transactions_per_s")),
        rx_bps_goodput: column(rows, |row| float(row, "rx_bps_goodput")),
        failed: column(rows, failed),
        established: column(rows, |row| count(row, "established")),
    }
}

fn workers(workers: &Value) -> Vec<WorkerLoad> {
    let load = |worker: &Value| WorkerLoad {
        core: worker["core"].as_u64().map(|core| core as usize),
        busy_ratio: float(worker, "busy_ratio"),
    };
    workers.as_array().map(|workers| workers.iter().map(load).collect()).unwrap_or_default()
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
            "streams": {"a": {"tx": 5, "rx": 4, "lost": 1, "offered_pps": 2.5, "latency_ns": {"p50": 7.5}}, "b": {"tx": 4}},
            "sessions": {"web": {"established": 3, "failed": {"reset": 1, "timeout": 2}}},
            "workers": [{"core": 1, "busy_ratio": 0.5}]
        });
        let live = snapshot(&names, &result).live;
        assert_eq!((live.ports.tx_packets, live.ports.tx_pps), (vec![9], vec![4.5]));
        assert_eq!((live.streams.tx, live.streams.lost), (vec![4, 5], vec![None, Some(1)]));
        assert_eq!((live.streams.latency_p50_ns, live.streams.rx_pps), (vec![None, Some(7)], vec![0.0, 2.0]));
        assert_eq!((live.sessions.failed, live.workers[0].core), (vec![3], Some(1)));
    }
}
