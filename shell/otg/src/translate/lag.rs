//! LAGs: ports that run LACP, or are bundled without it.
//!
//! In the model traffic of a lag is spread over its ports; here each flow names its port.

use super::{LagPlan, LagPort};
use crate::node::Node;
use profile::document::{Duration, LacpActivityDoc, LacpDoc, LacpTimeoutDoc, Mac, Name};
use units::Nanos;

/// Numbers that are not given: the profile finds its own.
const AUTO: u64 = 0;
/// Seconds after which a silent partner expires.
const SHORT_S: u64 = 3;
const LONG_S: u64 = 90;
/// Nobody waits while a configuration's protocols come up.
const WAIT: Nanos = Nanos::from_secs(10);

/// A lag in the making.
pub(super) struct Lag {
    pub(super) plan: LagPlan,
    system: Option<Mac>,
    system_priority: u16,
    key: Option<u16>,
    profile_name: String,
}

/// Role of a port in its LAG.
pub(super) struct Member {
    /// Absent in a static lag.
    pub(super) document: Option<LacpDoc>,
    pub(super) mac: Option<Mac>,
    pub(super) mtu: Option<u32>,
}

/// Reads the lag with this number.
pub(super) fn lag(node: &Node<'_>, number: usize) -> Lag {
    let (name, path) = (node.text("name").to_owned(), node.path().to_owned());
    let min_links = node.whole("min_links");
    let protocol = node.child("protocol");
    let speaks_lacp = protocol.choice() != "static";
    // Whom it tells apart from others is nobody's business on the link.
    protocol.child("static").whole("lag_id");
    let lacp = protocol.child("lacp");
    let system = lacp.quantity::<Mac>("actor_system_id").filter(|mac| mac.0 != [0; 6]);
    let key = lacp.whole("actor_key");
    Lag {
        plan: LagPlan { name, path, min_links, speaks_lacp, ports: Vec::new() },
        system,
        system_priority: lacp.whole("actor_system_priority") as u16,
        key: given(key),
        profile_name: format!("lag{number}"),
    }
}

/// Reads the lag's port at `port`.
pub(super) fn member(lag: &mut Lag, node: &Node<'_>, port: usize) -> Member {
    let (lacp, ethernet) = (node.child("lacp"), node.child("ethernet"));
    lag.plan.ports.push(LagPort { port, path: node.path().to_owned() });
    ethernet.text("name");
    if !ethernet.items("vlans").is_empty() {
        ethernet.fail_at("vlans", "not supported: give VLANs to devices");
    }
    // The partner says how often it wants LACPDUs.
    if lacp.whole("lacpdu_periodic_time_interval") != AUTO {
        lacp.fail_at(
            "lacpdu_periodic_time_interval",
            "not supported: the partner's timeout determines how often LACPDUs are sent; use 0",
        );
    }
    let timeout = match lacp.whole("lacpdu_timeout") {
        AUTO | SHORT_S => LacpTimeoutDoc::Short,
        LONG_S => LacpTimeoutDoc::Long,
        other => {
            lacp.fail_at(
                "lacpdu_timeout",
                format!("not supported: {other}; use {SHORT_S}, {LONG_S}, or {AUTO} for {SHORT_S}"),
            );
            LacpTimeoutDoc::Short
        }
    };
    let activity = match lacp.text("actor_activity") {
        "passive" => LacpActivityDoc::Passive,
        _ => LacpActivityDoc::Active,
    };
    let document = LacpDoc {
        lag: Name(lag.profile_name.clone()),
        system: lag.system.clone(),
        system_priority: Some(lag.system_priority),
        key: lag.key,
        port: given(lacp.whole("actor_port_number")),
        port_priority: lacp.whole("actor_port_priority") as u16,
        activity,
        timeout,
        wait: Duration(WAIT),
    };
    Member {
        document: lag.plan.speaks_lacp.then_some(document),
        mac: ethernet.has("mac").then(|| ethernet.quantity("mac")).flatten(),
        mtu: ethernet.has("mtu").then(|| ethernet.whole("mtu") as u32),
    }
}

fn given(number: u64) -> Option<u16> {
    (number != AUTO).then_some(number as u16)
}
