//! Arrival times that a network card gives (linux/net_tstamp.h).
//!
//! Invariant: a card is set as it was before when its [`CardStamps`] are dropped.

use crate::ethtool::Asker;
use crate::link::check_name;
use port::KernelClock;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// `SIOCSHWTSTAMP` and `SIOCGHWTSTAMP`
const SET: u64 = 0x89b0;
const GET: u64 = 0x89b1;
/// `SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE`
const ABILITIES: u32 = 1 << 2 | 1 << 6;
/// `HWTSTAMP_FILTER_ALL`: every frame that comes in.
const FILTER_ALL: i32 = 1;

/// `struct hwtstamp_config`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Config {
    flags: i32,
    tx_type: i32,
    rx_filter: i32,
}

/// A card that stamps every frame that comes in.
#[derive(Debug)]
pub struct CardStamps {
    socket: OwnedFd,
    interface: String,
    before: Config,
    clock: File,
}

impl CardStamps {
    /// Has the card of `interface` stamp, in the network namespace of `socket`. Its stamps on sending stay as they are: a PTP
    /// daemon may need it.
    ///
    /// # Errors
    /// Why it does not, and the remedy.
    pub fn start(socket: BorrowedFd<'_>, interface: &str) -> Result<Self, String> {
        let other = "use 'timestamps: kernel'";
        let failed = |what: &str, error: &io::Error| format!("{what}: {error}; {other}");
        let socket = socket.try_clone_to_owned().map_err(|error| failed("no socket for it", &error))?;
        let asker = Asker::of(socket.try_clone().map_err(|error| failed("no socket for it", &error))?);
        let (abilities, clock, filters) = asker.stamping(interface).unwrap_or_default();
        if abilities & ABILITIES != ABILITIES || filters & 1 << FILTER_ALL == 0 {
            let reason = "its card does not stamp all frames that come in";
            return Err(format!("{reason} ('ethtool -T {interface}' shows what it does); {other}"));
        }
        let Some(clock) = clock else { return Err(format!("its card has no clock to read; {other}")) };
        let path = format!("/dev/ptp{clock}");
        let clock = File::open(&path).map_err(|error| failed(&path, &error))?;
        let mut before = Config::default();
        // A driver that can't be read is in the state after start-up.
        let _ = config(&socket, interface, GET, &mut before);
        let mut after = Config { rx_filter: FILTER_ALL, ..before };
        config(&socket, interface, SET, &mut after)
            .map_err(|error| failed("its card can't be set to stamp (this needs CAP_NET_ADMIN)", &error))?;
        Ok(Self { socket, interface: interface.to_owned(), before, clock })
    }

    /// The card's clock.
    pub fn clock(&self) -> KernelClock {
        // `FD_TO_CLOCKID` of linux/posix-timers.h.
        KernelClock(!self.clock.as_raw_fd() << 3 | 3)
    }
}

impl Drop for CardStamps {
    fn drop(&mut self) {
        let _ = config(&self.socket, &self.interface, SET, &mut self.before.clone());
    }
}

/// Reads or writes a card's settings.
fn config(socket: &OwnedFd, interface: &str, command: u64, config: &mut Config) -> io::Result<()> {
    check_name(interface)?;
    // SAFETY: an ifreq of zeros is valid: a name and a union of plain numbers and pointers nobody follows.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut *config).cast();
    // SAFETY: `request` names the interface and points to the structure that both commands read and write.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &mut request) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn an_interface_without_a_card_says_so() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let reason = CardStamps::start(socket.as_fd(), "lo").unwrap_err();
        assert!(reason.contains("'ethtool -T lo'") && reason.contains("'timestamps: kernel'"), "{reason}");
        assert!(CardStamps::start(socket.as_fd(), "no-such-interface").is_err());
    }
}
