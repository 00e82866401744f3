use super::*;
use crate::translate::translate;
use result::{OutageResult, OutagesResult};
use std::time::Instant;

fn config(flows: usize) -> Value {
    let flow = |n: usize| {
        json!({
            "name": format!("f{n}"), "tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_name": "b"}},
            "packet": [
                {"choice": "ethernet", "ethernet": {}},
                {"choice": "vlan", "vlan": {"id": {"choice": "values", "values": [5, 6], "metric_tags": [{"name": "id"}]}}},
            ],
            "size": {"choice": "fixed", "fixed": 100},
            "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 10}},
            "metrics": {"enable": n != 1, "loss": true, "latency": {"enable": true}},
        })
    };
    let ports = json!([{"name": "a", "location": "ring:a"}, {"name": "b", "location": "ring:b"}]);
    json!({"ports": ports, "flows": (0..flows).map(flow).collect::<Vec<_>>()})
}

fn figures(translation: &Translation) -> (TotalDocument, IntervalDocument) {
    let streams = || translation.flows.iter().flat_map(|flow| &flow.streams).enumerate();
    let total = streams().map(|(n, stream)| {
        let (min, mean, max) = (100 + n as u64, 150.0 + n as f64, 900 + n as u64);
        let latency = LatencyResult { min, mean, max, samples: 4, ..LatencyResult::default() };
        let counts = StreamResult {
            tx: 5,
            tx_bytes: 500,
            rx: Some(4),
            rx_bytes: Some(400),
            ..StreamResult::default()
        };
        (stream.name.clone(), StreamResult { latency_ns: Some(latency), ..counts })
    });
    let now = streams().map(|(_, stream)| {
        (
            stream.name.clone(),
            StreamResult {
                tx: 1,
                tx_bytes: 100,
                rx: Some(1),
                rx_bytes: Some(100),
                ..StreamResult::default()
            },
        )
    });
    let port = PortResult { tx_packets: 2, ..PortResult::default() };
    let interval = IntervalDocument {
        interval_s: 0.1,
        streams: now.collect(),
        ports: [("port0".to_owned(), port)].into_iter().collect(),
        ..IntervalDocument::default()
    };
    (TotalDocument { streams: total.collect(), ..TotalDocument::default() }, interval)
}

#[test]
fn arrivals_have_rows_by_what_was_sent_and_what_came() {
    let mut config = config(1);
    let priority = json!({"metric_tags": [{"name": "priority"}]});
    config["flows"][0]["egress_packet"] = json!([
        {"choice": "ethernet", "ethernet": {}}, {"choice": "vlan", "vlan": {"priority": priority}},
    ]);
    let translation = translate(&config).unwrap();
    let (mut total, mut interval) = figures(&translation);
    let row = |rx: u64| EgressResult {
        rx,
        rx_bytes: 100 * rx,
        first_arrival_ns: Some(7),
        last_arrival_ns: Some(9),
        latency_ns: Some(LatencyResult {
            min: 1,
            mean: 2.0,
            max: 3,
            samples: rx,
            ..LatencyResult::default()
        }),
    };
    let rows = |rows: &[(&str, u64)]| rows.iter().map(|(key, rx)| ((*key).to_owned(), row(*rx))).collect();
    for (n, (_, stream)) in total.streams.iter_mut().enumerate() {
        stream.egress = if n == 0 { rows(&[("0", 3), ("5", 1)]) } else { rows(&[("5", 3), ("short", 1)]) };
    }
    interval.streams.iter_mut().for_each(|(_, stream)| stream.egress = rows(&[("5", 1)]));
    let input = MetricsInput {
        translation: &translation,
        figures: Figures {
            total: Some(&total),
            interval: Some(&interval),
            active: true,
            ..Figures::default()
        },
        requested: &[Transmit::Started],
        own_s: &[0.0],
        ports: &[PortState { up: true, ..PortState::default() }; 2],
        protocols: &ProtocolStates::default(),
        events: &[],
    };
    let rows = |selection: Value| {
        let request = json!({"choice": "flow", "flow": {"tagged_metrics": selection}});
        let answer = metrics(&request, &input).unwrap();
        let rows = answer["flow_metrics"][0]["tagged_metrics"].as_array().cloned().unwrap_or_default();
        let of = |row: &Value| {
            let tags: Vec<String> = row["tags"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tag| tag["value"]["hex"].as_str().unwrap().to_owned())
                .collect();
            assert!(row.get("loss").is_none());
            (tags.join(" "), row["frames_tx"].as_u64().unwrap(), row["frames_rx"].as_u64().unwrap())
        };
        rows.iter().map(of).collect::<Vec<_>>()
    };
    let all =
        [("005 0", 5, 3), ("005 5", 5, 1), ("006 5", 5, 3)].map(|(tags, tx, rx)| (tags.to_owned(), tx, rx));
    assert_eq!(rows(json!({})), all);
    assert_eq!(rows(json!({"filters": [{"name": "priority", "values": ["5"]}]})), all[1..]);
    assert_eq!(rows(json!({"filters": [{"name": "id", "values": ["0x5"]}]})), all[..2]);
    let empty = rows(json!({"include_empty_metrics": true}));
    assert_eq!((empty.len(), &empty[7]), (16, &("005 7".to_owned(), 5, 0)));
    let first = &metrics(&json!({"choice": "flow"}), &input).unwrap()["flow_metrics"][0]["tagged_metrics"][1];
    assert_eq!(first["latency"]["average_ns"].as_f64(), Some(2.0));
}

