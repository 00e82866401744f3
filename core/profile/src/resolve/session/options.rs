//! Settings of TCP, UDP and IP: defaults, then the entry's, then the end's.

use super::Whose;
use crate::document::options::{CloseByDoc, CongestionDoc, IpDoc, TcpDoc, UdpDoc};
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use emulate::pppoe::PppoeConfig;
use session::plan::{SideHost, SidePlan, SideTunnel};
use std::ops::RangeInclusive;
use std::sync::Arc;
use tcp::{ACK_DELAY_MAX, Congestion, TcpOptions, TimeWait, UdpOptions};
use units::Nanos;
use wire::Vlans;
use wire::tunnel::PppoeLinks;

/// Default maximum length of IP packets: Ethernet's, bytes.
const MTU: u16 = 1_500;
/// Least MTU of IPv6 (RFC 8200 section 5).
const MTU_V6_MIN: u16 = 1_280;
/// Default time to live.
const TTL: u8 = 64;
/// Largest window of TCP (RFC 7323 section 2.3: 2^14 times 65,535 bytes, rounded down to a power of two).
const WINDOW_MAX: u64 = 1 << 30;
/// Times between two values of timestamps (RFC 7323 section 5.4).
const TIMESTAMP_STEPS: RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(1);
/// Largest window without scaling.
const WINDOW_UNSCALED: u64 = 65_535;
/// Default idle time after which a session over UDP ends.
const UDP_IDLE: Nanos = Nanos::from_secs(30);

/// Settings of the entry and one of its ends.
struct Said<'a, T> {
    both: Option<&'a T>,
    one: Option<&'a T>,
}

