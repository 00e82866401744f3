//! Keeps EAL's memory files open across a zero-copy memif port.
//!
//! Such a port shows its peer EAL's own memory, and the driver of DPDK 22.11 closes the descriptors of that memory when
//! the link goes down (`memif_free_regions`), although they are EAL's. The next port that hands memory to a peer (memif,
//! virtio) would then hand over whatever else the number has come to mean.

use std::ffi::c_int;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
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
            // SAFETY: duplicates a descriptor that is open; the copy is ours.
            let copy = unsafe {
                let copy = libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0);
                (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))?
            };
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
            // SAFETY: gives the lowest free number from `descriptor` on: that one, unless somebody has taken it, and then
            // the copy is closed again.
            unsafe {
                let back = libc::fcntl(copy.as_raw_fd(), libc::F_DUPFD_CLOEXEC, *descriptor);
                if back >= 0 && back != *descriptor {
                    libc::close(back);
                }
            }
        }
    }
}