#[test]
fn flows_are_summed_over_their_streams() {
    let translation = translate(&config(2)).unwrap();
    let (total, interval) = figures(&translation);
    let mut input = MetricsInput {
        translation: &translation,
        figures: Figures {
            total: Some(&total),
            interval: Some(&interval),
            active: true,
            ..Figures::default()
        },
        requested: &[Transmit::Started, Transmit::Started],
        own_s: &[0.0, 0.0],
        ports: &[PortState { up: true, ..PortState::default() }; 2],
        protocols: &ProtocolStates::default(),
        events: &[],
    };
    let answer = metrics(&json!({"choice": "flow"}), &input).unwrap();
    let rows = answer["flow_metrics"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "the flow without metrics is not there");
    let row = &rows[0];
    assert_eq!(
        (row["frames_tx"].as_u64(), row["frames_rx"].as_u64(), row["bytes_tx"].as_u64()),
        (Some(10), Some(8), Some(1000))
    );
    assert_eq!(row["loss"].as_f64(), Some(20.0));
    // Never a loss of 0 where something was lost, and never one of 100 where something arrived.
    let losses = [(0, 0), (9, 9), (9, 10), (9, 0), (3_000_000, 2_999_999), (3_000_000, 1)]
        .map(|(tx, rx)| loss(tx, rx));
    assert_eq!(losses.map(|loss| loss.as_f64()), [0.0, 0.0, 0.0, 100.0, 0.0001, 99.9999].map(Some));
    assert_eq!(row["transmit"], "stopped", "all ten were sent");
    assert_eq!((row["frames_tx_rate"].as_f64(), row["rx_rate_bps"].as_f64()), (Some(0.0), Some(0.0)));
    let wanted = json!({"minimum_ns": 100.0, "maximum_ns": 901.0, "average_ns": 150.5});
    assert_eq!(row["latency"], wanted);
    let tags: Vec<_> =
        row["tagged_metrics"].as_array().unwrap().iter().map(|row| &row["tags"][0]["value"]["hex"]).collect();
    assert_eq!(tags, ["005", "006"]);
    let filtered = json!({"choice": "flow", "flow": {
        "metric_names": ["frames_tx"],
        "tagged_metrics": {"filters": [{"name": "id", "values": ["0x6"]}], "metric_names": ["frames_rx"]},
    }});
    let tag = json!({"name": "id", "value": {"choice": "hex", "hex": "006"}});
    let wanted =
        json!([{"name": "f0", "frames_tx": 10, "tagged_metrics": [{"frames_rx": 4, "tags": [tag]}]}]);
    assert_eq!(metrics(&filtered, &input).unwrap()["flow_metrics"], wanted);
    let mut total = total.clone();
    total.streams.iter_mut().for_each(|(_, stream)| stream.tx = 4);
    input.figures.total = Some(&total);
    let row = metrics(&json!({"choice": "flow"}), &input).unwrap()["flow_metrics"][0].clone();
    assert_eq!((&row["transmit"], row["frames_tx_rate"].as_f64()), (&json!("started"), Some(20.0)));
    assert_eq!(row["tx_l1_rate_bps"].as_f64(), Some(20.0 * 120.0 * 8.0));
    // Without names of metrics, all the model has.
    let all = message("FlowMetric").fields.iter().map(|field| field.name);
    let missing: Vec<_> = all.filter(|name| name.contains("_rate_") && row.get(*name).is_none()).collect();
    assert_eq!(missing, [""; 0]);
    let tagged = &row["tagged_metrics"][0];
    let in_units = ["bytes", "kbps", "mbps"].map(|unit| tagged[format!("tx_rate_{unit}")].as_f64());
    assert!(in_units.iter().all(Option::is_some), "{tagged}");
    assert_eq!(row["tx_rate_kbps"].as_f64(), row["tx_rate_bps"].as_f64().map(|bps| bps / 1e3));
    assert_eq!((row["bytes_tx"].as_u64(), row["bytes_rx"].as_u64()), (Some(1000), Some(800)));
    input.figures.active = false;
    let answer = metrics(&json!({"choice": "port", "port": {"port_names": ["a"]}}), &input).unwrap();
    assert_eq!(answer["port_metrics"][0]["frames_tx_rate"], 0.0);
    assert_eq!(answer["port_metrics"][0]["link"], "up");
}

