//! Ports with XDP programs of ours: the queues of AF_XDP, with one that sends live frames in front of the sending ones, and one
//! that records test packets in the place of the driver's.

use crate::id::Interface;
use crate::leftover::Program;
use os::link::{LinkFacts, Links, XdpMode};
use os::xdp_features;
use port::{PortError, PortErrorKind, Queues};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use xdp::{Intake, LiveCounts, LiveFrames};

/// What such a port's driver is called in results.
pub(crate) const DRIVER: &str = "xdp_live_frames";

/// The queues of an AF_XDP port with live frames, and with records of `intake`, or why there is none.
pub(crate) fn wrap(
    device: &str,
    interface: &LinkFacts,
    queues: Queues,
    intake: Result<&Intake, &String>,
    counts: &Arc<LiveCounts>,
) -> Result<Queues, PortError> {
    let mut all = Queues { tx: Vec::new(), rx: Vec::new() };
    let mut records = intake.map(Intake::records);
    for (tx, rx) in queues.tx.into_iter().zip(queues.rx) {
        let live = LiveFrames::new(interface.index).map_err(|error| refusal(device, interface, &error))?;
        let records = match &mut records {
            Ok(records) => records.next().ok_or_else(|| "there are too few rings".to_owned()),
            Err(reason) => Err((*reason).clone()),
        };
        let (tx, rx) = xdp::pair(tx, rx, live, records, counts.clone());
        all.tx.push(tx);
        all.rx.push(rx);
    }
    Ok(all)
}

/// Puts a program that records test packets in the place of `driver`'s, for `queues` queues from `first` on. Within: why test
/// packets can't be recorded here; then the driver's program stays.
///
/// # Errors
/// The driver's program is gone, and ours can't take its place: nothing would be received.
pub(crate) fn take_over(
    device: &str,
    interface: &LinkFacts,
    driver: Option<&Program>,
    first: u32,
    queues: u32,
) -> Result<Result<Intake, String>, PortError> {
    let name = &interface.name;
    let mut links = match Links::open() {
        Ok(links) => links,
        Err(error) => return Ok(Err(format!("interfaces can't be looked at: {error}"))),
    };
    let attached = links.by_index(interface.index).ok().and_then(|facts| facts.xdp);
    let (Some(driver), Some(attached)) = (driver, attached) else {
        return Ok(Err(format!("it is not known which XDP program is on {name}")));
    };
    if attached.mode != XdpMode::Driver {
        return Ok(Err(format!("the driver of {name} runs no XDP programs itself")));
    }
    let intake = driver.sockets().and_then(|sockets| Intake::new(sockets.as_fd(), first, queues));
    let mut intake = match intake {
        Ok(intake) => intake,
        Err(error) => return Ok(Err(format!("the kernel does not take the program: {error}"))),
    };
    if let Err(error) = links.detach_xdp(interface.index, attached.mode) {
        return Ok(Err(format!("the program of AF_XDP can't be replaced: {error}")));
    }
    // A link cannot replace a program. Frames that come in between are the kernel's, as before the port opened.
    intake.attach(interface.index).map_err(|error| {
        let reason = format!("the XDP program that records test packets can't be put on {name}: {error}");
        PortError::new(device, PortErrorKind::State, reason, format!("use afxdp:{name} instead"))
    })?;
    Ok(Ok(intake))
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
