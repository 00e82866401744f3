//! Checks of network devices: which there are, who drives them, and what they do to frames on their own.

use super::Finding;
use crate::ethtool::{Offloads, Pause};

/// A network device on the PCI bus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nic {
    /// Bus address, such as `0000:03:00.0`.
    pub address: String,
    /// Vendor and device number, such as `15b3:1017`.
    pub id: String,
    /// Driver that owns it.
    pub driver: Option<String>,
    /// Kernel interface on it, if one is visible here.
    pub netdev: Option<String>,
    /// Memory node, if known.
    pub numa_node: Option<u32>,
    /// Whether it is in a group of the IOMMU.
    pub iommu_group: bool,
}

impl Nic {
    /// Whether a program can drive it without the kernel.
    pub fn is_bypass(&self) -> bool {
        matches!(self.driver.as_deref(), Some("vfio-pci" | "igb_uio" | "uio_pci_generic"))
    }

    /// Whether tests can use it: neither the machine's way out nor an interface of another network namespace.
    pub fn is_free(&self, default_routes: &[String]) -> bool {
        !self.is_default_route(default_routes) && !self.is_elsewhere()
    }

    /// Whether the kernel drives it, but its interface is not in this network namespace.
    fn is_elsewhere(&self) -> bool {
        self.netdev.is_none() && self.driver.is_some() && !self.is_bypass()
    }

    fn is_default_route(&self, default_routes: &[String]) -> bool {
        self.netdev.as_ref().is_some_and(|netdev| default_routes.contains(netdev))
    }
}

/// The kernel's VFIO state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Vfio {
    /// Whether the IOMMU has groups.
    pub iommu_groups: bool,
    /// Whether `vfio-pci` is loaded.
    pub loaded: bool,
    /// Whether it works without an IOMMU.
    pub without_iommu: bool,
}

/// `bus`: whether a PCI bus can be seen.
pub(super) fn devices(bus: bool, nics: &[Nic], default_routes: &[String]) -> Finding {
    const CHECK: &str = "network devices";
    let describe = |nic: &Nic| {
        let driver = nic.driver.as_deref().unwrap_or("no driver");
        let netdev = nic.netdev.as_ref().map(|netdev| format!(" as {netdev}")).unwrap_or_default();
        let own = match () {
            () if nic.is_default_route(default_routes) => ", carries the default route",
            () if nic.is_elsewhere() => ", no interface in this network namespace",
            () => "",
        };
        format!("{} ({}) {driver}{netdev}{own}", nic.address, nic.id)
    };
    let found = nics.iter().map(describe).collect::<Vec<_>>().join("; ");
    if nics.is_empty() {
        let found = if bus { "none on the PCI bus" } else { "no PCI bus to be seen here" };
        return Finding::note(CHECK, found, "only virtual links can be tested here");
    }
    if !nics.iter().any(|nic| nic.is_free(default_routes)) {
        return Finding::note(
            CHECK,
            found,
            "no card is free for tests; virtual links and in-process ports are",
        );
    }
    Finding::good(CHECK, found, "cards are free for tests")
}

/// `None`: the kernel did not reply.
pub(super) fn default_route(interfaces: Option<&[String]>) -> Finding {
    const CHECK: &str = "default route";
    match interfaces {
        None => Finding::unknown(
            CHECK,
            "an interface the machine depends on cannot be distinguished from one for tests",
        ),
        Some([]) => Finding::good(CHECK, "none", "no interface here is the machine's way out"),
        Some(names) => {
            let why =
                "the machine's way out; test traffic is refused there unless explicitly allowed (RFC 6815)";
            Finding::good(CHECK, names.join(", "), why)
        }
    }
}

