//! A router of a link-state protocol, and what its neighbour sends.

use linkstate::{Router, RouterHost, Routers, RoutersConfig};
use units::Nanos;

/// A port with one router, on virtual time.
pub(crate) struct Port<R: Router> {
    pub(crate) routers: Routers<R>,
    pub(crate) now: Nanos,
    /// Frames that the router has sent.
    pub(crate) sent: u64,
    may_concern: fn(&[u8]) -> bool,
}

impl<R: Router> Port<R> {
    /// A router that has begun.
    pub(crate) fn new(config: R::Config, rate: u32, may_concern: fn(&[u8]) -> bool) -> Self {
        let hosts = vec![RouterHost { mac: [2, 0, 0, 0, 0, 2], vlans: wire::Vlans::NONE, mtu: 1_500 }];
        let mut routers = Routers::new(RoutersConfig { hosts, routers: vec![config], rate, seed: 1 });
        let now = Nanos::from_secs(1);
        routers.begin(now, 1);
        let mut port = Self { routers, now, sent: 0, may_concern };
        port.pass(Nanos::from_millis(10));
        port
    }

    /// Takes in a frame of the neighbour.
    pub(crate) fn take(&mut self, frame: &[u8]) {
        assert!((self.may_concern)(frame));
        assert!(self.routers.take(self.now, frame));
        self.pass(Nanos::from_millis(5));
    }

    /// Runs for `span`.
    pub(crate) fn pass(&mut self, span: Nanos) {
        let end = self.now + span;
        loop {
            let mut frames = Vec::new();
            self.routers.poll(self.now, &mut frames);
            for frame in &frames {
                assert!((self.may_concern)(frame) && frame.len() <= 1_514, "{} bytes", frame.len());
            }
            self.sent += frames.len() as u64;
            let due = self.routers.next_due().max(Nanos(self.now.0 + 1));
            if due > end {
                self.now = end;
                return;
            }
            self.now = due;
        }
    }

    /// Checks that the router can still be ended.
    pub(crate) fn end(mut self) {
        self.routers.shut(self.now);
        self.pass(Nanos::from_secs(4));
        assert!(self.routers.is_over());
    }
}
