//! Pools of frames, and how they lie in memory.
//!
//! Transmit and receive pools are apart: a transmit frame keeps its bytes, length and tag between uses, and a driver
//! that receives writes over all three.
//!
//! **AF_XDP.** Its pool is the UMEM, and the driver (`xdp_umem_configure`) declares to the kernel that the UMEM is
//! `frames × object size` bytes long. That holds only if objects lie back to back. A pool that DPDK populates by itself
//! does not put an object across a page boundary, and a page has 4 KiB without huge pages: so each page holds one
//! object of 2,432 bytes and the pool spans 1.7 times the declared length. Frames in the upper 40% have addresses
//! beyond the UMEM; the kernel drops their descriptors and counts `tx_invalid_descs` (or, for receive buffers,
//! `rx_invalid_descs`), while the driver has counted them as sent. Pools hand out what was freed last, so light traffic
//! stays in the lower part and nothing is lost; a mix that has more frames in flight reaches the upper part. With huge
//! pages the same gap is one object in every 2 MiB.
//!
//! So here an AF_XDP pool has objects of exactly 4,096 bytes in one block of memory that starts on a page: the span
//! matches the driver's declaration in every mode, and no frame crosses a page, which zero-copy drivers cannot handle
//! either unless the next page is physically adjacent.
//!
//! **Other pools without huge pages** do not keep to pages either (`NO_IOVA_CONTIG`), as no hardware reads them: one
//! object in each page would put all heads into the same few sets of the first-level cache, which costs a fifth of the
//! rate on `null`.

use crate::eal::Lease;
use crate::ffi::{self, Mempool};
use crate::library::Dpdk;
use port::{HEAD_BYTES, PortError, PortErrorKind};
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ffi::CString;
use std::sync::atomic::{AtomicU32, Ordering};

/// Room before a frame's first byte, bytes (RTE_PKTMBUF_HEADROOM).
pub(crate) const HEADROOM: u16 = 128;

/// Room for data that drivers expect of a receive buffer at least, bytes.
const RX_ROOM_MIN: u32 = 2048;

/// Bytes of a pool's object before the frame's head, at most: a cache line of DPDK's, which is the longest there is in a DPDK for
/// any ARM processor.
const OBJECT_HEADER: usize = if cfg!(target_arch = "x86_64") { 64 } else { 128 };

/// Bytes of an AF_XDP object: a page of the kernel's, regardless of the pages of the memory.
const PAGE: usize = 4096;

/// Bytes the kernel leaves free before a received frame in UMEM (XDP_PACKET_HEADROOM).
const XDP_HEADROOM: usize = 256;

/// Longest frame that fits an AF_XDP buffer, without FCS, bytes.
pub(crate) const XDP_FRAME_BYTES_MAX: u32 =
    (PAGE - OBJECT_HEADER - HEAD_BYTES - XDP_HEADROOM) as u32 - HEADROOM as u32;

/// Frames an lcore keeps for itself.
const CACHE: u32 = 256;

/// Bytes a pool takes in addition to its frames: caches for 128 lcores of 8,256 bytes, and its ring.
const POOL_BYTES: u64 = (128 * 8256) + (64 << 10);

/// A pool of frames. Freed on drop; frames must not outlive it.
#[derive(Debug)]
pub(crate) struct Pool {
    dpdk: Dpdk,
    raw: *mut Mempool,
    _block: Option<Block>,
}

// SAFETY: a pool may be used by all threads at once; `Pool` itself is only made and dropped.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// Number and size of frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub frames: u32,
    /// Longest frame without FCS, bytes.
    pub frame_bytes: u32,
    /// One object in each page of one block (see the module's text).
    pub umem: bool,
}

impl Shape {
    /// A pool to send from.
    pub(crate) fn tx(frames: u32, frame_bytes: u32) -> Self {
        Self { frames, frame_bytes: frame_bytes.next_multiple_of(64), umem: false }
    }

    /// A pool to receive into.
    pub(crate) fn rx(frames: u32, frame_bytes: u32) -> Self {
        Self { frames, frame_bytes: frame_bytes.max(RX_ROOM_MIN).next_multiple_of(64), umem: false }
    }

    /// A pool for an AF_XDP socket.
    pub(crate) fn umem(frames: u32) -> Self {
        Self { frames, frame_bytes: XDP_FRAME_BYTES_MAX, umem: true }
    }

    fn object_bytes(self) -> u64 {
        if self.umem {
            return PAGE as u64;
        }
        (OBJECT_HEADER + HEAD_BYTES) as u64 + u64::from(HEADROOM) + u64::from(self.frame_bytes)
    }

    fn all_objects(self) -> u64 {
        u64::from(self.frames) * self.object_bytes()
    }

    /// Bytes of EAL's memory it takes, about.
    pub(crate) fn eal_bytes(self) -> u64 {
        if self.umem { POOL_BYTES } else { POOL_BYTES + u64::from(self.frames) * (self.object_bytes() + 192) }
    }
}

impl Pool {
    pub(crate) fn new(device: &str, lease: &mut Lease, shape: Shape) -> Result<Self, PortError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("eagre{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).expect("no zero byte");
        let room = shape.frame_bytes + u32::from(HEADROOM);
        let Ok(room) = u16::try_from(room) else {
            return Err(PortError::new(
                device,
                PortErrorKind::Resource,
                format!("a frame of {} bytes does not fit a buffer of 65535 bytes", shape.frame_bytes),
                "",
            ));
        };
        let made = if shape.umem {
            Block::new(shape.frames as usize * PAGE)
                .and_then(|block| Self::in_pages(lease.dpdk(), &name, shape, block))
        } else {
            let hardware = lease.eal().is_some_and(|eal| eal.huge_pages || eal.pci);
            let flags = if hardware { 0 } else { ffi::MEMPOOL_NO_IOVA_CONTIG };
            Self::in_eal(lease.dpdk(), &name, shape, room, flags)
        };
        made.ok_or_else(|| Self::out_of_memory(device, lease, shape))
    }

