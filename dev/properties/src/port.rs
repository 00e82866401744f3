//! Any text as a port string: a valid one has one canonical form, and the drivers' arguments name no other port than
//! the one checked by allow-lists, leases and guards.

use port::PortErrorKind;
use port::name::{Kind, PEER_WAIT_MAX_S, PortName, is_interface_name, is_path};

/// Keys that set the identity of a port for DPDK's drivers, or code to run.
const IDENTITY: [&str; 16] = [
    "iface",
    "socket",
    "socket-abstract",
    "path",
    "rx_pcap",
    "tx_pcap",
    "rx_iface",
    "rx_iface_in",
    "tx_iface",
    "remote",
    "xdp_prog",
    "dp_path",
    "use_cni",
    "shared_umem",
    "persist",
    "role",
];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match PortName::parse(text) {
        Ok(name) => check_name(text, &name),
        Err(error) => {
            assert_eq!(error.kind, PortErrorKind::Name);
            assert!(!error.reason.is_empty(), "refused without a reason: {text:?}");
        }
    }
}

fn check_name(text: &str, name: &PortName) {
    let canonical = name.to_string();
    let again =
        PortName::parse(&canonical).unwrap_or_else(|error| panic!("{text:?}: {canonical:?}: {error}"));
    assert_eq!(&again, name, "{text:?} is printed as {canonical:?}");
    assert_eq!(again.to_string(), canonical);
    assert!(name.wait.as_secs() <= PEER_WAIT_MAX_S, "{text:?}");
    for (index, (key, value)) in name.options.iter().enumerate() {
        assert!(!IDENTITY.contains(key), "{text:?} passes {key} to a driver");
        assert!(is_path(value), "{text:?}: a driver reads the value {value:?} otherwise");
        assert!(name.options[..index].iter().all(|(known, _)| known != key), "{text:?} has {key} twice");
    }
    match &name.kind {
        Kind::AfPacket { interface } | Kind::AfXdp { interface, .. } | Kind::Tap { interface } => {
            assert!(is_interface_name(interface), "{text:?}");
        }
        Kind::Memif { socket, .. } | Kind::Vhost { socket, .. } | Kind::Virtio { socket, .. } => {
            assert!(is_path(socket), "{text:?}");
            assert!(name.kind.listens_at().is_none_or(|listens| listens == socket));
        }
        Kind::Pcap { rx, tx } => {
            assert!([rx, tx].iter().all(|file| file.is_empty() || is_path(file)), "{text:?}");
            assert!(!(rx.is_empty() && tx.is_empty()), "{text:?}");
        }
        Kind::Pci { address } => {
            let short = address.strip_prefix("0000:").unwrap_or(address);
            assert_eq!(PortName::parse(short).as_ref(), Ok(name), "{text:?}");
        }
        // Its arguments go to the driver as they are.
        Kind::Vdev { .. } | Kind::Null | Kind::Ring(_) => assert!(name.options.is_empty()),
    }
}

/// One of each kind, and what was once understood as another port.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "veth0",
        "afpacket:veth0,framecnt=512,qdisc_bypass",
        "afxdp:veth0,force_copy=1,start_queue=3",
        "xdp:veth0,start_queue=0",
        "null",
        "ring:lab.b",
        "memif:/run/x.sock,server,id=3,rsize=11,zero-copy=yes,secret=abc,wait=60",
        "tap:eagre0,mac=02:00:00:00:00:01",
        "vhost:/run/x.sock,client=1,queues=2,tso=1",
        "virtio:/run/x.sock,server=1,queue_size=512,packed_vq",
        "pcap:in,out",
        "pcap:,out,infinite_rx=1",
        "0000:03:00.0",
        "AB:1f.7",
        "vdev:net_ring0,nodeaction=a:0:CREATE",
        "vdev:net_pcap0,rx_pcap=a,rx_pcap=b,",
        "veth0,iface=lo",
        "vhost:/x,iface=/etc/passwd,wait=0",
        "memif:/x,wait=18446744073709551615",
        "memif:/x,role=server,socket=/y",
        "afxdp:veth0=lo",
        "memif:/x [y]",
        "00000000:03:00.0",
    ];
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}
