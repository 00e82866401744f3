//! Common parts of clients behind a port: their VLANs, hardware addresses and rates.

use super::Resolver;
use crate::document::{ClientVlansDoc, Mac};
use emulate::{ClientVlans, EachVlan};
use units::Pps;
use wire::Vlans;

/// Says that a hardware address is a group's.
const GROUP: u8 = 1;

impl Resolver<'_> {
    /// The VLANs of this number of clients: the port's, or for each its own.
    pub(crate) fn client_vlans(
        &mut self,
        path: &str,
        doc: Option<&ClientVlansDoc>,
        clients: u32,
        port: &Vlans,
    ) -> ClientVlans {
        let Some(doc) = doc else { return port.clone().into() };
        let each = EachVlan { outer: doc.outer.as_ref().map(|outer| outer.0), inner: doc.inner.0 };
        if each.count() < u64::from(clients) {
            let reason = format!(
                "{} for {clients} clients, each of which needs its own; make 'inner' or 'outer' wider",
                match (each.count(), each.outer) {
                    (1, None) => "1 VLAN".to_owned(),
                    (1, Some(_)) => "1 pair of VLANs".to_owned(),
                    (count, None) => format!("{count} VLANs"),
                    (count, Some(_)) => format!("{count} pairs of VLANs"),
                }
            );
            self.reading.fail(format!("{path}.vlans"), reason);
        }
        let like = Vlans::new(Vec::new(), doc.vlan_type.as_ref().map(|kind| kind.0));
        ClientVlans::each(each, &like)
    }

    /// Refuses a text with a client's VLANs if clients have none.
    pub(crate) fn check_vlans_of_text(&mut self, path: &str, text: Option<&str>, vlans: &ClientVlans) {
        let Some(text) = text else { return };
        let tags = vlans.of(0).len();
        let wrong = [("{outer}", 2), ("{inner}", 1)]
            .into_iter()
            .find(|(name, least)| text.contains(name) && tags < *least);
        if let Some((name, _)) = wrong {
            let has = if tags == 0 { "are in no VLAN" } else { "have a single VLAN, which is '{inner}'" };
            self.reading
                .fail(path, format!("'{name}' is a VLAN of the client, but clients {has}: set 'vlans'"));
        }
    }

    /// The hardware address of the first of this number of clients, if it is given.
    pub(crate) fn first_mac(&mut self, path: &str, mac: Option<&Mac>, clients: u32) -> Option<units::Mac> {
        let first = mac.map(|mac| units::Mac(mac.0));
        if first.is_some_and(|mac| mac.0[0] & GROUP != 0) {
            let reason = "is a multicast address; clients need unicast addresses";
            self.reading.fail(format!("{path}.mac"), reason);
        }
        if first.is_some_and(|mac| mac.number() + u64::from(clients) > 1 << 48) {
            let reason = "leaves too few MAC addresses after it for the clients";
            self.reading.fail(format!("{path}.mac"), reason);
        }
        first
    }

    /// A rate of one in a second or more.
    pub(crate) fn per_second(&mut self, path: &str, rate: Pps) -> u32 {
        let whole = rate.as_f64().round();
        if !(1.0..=1e6).contains(&whole) {
            self.reading.fail(path, "must be from 1/s to 1M/s");
        }
        whole as u32
    }
}
