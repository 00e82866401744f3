//! The few things of libpcap that filters need. Source: pcap/pcap.h and pcap/bpf.h of libpcap 1.10.
//!
//! The library is opened with the first filter: the program is not linked to it. [`Pcap`] is made only as a whole, and once
//! opened, the library stays open.

#[cfg(unix)]
use std::ffi::{CStr, c_void};
use std::ffi::{c_char, c_int, c_uint};
#[cfg(unix)]
use std::mem::transmute;
use std::sync::OnceLock;

/// The library's names: in Debian, and everywhere else.
#[cfg(unix)]
const NAMES: [&CStr; 2] = [c"libpcap.so.0.8", c"libpcap.so.1"];

/// `DLT_EN10MB`.
pub(crate) const ETHERNET: c_int = 1;
/// `PCAP_NETMASK_UNKNOWN`.
pub(crate) const NETMASK_UNKNOWN: u32 = 0xffff_ffff;

/// `pcap_t`.
#[repr(C)]
pub(crate) struct Handle {
    _opaque: [u8; 0],
}

/// `struct bpf_insn`.
#[repr(C)]
pub(crate) struct Instruction {
    _code: u16,
    _if_true: u8,
    _if_false: u8,
    _operand: u32,
}

/// `struct bpf_program`.
#[repr(C)]
pub(crate) struct Program {
    pub(crate) len: c_uint,
    pub(crate) instructions: *mut Instruction,
}

/// Functions of libpcap, by their names without `pcap_`.
pub(crate) struct Pcap {
    pub(crate) open_dead: unsafe extern "C" fn(link_type: c_int, snap_len: c_int) -> *mut Handle,
    pub(crate) close: unsafe extern "C" fn(handle: *mut Handle),
    pub(crate) geterr: unsafe extern "C" fn(handle: *mut Handle) -> *const c_char,
    pub(crate) compile: unsafe extern "C" fn(
        handle: *mut Handle,
        program: *mut Program,
        text: *const c_char,
        optimize: c_int,
        netmask: u32,
    ) -> c_int,
    pub(crate) freecode: unsafe extern "C" fn(program: *mut Program),
    pub(crate) bpf_filter: unsafe extern "C" fn(
        instructions: *const Instruction,
        frame: *const u8,
        original_len: c_uint,
        len: c_uint,
    ) -> c_uint,
}

impl Pcap {
    /// Opens the library unless it is open. A failure is not remembered.
    pub(crate) fn open() -> Result<&'static Self, String> {
        static OPENED: OnceLock<Pcap> = OnceLock::new();
        match OPENED.get() {
            Some(pcap) => Ok(pcap),
            // Two threads may load it at once, and both get the same.
            None => Self::load().map(|pcap| OPENED.get_or_init(|| pcap)),
        }
    }

    #[cfg(not(unix))]
    fn load() -> Result<Self, String> {
        Err("this system opens no libraries".to_owned())
    }

    #[cfg(unix)]
    fn load() -> Result<Self, String> {
        let mut reasons = Vec::new();
        for name in NAMES {
            // SAFETY: a string that ends with zero; the library has no code that runs when it is loaded.
            let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !library.is_null() {
                // SAFETY: an open library, which is never closed.
                return unsafe { Self::of(library) };
            }
            reasons.push(last_error());
        }
        Err(reasons.join("; "))
    }

    /// # Safety
    /// `library` is libpcap, and stays open.
    #[cfg(unix)]
    unsafe fn of(library: *mut c_void) -> Result<Self, String> {
        let find = |name: &CStr| {
            // SAFETY: an open library and a string that ends with zero.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            if address.is_null() { Err(last_error()) } else { Ok(address) }
        };
        // SAFETY: the types are those that the library's headers give functions of these names.
        unsafe {
            Ok(Self {
                open_dead: transmute::<*mut c_void, unsafe extern "C" fn(c_int, c_int) -> *mut Handle>(find(
                    c"pcap_open_dead",
                )?),
                close: transmute::<*mut c_void, unsafe extern "C" fn(*mut Handle)>(find(c"pcap_close")?),
                geterr: transmute::<*mut c_void, unsafe extern "C" fn(*mut Handle) -> *const c_char>(find(
                    c"pcap_geterr",
                )?),
                compile: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*mut Handle, *mut Program, *const c_char, c_int, u32) -> c_int,
                >(find(c"pcap_compile")?),
                freecode: transmute::<*mut c_void, unsafe extern "C" fn(*mut Program)>(find(
                    c"pcap_freecode",
                )?),
                bpf_filter: transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(*const Instruction, *const u8, c_uint, c_uint) -> c_uint,
                >(find(c"bpf_filter")?),
            })
        }
    }
}

/// The linker's message about this thread's last failure.
#[cfg(unix)]
fn last_error() -> String {
    // SAFETY: returns null or a string of this thread's that is good until its next call to the linker; it is copied at once.
    let said = unsafe { libc::dlerror() };
    if said.is_null() {
        return "the linker gives no reason".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned()
}