/// `pauses`: physical interfaces for tests; `None` where the driver has no flow control.
pub(super) fn flow_control(pauses: &[(String, Option<Pause>)]) -> Finding {
    const CHECK: &str = "flow control";
    let on: Vec<&(String, Option<Pause>)> =
        pauses.iter().filter(|(_, pause)| pause.is_some_and(|pause| pause.rx || pause.tx)).collect();
    if pauses.is_empty() {
        return Finding::good(
            CHECK,
            "no physical interface for tests",
            "nothing can hold the tester back unseen",
        );
    }
    if on.is_empty() {
        let names: Vec<&str> = pauses.iter().map(|(name, _)| name.as_str()).collect();
        return Finding::good(
            CHECK,
            format!("off on {}", names.join(", ")),
            "nothing holds the tester back unseen",
        );
    }
    let part = |(name, pause): &&(String, Option<Pause>)| {
        let pause = pause.unwrap_or(Pause { negotiated: false, rx: false, tx: false });
        let word = |on| if on { "on" } else { "off" };
        format!("{name}: rx {}, tx {}", word(pause.rx), word(pause.tx))
    };
    let commands: Vec<String> =
        on.iter().map(|(name, _)| format!("sudo ethtool -A {name} autoneg off rx off tx off")).collect();
    let why = "a full device under test stops the sender with pause frames instead of losing packets: loss is hidden, and \
               the offered load is less than requested";
    Finding::bad(CHECK, on.iter().map(part).collect::<Vec<_>>().join("; "), why).mend(commands.join(" && "))
}

