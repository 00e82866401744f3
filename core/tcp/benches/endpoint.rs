//! Time that an endpoint takes: whole sessions of six segments with both ends on one core, and bulk data, segments as
//! structs and as bytes. The best of many short runs, so that other programs' turns don't count. `cargo bench -p tcp`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use tcp::{BoxPool, Endpoint, Env, Events, Outgoing, Segment, TcpCounts, TcpOptions, TimeWait};
use units::Nanos;

#[derive(Default)]
struct Seen {
    opened: bool,
    bytes: u64,
    finished: bool,
}

impl Events for Seen {
    fn opened(&mut self) {
        self.opened = true;
    }
    fn data(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
    }
    fn finished(&mut self) {
        self.finished = true;
    }
    fn acknowledged(&mut self, offset: u64) {
        black_box(offset);
    }
}

struct Bench {
    options: TcpOptions,
    busy: BoxPool,
    counts: TcpCounts,
    now: Nanos,
    as_bytes: bool,
    frame: Vec<u8>,
}

impl Bench {
    fn env(&mut self) -> Env<'_> {
        self.now.0 += 50;
        Env {
            now: self.now,
            options: &self.options,
            mss_limit: 1_460,
            mss_unsaid: 536,
            busy: &mut self.busy,
            counts: &mut self.counts,
        }
    }

    /// Carries a segment to `use_it`, through bytes if requested.
    fn carry(&mut self, out: &Outgoing, mut use_it: impl FnMut(&mut Env<'_>, &Segment<'_>)) {
        static PAYLOAD: [u8; 1_460] = [0; 1_460];
        let payload = &PAYLOAD[..usize::from(out.len)];
        if self.as_bytes {
            let len = out.header.len();
            let mut frame = std::mem::take(&mut self.frame);
            out.header.write(1, 2, &mut frame);
            let segment =
                Segment::read(&frame[..len + payload.len()], false).expect("what is written can be read");
            use_it(&mut self.env(), black_box(&segment));
            self.frame = frame;
        } else {
            let segment = Segment { header: out.header, payload, congestion_experienced: false };
            use_it(&mut self.env(), black_box(&segment));
        }
    }

    /// SYN, SYN-ACK, request, response with FIN, FIN, ACK.
    fn session(&mut self, request: u64, response: u64) -> u64 {
        let (mut at_client, mut at_server) = (Seen::default(), Seen::default());
        let mut segments = 0;
        let mut client = Endpoint::connect(&mut self.env(), 1);
        let syn = client.transmit(&mut self.env()).expect("a SYN");
        let mut server = None;
        self.carry(&syn, |env, segment| server = Some(Endpoint::accept(env, 2, segment)));
        let mut server = server.expect("accepted");
        let (mut asked, mut answered, mut closed, mut over) = (false, false, false, 0);
        while over < 2 {
            while let Some(out) = server.transmit(&mut self.env()) {
                segments += 1;
                self.carry(&out, |env, segment| {
                    over += u32::from(client.on_segment(env, segment, &mut at_client).is_some());
                    if at_client.opened && !asked {
                        asked = true;
                        client.send(env, request);
                    }
                    if at_client.finished && !closed {
                        closed = true;
                        client.close(env);
                    }
                });
            }
            while let Some(out) = client.transmit(&mut self.env()) {
                segments += 1;
                self.carry(&out, |env, segment| {
                    over += u32::from(server.on_segment(env, segment, &mut at_server).is_some());
                    if at_server.bytes == request && !answered {
                        answered = true;
                        server.send(env, response);
                        server.close(env);
                    }
                });
            }
            // The server's end may leave a last acknowledgement; the client's comes with it.
        }
        black_box(&at_client);
        segments + 1
    }
}

fn main() {
    let options = TcpOptions { time_wait: TimeWait::Skip, ..TcpOptions::default() };
    for as_bytes in [false, true] {
        let (busy, counts) = (BoxPool::new(), TcpCounts::new());
        let mut bench = Bench {
            options: options.clone(),
            busy,
            counts,
            now: Nanos::from_secs(1),
            as_bytes,
            frame: vec![0; 1_520],
        };
        let way = if as_bytes { "written and read" } else { "passed as they are" };
        for (name, request, response, rounds) in
            [("sessions", 100, 1_000, 1_000u64), ("bulk", 100, 50_000_000, 1)]
        {
            let mut best = f64::MAX;
            let mut segments = 0;
            for _ in 0..300 {
                segments = 0;
                let start = Instant::now();
                for _ in 0..rounds {
                    segments += bench.session(request, response);
                }
                best = best.min(start.elapsed().as_nanos() as f64);
            }
            let (each, per) = (best / rounds as f64, best / segments as f64);
            println!(
                "{name}, segments {way}: {each:.0} ns each, {:.1} segments each, {per:.1} ns per segment sent and received",
                segments as f64 / rounds as f64
            );
        }
    }
}
