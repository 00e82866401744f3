#!/bin/sh
# tokio's interval makes up for a stall at once: after a second of waiting a sender of 100 packets/s sends 100 of them within 5 ms.
#
# One would guess: a timer of 10 ms ticks at most each 10 ms, and ticks that nobody took are dropped, as with Go's Ticker.
# So it is: `tokio::time::interval` has MissedTickBehavior::Burst: each tick that was missed is there at once when it is awaited again. A
# sender that waits for a full socket, or a stalled peer, goes on with a burst at full speed, so its rate over a minute is right and its
# rate over a second is twice the one asked for; queues on the way drop what the peer's stall held back. `Delay` or `Skip` drop them.
#
# Uses tokio 1.54.1 from crates.io with Rust; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init -q --name burst . && cargo add -q tokio@=1.54.1 || exit 2
sed -i 's/^tokio = .*/tokio = { version = "=1.54.1", features = ["rt", "time"] }/' Cargo.toml
cargo fetch -q || exit 2
cat > src/main.rs <<'END'
use std::time::Duration;
use tokio::time::{interval, sleep, Instant, MissedTickBehavior};

/// Ticks of 10 ms that come within 5 ms after a stall of a second.
async fn trial(behavior: Option<MissedTickBehavior>) -> u32 {
    let mut ticks = interval(Duration::from_millis(10));
    if let Some(behavior) = behavior {
        ticks.set_missed_tick_behavior(behavior);
    }
    for _ in 0..10 {
        ticks.tick().await;
    }
    sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    let mut count = 0;
    loop {
        ticks.tick().await;
        if start.elapsed() > Duration::from_millis(5) {
            break;
        }
        count += 1;
    }
    println!("{behavior:?}: {count} ticks within 5 ms after a stall of 1 s");
    count
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let seen = runtime.block_on(async { (trial(None).await, trial(Some(MissedTickBehavior::Skip)).await, trial(Some(MissedTickBehavior::Delay)).await) });
    std::process::exit(i32::from(!(seen.0 >= 90 && seen.1 <= 2 && seen.2 <= 2)));
}
END
cargo build -q --release || exit 2
echo "tokio 1.54.1"
target/release/burst
