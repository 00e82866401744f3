//! Current state of the control protocols of a running trial's hosts: the documents of all of them.

/// The state of a host, or of one of its sessions.
pub(super) trait HostState {
    /// Once the host has left: what was learned from others is gone, what was counted stays.
    fn end(&mut self);

    /// Whether it is listed once the host has left.
    fn stays(&self) -> bool {
        true
    }

    /// Keeps at most `limit` of a list.
    fn keep(states: &mut Vec<Self>, limit: usize)
    where
        Self: Sized,
    {
        states.truncate(limit);
    }
}

/// The documents of a list of protocols: key and type of their states, and the numbers of them.
macro_rules! states {
    ($(
        $(#[doc = $about:literal])* $(#[serde($($serde:tt)*)])* $key:ident: $state:ty {
            $($(#[doc = $counted:literal])* $(#[serde($($count_serde:tt)*)])* $count:ident,)*
        }
    )*) => {
        /// Control protocols of a running trial's hosts.
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct ProtocolStates {
            /// Number of each kind, also of those that are not listed.
            #[serde(default)]
            pub counts: ProtocolCounts,
            $($(#[doc = $about])* $(#[serde($($serde)*)])* pub $key: Vec<$state>,)*
        }

        impl ProtocolStates {
            /// Adds the states of other ports: lists one after the other, numbers added up.
            pub fn add(&mut self, other: Self) {
                self.counts.add(other.counts);
                $(self.$key.extend(other.$key);)*
            }

            /// Brings the lists into the order of `ports`, each port's states as they are, and keeps at most `limit` of each kind.
            pub fn arrange(&mut self, ports: &[&str], limit: usize) {
                let place = |name: &str| ports.iter().position(|port| *port == name).unwrap_or(ports.len());
                $(
                    self.$key.sort_by_key(|one| place(&one.port));
                    HostState::keep(&mut self.$key, limit);
                )*
            }

            /// Once the hosts have left: what was learned from others is gone, what was counted stays.
            pub fn end(&mut self) {
                $(
                    self.$key.retain(HostState::stays);
                    self.$key.iter_mut().for_each(HostState::end);
                )*
            }
        }

        /// Number of each kind on all ports.
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub struct ProtocolCounts {
            $($($(#[doc = $counted])* $(#[serde($($count_serde)*)])* pub $count: u64,)*)*
        }

        impl ProtocolCounts {
            /// Adds the numbers of other ports.
            pub fn add(&mut self, other: Self) {
                $($(self.$count += other.$count;)*)*
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{BgpPeerState, LldpNeighbourResult, LldpPortState, LldpResult, ProtocolStates};

    #[test]
    fn states_of_several_machines_are_in_the_order_of_ports() {
        let peer = |port: &str, name: &str| BgpPeerState {
            port: port.to_owned(),
            name: name.to_owned(),
            ..BgpPeerState::default()
        };
        let agents = |port: &str, count| {
            let neighbours = vec![LldpNeighbourResult::default(); count];
            LldpPortState {
                port: port.to_owned(),
                is_down: false,
                agents: LldpResult { neighbours, ..LldpResult::default() },
            }
        };
        // One machine has the first port and the last, and its reply came second.
        let mut all = ProtocolStates {
            bgp: vec![peer("middle", "b")],
            lldp: vec![agents("middle", 2)],
            ..ProtocolStates::default()
        };
        all.add(ProtocolStates {
            bgp: vec![peer("first", "z"), peer("first", "a"), peer("last", "c")],
            lldp: vec![agents("first", 1), agents("last", 2)],
            ..ProtocolStates::default()
        });
        let names = |all: &ProtocolStates| all.bgp.iter().map(|peer| peer.name.clone()).collect::<String>();
        let listed = |all: &ProtocolStates| {
            all.lldp.iter().map(|one| (one.port.clone(), one.agents.neighbours.len())).collect::<Vec<_>>()
        };
        let rows = |counts: [usize; 3]| {
            ["first", "middle", "last"].map(str::to_owned).into_iter().zip(counts).collect::<Vec<_>>()
        };
        all.arrange(&["first", "middle", "last"], usize::MAX);
        assert_eq!((names(&all), listed(&all)), ("zabc".to_owned(), rows([1, 2, 2])));
        all.arrange(&["first", "middle", "last"], 2);
        assert_eq!((names(&all), listed(&all)), ("za".to_owned(), rows([1, 1, 0])));
    }
}
