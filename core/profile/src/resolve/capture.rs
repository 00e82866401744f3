//! Captures: where captured packets go.

use super::Resolver;
use crate::document::{CaptureDoc, DirectionDoc};
use crate::plan::{CapturePlan, CaptureStorage};
use units::Nanos;

/// Default number of captured bytes per packet: all.
const WHOLE: u64 = 65_535;
/// Least bytes between worker and disk, and least in a file or memory: room for a few of the longest packets.
const LEAST: u64 = 1_000_000;

impl Resolver<'_> {
    pub(super) fn capture(&mut self, path: &str, capture: &CaptureDoc) -> CapturePlan {
        let rotate = capture.rotate_size.is_some() || capture.rotate_time.is_some();
        if capture.ring.is_some() && rotate {
            let reason =
                "a ring in memory becomes one file at the end; leave out 'rotate_size' and 'rotate_time'";
            self.reading.fail(format!("{path}.ring"), reason);
        }
        if capture.rotate_size.is_some() && capture.rotate_time.is_some() {
            let reason = "'rotate_size' already determines when a new file begins";
            self.reading.fail(format!("{path}.rotate_time"), reason);
        }
        if capture.files.is_some() && !rotate {
            let reason = "needs 'rotate_size' or 'rotate_time': without them there is one file";
            self.reading.fail(format!("{path}.files"), reason);
        }
        let amounts = [
            ("rotate_size", capture.rotate_size.as_ref()),
            ("ring", capture.ring.as_ref()),
            ("buffer", Some(&capture.buffer)),
        ];
        for (key, bytes) in amounts {
            if bytes.is_some_and(|bytes| bytes.0 < LEAST) {
                self.reading.fail(format!("{path}.{key}"), "must be at least 1MB");
            }
        }
        if capture.rotate_time.as_ref().is_some_and(|time| time.0 < Nanos::from_millis(100)) {
            self.reading.fail(format!("{path}.rotate_time"), "too short: at least 100ms");
        }
        let snap = capture.snap.as_ref().map_or(WHOLE, |snap| snap.0);
        if !(14..=WHOLE).contains(&snap) {
            self.reading.fail(format!("{path}.snap"), format!("must be from 14B to {WHOLE}B"));
        }
        CapturePlan {
            file: capture.file.clone(),
            filter: capture.filter.clone().unwrap_or_default(),
            snap_bytes: snap as u32,
            rx: capture.direction != DirectionDoc::Tx,
            tx: capture.direction != DirectionDoc::Rx,
            storage: match (&capture.ring, &capture.rotate_size, &capture.rotate_time) {
                (Some(bytes), ..) => CaptureStorage::Ring { bytes: bytes.0 },
                (_, Some(bytes), _) => CaptureStorage::RotateBytes { bytes: bytes.0, files: capture.files },
                (.., Some(time)) => CaptureStorage::RotateTime { time: time.0, files: capture.files },
                _ => CaptureStorage::File,
            },
            buffer_bytes: capture.buffer.0,
        }
    }
}
