//! Starting EAL, once per process, and what can go wrong on the way.
//!
//! Not here: devices and queues.
//!
//! Invariants:
//! - EAL is started on a separate thread that ends right after: `rte_eal_init` pins its caller and makes it lcore 0,
//!   and the caller here may be any thread of the program.
//! - Nothing stays on disk: `--no-shconf` (part of `--in-memory`) keeps everything in memory, and the runtime directory
//!   that EAL still makes is removed at once.
//! - Nothing is printed: EAL's log goes to a file in memory, whose last line explains failures. With `EAGRE_DPDK_LOG`
//!   set (to a level: `error`, `info`, `debug` …) it goes to stderr instead.
//!
//! Start-up cost, measured with Debian's 22.11 in a virtual machine: 150 ms and 23 MB resident. 100 ms of it is EAL
//! measuring the TSC with a sleep (not on processors that state it in CPUID leaf 0x15), about 35 ms the loading of all
//! 128 driver plugins. `-d` cannot shorten that: a shared build always loads its default plugin directory too, and `-d`
//! only adds to it.

use crate::library::{self, Dpdk};
use crate::thread::Awake;
use port::{PortError, PortErrorKind};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory EAL's own structures take, bytes: about 1 MB for each pool's caches is counted by the pools.
const EAL_OWN_BYTES: u64 = 32 << 20;

/// Least memory EAL gets without huge pages, bytes. It is only touched when it is used.
const ORDINARY_BYTES_MIN: u64 = 256 << 20;

/// Huge pages that must stay free after the first ports, bytes: for ports opened later, and because
/// others take pages too. A quarter of it is taken at once.
const HUGE_SPARE_BYTES: u64 = 256 << 20;

/// Environment variable that sends EAL's log to stderr.
const LOG_VARIABLE: &str = "EAGRE_DPDK_LOG";

/// Options with which EAL was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eal {
    /// Whether its memory is in huge pages.
    pub huge_pages: bool,
    /// Whether it knows the PCI bus.
    pub pci: bool,
}

enum State {
    Never,
    Running {
        dpdk: Dpdk,
        eal: Eal,
        log: Log,
    },
    /// It did not start, or it was ended; DPDK cannot be started twice.
    Ended(String),
}

static STATE: Mutex<State> = Mutex::new(State::Never);

/// Every change to EAL and its devices happens under this lock; workers never take it.
pub(crate) struct Lease {
    dpdk: Dpdk,
    /// Absent only while it rests.
    state: Option<MutexGuard<'static, State>>,
    _awake: Awake,
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requirements of the first opened port for EAL.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    pub pci: bool,
    pub bytes: u64,
}

impl Lease {
    /// Opens DPDK and starts EAL if it does not run yet.
    pub(crate) fn take(device: &str, needs: Needs) -> Result<Self, PortError> {
        let dpdk = library::open_for(device)?;
        let mut state = lock();
        if let State::Never = *state {
            *state = match start(dpdk, device, needs) {
                Ok((eal, log)) => State::Running { dpdk, eal, log },
                Err(error) => {
                    *state = State::Ended(error.reason.clone());
                    return Err(error);
                }
            };
        }
        match &*state {
            State::Running { eal, .. } if needs.pci && !eal.pci => Err(PortError::new(
                device,
                PortErrorKind::State,
                "DPDK already runs in this process without the PCI bus",
                "open the PCI ports together with the first others",
            )),
            State::Running { .. } => Ok(Self { dpdk, state: Some(state), _awake: Awake::new() }),
            State::Ended(reason) => Err(PortError::new(
                device,
                PortErrorKind::Resource,
                format!("DPDK can't be started a second time in one process; the first time: {reason}"),
                "start the program again",
            )),
            State::Never => unreachable!("the state was set above"),
        }
    }

    /// For closing ports, regardless of the state.
    pub(crate) fn closing(dpdk: Dpdk) -> Self {
        Self { dpdk, state: Some(lock()), _awake: Awake::new() }
    }

    /// Releases EAL for a while: a caller that waits for another process must not keep others from their ports.
    pub(crate) fn rest(&mut self, device: &str, time: Duration) -> Result<(), PortError> {
        self.state = None;
        std::thread::sleep(time);
        self.state = Some(lock());
        match self.eal() {
            Some(_) => Ok(()),
            None => Err(PortError::new(device, PortErrorKind::State, "DPDK was ended meanwhile", "")),
        }
    }