impl<'a, T> Said<'a, T> {
    /// The value that takes precedence, if either is set.
    fn value<V>(&self, pick: impl Fn(&'a T) -> Option<V>) -> Option<V> {
        self.one.and_then(&pick).or_else(|| self.both.and_then(&pick))
    }
}

impl Resolver<'_> {
    /// Adds a warning once: a file may be named several times.
    pub(super) fn warn_once(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Reports an error in the entry's settings for both ends once.
    pub(super) fn fail_once(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        let (path, reason) = (path.into(), reason.into());
        if !self.reading.errors.iter().any(|error| error.path == path && error.reason == reason) {
            self.reading.fail(path, reason);
        }
    }

    /// One end, emulated on `port` by the hosts with these numbers.
    pub(super) fn side(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        whose: Whose,
        (port, hosts): (usize, &[usize]),
        v4: bool,
        (tunnel, pppoe): (Option<&SideTunnel>, Option<&PppoeConfig>),
    ) -> SidePlan {
        let (tcp, udp, ip, mtu, vlan) = match whose {
            Whose::Client => doc.client.as_ref().map(|c| (&c.tcp, &c.udp, &c.ip, &c.mtu, &c.vlan)),
            Whose::Server => doc.server.as_ref().map(|s| (&s.tcp, &s.udp, &s.ip, &s.mtu, &s.vlan)),
        }
        .unwrap_or((&None, &None, &None, &None, &None));
        let side_path = format!("{path}.{}", whose.key());
        let at = |key: &str, said: bool| format!("{}.{key}", if said { &side_path } else { path });
        let vlans = vlan.as_ref().or(doc.vlan.as_ref());
        let vlans: Option<Vec<u16>> =
            vlans.map(|given| given.with_paths().iter().map(|(_, id)| id.0).collect());
        let is_inside = tunnel.is_some() || pppoe.is_some();
        let hosts = hosts.iter().map(|host| &self.ports[port].hosts[*host]).map(|host| SideHost {
            name: host.name.clone(),
            vlans: match &vlans {
                Some(ids) => host.vlans.with_ids(ids.clone()),
                None if is_inside => Vlans::NONE,
                None => host.vlans.clone(),
            },
        });
        let hosts = hosts.collect();
        let mtu_said = mtu.as_ref().or(doc.mtu.as_ref());
        let tags = 4 * vlans.as_ref().map_or(0, Vec::len) as u16;
        let left = MTU - tunnel.map_or(0, |tunnel| tunnel.tunnel.overhead() as u16 + tags);
        let left = pppoe.map_or(left, |config| config.mtu.min(MTU - PppoeLinks::OVERHEAD as u16));
        let mtu_bytes = mtu_said.map_or(left, |mtu| mtu.0);
        if let Some(config) = pppoe.filter(|config| config.mtu < mtu_bytes) {
            let reason = format!("PPPoE sessions carry packets of up to {} bytes ('pppoe.mtu')", config.mtu);
            self.fail_once(at("mtu", mtu.is_some()), reason);
        }
        if !v4 && mtu_bytes < MTU_V6_MIN {
            let reason = format!("IPv6 needs an MTU of at least {MTU_V6_MIN} (RFC 8200)");
            self.fail_once(at("mtu", mtu.is_some()), reason);
        }
        let tcp_said = Said { both: doc.tcp.as_ref(), one: tcp.as_ref() };
        let options = tcp_options(&tcp_said);
        let tcp_path = |pick: fn(&TcpDoc) -> bool| at("tcp", tcp.as_ref().is_some_and(pick));
        self.check_tcp(&tcp_said, &options, &tcp_path, (mtu_bytes, v4));
        let ip_said = Said { both: doc.ip.as_ref(), one: ip.as_ref() };
        let tos = self.tos(&at("ip", ip.is_some()), &ip_said);
        let udp = Said::<UdpDoc> { both: doc.udp.as_ref(), one: udp.as_ref() };
        SidePlan {
            port,
            hosts,
            mtu: mtu_bytes,
            ttl: ip_said.value(|ip| ip.ttl).unwrap_or(TTL),
            tos,
            tcp: options,
            udp: UdpOptions {
                idle_timeout: udp
                    .value(|udp| udp.idle_timeout.as_ref())
                    .map_or(Some(UDP_IDLE), |limit| limit.0),
                ecn: udp.value(|udp| udp.ecn).unwrap_or(false),
                refused_after: Nanos::ZERO,
            },
            tunnel: tunnel.map(|own| SideTunnel { fits_mtu: mtu_said.is_none(), ..own.clone() }),
            pppoe: pppoe.map(|config| {
                let links = PppoeLinks::new(&config.pool.vlans.of(0), []);
                Arc::new(if config.pool.vlans.differ() { links.in_own_vlans() } else { links })
            }),
        }
    }

    fn tos(&mut self, path: &str, said: &Said<'_, IpDoc>) -> u8 {
        if [said.one, said.both].into_iter().flatten().any(|ip| ip.dscp.is_some() && ip.tos.is_some()) {
            self.fail_once(path, "'tos' contains 'dscp'; set only one of them");
        }
        let tos = said.value(|ip| ip.dscp.map(|dscp| dscp << 2).or(ip.tos)).unwrap_or(0);
        if tos & 3 != 0 {
            let reason =
                format!("the lower two bits of tos {tos} are the ECN field, which 'tcp: {{ecn: true}}' sets");
            self.fail_once(format!("{path}.tos"), reason);
        }
        tos
    }

    fn check_tcp(
        &mut self,
        said: &Said<'_, TcpDoc>,
        options: &TcpOptions,
        path: &dyn Fn(fn(&TcpDoc) -> bool) -> String,
        (mtu, v4): (u16, bool),
    ) {
        let headers = if v4 { 40 } else { 60 };
        if let Some(mss) = options.mss
            && u32::from(mss) + headers > u32::from(mtu)
        {
            let reason = format!(
                "segments of {mss} bytes make IP packets of {}, more than the MTU of {mtu}",
                u32::from(mss) + headers
            );
            self.fail_once(path(|tcp| tcp.mss.is_some()) + ".mss", reason);
        }
        let window =
            said.value(|tcp| tcp.window.as_ref()).map_or(u64::from(options.window), |window| window.0);
        let window_path = path(|tcp| tcp.window.is_some()) + ".window";
        if !(1..=WINDOW_MAX).contains(&window) {
            self.fail_once(window_path, format!("a window is from 1B to {WINDOW_MAX}B"));
        } else if window > WINDOW_UNSCALED
            && !options.window_scaling
            && said.value(|tcp| tcp.window.as_ref()).is_some()
        {
            let reason =
                format!("{window}B need 'window_scaling'; without it the most is {WINDOW_UNSCALED}B");
            self.fail_once(window_path, reason);
        }
        if !TIMESTAMP_STEPS.contains(&options.timestamp_step) {
            let reason = "the clock of timestamps advances once in 1ms to 1s (RFC 7323 section 5.4)";
            self.fail_once(path(|tcp| tcp.timestamp_step.is_some()) + ".timestamp_step", reason);
        }
        if options.ack_delay > ACK_DELAY_MAX {
            let reason = format!(
                "an acknowledgement waits at most {ACK_DELAY_MAX}; RFC 9293 section 3.8.6.3 allows less than 500ms"
            );
            self.fail_once(path(|tcp| tcp.ack_delay.is_some()) + ".ack_delay", reason);
        }
        if options.rto_min == Nanos::ZERO {
            let reason = "must be longer than 0";
            self.fail_once(path(|tcp| tcp.rto_min.is_some()) + ".rto_min", reason);
        }
        if options.rto_min > options.rto_max {
            let reason = format!("longer than 'rto_max', which is {}", options.rto_max);
            self.fail_once(path(|tcp| tcp.rto_min.is_some()) + ".rto_min", reason);
        }
        if options.rto_initial < options.rto_min || options.rto_initial > options.rto_max {
            let reason = format!(
                "{} is not from 'rto_min' {} to 'rto_max' {}",
                options.rto_initial, options.rto_min, options.rto_max
            );
            self.fail_once(path(|tcp| tcp.rto_initial.is_some()) + ".rto_initial", reason);
        }
    }
}

fn tcp_options(said: &Said<'_, TcpDoc>) -> TcpOptions {
    let default = TcpOptions::default();
    let time = |pick: fn(&TcpDoc) -> Option<&crate::document::quantity::Duration>, default: Nanos| {
        said.value(pick).map_or(default, |time| time.0)
    };
    let flag = |pick: fn(&TcpDoc) -> Option<bool>, default| said.value(pick).unwrap_or(default);
    let retries = |pick: fn(&TcpDoc) -> Option<crate::document::options::Retries>, default| {
        said.value(pick).map_or(default, |retries| retries.0)
    };
    let scaling = flag(|tcp| tcp.window_scaling, default.window_scaling);
    // What is not said follows what is: without scaling there is no larger window.
    let window = if scaling { u64::from(default.window) } else { WINDOW_UNSCALED };
    TcpOptions {
        mss: said.value(|tcp| tcp.mss).or(default.mss),
        window: said.value(|tcp| tcp.window.as_ref()).map_or(window, |window| window.0.min(WINDOW_MAX))
            as u32,
        window_scaling: scaling,
        timestamps: flag(|tcp| tcp.timestamps, default.timestamps),
        timestamp_step: time(|tcp| tcp.timestamp_step.as_ref(), default.timestamp_step),
        isn: said.value(|tcp| tcp.isn),
        sack: flag(|tcp| tcp.sack, default.sack),
        rack: flag(|tcp| tcp.rack, default.rack),
        ecn: flag(|tcp| tcp.ecn, default.ecn),
        initial_window: said.value(|tcp| tcp.initial_window).unwrap_or(default.initial_window),
        congestion: said.value(|tcp| tcp.congestion).map_or(
            default.congestion,
            |congestion| match congestion {
                CongestionDoc::Cubic => Congestion::Cubic,
                CongestionDoc::NewReno => Congestion::NewReno,
                CongestionDoc::None => Congestion::None,
            },
        ),
        no_delay: flag(|tcp| tcp.no_delay, default.no_delay),
        ack_delay: time(|tcp| tcp.ack_delay.as_ref(), default.ack_delay),
        rto_initial: time(|tcp| tcp.rto_initial.as_ref(), default.rto_initial),
        rto_min: time(|tcp| tcp.rto_min.as_ref(), default.rto_min),
        rto_max: time(|tcp| tcp.rto_max.as_ref(), default.rto_max),
        syn_retries: retries(|tcp| tcp.syn_retries, default.syn_retries),
        syn_ack_retries: retries(|tcp| tcp.syn_ack_retries, default.syn_ack_retries),
        data_retries: retries(|tcp| tcp.data_retries, default.data_retries),
        fin_timeout: time(|tcp| tcp.fin_timeout.as_ref(), default.fin_timeout),
        time_wait: said
            .value(|tcp| tcp.time_wait.as_ref())
            .map_or(default.time_wait, |time| time.0.map_or(TimeWait::Skip, TimeWait::For)),
        keep_alive: said.value(|tcp| tcp.keep_alive.as_ref()).map_or(default.keep_alive, |limit| limit.0),
        close_by_reset: said
            .value(|tcp| tcp.close_by)
            .map_or(default.close_by_reset, |by| by == CloseByDoc::Reset),
        express: flag(|tcp| tcp.express, default.express),
    }
}
