//! Packet buffers of scripts: what Lua sees as `struct rte_mbuf`, and the pools they come from.
//!
//! They are not the frames of queues (`port::FrameHead`): a script may keep a buffer as long as it likes, pass it to another task
//! or send it from any port, and finds in it what it wrote last. Sending and receiving copies.
//!
//! Invariant: a buffer's memory lives as long as the process, because a script can hold its address; a buffer is in its pool's
//! list at most once.

use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes before a packet.
const HEADROOM: u16 = 128;

/// Gap between two buffers, bytes: an odd number of cache lines, so that the beginnings of many buffers do not compete
/// for the same sets of the cache.
const SPREAD: usize = 64;

/// The head of a buffer; Lua reads and writes its fields.
#[repr(C)]
pub(crate) struct Buf {
    pub(crate) memory: *mut u8,
    pub(crate) data_off: u16,
    pub(crate) room: u16,
    /// 1 while the buffer is in its pool's list.
    pub(crate) is_free: u32,
    pub(crate) flags: u64,
    /// Without FCS.
    pub(crate) len: u32,
    pub(crate) segment_len: u16,
    pub(crate) vlan: u16,
    /// Lengths of headers for checksums: bits 0–6 layer 2, bits 7–15 layer 3.
    pub(crate) offload: u64,
    /// When it was received or sent, ns.
    pub(crate) timestamp: u64,
    /// The script's own: a delay, or a time.
    pub(crate) user: u64,
    pub(crate) pool: *const Pool,
    pub(crate) rss: u32,
}

/// The same in C, under the names that scripts use.
pub(crate) const CDEF: &str = "
struct mempool;
struct rte_mbuf {
    uint8_t *buf_addr;
    uint16_t data_off;
    uint16_t buf_len;
    uint32_t is_free;
    uint64_t ol_flags;
    uint32_t pkt_len;
    uint16_t data_len;
    uint16_t vlan_tci;
    uint64_t tx_offload;
    uint64_t timestamp;
    uint64_t udata64;
    struct mempool *pool;
    union { uint32_t rss; } hash;
};
";

/// Offsets of the fields above, which the Lua library compares with LuaJIT's (`ffi.offsetof`) at its start.
pub(crate) const OFFSETS: [(&str, usize); 13] = [
    ("buf_addr", std::mem::offset_of!(Buf, memory)),
    ("data_off", std::mem::offset_of!(Buf, data_off)),
    ("buf_len", std::mem::offset_of!(Buf, room)),
    ("is_free", std::mem::offset_of!(Buf, is_free)),
    ("ol_flags", std::mem::offset_of!(Buf, flags)),
    ("pkt_len", std::mem::offset_of!(Buf, len)),
    ("data_len", std::mem::offset_of!(Buf, segment_len)),
    ("vlan_tci", std::mem::offset_of!(Buf, vlan)),
    ("tx_offload", std::mem::offset_of!(Buf, offload)),
    ("timestamp", std::mem::offset_of!(Buf, timestamp)),
    ("udata64", std::mem::offset_of!(Buf, user)),
    ("pool", std::mem::offset_of!(Buf, pool)),
    ("hash", std::mem::offset_of!(Buf, rss)),
];

const _: () = {
    assert!(std::mem::offset_of!(Buf, flags) == 16);
    assert!(std::mem::offset_of!(Buf, len) == 24);
    assert!(std::mem::offset_of!(Buf, offload) == 32);
    assert!(std::mem::offset_of!(Buf, pool) == 56);
    assert!(size_of::<Buf>() == 72);
};

/// The frame is to leave with the VLAN tag in `vlan_tci`; bits as in DPDK 17.08, which scripts may write themselves.
pub(crate) const TX_VLAN: u64 = 1 << 57;
/// It arrived with one.
pub(crate) const RX_VLAN: u64 = 1;
/// IPv4 header checksum.
pub(crate) const TX_IP_CHECKSUM: u64 = 1 << 54;
/// TCP checksum; UDP has both bits.
pub(crate) const TX_TCP_CHECKSUM: u64 = 1 << 52;
/// UDP checksum.
pub(crate) const TX_UDP_CHECKSUM: u64 = 3 << 52;
/// All of them.
pub(crate) const TX_CHECKSUMS: u64 = TX_IP_CHECKSUM | TX_UDP_CHECKSUM;
/// When the frame leaves is to be noted.
pub(crate) const TX_TIMESTAMP: u64 = 1 << 51;
/// The frame is IPv6.
pub(crate) const TX_IPV6: u64 = 1 << 56;

impl Buf {
    /// The packet's bytes; fewer if its length is more than the buffer holds.
    ///
    /// # Safety
    /// The head must be one of a pool's, and no task may write to the packet meanwhile.
    pub(crate) unsafe fn bytes(&self) -> &[u8] {
        let start = self.data_off.min(self.room);
        let len = (self.len as usize).min(usize::from(self.room - start));
        // SAFETY: the pool's memory has `room` bytes at `memory`.
        unsafe { std::slice::from_raw_parts(self.memory.add(usize::from(start)), len) }
    }

