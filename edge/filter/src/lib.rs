//! Which packets are meant: filters as tcpdump and Wireshark take them, compiled and run by libpcap.
//!
//! Not here: the source of packets. Nothing is opened, and no interface is accessed.
//!
//! Invariants:
//! - libpcap is opened with the first filter, and stays open; a machine that lacks it can do all but filter.
//! - A [`Filter`] holds a program that libpcap's compiler made, which is what its interpreter trusts.

#![allow(unsafe_code)]

mod ffi;

use ffi::Pcap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr;

/// A compiled filter for Ethernet frames. See pcap-filter(7) for its language.
pub struct Filter {
    pcap: &'static Pcap,
    program: ffi::Program,
    text: String,
}

// SAFETY: a program is plain memory of its own that nothing changes after it is compiled.
unsafe impl Send for Filter {}
// SAFETY: running a program only reads it; registers and memory of the interpreter are on its caller's stack.
unsafe impl Sync for Filter {}

/// Opens libpcap, if it is there: for a process that can't open it later, because it will be confined.
pub fn prepare() {
    // Without it, the first filter says why.
    let _ = Pcap::open();
}

/// Why there is no such filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError {
    /// The filter.
    pub text: String,
    /// Error message of libpcap.
    pub reason: String,
    /// Whether the filter is wrong, and not the machine, which lacks libpcap.
    pub is_bad_input: bool,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter '{}': {}", self.text, self.reason)
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Compiles a filter for Ethernet frames of which at most `snap_len` bytes are inspected. An empty one matches
    /// everything.
    ///
    /// Names of hosts in it are resolved as the system does it, which may take its time: not for a packet's thread.
    pub fn compile(text: &str, snap_len: u32) -> Result<Self, FilterError> {
        let fail = |reason: String| FilterError { text: text.to_owned(), reason, is_bad_input: true };
        let pcap = Pcap::open().map_err(|reason| FilterError {
            text: text.to_owned(),
            reason: format!(
                "filters need libpcap: {reason}. On Debian and Ubuntu: apt-get install libpcap0.8"
            ),
            is_bad_input: false,
        })?;
        let source = CString::new(text).map_err(|_| fail("it has a zero byte in it".to_owned()))?;
        // What a program returns for a match is this number, so it can't be zero.
        let snap_len = snap_len.clamp(1, i32::MAX as u32).cast_signed();
        // SAFETY: opens nothing; returns a handle or null.
        let handle = unsafe { (pcap.open_dead)(ffi::ETHERNET, snap_len) };
        if handle.is_null() {
            return Err(fail("libpcap has no memory left".to_owned()));
        }
        let mut program = ffi::Program { len: 0, instructions: ptr::null_mut() };
        // SAFETY: the handle is open, the program is empty, the text ends with zero; all outlive the call.
        let compiled =
            unsafe { (pcap.compile)(handle, &mut program, source.as_ptr(), 1, ffi::NETMASK_UNKNOWN) };
        let reason = (compiled != 0).then(|| {
            // SAFETY: the handle is open; the message in it ends with zero and is copied before the handle is closed.
            unsafe { CStr::from_ptr((pcap.geterr)(handle)) }.to_string_lossy().into_owned()
        });
        // SAFETY: the handle is open and not used any more; a program does not refer to it.
        unsafe { (pcap.close)(handle) };
        match reason {
            Some(reason) => Err(fail(reason)),
            None => Ok(Self { pcap, program, text: text.to_owned() }),
        }
    }

    /// Whether a frame, without FCS, matches. `original_len` is its length on the link, bytes, of which `frame` may be
    /// only the beginning; what lies beyond matches nothing.
    #[inline]
    pub fn matches(&self, frame: &[u8], original_len: u32) -> bool {
        // SAFETY: the program is one that `pcap_compile` made; the interpreter checks every access to the frame against
        // its length, which is that of the slice.
        unsafe {
            (self.pcap.bpf_filter)(
                self.program.instructions,
                frame.as_ptr(),
                original_len,
                frame.len() as u32,
            ) != 0
        }
    }

    /// The filter as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: the program was compiled and is freed once; `pcap_freecode` leaves it empty.
        unsafe { (self.pcap.freecode)(&mut self.program) };
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("text", &self.text).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
