use super::*;
use crate::frame::{TCP, UDP};
use proptest::prelude::*;
use wire::{checksums, read};

proptest! {
    /// For any group, its frames are read back and all checksums in them are right.
    #[test]
    fn others_read_what_is_written(
        vlans in prop::collection::vec(1u16..4_095, 0..3),
        is_v6: bool,
        is_udp: bool,
        ecn_capable: bool,
        tos: u8,
        from: u128,
        to: u128,
        payload in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let config = GroupConfig { vlans: vlans.clone().into(), tos, ttl: 17, own_mac: [2, 1, 2, 3, 4, 5], ..GroupConfig::default() };
        let template = Template::new(&config);
        let addresses = match is_v6 {
            false => Addresses::V4 { from: from as u32, to: to as u32 },
            true => Addresses::V6 { from, to },
        };
        let (protocol, header) = if is_udp { (UDP, 8) } else { (TCP, 20) };
        let outer = Outer { addresses, hop: [6, 5, 4, 3, 2, 1], protocol, ecn_capable };
        let mut frame = vec![0xaa; template.len(&addresses) + header + payload.len()];
        let transport = template.write(&outer, &mut frame);
        let len = transport.len();
        transport[..header].fill(0);
        transport[..4].copy_from_slice(&[0, 7, 0, 80]);
        if is_udp {
            transport[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        } else {
            transport[12] = 0x50;
        }
        transport[header..].copy_from_slice(&payload);
        put_checksum(&addresses, protocol, transport, if is_udp { 6 } else { 16 });

        let (headers, _) = read(&frame);
        let names: Vec<_> = headers.iter().map(|header| header.protocol.name).collect();
        let mut expected = vec!["ethernet"];
        expected.extend(vlans.iter().map(|_| "vlan"));
        expected.extend([if is_v6 { "ipv6" } else { "ipv4" }, if is_udp { "udp" } else { "tcp" }]);
        prop_assert_eq!(&names[..expected.len()], &expected[..]);
        let ip = &headers[1 + vlans.len()];
        let mask = if is_v6 { u128::MAX } else { u32::MAX.into() };
        prop_assert_eq!((ip.value("src"), ip.value("dst")), (Some(from & mask), Some(to & mask)));
        prop_assert_eq!(ip.value("ecn"), Some(if ecn_capable { 2 } else { 0 }));
        prop_assert_eq!(ip.value("dscp"), Some((tos >> 2).into()));
        prop_assert_eq!(ip.value(if is_v6 { "hop_limit" } else { "ttl" }), Some(17));
        let found = checksums(&frame);
        prop_assert_eq!(found.len(), if is_v6 { 1 } else { 2 });
        for checksum in found {
            let mut again = frame.clone();
            checksum.write(&mut again);
            prop_assert_eq!(&again, &frame);
        }
        let packet = frame::read(&frame).unwrap();
        prop_assert_eq!((packet.addresses, packet.ecn), (addresses, if ecn_capable { 2 } else { 0 }));
        prop_assert!(frame::is_sum_right(&packet.addresses, packet.protocol, packet.transport(&frame)));
        prop_assert_eq!(&frame[..12], &[6, 5, 4, 3, 2, 1, 2, 1, 2, 3, 4, 5]);
    }
}
