use super::*;
use crate::reading::{Counter, Interface, Ticks};
use proptest::prelude::*;
use units::Nanos;

fn interface(rx: u64, tx: u64, bytes: u64) -> Option<Interface> {
    let [rx_packets, tx_packets] = [rx, tx].map(Counter::wide);
    Some(Interface {
        rx_packets,
        tx_packets,
        rx_bytes: Counter::wide(rx * bytes),
        tx_bytes: Counter::wide(tx * bytes),
    })
}

fn at(s: u64) -> Reading {
    Reading {
        at: Nanos::from_secs(s),
        inside: interface(50, 60, 64),
        outside: interface(70, 80, 64),
        ..Reading::default()
    }
}

/// A hop with these numbers of packets received and sent, each way.
fn hop(name: &str, forward: (u64, u64), backward: (u64, u64), drops: &[(Source, &str, u64)]) -> Record {
    let mut after = at(10);
    after.inside = interface(50 + forward.0, 60 + backward.1, 64);
    after.outside = interface(70 + backward.0, 80 + forward.1, 64);
    let mut before = at(0);
    for (source, text, count) in drops {
        before.drops.insert((*source, (*text).to_owned()), Counter::wide(1_000));
        after.drops.insert((*source, (*text).to_owned()), Counter::wide(1_000 + count));
    }
    Record {
        name: name.to_owned(),
        inside: "in".to_owned(),
        outside: "out".to_owned(),
        before: Some(before),
        after: Some(after),
        ..Record::default()
    }
}

const RULE: &str = "nft rule 'limit rate over 9/second counter drop' (inet t f, handle 3)";

fn weakest(report: &PathReport) -> &Weakest {
    report.weakest.as_ref().unwrap_or_else(|| panic!("nothing is named: {report:#?}"))
}

#[test]
fn the_hop_that_dropped_is_named_with_its_counter() {
    let r1 = hop("r1", (100_000, 100_000), (0, 0), &[]);
    let r2 = hop(
        "r2",
        (100_000, 87_660),
        (0, 0),
        &[(Source::Nft, RULE, 12_340), (Source::Link, "rx dropped of in", 3)],
    );
    let alone = report(&[r1.clone(), r2.clone()], None);
    assert_eq!(
        weakest(&alone).sentence,
        format!("r2 lost 12,340 of 100,000 packets that entered it: {RULE} (12,340).")
    );
    assert_eq!((weakest(&alone).hop.as_str(), weakest(&alone).lost), ("r2", 12_340));
    assert_eq!(weakest(&alone).counters, [Drop { counter: RULE.to_owned(), count: 12_340 }]);
    assert_eq!(alone.explained, None);
    let told = report(&[r1, r2], Some(Offered { sent: 100_000, received: 87_655 }));
    assert_eq!(
        weakest(&told).sentence,
        format!("Of 12,345 packets lost, 12,340 were dropped by r2: {RULE} (12,340).")
    );
    assert_eq!((told.explained, told.remarks.len()), (Some(12_340), 0));
    assert_eq!(told.hops[1].drops.len(), 2);
}

#[test]
fn nothing_lost_names_nothing() {
    let path = [hop("r1", (100_000, 100_000), (0, 0), &[]), hop("r2", (100_020, 100_010), (7, 30), &[])];
    let quiet = report(&path, Some(Offered { sent: 100_000, received: 100_000 }));
    assert_eq!((quiet.weakest, quiet.remarks.len(), quiet.explained), (None, 0, Some(0)));
    assert_eq!(quiet.hops[0].in_packets, Some(100_000));
}

