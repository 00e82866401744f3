//! Memory: how much this process may still take, files that fit it, and making it ready before workers use it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Bytes of the kernel's smallest page: 4,096, or 16 or 64 KiB on some ARM machines.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: it only reads a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page).unwrap_or(4_096)
}

/// Makes the pages of `values` present, huge ones where the kernel gives them, so that no page fault and fewer address
/// translations fall into a worker's time. The values stay as they are.
pub fn make_present(values: &mut [u32]) {
    advise(values, rustix::mm::Advice::LinuxHugepage);
    for page in values.chunks_mut(page_bytes() / size_of::<u32>()) {
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
    let page = page_bytes();
    let first = start.next_multiple_of(page);
    let last = (start + bytes) / page * page;
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

/// Limits all threads to two allocation areas, from now on. Otherwise there are up to eight per core, and each keeps
/// pages between used ones: a long-running process, with threads that come and go, holds twice the memory it needs.
/// Threads that allocate at the same time wait for each other.
pub fn use_few_areas() {
    // SAFETY: the call has no preconditions.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Has the kernel rather end this process than others when memory runs out: `more`, of 1,000, is added to its score.
pub fn end_first(more: i32) {
    const SCORE: &str = "/proc/self/oom_score_adj";
    let score = fs::read_to_string(SCORE).ok().and_then(|text| text.trim().parse::<i32>().ok()).unwrap_or(0);
    // To raise it needs no privilege; where it can't be, the kernel chooses by size alone.
    let _ = fs::write(SCORE, (score + more).min(1_000).to_string());
}

/// Bytes this process may still allocate: limited by the machine's memory, its control group and its ancestors, and its
/// own limit on addresses. Unreadable limits do not count.
pub fn available_bytes() -> u64 {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let machine = mem_available(&text("/proc/meminfo"));
    let group = groups_free(&text("/proc/self/cgroup"), &text);
    let addresses = address_limit().map(|limit| {
        let pages = text("/proc/self/statm").split(' ').next().and_then(|n| n.parse::<u64>().ok());
        limit.saturating_sub(pages.unwrap_or(0) * page_bytes() as u64)
    });
    [machine, group, addresses].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// Reads a file of at most this number of bytes that also fits the available memory; a longer one is not read, or only
/// up to the limit if its length is unknown.
///
/// # Errors
/// It can't be read, or is too long.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let available = available_bytes();
    let too_long = || {
        let reason = match most <= available {
            true => format!("is larger than {} MB, the most that a file may have", most / 1_000_000),
            false => format!("is larger than the {} MB of memory that are available", available / 1_000_000),
        };
        io::Error::new(io::ErrorKind::FileTooLarge, reason)
    };
    let most = most.min(available);
    if file.metadata()?.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}

/// The system's allocator, except that a program without memory ends with a sentence instead of a signal.
pub struct OrExit {
    /// Text written to standard error.
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

/// Path and names of a version of control groups' memory files: limit, use, and the line of `memory.stat` with the
/// cache that is given up first.
struct GroupFiles {
    roots: &'static [&'static str],
    limit: &'static str,
    used: &'static str,
    cache: &'static str,
}

const VERSION_2: GroupFiles = GroupFiles {
    // The second is that of a machine with both versions.
    roots: &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
    limit: "memory.max",
    used: "memory.current",
    cache: "inactive_file",
};

const VERSION_1: GroupFiles = GroupFiles {
    roots: &["/sys/fs/cgroup/memory"],
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file",
};

/// The least that the control groups of `own`, the lines of `/proc/self/cgroup`, leave, those around them included; `None`
/// without a limit.
fn groups_free(own: &str, text: &dyn Fn(&str) -> String) -> Option<u64> {
    let groups = own.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        match controllers {
            "" => Some((&VERSION_2, path)),
            _ => controllers.split(',').any(|one| one == "memory").then_some((&VERSION_1, path)),
        }
    });
    let folders = groups.flat_map(|(files, path)| {
        let around = path.trim_end_matches('/').match_indices('/').map(|(at, _)| &path[..at]);
        let all = around.chain([path.trim_end_matches('/')]);
        all.flat_map(move |path| files.roots.iter().map(move |root| (files, format!("{root}{path}"))))
    });
    folders.filter_map(|(files, folder)| group_free(files, &folder, text)).min()
}

/// Free memory of one control group.
fn group_free(files: &GroupFiles, folder: &str, text: &dyn Fn(&str) -> String) -> Option<u64> {
    let number = |file: &str| text(&format!("{folder}/{file}")).trim().parse::<u64>().ok();
    let limit = number(files.limit)?;
    let stat = text(&format!("{folder}/memory.stat"));
    let cache = stat.lines().find_map(|line| line.strip_prefix(files.cache)?.trim().parse::<u64>().ok());
    let used = number(files.used)?.saturating_sub(cache.unwrap_or(0));
    Some(limit.saturating_sub(used))
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
        assert!(available_bytes() > 0);
    }

    #[test]
    fn files_that_are_too_long_are_not_read() {
        let path = std::env::temp_dir().join(format!("eagre-memory-{}", std::process::id()));
        // A file without blocks: reading it whole would take a TB.
        File::create(&path).and_then(|file| file.set_len(1 << 40)).unwrap();
        let error = read_file(&path, 2_000_000_000).unwrap_err();
        assert_eq!(error.to_string(), "is larger than 2000 MB, the most that a file may have");
        assert!(read_file(&path, u64::MAX).unwrap_err().to_string().contains("of memory that are available"));
        fs::write(&path, b"tide").unwrap();
        assert_eq!(read_file(&path, 4).unwrap(), b"tide");
        assert!(read_file(&path, 3).is_err());
        fs::remove_file(&path).unwrap();
        assert!(read_file(Path::new("/dev/zero"), 1_000).is_err(), "its length is told as 0");
    }

    /// Free memory of groups with these files.
    fn free(own: &str, files: &[(&str, &str)]) -> Option<u64> {
        let text = |path: &str| {
            let found = files.iter().find(|(name, _)| path == format!("/sys/fs/cgroup/{name}"));
            found.map_or_else(String::new, |(_, text)| (*text).to_owned())
        };
        groups_free(own, &text)
    }

    #[test]
    fn the_narrowest_of_all_groups_around_limits() {
        let files = [
            ("a/memory.max", "100\n"),
            ("a/memory.current", "60\n"),
            ("a/memory.stat", "anon 20\ninactive_file 10\nactive_file 5\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "20\n"),
            ("a/b/c/memory.max", "90\n"),
            ("a/b/c/memory.current", "10\n"),
        ];
        assert_eq!(free("0::/a/b/c\n", &files), Some(50), "a parent's, without cache it can drop");
        assert_eq!(free("0::/a/b/c\n", &files[3..]), Some(80));
        assert_eq!(free("0::/a/b\n", &files[3..]), None);
        assert_eq!(free("0::/\n", &files), None);
        assert_eq!(
            free("0::/a\n", &[("unified/a/memory.max", "9"), ("unified/a/memory.current", "2")]),
            Some(7)
        );
    }

    #[test]
    fn groups_of_version_1_limit() {
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "5000\n"),
            ("memory/a/memory.limit_in_bytes", "100\n"),
            ("memory/a/memory.usage_in_bytes", "30\n"),
            ("memory/a/memory.stat", "cache 9\ninactive_file 1\ntotal_inactive_file 4\n"),
        ];
        assert_eq!(free("8:cpu,memory:/a/b\n0::/\n", &files), Some(74));
        assert_eq!(free("4:memory:/\n", &files), Some(9_223_372_036_854_766_712));
        assert_eq!(free("8:cpu:/a\n", &files), None);
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
