//! Addresses of an end that the profile shares out among hosts itself: groups of clients or servers, each in its host's VLAN and
//! by its gateway.

use super::Whose;
use super::host::{MOST, named, too_many};
use super::pool::{Span, TWO_FAMILIES};
use crate::document::session::AddressesDoc;
use crate::resolve::Resolver;
use indexmap::IndexMap;
use session::plan::AddressRange;
use spelling::unknown;
use std::net::IpAddr;

/// Ranges of hosts that have no address in common, in order.
type Layer = Vec<(Span, usize)>;

impl Resolver<'_> {
    /// The hosts of the end at `path`, and its addresses with their hosts' places among these: those behind the hosts, or of
    /// `given` each behind its host. The same servers may be there in several VLANs.
    pub(super) fn behind(
        &mut self,
        whose: Whose,
        path: &str,
        doc: &IndexMap<String, AddressesDoc>,
        port: usize,
        given: Option<Vec<AddressRange>>,
    ) -> Option<(Vec<usize>, Vec<AddressRange>)> {
        let said = self.reading.errors.len();
        let (mut hosts, mut ranges) = (Vec::new(), Vec::<AddressRange>::new());
        for (name, addresses) in doc {
            let path = format!("{path}.hosts.{name}");
            match self.host_named(port, name) {
                Ok(host) => hosts.push(host),
                Err(reason) => self.reading.fail(&path, reason),
            }
            let place = hosts.len().saturating_sub(1);
            let own = self.ranges(&path, addresses);
            let v4 = |range: &AddressRange| range.first.is_ipv4();
            if ranges.first().zip(own.first()).is_some_and(|(one, other)| v4(one) != v4(other)) {
                self.reading.fail(&path, TWO_FAMILIES);
            }
            ranges.extend(own.into_iter().map(|range| AddressRange { host: place, ..range }));
        }
        if hosts.len() > MOST {
            self.reading.fail(format!("{path}.hosts"), too_many());
        }
        if self.reading.errors.len() > said {
            return None;
        }
        let layers = match self.layers(whose, port, &hosts, &ranges) {
            Ok(layers) => layers,
            Err(reason) => {
                self.reading.fail(format!("{path}.hosts"), reason);
                return None;
            }
        };
        let Some(given) = given else { return Some((hosts, ranges)) };
        if let Some(ip) = given.iter().find_map(|range| uncovered(Span::range(range), &ranges)) {
            self.reading.fail(format!("{path}.addresses"), format!("{ip} is behind none of 'hosts'"));
            return None;
        }
        let cut = layers.iter().flat_map(|layer| given.iter().flat_map(|range| parts(range, layer)));
        Some((hosts, cut.collect()))
    }

    /// The one host behind a port with a name.
    fn host_named(&self, port: usize, name: &str) -> Result<usize, String> {
        let hosts = &self.ports[port].hosts;
        let first = format!("{name}[0]");
        match hosts.iter().position(|host| host.name == name) {
            Some(number) => Ok(number),
            None if hosts.iter().any(|host| host.name == first) => {
                Err(format!("'{name}' is several hosts; name one of them, such as '{first}'"))
            }
            None => {
                let known: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
                Err(unknown("host", name, &known))
            }
        }
    }

    /// The ranges of hosts, grouped by VLAN, with no address twice. Clients are in one VLAN each.
    fn layers(
        &self,
        whose: Whose,
        port: usize,
        hosts: &[usize],
        ranges: &[AddressRange],
    ) -> Result<Vec<Layer>, String> {
        let host = |place: usize| &self.ports[port].hosts[hosts[place]];
        let mut layers: IndexMap<&[u16], Layer> = IndexMap::new();
        for range in ranges {
            let vlans = if whose == Whose::Server { &host(range.host).vlans[..] } else { &[] };
            layers.entry(vlans).or_default().push((Span::range(range), range.host));
        }
        for layer in layers.values_mut() {
            layer.sort_unstable_by_key(|(span, _)| span.first);
            let twice = layer.windows(2).find(|pair| pair[0].0.last >= pair[1].0.first);
            if let Some([(_, one), (span, other)]) = twice {
                let (ip, one, other) = (span.ip(span.first), named(host(*one)), named(host(*other)));
                return Err(format!("{ip} is behind the hosts {one} and {other}"));
            }
        }
        Ok(layers.into_values().collect())
    }
}

/// The first address of a span that is in none of the ranges.
fn uncovered(span: Span, ranges: &[AddressRange]) -> Option<IpAddr> {
    let mut spans: Vec<Span> = ranges.iter().filter_map(|range| Span::range(range).common(span)).collect();
    spans.sort_unstable_by_key(|span| span.first);
    let mut next = Some(span.first);
    for part in spans {
        let first = next?;
        if part.first > first {
            break;
        }
        next = part.last.checked_add(1).map(|after| after.max(first));
    }
    next.filter(|next| *next <= span.last).map(|next| span.ip(next))
}

/// The parts of a range that are in a layer, in order, each with its host.
fn parts(range: &AddressRange, layer: &Layer) -> Vec<AddressRange> {
    let whole = Span::range(range);
    let begin = layer.partition_point(|(span, _)| span.last < whole.first);
    let common = layer[begin..].iter().map_while(|(span, host)| Some((span.common(whole)?, *host)));
    let part = |(span, host): (Span, usize)| AddressRange {
        first: span.ip(span.first),
        last: span.ip(span.last),
        weight: range.weight,
        host,
    };
    common.map(part).collect()
}
