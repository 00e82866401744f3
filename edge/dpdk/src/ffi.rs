//! The C side: functions of the shim (`eagre_…`, shim/shim.c) and of DPDK's libraries (`rte_…`).
//!
//! Only functions whose signature is the same from DPDK 22.11 to 25.11 are declared here; everything with a structure
//! in its signature goes through the shim.
//!
//! The program is not linked to them: [`Functions`] has their addresses, one field each, and is made only as a whole.

use port::FrameHead;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

/// A pool of frames; only ever behind a pointer.
#[repr(C)]
pub(crate) struct Mempool {
    opaque: [u8; 0],
}

/// `struct eagre_device`
#[repr(C)]
pub(crate) struct DeviceInfo {
    pub driver: *const c_char,
    pub tx_offloads: u64,
    pub rss: u64,
    pub rx_frame_bytes_max: u32,
    pub rx_queues_max: u16,
    pub tx_queues_max: u16,
    pub mtu_max: u16,
}

impl DeviceInfo {
    /// Nothing known yet.
    pub(crate) fn new() -> Self {
        Self {
            driver: std::ptr::null(),
            tx_offloads: 0,
            rss: 0,
            rx_frame_bytes_max: 0,
            rx_queues_max: 0,
            tx_queues_max: 0,
            mtu_max: 0,
        }
    }
}

/// `struct eagre_counters`
#[repr(C)]
#[derive(Default)]
pub(crate) struct Counters {
    pub rx_missed: u64,
    pub rx_errors: u64,
    pub rx_no_buffer: u64,
    pub tx_errors: u64,
}

/// `struct eagre_pool_layout`
#[repr(C)]
#[derive(Default)]
pub(crate) struct PoolLayout {
    pub object_bytes: u64,
    pub populated: u32,
    pub chunks: u32,
}

/// Do not pad objects to spread them over memory channels.
pub(crate) const MEMPOOL_NO_SPREAD: c_uint = 1;

/// Objects need not keep to pages.
pub(crate) const MEMPOOL_NO_IOVA_CONTIG: c_uint = 0x20;

/// The lcore number of a thread that DPDK does not know.
pub(crate) const LCORE_ID_ANY: c_uint = c_uint::MAX;

/// Memory of any node.
pub(crate) const SOCKET_ANY: c_int = -1;

pub(crate) type ObjectFn = unsafe extern "C" fn(*mut Mempool, *mut c_void, *mut c_void, c_uint);

pub(crate) type AlarmFn = extern "C" fn(*mut c_void);

/// Declares C functions: a field for each one's address, and a method that calls it.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        /// All functions of one DPDK.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($kind),*) $(-> $result)?,)*
        }

        // As many arguments as DPDK's functions have; one function is only passed on, by its address.
        #[allow(clippy::too_many_arguments, dead_code)]
        impl Functions {
            /// Gets the address of each function from `find`; the first error ends it.
            ///
            /// # Safety
            /// `find` returns addresses of C functions that have the signatures declared here, and stay loaded.
            pub(crate) unsafe fn resolve<E>(
                mut find: impl FnMut(&CStr) -> Result<NonNull<c_void>, E>,
            ) -> Result<Self, E> {
                Ok(Self {
                    $($name: {
                        let name = const {
                            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                                Ok(name) => name,
                                Err(_) => panic!("a name has no zero byte"),
                            }
                        };
                        let address = find(name)?.as_ptr();
                        // SAFETY: the caller says that a function of this type is there.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $result)?>(address)
                        }
                    },)*
                })
            }

            $(
                /// # Safety
                /// Requirements of DPDK or the shim for callers.
                #[inline(always)]
                pub(crate) unsafe fn $name(&self, $($argument: $kind),*) $(-> $result)? {
                    // SAFETY: the caller keeps to what the function asks; its address is right, as `resolve` asked.
                    unsafe { (self.$name)($($argument),*) }
                }
            )*
        }
    };
}

