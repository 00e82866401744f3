use super::*;
use proptest::prelude::*;
use std::net::IpAddr;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn net(text: &str) -> Prefix {
    text.parse().unwrap()
}

fn v4() -> RouteOptions {
    let hop = Hop { port: "2".into(), src_mac: None, dst_mac: Some("02:00:00:00:00:02".into()) };
    RouteOptions { first: net("16.0.255.0/24"), via: vec![ip("10.0.1.2")], interface: None, hop }
}

fn v6() -> RouteOptions {
    RouteOptions { first: net("2400::/48"), via: vec![ip("2001:2:0:1::2")], ..v4() }
}

fn two(syntax: Syntax, options: &RouteOptions) -> String {
    routes(2, syntax, options).unwrap()
}

#[test]
fn routes_of_ipv4() {
    let ip_batch = "route add 16.0.255.0/24 via 10.0.1.2\nroute add 16.1.0.0/24 via 10.0.1.2\n";
    assert_eq!(two(Syntax::IpBatch, &v4()), ip_batch);
    assert_eq!(two(Syntax::Frr, &v4()), "ip route 16.0.255.0/24 10.0.1.2\nip route 16.1.0.0/24 10.0.1.2\n");
    assert_eq!(
        two(Syntax::Bird, &v4()),
        "protocol static eagre4 {\n  ipv4;\n  route 16.0.255.0/24 via 10.0.1.2;\n  route 16.1.0.0/24 via 10.0.1.2;\n}\n"
    );
    assert_eq!(
        two(Syntax::Vpp, &v4()),
        "ip route add 16.0.255.0/24 via 10.0.1.2\nip route add 16.1.0.0/24 via 10.0.1.2\n"
    );
    let flow = |to: &str| {
        format!("priority=1024,ip,nw_dst={to},actions=dec_ttl,mod_dl_dst:02:00:00:00:00:02,output:2\n")
    };
    assert_eq!(two(Syntax::Ovs, &v4()), flow("16.0.255.0/24") + &flow("16.1.0.0/24"));
    assert_eq!(
        two(Syntax::Cisco, &v4()),
        "ip route 16.0.255.0 255.255.255.0 10.0.1.2\nip route 16.1.0.0 255.255.255.0 10.0.1.2\n"
    );
    let junos = |to: &str| format!("set routing-options static route {to} next-hop 10.0.1.2\n");
    assert_eq!(two(Syntax::Junos, &v4()), junos("16.0.255.0/24") + &junos("16.1.0.0/24"));
    assert_eq!(two(Syntax::Procurve, &v4()), two(Syntax::Frr, &v4()));
    assert_eq!(
        two(Syntax::Comware, &v4()),
        "ip route-static 16.0.255.0 24 10.0.1.2\nip route-static 16.1.0.0 24 10.0.1.2\n"
    );
}

#[test]
fn routes_of_pfsense_go_by_named_gateways() {
    let options =
        RouteOptions { via: vec![ip("10.0.1.2"), ip("10.0.1.3")], interface: Some("opt1".into()), ..v4() };
    let text = routes(3, Syntax::Pfsense, &options).unwrap();
    let gateway = |name: &str, address: &str| {
        format!(
            "    <gateway_item><interface>opt1</interface><gateway>{address}</gateway><name>{name}</name><weight>1</weight>\
             <ipprotocol>inet</ipprotocol><descr></descr><monitor_disable></monitor_disable></gateway_item>\n"
        )
    };
    let route = |to: &str, name: &str| {
        format!("    <route><network>{to}</network><gateway>{name}</gateway><descr></descr></route>\n")
    };
    let wanted = [
        "<pfsense>\n  <gateways>\n".to_owned(),
        gateway("EAGRE1", "10.0.1.2"),
        gateway("EAGRE2", "10.0.1.3"),
        "  </gateways>\n  <staticroutes>\n".to_owned(),
        route("16.0.255.0/24", "EAGRE1"),
        route("16.1.0.0/24", "EAGRE2"),
        route("16.1.1.0/24", "EAGRE1"),
        "  </staticroutes>\n</pfsense>\n".to_owned(),
    ];
    assert_eq!(text, wanted.concat());
    assert!(two(Syntax::Pfsense, &v6()).contains("<interface>lan</interface>"));
    assert!(two(Syntax::Pfsense, &v6()).contains("<ipprotocol>inet6</ipprotocol>"));
}

