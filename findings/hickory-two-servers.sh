#!/bin/sh
# hickory-resolver sends each query to two name servers at the same time: 100 lookups are some 200 queries.
#
# One would guess: a resolver with two name servers queries the first one, and the second after a time-out, as glibc does.
# So it is: `num_concurrent_reqs` is 2: queries go to both servers at once, and the first answer counts. With one server 100 lookups are 100
# queries. A load of lookups is twice that at the servers together, each of which sees nearly all of it, so that the spare server of a
# failover test is as busy as the first. Set it to 1.
#
# Uses hickory-resolver 0.26.3 and tokio 1.54.1 from crates.io with Rust, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init -q --name two . && cargo add -q hickory-resolver@=0.26.3 tokio@=1.54.1 || exit 2
sed -i 's/^tokio = .*/tokio = { version = "=1.54.1", features = ["rt", "net", "time"] }/' Cargo.toml
cargo fetch -q || exit 2
cat > src/main.rs <<'END'
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::Resolver;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::time::Duration;

const LOOKUPS: usize = 100;

/// A name server that counts its queries, and answers each with 10.0.0.1.
fn server() -> (u16, Arc<AtomicUsize>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        let mut query = [0; 2000];
        while let Ok((_, from)) = socket.recv_from(&mut query) {
            counted.fetch_add(1, SeqCst);
            let mut end = 12;
            while query[end] != 0 {
                end += 1 + usize::from(query[end]);
            }
            let mut answer = query[..end + 5].to_vec();
            answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 10, 0, 0, 1]);
            let _ = socket.send_to(&answer, from);
        }
    });
    (port, count)
}

/// Queries that each server gets of lookups of different names, one after another.
async fn trial(servers: usize, at_once: Option<usize>) -> usize {
    let running: Vec<_> = (0..servers).map(|_| server()).collect();
    let mut config = ResolverConfig::from_parts(None, Vec::new(), Vec::new());
    for (port, _) in &running {
        let mut server = NameServerConfig::udp([127, 0, 0, 1].into());
        server.connections[0].port = *port;
        config.add_name_server(server);
    }
    let mut builder = Resolver::builder_with_config(config, TokioRuntimeProvider::default());
    if let Some(count) = at_once {
        builder.options_mut().num_concurrent_reqs = count;
    }
    let resolver = builder.build().expect("a resolver");
    for number in 0..LOOKUPS {
        resolver.ipv4_lookup(format!("host{number}.example.")).await.expect("an answer");
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let counts: Vec<_> = running.iter().map(|(_, count)| count.load(SeqCst)).collect();
    println!("{servers} name servers, num_concurrent_reqs {at_once:?}: {LOOKUPS} lookups are {counts:?} queries");
    counts.iter().sum()
}

fn main() {
    println!("hickory-resolver 0.26.3");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let seen = runtime.block_on(async { (trial(1, None).await, trial(2, None).await, trial(2, Some(1)).await) });
    std::process::exit(i32::from(!(seen.0 == LOOKUPS && seen.1 > 150 && seen.2 < 120)));
}
END
cargo build -q || exit 2
target/debug/two