    /// A pool without frames.
    fn empty(
        dpdk: Dpdk,
        name: &CString,
        frames: u32,
        object_bytes: u32,
        flags: u32,
        room: u16,
    ) -> Option<Self> {
        // `struct rte_pktmbuf_pool_private`: data room, private bytes of a frame, flags.
        let mut private = [room, 0, 0, 0];
        // SAFETY: plain values and strings that outlive the calls; EAL runs, which the caller's lease stands for. The
        // pool's private bytes are as large as what `rte_pktmbuf_pool_init` writes there.
        unsafe {
            let raw = dpdk.rte_mempool_create_empty(
                name.as_ptr(),
                frames,
                object_bytes,
                CACHE,
                size_of_val(&private) as u32,
                ffi::SOCKET_ANY,
                flags,
            );
            if raw.is_null() {
                return None;
            }
            let pool = Self { dpdk, raw, _block: None };
            if dpdk.rte_mempool_set_ops_byname(raw, c"ring_mp_mc".as_ptr(), std::ptr::null_mut()) != 0 {
                return None;
            }
            dpdk.rte_pktmbuf_pool_init(raw, private.as_mut_ptr().cast());
            Some(pool)
        }
    }

    /// Gives every frame's head DPDK's initial state.
    fn initialise(self) -> Self {
        // SAFETY: a populated pool nobody uses yet, and the callback DPDK has for this.
        unsafe { self.dpdk.rte_mempool_obj_iter(self.raw, self.dpdk.rte_pktmbuf_init, std::ptr::null_mut()) };
        self
    }

    fn in_eal(dpdk: Dpdk, name: &CString, shape: Shape, room: u16, flags: u32) -> Option<Self> {
        let object = HEAD_BYTES as u32 + u32::from(room);
        let pool = Self::empty(dpdk, name, shape.frames, object, flags, room)?;
        // SAFETY: a fresh pool that nobody else knows.
        let populated = unsafe { dpdk.rte_mempool_populate_default(pool.raw) };
        (populated >= shape.frames as i32).then(|| pool.initialise())
    }

    fn in_pages(dpdk: Dpdk, name: &CString, shape: Shape, block: Block) -> Option<Self> {
        // SAFETY: it only calculates.
        let header = unsafe { dpdk.eagre_object_header() };
        if header as usize > OBJECT_HEADER {
            return None;
        }
        let object = PAGE as u32 - header;
        let room = (object as usize - HEAD_BYTES) as u16;
        let mut pool = Self::empty(dpdk, name, shape.frames, object, ffi::MEMPOOL_NO_SPREAD, room)?;
        let (address, bytes) = (block.address, block.bytes);
        pool._block = Some(block);
        let mut layout = ffi::PoolLayout::default();
        // SAFETY: the pool is fresh and nobody else's; the block is as long as said, and outlives the pool because
        // `Pool` drops it after `Drop` has freed the pool. No hardware reads by the address given as I/O address.
        unsafe {
            dpdk.rte_mempool_populate_iova(
                pool.raw,
                address.cast(),
                address as u64,
                bytes,
                std::ptr::null(),
                std::ptr::null_mut(),
            );
            dpdk.eagre_pool_layout(pool.raw, &mut layout);
        }
        let whole_pages = layout.object_bytes == PAGE as u64 && layout.chunks == 1;
        (whole_pages && layout.populated == shape.frames).then(|| pool.initialise())
    }

    fn out_of_memory(device: &str, lease: &mut Lease, shape: Shape) -> PortError {
        let huge = lease.eal().is_some_and(|eal| eal.huge_pages);
        let megabytes = (shape.all_objects() + POOL_BYTES).div_ceil(1 << 20);
        let words = lease.last_words();
        let (of, remedy) = if huge {
            (
                "huge-page memory",
                format!("reserve more: dpdk-hugepages.py --setup {}M", (megabytes * 2).max(256)),
            )
        } else {
            (
                "memory",
                "open all ports at once, so that DPDK starts with enough, or reserve huge pages: \
                 dpdk-hugepages.py --setup 1G"
                    .to_owned(),
            )
        };
        PortError::new(
            device,
            PortErrorKind::Resource,
            format!("DPDK has no {megabytes} MB of {of} left for {} frames{words}", shape.frames),
            remedy,
        )
    }

    /// For the driver and the queues.
    pub(crate) fn raw(&self) -> *mut Mempool {
        self.raw
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: made by us and freed once; the port that used it is closed, which its owner sees to.
        unsafe { self.dpdk.rte_mempool_free(self.raw) };
    }
}

/// Page-aligned memory owned by the pool.
#[derive(Debug)]
struct Block {
    address: *mut u8,
    bytes: usize,
}

impl Block {
    fn new(bytes: usize) -> Option<Self> {
        // SAFETY: a fresh anonymous mapping.
        let address = unsafe {
            mm::mmap_anonymous(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        Some(Self { address: address.ok()?.cast(), bytes })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no pool uses it any more.
        let _ = unsafe { mm::munmap(self.address.cast(), self.bytes) };
    }
}
