//! Access lists whose last rules match.
//!
//! RFC 2544 section 11.4: the rule that permits the test traffic comes last, so that a device that evaluates rules in
//! order must evaluate all.

use super::{GenerateError, Prefix, Syntax, pfsense};
use std::fmt::Write;

/// Options of an access list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleOptions {
    /// Source and destination of the permitted traffic; one rule each, at the end of the list.
    pub permit: Vec<(Prefix, Prefix)>,
    /// Source of the first rule that must not match; the others follow without gaps. Their destinations are the
    /// traffic's, so that only the source differs.
    pub first: Prefix,
    /// Name of the list, filter or table.
    pub name: String,
    /// Interface that the rules are of (pfSense); 'wan' unless given.
    pub interface: Option<String>,
}

/// The highest number of a rule of Comware.
const COMWARE_MAX: u32 = 65_534;

impl RuleOptions {
    /// Rules that permit this traffic, named 'eagre'. Denied sources are from 198.19.0.0/16 or 2001:2:0:ffff::/64,
    /// which are reserved for benchmarks (RFC 2544 appendix C, RFC 5180).
    pub fn permitting(permit: Vec<(Prefix, Prefix)>) -> Self {
        let v6 = permit.first().is_some_and(|(source, _)| source.is_ipv6());
        let first = if v6 {
            Prefix::host(std::net::Ipv6Addr::new(0x2001, 2, 0, 0xffff, 0, 0, 0, 0).into())
        } else {
            Prefix::host(std::net::Ipv4Addr::new(198, 19, 0, 0).into())
        };
        Self { permit, first, name: "eagre".to_owned(), interface: None }
    }
}

/// An access list of `count` rules: denying rules first, then those that permit the traffic.
///
/// # Errors
///
/// If the device has no access lists, families are mixed, or a denying rule would match the traffic.
pub fn rules(count: u32, syntax: Syntax, options: &RuleOptions) -> Result<String, GenerateError> {
    let denied = check(count, syntax, options)?;
    let rules = options.first.following(denied)?.zip(options.permit.iter().cycle());
    let rules = rules.map(|(source, (_, destination))| (false, source, *destination));
    let permits = options.permit.iter().map(|(source, destination)| (true, *source, *destination));
    let mut text = String::with_capacity(count as usize * 80 + 128);
    head(&mut text, syntax, options);
    for (n, (permit, source, destination)) in (1u64..).zip(rules.chain(permits)) {
        let _ = rule(&mut text, syntax, &Rule { n, permit, source, destination, options });
    }
    text.push_str(match syntax {
        Syntax::Nftables => "  }\n}\n",
        Syntax::Vpp => " tag eagre\n",
        Syntax::Procurve => "   exit\n",
        Syntax::Comware => " quit\n",
        Syntax::Pfsense => pfsense::END_RULES,
        _ => "",
    });
    Ok(text)
}

/// Checks the options; returns the number of denying rules.
fn check(count: u32, syntax: Syntax, options: &RuleOptions) -> Result<u64, GenerateError> {
    let unsupported = |instead| Err(GenerateError::Unsupported { syntax, what: "access lists", instead });
    match syntax {
        Syntax::IpBatch => return unsupported("use nftables for the kernel's"),
        Syntax::Frr | Syntax::Bird => {
            return unsupported("it filters routes, not packets: use nftables");
        }
        Syntax::Comware if count > COMWARE_MAX => {
            return Err(GenerateError::TooManyRules { syntax, count, most: COMWARE_MAX });
        }
        _ => {}
    }
    if options.permit.is_empty() {
        return Err(GenerateError::Nothing("an access list needs permitted traffic"));
    }
    let Some(denied) = u64::from(count).checked_sub(options.permit.len() as u64) else {
        return Err(GenerateError::Nothing("fewer rules than permitted traffic entries"));
    };
    let last = options.first.nth(denied.saturating_sub(1))?;
    for &(source, destination) in &options.permit {
        if source.is_ipv6() != destination.is_ipv6() || source.is_ipv6() != options.first.is_ipv6() {
            return Err(GenerateError::MixedFamilies(
                options.first.to_string(),
                format!("{source} to {destination}"),
            ));
        }
        let within =
            options.first.address() <= source.last_address() && source.address() <= last.last_address();
        if denied > 0 && within {
            return Err(GenerateError::Overlap { count: denied, first: options.first, permitted: source });
        }
    }
    Ok(denied)
}

