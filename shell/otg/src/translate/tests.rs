//! Configurations as snappi 1.62.0 writes them.

use super::*;
use serde_json::{Map, Value, json};

/// A configuration of two ports and a flow for each kind of header, as snappi serialises it.
const SNAPPI: &str = include_str!("snappi.json");

fn config() -> Value {
    serde_json::from_str(SNAPPI).unwrap()
}

/// A configuration of two ports and one flow with what is given.
fn one(flow: Value) -> Value {
    let mut whole = json!({
        "name": "f",
        "tx_rx": {"choice": "port", "port": {"tx_name": "p", "rx_name": "q"}},
        "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}, {"choice": "udp", "udp": {}}],
    });
    let flow: Map<String, Value> = flow.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(flow);
    json!({
        "ports": [{"name": "p", "location": "ring:a"}, {"name": "q", "location": "ring:b"}],
        "flows": [whole],
    })
}

fn stream(config: &Value) -> Value {
    translate(config).unwrap().profile.to_value()["streams"][0].clone()
}

fn errors(config: &Value) -> Vec<String> {
    translate(config).unwrap_err().errors
}

#[test]
fn every_kind_of_header_becomes_a_profile_that_can_be_run() {
    let config = config();
    let translation = translate(&config).unwrap();
    assert_eq!(translation.flows.len(), config["flows"].as_array().unwrap().len());
    let plan = translation.plan().unwrap();
    assert_eq!(plan.streams.len(), translation.flows.len());
    let kinds: std::collections::BTreeSet<&str> = config["flows"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|flow| flow["packet"].as_array().unwrap())
        .map(|header| header["choice"].as_str().unwrap())
        .collect();
    // All of the model's but macsec, which is refused.
    assert_eq!(kinds.len(), 24, "{kinds:?}");
}

#[test]
fn flows_are_sent_anew_as_other_streams() {
    let mut config = one(json!({"duration": {"fixed_packets": {"packets": 9}}}));
    let mut other = config["flows"][0].clone();
    other["name"] = "g".into();
    config["flows"].as_array_mut().unwrap().push(other);
    let first = translate(&config).unwrap();
    let names = |translation: &Translation| -> Vec<String> {
        translation.flows.iter().flat_map(|flow| &flow.streams).map(|stream| stream.name.clone()).collect()
    };
    let own = |document: &Document| -> Vec<String> {
        document.streams.iter().map(|stream| stream.name.0.clone()).collect()
    };
    assert_eq!(names(&first), ["flow0-0", "flow1-0"]);
    let (second, added) = first.anew(&[1]);
    assert_eq!(
        (names(&second), own(&added)),
        (vec!["flow0-0".into(), "flow1-0-2".into()], vec!["flow1-0-2".into()])
    );
    let (third, added) = second.anew(&[0, 1]);
    assert_eq!(names(&third), ["flow0-0-3", "flow1-0-3"]);
    assert_eq!(own(&added), own(&third.profile));
    assert!(Arc::ptr_eq(&first.ports, &third.ports) && first.may_join(0));
    assert_eq!(third.named("streams flow1-0-2 and flow0-0"), "streams g and f");
}

#[test]
fn absent_fields_are_the_models_defaults() {
    let stream = stream(&one(json!({})));
    assert_eq!(stream["size"], "64B");
    assert_eq!(stream["rate"], "1kpps");
    assert_eq!(stream["measure"], false);
    let ethernet = json!({"dst": "00:00:00:00:00:00", "src": "00:00:00:00:00:00"});
    assert_eq!(stream["packet"][0]["ethernet"], ethernet);
    assert_eq!(stream["packet"][1]["ipv4"]["ttl"], 64);
    assert_eq!(stream["packet"][1]["ipv4"]["src"], "0.0.0.0");
    assert_eq!(stream["packet"][2]["udp"], json!({"src": 0, "dst": 0}));
}

