//! Content of an LSA, read from its body (RFC 2328 appendix A.4, RFC 3101 appendix A).
//!
//! Not here: OSPFv3 (`contents3`); what a router does with it (`exchange`); LSAs that are opaque.

use crate::lsa::{BORDER, EXTERNAL, LS_INFINITY, NETWORK, NSSA, ROUTER, SUMMARY, address, links, word};
use std::net::Ipv4Addr;

/// Content of an LSA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LsaContents {
    /// Links of a router (type 1).
    Router(Vec<LsaLink>),
    /// The mask of a network, and the routers on it (type 2).
    Network(Ipv4Addr, Vec<Ipv4Addr>),
    /// A network of another area, or a router at the border of the autonomous system (types 3 and 4).
    Summary(LsaRoute),
    /// A network of another autonomous system, and its forwarding address, if not the originator (types 5 and 7).
    External(LsaRoute, Ipv4Addr),
}

/// A link of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaLink {
    /// Where it leads: 1 is to another router, 2 to a network with a designated router, 3 to one without other routers, 4 is virtual.
    pub kind: u8,
    /// Its identifier, by type: a neighbour, a designated router, or a network.
    pub id: Ipv4Addr,
    /// Its data, by type: the router's address or number of the link, or a mask.
    pub data: Ipv4Addr,
    /// Cost.
    pub cost: u16,
}

/// A network that is no link of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaRoute {
    /// Its mask.
    pub mask: Ipv4Addr,
    /// Metric.
    pub metric: u32,
    /// Whether the metric is one of type 2: it alone counts.
    pub is_type_2: bool,
}

impl LsaContents {
    /// Content of the body of an LSA of type `kind`; `None` if its type is another one, or it is truncated.
    pub fn read(kind: u16, body: &[u8]) -> Option<Self> {
        let route = || {
            let metric = word(body, 4)?;
            Some(LsaRoute {
                mask: address(body, 0)?,
                metric: metric & LS_INFINITY,
                is_type_2: metric >> 31 == 1,
            })
        };
        Some(match kind {
            ROUTER => Self::Router(links(body).collect()),
            NETWORK => {
                let routers = body.get(4..)?.chunks_exact(4).filter_map(|one| address(one, 0));
                Self::Network(address(body, 0)?, routers.collect())
            }
            SUMMARY | BORDER => Self::Summary(LsaRoute { is_type_2: false, ..route()? }),
            EXTERNAL | NSSA => Self::External(route()?, address(body, 8)?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsa::{FLAG_EXTERNAL, Link, LinkTo, mask, put_external, put_router, put_summary};

    #[test]
    fn what_is_built_is_read_and_what_is_cut_off_is_not() {
        let (mut router, mut summary, mut external) = (Vec::new(), Vec::new(), Vec::new());
        let link = Link { to: LinkTo::Stub, id: [10, 0, 0, 0].into(), data: mask(24), cost: 7, theirs: 0 };
        put_router(&mut router, FLAG_EXTERNAL, [link, link].into_iter());
        put_summary(&mut summary, 24, 9);
        put_external(&mut external, 16, true, 20, 5);
        let read = LsaLink { kind: 3, id: link.id, data: link.data, cost: 7 };
        let route = |bits, metric, is_type_2| LsaRoute { mask: mask(bits), metric, is_type_2 };
        let network = [255, 255, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        for (kind, body, expected) in [
            (ROUTER, &router[..], LsaContents::Router(vec![read, read])),
            (SUMMARY, &summary, LsaContents::Summary(route(24, 9, false))),
            (EXTERNAL, &external[..12], LsaContents::External(route(16, 20, true), [0; 4].into())),
            (NETWORK, &network, LsaContents::Network(mask(16), vec![[1; 4].into(), [2; 4].into()])),
        ] {
            assert_eq!(LsaContents::read(kind, body), Some(expected.clone()));
            for len in 0..body.len() {
                assert_ne!(
                    LsaContents::read(kind, &body[..len]),
                    Some(expected.clone()),
                    "type {kind}, {len} bytes"
                );
            }
        }
        assert_eq!(LsaContents::read(10, &network), None);
    }
}