    /// DPDK's functions.
    pub(crate) fn dpdk(&self) -> Dpdk {
        self.dpdk
    }

    fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("it rests only inside of rest()")
    }

    /// Options with which EAL was started; `None` if it does not run.
    pub(crate) fn eal(&self) -> Option<Eal> {
        match self.state.as_deref() {
            Some(State::Running { eal, .. }) => Some(*eal),
            _ => None,
        }
    }

    /// Log lines of EAL and the drivers since the last call, oldest first.
    pub(crate) fn log(&mut self) -> Vec<String> {
        match self.state() {
            State::Running { log, .. } => log.take(),
            _ => Vec::new(),
        }
    }

    /// Last log lines of EAL and the drivers, to be appended to a reason; empty if there are none.
    pub(crate) fn last_words(&mut self) -> String {
        // EAL ends every failure with the same line; what the driver said before it is what matters.
        let says_nothing = |line: &&String| line.starts_with("EAL: Failed to attach device");
        match self.log().iter().rev().find(|line| !says_nothing(line)) {
            Some(line) => format!(" ({line})"),
            None => String::new(),
        }
    }
}

/// State of EAL in this process; `None` before the first port was opened and after [`cleanup`].
pub fn running() -> Option<Eal> {
    match &*lock() {
        State::Running { eal, .. } => Some(*eal),
        _ => None,
    }
}

/// Ends EAL. For programs that care about tidiness at their exit: all ports must have been dropped, and none can be
/// opened afterwards.
pub fn cleanup() {
    let _awake = Awake::new();
    let mut state = lock();
    if let State::Running { dpdk, .. } = *state {
        // SAFETY: EAL runs, and the caller dropped all ports; the lock keeps others from opening one.
        unsafe { dpdk.rte_eal_cleanup() };
        // The log's file stays: EAL may still write to it from its exit handlers.
        let ended = State::Ended("it ran, and was ended".to_owned());
        std::mem::forget(std::mem::replace(&mut *state, ended));
    }
}

/// DPDK's version, such as `DPDK 22.11.11`.
pub(crate) fn version(dpdk: Dpdk) -> String {
    // SAFETY: returns a constant string.
    unsafe { CStr::from_ptr(dpdk.rte_version()) }.to_string_lossy().into_owned()
}

fn start(dpdk: Dpdk, device: &str, needs: Needs) -> Result<(Eal, Log), PortError> {
    let resource =
        |reason: String, remedy: &str| PortError::new(device, PortErrorKind::Resource, reason, remedy);
    let wanted = needs.bytes + EAL_OWN_BYTES;
    let huge_pages = free_huge_page_bytes() >= wanted + HUGE_SPARE_BYTES;
    let eal = Eal { huge_pages, pci: needs.pci };
    let prefix = format!("{RUNTIME_PREFIX}{}", std::process::id());
    let arguments = arguments(eal, wanted, &prefix);

    let mut log = Log::open().map_err(|e| resource(format!("no file for DPDK's log: {e}"), ""))?;
    let stream = log.stream as usize;
    // SAFETY: the stream stays open as long as EAL may write to it (see `Log`).
    unsafe { dpdk.rte_openlog_stream(stream as *mut libc::FILE) };
    let thread = std::thread::Builder::new().name("eal".to_owned()).spawn(move || init(dpdk, &arguments));
    let code = thread
        .map_err(|e| resource(format!("no thread to start DPDK: {e}"), ""))?
        .join()
        .unwrap_or(-libc::EFAULT);
    if code < 0 {
        let words = log.take().join("; ");
        let pages = if huge_pages { "with huge pages" } else { "without huge pages" };
        return Err(resource(
            format!("DPDK did not start {pages}, error {}: {words}", -code),
            "set EAGRE_DPDK_LOG=debug to see DPDK's whole log",
        ));
    }
    tidy_runtime_directory(dpdk);
    quieten_bpf_libraries();
    Ok((eal, log))
}

/// Runs on the thread made for it. Returns a negative error number, or 0.
fn init(dpdk: Dpdk, arguments: &[CString]) -> c_int {
    let mut pointers: Vec<*mut c_char> = arguments.iter().map(|a| a.as_ptr().cast_mut()).collect();
    pointers.push(std::ptr::null_mut());
    // SAFETY: argc strings and a null, which outlive the call; EAL permutes the pointers and writes no string.
    let code = unsafe { dpdk.rte_eal_init(arguments.len() as c_int, pointers.as_mut_ptr()) };
    if code < 0 {
        // SAFETY: reads this thread's error number.
        let errno = unsafe { dpdk.eagre_errno() };
        return -errno.max(1);
    }
    0
}