#[test]
fn sizes_rates_and_durations() {
    for (flow, key, wanted) in [
        (json!({"size": {"fixed": 1518}}), "size", json!("1518B")),
        (
            json!({"size": {"increment": {"start": 100, "end": 300, "step": 50}}}),
            "size",
            json!("100B..300B step 50B"),
        ),
        (json!({"size": {"random": {"min": 70, "max": 80}}}), "size", json!("random 70B..80B")),
        (json!({"size": {"choice": "weight_pairs", "weight_pairs": {}}}), "size", json!("imix-v4")),
        (
            json!({"size": {"weight_pairs": {"choice": "custom", "custom": [{"size": 64, "weight": 1.5}, {"size": 100, "weight": 1}]}}}),
            "size",
            json!({"64B": 1500, "100B": 1000}),
        ),
        (json!({"rate": {"mbps": 7}}), "rate", json!("7Mbps-L1")),
        (json!({"rate": {"pps": "12"}}), "rate", json!("12pps")),
        (json!({"rate": {"percentage": 12.5}}), "rate", json!("12.5%")),
        (json!({"duration": {"fixed_packets": {"packets": 9}}}), "count", json!(9)),
        (json!({"duration": {"fixed_seconds": {"seconds": 2.5}}}), "duration", json!("2.5s")),
        (
            json!({"duration": {"burst": {"bursts": 3, "packets": 5, "inter_burst_gap": {"microseconds": 20}}}}),
            "pattern",
            json!({"multi_burst": {"packets": 5, "every": "5.02ms", "bursts": 3}}),
        ),
        (json!({"duration": {"continuous": {"delay": {"nanoseconds": 500}}}}), "start_delay", json!("500ns")),
    ] {
        assert_eq!(stream(&one(flow.clone()))[key], wanted, "{flow}");
    }
}

#[test]
fn frames_too_short_for_what_they_hold_are_raised() {
    let translation = translate(&one(json!({"size": {"fixed": 64}, "packet": [
        {"choice": "ethernet", "ethernet": {}}, {"choice": "ipv6", "ipv6": {}}, {"choice": "tcp", "tcp": {}},
    ], "metrics": {"enable": true}})))
    .unwrap();
    assert_eq!(translation.profile.to_value()["streams"][0]["size"], "96B");
    assert_eq!(translation.warnings, ["flows[0].size.fixed: 64 is too short for the packet: raised to 96"]);
}

#[test]
fn a_flow_with_tags_is_a_stream_for_each_value() {
    let udp = json!({"src_port": {
        "increment": {"start": 10, "step": 1, "count": 3}, "metric_tags": [{"name": "port", "offset": 8, "length": 8}],
    }});
    let config = one(json!({
        "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}, {"choice": "udp", "udp": udp}],
        "duration": {"fixed_packets": {"packets": 10}},
        "metrics": {"enable": true},
    }));
    let translation = translate(&config).unwrap();
    let profile = translation.profile.to_value();
    let streams = profile["streams"].as_array().unwrap();
    let of = |key: &str| streams.iter().map(|s| s[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("count"), [json!(4), json!(3), json!(3)]);
    assert_eq!(of("rate"), vec![json!("333.333333pps"); 3]);
    let ports: Vec<&Value> = streams.iter().map(|s| &s["packet"][2]["udp"]["src"]).collect();
    assert_eq!(ports, [10, 11, 12]);
    let tags: Vec<&str> = translation.flows[0].streams.iter().map(|s| s.tags[0].1.as_str()).collect();
    assert_eq!(tags, ["0a", "0b", "0c"]);
}

#[test]
fn tags_of_arriving_frames_are_bits_of_the_frame() {
    let dscp = |name: &str| json!({"priority": {"dscp": {"phb": {"metric_tags": [{"name": name}]}}}});
    let egress = json!([
        {"choice": "ethernet", "ethernet": {}},
        {"choice": "vlan", "vlan": {"priority": {"metric_tags": [{"name": "priority", "offset": 1, "length": 2}]}}},
        {"choice": "ipv4", "ipv4": dscp("got")},
    ]);
    let flow = |egress: &Value| {
        one(json!({
            "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": dscp("sent")}],
            "egress_packet": egress, "metrics": {"enable": true},
        }))
    };
    let translation = translate(&flow(&egress)).unwrap();
    let profile = translation.profile.to_value();
    assert_eq!(profile["streams"][0]["egress"], json!(["bits[113..115]", "bits[152..158]"]));
    let tags: Vec<(&str, usize)> =
        translation.flows[0].egress.iter().map(|tag| (tag.name.as_str(), tag.width)).collect();
    assert_eq!(tags, [("priority", 2), ("got", 6)]);
    let mut wrong = egress.clone();
    wrong[2]["ipv4"] = dscp("sent");
    wrong[2]["ipv4"]["time_to_live"] = json!({"metric_tags": [{"name": "ttl"}]});
    let errors = translate(&flow(&wrong)).unwrap_err().errors;
    let wanted = [
        "flows[0].egress_packet: two metric_tags of the flow have the name 'sent'",
        "flows[0].egress_packet: its metric_tags have 16 bits: at most 12 in all",
    ];
    assert_eq!(errors, wanted);
    let errors = translate(&flow(&json!([{"choice": "ipv4", "ipv4": {}}]))).unwrap_err().errors;
    assert!(errors[0].starts_with("flows[0].egress_packet: the first header must be ethernet"), "{errors:?}");
}