#[test]
fn background_does_not_make_a_hop_weak() {
    let lost = |entered: u64, lost: u64, requests_sent: u64| {
        let mut record = hop("r1", (entered, entered - lost), (0, 0), &[]);
        record.requests_sent = requests_sent;
        report(&[record], None).weakest.map(|weakest| weakest.lost)
    };
    assert_eq!(lost(1_000, 100, 0), None);
    assert_eq!(lost(1_000, 101, 0), Some(101));
    assert_eq!(lost(10_000_000, 1_000, 0), None, "0.01 % of what entered");
    assert_eq!(lost(10_000_000, 1_001, 0), Some(1_001));
    assert_eq!(lost(1_000, 150, 30), None, "the poller's own questions");
}

/// Source NAT to a range of N ports carries fewer than N flows: Linux 6.18 finds no port for 10 of 2,000.
#[test]
fn drops_that_background_does_not_cause_need_no_tolerance() {
    let lost = |source: Source, counter: &str, sent: u64| {
        let path = [hop("nat", (2_000, 2_005), (5, 0), &[(source, counter, 10)])];
        report(&path, Some(Offered { sent: 2_000, received: 2_000 - sent }))
    };
    let failed = lost(Source::Conntrack, "conntrack insert_failed", 10);
    assert_eq!((weakest(&failed).lost, failed.explained), (10, Some(10)));
    assert_eq!(
        weakest(&failed).sentence,
        "Of 10 packets lost, 10 were dropped by nat: conntrack insert_failed (10)."
    );
    assert_eq!(weakest(&lost(Source::Nft, RULE, 10)).lost, 10);
    assert_eq!(weakest(&lost(Source::Qdisc, "qdisc tbf of out", 10)).lost, 10);
    assert_eq!(lost(Source::Ip, "IpInDiscards", 10).weakest, None, "background packets count there, too");
    assert_eq!(lost(Source::Nft, RULE, 0).weakest, None, "nothing of the test was lost");
}

#[test]
fn a_hop_that_let_all_through_lost_little() {
    let offered = Some(Offered { sent: 100_000, received: 95_000 });
    let most = |hops: &[Record]| report(hops, offered).lost_at_most();
    assert_eq!(most(&[hop("r1", (100_000, 100_000), (0, 0), &[])]), Some(100));
    assert_eq!(most(&[hop("r1", (99_000, 98_500), (0, 0), &[])]), Some(1_600), "1,000 did not enter");
    assert_eq!(
        most(&[hop("r1", (100_000, 100_000), (0, 0), &[(Source::Link, "rx missed of in", 700)])]),
        Some(800)
    );
    let two = [hop("r1", (100_000, 100_000), (0, 0), &[]), hop("r2", (100_000, 100_000), (0, 0), &[])];
    assert_eq!(most(&two), None);
}

#[test]
fn refusals_sent_back_hide_no_loss() {
    let path = [hop("r1", (5_000, 1_000), (0, 4_000), &[])];
    let report = report(&path, None);
    assert_eq!(weakest(&report).lost, 4_000);
    assert!(weakest(&report).sentence.ends_with("; no drop counter explains it."));
}

#[test]
fn both_directions_are_added() {
    let path = [hop("r1", (5_000, 4_000), (3_000, 2_500), &[])];
    let report = report(&path, Some(Offered { sent: 8_000, received: 6_500 }));
    let r1 = &report.hops[0];
    assert_eq!((r1.in_packets, r1.out_packets, r1.lost), (Some(8_000), Some(6_500), Some(1_500)));
    assert_eq!(
        weakest(&report).sentence,
        "Of 1,500 packets lost, 1,500 were lost in r1; no drop counter explains it."
    );
}

#[test]
fn what_drops_without_counting_is_shown() {
    let mut record = hop("r1", (5_000, 1_000), (0, 0), &[]);
    record.after.as_mut().unwrap().uncounted = vec!["the policy of nft chain inet t f".to_owned()];
    let report = report(&[record], None);
    assert!(
        weakest(&report)
            .sentence
            .ends_with("but this drops without counting: the policy of nft chain inet t f."),
        "{report:?}"
    );
}

