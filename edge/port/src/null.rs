//! The port to nowhere, `null`: discards what is sent, receives nothing. No root, no huge pages, no driver.
//!
//! Sent frames are free again immediately, so a sender reuses the same few frames.

use crate::burst::Burst;
use crate::memory::{self, FreeFrames};
use crate::ring::mac_of;
use crate::{DriverDrops, Port, PortError, PortFacts, PortRequest, Queues, RxQueue, TxQueue};

/// Frames of a queue: some bursts that are being filled.
const FRAMES: usize = 512;

/// A port that discards what is sent.
pub struct NullPort {
    facts: PortFacts,
    queues: Queues,
}

impl NullPort {
    /// One with the requested number of queues.
    ///
    /// # Errors
    /// If there is no memory for their frames.
    pub fn open(device: &str, request: PortRequest) -> Result<Self, PortError> {
        let count = request.queues.max(1);
        let queue = |_| FreeFrames::new(FRAMES, request.buffer_bytes() as usize);
        let free: Option<Vec<_>> = (0..count).map(queue).collect();
        let free = free.ok_or_else(|| memory::too_little(device, count))?;
        let facts = PortFacts {
            device: device.to_owned(),
            driver: "null".to_owned(),
            mac: mac_of(device),
            frame_len_max: request.frame_len_max,
            vlan_bytes: 0,
            speed_bps: None,
            netdev: None,
            numa_node: None,
            tx_checksum_offload: false,
            tells_unfinished_checksums: false,
            is_in_process: false,
            rx_spread: if count > 1 { "rss" } else { "none" },
            xdp_mode: None,
        };
        let rx = free.iter().map(|_| Box::new(NullRx) as Box<dyn RxQueue>).collect();
        let tx = free.into_iter().map(|free| Box::new(NullTx { free }) as Box<dyn TxQueue>).collect();
        Ok(Self { facts, queues: Queues { tx, rx } })
    }
}

impl Port for NullPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

/// In separate cache lines: each worker changes it with every burst.
#[repr(align(128))]
struct NullTx {
    free: FreeFrames,
}

impl TxQueue for NullTx {
    #[inline]
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        self.free.take(burst, n)
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst) -> usize {
        let n = burst.len();
        self.free.give_front(burst, n);
        n
    }

    fn free(&mut self, burst: &mut Burst) {
        self.send(burst);
    }
}

struct NullRx;

impl RxQueue for NullRx {
    #[inline]
    fn recv(&mut self, _: &mut Burst) -> usize {
        0
    }

    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_empty(), "frames of another queue are given back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TxOffload;

    fn queues(frame_len_max: u32) -> Queues {
        NullPort::open("null", PortRequest { queues: 1, frame_len_max, confined: false })
            .unwrap()
            .take_queues()
    }

    #[test]
    fn takes_everything_and_gives_nothing() {
        let Queues { mut tx, mut rx } = queues(9_018);
        let mut burst = Burst::new();
        for _ in 0..2 * FRAMES {
            assert_eq!(tx[0].alloc(&mut burst, 64), 64);
            burst.frame_mut(63).copy_from(&[7; 9_014]);
            assert_eq!((tx[0].send(&mut burst), burst.len()), (64, 0));
            assert_eq!(rx[0].recv(&mut burst), 0);
        }
        rx[0].free(&mut burst);
    }

    #[test]
    fn a_buffer_remembers_its_template() {
        let Queues { mut tx, .. } = queues(64);
        let (mut burst, mut copied) = (Burst::new(), 0);
        for _ in 0..100 {
            tx[0].alloc(&mut burst, 64);
            // The first half in one go, the others one by one.
            burst.fill(0..32, 7, &[[0x55; 64]], 60, TxOffload::default());
            for i in 0..64 {
                let mut frame = burst.frame_mut(i);
                copied += u32::from(frame.fill(7, &[[0x55; 64]], 60, TxOffload::default()));
                assert_eq!(frame.data_mut(), [0x55; 60]);
            }
            tx[0].send(&mut burst);
        }
        assert!(copied <= 64, "{copied} copies for 6,400 frames");
    }

    #[test]
    fn frames_run_out_and_come_back() {
        let Queues { mut tx, .. } = queues(64);
        let mut bursts: Vec<Burst> = (0..=FRAMES / 64).map(|_| Burst::new()).collect();
        let taken: usize = bursts.iter_mut().map(|burst| tx[0].alloc(burst, 64)).sum();
        assert_eq!(taken, FRAMES);
        bursts.iter_mut().for_each(|burst| tx[0].free(burst));
        assert_eq!(tx[0].alloc(&mut bursts[0], 64), 64);
        tx[0].free(&mut bursts[0]);
    }
}
