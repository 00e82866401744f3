//! Live figures of streams of one of several machines: they travel as columns of numbers, and are put together by their places.

use api::{Live, LiveStreams};
use columns::FiguresMessage;
use result::merge::Shares;

/// Takes the figures of streams out of live figures. Packets that are missing are not among them: they follow from all machines'.
pub(crate) fn detach(live: &mut Live) -> FiguresMessage {
    let streams = std::mem::take(&mut live.streams);
    let mut message = FiguresMessage::new(streams.tx.len());
    message.floats(&streams.tx_pps);
    message.floats(&streams.rx_pps);
    message.counts(&streams.tx);
    message.maybe(&streams.rx);
    message.maybe(&streams.latency_p50_ns);
    message.maybe(&streams.latency_p99_ns);
    message.maybe(&streams.latency_max_ns);
    message
}

/// Puts them back, of this number of streams.
///
/// # Errors
/// The message has another form, or figures of other streams.
pub fn attach(live: &mut Live, message: &FiguresMessage, rows: usize) -> Result<(), String> {
    let mut figures = message.figures(rows)?;
    live.streams = LiveStreams {
        tx_pps: figures.floats()?,
        rx_pps: figures.floats()?,
        tx: figures.counts()?,
        rx: figures.maybe()?,
        lost: Vec::new(),
        latency_p50_ns: figures.maybe()?,
        latency_p99_ns: figures.maybe()?,
        latency_max_ns: figures.maybe()?,
    };
    figures.end()
}

/// Figures of all streams: of each part those that it has, with their indices in the plan.
pub fn streams(shares: &Shares, parts: &[Option<(&LiveStreams, &[u32])>]) -> LiveStreams {
    let mut all = LiveStreams::default();
    let of = |part: usize, index: usize| {
        let (streams, rows) = (*parts.get(part)?)?;
        Some((streams, columns::place(rows, index)?))
    };
    for (index, (from, to)) in shares.streams.values().enumerate() {
        let sent = of(*from, index);
        let got = match to {
            Some(to) if to != from => of(*to, index),
            _ => sent,
        };
        let tx = cell(sent, |streams| &streams.tx);
        let rx = cell(got, |streams| &streams.rx);
        all.tx_pps.push(cell(sent, |streams| &streams.tx_pps));
        all.rx_pps.push(cell(got, |streams| &streams.rx_pps));
        all.tx.push(tx);
        all.rx.push(rx);
        all.lost.push(rx.map(|rx| tx.saturating_sub(rx)));
        all.latency_p50_ns.push(cell(got, |streams| &streams.latency_p50_ns));
        all.latency_p99_ns.push(cell(got, |streams| &streams.latency_p99_ns));
        all.latency_max_ns.push(cell(got, |streams| &streams.latency_max_ns));
    }
    all
}

/// A figure; zero where there is none.
fn cell<T: Copy + Default>(row: Option<(&LiveStreams, usize)>, column: fn(&LiveStreams) -> &Vec<T>) -> T {
    row.and_then(|(streams, place)| column(streams).get(place)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of two streams, by the number of the part.
    fn live(n: u64) -> Live {
        let mut live = Live::default();
        let streams = &mut live.streams;
        streams.tx_pps = vec![n as f64 + 0.1, 0.0];
        streams.rx_pps = vec![1e-310, n as f64];
        streams.tx = vec![n * 100, n * 100 + 7];
        streams.rx = vec![Some(n * 10), None];
        streams.lost = vec![Some(n), None];
        streams.latency_p50_ns = vec![None, Some(n)];
        streams.latency_p99_ns = vec![None, Some(n + 1)];
        streams.latency_max_ns = vec![Some(u64::MAX), Some(n + 2)];
        live
    }

    /// As it arrives.
    fn sent(mut live: Live) -> (Live, FiguresMessage) {
        let mut message = detach(&mut live);
        let block = message.detach();
        let text = serde_json::to_vec(&message).unwrap();
        let mut arrived: FiguresMessage = serde_json::from_slice(&text).unwrap();
        arrived.attach(block);
        (live, arrived)
    }

    #[test]
    fn figures_of_all_machines_are_put_together_by_their_places() {
        let parts = [1, 2].map(|n| {
            let (mut live, message) = sent(live(n));
            assert!(live.streams.tx.is_empty());
            attach(&mut live, &message, 2).unwrap();
            live
        });
        let shares = Shares {
            streams: [("a", (0, Some(1))), ("b", (1, None)), ("c", (0, Some(0)))]
                .map(|(name, ends)| (name.to_owned(), ends))
                .into(),
            ..Shares::default()
        };
        let rows = [[0, 2], [0, 1]];
        let there = |n: usize| Some((&parts[n].streams, &rows[n][..]));
        let all = streams(&shares, &[there(0), there(1)]);
        assert_eq!((all.tx, all.rx), (vec![100, 207, 107], vec![Some(20), None, None]));
        assert_eq!(all.lost, [Some(80), None, None]);
        assert_eq!((all.tx_pps, all.rx_pps), (vec![1.1, 0.0, 0.0], vec![1e-310, 2.0, 1.0]));
        assert_eq!(all.latency_p50_ns, [None, Some(2), Some(1)]);
        assert_eq!(all.latency_p99_ns, [None, Some(3), Some(2)]);
        assert_eq!(all.latency_max_ns, [Some(u64::MAX), Some(4), Some(3)]);
        // Of one that has none yet, they are zero.
        let one = streams(&shares, &[there(0), None]);
        assert_eq!((one.tx, one.rx, one.lost), (vec![100, 0, 107], vec![None; 3], vec![None; 3]));
    }

    #[test]
    fn figures_of_other_streams_are_refused() {
        let (mut live, message) = sent(live(1));
        for rows in [0, 1, 3] {
            assert!(attach(&mut live, &message, rows).unwrap_err().contains("figures of 2 streams"));
        }
        let nothing = FiguresMessage::new(2);
        assert!(attach(&mut live, &nothing, 2).unwrap_err().contains("end too soon"));
    }
}
