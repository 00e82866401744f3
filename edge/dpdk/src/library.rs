//! DPDK's libraries, opened when the first port needs them: the program itself is linked to none of them.
//!
//! `build.rs` compiles the shim against each DPDK that it finds, and links each to that DPDK's libraries. The program carries
//! these shared objects; the newest one whose libraries are on the machine is opened, from a file in memory.
//!
//! Invariants:
//! - [`Dpdk`] is the only way to DPDK's functions, and there is none before the address of each function is known.
//! - What was opened stays open: a [`Dpdk`] is good for the life of the process, on all threads.
//! - A failure is not remembered: the next port finds what was installed meanwhile.
//!
//! Other libraries that DPDK and its drivers bring along see its symbols (`RTLD_GLOBAL`), as if the program was linked to them:
//! drivers that are built elsewhere may count on it.

use crate::ffi::Functions;
use port::{PortError, PortErrorKind};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The shim for one DPDK.
struct Embedded {
    /// The number in the names of its libraries, such as 23 of `librte_eal.so.23`.
    abi: u32,
    /// The release that it was compiled against, such as `22.11.11`.
    version: &'static str,
    /// A shared object.
    object: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// DPDK, opened. Its functions may be called as DPDK allows it; most of them need EAL, which [`Lease`](crate::eal::Lease) starts.
#[derive(Clone, Copy)]
pub(crate) struct Dpdk(&'static Functions);

impl Deref for Dpdk {
    type Target = Functions;

    #[inline(always)]
    fn deref(&self) -> &Functions {
        self.0
    }
}

impl std::fmt::Debug for Dpdk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dpdk")
    }
}

static OPENED: OnceLock<Functions> = OnceLock::new();

/// DPDK if it was opened.
pub(crate) fn opened() -> Option<Dpdk> {
    OPENED.get().map(Dpdk)
}

/// Opens DPDK unless it is open. The error gives the reason for each DPDK that this program knows.
pub(crate) fn open() -> Result<Dpdk, String> {
    static OPENING: Mutex<()> = Mutex::new(());
    let _turn = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(dpdk) = opened() {
        return Ok(dpdk);
    }
    let mut reasons = Vec::new();
    for embedded in EMBEDDED {
        match embedded.load() {
            Ok(functions) => return Ok(Dpdk(OPENED.get_or_init(|| functions))),
            Err(reason) => reasons.push(reason),
        }
    }
    Err(reasons.join("; "))
}

/// Opens DPDK for a port.
pub(crate) fn open_for(device: &str) -> Result<Dpdk, PortError> {
    open().map_err(|reason| refusal(device, &reason, EMBEDDED))
}

/// The DPDKs that this program can open, by the number in the names of their libraries, the newest first.
pub(crate) fn abis() -> impl Iterator<Item = u32> {
    EMBEDDED.iter().map(|embedded| embedded.abi)
}

/// Why a port can't be had without DPDK, which can't be opened for `reason`.
fn refusal(device: &str, reason: &str, known: &[Embedded]) -> PortError {
    let error = |reason: String, remedy: &str| PortError::new(device, PortErrorKind::Driver, reason, remedy);
    if known.is_empty() {
        return error(
            "this port needs DPDK, and this program was built without it".to_owned(),
            "build it where DPDK's headers are (apt-get install libdpdk-dev), or use an afpacket: port, which needs no DPDK",
        );
    }
    let known: Vec<String> = known.iter().map(Embedded::name).collect();
    error(
        format!(
            "this port needs DPDK, which can't be opened: {reason}; this program can use {}",
            known.join(", ")
        ),
        "on Debian and Ubuntu: apt-get install librte-meta-bus librte-meta-mempool librte-meta-net; \
         or use an afpacket: port, which needs no DPDK",
    )
}

impl Embedded {
    /// For people: `DPDK 22.11 (ABI 23)`.
    fn name(&self) -> String {
        let release: Vec<&str> = self.version.split('.').take(2).collect();
        format!("DPDK {} (ABI {})", release.join("."), self.abi)
    }

    /// Opens the object, and with it DPDK's libraries.
    fn load(&self) -> Result<Functions, String> {
        let file = self.file().map_err(|error| format!("no file in memory for DPDK's shim: {error}"))?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("no zero byte");
        // SAFETY: the object is ours. It has no code of its own that runs now; that of DPDK's libraries only makes lists of what
        // they hold.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        let Some(handle) = NonNull::new(handle) else { return Err(last_error()) };
        // SAFETY: the names are those of the shim and of the DPDK that it was compiled against; ffi.rs declares them as they are
        // there. They stay loaded: nobody closes the handle if this succeeds.
        let functions = unsafe { Functions::resolve(|name| address(handle, name)) };
        if functions.is_err() {
            // SAFETY: opened above; no address of it is kept.
            unsafe { libc::dlclose(handle.as_ptr()) };
        }
        functions
    }

    /// The object as a file that only this process sees.
    fn file(&self) -> io::Result<File> {
        let name = format!("eagre-dpdk-{}", self.abi);
        // Its code is mapped, the file not executed. Linux before 6.3 does not know the difference.
        let sealed = MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL;
        let file = memfd_create(&name, sealed).or_else(|_| memfd_create(&name, MemfdFlags::CLOEXEC))?;
        let mut file = File::from(file);
        file.write_all(self.object)?;
        Ok(file)
    }
}

/// The address of a function of a library that is open, or of one that it brought along.
fn address(handle: NonNull<c_void>, name: &CStr) -> Result<NonNull<c_void>, String> {
    // SAFETY: an open handle and a string that ends with zero.
    NonNull::new(unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) }).ok_or_else(last_error)
}

/// The linker's message about this thread's last failure.
fn last_error() -> String {
    // SAFETY: returns null or a string of this thread's that is good until its next call to the linker; it is copied at once.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return "the linker gives no reason".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedded(abi: u32, version: &'static str) -> Embedded {
        Embedded { abi, version, object: b"no object" }
    }

    #[test]
    fn newest_is_tried_first() {
        assert!(abis().is_sorted_by(|newer, older| newer > older), "{:?}", abis().collect::<Vec<_>>());
    }

    #[test]
    fn an_object_that_is_none_is_an_error() {
        let reason = embedded(99, "98.11").load().err().expect("it can't be loaded");
        assert!(reason.contains("/proc/self/fd/"), "{reason}");
    }

    #[test]
    fn refusals_name_reason_releases_and_remedy() {
        let known = [embedded(25, "24.11.8"), embedded(23, "22.11")];
        let error =
            refusal("vdev:net_null0", "librte_eal.so.25: not there; librte_eal.so.23: not there", &known);
        assert_eq!((error.kind, error.device.as_str()), (PortErrorKind::Driver, "vdev:net_null0"));
        assert!(error.reason.contains("librte_eal.so.23: not there"), "{error}");
        assert!(
            error.reason.ends_with("this program can use DPDK 24.11 (ABI 25), DPDK 22.11 (ABI 23)"),
            "{error}"
        );
        assert!(
            error.remedy.contains("apt-get install librte-") && error.remedy.contains("afpacket:"),
            "{error}"
        );
        let error = refusal("memif:/x", "", &[]);
        assert!(error.reason.contains("built without it") && error.remedy.contains("libdpdk-dev"), "{error}");
    }
}