#[test]
fn devices_are_the_hosts_of_their_ports() {
    let ethernet = |port: &str, last: u8| {
        json!({"name": format!("e{port}"), "mac": format!("02:00:00:00:00:0{last}"), "connection": {"port_name": port},
            "ipv4_addresses": [{"name": format!("i{port}"), "address": format!("10.0.0.{last}"), "gateway": "10.0.0.9"}]})
    };
    let mut config = one(json!({
        "tx_rx": {"choice": "device", "device": {"tx_names": ["ip"], "rx_names": ["iq"]}},
        "packet": [
            {"choice": "ethernet", "ethernet": {}},
            {"choice": "ipv4", "ipv4": {"src": {"value": "10.0.0.1"}, "dst": {"value": "10.0.0.2"}}},
        ],
    }));
    config["devices"] = json!([{"name": "a", "ethernets": [ethernet("p", 1)]}, {"name": "b", "ethernets": [ethernet("q", 2)]}]);
    let translation = translate(&config).unwrap();
    let host =
        json!({"name": "h0", "ip": ["10.0.0.1/24"], "gateway": ["10.0.0.9"], "mac": "02:00:00:00:00:01"});
    let profile = translation.profile.to_value();
    assert_eq!(profile["ports"]["port0"], json!({"device": "ring:a", "hosts": [host]}));
    let stream = &profile["streams"][0];
    assert_eq!((&stream["from_host"], &stream["to_host"]), (&json!("h0"), &json!("h0")));
    assert_eq!(stream["packet"][0]["ethernet"], json!({}), "the device's, and resolved");
    assert_eq!(translation.flows[0].rx_ports, ["q"]);
    // Where a packet goes is written: it counts at whichever receiver it arrives.
    let mut several = config.clone();
    several["ports"].as_array_mut().unwrap().push(json!({"name": "r", "location": "ring:c"}));
    several["devices"].as_array_mut().unwrap().push(json!({"name": "c", "ethernets": [ethernet("r", 3)]}));
    several["flows"][0]["tx_rx"]["device"]["rx_names"] = json!(["iq", "ir"]);
    several["flows"][0]["metrics"] = json!({"enable": true});
    let translation = translate(&several).unwrap();
    let profile = translation.profile.to_value();
    let ends = |number: usize| (&profile["streams"][number]["to"], &profile["streams"][number]["also_to"]);
    assert_eq!(ends(0), (&json!("port1"), &json!(["port2"])));
    assert_eq!(ends(1), (&json!("port2"), &json!(["port1"])));
    assert_eq!(translation.flows[0].rx_ports, ["q", "r"]);
    config["devices"][0]["rsvp"] = json!({"name": "o"});
    config["devices"][1]["ethernets"][0]["dhcpv6_interfaces"] = json!([{"name": "x"}]);
    let wanted = [
        "devices[0].rsvp: not supported",
        "devices[1].ethernets[0].ipv4_addresses: not supported beside 'dhcpv6_interfaces'",
        "flows[0].tx_rx.device.rx_names: unknown device or interface 'iq'",
    ];
    assert_eq!(errors(&config), wanted);
}

