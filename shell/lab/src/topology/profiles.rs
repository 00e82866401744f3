//! Test profiles of topologies, as text.

use super::Parameters;
use std::fmt::Write;
use units::FrameLen;

/// Shortest IPv6 and UDP frame with room for the test signature.
const SHORTEST_V6: u32 = 84;

/// A port of a profile.
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    pub(super) device: String,
    pub(super) ip: &'a str,
    pub(super) gateway: Option<&'a str>,
    pub(super) speed: &'static str,
}

/// Declared speed of a veth pair, which has none. The kernel forwards part of it and the tester sends nearly as much,
/// so percentages of it are fine enough.
pub(super) const VETH: &str = "1Gbps";
/// Declared speed of each of four veth pairs, which the tester must fill at once.
pub(super) const SWITCHED: &str = "100Mbps";
/// Declared speed of shared memory.
pub(super) const SHARED_MEMORY: &str = "10Gbps";

/// A stream of a profile.
#[derive(Default)]
pub(super) struct Stream<'a> {
    pub(super) name: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) v6: bool,
    /// Lines of the stream's 'vary'.
    pub(super) vary: &'a [&'a str],
}

/// A kernel interface of the tester's namespace as a device.
pub(super) fn device(parameters: &Parameters, interface: &str) -> String {
    format!("{}:{interface}", if parameters.af_packet { "afpacket" } else { "afxdp" })
}

/// A profile with a criterion for low loss.
pub(super) fn profile(
    about: &str,
    parameters: &Parameters,
    ports: &[Port<'_>],
    streams: &[Stream<'_>],
) -> String {
    let mut text = format!("# {about}\nports:\n");
    for port in ports {
        let gateway = port.gateway.map_or_else(String::new, |gateway| format!(", gateway: \"{gateway}\""));
        let Port { name, device, ip, speed, .. } = port;
        let _ = writeln!(text, "  {name}: {{device: \"{device}\", ip: \"{ip}\"{gateway}, speed: {speed}}}");
    }
    text.push_str("streams:\n");
    for stream in streams {
        add_stream(&mut text, parameters, stream);
    }
    let _ = writeln!(text, "load: {{duration: {}, drain: 1s}}\ncriteria:", parameters.duration);
    for stream in streams {
        let _ = writeln!(text, "  streams.{}.loss_ratio: \"< 0.1%\"", stream.name);
    }
    text
}

fn add_stream(text: &mut String, parameters: &Parameters, stream: &Stream<'_>) {
    let Stream { name, from, to, v6, vary } = stream;
    let bytes = parameters.size.map_or(64, FrameLen::bytes);
    let bytes = if *v6 { bytes.max(SHORTEST_V6) } else { bytes };
    let family = if *v6 { "ipv6" } else { "ipv4" };
    let _ = write!(
        text,
        "  - name: {name}\n    from: {from}\n    to: {to}\n    packet: [{family}, {{udp: {{src: 1024, dst: 9}}}}]\n    \
         size: {bytes}B\n    rate: {}\n",
        parameters.rate
    );
    if !vary.is_empty() {
        text.push_str("    vary:\n");
        vary.iter().for_each(|line| text.push_str(&format!("      {line}\n")));
    }
}

/// Two streams, one in each direction.
pub(super) const fn both_ways(v6: bool) -> [Stream<'static>; 2] {
    [
        Stream { name: "eastward", from: "west", to: "east", v6, vary: &[] },
        Stream { name: "westward", from: "east", to: "west", v6, vary: &[] },
    ]
}
