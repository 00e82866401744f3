//! RFC 2544 and its relatives.

use super::*;
use methods::{
    AddressConfig, BackToBackConfig, KnownRate, LatencyConfig, Limit, LossConfig, MrrConfig, RecoveryConfig,
    ResetConfig, SelfTestConfig, SoakConfig, SweepConfig,
};
use units::Pps;

fn throughput(config: ThroughputConfig) -> MethodConfig {
    MethodConfig::Throughput(config)
}

#[test]
fn throughput_is_within_its_resolution() {
    let (full, short) = (quick(), ThroughputConfig { exploratory: Some(secs(1)), ..quick() });
    let mut seconds = [Vec::new(), Vec::new()];
    for seed in 0..SEEDS {
        for (config, seconds) in [&full, &short].into_iter().zip(&mut seconds) {
            let mut dut = Dut::between(0.01 * LINE_PPS, 0.99 * LINE_PPS, seed);
            let capacity = dut.capacity;
            let result = complete(&throughput(config.clone()), &Testbed::one_way(LINE), &mut dut);
            let row = rows!(result, Throughput).remove(0);
            let found = row.throughput.unwrap().first().as_f64();
            let width = 0.001 * LINE_PPS;
            assert!(found <= capacity + 1.0 && found >= capacity - width - 1.0, "{found} of {capacity}");
            assert!(row.failed_pps.unwrap() - found <= width + 1.0);
            assert_eq!(row.limit, Limit::Dut);
            let longest =
                result.trials.iter().filter(|trial| trial.lost == 0).map(|trial| trial.duration).max();
            assert_eq!(longest, Some(secs(60)));
            seconds.push(result.traffic_s);
        }
    }
    let [full, short] = seconds.map(median);
    println!("throughput, resolution 0.1%: {full:.0} s of traffic; with 1 s exploratory trials {short:.0} s");
    assert!(short < full / 2.0);
}

/// A buffer swallows the excess of short trials; the final one must not believe them.
#[test]
fn a_buffer_does_not_fool_the_final_trial() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.2 * LINE_PPS, 0.8 * LINE_PPS, seed);
        dut.buffer = 100_000.0;
        let capacity = dut.capacity;
        let config = ThroughputConfig { exploratory: Some(secs(1)), ..quick() };
        let result = complete(&throughput(config), &Testbed::one_way(LINE), &mut dut);
        let row = rows!(result, Throughput).remove(0);
        let found = row.throughput.unwrap().first().as_f64();
        let most = capacity + 100_000.0 / 60.0;
        assert!(found <= most + 1.0 && found >= most - 0.001 * LINE_PPS - 1.0, "{found} of {capacity}");
    }
}

/// Two steps below what the tester sends nothing is lost any more; the curve still has six known points.
#[test]
fn a_curve_below_the_testers_limit_has_points() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(0.2 * LINE_PPS, seed);
        dut.tester = (0.21 + 0.001 * seed as f64) * LINE_PPS;
        let config = LossConfig { sizes: small(), ..LossConfig::default() };
        let result = complete(&MethodConfig::FrameLoss(config), &Testbed::one_way(LINE), &mut dut);
        let row = rows!(result, FrameLoss).remove(0);
        let known: Vec<_> = row.points.iter().filter(|point| point.loss_percent.is_some()).collect();
        assert!(
            row.ended_loss_free && row.points.is_sorted_by(|a, b| a.load_percent > b.load_percent),
            "{row:?}"
        );
        let loses = known.iter().any(|point| point.loss_percent > Some(0.0));
        assert!(known.len() >= 6 || !loses, "{row:?}");
        assert!(known.iter().all(|point| point.load_pps.is_some()), "{row:?}");
    }
}

