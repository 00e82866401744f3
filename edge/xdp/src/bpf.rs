//! The system call bpf(2): maps, programs, runs, links.
//!
//! Not here: what the programs do.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i64 = 0;
const MAP_UPDATE_ELEM: i64 = 2;
const PROG_LOAD: i64 = 5;
const PROG_TEST_RUN: i64 = 10;
const LINK_CREATE: i64 = 28;

const MAP_TYPE_ARRAY: u32 = 2;
/// From queues to AF_XDP sockets.
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
/// The map's values can be mapped into a process.
const F_MMAPABLE: u32 = 1 << 10;
/// The program also takes frames in several buffers (Linux 5.18).
const F_XDP_HAS_FRAGS: u32 = 1 << 5;
/// A run's packets are frames that go where the program sends them.
const F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;

/// Where an XDP program runs (linux/if_link.h, XDP_FLAGS_…_MODE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's stack.
    Stack = 1 << 1,
    /// In the driver.
    Driver = 1 << 2,
}

/// Bytes of a name, with its final zero.
const NAME: usize = 16;

/// Makes the call.
///
/// # Safety
/// `attributes` must be right for `command`: the kernel reads and writes where they point.
pub unsafe fn call<T>(command: i64, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: the structure is as long as said; the rest is the caller's promise.
    let code =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(code as i32) }
}

fn name(text: &str) -> [u8; NAME] {
    let mut name = [0; NAME];
    let len = text.len().min(NAME - 1);
    name[..len].copy_from_slice(&text.as_bytes()[..len]);
    name
}

/// An array of this number of values of this size, which a process can map.
pub(crate) fn array(label: &str, bytes: u32, entries: u32) -> io::Result<OwnedFd> {
    map(label, MAP_TYPE_ARRAY, bytes, entries, F_MMAPABLE)
}

/// A map from queues to AF_XDP sockets.
pub(crate) fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    map("eagre_sockets", MAP_TYPE_XSKMAP, 4, queues, 0)
}

/// Puts a socket in the map's place for `queue`. It is bound, and goes from the map with itself.
pub(crate) fn set_socket(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let value = socket.as_raw_fd();
    let mut attributes = Attributes {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const queue) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    // SAFETY: key and value have four bytes, as the map says, and outlive the call.
    unsafe { call(MAP_UPDATE_ELEM, &mut attributes).map(drop) }
}

fn map(label: &str, kind: u32, bytes: u32, entries: u32, flags: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
        inner: u32,
        numa_node: u32,
        name: [u8; NAME],
    }
    let name = name(label);
    let mut attributes =
        Attributes { kind, key_bytes: 4, value_bytes: bytes, entries, flags, inner: 0, numa_node: 0, name };
    // SAFETY: no addresses in it; the descriptor is fresh.
    unsafe { call(MAP_CREATE, &mut attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// One instruction (RFC 9669 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Instruction {
    pub(crate) opcode: u8,
    /// Destination in the lower four bits, source in the upper ones.
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

/// Loads an XDP program. The error has the verifier's last words.
pub(crate) fn load(label: &str, program: &[Instruction]) -> io::Result<OwnedFd> {
    load_with(label, program, false)
}

/// The same; `is_for_long`: the program also takes frames in several buffers, of which it sees the first.
pub(crate) fn load_with(label: &str, program: &[Instruction], is_for_long: bool) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instructions: u32,
        program: u64,
        license: u64,
        log_level: u32,
        log_bytes: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; NAME],
    }
    let license = c"Apache-2.0";
    let mut log = vec![0u8; 65_536];
    let mut attributes = Attributes {
        kind: PROG_TYPE_XDP,
        instructions: program.len() as u32,
        program: program.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
        kernel_version: 0,
        flags: if is_for_long { F_XDP_HAS_FRAGS } else { 0 },
        name: name(label),
    };
    // SAFETY: the program has as many instructions as said, and outlives the call as the license does.
    let first = unsafe { call(PROG_LOAD, &mut attributes) };
    let code = match first {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) => {
            attributes.log_level = 1;
            attributes.log_bytes = log.len() as u32;
            attributes.log = log.as_mut_ptr() as u64;
            // SAFETY: as above; the kernel writes at most `log_bytes` to `log`.
            unsafe { call(PROG_LOAD, &mut attributes) }.map_err(|_| refusal(&error, &log))?
        }
        code => code?,
    };
    // SAFETY: the descriptor is fresh.
    Ok(unsafe { OwnedFd::from_raw_fd(code) })
}

/// Why the verifier refused.
fn refusal(error: &io::Error, log: &[u8]) -> io::Error {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let said = text.lines().rev().find(|line| !line.is_empty() && !line.starts_with("processed "));
    io::Error::new(error.kind(), format!("{error}: {}", said.unwrap_or("no reason given")))
}

/// For PROG_TEST_RUN.
#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    returned: u32,
    in_bytes: u32,
    out_bytes: u32,
    input: u64,
    output: u64,
    repeat: u32,
    duration: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    rest: u32,
}

/// Runs the program on `frames` frames that start as copies of `first`, and go where it sends them. `batch` frames are
/// handed on at a time, at most 256.
pub(crate) fn run_live(program: BorrowedFd<'_>, first: &[u8], frames: u32, batch: u32) -> io::Result<()> {
    let mut run = Run {
        program: program.as_raw_fd() as u32,
        in_bytes: first.len() as u32,
        input: first.as_ptr() as u64,
        repeat: frames,
        flags: F_TEST_XDP_LIVE_FRAMES,
        batch,
        ..Run::default()
    };
    // SAFETY: the kernel reads `in_bytes` of `first`, which outlives the call, and writes nothing.
    unsafe { call(PROG_TEST_RUN, &mut run).map(drop) }
}

/// Runs the program once on a copy of `frame`, which goes nowhere. Returns what the program returned and made of it.
#[cfg(test)]
pub(crate) fn run_once(program: BorrowedFd<'_>, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
    let mut made = vec![0; 4096];
    let mut run = Run {
        program: program.as_raw_fd() as u32,
        in_bytes: frame.len() as u32,
        out_bytes: made.len() as u32,
        input: frame.as_ptr() as u64,
        output: made.as_mut_ptr() as u64,
        repeat: 1,
        ..Run::default()
    };
    // SAFETY: the kernel reads `in_bytes` of `frame` and writes at most `out_bytes` to `made`; both outlive the call.
    unsafe { call(PROG_TEST_RUN, &mut run)? };
    made.truncate(run.out_bytes as usize);
    Ok((run.returned, made))
}

/// Attaches the program to the interface `index` of the calling thread's network namespace, for as long as the descriptor
/// is open.
pub(crate) fn attach(program: BorrowedFd<'_>, index: u32, mode: Mode) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        program: u32,
        interface: u32,
        kind: u32,
        flags: u32,
        rest: [u64; 4],
    }
    let mut attributes = Attributes {
        program: program.as_raw_fd() as u32,
        interface: index,
        kind: ATTACH_TYPE_XDP,
        flags: mode as u32,
        rest: [0; 4],
    };
    // SAFETY: no addresses in it; the descriptor is fresh.
    unsafe { call(LINK_CREATE, &mut attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}