#[test]
fn routes_of_ipv6() {
    let first =
        |syntax| two(syntax, &v6()).lines().find(|line| line.contains("2400:0:1::")).unwrap().to_owned();
    assert_eq!(first(Syntax::IpBatch), "route add 2400:0:1::/48 via 2001:2:0:1::2");
    assert_eq!(first(Syntax::Frr), "ipv6 route 2400:0:1::/48 2001:2:0:1::2");
    assert_eq!(first(Syntax::Bird), "  route 2400:0:1::/48 via 2001:2:0:1::2;");
    assert_eq!(first(Syntax::Cisco), "ipv6 route 2400:0:1::/48 2001:2:0:1::2");
    assert_eq!(
        first(Syntax::Junos),
        "set routing-options rib inet6.0 static route 2400:0:1::/48 next-hop 2001:2:0:1::2"
    );
    assert_eq!(first(Syntax::Procurve), "ipv6 route 2400:0:1::/48 2001:2:0:1::2");
    assert_eq!(first(Syntax::Comware), "ipv6 route-static 2400:0:1:: 48 2001:2:0:1::2");
    assert!(first(Syntax::Ovs).starts_with("priority=1048,ipv6,ipv6_dst=2400:0:1::/48,actions="));
    assert!(two(Syntax::Bird, &v6()).starts_with("protocol static eagre6 {\n  ipv6;\n"));
}

#[test]
fn a_large_table_ends_where_it_should() {
    let options = RouteOptions { first: net("16.0.0.0/24"), interface: Some("r1".into()), ..v4() };
    let text = routes(262_144, Syntax::IpBatch, &options).unwrap();
    assert_eq!(text.lines().count(), 262_144);
    assert_eq!(text.lines().last(), Some("route add 19.255.255.0/24 via 10.0.1.2 dev r1 onlink"));
    let million = routes(1_048_576, Syntax::Vpp, &options).unwrap();
    assert_eq!(million.lines().last(), Some("ip route add 31.255.255.0/24 via 10.0.1.2"));
}

#[test]
fn next_hops_take_turns() {
    let options = RouteOptions { via: vec![ip("10.0.1.2"), ip("10.0.1.3")], ..v4() };
    let text = routes(3, Syntax::Frr, &options).unwrap();
    let hops: Vec<_> = text.lines().filter_map(|line| line.split(' ').next_back()).collect();
    assert_eq!(hops, ["10.0.1.2", "10.0.1.3", "10.0.1.2"]);
}

#[test]
fn what_can_not_be_is_said() {
    let refused =
        |count, syntax, options: &RouteOptions| routes(count, syntax, options).unwrap_err().to_string();
    assert_eq!(refused(1, Syntax::Nftables, &v4()), "nftables has no routes; use ip-batch for the kernel's");
    let end = RouteOptions { first: net("255.255.255.0/24"), ..v4() };
    assert_eq!(
        refused(2, Syntax::Frr, &end),
        "2 prefixes starting at 255.255.255.0/24 exceed the address space"
    );
    let mixed = RouteOptions { via: vec![ip("::1")], ..v4() };
    assert!(refused(1, Syntax::Frr, &mixed).contains("different address families"));
    assert!(refused(1, Syntax::Frr, &RouteOptions { via: vec![], ..v4() }).contains("next hop"));
    assert!("16.0.0.1/24".parse::<Prefix>().unwrap_err().to_string().contains("host bits are set"));
    for text in ["16.0.0.0", "16.0.0.0/33", "a/8", "::/129", "1.2.3.4/x"] {
        assert!(text.parse::<Prefix>().is_err(), "{text}");
    }
    assert!("ios".parse::<Syntax>().unwrap_err().to_string().contains("cisco"));
}