/// DHCPv6 clients on a port have the same requests, and are the profile's.
#[test]
fn dhcpv6_clients() {
    let device = |number: u8, asks: Value| {
        let mut client = json!({"name": format!("c{number}"), "rapid_commit": true});
        client["ia_type"] = asks;
        json!({"name": format!("d{number}"), "ethernets": [{
            "name": format!("e{number}"), "mac": format!("02:00:00:00:00:{number:02x}"),
            "connection": {"port_name": "p"}, "dhcpv6_interfaces": [client],
        }]})
    };
    let both = json!({"choice": "ianapd", "ianapd": {"t1": 100, "t2": 200}});
    let mut config = one(json!({}));
    config["flows"] = json!([]);
    config["devices"] = json!([device(1, both.clone()), device(2, both.clone())]);
    let translation = translate(&config).unwrap();
    let dhcp = &translation.profile.to_value()["ports"]["port0"]["dhcpv6"];
    let wanted = json!({"clients": 2, "mac": "02:00:00:00:00:01", "prefix": 64, "rapid_commit": true});
    for (key, value) in wanted.as_object().unwrap() {
        assert_eq!(&dhcp[key], value, "{dhcp}");
    }
    assert_eq!((translation.clients(true).count(), translation.clients(false).count()), (2, 0));
    config["devices"][1] = device(2, json!({"choice": "iana"}));
    let differ = "devices[1].ethernets[0].dhcpv6_interfaces[0]: not supported: clients of a port that differ in VLANs or in \
                  their requests";
    assert_eq!(errors(&config), [differ]);
    config["devices"][1] = device(2, both);
    config["devices"][1]["ethernets"][0]["dhcpv6_interfaces"][0]["duid_type"] = json!({"choice": "llt"});
    let duid = "devices[1].ethernets[0].dhcpv6_interfaces[0].duid_type: not supported: a client's DUID is made from its MAC \
                address (ll)";
    assert_eq!(errors(&config), [duid]);
}

/// Two ports; on the first two devices in two VLANs, one of them with two interfaces.
fn hosts() -> Value {
    let ethernet = |name: &str, vlan: u16, last: u8| {
        json!({"name": name, "mac": format!("02:00:00:00:00:{last:02x}"), "connection": {"port_name": "p"},
            "vlans": [{"name": format!("v{name}"), "id": vlan}],
            "ipv4_addresses": [
                {"name": format!("i{name}"), "address": format!("10.0.0.{last}"), "gateway": "10.0.0.9"},
                {"name": format!("j{name}"), "address": format!("10.0.0.{}", last + 100), "gateway": "10.0.0.9",
                    "gateway_mac": {"value": "02:00:00:00:00:99"}},
            ],
            "ipv6_addresses": [{"name": format!("s{name}"), "address": format!("2001:db8::{last}"), "gateway": "2001:db8::9"}]})
    };
    let mut config = one(json!({
        "tx_rx": {"choice": "device", "device": {"tx_names": ["ib"], "rx_names": ["c"]}},
        "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "vlan", "vlan": {"id": {"value": 20}}},
            {"choice": "ipv4", "ipv4": {"src": {"value": "10.0.0.2"}, "dst": {"value": "10.9.0.2"}}}],
    }));
    config["devices"] = json!([
        {"name": "a", "ethernets": [ethernet("a", 10, 1)]},
        {"name": "b", "ethernets": [ethernet("b", 20, 2), ethernet("c", 20, 3)]},
    ]);
    config
}

