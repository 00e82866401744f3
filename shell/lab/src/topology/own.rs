//! A device of the user's: a command starts it, in a namespace with two interfaces that the kernel does not use.

use super::kernel::{EAST_SIDE, WEST_SIDE, ports};
use super::profiles::{both_ways, profile};
use super::{LabPaths, Parameters};
use crate::LabError;
use crate::design::{Design, Namespace};

/// Name of the file that marks the device as up.
const READY: &str = "ready";

/// A router of the user's between the tester's two ports.
pub(super) fn router(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let command = parameters.dut_command.as_deref().unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into()).display().to_string();
    let mut design = Design::default();
    design.tester();
    // Nothing is forwarded, and no address answered for, but by the device.
    design.namespaces.push(Namespace { role: "dut".to_owned(), forwards: false, ipv6: false });
    design.link("tester.veth0", &[], "dut.west", &[]);
    design.link("tester.veth1", &[], "dut.east", &[]);
    let ready = paths.folder().join(READY);
    let [west4, west6] = WEST_SIDE;
    let [east4, east6] = EAST_SIDE;
    let variables = [
        ("EAGRE_WEST", "west"),
        ("EAGRE_EAST", "east"),
        ("EAGRE_WEST_IPV4", west4),
        ("EAGRE_EAST_IPV4", east4),
        ("EAGRE_WEST_IPV6", west6),
        ("EAGRE_EAST_IPV6", east6),
        ("EAGRE_READY", &paths.file(READY)),
    ];
    let mut words = vec!["env".to_owned()];
    words.extend(variables.map(|(name, value)| format!("{name}={value}")));
    // As if it had been typed where the lab was.
    words.extend(["sh", "-c", "cd \"$1\" && eval \"$2\"", "sh", &here, command].map(str::to_owned));
    design.device("dut", "dut", &words, ready);
    let about = "IPv4 through the device, both directions.";
    design.profile("ipv4", about, profile(about, parameters, &ports(parameters, false), &both_ways(false)));
    let about = "IPv6 through the device, both directions.";
    design.profile("ipv6", about, profile(about, parameters, &ports(parameters, true), &both_ways(true)));
    Ok(design)
}
