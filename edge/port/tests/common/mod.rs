//! Frames from one port to another, and network namespaces for tests of ports over real drivers.

use port::{Burst, DriverDrops, Port, RxQueue, TxQueue};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs `test` on a thread in a fresh network namespace with two ends of a veth pair, `v0` and `v1`, both up.
pub(crate) fn in_namespace(link: &'static str, test: impl FnOnce() + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: this test needs root for its network namespace");
        return;
    }
    let ran = std::thread::spawn(move || {
        // SAFETY: the thread leaves the process's namespace for its own.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNET) }, 0, "{}", std::io::Error::last_os_error());
        ip(link);
        for end in ["v0", "v1"] {
            // No addresses: the kernel stays silent.
            ip(&format!("link set {end} addrgenmode none"));
            ip(&format!("link set {end} up"));
        }
        test();
    });
    if let Err(panic) = ran.join() {
        std::panic::resume_unwind(panic);
    }
}

pub(crate) const PAIR: &str = "link add v0 type veth peer name v1";

pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().expect("iproute2 is installed");
    assert!(status.success(), "ip {arguments}");
}

/// Frames an interface of this thread's namespace has received.
pub(crate) fn received_by(interface: &str) -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = table.lines().find_map(|line| line.trim().strip_prefix(&format!("{interface}:"))).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A frame of `bytes` bytes without FCS with its number.
pub(crate) fn frame(number: u32, bytes: usize) -> Vec<u8> {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2, 0x88, 0xb5];
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend((18..bytes).map(|at| (at as u32 * 7 + number) as u8));
    frame
}

/// Lengths without FCS that go through every size from 60 to 1514.
pub(crate) fn mixed(number: u32) -> usize {
    60 + (number as usize * 397) % 1455
}

/// Sends frames `from..to`; calls `each` after each burst.
pub(crate) fn send(
    tx: &mut dyn TxQueue,
    from: u32,
    to: u32,
    length: impl Fn(u32) -> usize,
    mut each: impl FnMut(),
) {
    let (mut burst, mut next) = (Burst::new(), from);
    let deadline = Instant::now() + Duration::from_secs(30);
    while next < to {
        assert!(Instant::now() < deadline, "sending stalls at frame {next}");
        let n = tx.alloc(&mut burst, 64.min((to - next) as usize));
        for i in 0..n {
            let number = next + i as u32;
            burst.frame_mut(i).copy_from(&frame(number, length(number)));
        }
        next += tx.send(&mut burst) as u32;
        tx.free(&mut burst);
        each();
    }
}

/// Receives until `count` frames are there or nothing comes for a second; checks that each is what was sent.
pub(crate) fn receive(rx: &mut dyn RxQueue, count: u32, length: impl Fn(u32) -> usize) -> u32 {
    let (mut seen, mut last) = (0, Instant::now());
    while seen < count && last.elapsed() < Duration::from_secs(1) {
        let n = receive_some(rx, &length);
        if n > 0 {
            last = Instant::now();
        }
        seen += n;
    }
    seen
}

pub(crate) fn receive_some(rx: &mut dyn RxQueue, length: &impl Fn(u32) -> usize) -> u32 {
    let mut burst = Burst::new();
    let n = rx.recv(&mut burst);
    for i in 0..n {
        let data = burst.data(i);
        let number = u32::from_be_bytes(data[14..18].try_into().unwrap());
        assert!(data == frame(number, length(number)), "frame {number} of {} bytes", data.len());
    }
    rx.free(&mut burst);
    n as u32
}

pub(crate) fn no_drops(port: &mut dyn Port) {
    let DriverDrops { rx, tx, .. } = port.driver_drops();
    assert!(rx.iter().chain(&tx).all(|(_, n)| *n == 0), "{rx:?} {tx:?}");
}
