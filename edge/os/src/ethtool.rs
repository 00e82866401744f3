//! Drivers' data on their interfaces, over the ioctl that any user may send (linux/ethtool.h), in the network namespace
//! of the calling thread.
//!
//! Not here: changing anything.

use crate::link::check_name;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// A command that reads.
#[derive(Debug, Clone, Copy)]
enum Get {
    /// `struct ethtool_cmd`, 44 bytes.
    Settings = 0x01,
    /// `struct ethtool_drvinfo`, 196 bytes.
    Driver = 0x03,
    /// `struct ethtool_pauseparam`, 16 bytes.
    Pause = 0x12,
    /// `struct ethtool_value`, 8 bytes, here and below.
    Tso = 0x1e,
    Gso = 0x23,
    Flags = 0x25,
    Gro = 0x2b,
    /// `struct ethtool_channels`, 36 bytes.
    Channels = 0x3c,
    /// `struct ethtool_ts_info`, 44 bytes.
    Stamping = 0x41,
}

/// Words of a reply's buffer: more than any [`Get`] fills.
const WORDS: usize = 64;
type Answer = [u32; WORDS];

/// Pause frames an interface's link partner may send and receive (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Whether the link negotiates it.
    pub negotiated: bool,
    /// Whether received pause frames stop the sender.
    pub rx: bool,
    /// Whether a full receiver sends pause frames.
    pub tx: bool,
}

/// Flow control of the interface `name`; `None` if its driver has none.
pub fn pause(name: &str) -> Option<Pause> {
    let answer = get(name, Get::Pause).ok()?;
    Some(Pause { negotiated: answer[1] != 0, rx: answer[2] != 0, tx: answer[3] != 0 })
}

/// Work the kernel moves between frames and the device, by the names `ethtool -K` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offloads {
    /// The kernel joins received frames.
    pub gro: bool,
    /// The device joins received frames.
    pub lro: bool,
    /// The device cuts long frames.
    pub tso: bool,
    /// The kernel cuts long frames, late.
    pub gso: bool,
}

/// Offloads that are on at the interface `name`; `None` if there is no such interface.
pub fn offloads(name: &str) -> Option<Offloads> {
    const ETH_FLAG_LRO: u32 = 1 << 15;
    let value = |command| get(name, command).map(|answer| answer[1]);
    let gro = value(Get::Gro).ok()? != 0;
    let is_on = |command, mask: u32| value(command).is_ok_and(|value| value & mask != 0);
    Some(Offloads {
        gro,
        lro: is_on(Get::Flags, ETH_FLAG_LRO),
        tso: is_on(Get::Tso, u32::MAX),
        gso: is_on(Get::Gso, u32::MAX),
    })
}

/// Receive and transmit queues in use of the interface `name`; `None` if its driver does not report them.
pub fn queues(name: &str) -> Option<(u32, u32)> {
    Asker::open().ok()?.queues(name)
}

/// Asks in the network namespace of the thread that opened it, whichever thread uses it later.
#[derive(Debug)]
pub(crate) struct Asker(OwnedFd);

impl Asker {
    pub(crate) fn open() -> io::Result<Self> {
        net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
            .map(Self)
            .map_err(io::Error::from)
    }

    /// The same in the namespace of `socket`.
    pub(crate) fn of(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Of the interface `name`: `SOF_TIMESTAMPING_…` of all that it can, the number of its card's clock, and a bit for each
    /// `HWTSTAMP_FILTER_…` that it can.
    pub(crate) fn stamping(&self, name: &str) -> io::Result<(u32, Option<u32>, u32)> {
        let [_, abilities, clock, _, _, _, _, filters, ..] = self.get(name, Get::Stamping)?;
        Ok((abilities, i32::try_from(clock).ok().map(|clock| clock as u32), filters))
    }

    /// Bit rate of the interface `name`; `None` if its driver does not know it.
    pub(crate) fn speed_bps(&self, name: &str) -> Option<u64> {
        speed(&self.get(name, Get::Settings).ok()?)
    }

    /// Receive and transmit queues in use of the interface `name`; `None` if its driver does not report them.
    pub(crate) fn queues(&self, name: &str) -> Option<(u32, u32)> {
        // Command, then maximum and count of receive, transmit, other and combined channels.
        let [_, _, _, _, _, rx, tx, _, combined, ..] = self.get(name, Get::Channels).ok()?;
        Some((rx + combined, tx + combined))
    }

    fn get(&self, name: &str, command: Get) -> io::Result<Answer> {
        check_name(name)?;
        let mut answer = [0u32; WORDS];
        answer[0] = command as u32;
        // SAFETY: an ifreq of zeros is valid: a name and a union of plain numbers and pointers nobody follows.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = answer.as_mut_ptr().cast();
        // SAFETY: `request` names the interface and points to `answer`, which is longer than the structure of every command
        // in `Get`; none of them has a part of variable length.
        let rc = unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
        if rc == 0 { Ok(answer) } else { Err(io::Error::last_os_error()) }
    }
}

/// Driver of the interface `name`, and the bus address it gives.
pub(crate) fn driver(name: &str) -> Option<(String, String)> {
    let answer = get(name, Get::Driver).ok()?;
    Some((text(&answer, 4, 32), text(&answer, 100, 32)))
}

/// Bit rate of the interface `name`; `None` if its driver does not know it.
pub(crate) fn speed_bps(name: &str) -> Option<u64> {
    Asker::open().ok()?.speed_bps(name)
}

fn get(name: &str, command: Get) -> io::Result<Answer> {
    Asker::open()?.get(name, command)
}

fn bytes(answer: &Answer) -> impl Iterator<Item = u8> {
    answer.iter().flat_map(|word| word.to_ne_bytes())
}

/// Text inside a reply, by its offset in bytes, up to its NUL.
fn text(answer: &Answer, at: usize, len: usize) -> String {
    let text: Vec<u8> = bytes(answer).skip(at).take(len).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Speed in a `struct ethtool_cmd`: low half at byte 12, high half at byte 28, Mbit/s; all ones is unknown.
fn speed(answer: &Answer) -> Option<u64> {
    let bytes: Vec<u8> = bytes(answer).take(44).collect();
    let half = |at: usize| u32::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
    let mbps = half(28) << 16 | half(12);
    // Old drivers say unknown in 16 bits.
    (mbps != 0 && mbps != u32::MAX && mbps != 0xffff).then_some(u64::from(mbps) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_split_in_two_halves() {
        let answer = |low: u16, high: u16| {
            let mut words = [0u32; WORDS];
            let pair = |a: u16, b: u16| {
                u32::from_ne_bytes([a.to_ne_bytes(), b.to_ne_bytes()].concat().try_into().unwrap())
            };
            words[3] = pair(low, 0);
            words[7] = pair(high, 0);
            speed(&words)
        };
        assert_eq!(answer(10_000, 0), Some(10_000_000_000));
        assert_eq!(answer((100_000u32 & 0xffff) as u16, 1), Some(100_000_000_000));
        assert_eq!(answer(0xffff, 0xffff), None);
        assert_eq!(answer(0, 0), None);
    }

    #[test]
    fn loopback_has_no_channels_and_no_pause_frames() {
        assert_eq!((queues("lo"), pause("lo")), (None, None));
        for name in ["", "no-such-link", "a-name-that-is-far-too-long", "lo\0x"] {
            assert_eq!((pause(name), offloads(name), queues(name)), (None, None, None), "{name:?}");
        }
    }
}