    /// Makes it hold `bytes`; false if they are too many.
    ///
    /// # Safety
    /// The head must be one of a pool's and the caller's alone.
    pub(crate) unsafe fn store(&mut self, bytes: &[u8]) -> bool {
        self.data_off = HEADROOM;
        if bytes.len() > usize::from(self.room - HEADROOM) {
            return false;
        }
        // SAFETY: the room was checked.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(usize::from(HEADROOM)), bytes.len());
        }
        self.len = bytes.len() as u32;
        self.segment_len = bytes.len() as u16;
        true
    }
}

/// Buffers of one size.
pub(crate) struct Pool {
    heads: Vec<Buf>,
    /// The last one freed is the first one taken: it is in the cache.
    free: Mutex<Vec<*mut Buf>>,
}

// SAFETY: heads and memory are handed out by pointer to one owner at a time; the list is behind a lock.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of `n` buffers for packets of `bytes`, all zero, which is never given back; `None` if there is no memory.
    pub(crate) fn leak(n: usize, bytes: u16) -> Option<&'static Self> {
        let room = bytes.saturating_add(HEADROOM);
        let stride = (usize::from(room).next_multiple_of(64) + SPREAD) | 64;
        let layout = std::alloc::Layout::from_size_align(stride.checked_mul(n.max(1))?, 64).ok()?;
        // SAFETY: the size is not zero.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        if memory.is_null() {
            return None;
        }
        let head = |i: usize| Buf {
            memory: memory.wrapping_add(i * stride),
            data_off: HEADROOM,
            room,
            is_free: 1,
            flags: 0,
            len: 0,
            segment_len: 0,
            vlan: 0,
            offload: 0,
            timestamp: 0,
            user: 0,
            pool: ptr::null(),
            rss: 0,
        };
        let heads = (0..n).map(head).collect();
        let pool: &'static mut Self =
            Box::leak(Box::new(Self { heads, free: Mutex::new(Vec::with_capacity(n)) }));
        let address = ptr::from_ref(pool);
        let mut free = Vec::with_capacity(n);
        for buf in pool.heads.iter_mut().rev() {
            buf.pool = address;
            free.push(ptr::from_mut(buf));
        }
        pool.free = Mutex::new(free);
        Some(pool)
    }

    /// Buffers of the pool, in it or not.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The `i`-th buffer, to write a template to; null if there is none.
    pub(crate) fn nth(&self, i: usize) -> *mut Buf {
        self.heads.get(i).map_or(ptr::null_mut(), |buf| ptr::from_ref(buf).cast_mut())
    }

    /// Takes up to `into.len()` buffers, each with `len` as its length and no flag; returns how many.
    pub(crate) fn take(&self, into: &mut [*mut Buf], len: u32) -> usize {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let n = into.len().min(free.len());
        let rest = free.len() - n;
        for (to, &from) in into.iter_mut().zip(free[rest..].iter().rev()) {
            // SAFETY: a head in the list is nobody else's.
            let buf = unsafe { &mut *from };
            buf.is_free = 0;
            buf.data_off = HEADROOM;
            buf.flags = 0;
            buf.vlan = 0;
            buf.len = len;
            buf.segment_len = len as u16;
            *to = from;
        }
        free.truncate(rest);
        n
    }
}

/// Gives buffers back to their pools. Null pointers and buffers that are there already are skipped.
///
/// # Safety
/// All others must be heads of pools.
pub(crate) unsafe fn give_back(bufs: &[*mut Buf]) {
    let mut rest = bufs.iter().rev().copied().filter(|buf| !buf.is_null()).peekable();
    while let Some(&first) = rest.peek() {
        // SAFETY: a head of a pool, which lives as long as the process.
        let pool = unsafe { (*first).pool };
        // SAFETY: as above.
        let mut free = unsafe { &*pool }.free.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as above.
        while let Some(buf) = rest.next_if(|&buf| unsafe { (*buf).pool } == pool) {
            // SAFETY: as above; the lock of its pool is held.
            let head = unsafe { &mut *buf };
            if head.is_free == 0 {
                head.is_free = 1;
                free.push(buf);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_keep_their_bytes_and_are_free_once() {
        let pool = Pool::leak(3, 100).unwrap();
        let mut bufs = [ptr::null_mut(); 5];
        assert_eq!(pool.take(&mut bufs, 60), 3);
        // SAFETY: taken above.
        unsafe {
            assert!((*bufs[0]).store(b"hello"));
            assert!(!(*bufs[0]).store(&[0; 200]));
            give_back(&bufs);
            give_back(&bufs);
        }
        let mut again = [ptr::null_mut(); 5];
        assert_eq!(pool.take(&mut again, 5), 3);
        assert_eq!(again[0], bufs[0]);
        // SAFETY: taken above.
        assert_eq!(unsafe { (*again[0]).bytes() }, b"hello");
    }

    #[test]
    fn a_length_beyond_the_buffer_is_cut() {
        let pool = Pool::leak(1, 100).unwrap();
        let mut bufs = [ptr::null_mut()];
        pool.take(&mut bufs, 1_000_000);
        // SAFETY: taken above.
        assert_eq!(unsafe { (*bufs[0]).bytes() }.len(), 100);
    }
}
