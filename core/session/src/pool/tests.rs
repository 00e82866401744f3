//! Pools of few and of many.

use super::*;
use crate::testing::addresses;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn pool(order: SelectionOrder) -> Pool {
    let clients = addresses("10.0.0.1", "10.0.0.3", 5_000..=5_001);
    let servers = addresses("10.0.1.1", "10.0.1.2", 80..=81);
    Pool::new(&clients, &servers, None, PairOrder::All(order))
}

fn text(tuple: &Tuple) -> String {
    format!("{} {}", tuple.client, tuple.server)
}

#[test]
fn goes_through_all_pairs_in_order() {
    let pool = pool(SelectionOrder::Sequential);
    assert_eq!(pool.pairs(), 24);
    let all: Vec<String> = (0..24).map(|n| text(&pool.tuple(n).unwrap())).collect();
    assert_eq!(
        all[..4],
        [
            "10.0.0.1:5000 10.0.1.1:80",
            "10.0.0.2:5000 10.0.1.1:80",
            "10.0.0.3:5000 10.0.1.1:80",
            "10.0.0.1:5000 10.0.1.2:80",
        ]
    );
    assert_eq!(
        (all[6].as_str(), all[12].as_str()),
        ("10.0.0.1:5000 10.0.1.1:81", "10.0.0.1:5001 10.0.1.1:80")
    );
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 24);
    assert_eq!(pool.tuple(24), pool.tuple(0));
}

#[test]
fn random_order_is_a_permutation() {
    let pool = pool(SelectionOrder::Random { seed: 7 });
    let all: Vec<String> = (0..24).map(|n| text(&pool.tuple(n).unwrap())).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 24);
    let sequential: Vec<String> =
        (0..24).map(|n| text(&self::pool(SelectionOrder::Sequential).tuple(n).unwrap())).collect();
    assert_ne!(all, sequential);
}

#[test]
fn in_step_each_side_goes_round_by_itself() {
    let clients = addresses("10.0.0.1", "10.0.0.3", 5_000..=5_001);
    let servers = addresses("10.0.1.1", "10.0.1.2", 80..=81);
    let pool = Pool::new(&clients, &servers, None, PairOrder::InStep);
    // 3 × 2 sockets and 2 × 2.
    assert_eq!(pool.pairs(), 12);
    let all: Vec<String> = (0..12).map(|n| text(&pool.tuple(n).unwrap())).collect();
    assert_eq!(
        all[..5],
        [
            "10.0.0.1:5000 10.0.1.1:80",
            "10.0.0.2:5000 10.0.1.2:80",
            "10.0.0.3:5000 10.0.1.1:81",
            "10.0.0.1:5001 10.0.1.2:81",
            "10.0.0.2:5001 10.0.1.1:80",
        ]
    );
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 12);
    assert_eq!(pool.tuple(12), pool.tuple(0));
    assert_eq!((pairs_in_step(0, 5), pairs_in_step(6, 4), pairs_in_step(u128::MAX, 2)), (0, 12, u128::MAX));
}

#[test]
fn each_client_begins_with_a_port_of_its_own() {
    let mut clients = addresses("16.0.0.0", "16.0.0.1", 1_024..=64_000);
    clients.addresses.push(addresses("16.0.0.9", "16.0.0.9", 0..=0).addresses[0]);
    clients.begin = PortBegin::Spread;
    let servers = addresses("48.0.0.1", "48.0.0.1", 80..=80);
    for order in [PairOrder::InStep, PairOrder::All(SelectionOrder::Sequential)] {
        let pool = Pool::new(&clients, &servers, None, order);
        let ports = |numbers: std::ops::Range<u64>| -> Vec<u16> {
            numbers.map(|number| pool.tuple(number).unwrap().client.port()).collect()
        };
        // 1024 + 40644 and so on.
        assert_eq!(ports(0..6), [41_668, 59_073, 10_942, 41_669, 59_074, 10_943], "{order:?}");
        let all: BTreeSet<_> =
            (0..pool.pairs()).map(|number| pool.tuple(number).unwrap()).map(|t| text(&t)).collect();
        assert_eq!(all.len() as u64, pool.pairs(), "{order:?}");
        let round = 3 * (64_000 - 41_668);
        assert_eq!(
            ports(round..round + 4)[..],
            [64_000, ports(round + 1..round + 2)[0], ports(round + 2..round + 3)[0], 1_024]
        );
    }
}

#[test]
fn one_pair_of_addresses_goes_through_the_same_ports() {
    let ends = [addresses("10.0.0.1", "10.0.0.1", 5_000..=5_006), addresses("10.0.1.1", "10.0.1.1", 80..=84)];
    for order in [SelectionOrder::Sequential, SelectionOrder::Random { seed: 3 }] {
        let quick = Pool::new(&ends[0], &ends[1], None, PairOrder::All(order));
        assert!(quick.single.is_some());
        let slow = Pool { single: None, ..quick.clone() };
        let all = |pool: &Pool| (0..2 * 35).map(|n| pool.tuple(n).unwrap()).collect::<Vec<_>>();
        assert_eq!(all(&quick), all(&slow));
    }
    assert!(pool(SelectionOrder::Sequential).single.is_none());
}

#[test]
fn weights_count_and_pairs_stay_apart() {
    let mut clients = addresses("10.0.0.1", "10.0.0.1", 5_000..=5_099);
    clients
        .addresses
        .push(AddressRange { weight: 3, ..addresses("10.0.0.8", "10.0.0.9", 0..=0).addresses[0] });
    let servers = addresses("2001:db8::1", "2001:db8::1", 80..=80);
    let pool = Pool::new(&clients, &servers, Some(&(443..=443)), PairOrder::All(SelectionOrder::Sequential));
    let mut by_address = BTreeMap::<_, u32>::new();
    let mut seen = BTreeSet::new();
    for number in 0..7 * 33 {
        let tuple = pool.tuple(number).unwrap();
        *by_address.entry(tuple.client.ip().to_string()).or_default() += 1;
        assert!(seen.insert(text(&tuple)), "{tuple:?} twice");
        assert_eq!(tuple.server.to_string(), "[2001:db8::1]:443");
    }
    assert_eq!(by_address.into_values().collect::<Vec<_>>(), [33, 99, 99]);
}

#[test]
fn workers_take_what_is_theirs() {
    let mut all = BTreeSet::new();
    for worker in 0..3u16 {
        let mut pool = pool(SelectionOrder::Random { seed: 3 });
        let owned = |tuple: &Tuple| tuple.client.port().wrapping_add(tuple.server.port()) % 3 == worker;
        let mine = (0..24).filter(|n| owned(&pool.tuple(*n).unwrap())).count();
        for _ in 0..mine {
            all.insert(text(&pool.next(owned).unwrap().1));
        }
        assert!(owned(&pool.next(owned).unwrap().1));
        assert_eq!(pool.next(|_| false), None);
    }
    assert_eq!(all.len(), 24);
    let empty = PoolPlan { addresses: Vec::new(), ports: 1..=2, begin: PortBegin::First };
    assert_eq!(Pool::new(&empty, &empty, None, PairOrder::InStep).tuple(0), None);
}

proptest! {
    #[test]
    fn permutations_are(count in 1u64..3_000, seed: u64) {
        let permutation = Permutation::new(SelectionOrder::Random { seed }, count);
        let image: BTreeSet<u64> = (0..count).map(|n| permutation.apply(n)).collect();
        prop_assert_eq!(image.len() as u64, count);
        prop_assert!(image.last() < Some(&count));
    }
}