#[test]
fn ports_have_many_hosts_each_with_many_addresses() {
    let mut config = hosts();
    for device in config["devices"].as_array_mut().unwrap() {
        for ethernet in device["ethernets"].as_array_mut().unwrap() {
            ethernet["ipv4_addresses"][0]["gateway_mac"] = json!({"value": "02:00:00:00:00:99"});
        }
    }
    let translation = translate(&config).unwrap();
    let plan = translation.plan().unwrap();
    let hosts = &plan.ports[0].hosts;
    assert_eq!(
        hosts.iter().map(|host| host.vlans.to_vec()).collect::<Vec<_>>(),
        [vec![], vec![10], vec![20], vec![20]]
    );
    assert_eq!(hosts[2].addresses.len(), 3);
    assert_eq!(hosts[2].gateways.len(), 2, "of the two of IPv4 one is the same");
    assert_eq!(hosts[2].gateway_macs, [([10, 0, 0, 9].into(), [2, 0, 0, 0, 0, 0x99])]);
    let stream = &plan.streams[0];
    assert_eq!((stream.from_host, stream.to_host), (2, 3));
    assert_eq!(stream.next_hop, profile::plan::NextHop::Resolve([10, 0, 0, 9].into()));
    assert!(stream.fill_source_mac && stream.packet.headers.len() == 3);
    let hosts: Vec<&str> = translation.ports[0].interfaces.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(hosts, ["h0", "h1", "h2"]);
    // What goes between ports is sent as it is written, whatever devices there are.
    config["flows"][0]["tx_rx"] = json!({"choice": "port", "port": {"tx_name": "p", "rx_name": "q"}});
    config["flows"][0]["packet"] =
        json!([{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}]);
    let stream = &translate(&config).unwrap().plan().unwrap().streams[0];
    assert_eq!((stream.from_host, stream.packet.headers.len(), stream.fill_source_mac), (0, 2, false));
}

#[test]
fn hosts_that_cannot_be_are_named_with_their_paths() {
    let mut config = hosts();
    let other = "conflicts with another address's gateway_mac for gateway 10.0.0.9";
    let at = |place: &str| format!("{place}.ipv4_addresses[1].gateway_mac: {other}");
    let wanted = ["devices[0].ethernets[0]", "devices[1].ethernets[0]", "devices[1].ethernets[1]"].map(at);
    assert_eq!(errors(&config), wanted);
    for device in config["devices"].as_array_mut().unwrap() {
        for ethernet in device["ethernets"].as_array_mut().unwrap() {
            ethernet["ipv4_addresses"].as_array_mut().unwrap().truncate(1);
        }
    }
    config["flows"][0]["tx_rx"]["device"]["tx_names"] = json!(["b"]);
    let wanted = "flows[0].tx_rx.device.tx_names: 'b' has several interfaces: name one of them";
    assert_eq!(errors(&config), [wanted]);
    config["flows"][0]["tx_rx"]["device"]["tx_names"] = json!(["c"]);
    config["devices"][1]["ethernets"][1]["mac"] = json!("02:00:00:00:00:02");
    let wanted = "devices[1].ethernets[1]: 02:00:00:00:00:02 is already used by host 'b' in VLAN 20";
    assert_eq!(errors(&config), [wanted]);
    config["devices"][1]["ethernets"][1]["mac"] = json!("02:00:00:00:00:03");
    config["devices"][1]["ethernets"][1]["ipv4_addresses"][0]["gateway"] = json!("10.8.0.9");
    let wanted =
        "devices[1].ethernets[1]: the gateway 10.8.0.9 is not on the network of the host's ip 10.0.0.3/24";
    assert_eq!(errors(&config), [wanted]);
    config["devices"][1]["ethernets"][1]["ipv4_addresses"][0]["gateway"] = json!("10.0.0.9");
    config["flows"][0]["packet"].as_array_mut().unwrap().remove(1);
    let wanted = "flows[0].packet: needs a vlan header: the sending device has VLANs";
    assert_eq!(errors(&config), [wanted]);
}

