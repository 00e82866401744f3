//! Ports that send by XDP live frames: the queues of AF_XDP, with a program of ours in front of the sending ones.

use crate::id::Interface;
use os::link::LinkFacts;
use os::xdp_features;
use port::{PortError, PortErrorKind, Queues};
use std::io;
use std::sync::Arc;
use xdp::{LiveCounts, LiveFrames};

/// What such a port's driver is called in results.
pub(crate) const DRIVER: &str = "xdp_live_frames";

/// The queues of an AF_XDP port with live frames.
pub(crate) fn wrap(
    device: &str,
    interface: &LinkFacts,
    queues: Queues,
    counts: &Arc<LiveCounts>,
) -> Result<Queues, PortError> {
    let mut all = Queues { tx: Vec::new(), rx: Vec::new() };
    for (tx, rx) in queues.tx.into_iter().zip(queues.rx) {
        let live = LiveFrames::new(interface.index).map_err(|error| refusal(device, interface, &error))?;
        let (tx, rx) = xdp::pair(tx, rx, live, counts.clone());
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

/// Whether frames get to the other end of the interface. The kernel drops them without a word if they don't.
pub(crate) fn check_peer(device: &str, interface: &Interface) -> Result<(), PortError> {
    let Some(index) = interface.index else { return Ok(()) };
    // Kernels before 6.3 do not tell.
    if xdp_features::transmits(index).unwrap_or(true) {
        return Ok(());
    }
    let name = &interface.name;
    Err(PortError::new(
        device,
        PortErrorKind::State,
        format!("the other end of {name} does not receive frames that XDP sends"),
        format!("at the other end of the veth pair: ethtool -K PEER gro on; or use afxdp:{name}"),
    ))
}
