//! The library's congestion control, CUBIC (RFC 9438), with a larger least window.
//!
//! Not here: what is lost and when, which is the library's.

use quinn_proto::congestion::{Controller, ControllerFactory, CubicConfig};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Datagrams of the least window. RFC 9002 section 7.2 recommends two. That many may be in flight when a server's handshake is done,
/// sent before it was, and the library has no timer for them then: it would send nothing more.
const LEAST: u64 = 4;

/// Makes the control of each connection.
#[derive(Default)]
pub(crate) struct Factory(Arc<CubicConfig>);

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Congestion { inner: self.0.clone().build(now, mtu), mtu })
    }
}

struct Congestion {
    inner: Box<dyn Controller>,
    mtu: u16,
}

impl Controller for Congestion {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &quinn_proto::RttEstimator,
    ) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.inner.on_congestion_event(now, sent, is_persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu;
        self.inner.on_mtu_update(mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window().max(LEAST * u64::from(self.mtu))
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), mtu: self.mtu })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