fn arguments(eal: Eal, bytes: u64, prefix: &str) -> Vec<CString> {
    let level = std::env::var(LOG_VARIABLE).ok().filter(|level| !level.is_empty());
    let mut list = vec![
        "eagre".to_owned(),
        // One lcore that may run wherever this process may: nobody is pinned, and no lcore thread is made.
        format!("--lcores=0@({})", allowed_cpus()),
        format!("--file-prefix={prefix}"),
        // What zero-copy memif and virtio-user show their peer is a few files and not one for each page.
        "--single-file-segments".to_owned(),
        "--no-telemetry".to_owned(),
        format!("--log-level={}", level.as_deref().unwrap_or("error")),
    ];
    if let Some(level) = level {
        // Drivers have levels of their own.
        list.push(format!("--log-level=*:{level}"));
    }
    if eal.huge_pages {
        // Taken at once, and so without gaps: `memory_has_no_gaps`. More comes and goes page by page.
        list.extend([
            "--in-memory".to_owned(),
            format!("-m{}", (bytes + HUGE_SPARE_BYTES / 4).div_ceil(1 << 20)),
        ]);
    } else {
        let megabytes = (bytes * 2).max(ORDINARY_BYTES_MIN) >> 20;
        list.extend(["--no-huge".to_owned(), "--no-shconf".to_owned(), format!("-m{megabytes}")]);
    }
    if eal.pci {
        // No device of its own accord: they are added by name. EAL chooses the kind of address that suits the bus.
        list.push("--allow=ffff:ff:1f.7".to_owned());
    } else {
        list.extend(["--no-pci".to_owned(), "--iova-mode=va".to_owned()]);
    }
    list.into_iter().map(|a| CString::new(a).expect("arguments have no zero byte")).collect()
}

/// Whether EAL's memory lies in one piece, as zero-copy memif needs it: its driver announces the sum of all pages to
/// the peer as the size, and frames after a gap would be beyond that, which crashes the peer.
pub(crate) fn memory_has_no_gaps(dpdk: Dpdk) -> bool {
    // SAFETY: EAL runs; it only looks.
    unsafe { dpdk.eagre_memory_gaps() == 0 }
}

/// The processors this thread may run on, as EAL takes them: `0,1,4`.
fn allowed_cpus() -> String {
    let list: Vec<String> = os::cpu::allowed().iter().map(usize::to_string).collect();
    if list.is_empty() { "0".to_owned() } else { list.join(",") }
}

/// Bytes of free huge pages, of the size that has most.
fn free_huge_page_bytes() -> u64 {
    let Ok(sizes) = fs::read_dir("/sys/kernel/mm/hugepages") else { return 0 };
    let free = sizes.flatten().filter_map(|size| {
        let name = size.file_name().into_string().ok()?;
        let kilobytes: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        let number = |file: &str| -> Option<u64> {
            fs::read_to_string(size.path().join(file)).ok()?.trim().parse().ok()
        };
        // Reserved pages are still counted as free.
        let pages = number("free_hugepages")?.saturating_sub(number("resv_hugepages").unwrap_or(0));
        Some(pages * kilobytes * 1024)
    });
    free.max().unwrap_or(0)
}

/// Start of our runtime directories' names; the process's number follows.
const RUNTIME_PREFIX: &str = "eagre-";

/// Removes the directory EAL made for this process, which stays empty, and the directories of this program's processes
/// that were killed while they started.
fn tidy_runtime_directory(dpdk: Dpdk) {
    // SAFETY: returns a string that lives as long as the process.
    let ours = unsafe { CStr::from_ptr(dpdk.rte_eal_get_runtime_dir()) };
    let ours = Path::new(OsStr::from_bytes(ours.to_bytes()));
    let _ = fs::remove_dir(ours);
    let Some(all) = ours.parent() else { return };
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(RUNTIME_PREFIX)?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // Only an empty directory goes: with --no-shconf that is what ours are.
            let _ = fs::remove_dir(entry.path());
        }
    }
    let _ = fs::remove_dir(all);
}

