use super::*;
use methods::{Attributes, Frames, OfferedLoad, Phase, Timing};

const SWITCH: &str = "
ports:
  test: {device: 'ring:a', ip: 10.0.0.1/24, speed: 1Gbps}
  learn: {device: 'ring:b', ip: 10.0.0.2/24, speed: 1Gbps}
  watch: {device: 'ring:c', speed: 1Gbps}
streams:
- {name: frames, from: test, to: learn, packet: [ipv4, udp], rate: max}
";

fn bed_of(text: &str) -> (Plan, Directions) {
    let plan = profile::load(text).unwrap();
    let directions =
        Directions::of(&plan, &vec![None; plan.ports.len()], Timing::NONE, Attributes::default()).unwrap();
    (plan, directions)
}

fn request(count: u64, learn_rate: u64, rate: u64) -> TrialRequest {
    TrialRequest {
        number: 0,
        key: String::new(),
        method: "rfc2889-addresses".to_owned(),
        phase: Phase::Measure,
        label: "addresses".to_owned(),
        kind: TrialKind::Addresses { count, learn_rate },
        frames: Frames::bytes(64).unwrap(),
        offered: vec![OfferedLoad { group: "test to learn".to_owned(), rate: Pps::new(rate), share: 0.1 }],
        duration: Nanos::from_secs(1),
        around: Timing::NONE.into(),
        attributes: Attributes::default(),
    }
}

#[test]
fn addresses_are_taught_and_then_tried() {
    let (plan, directions) = bed_of(SWITCH);
    let made = shape(&plan, &directions, &request(500, 1_000, 2_000)).unwrap();
    let [taught, tried] = &made.streams[..] else { panic!("{:?}", made.streams) };
    assert_eq!(
        (taught.from, taught.count, taught.rate),
        (LEARNING, Some(500), Load::Packets(Pps::new(1_000)))
    );
    assert!(!taught.measure && tried.measure);
    assert_eq!((tried.from, tried.count, tried.start_delay), (TEST, Some(2_000), Nanos::from_millis(1_500)));
    assert_eq!(made.duration, Nanos::from_millis(2_501));
    let values = |stream: &StreamPlan| stream.vary.as_ref().map(|vary| vary.variables[0].source.clone());
    assert_eq!(values(taught), values(tried));
    assert_eq!(values(taught), Some(Source::Range { first: FIRST, step: 1, count: 500, width: 48 }));
}

#[test]
fn every_address_is_tried_at_least_once() {
    let (plan, directions) = bed_of(SWITCH);
    let made = shape(&plan, &directions, &request(10_000, 10_000, 2_000)).unwrap();
    assert_eq!(made.streams[1].count, Some(10_000));
    assert_eq!(made.duration, Nanos::from_millis(1_000 + 1_000 + 5_000 + 1));
}

#[test]
fn probes_take_no_place_of_their_own() {
    let (plan, directions) = bed_of(SWITCH);
    let made = probe(&plan, &directions, &request(500, 1_000, 2_000)).unwrap().unwrap();
    let stream = &made.streams[0];
    assert_eq!(stream.packet.headers[0].value("src"), Some(FIRST + 499));
    let source = Source::Range { first: FIRST, step: 31, count: 16, width: 48 };
    assert_eq!(stream.vary.as_ref().map(|vary| vary.variables[0].source.clone()), Some(source));
    assert!(probe(&plan, &directions, &request(1, 1_000, 2_000)).unwrap().is_none());
    assert_ne!(made.seed, shape(&plan, &directions, &request(500, 1_000, 2_000)).unwrap().seed);
}

#[test]
fn a_profile_of_two_ports_is_no_switch() {
    let two = SWITCH.replace("  watch: {device: 'ring:c', speed: 1Gbps}\n", "");
    let (plan, directions) = bed_of(&two);
    let error = shape(&plan, &directions, &request(1, 1, 1)).unwrap_err().to_string();
    assert!(error.starts_with("ports: three ports must be on the switch, in this order"), "{error}");
    assert!(error.ends_with("the profile has 2: test, learn"), "{error}");
    let (plan, directions) = bed_of(&SWITCH.replace("from: test, to: learn", "from: learn, to: test"));
    let error = shape(&plan, &directions, &request(1, 1, 1)).unwrap_err().to_string();
    assert!(
        error.contains("one stream is needed, from the test port 'test' to the learning port 'learn'"),
        "{error}"
    );
}
