//! C functions for Lua's packet path. LuaJIT compiles calls of them; a call of a Rust closure would end its traces.
//!
//! Lua gets the address of [`API`] and its declaration in C, both made from one list below. These functions check all
//! numbers that a script passes; addresses they must trust, as LuaJIT's FFI does.

use crate::buffers::{self, Buf, Pool};
use crate::device::{self, Patience};
use crate::pace::Mode;
use crate::shared::Item;
use crate::world::world;
use std::ffi::c_void;
use std::ptr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

macro_rules! api {
    ($($name:ident: $declaration:literal, $kind:ty;)*) => {
        /// Functions called by Lua.
        #[repr(C)]
        pub(crate) struct Api {
            $($name: $kind,)*
        }

        /// The functions of this process.
        pub(crate) static API: Api = Api { $($name,)* };

        /// The same in C.
        pub(crate) const CDEF: &str = concat!("struct eagre_api {\n", $("    ", $declaration, ";\n",)* "};\n");
    };
}

api! {
    now: "uint64_t (*now)(void)", extern "C" fn() -> u64;
    running: "int (*running)(double extra_ns)", extern "C" fn(f64) -> i32;
    stop: "void (*stop)(double after_ns)", extern "C" fn(f64);
    sleep: "void (*sleep)(double ns)", extern "C" fn(f64);
    wait_until: "void (*wait_until)(double ns)", extern "C" fn(f64);
    pool_new: "struct mempool *(*pool_new)(uint32_t n, uint32_t bytes)", extern "C" fn(u32, u32) -> *const Pool;
    pool_len: "uint32_t (*pool_len)(struct mempool *)", unsafe extern "C" fn(*const Pool) -> u32;
    pool_buf: "struct rte_mbuf *(*pool_buf)(struct mempool *, uint32_t i)", unsafe extern "C" fn(*const Pool, u32) -> *mut Buf;
    alloc: "uint32_t (*alloc)(struct mempool *, struct rte_mbuf **, uint32_t n, uint32_t len)",
        unsafe extern "C" fn(*const Pool, *mut *mut Buf, u32, u32) -> u32;
    give_back: "void (*give_back)(struct rte_mbuf **, uint32_t n)", unsafe extern "C" fn(*const *mut Buf, u32);
    offload: "void (*offload)(struct rte_mbuf **, uint32_t n, uint64_t flags, uint64_t lengths)",
        unsafe extern "C" fn(*const *mut Buf, u32, u64, u64);
    send: "uint32_t (*send)(uint32_t device, uint32_t queue, struct rte_mbuf **, uint32_t n, int mode, double value)",
        unsafe extern "C" fn(u32, u32, *const *mut Buf, u32, i32, f64) -> u32;
    recv: "uint32_t (*recv)(uint32_t device, uint32_t queue, struct rte_mbuf **, uint32_t n, double wait_ns, int busy)",
        unsafe extern "C" fn(u32, u32, *mut *mut Buf, u32, f64, i32) -> u32;
    sent_at: "uint64_t (*sent_at)(void)", extern "C" fn() -> u64;
    counters: "void (*counters)(uint32_t device, int queue, uint64_t *)", unsafe extern "C" fn(u32, i32, *mut u64);
    filter_matches: "int (*filter_matches)(uint32_t filter, const uint8_t *, uint32_t len)",
        unsafe extern "C" fn(u32, *const u8, u32) -> i32;
    pipe_push: "int (*pipe_push)(uint32_t pipe, void *, int wait)", extern "C" fn(u32, *mut c_void, i32) -> i32;
    pipe_pop: "void *(*pipe_pop)(uint32_t pipe, double wait_ns)", extern "C" fn(u32, f64) -> *mut c_void;
    ring_push: "int (*ring_push)(uint32_t pipe, struct rte_mbuf **, uint32_t n)",
        unsafe extern "C" fn(u32, *const *mut Buf, u32) -> i32;
    ring_pop: "uint32_t (*ring_pop)(uint32_t pipe, struct rte_mbuf **, uint32_t n)",
        unsafe extern "C" fn(u32, *mut *mut Buf, u32) -> u32;
    capture_read: "uint32_t (*capture_read)(uint32_t capture, uint32_t from, struct mempool *, struct rte_mbuf **, uint32_t n)",
        unsafe extern "C" fn(u32, u32, *const Pool, *mut *mut Buf, u32) -> u32;
}

/// Longest wait in one piece.
const NAP: Duration = Duration::from_millis(50);

