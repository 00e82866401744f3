//! The VLAN tags that a host writes: identifiers, and the type of the outermost (IEEE 802.1Q clause 9).
//!
//! Not here: reading a frame's tags, which each reader does on its way; [`is_vlan_type`] is what they share.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Type of a customer VLAN tag (IEEE 802.1Q table 9-1).
pub const VLAN_TYPE: u16 = 0x8100;
/// Type of a service VLAN tag (IEEE 802.1Q table 9-1, once 802.1ad).
pub const SERVICE_VLAN_TYPE: u16 = 0x88a8;
/// Type of an outer tag from before there was a standard for it.
pub const OLD_SERVICE_VLAN_TYPE: u16 = 0x9100;

/// Whether an EtherType announces a VLAN tag.
#[inline(always)]
pub const fn is_vlan_type(kind: u16) -> bool {
    matches!(kind, VLAN_TYPE | SERVICE_VLAN_TYPE | OLD_SERVICE_VLAN_TYPE)
}

/// Whether a frame begins with an 802.1Q tag.
#[inline]
pub fn is_tagged(frame: &[u8]) -> bool {
    frame.get(12..14) == Some(&VLAN_TYPE.to_be_bytes())
}

/// VLANs of a host, and how its tags are written. A slice of their identifiers, outermost first.
///
/// Equal to others with the same identifiers, regardless of the type: a host takes frames of its VLANs with tags of any
/// type.
#[derive(Debug, Clone, Default, Eq)]
pub struct Vlans {
    ids: Vec<u16>,
    outer_type: Option<u16>,
}

impl Vlans {
    /// No VLANs: frames without tags.
    pub const NONE: Self = Self { ids: Vec::new(), outer_type: None };

    /// VLANs `ids`, outermost first. `outer_type` is the type of the outermost tag; `None`: 0x8100 for a single tag and
    /// 0x88a8 for the first of several.
    pub fn new(ids: Vec<u16>, outer_type: Option<u16>) -> Self {
        Self { ids, outer_type }
    }

    /// Other identifiers with tags of the same types.
    pub fn with_ids(&self, ids: Vec<u16>) -> Self {
        Self { ids, outer_type: self.outer_type }
    }

    /// The type of the outermost tag where it is not the usual one.
    pub fn given_type(&self) -> Option<u16> {
        self.outer_type
    }

    /// The type of each tag, outermost first.
    pub fn types(&self) -> impl Iterator<Item = u16> {
        let usual = if self.ids.len() > 1 { SERVICE_VLAN_TYPE } else { VLAN_TYPE };
        let outer = self.outer_type.unwrap_or(usual);
        (0..self.ids.len()).map(move |depth| if depth == 0 { outer } else { VLAN_TYPE })
    }

    /// Whether the outermost tag is one of 802.1Q.
    pub fn is_tagged(&self) -> bool {
        self.types().next() == Some(VLAN_TYPE)
    }

    /// The tags of a frame after both hardware addresses, outermost first.
    pub fn tags(&self) -> impl Iterator<Item = [u8; 4]> {
        self.types().zip(&self.ids).map(|(kind, id)| {
            let ([a, b], [c, d]) = (kind.to_be_bytes(), (id & 0xfff).to_be_bytes());
            [a, b, c, d]
        })
    }
}

impl Deref for Vlans {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.ids
    }
}

impl DerefMut for Vlans {
    fn deref_mut(&mut self) -> &mut [u16] {
        &mut self.ids
    }
}

impl PartialEq for Vlans {
    fn eq(&self, other: &Self) -> bool {
        self.ids == other.ids
    }
}

impl PartialEq<Vlans> for Vec<u16> {
    fn eq(&self, other: &Vlans) -> bool {
        *self == other.ids
    }
}

impl Hash for Vlans {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ids.hash(state);
    }
}

impl From<Vec<u16>> for Vlans {
    fn from(ids: Vec<u16>) -> Self {
        Self::new(ids, None)
    }
}

impl<const N: usize> From<[u16; N]> for Vlans {
    fn from(ids: [u16; N]) -> Self {
        Self::new(ids.to_vec(), None)
    }
}

impl From<&[u16]> for Vlans {
    fn from(ids: &[u16]) -> Self {
        Self::new(ids.to_vec(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_the_outer_type_once() {
        let tags = |ids: &[u16], outer| Vlans::new(ids.to_vec(), outer).tags().collect::<Vec<_>>().concat();
        assert_eq!(tags(&[], None), []);
        assert_eq!(tags(&[], Some(SERVICE_VLAN_TYPE)), []);
        assert_eq!(tags(&[7], None), [0x81, 0, 0, 7]);
        assert_eq!(tags(&[7], Some(0x9100)), [0x91, 0, 0, 7]);
        assert_eq!(tags(&[0x123, 7], None), [0x88, 0xa8, 1, 0x23, 0x81, 0, 0, 7]);
        assert_eq!(tags(&[1, 2, 3], Some(0x8100)), [0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3]);
    }

    #[test]
    fn only_an_outermost_8021q_tag_counts_as_one() {
        for (ids, outer, expected) in [
            (&[][..], None, false),
            (&[7], None, true),
            (&[7], Some(SERVICE_VLAN_TYPE), false),
            (&[1, 2], None, false),
            (&[1, 2], Some(VLAN_TYPE), true),
        ] {
            let vlans = Vlans::new(ids.to_vec(), outer);
            assert_eq!(vlans.is_tagged(), expected, "{vlans:?}");
            let frame = [vec![2; 12], vlans.tags().collect::<Vec<_>>().concat(), vec![8, 0]].concat();
            assert_eq!(is_tagged(&frame), expected, "{vlans:?}");
        }
        assert!(!is_tagged(&[0x81; 13]));
    }
}