functions! {
    fn eagre_errno() -> c_int;
    fn eagre_frames_get(pool: *mut Mempool, lcore: c_uint, frames: *mut *mut FrameHead, n: c_uint) -> c_int;
    fn eagre_frames_put(pool: *mut Mempool, lcore: c_uint, frames: *mut *mut FrameHead, n: c_uint);
    fn eagre_lcore() -> c_uint;
    fn eagre_tx_burst(port: u16, queue: u16, frames: *mut *mut FrameHead, n: u16) -> u16;
    fn eagre_tx_prepare(port: u16, queue: u16, frames: *mut *mut FrameHead, n: u16) -> u16;
    fn eagre_rx_burst(port: u16, queue: u16, frames: *mut *mut FrameHead, n: u16) -> u16;
    fn eagre_first_chained(frames: *const *mut FrameHead, n: u16) -> u16;
    fn eagre_device_info(port: u16, out: *mut DeviceInfo) -> c_int;
    fn eagre_checksum_offloads() -> u64;
    fn eagre_rss_types() -> u64;
    fn eagre_configure(port: u16, rx: u16, tx: u16, tx_offloads: u64, rss: u64) -> c_int;
    fn eagre_link(port: u16) -> i64;
    fn eagre_mac(port: u16, out: *mut u8) -> c_int;
    fn eagre_counters(port: u16, out: *mut Counters) -> c_int;
    fn eagre_memory_gaps() -> c_int;
    fn eagre_object_header() -> u32;
    fn eagre_pool_layout(pool: *const Mempool, out: *mut PoolLayout);

    fn rte_eal_init(argc: c_int, argv: *mut *mut c_char) -> c_int;
    fn rte_eal_cleanup() -> c_int;
    fn rte_eal_get_runtime_dir() -> *const c_char;
    fn rte_eal_hotplug_add(bus: *const c_char, name: *const c_char, args: *const c_char) -> c_int;
    fn rte_eal_hotplug_remove(bus: *const c_char, name: *const c_char) -> c_int;
    fn rte_eal_alarm_set(microseconds: u64, callback: AlarmFn, argument: *mut c_void) -> c_int;
    fn rte_intr_instance_alloc(flags: u32) -> *mut c_void;
    fn rte_intr_instance_free(handle: *mut c_void);
    fn rte_intr_fd_set(handle: *mut c_void, descriptor: c_int) -> c_int;
    fn rte_intr_callback_unregister(
        handle: *const c_void,
        callback: *const c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn rte_thread_register() -> c_int;
    fn rte_thread_unregister();
    fn rte_openlog_stream(file: *mut libc::FILE) -> c_int;
    fn rte_version() -> *const c_char;

    fn rte_eth_dev_get_port_by_name(name: *const c_char, port: *mut u16) -> c_int;
    fn rte_eth_dev_adjust_nb_rx_tx_desc(port: u16, rx: *mut u16, tx: *mut u16) -> c_int;
    fn rte_eth_rx_queue_setup(
        port: u16,
        queue: u16,
        descriptors: u16,
        node: c_uint,
        conf: *const c_void,
        pool: *mut Mempool,
    ) -> c_int;
    fn rte_eth_tx_queue_setup(
        port: u16,
        queue: u16,
        descriptors: u16,
        node: c_uint,
        conf: *const c_void,
    ) -> c_int;
    fn rte_eth_dev_socket_id(port: u16) -> c_int;
    fn rte_eth_dev_set_mtu(port: u16, mtu: u16) -> c_int;
    fn rte_eth_promiscuous_enable(port: u16) -> c_int;
    fn rte_eth_promiscuous_disable(port: u16) -> c_int;
    fn rte_eth_dev_start(port: u16) -> c_int;
    fn rte_eth_dev_stop(port: u16) -> c_int;
    fn rte_eth_dev_close(port: u16) -> c_int;

    fn rte_pktmbuf_free_bulk(frames: *mut *mut FrameHead, n: c_uint);
    fn rte_mempool_create_empty(
        name: *const c_char,
        n: c_uint,
        object_bytes: c_uint,
        cache: c_uint,
        private_bytes: c_uint,
        node: c_int,
        flags: c_uint,
    ) -> *mut Mempool;
    fn rte_mempool_set_ops_byname(
        pool: *mut Mempool,
        name: *const c_char,
        conf: *mut c_void,
    ) -> c_int;
    fn rte_pktmbuf_pool_init(pool: *mut Mempool, opaque: *mut c_void);
    fn rte_mempool_populate_default(pool: *mut Mempool) -> c_int;
    fn rte_mempool_populate_iova(
        pool: *mut Mempool,
        address: *mut c_char,
        iova: u64,
        bytes: usize,
        free: *const c_void,
        opaque: *mut c_void,
    ) -> c_int;
    fn rte_mempool_obj_iter(pool: *mut Mempool, each: ObjectFn, opaque: *mut c_void) -> u32;
    fn rte_pktmbuf_init(pool: *mut Mempool, opaque: *mut c_void, frame: *mut c_void, i: c_uint);
    fn rte_mempool_free(pool: *mut Mempool);
}