/// A load that the tester can't send is not tried repeatedly; the result is its own limit, and is reported as such.
#[test]
fn a_slow_tester_is_noticed_early() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(0.9 * LINE_PPS, seed);
        dut.tester = (0.02 + 0.01 * seed as f64).min(0.8) * LINE_PPS;
        let tester = dut.tester;
        let config = ThroughputConfig { exploratory: Some(secs(1)), ..quick() };
        let result = complete(&throughput(config), &Testbed::one_way(LINE), &mut dut);
        let row = rows!(result, Throughput).remove(0);
        let found = row.throughput.unwrap().first().as_f64();
        assert!(found <= tester + 1.0 && found >= tester - 0.001 * LINE_PPS - 1.0, "{found} of {tester}");
        assert_eq!(row.limit, Limit::Tester);
        assert!(result.trials.len() < 32, "{} trials", result.trials.len());
        let config = MethodConfig::FrameLoss(LossConfig { sizes: small(), ..LossConfig::default() });
        let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), FrameLoss).remove(0);
        assert!(row.left_out_percent.iter().all(|percent| LINE_PPS * percent / 100.0 > 1.25 * tester - 1.0));
        assert!(row.points.len() + row.left_out_percent.len() <= 10 && row.points[0].loss_percent.is_none());
    }
}

#[test]
fn loss_verification_helps_against_stalls() {
    let found = |verification| -> f64 {
        let share = |seed| {
            let mut dut = Dut::new(0.5 * LINE_PPS, seed);
            dut.stalls = (0.003, 2000.0);
            let config = ThroughputConfig { loss_verification: verification, ..quick() };
            let result = complete(&throughput(config), &Testbed::one_way(LINE), &mut dut);
            let row = rows!(result, Throughput).remove(0);
            row.throughput.map_or(0.0, |rate| rate.first().as_f64()) / (0.5 * LINE_PPS)
        };
        (0..SEEDS).map(share).sum::<f64>() / SEEDS as f64
    };
    let (plain, verified) = (found(0), found(2));
    println!("throughput ÷ capacity under stalls: {plain:.3}, with loss verification {verified:.3}");
    assert!(verified > plain);
}

#[test]
fn both_directions_get_the_same_load() {
    let result = complete(&throughput(quick()), &Testbed::both_ways(LINE), &mut Dut::new(5e6, 1));
    let row = rows!(result, Throughput).remove(0);
    let rate = row.throughput.unwrap();
    assert_eq!(rate.groups[0].rate, rate.groups[1].rate);
    assert!((rate.total_pps - 2.0 * rate.groups[0].rate.as_f64()).abs() < 1e-3);
    assert_eq!(row.directions.len(), 2);
    assert!(
        result.summary[0].contains("forward") && result.summary[0].contains("reverse"),
        "{}",
        result.summary[0]
    );
}

#[test]
fn one_size_after_another() {
    let config = ThroughputConfig { exploratory: Some(secs(1)), ..ThroughputConfig::default() };
    let result = complete(&throughput(config), &Testbed::one_way(LINE), &mut Dut::new(2e6, 1));
    let rows = rows!(result, Throughput);
    assert_eq!(rows.len(), 7);
    // Above 512 B the link is full before the device is.
    let limits: Vec<_> = rows.iter().map(|row| row.limit).collect();
    assert_eq!(limits[..4], [Limit::Dut; 4]);
    assert_eq!(limits[5..], [Limit::Maximum; 2]);
    assert!(rows.windows(2).all(|pair| pair[0].frames.mean_bytes() < pair[1].frames.mean_bytes()));
}

#[test]
fn an_impossible_goal_is_said_to_be_one() {
    let mut dut = Dut::new(LINE_PPS, 1);
    dut.leak = 0.0001;
    let result = complete(&throughput(quick()), &Testbed::one_way(LINE), &mut dut);
    let row = rows!(result, Throughput).remove(0);
    assert_eq!((row.throughput.clone(), row.limit), (None, Limit::Impossible));
    let sentence = "Throughput at 64B: none. The smallest load, 0.1% of the line rate, still lost 0.01%.";
    assert_eq!(result.summary, [sentence]);
}

