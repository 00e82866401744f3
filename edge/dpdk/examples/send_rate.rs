//! Speed at which one thread sends prefilled 64-byte frames through a port, compared with testpmd in the same run:
//!
//! `cargo run --release -p dpdk --example send_rate -- [DEVICE [SECONDS [TESTPMD]]]`
//!
//! DEVICE is `null` by default. TESTPMD, a path to dpdk-testpmd, sends through `net_null` for comparison, in huge pages
//! if `HUGE` is set (it is faster with them). Rates are per second of the sending thread's processor time, so that
//! other load on the machine does not count; windows are 100 ms, and the best and the median one are printed.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use port::{Burst, PortRequest, TxOffload};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_millis(100);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let device = arguments.next().unwrap_or_else(|| "null".to_owned());
    let seconds: u64 = arguments.next().and_then(|s| s.parse().ok()).unwrap_or(3);
    let started = Instant::now();
    let mut port = match dpdk::open(&device, PortRequest { queues: 1, frame_len_max: 1518, confined: false })
    {
        Ok(port) => port,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    };
    eprintln!("{:?} opened after {:?}; resident {} MB", dpdk::version(), started.elapsed(), resident_mb());
    eprintln!("{:?}", dpdk::running());
    let mut tx = port.take_queues().tx.remove(0);
    let ours = std::thread::spawn(move || {
        tx.attach().expect("a thread number");
        let (mut rates, mut burst) = (Vec::new(), Burst::new());
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            let (cpu, begin, mut sent) = (thread_cpu_s(), Instant::now(), 0usize);
            while begin.elapsed() < WINDOW {
                for _ in 0..256 {
                    let n = tx.alloc(&mut burst, 64);
                    for i in 0..n {
                        burst.frame_mut(i).fill(1, &[[0x55; 64]], 60, TxOffload::default());
                    }
                    sent += tx.send(&mut burst);
                    tx.free(&mut burst);
                }
            }
            rates.push(sent as f64 / 1e6 / (thread_cpu_s() - cpu));
        }
        rates
    });
    let (best, median) = summary(ours.join().expect("the sender ran"));
    println!("{device}: best {best:.1}, median {median:.1} Mpps per CPU-second; {:?}", port.driver_drops());
    if let Some(program) = arguments.next() {
        let (peer_best, peer_median) = summary(testpmd(&program, seconds));
        println!("testpmd txonly: best {peer_best:.1}, median {peer_median:.1} Mpps per CPU-second");
        println!("ratio: best {:.2}, median {:.2}", best / peer_best, median / peer_median);
    }
}

/// Rates of `dpdk-testpmd --forward-mode=txonly` over `net_null`, from its own counters and its thread's schedstat.
fn testpmd(program: &str, seconds: u64) -> Vec<f64> {
    let prefix = format!("--file-prefix=peer{}", std::process::id());
    let memory = if std::env::var_os("HUGE").is_some() { "--in-memory" } else { "--no-huge" };
    let eal = [memory, "-m", "512", "--no-pci", "--vdev", "net_null0", "-l", "0-1", &prefix, "--"];
    let own = ["--forward-mode=txonly", "--txpkts=64", "--burst=64", "--stats-period=1", "--no-mlockall"];
    let mut child = Command::new(program)
        .args(eal)
        .args(own)
        .arg("--total-num-mbufs=8192")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("testpmd starts");
    let output = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let (mut rates, mut last) = (Vec::new(), None);
    for line in std::io::BufRead::lines(output).map_while(Result::ok) {
        let Some(total) = line.trim().strip_prefix("TX-packets:").map(|rest| rest.split_whitespace().next())
        else {
            continue;
        };
        let Some(total) = total.and_then(|t| t.parse::<u64>().ok()) else { continue };
        let now = (total, worker_cpu_s(child.id()));
        if let Some((before, cpu)) = last.replace(now)
            && now.1 > cpu
        {
            rates.push((total - before) as f64 / 1e6 / (now.1 - cpu));
        }
        if rates.len() as u64 > seconds {
            break;
        }
    }
    child.kill().expect("it is our child");
    child.wait().expect("it ends");
    // What a killed testpmd leaves behind.
    let _ = std::fs::remove_dir_all(format!("/var/run/dpdk/peer{}", std::process::id()));
    if rates.len() < 2 {
        eprintln!("testpmd did not get going: it needs 512 MB of memory, in huge pages if HUGE is set");
        std::process::exit(3);
    }
    rates.remove(0);
    rates
}

/// Processor time of the thread of `process` that used most.
fn worker_cpu_s(process: u32) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let ran = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    ran.fold(0.0, f64::max) / 1e9
}

fn summary(mut rates: Vec<f64>) -> (f64, f64) {
    rates.sort_by(f64::total_cmp);
    (rates[rates.len() - 1], rates[rates.len() / 2])
}

fn thread_cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("the kernel counts run time");
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).expect("a number") / 1e9
}

fn resident_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