/// A number of nanoseconds that Lua gave; not a number and negative are 0.
fn nanos(value: f64) -> u64 {
    value as u64
}

extern "C" fn now() -> u64 {
    world().now()
}

extern "C" fn running(extra_ns: f64) -> i32 {
    i32::from(world().is_running(nanos(extra_ns)))
}

extern "C" fn stop(after_ns: f64) {
    world().stop(nanos(after_ns));
}

/// Time for which a script may continue to sleep after a request to stop, ns.
const SLEEP_ON: u64 = 1_000_000_000;

extern "C" fn sleep(ns: f64) {
    let end = world().now().saturating_add(nanos(ns));
    loop {
        let left = end.saturating_sub(world().now());
        if left == 0 || !world().is_running(SLEEP_ON) {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left).min(NAP));
    }
}

extern "C" fn wait_until(ns: f64) {
    device::wait_until(world(), ns);
}

extern "C" fn pool_new(n: u32, bytes: u32) -> *const Pool {
    let bytes = bytes.clamp(64, 16_000) as u16;
    Pool::leak(n as usize, bytes).map_or(ptr::null(), ptr::from_ref)
}

unsafe extern "C" fn pool_len(pool: *const Pool) -> u32 {
    // SAFETY: Lua has it from `pool_new`.
    unsafe { pool.as_ref() }.map_or(0, |pool| pool.len() as u32)
}

unsafe extern "C" fn pool_buf(pool: *const Pool, i: u32) -> *mut Buf {
    // SAFETY: Lua has it from `pool_new`.
    unsafe { pool.as_ref() }.map_or(ptr::null_mut(), |pool| pool.nth(i as usize))
}

/// A C array as a slice.
///
/// # Safety
/// There must be `n` elements.
unsafe fn slice<'a>(bufs: *const *mut Buf, n: u32) -> &'a [*mut Buf] {
    // SAFETY: as this function.
    if bufs.is_null() { &[] } else { unsafe { std::slice::from_raw_parts(bufs, n as usize) } }
}

/// A C array as a slice to write to.
///
/// # Safety
/// There must be `n` elements.
unsafe fn slice_mut<'a>(bufs: *mut *mut Buf, n: u32) -> &'a mut [*mut Buf] {
    // SAFETY: as this function.
    if bufs.is_null() { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(bufs, n as usize) } }
}

unsafe extern "C" fn alloc(pool: *const Pool, bufs: *mut *mut Buf, n: u32, len: u32) -> u32 {
    // SAFETY: Lua has pool and array from the library.
    let (pool, bufs) = unsafe { (pool.as_ref(), slice_mut(bufs, n)) };
    let Some(pool) = pool else { return 0 };
    let mut got = pool.take(bufs, len);
    // Other tasks may give some back.
    while got < bufs.len() && pool.len() >= bufs.len() && world().is_running(0) {
        std::thread::sleep(Duration::from_micros(50));
        got += pool.take(&mut bufs[got..], len);
    }
    got as u32
}

unsafe extern "C" fn give_back(bufs: *const *mut Buf, n: u32) {
    // SAFETY: an array of the library with buffers of pools.
    unsafe { buffers::give_back(slice(bufs, n)) };
}

unsafe extern "C" fn offload(bufs: *const *mut Buf, n: u32, flags: u64, lengths: u64) {
    // SAFETY: an array of the library with buffers of pools.
    for &buf in unsafe { slice(bufs, n) } {
        // SAFETY: as above.
        if let Some(buf) = unsafe { buf.as_mut() } {
            buf.flags |= flags;
            buf.offload = lengths;
        }
    }
}

unsafe extern "C" fn send(
    number: u32,
    queue: u32,
    bufs: *const *mut Buf,
    n: u32,
    mode: i32,
    value: f64,
) -> u32 {
    let mode = match mode {
        1 => Mode::Constant(value),
        2 => Mode::Poisson(value),
        3 => Mode::Delay(value),
        4 => Mode::OnLink(value),
        _ => Mode::Queue,
    };
    // SAFETY: an array of the library with buffers of pools.
    let bufs = unsafe { slice(bufs, n) };
    // SAFETY: as above.
    world().device(number).map_or(0, |device| unsafe { device.send(world(), queue as usize, mode, bufs) })
        as u32
}

