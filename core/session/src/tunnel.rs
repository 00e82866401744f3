//! A tunnel through an explicit proxy: before any other data on a flow, its client requests one. Source: RFC 9110
//! section 9.3.6.
//!
//! Offsets of data in the tunnel count from its beginning: the request lies before them.

use crate::counts::Reason;
use crate::flow::Flow;
use crate::http;
use crate::message::{Message, Piece, Vars, pieces};
use crate::vary::Content;

/// A client's request to a proxy. Pure data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunnelPlan {
    /// Where the tunnel leads: `www.example.com:443`.
    pub to: Content,
    /// More fields of the request, in order: names and values. Host is written automatically.
    pub fields: Vec<(String, Content)>,
}

/// A request for a tunnel made ready.
#[derive(Debug)]
pub(crate) struct Tunnel {
    request: Message,
}

/// Response of a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Not all of it has come.
    More,
    /// The tunnel is open; it begins after this number of bytes.
    Open(usize),
    /// There is no tunnel.
    No(Reason, String),
}

impl Tunnel {
    pub(crate) fn new(plan: &TunnelPlan) -> Self {
        let mut head = vec![Piece::text("CONNECT ")];
        head.extend(pieces(&plan.to));
        head.push(Piece::text(" HTTP/1.1\r\nHost: "));
        head.extend(pieces(&plan.to));
        for (name, value) in &plan.fields {
            head.push(Piece::text(format!("\r\n{name}: ")));
            head.extend(pieces(value));
        }
        head.push(Piece::text("\r\n\r\n"));
        Self { request: Message::new(head) }
    }

    fn vars(flow: &Flow) -> Vars {
        let session = u64::from(flow.number);
        Vars { session, request: 0, turn: session, body: 0, seconds: 0 }
    }

    /// Bytes of the request.
    pub(crate) fn len(&self, flow: &Flow) -> u64 {
        self.request.len(&Self::vars(flow))
    }

    /// Writes the request from `offset` on; returns how many bytes there were for `out`.
    pub(crate) fn fill(&self, flow: &Flow, offset: u64, out: &mut [u8]) -> usize {
        self.request.write(&Self::vars(flow), offset, out)
    }

    /// Reads the received part of the response.
    pub(crate) fn read(data: &[u8]) -> Said {
        let mut used = 0;
        loop {
            let (head, len) = match http::response_head(&data[used..]) {
                Ok(Some(found)) => found,
                Ok(None) => return Said::More,
                Err(wrong) => return Said::No(Reason::BadResponse, format!("CONNECT: {wrong}")),
            };
            used += len;
            let reason = match head.status {
                100..=199 => continue,
                // Whatever it says of its length: there is no body.
                200..=299 => return Said::Open(used),
                400..=499 => Reason::Http4xx,
                500..=599 => Reason::Http5xx,
                _ => Reason::HttpStatus,
            };
            return Said::No(reason, format!("CONNECT: the proxy returned {}", head.status));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_and_reads_like_this() {
        let fields = vec![("Proxy-Authorization".to_owned(), Content::bytes("Basic eDp5"))];
        let tunnel = Tunnel::new(&TunnelPlan { to: Content::bytes("a.test:443"), fields });
        let expected =
            b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Authorization: Basic eDp5\r\n\r\n";
        let flow = Flow::default();
        let mut out = vec![0; expected.len()];
        assert_eq!(tunnel.len(&flow), expected.len() as u64);
        assert_eq!(tunnel.fill(&flow, 0, &mut out), out.len());
        assert_eq!(out, expected);
        assert_eq!(tunnel.fill(&flow, 8, &mut out[..6]), 6);
        assert_eq!(out[..6], b"a.test"[..]);
    }

    #[test]
    fn a_tunnel_begins_behind_the_head() {
        let fine = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(Tunnel::read(fine), Said::Open(fine.len() - 5));
        assert_eq!(Tunnel::read(&fine[..fine.len() - 7]), Said::More);
        let refused = |text: &[u8]| match Tunnel::read(text) {
            Said::No(reason, _) => Some(reason),
            _ => None,
        };
        assert_eq!(refused(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), Some(Reason::Http4xx));
        assert_eq!(refused(b"HTTP/1.0 503 Service Unavailable\r\n\r\n"), Some(Reason::Http5xx));
        assert_eq!(refused(b"HTTP/1.1 302 Found\r\n\r\n"), Some(Reason::HttpStatus));
        assert_eq!(refused(b"SSH-2.0-x\r\n\r\n"), Some(Reason::BadResponse));
    }
}