fn permit() -> RuleOptions {
    RuleOptions::permitting(vec![(net("10.0.0.0/24"), net("10.0.1.0/24"))])
}

fn permit6() -> RuleOptions {
    RuleOptions::permitting(vec![(net("2001:2::/64"), net("2001:2:0:1::/64"))])
}

#[test]
fn rules_of_ipv4() {
    assert_eq!(
        rules(3, Syntax::Nftables, &permit()).unwrap(),
        "table inet eagre\n\
         delete table inet eagre\n\
         table inet eagre {\n  \
           chain rules {\n    \
             type filter hook forward priority 0; policy drop;\n    \
             ip saddr 198.19.0.0/32 ip daddr 10.0.1.0/24 drop\n    \
             ip saddr 198.19.0.1/32 ip daddr 10.0.1.0/24 drop\n    \
             ip saddr 10.0.0.0/24 ip daddr 10.0.1.0/24 accept\n  \
           }\n\
         }\n"
    );
    assert_eq!(
        rules(2, Syntax::Vpp, &permit()).unwrap(),
        "set acl-plugin acl deny src 198.19.0.0/32 dst 10.0.1.0/24, permit src 10.0.0.0/24 dst 10.0.1.0/24 tag eagre\n"
    );
    assert_eq!(
        rules(2, Syntax::Ovs, &permit()).unwrap(),
        "priority=1,arp,actions=NORMAL\n\
         priority=0,actions=drop\n\
         priority=1000,ip,nw_src=198.19.0.0/32,nw_dst=10.0.1.0/24,actions=drop\n\
         priority=10,ip,nw_src=10.0.0.0/24,nw_dst=10.0.1.0/24,actions=NORMAL\n"
    );
    assert_eq!(
        rules(2, Syntax::Cisco, &permit()).unwrap(),
        "ip access-list extended eagre\n \
         10 deny ip host 198.19.0.0 10.0.1.0 0.0.0.255\n \
         20 permit ip 10.0.0.0 0.0.0.255 10.0.1.0 0.0.0.255\n"
    );
    assert_eq!(
        rules(1, Syntax::Junos, &permit()).unwrap(),
        "set firewall family inet filter eagre term 1 from source-address 10.0.0.0/24\n\
         set firewall family inet filter eagre term 1 from destination-address 10.0.1.0/24\n\
         set firewall family inet filter eagre term 1 then accept\n"
    );
}

#[test]
fn rules_of_switches_and_pfsense() {
    assert_eq!(
        rules(2, Syntax::Procurve, &permit()).unwrap(),
        "ip access-list extended \"eagre\"\n   \
         10 deny ip 198.19.0.0 0.0.0.0 10.0.1.0 0.0.0.255\n   \
         20 permit ip 10.0.0.0 0.0.0.255 10.0.1.0 0.0.0.255\n   exit\n"
    );
    assert_eq!(
        rules(2, Syntax::Comware, &permit()).unwrap(),
        "acl advanced name eagre\n \
         rule 1 deny ip source 198.19.0.0 0.0.0.0 destination 10.0.1.0 0.0.0.255\n \
         rule 2 permit ip source 10.0.0.0 0.0.0.255 destination 10.0.1.0 0.0.0.255\n quit\n"
    );
    let rule = |verdict: &str, source: &str| {
        format!(
            "    <rule><type>{verdict}</type><interface>opt2</interface><ipprotocol>inet</ipprotocol><statetype>none</statetype>\
             <source><address>{source}</address></source><destination><address>10.0.1.0/24</address></destination>\
             <descr>a &amp; b</descr></rule>\n"
        )
    };
    let options = RuleOptions { name: "a & b".into(), interface: Some("opt2".into()), ..permit() };
    assert_eq!(
        rules(2, Syntax::Pfsense, &options).unwrap(),
        format!(
            "<pfsense>\n  <filter>\n{}{}  </filter>\n</pfsense>\n",
            rule("block", "198.19.0.0/32"),
            rule("pass", "10.0.0.0/24")
        )
    );
    let error = rules(65_535, Syntax::Comware, &permit()).unwrap_err().to_string();
    assert_eq!(error, "comware has 65534 rules in a list at most, not 65535");
    assert!(rules(65_534, Syntax::Comware, &permit()).is_ok());
}