#[test]
fn what_there_is_not_is_an_error() {
    let translation = translate(&config(1)).unwrap();
    let requested = [Transmit::Stopped];
    let input = MetricsInput {
        translation: &translation,
        figures: Figures::default(),
        requested: &requested,
        own_s: &[0.0],
        ports: &[],
        protocols: &ProtocolStates::default(),
        events: &[],
    };
    let errors = |request| metrics(&request, &input).unwrap_err().errors;
    let request = json!({"choice": "flow", "flow": {"flow_names": ["f0", "g"]}});
    assert_eq!(errors(request), ["flow.flow_names[1]: unknown name 'g'"]);
    let supported = "choice: 'rsvp' is not supported: use port, flow, convergence, bgpv4, bgpv6, isis, ospfv2, ospfv3, dhcpv4_client, dhcpv6_client, lldp, lag or lacp";
    assert_eq!(errors(json!({"choice": "rsvp"})), [supported]);
    let row = metrics(&json!({"choice": "flow"}), &input).unwrap()["flow_metrics"][0].clone();
    assert_eq!(
        (&row["frames_tx"], &row["transmit"], row.get("latency")),
        (&json!(0), &json!("stopped"), None)
    );
}

#[test]
fn convergence_is_told_from_the_event_that_outages_followed() {
    let mut config = config(1);
    config["events"] = json!({"dp_events": {"enable": true}, "cp_events": {"enable": true}});
    let translation = translate(&config).unwrap();
    let profile = translation.profile.to_value();
    assert_eq!(profile["streams"][1]["outages"], "95%", "{profile}");
    let (mut total, _) = figures(&translation);
    let outage = |from_ns, until_ns| OutageResult { from_ns, until_ns, lost: 7 };
    // The flow's two streams: before the event, both at a time after it, and once more that is not over.
    for (number, last) in [
        vec![outage(1_000, Some(2_000)), outage(21_000, Some(26_000))],
        vec![outage(20_500, Some(24_000)), outage(90_000, None)],
    ]
    .into_iter()
    .enumerate()
    {
        let name = &translation.flows[0].streams[number].name;
        let row = total.streams.get_mut(name).unwrap();
        row.outages = Some(OutagesResult { last, ..OutagesResult::default() }.into());
    }
    let event =
        |kind, source: &str, begin_s, end_s| ControlEvent { kind, source: source.into(), begin_s, end_s };
    let events = [
        event(ControlEventKind::RouteWithdraw, "r", 20e-6, 20.2e-6),
        event(ControlEventKind::LinkUp, "a", 50e-6, 50.1e-6),
    ];
    let mut input = MetricsInput {
        translation: &translation,
        figures: Figures { total: Some(&total), active: true, ..Figures::default() },
        requested: &[Transmit::Started],
        own_s: &[0.0],
        ports: &[],
        protocols: &ProtocolStates::default(),
        events: &events,
    };
    let answer = metrics(&json!({"choice": "convergence"}), &input).unwrap();
    let row = &answer["convergence_metrics"][0];
    assert_eq!(
        (&row["data_plane_convergence_us"], &row["control_plane_data_plane_convergence_us"]),
        (&json!(5.5), &json!(6.0)),
        "{answer}"
    );
    let told = row["events"].as_array().unwrap();
    let at: Vec<f64> = told.iter().filter_map(|event| event["begin_timestamp_ns"].as_f64()).collect();
    assert_eq!(at, [1e3, 2e3, 20e3, 20.5e3, 26e3, 50e3, 90e3], "{answer}");
    assert_eq!(
        told[2],
        json!({"type": "route_withdraw", "source": "r", "begin_timestamp_ns": 20e3, "end_timestamp_ns": 20.2e3})
    );
    // Without events of the control plane, the last outage that is over.
    input.events = &[];
    let answer = metrics(&json!({"choice": "convergence"}), &input).unwrap();
    let row = &answer["convergence_metrics"][0];
    assert_eq!(
        (&row["data_plane_convergence_us"], row.get("control_plane_data_plane_convergence_us")),
        (&json!(5.5), None)
    );
}

#[test]
fn a_thousand_flows_are_answered_at_once() {
    let translation = translate(&config(1000)).unwrap();
    let (total, interval) = figures(&translation);
    let figures =
        Figures { total: Some(&total), interval: Some(&interval), active: true, ..Figures::default() };
    let requested = vec![Transmit::Started; 1000];
    let input = MetricsInput {
        translation: &translation,
        figures,
        requested: &requested,
        own_s: &[],
        ports: &[],
        protocols: &ProtocolStates::default(),
        events: &[],
    };
    let begun = Instant::now();
    let text = metrics(&json!({"choice": "flow"}), &input).unwrap().to_string();
    let took = begun.elapsed();
    println!("metrics of 1,000 flows with two tags each: {took:?}, {} bytes", text.len());
    assert!(text.matches("\"frames_tx\"").count() > 2000);
    // Far more than it takes, so that a busy machine does not fail it.
    assert!(took.as_millis() < 500, "{took:?}");
}
