//! A kernel interface a port is opened on: what it was then, and what it has dropped since.

use crate::link::{LinkCounters, LinkFacts, Links};
use std::io;

/// A kernel interface a port is opened on, as it was then.
#[derive(Debug)]
pub struct OpenInterface {
    /// Its network namespace, for later requests from any thread.
    links: Links,
    /// Its facts when it was opened.
    pub at_open: LinkFacts,
    counted: LinkCounters,
}

impl OpenInterface {
    /// The interface with these facts, in the network namespace of `links`.
    pub fn new(mut links: Links, at_open: LinkFacts) -> io::Result<Self> {
        let counted = links.counters(&at_open.name)?;
        Ok(Self { links, at_open, counted })
    }

    /// Frames the kernel was to send over it since then, and dropped; `None` if it is gone.
    pub fn dropped(&mut self) -> Option<u64> {
        let now = self.links.counters(&self.at_open.name).ok()?;
        Some(now.tx_dropped.saturating_sub(self.counted.tx_dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_drops_nothing() {
        let mut links = Links::open().unwrap();
        let facts = links.by_name("lo").unwrap();
        assert_eq!(OpenInterface::new(links, facts.clone()).unwrap().dropped(), Some(0));
        let gone = LinkFacts { name: "no-such-link".to_owned(), ..facts };
        assert!(OpenInterface::new(Links::open().unwrap(), gone).is_err());
    }
}