fn head(text: &mut String, syntax: Syntax, options: &RuleOptions) {
    let (name, v6) = (&options.name, options.first.is_ipv6());
    let _ = match syntax {
        // Declare, delete and rewrite: loading it twice gives one table.
        Syntax::Nftables => writeln!(
            text,
            "table inet {name}\ndelete table inet {name}\ntable inet {name} {{\n  chain rules {{\n    \
             type filter hook forward priority 0; policy drop;"
        ),
        Syntax::Cisco if v6 => writeln!(text, "ipv6 access-list {name}"),
        Syntax::Cisco => writeln!(text, "ip access-list extended {name}"),
        Syntax::Procurve if v6 => writeln!(text, "ipv6 access-list \"{name}\""),
        Syntax::Procurve => writeln!(text, "ip access-list extended \"{name}\""),
        Syntax::Comware if v6 => writeln!(text, "acl ipv6 advanced name {name}"),
        Syntax::Comware => writeln!(text, "acl advanced name {name}"),
        Syntax::Pfsense => write!(text, "{}", pfsense::BEGIN_RULES),
        Syntax::Vpp => write!(text, "set acl-plugin acl"),
        // Neighbour resolution is always permitted.
        Syntax::Ovs if v6 => writeln!(
            text,
            "priority=1,icmp6,icmp_type=135,actions=NORMAL\npriority=1,icmp6,icmp_type=136,actions=NORMAL\n\
             priority=0,actions=drop"
        ),
        Syntax::Ovs => writeln!(text, "priority=1,arp,actions=NORMAL\npriority=0,actions=drop"),
        _ => Ok(()),
    };
}

struct Rule<'a> {
    n: u64,
    permit: bool,
    source: Prefix,
    destination: Prefix,
    options: &'a RuleOptions,
}

fn rule(text: &mut String, syntax: Syntax, rule: &Rule<'_>) -> std::fmt::Result {
    let Rule { n, permit, source, destination, options } = *rule;
    let name = &options.name;
    let v6 = source.is_ipv6();
    let either = |yes: &'static str, no: &'static str| if permit { yes } else { no };
    match syntax {
        Syntax::Nftables => {
            let family = if v6 { "ip6" } else { "ip" };
            let verdict = either("accept", "drop");
            writeln!(text, "    {family} saddr {source} {family} daddr {destination} {verdict}")
        }
        Syntax::Vpp => {
            let comma = if n == 1 { "" } else { "," };
            write!(text, "{comma} {} src {source} dst {destination}", either("permit", "deny"))
        }
        Syntax::Ovs => {
            let (family, from, to) =
                if v6 { ("ipv6", "ipv6_src", "ipv6_dst") } else { ("ip", "nw_src", "nw_dst") };
            let (priority, action) = if permit { (10, "NORMAL") } else { (1000, "drop") };
            writeln!(text, "priority={priority},{family},{from}={source},{to}={destination},actions={action}")
        }
        Syntax::Cisco if v6 => {
            writeln!(text, " sequence {} {} ipv6 {source} {destination}", n * 10, either("permit", "deny"))
        }
        Syntax::Cisco => {
            let (from, to) = (cisco(source), cisco(destination));
            writeln!(text, " {} {} ip {from} {to}", n * 10, either("permit", "deny"))
        }
        Syntax::Junos => {
            let family = if v6 { "inet6" } else { "inet" };
            let term = format!("set firewall family {family} filter {name} term {n}");
            writeln!(text, "{term} from source-address {source}")?;
            writeln!(text, "{term} from destination-address {destination}")?;
            writeln!(text, "{term} then {}", either("accept", "discard"))
        }
        Syntax::Procurve if v6 => {
            writeln!(text, "   {} {} ipv6 {source} {destination}", n * 10, either("permit", "deny"))
        }
        Syntax::Procurve => {
            let [from, to] = [source, destination].map(|net| format!("{} {}", net.address(), net.wildcard()));
            writeln!(text, "   {} {} ip {from} {to}", n * 10, either("permit", "deny"))
        }
        Syntax::Comware if v6 => {
            writeln!(
                text,
                " rule {n} {} ipv6 source {source} destination {destination}",
                either("permit", "deny")
            )
        }
        Syntax::Comware => {
            let [from, to] = [source, destination].map(|net| format!("{} {}", net.address(), net.wildcard()));
            writeln!(text, " rule {n} {} ip source {from} destination {to}", either("permit", "deny"))
        }
        Syntax::Pfsense => {
            let interface = options.interface.as_deref().unwrap_or("wan");
            pfsense::rule(text, (permit, interface, name), source, destination)
        }
        Syntax::IpBatch | Syntax::Frr | Syntax::Bird => Ok(()),
    }
}

/// A network in IOS access-list syntax.
fn cisco(prefix: Prefix) -> String {
    match prefix.prefix_len() {
        32 => format!("host {}", prefix.address()),
        _ => format!("{} {}", prefix.address(), prefix.wildcard()),
    }
}
