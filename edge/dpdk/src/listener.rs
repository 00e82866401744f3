//! Takes the listening socket of a memif server away once its last port is closed.
//!
//! DPDK's driver (22.11 to 25.11) removes the socket's file and frees its state of the socket, but neither closes the
//! descriptor nor notifies EAL's interrupt thread, which continues to poll it and would call the driver with freed
//! memory. Closing the descriptor alone would be worse: EAL ends the process when it finds one that is gone.
//!
//! To take a callback from EAL one must name its function, which is private to the driver. EAL only compares it, so the
//! functions of the driver's code are tried until one is it; that is a few thousand comparisons, once per process.

use crate::library::Dpdk;
use crate::watchdog;
use rustix::net::{self, SocketType};
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Part of the file name of the driver's plugin.
const PLUGIN: &[u8] = b"librte_net_memif";

/// Functions begin at multiples of it, on x86-64 and on ARM.
const ALIGNMENT: usize = if cfg!(target_arch = "x86_64") { 16 } else { 4 };

/// The driver's function, once it is known.
static CALLBACK: AtomicUsize = AtomicUsize::new(0);

/// Closes what a driver that has closed its last port at `socket` has left open. EAL must be locked.
pub(crate) fn close_leftover(dpdk: Dpdk, socket: &str) {
    // The driver removes the file together with the last port.
    if Path::new(socket).symlink_metadata().is_ok() {
        return;
    }
    for descriptor in watchdog::descriptors_at(Path::new(socket)) {
        if is_listener(descriptor) && unregister(dpdk, descriptor) {
            // SAFETY: the driver has forgotten it, and EAL has now.
            unsafe { libc::close(descriptor) };
        }
    }
}

fn is_listener(descriptor: RawFd) -> bool {
    // SAFETY: looked at for one system call each, under EAL's lock: only the driver would close it, and it has not.
    let socket = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    net::sockopt::socket_type(socket) == Ok(SocketType::SEQPACKET)
        && net::sockopt::socket_acceptconn(socket) == Ok(true)
}

/// Takes the descriptor from EAL's interrupt thread; whether that has forgotten it.
fn unregister(dpdk: Dpdk, descriptor: RawFd) -> bool {
    // SAFETY: makes a handle of EAL's with nothing but a descriptor, which is freed below.
    let handle = unsafe { dpdk.rte_intr_instance_alloc(0) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: a handle that was just made.
    unsafe { dpdk.rte_intr_fd_set(handle, descriptor) };
    let take = |function: usize| {
        for _ in 0..100 {
            // SAFETY: EAL compares the address with those of callbacks it knows for this descriptor, and calls none. All
            // arguments (-1) are meant.
            let code = unsafe {
                dpdk.rte_intr_callback_unregister(
                    handle,
                    function as *const c_void,
                    usize::MAX as *mut c_void,
                )
            };
            // The interrupt thread is just at it.
            if code != -libc::EAGAIN {
                return code;
            }
            std::thread::yield_now();
        }
        -libc::EAGAIN
    };
    // Some versions of the driver have told EAL. No function is at 0.
    let is_unknown = take(0) == -libc::ENOENT;
    let is_it = |function: usize| !is_unknown && take(function) > 0;
    let known = CALLBACK.load(Ordering::Relaxed);
    let found = match known {
        0 => code().into_iter().flat_map(|code| code.step_by(ALIGNMENT)).find(|function| is_it(*function)),
        known => Some(known).filter(|function| is_it(*function)),
    };
    // SAFETY: as above; EAL keeps copies of handles only.
    unsafe { dpdk.rte_intr_instance_free(handle) };
    if let Some(function) = found {
        CALLBACK.store(function, Ordering::Relaxed);
    }
    is_unknown || found.is_some()
}

/// Where the driver's code is.
fn code() -> Vec<Range<usize>> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the linker passes a library's description that is valid during the call, and what `code` gave it.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast::<Vec<Range<usize>>>());
            if info.dlpi_name.is_null()
                || !CStr::from_ptr(info.dlpi_name).to_bytes().windows(PLUGIN.len()).any(|part| part == PLUGIN)
            {
                return 0;
            }
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
            for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0)
            {
                let start = (info.dlpi_addr + header.p_vaddr) as usize;
                found.push(start.next_multiple_of(ALIGNMENT)..start + header.p_memsz as usize);
            }
        }
        0
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback writes to `found`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found
}