#[test]
fn a_link_between_hops_is_named() {
    let path = [hop("r1", (9_000, 9_000), (0, 0), &[]), hop("r2", (8_000, 8_000), (0, 0), &[])];
    let alone = report(&path, None);
    assert_eq!(
        weakest(&alone).sentence,
        "The link from r1 (out) to r2 (in) lost 1,000 of 9,000 packets that were sent over it."
    );
    let told = report(&path, Some(Offered { sent: 9_000, received: 8_000 }));
    assert_eq!(weakest(&told).hop, "r1 - r2");
    assert_eq!(
        weakest(&told).sentence,
        "Of 1,000 packets lost, 1,000 were lost on the link from r1 (out) to r2 (in)."
    );
}

#[test]
fn a_card_that_drops_before_it_counts_is_no_link() {
    let path = [
        hop("r1", (9_000, 9_000), (0, 0), &[]),
        hop(
            "r2",
            (8_000, 8_000),
            (0, 0),
            &[(Source::Link, "rx missed of in", 1_000), (Source::Ethtool, "same", 1_000)],
        ),
    ];
    let report = report(&path, None);
    assert_eq!(weakest(&report).hop, "r2");
    assert!(
        weakest(&report)
            .sentence
            .starts_with("r2 dropped 1,000 packets according to its counters: rx missed of in")
    );
    assert!(report.remarks.is_empty(), "{:?}", report.remarks);
}

#[test]
fn the_ways_from_and_to_the_tester_are_links() {
    let path = [hop("r1", (9_000, 9_000), (0, 0), &[]), hop("r2", (9_000, 9_000), (0, 0), &[])];
    let before = report(&path, Some(Offered { sent: 10_000, received: 9_000 }));
    assert_eq!(weakest(&before).hop, "tester - r1 and r2");
    let after = report(&path, Some(Offered { sent: 9_000, received: 5_000 }));
    assert_eq!(weakest(&after).hop, "r1 and r2 - tester");
}

#[test]
fn others_losses_are_not_the_tests() {
    let path = [hop("r1", (9_000, 5_000), (0, 0), &[(Source::Qdisc, "qdisc tbf of out", 4_000)])];
    let report = report(&path, Some(Offered { sent: 100, received: 100 }));
    assert_eq!(report.weakest, None);
    assert_eq!(
        report.remarks,
        [
            "r1 lost 4,000 of 9,000 packets that entered it: qdisc tbf of out (4,000); the test lost none, so these are \
          other packets"
        ]
    );
}

#[test]
fn the_rest_is_said() {
    let path = [hop("r1", (9_000, 8_000), (0, 0), &[]), hop("r2", (8_000, 7_000 - 1), (0, 0), &[])];
    let mut unknown = hop("r3", (0, 0), (0, 0), &[]);
    unknown.after = None;
    unknown.remarks = vec!["its counters could not be read after the test: no answer".to_owned()];
    let report =
        report(&[path[0].clone(), path[1].clone(), unknown], Some(Offered { sent: 9_000, received: 6_000 }));
    assert_eq!(weakest(&report).hop, "r2");
    assert_eq!(
        report.remarks,
        [
            "Of 3,000 packets lost, 1,000 were lost in r1; no drop counter explains it.",
            "999 of 3,000 packets lost are not explained by any counter on the path; no packet counts for r3"
        ]
    );
    assert_eq!((report.hops[2].in_packets, report.hops[2].lost), (None, None));
}

#[test]
fn an_agent_that_began_anew_is_not_believed() {
    let mut record = hop("r1", (9_000, 100), (0, 0), &[(Source::Link, "ifInDiscards of in", 8_900)]);
    record.before.as_mut().unwrap().uptime_cs = Some(500_000);
    record.after.as_mut().unwrap().uptime_cs = Some(300);
    let report = report(&[record], None);
    assert_eq!((report.weakest, report.hops[0].in_packets), (None, None));
    assert!(report.hops[0].remarks[0].starts_with("the SNMP agent restarted during the test"));
}

