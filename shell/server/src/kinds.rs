//! Profiles to start a common test from, by the kind of device or test: `eagre init` writes them, and the API hands them out.
//!
//! Not here: the profiles; they are examples, which tests check and run.

/// A profile to start from.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name.
    pub name: &'static str,
    /// Purpose.
    pub about: &'static str,
    /// The profile, with comments.
    pub text: &'static str,
    /// Test method that the profile is for; `None` if it is run as it is.
    pub method: Option<&'static str>,
}

macro_rules! kinds {
    ($($name:literal: $about:literal, $example:literal, $method:expr;)*) => {[$(Kind {
        name: $name,
        about: $about,
        text: include_str!(concat!("../../../examples/", $example, ".yaml")),
        method: $method,
    }),*]};
}

/// All kinds.
pub const KINDS: [Kind; 12] = kinds! {
    "router": "a router, IPv4 in both directions", "router-ipv4", None;
    "router6": "a router, IPv6 in both directions", "router-ipv6", None;
    "router-both": "a router, IPv4 and IPv6 together", "router-both", None;
    "firewall": "a firewall or NAT: HTTP, HTTPS and DNS through it", "firewall", None;
    "web": "a web server: pages over HTTP and HTTPS", "web-server-test", None;
    "switch": "a switch: frames between two ports of one network", "switch", None;
    "switch-bench": "a switch with four ports: meshed throughput, buffer, incast, head-of-line blocking", "switch-bench", Some("switch");
    "sessions": "limits of sessions through a device: connections per second, open connections", "bench-sessions", Some("sessions");
    "servers": "servers for clients of others: echo, web, DNS", "echo-server", None;
    "pppoe": "an access concentrator: a thousand PPPoE subscribers", "pppoe", None;
    "convergence": "a router with two paths: time until traffic takes the other one", "convergence", Some("convergence");
    "multicast": "a switch with IGMP snooping: joins, leaves, groups", "multicast-members", Some("multicast");
};
