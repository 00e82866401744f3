//! Frames of any bytes to virtual routers in each state.

use ::emulate::vrrp::{VirtualRouters, VrrpConfig, VrrpInvalid, VrrpState, VrrpVersion, vrrp_may_concern};
use std::net::IpAddr;
use units::Nanos;
use wire::Vlans;

const NOW: Nanos = Nanos::from_secs(10);

/// A virtual router that receives a frame counts an advertisement once, continues to send at its interval or to wait, and
/// ends.
pub(super) fn check(how: u8, frame: &[u8]) {
    let mut routers = routers(how);
    let before = routers.routers()[0].state();
    let heard = routers.take(NOW, frame);
    assert!(!heard || vrrp_may_concern(frame), "a frame that no worker would pass on");
    let router = &routers.routers()[0];
    let counts = router.counts();
    let invalid: u64 = counts.invalid.iter().sum();
    assert!(counts.received + invalid + routers.strangers() + counts.replies <= 1);
    assert!(counts.received > 0 || router.state() == before, "only an advertisement changes the state");
    assert_eq!(counts.invalid.len(), VrrpInvalid::ALL.len());
    let (mut frames, mut now) = (Vec::new(), NOW);
    for _ in 0..40 {
        routers.poll(now, &mut frames);
        assert!(routers.next_due() > now, "what is due is done");
        now = routers.next_due();
    }
    assert!(frames.len() <= 44 && frames.iter().all(|frame| vrrp_may_concern(frame) || frame.len() >= 42));
    routers.shut(now);
    routers.poll(now, &mut frames);
    assert!(routers.next_due() == Nanos::MAX && routers.active() == 0, "all have left");
    assert_eq!(routers.routers()[0].state(), VrrpState::Initialize);
}

/// A Backup of version 3 or 2 over IPv4 or over IPv6, or an Active one.
fn routers(how: u8) -> VirtualRouters {
    let mut routers =
        VirtualRouters::new(vec![config(how, 2, if how.is_multiple_of(2) { 100 } else { 254 })]);
    routers.begin(Nanos::ZERO);
    routers.poll(if how.is_multiple_of(2) { Nanos::ZERO } else { NOW }, &mut Vec::new());
    if how.is_multiple_of(2) {
        // Not due before the frame.
        routers.shut(Nanos::ZERO);
        routers.routers_mut().iter_mut().for_each(|router| {
            router.come_back(NOW);
        });
    }
    routers
}

fn config(how: u8, last: u8, priority: u8) -> VrrpConfig {
    let is_v6 = how & 2 != 0;
    let version = if how & 6 == 4 { VrrpVersion::V2 } else { VrrpVersion::V3 };
    let ip = |last: u8| match is_v6 {
        true => IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, u16::from(last)]),
        false => IpAddr::from([10, 0, 0, last]),
    };
    VrrpConfig {
        name: String::new(),
        host: 0,
        vlans: Vlans::NONE,
        local: ip(last),
        vrid: 7,
        version,
        addresses: vec![ip(1)],
        priority,
        interval_cs: 100,
        preempt: true,
        preempt_delay: Nanos::ZERO,
        accept: true,
        pseudo_header: true,
        resign: true,
        leave: None,
        rejoin: None,
    }
}

/// Advertisements and announcements of another router of each kind.
pub(super) fn seeds() -> impl Iterator<Item = Vec<u8>> {
    (0..8).flat_map(|how| {
        let mut other = VirtualRouters::new(vec![config(how, 3, 255)]);
        let mut frames = Vec::new();
        other.begin(NOW);
        other.poll(NOW, &mut frames);
        frames.into_iter().map(move |frame| [&[how], &frame[..]].concat())
    })
}