#[test]
fn loss_falls_from_full_load() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.05 * LINE_PPS, 1.1 * LINE_PPS, seed);
        let capacity = dut.capacity;
        let config = MethodConfig::FrameLoss(LossConfig { sizes: small(), ..LossConfig::default() });
        let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), FrameLoss).remove(0);
        for point in &row.points {
            let offered = LINE_PPS * point.load_percent / 100.0;
            let loss = (1.0 - capacity / offered).max(0.0) * 100.0;
            assert!((point.loss_percent.unwrap() - loss).abs() < 1e-3);
        }
        let loss_free = row.points.iter().filter(|point| point.loss_percent == Some(0.0)).count();
        assert!(loss_free <= 2);
        assert_eq!(row.ended_loss_free, loss_free == 2);
        assert!(row.ended_loss_free || row.points.len() == 10);
    }
}

#[test]
fn bursts_tell_the_buffer() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.3 * LINE_PPS, 0.9 * LINE_PPS, seed);
        dut.buffer = 2_000.0 + seed as f64 * 100.0;
        let (capacity, buffer) = (dut.capacity, dut.buffer);
        let config = BackToBackConfig {
            rates: RateSource::Known(vec![KnownRate {
                frames: Frames::bytes(64).unwrap(),
                rate: Pps::from_micro((capacity * 1e6) as u64),
                limit: None,
            }]),
            repeats: 5,
            ..BackToBackConfig::default()
        };
        let config = MethodConfig::BackToBack(config);
        let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), BackToBack).remove(0);
        let burst = row.burst.unwrap();
        let longest = buffer / (1.0 - capacity / LINE_PPS);
        assert!((burst.mean - longest).abs() <= 0.001 * longest + 20.0, "{} of {longest}", burst.mean);
        let frames = row.corrected_buffer_frames.unwrap();
        assert!((frames - buffer).abs() <= 0.001 * buffer + 10.0, "{frames} of {buffer}");
        assert_eq!((burst.stddev, row.at_maximum), (0.0, 0));
    }
}

#[test]
fn bursts_need_a_throughput_below_the_line() {
    let config =
        MethodConfig::BackToBack(BackToBackConfig { rates: searched(), ..BackToBackConfig::default() });
    let result = complete(&config, &Testbed::one_way(LINE), &mut Dut::new(2.0 * LINE_PPS, 1));
    assert!(rows!(result, BackToBack)[0].skipped.is_some());
    assert_eq!(result.trials.len(), 1);
}

#[test]
fn latency_is_taken_at_the_throughput() {
    let config = LatencyConfig {
        rates: searched(),
        shares: vec![1.0, 0.9, 0.5, 0.1],
        repeats: 3,
        ..Default::default()
    };
    let config = MethodConfig::Latency(config);
    let result = complete(&config, &Testbed::both_ways(LINE), &mut Dut::new(8e6, 3));
    let rows = rows!(result, Latency);
    let shares: Vec<_> = rows.iter().map(|row| (row.share_of_rate, row.trials)).collect();
    assert_eq!(shares, [(1.0, 3), (0.9, 3), (0.5, 3), (0.1, 3)]);
    for row in &rows {
        let busy = (row.load.first().as_f64() / 8e6).min(0.999);
        let mean = 10_000.0 + 1_000.0 / (1.0 - busy);
        assert!((row.mean.unwrap().mean - mean).abs() < 1.0);
        assert_eq!(row.groups.len(), 2);
        assert!((row.groups[0].pdv_ns - 1.5 * mean).abs() < 1.0);
    }
    assert!(result.remarks[0].contains("RFC 2544 section 26.2 requires at least 20"), "{:?}", result.remarks);
}

#[test]
fn recovery_and_reset() {
    let mut dut = Dut::new(8e6, 3);
    (dut.recovery, dut.reset) = (Nanos::from_millis(250), secs(7));
    let config = MethodConfig::Recovery(RecoveryConfig { rates: searched(), ..RecoveryConfig::default() });
    let result = complete(&config, &Testbed::one_way(LINE), &mut dut);
    let row = rows!(result, Recovery).remove(0);
    assert_eq!(row.recovery.unwrap().mean, 250e6);
    let ratio = row.overload.unwrap().first().as_f64() / row.throughput_pps.unwrap();
    assert!((ratio - 1.1).abs() < 1e-6);

    let config = MethodConfig::Reset(ResetConfig { rates: searched(), ..ResetConfig::default() });
    let rows = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), Reset);
    assert_eq!(
        rows.iter().map(|row| row.how.as_str()).collect::<Vec<_>>(),
        ["hardware", "software", "power"]
    );
    for row in rows {
        assert!((row.by_loss.unwrap().mean - 7.0).abs() < 1e-3);
        assert_eq!(row.by_arrivals.unwrap().mean, 7.0);
    }
}

