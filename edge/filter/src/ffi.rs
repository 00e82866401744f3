//! The few things of libpcap that filters need. Source: pcap/pcap.h and pcap/bpf.h of libpcap 1.10.

use std::ffi::{c_char, c_int, c_uint};

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

unsafe extern "C" {
    pub(crate) fn pcap_open_dead(link_type: c_int, snap_len: c_int) -> *mut Handle;
    pub(crate) fn pcap_close(handle: *mut Handle);
    pub(crate) fn pcap_geterr(handle: *mut Handle) -> *const c_char;
    pub(crate) fn pcap_compile(
        handle: *mut Handle,
        program: *mut Program,
        text: *const c_char,
        optimize: c_int,
        netmask: u32,
    ) -> c_int;
    pub(crate) fn pcap_freecode(program: *mut Program);
    pub(crate) fn bpf_filter(
        instructions: *const Instruction,
        frame: *const u8,
        original_len: c_uint,
        len: c_uint,
    ) -> c_uint;
}
