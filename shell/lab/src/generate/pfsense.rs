//! Sections of pfSense's `config.xml`: gateways, static routes, filter rules.
//!
//! Elements are those that pfSense 2.7 writes for entries of its forms; what it fills in by itself (trackers, times) is left out.

use super::Prefix;
use std::fmt::{Result, Write};
use std::net::IpAddr;

/// Name of the gateway with this number.
fn gateway(number: usize) -> String {
    format!("EAGRE{}", number + 1)
}

fn family(is_ipv6: bool) -> &'static str {
    if is_ipv6 { "inet6" } else { "inet" }
}

/// Text of an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Begins a table of routes: the gateways they use.
pub(super) fn begin_routes(text: &mut String, hops: &[IpAddr], interface: Option<&str>) -> Result {
    text.push_str("<pfsense>\n  <gateways>\n");
    for (number, hop) in hops.iter().enumerate() {
        let (name, family) = (gateway(number), family(hop.is_ipv6()));
        let interface = escaped(interface.unwrap_or("lan"));
        writeln!(
            text,
            "    <gateway_item><interface>{interface}</interface><gateway>{hop}</gateway><name>{name}</name>\
             <weight>1</weight><ipprotocol>{family}</ipprotocol><descr></descr><monitor_disable></monitor_disable></gateway_item>"
        )?;
    }
    text.push_str("  </gateways>\n  <staticroutes>\n");
    Ok(())
}

/// A route by the gateway with this number.
pub(super) fn route(text: &mut String, to: Prefix, hop: usize) -> Result {
    let name = gateway(hop);
    writeln!(text, "    <route><network>{to}</network><gateway>{name}</gateway><descr></descr></route>")
}

/// Ends a table of routes.
pub(super) const END_ROUTES: &str = "  </staticroutes>\n</pfsense>\n";

/// Begins a list of rules.
pub(super) const BEGIN_RULES: &str = "<pfsense>\n  <filter>\n";

/// A rule without state, so that every packet is checked by all rules before the one that matches.
pub(super) fn rule(
    text: &mut String,
    (permit, interface, name): (bool, &str, &str),
    source: Prefix,
    destination: Prefix,
) -> Result {
    let (verdict, family) = (if permit { "pass" } else { "block" }, family(source.is_ipv6()));
    let (interface, name) = (escaped(interface), escaped(name));
    writeln!(
        text,
        "    <rule><type>{verdict}</type><interface>{interface}</interface><ipprotocol>{family}</ipprotocol>\
         <statetype>none</statetype><source><address>{source}</address></source>\
         <destination><address>{destination}</address></destination><descr>{name}</descr></rule>"
    )
}

/// Ends a list of rules.
pub(super) const END_RULES: &str = "  </filter>\n</pfsense>\n";
