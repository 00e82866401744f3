//! VLANs of a port's clients: the same for all, or for each its own, as an access network has them that gives each subscriber a
//! VLAN or a pair of them (1:1 VLANs, TR-101 section 2.5.1).

use std::borrow::Cow;
use wire::Vlans;

/// VLANs of which each client has its own: those from the first inner one to the last in the first outer one, then in the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EachVlan {
    /// The first and the last outer one; `None`: a client has a single VLAN.
    pub outer: Option<(u16, u16)>,
    /// The first and the last inner one.
    pub inner: (u16, u16),
}

impl EachVlan {
    /// Number of clients that there are VLANs for.
    pub fn count(&self) -> u64 {
        let span = |(first, last): (u16, u16)| u64::from(last.saturating_sub(first)) + 1;
        span(self.inner) * self.outer.map_or(1, span)
    }

    /// The client with these identifiers, outermost first.
    fn client_of(&self, tags: &[u16]) -> Option<u32> {
        let within =
            |(first, last): (u16, u16), id: u16| (first..=last).contains(&id).then(|| u32::from(id - first));
        let (outer, inner) = match (self.outer, tags) {
            (None, [inner]) => (0, *inner),
            (Some(range), [outer, inner]) => (within(range, *outer)?, *inner),
            _ => return None,
        };
        let width = u32::from(self.inner.1.saturating_sub(self.inner.0)) + 1;
        Some(outer * width + within(self.inner, inner)?)
    }

    /// Identifiers of a client, outermost first.
    fn of(&self, client: u32) -> Vec<u16> {
        let inner = u32::from(self.inner.1.saturating_sub(self.inner.0)) + 1;
        // Resolving a profile has seen to it that there are enough.
        let id = |first: u16, n: u32| first.wrapping_add(n as u16);
        let outer = self.outer.map(|(first, _)| id(first, client / inner));
        outer.into_iter().chain([id(self.inner.0, client % inner)]).collect()
    }
}

/// VLANs of a port's clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientVlans {
    /// Those of all; otherwise, how tags are written.
    common: Vlans,
    each: Option<EachVlan>,
}

impl From<Vlans> for ClientVlans {
    fn from(common: Vlans) -> Self {
        Self { common, each: None }
    }
}

impl ClientVlans {
    /// For each client its own, with tags of the types that `like` has.
    pub fn each(each: EachVlan, like: &Vlans) -> Self {
        Self { common: like.with_ids(Vec::new()), each: Some(each) }
    }

    /// Whether each client has its own.
    pub fn differ(&self) -> bool {
        self.each.is_some()
    }

    /// The VLANs of a client, outermost first.
    pub fn of(&self, client: u32) -> Cow<'_, Vlans> {
        match &self.each {
            Some(each) => Cow::Owned(self.common.with_ids(each.of(client))),
            None => Cow::Borrowed(&self.common),
        }
    }

    /// Which client a frame with these tags is for, by its VLANs: 0 where all have the same.
    pub(crate) fn client_of(&self, tags: &[u16]) -> Option<u32> {
        match &self.each {
            Some(each) => each.client_of(tags),
            None => (*self.common == *tags).then_some(0),
        }
    }

    /// Whether a frame with these tags is in the VLANs of a client.
    pub(crate) fn are_of(&self, client: u32, tags: &[u16]) -> bool {
        match &self.each {
            Some(each) => each.of(client) == tags,
            None => *self.common == *tags,
        }
    }

    /// A client's text: `{n}` is its number, `{outer}` and `{inner}` are its VLANs; of a single one, `{inner}`.
    pub fn text(&self, text: &str, client: u32) -> String {
        let text = text.replace("{n}", &client.to_string());
        if !text.contains(['{']) {
            return text;
        }
        let ids = self.of(client);
        let (outer, inner) = match &ids[..] {
            [] => return text,
            [only] => (None, only),
            [outer, .., inner] => (Some(outer), inner),
        };
        let text = text.replace("{inner}", &inner.to_string());
        match outer {
            Some(outer) => text.replace("{outer}", &outer.to_string()),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_vlans_go_first() {
        let each = EachVlan { outer: Some((100, 101)), inner: (4_093, 4_094) };
        assert_eq!(each.count(), 4);
        let vlans = ClientVlans::each(each, &Vlans::new(Vec::new(), Some(0x8100)));
        let all: Vec<Vec<u16>> = (0..4).map(|client| vlans.of(client).to_vec()).collect();
        assert_eq!(all, [[100, 4_093], [100, 4_094], [101, 4_093], [101, 4_094]]);
        assert_eq!(vlans.of(2).types().collect::<Vec<_>>(), [0x8100, 0x8100]);
        assert!(vlans.are_of(1, &[100, 4_094]) && !vlans.are_of(1, &[100, 4_093]) && !vlans.are_of(1, &[]));
        assert_eq!(vlans.text("eth 1/{n}:{outer}.{inner}", 2), "eth 1/2:101.4093");
        (0..4).for_each(|client| assert_eq!(vlans.client_of(&vlans.of(client)), Some(client)));
        for tags in [&[][..], &[100], &[99, 4_093], &[102, 4_093], &[100, 4_092], &[100, 1, 4_093]] {
            assert_eq!(vlans.client_of(tags), None, "{tags:?}");
        }
    }

    #[test]
    fn a_single_vlan_is_the_inner_one() {
        let each = EachVlan { outer: None, inner: (5, 9) };
        assert_eq!(each.count(), 5);
        let vlans = ClientVlans::each(each, &Vlans::NONE);
        assert_eq!((vlans.of(4).to_vec(), vlans.text("{inner}-{outer}", 4)), (vec![9], "9-{outer}".into()));
        let common: ClientVlans = Vlans::from([7, 8]).into();
        assert!(!common.differ() && common.are_of(3, &[7, 8]));
        assert_eq!((common.client_of(&[7, 8]), common.client_of(&[7])), (Some(0), None));
        assert_eq!((vlans.client_of(&[9]), vlans.client_of(&[10])), (Some(4), None));
        assert_eq!(
            (common.text("{outer}/{inner}", 3), ClientVlans::default().text("{inner}", 3)),
            ("7/8".into(), "{inner}".into())
        );
    }
}
