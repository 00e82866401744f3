//! Keeps EAL's memory files open across a zero-copy memif port.
//!
//! Such a port shows its peer EAL's own memory, and the driver of DPDK 22.11 closes the descriptors of that memory when
//! the link goes down (`memif_free_regions`), although they are EAL's. The next port that hands memory to a peer
//! (memif, virtio) would then hand over whatever else has that number by then.

use rustix::io::fcntl_dupfd_cloexec;
use std::ffi::c_int;
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// Descriptors to put back when they are gone.
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles {
    kept: Vec<(c_int, u64, OwnedFd)>,
}

fn inode(descriptor: c_int) -> Option<u64> {
    fs::metadata(format!("/proc/self/fd/{descriptor}")).ok().map(|meta| meta.ino())
}

impl MemoryFiles {
    /// Takes note of the files EAL's memory is in: `/memfd:nohuge`, `/memfd:seg_…`.
    pub(crate) fn keep() -> Self {
        let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let kept = entries.filter_map(|entry| {
            let target = fs::read_link(entry.path()).ok()?;
            let name = target.to_str()?.strip_prefix("/memfd:")?.to_owned();
            if !name.starts_with("nohuge") && !name.starts_with("seg_") {
                return None;
            }
            let descriptor: c_int = entry.file_name().to_str()?.parse().ok()?;
            // SAFETY: EAL opened it and keeps it open; a number that is not open any more is refused.
            let open = unsafe { BorrowedFd::borrow_raw(descriptor) };
            let copy = fcntl_dupfd_cloexec(open, 0).ok()?;
            Some((descriptor, inode(descriptor)?, copy))
        });
        Self { kept: kept.collect() }
    }
}

impl Drop for MemoryFiles {
    fn drop(&mut self) {
        for (descriptor, inode_then, copy) in &self.kept {
            if inode(*descriptor) == Some(*inode_then) {
                continue;
            }
            // The lowest free number from `descriptor` on: that one, unless somebody has taken it, and then it is closed
            // again.
            if let Ok(back) = fcntl_dupfd_cloexec(copy, *descriptor)
                && back.as_raw_fd() == *descriptor
            {
                // It is EAL's from here on.
                let _ = back.into_raw_fd();
            }
        }
    }
}