#[test]
fn mrr_and_self_test() {
    let config = MethodConfig::Mrr(MrrConfig { sizes: small(), ..MrrConfig::default() });
    let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut Dut::new(8e6, 3)), Mrr).remove(0);
    assert!((row.received.unwrap().mean - 8e6).abs() < 3.0);
    assert_eq!(row.received.unwrap().samples, 10);

    for seed in 0..SEEDS {
        let mut dut = Dut::new(1.0, seed);
        dut.tester = 1e6 + seed as f64 * 1e5;
        let tester = dut.tester;
        let config = MethodConfig::SelfTest(SelfTestConfig::default());
        let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), SelfTest).remove(0);
        assert!((row.most_pps.unwrap() - tester.min(LINE_PPS)).abs() < 2.0 || tester > 812_000.0);
        if let Some(bytes) = row.shortest_full_bytes {
            let fills = |bytes: u32| 1e10 / (f64::from(bytes) + 20.0) / 8.0 * 0.999 <= tester;
            assert!(fills(bytes) && (bytes == 64 || !fills(bytes - 1)), "{bytes} at {tester}");
        }
    }
}

#[test]
fn a_sweep_is_denser_at_the_knee() {
    for seed in 0..SEEDS {
        let mut dut = Dut::between(0.15 * LINE_PPS, 0.95 * LINE_PPS, seed);
        let capacity = dut.capacity / LINE_PPS;
        let config = MethodConfig::Sweep(SweepConfig { sizes: small(), ..SweepConfig::default() });
        let row = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), Sweep).remove(0);
        let (free, loss) = (row.loss_free.unwrap(), row.first_loss.unwrap());
        assert!(free <= capacity && capacity <= loss, "{free} {capacity} {loss}");
        assert!(loss - free <= 0.1 / 32.0 + 1e-6, "{free} {loss}");
        assert!(row.points.windows(2).all(|pair| pair[0].load.share < pair[1].load.share));
        assert!(row.points.len() <= 20);
    }
}

#[test]
fn a_soak_sees_latency_creep() {
    let config = SoakConfig { rates: searched(), ..SoakConfig::default() };
    let mut method = MethodConfig::Soak(config).build(&Testbed::one_way(LINE)).unwrap();
    let mut dut = Dut::new(8e6, 3);
    let mut creep = 1.0;
    while let Some(request) = method.next_trial().trial() {
        let mut outcome = dut.run(&request);
        for latency in outcome.groups.iter_mut().filter_map(|group| group.latency.as_mut()) {
            latency.mean *= creep;
        }
        creep += 0.01;
        method.record(&outcome);
    }
    let row = rows!(method.result(), Soak).remove(0);
    assert_eq!((row.intervals.len(), row.loss_ratio), (60, 0.0));
    assert!(row.latency_trend.unwrap().rising() && !row.loss_trend.unwrap().rising());
}

#[test]
fn addresses_are_counted() {
    for seed in 0..SEEDS {
        let mut dut = Dut::new(LINE_PPS, seed);
        (dut.table, dut.learn_rate) = (1_000 + seed * 997, 2_000 + seed * 301);
        let (table, learn_rate) = (dut.table as f64, dut.learn_rate as f64);
        let config = MethodConfig::Addresses(AddressConfig::default());
        let rows = rows!(complete(&config, &Testbed::one_way(LINE), &mut dut), Addresses);
        let values: Vec<_> = rows.iter().map(|row| row.value.unwrap() as f64).collect();
        assert!(values[0] <= table && values[0] >= table * 0.99 - 1.0, "{values:?} of {table}");
        // Fewer addresses than the table holds may be taught a little faster.
        let most = learn_rate * table / values[0];
        assert!(values[1] <= most && values[1] >= learn_rate * 0.99 - 1.0, "{values:?} of {learn_rate}");
    }
}
