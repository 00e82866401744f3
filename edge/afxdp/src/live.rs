//! Ports of `xdp:`: the queues of AF_XDP, with one that sends live frames in front of the sending ones, and records of test
//! packets beside the receiving ones.

use os::link::LinkFacts;
use os::xdp_features;
use port::{PortError, PortErrorKind, Queues};
use std::io;
use std::sync::Arc;
use xdp::{Intake, LiveCounts, LiveFrames};

/// Name of such a port's driver in results.
pub(crate) const DRIVER: &str = "xdp_live_frames";

/// The queues of an AF_XDP port with live frames, and with records of `intake`, or why there is none.
pub(crate) fn wrap(
    device: &str,
    interface: &LinkFacts,
    queues: Queues,
    intake: Result<&Intake, String>,
    counts: &Arc<LiveCounts>,
) -> Result<Queues, PortError> {
    let mut all = Queues { tx: Vec::new(), rx: Vec::new() };
    let mut records = intake.map(Intake::records);
    for (tx, rx) in queues.tx.into_iter().zip(queues.rx) {
        let live = LiveFrames::new(interface.index).map_err(|error| refusal(device, interface, &error))?;
        let records = match &mut records {
            Ok(records) => records.next().ok_or_else(|| "there are too few rings".to_owned()),
            Err(reason) => Err(reason.clone()),
        };
        let (tx, rx) = xdp::pair(tx, rx, live, records, counts.clone());
        all.tx.push(tx);
        all.rx.push(rx);
    }
    Ok(all)
}

/// Why the kernel does not take the program.
fn refusal(device: &str, interface: &LinkFacts, error: &io::Error) -> PortError {
    let remedy = |privileges: &str| format!("{privileges}use afxdp:{} instead", interface.name);
    let (kind, reason, remedy) = match error.kind() {
        io::ErrorKind::PermissionDenied => (
            PortErrorKind::Privilege,
            format!("this process may not load XDP programs: {error}"),
            remedy("run as root, or with CAP_BPF and CAP_NET_ADMIN, or "),
        ),
        io::ErrorKind::InvalidInput => (
            PortErrorKind::Driver,
            format!("the kernel does not take the program for live frames, which needs Linux 5.18: {error}"),
            remedy(""),
        ),
        _ => (PortErrorKind::Resource, format!("live frames can't be set up: {error}"), remedy("")),
    };
    PortError::new(device, kind, reason, remedy)
}

/// Whether frames of `xdp:` get to the other end of the interface `name`, whose number is `index`. The kernel drops them without a
/// word if they don't.
///
/// # Errors
/// They don't.
pub fn check_peer(device: &str, name: &str, index: u32) -> Result<(), PortError> {
    // Kernels before 6.3 do not tell.
    if xdp_features::transmits(index).unwrap_or(true) {
        return Ok(());
    }
    Err(PortError::new(
        device,
        PortErrorKind::State,
        format!("the other end of {name} does not receive frames that XDP sends"),
        format!("at the other end of the veth pair: ethtool -K PEER gro on; or use afxdp:{name}"),
    ))
}
