//! STAMP (RFC 8762, RFC 8972), both ends: clients that send test packets, and servers that reflect them. The crate `stamp` has the packets,
//! and a reflector's rules.
//!
//! Instants are the worker's when it sends or takes in a packet, so a reply leaves at the instant at which its packet came. They are on the
//! wall clock's scale; this crate knows no offset of TAI, and writes UTC in PTPv2's format, too.
//!
//! Not here: which mode a foreign reflector has, which the plan states.

mod client;
mod plan;
mod server;

pub(crate) use client::Client;
pub use plan::StampPlan;
pub(crate) use server::Server;

use crate::extra::{Extra, Extras, Made};
use crate::flow::{Ctx, Flow};

/// State of a session.
#[derive(Debug)]
pub(crate) enum State {
    /// A client's packets.
    Sender(client::Sender),
    /// A server's reflector.
    Reflector(::stamp::Reflector),
}

/// An empty buffer for a datagram: that of one that has left, if there is one. `sent`: bytes of datagrams that the flow has sent.
fn buffer(extra: &mut Extra, sent: u64) -> Vec<u8> {
    let mut buffer = Vec::new();
    while let Some(made) = extra.made.front()
        && made.offset + made.bytes.len() as u64 <= sent
    {
        buffer = extra.made.pop_front().map(|made| made.bytes).unwrap_or_default();
    }
    buffer.clear();
    buffer
}

/// Sends a datagram, and keeps it until it has left.
fn send(ctx: &mut Ctx<'_>, flow: &mut Flow, bytes: Vec<u8>) {
    let len = bytes.len() as u64;
    let extra = ctx.extras.of(flow);
    extra.made.push_back(Made { offset: extra.echo_base, bytes });
    extra.echo_base += len;
    ctx.ask.datagrams.push(len);
    ctx.counts.bytes_sent += len;
    flow.sent = flow.sent.wrapping_add(1);
}

/// Writes the bytes of datagrams from `offset` on.
fn fill(flow: &Flow, extras: &Extras, mut offset: u64, mut out: &mut [u8]) {
    let Some(extra) = extras.find(flow) else { return };
    for made in &extra.made {
        let rest = offset.checked_sub(made.offset).and_then(|skip| made.bytes.get(skip as usize..));
        let Some(rest) = rest else { continue };
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        out = &mut out[n..];
        offset += n as u64;
    }
}

#[cfg(test)]
mod tests;