unsafe extern "C" fn recv(
    number: u32,
    queue: u32,
    bufs: *mut *mut Buf,
    n: u32,
    wait_ns: f64,
    busy: i32,
) -> u32 {
    let patience = if wait_ns < 0.0 { Patience::Forever } else { Patience::For(nanos(wait_ns)) };
    // SAFETY: an array of the library.
    let bufs = unsafe { slice_mut(bufs, n) };
    let device = world().device(number);
    device.map_or(0, |device| device.receive(world(), queue as usize, bufs, patience, busy != 0)) as u32
}

extern "C" fn sent_at() -> u64 {
    world().sent_at()
}

unsafe extern "C" fn counters(number: u32, queue: i32, into: *mut u64) {
    let mut values = [0; 6];
    if let Some(device) = world().device(number) {
        let (rx, tx) = match usize::try_from(queue) {
            Err(_) => (Some(&device.rx), Some(&device.tx)),
            Ok(queue) => (device.rx_queues.get(queue), device.tx_queues.get(queue)),
        };
        for (counters, to) in [rx, tx].into_iter().flatten().zip(values.chunks_exact_mut(3)) {
            to[0] = counters.packets.load(Ordering::Relaxed);
            to[1] = counters.bytes.load(Ordering::Relaxed);
            to[2] = counters.lost.load(Ordering::Relaxed);
        }
    }
    if !into.is_null() {
        // SAFETY: the library passes an array of six.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), into, values.len()) };
    }
}

unsafe extern "C" fn filter_matches(filter: u32, data: *const u8, len: u32) -> i32 {
    let filters = world().filters.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(&filter) = filters.get(filter as usize) else { return 0 };
    drop(filters);
    if data.is_null() {
        return 0;
    }
    // SAFETY: the library passes a buffer's packet.
    i32::from(filter.matches(unsafe { std::slice::from_raw_parts(data, len as usize) }, len))
}

extern "C" fn pipe_push(pipe: u32, item: *mut c_void, wait: i32) -> i32 {
    let item = Item::Address(item.expose_provenance());
    i32::from(world().shared.send(world(), pipe as usize, &[item], wait != 0))
}

extern "C" fn pipe_pop(pipe: u32, wait_ns: f64) -> *mut c_void {
    let patience = (wait_ns >= 0.0).then(|| Duration::from_nanos(nanos(wait_ns)));
    match world().shared.receive(world(), pipe as usize, patience) {
        Some(Item::Address(address)) => ptr::with_exposed_provenance_mut(address),
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn ring_push(pipe: u32, bufs: *const *mut Buf, n: u32) -> i32 {
    // SAFETY: an array of the library.
    let bufs = unsafe { slice(bufs, n) };
    let items: Vec<Item> =
        bufs.iter().filter(|buf| !buf.is_null()).map(|buf| Item::Address(buf.expose_provenance())).collect();
    i32::from(world().shared.send(world(), pipe as usize, &items, false))
}

unsafe extern "C" fn ring_pop(pipe: u32, bufs: *mut *mut Buf, n: u32) -> u32 {
    // SAFETY: an array of the library.
    let bufs = unsafe { slice_mut(bufs, n) };
    let mut got = 0;
    for to in bufs.iter_mut() {
        let Some(Item::Address(address)) =
            world().shared.receive(world(), pipe as usize, Some(Duration::ZERO))
        else {
            break;
        };
        *to = ptr::with_exposed_provenance_mut(address);
        got += 1;
    }
    got
}

unsafe extern "C" fn capture_read(
    capture: u32,
    from: u32,
    pool: *const Pool,
    bufs: *mut *mut Buf,
    n: u32,
) -> u32 {
    let captures = world().captures.lock().unwrap_or_else(PoisonError::into_inner);
    let records = captures.get(capture as usize).copied().unwrap_or_default();
    drop(captures);
    let records = records.get(from as usize..).unwrap_or_default();
    let wanted = records.len().min(n as usize) as u32;
    // SAFETY: Lua has pool and array from the library.
    let got = unsafe { alloc(pool, bufs, wanted, 0) };
    // SAFETY: as above.
    for (&buf, record) in unsafe { slice(bufs, got) }.iter().zip(records) {
        // SAFETY: just taken from its pool.
        let buf = unsafe { &mut *buf };
        // What was not captured is zero, as long as the packet was.
        let mut bytes = record.bytes.clone();
        bytes.resize(record.original_len.min(16_384) as usize, 0);
        // SAFETY: as above.
        if !unsafe { buf.store(&bytes) } {
            buf.len = 0;
            buf.segment_len = 0;
        }
        buf.user = record.at.0 / 1_000;
    }
    got
}