#[test]
fn what_is_not_supported_is_named_with_its_path() {
    for (flow, wanted) in [
        (json!({"tx_rx": {"port": {"tx_name": "x"}}}), "flows[0].tx_rx.port.tx_name: unknown port 'x'"),
        (json!({"packet": [{"choice": "macsec", "macsec": {}}]}), "flows[0].packet[0].macsec: not supported"),
        (
            json!({"packet": [{"choice": "udp", "udp": {}}]}),
            "flows[0].packet: the first header must be ethernet, or custom bytes with the whole Ethernet header",
        ),
        (
            json!({"packet": [{"choice": "ethernet", "ethernet": {"pfc_queue": {"choice": "value", "value": 3}}}]}),
            "flows[0].packet[0].ethernet.pfc_queue.value: not supported",
        ),
        (
            json!({"packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "udp", "udp": {}}]}),
            "flows[0].packet[1].udp: the checksum of udp covers IP addresses: put ipv4 or ipv6 before it",
        ),
        (json!({"size": {"fixed": 20000}}), "flows[0].size.fixed: must be at most 16384 bytes"),
        (
            json!({"duration": {"continuous": {"gap": 20}}}),
            "flows[0].duration.continuous.gap: not supported: the rate determines the gap",
        ),
    ] {
        assert_eq!(errors(&one(flow)), [wanted]);
    }
}

#[test]
fn captures_and_links() {
    let mut config = one(json!({}));
    config["layer1"] =
        json!([{"name": "l", "port_names": ["p", "q"], "speed": "speed_25_gbps", "mtu": 1500}]);
    config["captures"] = json!([{"name": "c", "port_names": ["q"], "packet_size": 60, "format": "pcapng", "filters": [
        {"choice": "ethernet", "ethernet": {"src": {"value": "020000000001", "mask": "ffffffffffff"}}},
    ]}]);
    let translation = translate(&config).unwrap();
    let profile = translation.profile.to_value();
    let port = &profile["ports"]["port1"];
    assert_eq!((&port["speed"], &port["capture"]["snap"]), (&json!("25Gbps"), &json!("60B")));
    assert!(
        port["capture"]["filter"].as_str().unwrap().starts_with("ether[6] & 255 = 2 and ether[7] & 255 = 0")
    );
    let plan = CapturePlan { name: "c".to_owned(), pcapng: true, snap: Some(60) };
    assert_eq!(translation.ports[1].capture, Some(plan));
    // Without a mask all of the field counts; 'overwrite' changes nothing.
    let filter = |field: Value| {
        let mut config = config.clone();
        config["captures"][0]["overwrite"] = json!(false);
        config["captures"][0]["filters"] = json!([{"choice": "ethernet", "ethernet": {"ether_type": field}}]);
        translate(&config).unwrap().profile.to_value()["ports"]["port1"]["capture"]["filter"].clone()
    };
    let whole = "ether[12] & 255 = 8 and ether[13] & 255 = 6";
    assert_eq!(filter(json!({"value": "0806"})), whole);
    assert_eq!(filter(json!({"value": "0806", "mask": "00"})), whole);
    assert_eq!(filter(json!({"value": "0806", "negate": true})), format!("not ({whole})"));
    assert_eq!(filter(json!({"value": "0806", "mask": "ff00"})), "ether[12] & 255 = 8");
    assert_eq!(filter(json!({"negate": true})), Value::Null);
    config["layer1"][0]["ieee_media_defaults"] = json!(true);
    config["layer1"][0]["auto_negotiate"] = json!(false);
    assert_eq!(
        errors(&config),
        ["layer1[0].auto_negotiate: not supported: links keep their settings; 'ethtool' changes them"]
    );
    config["layer1"][0]["auto_negotiate"] = json!(true);
    config["flows"][0]["size"] = json!({"fixed": 9000});
    assert_eq!(errors(&config), ["flows[0].size: 9000B exceeds the port's mtu of 1500"]);
}

#[test]
fn an_empty_configuration_is_one() {
    let translation = translate(&json!({})).unwrap();
    assert!(translation.ports.is_empty() && translation.flows.is_empty());
}

#[test]
fn an_lldp_agent_is_its_ports() {
    let config = json!({
        "ports": [{"name": "p", "location": "ring:a"}, {"name": "q", "location": "ring:b"}],
        "lldp": [
            {"name": "a", "connection": {"choice": "port_name", "port_name": "q"}},
            {"name": "b", "connection": {"port_name": "p"}, "hold_time": 10, "advertisement_interval": 5,
             "chassis_id": {"choice": "interface_name_subtype", "interface_name_subtype": "eth9"},
             "port_id": {"choice": "mac_address_subtype", "mac_address_subtype": "02:00:00:00:00:07"},
             "org_infos": [{}, {"oui": "00120F", "subtype": 4, "information": {"choice": "info", "info": "05f2"}}]},
        ],
    });
    let translation = translate(&config).unwrap();
    assert!(translation.has_protocols());
    let plan = translation.plan().unwrap();
    let of = |port: usize| plan.ports[port].lldp.as_ref().unwrap();
    let (_, advert) = &of(1).agents[0];
    assert_eq!((of(1).ttl_s, of(1).interval, &advert.chassis), (120, Nanos::from_secs(30), &None));
    assert_eq!((advert.port.port_text().as_str(), advert.port.port_kind()), ("q", "interface"));
    assert_eq!((advert.system_name.as_deref(), advert.management.len()), (Some("a"), 0));
    let (_, advert) = &of(0).agents[0];
    let chassis = advert.chassis.as_ref().unwrap();
    assert_eq!((of(0).ttl_s, chassis.chassis_text().as_str(), chassis.subtype), (10, "eth9", 6));
    assert_eq!((advert.port.port_text().as_str(), advert.port.subtype), ("02:00:00:00:00:07", 3));
    let tlvs: Vec<_> =
        advert.organization.iter().map(|tlv| (tlv.oui, tlv.subtype, tlv.value.clone())).collect();
    assert_eq!(tlvs, [([0, 0x80, 0xc2], 1, vec![]), ([0, 0x12, 0x0f], 4, vec![0x05, 0xf2])]);
}

#[test]
fn a_lag_is_its_ports_and_of_one_port_has_devices() {
    let config = json!({
        "ports": [{"name": "p", "location": "ring:a"}, {"name": "q", "location": "ring:b"}, {"name": "r", "location": "ring:c"}],
        "lags": [
            {"name": "one", "ports": [{"port_name": "q", "ethernet": {"name": "e", "mac": "02:00:00:00:00:0c"}}]},
            {"name": "two", "min_links": 2, "protocol": {"choice": "lacp", "lacp": {"actor_key": 9, "actor_system_id": "02:00:00:00:00:09"}},
             "ports": [{"port_name": "r", "ethernet": {"name": "f"}, "lacp": {"actor_activity": "passive", "lacpdu_timeout": 90}},
                       {"port_name": "p", "ethernet": {"name": "g"}}]},
        ],
        "devices": [{"name": "d", "ethernets": [{"name": "h", "connection": {"lag_name": "one"},
            "ipv4_addresses": [{"name": "i", "address": "10.0.0.2", "gateway": "10.0.0.1"}]}]}],
    });
    let translation = translate(&config).unwrap();
    assert!(translation.has_protocols());
    assert_eq!(translation.ports[1].interfaces[0].ethernet, "h");
    let plan = translation.plan().unwrap();
    let [p, q, r] = [0, 1, 2].map(|port: usize| plan.ports[port].lacp.as_ref().unwrap());
    // The second lag by its first port.
    assert_eq!((q.config.key, q.config.port, q.config.port_priority, q.has_system), (2, 2, 1, false));
    assert_eq!((q.lag, p.lag, r.lag, p.config.key, r.config.key), (1, 0, 0, 9, 9));
    assert_eq!(
        (r.config.active, r.config.short_timeout, p.config.active, p.config.short_timeout),
        (false, false, true, true)
    );
    assert!(r.config.system == [2, 0, 0, 0, 0, 9] && p.has_system && p.config.system_priority == 0);
    let lags: Vec<_> =
        translation.lags.iter().map(|lag| (lag.name.as_str(), lag.min_links, lag.ports.len())).collect();
    assert_eq!(lags, [("one", 1, 1), ("two", 2, 2)]);
}