/// `offloads`: interfaces for tests.
pub(super) fn offloads(known: bool, offloads: &[(String, Offloads)]) -> Finding {
    const CHECK: &str = "offloads";
    if !known {
        return Finding::unknown(CHECK, "the kernel may join received frames and cut long ones");
    }
    let names = |offloads: &Offloads| {
        let all =
            [("lro", offloads.lro), ("gro", offloads.gro), ("tso", offloads.tso), ("gso", offloads.gso)];
        all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let on: Vec<(&String, Vec<&str>)> =
        offloads.iter().map(|(name, of)| (name, names(of))).filter(|(_, names)| !names.is_empty()).collect();
    if offloads.is_empty() {
        return Finding::good(CHECK, "no kernel interface for tests", "no frame is joined or cut unseen");
    }
    if on.is_empty() {
        return Finding::good(CHECK, "off on all interfaces for tests", "no frame is joined or cut unseen");
    }
    let found =
        on.iter().map(|(name, names)| format!("{name}: {}", names.join(" "))).collect::<Vec<_>>().join("; ");
    let commands: Vec<String> = on
        .iter()
        .map(|(name, names)| {
            let off: Vec<String> = names.iter().map(|name| format!("{name} off")).collect();
            format!("sudo ethtool -K {name} {}", off.join(" "))
        })
        .collect();
    let why = "the kernel joins received TCP frames into longer ones and cuts them again: sessions over kernel ports and \
               kernel devices under test see fewer, longer frames than the wire";
    let make = if offloads.iter().any(|(_, of)| of.lro) { Finding::bad } else { Finding::note };
    make(CHECK, found, why).mend(commands.join(" && "))
}

pub(super) fn iommu(nics: &[Nic], default_routes: &[String], vfio: &Vfio) -> Finding {
    const CHECK: &str = "iommu";
    let free: Vec<&Nic> = nics.iter().filter(|nic| nic.is_free(default_routes)).collect();
    if free.is_empty() {
        return Finding::good(CHECK, "not needed: no card for tests", "only cards driven by DPDK need it");
    }
    let why = "without it vfio-pci takes cards only in its unsafe mode, where a wrong address on the card may overwrite \
               any memory";
    let word = |on, yes, no| if on { yes } else { no };
    let found = format!(
        "{}, vfio-pci {}",
        word(vfio.iommu_groups, "on", "off or not visible"),
        word(vfio.loaded, "loaded", "not loaded")
    );
    if !vfio.iommu_groups && vfio.without_iommu {
        return Finding::note(CHECK, format!("{found}, unsafe mode allowed"), why);
    }
    if !vfio.iommu_groups || free.iter().any(|nic| !nic.iommu_group) {
        return Finding::note(CHECK, found, why)
            .mend("add to the kernel's command line: intel_iommu=on iommu=pt (AMD: iommu=pt)");
    }
    if !vfio.loaded {
        return Finding::note(
            CHECK,
            found,
            "cards whose drivers DPDK replaces cannot be taken from the kernel",
        )
        .mend("sudo modprobe vfio-pci");
    }
    Finding::good(CHECK, found, "cards can be handed to DPDK safely")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Status;

    fn nic(driver: &str, netdev: Option<&str>) -> Nic {
        Nic {
            address: "0000:03:00.0".into(),
            id: "15b3:1017".into(),
            driver: Some(driver.into()),
            netdev: netdev.map(str::to_owned),
            numa_node: None,
            iommu_group: true,
        }
    }

    #[test]
    fn devices_are_listed_with_their_owners() {
        let own = ["eth0".to_owned()];
        let finding = devices(true, &[nic("virtio-pci", Some("eth0"))], &own);
        assert_eq!(finding.status, Status::Note);
        assert_eq!(finding.found, "0000:03:00.0 (15b3:1017) virtio-pci as eth0, carries the default route");
        let free = devices(true, &[nic("virtio-pci", Some("eth0")), nic("vfio-pci", None)], &own);
        assert_eq!(free.status, Status::Good);
        assert_eq!(devices(true, &[], &own).status, Status::Note);
        let elsewhere = devices(true, &[nic("virtio-pci", None)], &own);
        assert_eq!(elsewhere.status, Status::Note);
        assert!(elsewhere.found.ends_with("no interface in this network namespace"), "{}", elsewhere.found);
        assert!(nic("vfio-pci", None).is_bypass() && !nic("mlx5_core", None).is_bypass());
    }

    #[test]
    fn pause_frames_are_bad() {
        let pause = |rx, tx| Some(Pause { negotiated: true, rx, tx });
        assert_eq!(flow_control(&[]).status, Status::Good);
        assert_eq!(
            flow_control(&[("eth1".into(), pause(false, false)), ("eth2".into(), None)]).status,
            Status::Good
        );
        let on = flow_control(&[("eth1".into(), pause(true, false)), ("eth2".into(), None)]);
        assert_eq!((on.status, on.found.as_str()), (Status::Bad, "eth1: rx on, tx off"));
        assert_eq!(on.remedy.unwrap(), "sudo ethtool -A eth1 autoneg off rx off tx off");
    }

    #[test]
    fn offloads_are_noted_and_lro_is_bad() {
        let gro = Offloads { gro: true, tso: true, ..Offloads::default() };
        let finding = offloads(true, &[("veth0".into(), gro), ("veth1".into(), Offloads::default())]);
        assert_eq!((finding.status, finding.found.as_str()), (Status::Note, "veth0: gro tso"));
        assert_eq!(finding.remedy.unwrap(), "sudo ethtool -K veth0 gro off tso off");
        assert_eq!(offloads(true, &[("e".into(), Offloads { lro: true, ..gro })]).status, Status::Bad);
        assert_eq!(offloads(true, &[("e".into(), Offloads::default())]).status, Status::Good);
        assert_eq!(offloads(true, &[]).status, Status::Good);
    }

    #[test]
    fn the_iommu_matters_where_there_is_a_card() {
        let (on, off) = (Vfio { iommu_groups: true, loaded: true, without_iommu: false }, Vfio::default());
        assert_eq!(iommu(&[], &[], &off).status, Status::Good);
        assert_eq!(iommu(&[nic("e1000e", Some("eth0"))], &["eth0".into()], &off).status, Status::Good);
        let card = [nic("ice", Some("eth1"))];
        assert_eq!(iommu(&card, &[], &on).status, Status::Good);
        assert_eq!(iommu(&card, &[], &off).status, Status::Note);
        let unloaded = iommu(&card, &[], &Vfio { loaded: false, ..on });
        assert_eq!(unloaded.remedy.as_deref(), Some("sudo modprobe vfio-pci"));
        assert!(iommu(&card, &[], &Vfio { without_iommu: true, ..off }).found.contains("unsafe mode"));
    }

    #[test]
    fn the_default_route_is_named() {
        assert_eq!(default_route(Some(&["eth0".into()])).found, "eth0");
        assert_eq!(default_route(Some(&[])).status, Status::Good);
    }
}