/// libbpf and libxdp, which the AF_XDP driver brings along, print to stderr on their own.
fn quieten_bpf_libraries() {
    if std::env::var_os(LOG_VARIABLE).is_some() {
        return;
    }
    for (library, setter) in [(c"libbpf.so.1", c"libbpf_set_print"), (c"libxdp.so.1", c"libxdp_set_print")] {
        // SAFETY: looks for a library that is already loaded, and calls its documented setter with a null callback,
        // which means silence. The handle is kept: the library must stay loaded.
        unsafe {
            let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if !handle.is_null() {
                let symbol = libc::dlsym(handle, setter.as_ptr());
                if !symbol.is_null() {
                    let set: extern "C" fn(*const c_void) -> *const c_void = std::mem::transmute(symbol);
                    set(std::ptr::null());
                }
            }
        }
    }
}

/// The directory EAL loads its driver plugins from and the number of its ABI, such as `23`; `None` if this build of
/// DPDK keeps them somewhere unusual.
fn plugins(dpdk: Dpdk) -> Option<(PathBuf, String)> {
    // SAFETY: `dladdr` fills the structure for an address inside a loaded library.
    let library = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(dpdk.rte_eal_init as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        PathBuf::from(OsStr::from_bytes(CStr::from_ptr(info.dli_fname).to_bytes()))
    };
    let abi = library.file_name()?.to_str()?.strip_prefix("librte_eal.so.")?.split('.').next()?.to_owned();
    let drivers = format!("dpdk/pmds-{abi}.");
    let beside = library.parent()?.join("dpdk");
    let found = fs::read_dir(beside).ok()?.flatten().map(|entry| entry.path());
    let directory = found.into_iter().find(|path| path.to_string_lossy().contains(&drivers))?;
    Some((directory, abi))
}

/// Says so if the plugin `name` (such as `net_memif`) is not installed.
pub(crate) fn check_plugin(dpdk: Dpdk, device: &str, name: &str) -> Result<(), PortError> {
    let Some((directory, abi)) = plugins(dpdk) else { return Ok(()) };
    if directory.join(format!("librte_{name}.so")).exists() {
        return Ok(());
    }
    let driver = name.replace('_', "-");
    // Debian's rule for names that end in a digit.
    let dash = if driver.ends_with(|c: char| c.is_ascii_digit()) { "-" } else { "" };
    Err(PortError::new(
        device,
        PortErrorKind::Driver,
        format!("DPDK's driver {name} is not in {}", directory.display()),
        format!("apt-get install librte-{driver}{dash}{abi}"),
    ))
}

/// Where EAL's log goes: an unnamed file in memory, or stderr.
struct Log {
    stream: *mut libc::FILE,
    kept: bool,
}

// SAFETY: stdio locks the stream for each call, and `Log` is only used under the lock on `STATE`.
unsafe impl Send for Log {}

/// Bytes of log that are kept.
const LOG_BYTES_MAX: usize = 64 << 10;

impl Log {
    fn open() -> std::io::Result<Self> {
        // SAFETY: plain calls with constant strings; both results are checked.
        unsafe {
            if std::env::var_os(LOG_VARIABLE).is_some() {
                let descriptor = libc::dup(libc::STDERR_FILENO);
                let stream = libc::fdopen(descriptor, c"w".as_ptr());
                return if stream.is_null() {
                    Err(std::io::Error::last_os_error())
                } else {
                    Ok(Self { stream, kept: false })
                };
            }
            let descriptor = libc::memfd_create(c"eagre-dpdk-log".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(std::io::Error::last_os_error());
            }
            let stream = libc::fdopen(descriptor, c"a+".as_ptr());
            if stream.is_null() {
                return Err(std::io::Error::last_os_error());
            }
            libc::setvbuf(stream, std::ptr::null_mut(), libc::_IOLBF, 0);
            Ok(Self { stream, kept: true })
        }
    }

    /// The lines since the last call; forgets them.
    fn take(&mut self) -> Vec<String> {
        if !self.kept {
            return Vec::new();
        }
        let mut bytes = vec![0u8; LOG_BYTES_MAX];
        // SAFETY: the descriptor is the stream's; `pread` writes at most the buffer's length.
        let n = unsafe {
            libc::fflush(self.stream);
            let descriptor = libc::fileno(self.stream);
            let n = libc::pread(descriptor, bytes.as_mut_ptr().cast(), bytes.len(), 0);
            libc::ftruncate(descriptor, 0);
            n
        };
        bytes.truncate(n.max(0) as usize);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }
}