#[test]
fn interfaces_that_go_are_said() {
    let mut record = hop("r1", (9_000, 100), (0, 0), &[]);
    record.after.as_mut().unwrap().outside = None;
    let report = report(&[record], None);
    assert_eq!(report.hops[0].remarks, ["interface out no longer existed after the test"]);
}

#[test]
fn counters_that_were_set_back_count_what_they_have_since() {
    let mut record = hop("r1", (9_000, 4_000), (0, 0), &[(Source::Nft, RULE, 0)]);
    record.after.as_mut().unwrap().drops.insert((Source::Nft, RULE.to_owned()), Counter::wide(600));
    let report = report(&[record], None);
    assert_eq!(report.hops[0].drops, [Drop { counter: RULE.to_owned(), count: 600 }]);
    assert!(
        report.hops[0].remarks[0].ends_with("decreased during the test: it can have counted more than 600")
    );
}

#[test]
fn joined_packets_are_not_lost() {
    let mut record = hop("r1", (9_000, 1_000), (0, 0), &[]);
    record.after.as_mut().unwrap().outside = interface(70, 1_080, 640);
    let report = report(&[record], None);
    assert_eq!(report.weakest, None);
    assert!(report.hops[0].remarks[0].contains("receive offload may merge them"), "{report:?}");
}

#[test]
fn a_one_armed_hop_sends_back_what_it_takes() {
    let mut record = hop("r1", (9_000, 0), (0, 8_000), &[]);
    record.outside = "in".to_owned();
    record.before.as_mut().unwrap().outside = record.before.as_ref().unwrap().inside;
    record.after.as_mut().unwrap().outside = record.after.as_ref().unwrap().inside;
    let report = report(&[record], Some(Offered { sent: 9_000, received: 8_000 }));
    assert_eq!((weakest(&report).lost, report.remarks.len()), (1_000, 0), "{report:#?}");
}

#[test]
fn the_machine_drops_for_all_its_hops() {
    let drops = [(Source::Softnet, "softnet dropped (whole machine)", 5_000)];
    let idle = report(&[hop("r1", (9_000, 9_000), (0, 0), &drops)], None);
    assert_eq!(idle.weakest, None, "it may have been anybody's packets");
    let lossy = report(&[hop("r1", (9_000, 4_000), (0, 0), &drops)], None);
    assert!(weakest(&lossy).sentence.ends_with("softnet dropped (whole machine) (5,000)."));
}

#[test]
fn processors_that_were_the_limit_are_remarked_upon() {
    let mut record = hop("r1", (9_000, 9_000), (0, 0), &[]);
    let ticks = |busy, idle, softirq| {
        let [busy, idle, softirq] = [busy, idle, softirq].map(Counter::wide);
        Some(Ticks { busy, idle, softirq })
    };
    record.before.as_mut().unwrap().ticks = ticks(0, 0, 0);
    record.during = vec![Reading { ticks: ticks(99, 1, 80), ..at(5) }];
    record.after.as_mut().unwrap().ticks = ticks(99, 999, 80);
    let report = report(&[record], None);
    let r1 = &report.hops[0];
    assert_eq!((r1.cpu_busy, r1.softirq), (Some(0.99), Some(0.8)));
    assert_eq!(r1.remarks, ["CPU 99% busy"]);
    let busy: Vec<_> = report.samples.iter().map(|sample| (sample.at_s, sample.cpu_busy)).collect();
    assert_eq!(busy[0], (5.0, Some(0.99)));
}