#[test]
fn rules_of_ipv6() {
    let first = |syntax| {
        let text = rules(2, syntax, &permit6()).unwrap();
        text.lines().find(|line| line.contains("2001:2:0:ffff::")).unwrap().trim().to_owned()
    };
    assert_eq!(first(Syntax::Nftables), "ip6 saddr 2001:2:0:ffff::/128 ip6 daddr 2001:2:0:1::/64 drop");
    assert_eq!(first(Syntax::Cisco), "sequence 10 deny ipv6 2001:2:0:ffff::/128 2001:2:0:1::/64");
    assert_eq!(first(Syntax::Procurve), "10 deny ipv6 2001:2:0:ffff::/128 2001:2:0:1::/64");
    assert_eq!(
        first(Syntax::Comware),
        "rule 1 deny ipv6 source 2001:2:0:ffff::/128 destination 2001:2:0:1::/64"
    );
    assert!(first(Syntax::Pfsense).contains("<ipprotocol>inet6</ipprotocol>"));
    assert!(first(Syntax::Ovs).starts_with("priority=1000,ipv6,ipv6_src=2001:2:0:ffff::/128"));
    assert!(first(Syntax::Junos).starts_with("set firewall family inet6 filter"));
    assert!(rules(1, Syntax::Ovs, &permit6()).unwrap().contains("icmp_type=135"));
}

#[test]
fn what_matches_is_last() {
    let both = RuleOptions::permitting(vec![
        (net("10.0.0.0/24"), net("10.0.1.0/24")),
        (net("10.0.1.0/24"), net("10.0.0.0/24")),
    ]);
    let text = rules(1024, Syntax::Nftables, &both).unwrap();
    let verdicts: Vec<_> = text.lines().filter(|line| line.contains("saddr")).collect();
    assert_eq!(verdicts.len(), 1024);
    assert!(verdicts[..1022].iter().all(|line| line.ends_with(" drop")));
    assert!(verdicts[1022..].iter().all(|line| line.ends_with(" accept")));
}

#[test]
fn rules_that_would_match_are_refused() {
    let refused =
        |count, options: &RuleOptions| rules(count, Syntax::Nftables, options).unwrap_err().to_string();
    let near = RuleOptions { first: net("9.255.255.255/32"), ..permit() };
    assert!(rules(2, Syntax::Nftables, &near).is_ok());
    assert!(refused(3, &near).contains("but overlap 10.0.0.0/24"));
    assert!(refused(0, &permit()).contains("fewer rules"));
    assert!(refused(1, &RuleOptions { permit: vec![], ..permit() }).contains("permitted traffic"));
    let error = rules(1, Syntax::IpBatch, &permit()).unwrap_err().to_string();
    assert_eq!(error, "ip-batch has no access lists; use nftables for the kernel's");
    assert!(rules(1, Syntax::Bird, &permit()).is_err());
}

proptest! {
    #[test]
    fn prefixes_print_and_parse(value: u32, len in 0u8..=32) {
        let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
        let prefix = Prefix::new(std::net::Ipv4Addr::from(value & mask).into(), len).unwrap();
        prop_assert_eq!(prefix.to_string().parse::<Prefix>().unwrap(), prefix);
        prop_assert_eq!(u32::from(prefix.netmask()), mask);
    }

    #[test]
    fn following_prefixes_touch_and_do_not_overlap(n in 0u64..1000, len in 12u8..=32) {
        let first = Prefix::new(ip("16.0.0.0"), len).unwrap();
        let (one, next) = (first.nth(n).unwrap(), first.nth(n + 1).unwrap());
        prop_assert!(!one.overlaps(next) && one.overlaps(one));
        let IpAddr::V4(last) = one.last_address() else { unreachable!() };
        prop_assert_eq!(IpAddr::from(std::net::Ipv4Addr::from(u32::from(last) + 1)), next.address());
    }
}
