//! Ends of flows that get bytes of any kind: an entry of sessions, and one flow of an end of it.

use session::plan::{
    AppPlan, Carrier, LoadPlan, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, QuicOptions,
    SelectionOrder, SessionPlan, SideHost, SidePlan, TlsPlan,
};
use session::{Apps, Counts, Flow};
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io, TcpOptions, UdpOptions};
use units::{Nanos, Pps};

pub(crate) const NOW: Nanos = Nanos(1_000_000);
pub(crate) const CLIENT: GroupId = GroupId(0);
pub(crate) const SERVER: GroupId = GroupId(1);

/// An entry with both ends of an application: over QUIC if it is secured, else over TCP.
pub(crate) fn entry(app: AppPlan, tls: Option<TlsPlan>) -> [SessionPlan; 1] {
    let side = SidePlan {
        port: 0,
        hosts: vec![SideHost::default()],
        mtu: 1500,
        ttl: 64,
        tos: 0,
        tcp: TcpOptions::default(),
        udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::ZERO },
        tunnel: None,
        pppoe: None,
    };
    let pool = PoolPlan { addresses: Vec::new(), ports: 1..=1, begin: PortBegin::First };
    [SessionPlan {
        name: String::new(),
        carrier: if tls.is_some() { Carrier::Udp } else { Carrier::Tcp },
        client: Some(side.clone()),
        server: Some(side),
        clients: pool.clone(),
        servers: pool,
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(app),
        tunnel: None,
        tls: tls.map(Arc::new),
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Constant(Pps::new(1))),
        patience: Patience::default(),
        verify: false,
        seed: 0,
    }]
}

/// Counts of an end after these pieces of a stream, and a FIN, if all that it sends arrives.
pub(crate) fn counts<'a>(
    plans: &[SessionPlan],
    group: GroupId,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Counts {
    let mut apps = Apps::new(plans, 0, 1, |_| unreachable!("nothing is secured"));
    let mut flow = if group == CLIENT { apps.start(NOW, group, 0) } else { Flow::default() };
    let (mut asked, mut acknowledged, mut over) = (0, 0, false);
    let mut tell = |apps: &mut Apps, flow: &mut Flow, tell: &mut dyn FnMut(&mut Apps, &mut Flow, &mut Io)| {
        if over {
            return;
        }
        let mut io = Io::new(FlowId(0), group);
        tell(apps, flow, &mut io);
        (over, asked) = (io.asked_to_abort(), asked + io.asked());
        // All bytes can be written, and written again; all of them arrive.
        while !over && acknowledged < asked {
            let mut once = vec![0; (asked - acknowledged) as usize];
            apps.fill(flow, group, acknowledged, &mut once);
            for (index, piece) in once.chunks(700).enumerate() {
                let mut again = vec![0; piece.len()];
                apps.fill(flow, group, acknowledged + index as u64 * 700, &mut again);
                assert_eq!(piece, again);
            }
            acknowledged = asked;
            let mut io = Io::new(FlowId(0), group);
            apps.acknowledged(NOW, flow, &mut io, asked);
            (over, asked) = (io.asked_to_abort(), asked + io.asked());
        }
    };
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.opened(NOW, flow, io));
    for piece in pieces {
        tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.received(NOW, flow, io, piece));
    }
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.finished(NOW, flow, io));
    let end = if over { End::Aborted } else { End::Closed };
    ended(&mut apps, &mut flow, group, end)
}

/// Counts of an end after the end of its only flow: that completed, or failed once.
pub(crate) fn ended(apps: &mut Apps, flow: &mut Flow, group: GroupId, end: End) -> Counts {
    apps.closed(NOW, flow, FlowId(0), group, end);
    assert_eq!(apps.extras(), 0);
    assert_eq!(apps.counts(group).failed_in_all() + apps.counts(group).completed, 1);
    apps.counts(group).clone()
}
