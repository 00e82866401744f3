//! Any data put into a store come out of it unchanged.

use methods::MethodResult;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use store::{Campaign, Filter, NewCampaign, NewTrial, State, Store, StoreError, TrialRow, export};

/// A temporary file, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let scratch = Self(std::env::temp_dir().join(format!("eagre-{name}-{}.db", std::process::id())));
        scratch.remove();
        scratch
    }

    fn remove(&self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{suffix}", self.0.display()));
        }
    }

    fn open(&self) -> Store {
        Store::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

fn about(name: &str, started: &str, tags: &[&str]) -> NewCampaign {
    NewCampaign {
        name: name.to_owned(),
        method: "throughput".to_owned(),
        started: started.to_owned(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..NewCampaign::default()
    }
}

/// Results of every method.
fn results() -> Vec<MethodResult> {
    serde_json::from_str(include_str!("data/method-results.json")).unwrap()
}

fn trial(number: u32, offered_pps: f64, valid: bool) -> NewTrial {
    let result = json!({
        "verdict": {"valid": valid, "generator_limited": !valid, "reasons": if valid { json!([]) } else { json!(["why, \"so\""]) }},
        "duration_s": 1.0, "streams": {"s": {"offered_pps": offered_pps, "tx": 10, "rx": 9, "lost": 1}}});
    NewTrial { number, key: format!("{offered_pps}"), result, ..NewTrial::default() }
}

fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<f64>().prop_filter("JSON has no other", |v| v.is_finite()).prop_map(|v| json!(v)),
        any::<u64>().prop_map(|v| json!(v)),
        any::<i64>().prop_map(|v| json!(v))
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|v| json!(v)),
        number,
        ".*".prop_map(|v| json!(v))
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((".*", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn anything_comes_back(
        text in prop::collection::vec(".*", 5), seed in any::<u64>(), documents in prop::collection::vec(any_json(), 6),
        number in any::<u32>(), tags in prop::collection::btree_set(".*", 0..4),
    ) {
        let file = Scratch::new("round-trip");
        let mut store = file.open();
        let campaign = NewCampaign {
            name: text[0].clone(), method: text[1].clone(), config: documents[0].clone(), profile: text[2].clone(), seed,
            version: text[3].clone(), command: text[4].clone(), started: "2026-11-30T23:59:59.25Z".into(),
            environment: documents[1].clone(), tags: tags.iter().cloned().collect(),
        };
        let id = store.begin(&campaign).unwrap();
        let new = NewTrial {
            number, key: text[0].clone(), label: text[1].clone(), part: text[2].clone(), phase: text[3].clone(),
            frame: text[4].clone(), frame_bytes: Some(number), line_pps: Some(0.1 + f64::from(number)),
            request: documents[2].clone(), outcome: documents[3].clone(), result: documents[4].clone(),
            intervals: vec![documents[5].clone(), documents[0].clone()],
        };
        store.record(&id, &new).unwrap();
        drop(store);

        let mut store = file.open();
        let (back, trials) = store.resume(&id).unwrap();
        prop_assert_eq!(back.differences(&campaign), Vec::<String>::new());
        prop_assert_eq!((&back.name, &back.command, &back.environment), (&campaign.name, &campaign.command, &campaign.environment));
        prop_assert_eq!(back.tags.clone(), tags.into_iter().collect::<Vec<_>>());
        prop_assert_eq!((back.started.as_str(), back.state, back.resumed), ("2026-11-30T23:59:59.250Z", State::Running, 1));
        prop_assert_eq!(trials.len(), 1);
        prop_assert_eq!((&trials[0].request, &trials[0].outcome, &trials[0].result), (&new.request, &new.outcome, &new.result));
        prop_assert_eq!(&store.intervals(&id, number).unwrap(), &new.intervals);
        prop_assert_eq!(&store.trials(&id).unwrap()[0], &TrialRow { ordinal: 1, ..TrialRow::new(&new) });
        // Whatever it is, pages and exports can be made of it.
        let loaded = store.load(&id).unwrap();
        let page = store::report::campaign(&loaded);
        prop_assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
        prop_assert!(store::report::comparison(&[loaded.clone(), loaded.clone()], "dut", "config").ends_with("</html>"));
        export::csv(std::slice::from_ref(&loaded), Vec::new()).unwrap();
        export::findings(std::slice::from_ref(&loaded), Vec::new()).unwrap();
        export::trending(&loaded);
        export::archive(&store, &id).unwrap();
    }
}

#[test]
fn campaigns_are_found_and_filtered() {
    let file = Scratch::new("filter");
    let mut store = file.open();
    let first = store.begin(&about("a", "2026-11-01T10:00:00Z", &["dut=frr", "x"])).unwrap();
    let second = store.begin(&about("b", "2026-11-02T10:00:00Z", &["dut=vpp"])).unwrap();
    let third = store.begin(&about("b", "2026-11-02T10:00:00Z", &[])).unwrap();
    assert_ne!(second, third, "two at the same instant have names of their own");
    let names = |filter: Filter| store.list(&filter).unwrap().into_iter().map(|s| s.name).collect::<String>();
    assert_eq!(names(Filter::default()), "bba");
    assert_eq!(names(Filter { tags: vec!["dut=frr".into(), "x".into()], ..Filter::default() }), "a");
    assert_eq!(names(Filter { tags: vec!["dut=frr".into(), "y".into()], ..Filter::default() }), "");
    assert_eq!(names(Filter { since: Some("2026-11-02".into()), ..Filter::default() }), "bb");
    assert_eq!(names(Filter { method: Some("latency".into()), ..Filter::default() }), "");
    assert_eq!(names(Filter { limit: Some(1), ..Filter::default() }), "b");
    assert!(matches!(
        store.list(&Filter { since: Some("soon".into()), ..Filter::default() }),
        Err(StoreError::Date(_))
    ));

    assert_eq!(store.find(first.as_str()).unwrap(), first);
    assert_eq!(store.find("20261101").unwrap(), first);
    assert_eq!(store.find(&first.as_str()[16..]).unwrap(), first);
    assert_eq!(store.find("latest").unwrap(), third);
    assert_eq!(store.find("b").unwrap(), third, "the latest of that name");
    assert!(matches!(store.find("2026"), Err(StoreError::Ambiguous { matches, .. }) if matches.len() == 3));
    for none in ["", "%", "_", "nothing"] {
        assert!(matches!(store.find(none), Err(StoreError::NoCampaign { .. })), "{none}");
    }
}

#[test]
fn a_trial_is_recorded_once() {
    let file = Scratch::new("once");
    let mut store = file.open();
    let id = store.begin(&about("a", "2026-11-01T10:00:00Z", &[])).unwrap();
    store.record(&id, &trial(1, 5.0, true)).unwrap();
    let again = store.record(&id, &trial(1, 6.0, true));
    assert!(matches!(again, Err(StoreError::TrialExists { number: 1, .. })));
    assert_eq!(store.trials(&id).unwrap()[0].figures.offered_pps, Some(5.0));
    store.delete(&id).unwrap();
    assert!(matches!(store.record(&id, &trial(2, 5.0, true)), Err(StoreError::NoCampaign { .. })));
    assert!(matches!(store.end(&id, State::Done, None, None), Err(StoreError::NoCampaign { .. })));
    assert!(matches!(store.delete(&id), Err(StoreError::NoCampaign { .. })));
    assert!(matches!(store.begin(&about("a", "now", &[])), Err(StoreError::Instant(_))));
}

#[test]
fn what_is_deleted_is_gone_and_gives_its_room_back() {
    let file = Scratch::new("delete");
    let mut store = file.open();
    let kept = store.begin(&about("kept", "2026-11-01T10:00:00Z", &["x"])).unwrap();
    store.record(&kept, &trial(1, 5.0, true)).unwrap();
    let id = store.begin(&about("large", "2026-11-01T11:00:00Z", &["x"])).unwrap();
    for number in 0..20 {
        let mut large = trial(number, 5.0, true);
        large.intervals = vec![json!({"text": "x".repeat(50_000)})];
        store.record(&id, &large).unwrap();
    }
    store.conclude(&id, &results()).unwrap();
    drop(store);
    let before = std::fs::metadata(&file.0).unwrap().len();
    let mut store = file.open();
    store.delete(&id).unwrap();
    drop(store);
    let after = std::fs::metadata(&file.0).unwrap().len();
    assert!(after < before / 4, "{before} → {after} bytes");
    let store = file.open();
    assert_eq!(store.list(&Filter::default()).unwrap().len(), 1);
    assert_eq!(store.load(&kept).unwrap().trials.len(), 1);
    assert!(matches!(store.load(&id), Err(StoreError::NoCampaign { .. })));
}

#[test]
fn findings_replace_each_other_and_come_back() {
    let file = Scratch::new("findings");
    let mut store = file.open();
    let id = store.begin(&about("a", "2026-11-01T10:00:00Z", &[])).unwrap();
    let [first, second, ..] = &results()[..] else { panic!() };
    store.conclude(&id, &[first.clone(), second.clone()]).unwrap();
    store.conclude(&id, std::slice::from_ref(second)).unwrap();
    let findings = store.findings(&id).unwrap();
    assert_eq!(findings, second.findings.values().unwrap());
    assert!(findings.iter().any(|finding| finding.spread.is_some() && !finding.document.is_null()));
    let [stored] = &store.method_results(&id).unwrap()[..] else { panic!() };
    assert_eq!((&stored.typed().unwrap(), &stored.summary), (second, &second.summary));
}

#[test]
fn a_campaign_that_was_planned_otherwise_is_told_apart() {
    let file = Scratch::new("differences");
    let mut store = file.open();
    let planned = NewCampaign { seed: u64::MAX, ..about("a", "2026-11-01T10:00:00Z", &[]) };
    let id = store.begin(&planned).unwrap();
    let campaign: Campaign = store.campaign(&id).unwrap();
    assert_eq!(campaign.seed, u64::MAX);
    assert!(campaign.differences(&planned).is_empty());
    let other = NewCampaign { seed: 1, profile: "other".into(), ..planned };
    let differences = campaign.differences(&other);
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert!(
        differences.iter().any(|d| d.contains("seed")) && differences.iter().any(|d| d.contains("SHA-256"))
    );
}

#[test]
fn csv_has_a_row_for_each_trial_and_quotes_what_needs_it() {
    let file = Scratch::new("csv");
    let mut store = file.open();
    let id = store.begin(&about("a, \"b\"\nc", "2026-11-01T10:00:00Z", &[])).unwrap();
    store.record(&id, &trial(1, 0.1 + 0.2, true)).unwrap();
    store.record(&id, &trial(2, 5.0, false)).unwrap();
    let mut bytes = Vec::new();
    export::csv(&[store.load(&id).unwrap()], &mut bytes).unwrap();
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let head = reader.headers().unwrap().clone();
    assert_eq!(head.iter().collect::<Vec<_>>(), export::columns().map(|c| c.name).collect::<Vec<_>>());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| rows[row][head.iter().position(|n| n == name).unwrap()].to_owned();
    assert_eq!(rows.len(), 2);
    assert_eq!(
        (cell(0, "name"), cell(0, "tx"), cell(0, "duplicates")),
        ("a, \"b\"\nc".into(), "10".into(), "".into())
    );
    assert_eq!(cell(0, "offered_pps").parse::<f64>().unwrap(), 0.1 + 0.2);
    assert_eq!((cell(1, "valid"), cell(1, "reasons")), ("false".into(), "why, \"so\"".into()));
}

#[test]
fn the_documentation_names_every_column() {
    let page = include_str!("../../../docs/store.md");
    for column in export::columns() {
        assert!(page.contains(&format!("`{}`", column.name)), "{} is not in docs/store.md", column.name);
    }
    for column in store::Figures::COLUMNS {
        let row = format!("| `{}` | {} |", column.name, column.about);
        assert!(page.contains(&row), "docs/store.md lacks {row}");
    }
}

#[test]
fn a_trend_follows_one_question() {
    let file = Scratch::new("trend");
    let mut store = file.open();
    for (day, value) in [(1, 100.0), (2, 101.0), (3, 99.0), (4, 100.0), (5, 70.0)] {
        let id = store.begin(&about("nightly", &format!("2026-11-0{day}T10:00:00Z"), &[])).unwrap();
        store.record(&id, &trial(1, value, true)).unwrap();
    }
    let query = store::TrendQuery { goal: Some("offered".into()), ..store::TrendQuery::default() };
    let all = store.trend(&query).unwrap();
    assert_eq!(all.len(), 1);
    let values: Vec<f64> = all[0].points.iter().map(|point| point.value).collect();
    assert_eq!(values, [100.0, 101.0, 99.0, 100.0, 70.0]);
    assert_eq!((all[0].median, all[0].last_is_unusual), (100.0, Some(true)));
    let none = store::TrendQuery { profile_sha256: Some("ffff".into()), ..query };
    assert!(store.trend(&none).unwrap().is_empty());
}

#[test]
fn readers_do_not_wait_for_the_writer() {
    let file = Scratch::new("readers");
    let mut store = file.open();
    let id = store.begin(&about("a", "2026-11-01T10:00:00Z", &[])).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..=100).for_each(|n| store.record(&id, &trial(n, 1.0, true)).unwrap()));
        let reader = Store::open_existing(&file.0).unwrap();
        let mut seen = 0;
        while !writer.is_finished() {
            let trials = reader.load(&id).unwrap().trials.len();
            assert!(trials >= seen);
            seen = trials;
        }
        assert_eq!(reader.load(&id).unwrap().trials.len(), 100);
    });
}

