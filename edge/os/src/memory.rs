//! Memory: how much this process may still take, and making it ready before workers use it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;

/// Bytes of the smallest page.
const PAGE: usize = 4096;

/// Makes the pages of `values` present, huge ones where the kernel gives them, so that no page fault and fewer address
/// translations fall into a worker's time. The values stay as they are.
pub fn make_present(values: &mut [u32]) {
    advise(values, rustix::mm::Advice::LinuxHugepage);
    for page in values.chunks_mut(PAGE / size_of::<u32>()) {
        // Read and written back, so that a zero page is replaced by a real one.
        page[0] = std::hint::black_box(page[0]);
    }
}

/// Lets the pages of `values` become present one by one, the smallest there are, when they are first written.
pub fn use_small_pages(values: &mut [u32]) {
    advise(values, rustix::mm::Advice::LinuxNoHugepage);
}

fn advise(values: &mut [u32], advice: rustix::mm::Advice) {
    let bytes = size_of_val(values);
    let start = values.as_mut_ptr().addr();
    let first = start.next_multiple_of(PAGE);
    let last = (start + bytes) / PAGE * PAGE;
    if last > first {
        // SAFETY: the range lies inside a slice we borrow mutably, and the advice changes no contents. A kernel without
        // huge pages refuses it, which is no loss.
        unsafe {
            let address = std::ptr::with_exposed_provenance_mut(first);
            let _ = rustix::mm::madvise(address, last - first, advice);
        }
    }
}

/// Gives memory that was freed back to the system: the allocator keeps it, by the thread that had it.
pub fn give_back() {
    // SAFETY: the call has no preconditions, and touches nothing that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes this process may still take: what the machine has to give, its control group and its own limit on addresses
/// allow. What can't be read does not limit.
pub fn available_bytes() -> u64 {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = mem_available(&text("/proc/meminfo"));
    let group = cgroup_free(&text("/proc/self/cgroup"), &text);
    let addresses = address_limit().map(|limit| {
        let pages = text("/proc/self/statm").split(' ').next().and_then(|n| n.parse::<u64>().ok());
        limit.saturating_sub(pages.unwrap_or(0) * PAGE as u64)
    });
    [machine, group, addresses].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// The system's allocator, except that a program without memory ends with a sentence instead of a signal.
pub struct OrExit {
    /// What is written to standard error.
    pub message: &'static [u8],
    /// Exit code of the process.
    pub code: i32,
}

impl OrExit {
    fn check(&self, address: *mut u8) -> *mut u8 {
        if address.is_null() {
            // SAFETY: both calls are allowed anywhere and need no memory.
            unsafe {
                libc::write(libc::STDERR_FILENO, self.message.as_ptr().cast(), self.message.len());
                libc::_exit(self.code);
            }
        }
        address
    }
}

// SAFETY: every call goes to the system's allocator with what the caller vouches for; what comes back is not null.
unsafe impl GlobalAlloc for OrExit {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        self.check(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        self.check(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        self.check(unsafe { System.realloc(address, layout, new_size) })
    }
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(value.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// What the control group (version 2) leaves; `None` without a limit.
fn cgroup_free(own: &str, text: &dyn Fn(&str) -> String) -> Option<u64> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |file: &str| text(&format!("/sys/fs/cgroup{path}/{file}")).trim().parse::<u64>().ok();
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

fn address_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_read() {
        assert_eq!(mem_available("MemTotal: 9 kB\nMemAvailable:     16 kB\n"), Some(16_384));
        let files = |path: &str| {
            let value = if path == "/sys/fs/cgroup/a/memory.max" { "100" } else { "30" };
            value.to_owned()
        };
        assert_eq!(cgroup_free("0::/a\n", &files), Some(70));
        assert_eq!(cgroup_free("1:cpu:/a\n", &files), None);
        assert!(available_bytes() > 0);
    }

    #[test]
    fn values_stay_as_they_are() {
        for len in [0, 1, 5_000, 3_000_000] {
            let mut values: Vec<u32> = (0..len).collect();
            make_present(&mut values);
            assert!(values.iter().copied().eq(0..len));
        }
    }
}