#[test]
fn samples_are_since_the_beginning() {
    let mut record =
        hop("r1", (9_000, 8_000), (0, 0), &[(Source::Ip, "IpInDiscards", 10), (Source::Nft, RULE, 990)]);
    let mut half = at(5);
    half.inside = interface(50 + 4_000, 60, 64);
    half.drops.insert((Source::Ip, "IpInDiscards".to_owned()), Counter::wide(1_004));
    record.during = vec![half];
    let samples = report(&[record], None).samples;
    let figures: Vec<_> = samples.iter().map(|s| (s.in_packets, s.out_packets, s.drops)).collect();
    assert_eq!(figures, [(Some(4_000), Some(0), 4), (Some(9_000), Some(8_000), 10)]);
    let seconds = [samples[0].at_s, samples[1].at_s - samples[0].at_s];
    let rates: Vec<_> = samples.iter().map(|s| (s.in_pps, s.out_pps, s.drops_pps)).collect();
    let wanted = [(4_000.0, 0.0, 4.0), (5_000.0, 8_000.0, 6.0)];
    let wanted = wanted.iter().zip(seconds).map(|((i, o, d), s)| (Some(i / s), Some(o / s), Some(d / s)));
    assert_eq!(rates, wanted.collect::<Vec<_>>());
}

#[test]
fn reports_come_back_from_json() {
    let path = [hop("r1", (9_000, 8_000), (0, 0), &[(Source::Nft, RULE, 1_000)])];
    let report = report(&path, Some(Offered { sent: 9_000, received: 8_000 }));
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<PathReport>(&text).unwrap(), report);
}

proptest! {
    /// Losses of a chain in any places: the largest is named if a queue counted it or if it is above the tolerance, and nothing
    /// else ever is.
    #[test]
    fn the_largest_loss_is_named(
        sent in 1_000_u64..10_000_000,
        parts in proptest::collection::vec((0_u64..2_000, any::<bool>()), 1..9),
        tell: bool,
    ) {
        let (mut flowing, mut path, mut losses) = (sent, Vec::new(), Vec::new());
        for (number, (part, is_counted)) in parts.iter().enumerate() {
            let loss = (flowing * part / 10_000).min(flowing);
            let left = flowing - loss;
            if number % 2 == 0 {
                let name = format!("r{}", number / 2);
                let drops = [(Source::Qdisc, "qdisc", loss)];
                path.push(hop(&name, (flowing, left), (0, 0), if *is_counted { &drops } else { &[] }));
                losses.push((loss, if *is_counted { 0 } else { tolerance(flowing, 0) }));
            } else if number + 1 < parts.len() {
                losses.push((loss, tolerance(flowing, 0)));
            } else {
                break;
            }
            flowing = left;
        }
        let offered = tell.then_some(Offered { sent, received: flowing });
        let report = report(&path, offered);
        let named: Vec<u64> =
            losses.iter().filter(|(lost, tolerated)| lost > tolerated).map(|(lost, _)| *lost).collect();
        prop_assert_eq!(report.weakest.as_ref().map(|weakest| weakest.lost), named.iter().max().copied());
        if let Some(explained) = report.explained {
            prop_assert_eq!(explained, named.iter().sum::<u64>());
        }
        let sum: u64 = report.hops.iter().filter_map(|hop| hop.lost).sum();
        prop_assert!(sum <= sent - flowing);
    }

    /// For any counter values there is a report, and it explains no more than was lost.
    #[test]
    fn any_readings_make_a_report(
        figures in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()), 1..5),
        sent: u32, received: u32,
    ) {
        let path: Vec<Record> = figures
            .iter()
            .map(|(a, b, c, d, e)| {
                let [a, b, c, d, e] = [a, b, c, d, e].map(|figure| u64::from(*figure));
                hop("r", (a, b), (c, d), &[(Source::Nft, RULE, e)])
            })
            .collect();
        let offered = Offered { sent: u64::from(sent), received: u64::from(received) };
        let report = report(&path, Some(offered));
        prop_assert!(report.explained.unwrap() <= offered.lost());
        prop_assert!(report.weakest.is_none_or(|weakest| weakest.lost <= offered.lost()));
    }
}