fn interval(at_s: f64, tx: u64) -> Value {
    json!({"at_s": at_s, "interval_s": 1.0, "streams": {"s": {"tx": tx}}})
}

/// A run of this number of seconds, so far.
fn underway(seconds: f64, intervals: Vec<Value>) -> NewTrial {
    let mut trial = trial(1, 10.0, false);
    trial.result["duration_s"] = json!(seconds);
    NewTrial { intervals, ..trial }
}

#[test]
fn a_trial_that_goes_on_grows_and_is_replaced_by_its_end() {
    let file = Scratch::new("extended");
    let mut store = file.open();
    let id = store.begin(&about("run", "2026-11-30T12:00:00Z", &[])).unwrap();
    let look = |store: &Store| {
        let at: Vec<f64> = store
            .intervals(&id, 1)
            .unwrap()
            .iter()
            .map(|interval| interval["at_s"].as_f64().unwrap())
            .collect();
        (store.trials(&id).unwrap()[0].figures.duration_s.unwrap(), at)
    };
    // Two intervals that are whole, and a part of the third.
    store.extend(&id, &underway(2.5, vec![interval(1.0, 1), interval(2.0, 2), interval(2.5, 1)]), 0).unwrap();
    assert_eq!(look(&store), (2.5, vec![1.0, 2.0, 2.5]));
    store.extend(&id, &underway(4.2, vec![interval(3.0, 3), interval(4.0, 4), interval(4.2, 1)]), 2).unwrap();
    assert_eq!(look(&file.open()), (4.2, vec![1.0, 2.0, 3.0, 4.0, 4.2]), "another reader");
    let whole = NewTrial { intervals: vec![interval(5.0, 5)], ..trial(1, 10.0, true) };
    store.extend(&id, &whole, 4).unwrap();
    assert_eq!(look(&store), (1.0, vec![1.0, 2.0, 3.0, 4.0, 5.0]));
    let summary = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!((summary.trials, summary.invalid, summary.state), (1, 0, State::Running));
    let sent = |interval: &Value| interval["streams"]["s"]["tx"].as_u64().unwrap();
    let loaded = store.load(&id).unwrap();
    assert_eq!(loaded.intervals[0].1.iter().map(sent).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    // A trial is recorded once; what is deleted stays so.
    assert!(matches!(store.record(&id, &whole), Err(StoreError::TrialExists { .. })));
    store.delete(&id).unwrap();
    assert!(matches!(store.extend(&id, &whole, 0), Err(StoreError::NoCampaign { .. })));
    assert!(store.intervals(&id, 1).unwrap().is_empty());
}

#[test]
fn a_locked_store_changes_nothing_and_takes_it_later() {
    let file = Scratch::new("locked");
    let (mut store, mut other) = (file.open(), rusqlite::Connection::open(&file.0).unwrap());
    let id = store.begin(&about("run", "2026-11-30T12:00:00Z", &[])).unwrap();
    store.wait_for_others(std::time::Duration::from_millis(20)).unwrap();
    store.extend(&id, &underway(1.0, vec![interval(1.0, 1)]), 0).unwrap();
    let locked = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let began = std::time::Instant::now();
    let more = underway(2.0, vec![interval(2.0, 2)]);
    assert!(matches!(store.extend(&id, &more, 1), Err(StoreError::Busy)));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(store.intervals(&id, 1).unwrap().len(), 1, "readers wait for nobody");
    drop(locked);
    store.extend(&id, &more, 1).unwrap();
    assert_eq!(store.intervals(&id, 1).unwrap().len(), 2);
}
