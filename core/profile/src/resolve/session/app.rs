//! Applications: one or a mix, what carries them, and at which ports servers are reached.

use super::{carrier_name, common, range};
use crate::document::app::{AppDoc, AppKeys, AppWord, BulkDoc, EchoDoc, MemberDoc, RawDoc, SideDoc, once};
use crate::document::content::SizeDoc;
use crate::document::grpc::GrpcDoc;
use crate::document::http::{AltSvcForm, HttpDoc};
use crate::document::quantity::BytesRange;
use crate::document::session::{SessionDoc, TransportDoc};
use crate::document::stamp::StampDoc;
use crate::document::websocket::WebsocketDoc;
use crate::resolve::Resolver;
use session::plan::{AppPlan, Carrier, Expect, HttpPlan, HttpVersion, Member, Op, Program, Side};
use std::net::IpAddr;
use std::sync::Arc;

/// Context of an application.
pub(super) struct Surroundings {
    /// Whether clients are emulated.
    pub(super) client: bool,
    /// Whether servers are.
    pub(super) server: bool,
    pub(super) first_server: Option<IpAddr>,
    pub(super) v4: bool,
}

/// The applications of an entry.
pub(super) struct Apps {
    pub(super) members: Vec<Member>,
    pub(super) carrier: Carrier,
    /// Ports of members without their own.
    pub(super) server_ports: (u16, u16),
}

impl Apps {
    /// The servers' ports of each application.
    pub(super) fn ports(&self) -> Vec<(u16, u16)> {
        let own = |member: &Member| {
            member.server_ports.as_ref().map_or(self.server_ports, |ports| (*ports.start(), *ports.end()))
        };
        self.members.iter().map(own).collect()
    }
}

/// An application and what it needs.
pub(super) struct Resolved {
    pub(super) app: AppPlan,
    /// Where its servers usually are.
    pub(super) port: Option<u16>,
}

/// Transports that an application can use.
#[derive(Clone, Copy)]
struct Goes {
    name: &'static str,
    tcp: bool,
    udp: bool,
    quic: bool,
    /// Its carrier over HTTPS, if it goes over that.
    https: Option<Carrier>,
    /// Default transport.
    usually: Carrier,
}

/// A member of a mix, or the only application there is.
struct One<'a> {
    path: String,
    doc: &'a AppDoc,
    member: Option<&'a MemberDoc>,
}

/// Default lifetime of an announcement of HTTP/3, seconds (RFC 7838 section 3.1).
const MAX_AGE_S: u64 = 86_400;
/// Names of the parts of an entry with an alternative, in results.
pub(in crate::resolve) const BOTH_WAYS: [&str; 2] = ["tcp", "h3"];

/// Bytes around the message in a DATAGRAM frame at most: a short header with the longest connection identifier, the frame's head, and the tag of
/// the encryption (RFC 9000 section 17.3.1, RFC 9221 section 4, RFC 9001 section 5.3).
const DATAGRAM_FRAME: u64 = 1 + 20 + 4 + 3 + 16;
/// The applications whose carrier is QUIC.
const HTTP3: &str = "HTTP/3";
const WEBSOCKET3: &str = "WebSocket over HTTP/3";

/// HTTP with an alternative.
fn alternatives(app: &AppDoc) -> Option<&HttpDoc> {
    match app {
        AppDoc::Full(keys) => keys.http.as_ref().filter(|http| http.alternatives() != (false, false)),
        AppDoc::Word(_) => None,
    }
}

/// Whether an application has an alternative, and its results have parts by these names.
pub(in crate::resolve) fn has_alternative(app: &AppDoc) -> bool {
    alternatives(app).is_some()
}

impl Resolver<'_> {
    /// The applications of an entry; `None` if something about them is wrong.
    pub(super) fn apps(&mut self, path: &str, doc: &SessionDoc, around: &Surroundings) -> Option<Apps> {
        let said = self.reading.errors.len();
        let app_path = format!("{path}.app");
        if self.reading.is_broken(&app_path) {
            return None;
        }
        let ones = self.ones(&app_path, &doc.app);
        let carrier = self.carrier(path, doc, &ones)?;
        let room = u64::from(tcp::datagram_max(!around.v4));
        let mut all = Vec::new();
        for one in &ones {
            let resolved = self.app(&one.path, one.doc, doc, around, (carrier, room))?;
            all.push((one, resolved));
        }
        let apps = self.with_ports(path, doc, carrier, all)?;
        if around.server {
            self.check_ports_apart(&ones, &apps);
        }
        let apps = self.with_alternative(path, doc, &ones, apps);
        (self.reading.errors.len() == said).then_some(apps)
    }

    /// The applications one by one.
    fn ones<'a>(&mut self, path: &str, doc: &'a AppDoc) -> Vec<One<'a>> {
        let members = match doc {
            AppDoc::Full(keys) => keys.mix.as_ref(),
            AppDoc::Word(_) => None,
        };
        let Some(members) = members else { return vec![One { path: path.to_owned(), doc, member: None }] };
        let mut names: Vec<&str> = Vec::new();
        let mut ones = Vec::new();
        for (index, member) in members.iter().enumerate() {
            let path = format!("{path}.mix[{index}]");
            if names.contains(&member.name.0.as_str()) {
                self.reading.fail(
                    format!("{path}.name"),
                    format!("the name '{}' is in this mix twice", member.name.0),
                );
            }
            names.push(&member.name.0);
            if matches!(&member.app, AppDoc::Full(keys) if keys.mix.is_some()) {
                self.reading.fail(
                    format!("{path}.app"),
                    "a mix cannot contain a mix; put its applications into the outer one",
                );
            } else {
                ones.push(One { path: format!("{path}.app"), doc: &member.app, member: Some(member) });
            }
        }
        ones
    }

    /// Transport of all of them.
    fn carrier(&mut self, path: &str, doc: &SessionDoc, ones: &[One<'_>]) -> Option<Carrier> {
        let wanted = doc.transport.and_then(|transport| match transport {
            TransportDoc::Tcp => Some(Carrier::Tcp),
            TransportDoc::Udp | TransportDoc::Quic => Some(Carrier::Udp),
            // The version of HTTP decides.
            TransportDoc::Https => None,
        });
        let mut first: Option<(Carrier, &'static str)> = None;
        for one in ones {
            let goes = self.goes(&one.path, one.doc)?;
            let carrier = wanted.or(goes.https.filter(|_| doc.is_https())).unwrap_or(goes.usually);
            if doc.is_quic() && !goes.quic {
                let reason = format!("{} does not go over QUIC; use 'tcp' or 'udp'", goes.name);
                self.reading.fail(format!("{path}.transport"), reason);
                return None;
            }
            if doc.is_https() && goes.https.is_none() {
                let reason =
                    format!("{} does not go over HTTPS, which is for 'dns'; use 'tcp' and 'tls'", goes.name);
                self.reading.fail(format!("{path}.transport"), reason);
                return None;
            }
            if !(if carrier == Carrier::Tcp { goes.tcp } else { goes.udp }) {
                let other = if carrier == Carrier::Tcp { Carrier::Udp } else { Carrier::Tcp };
                let reason = format!("{} goes over {} only", goes.name, carrier_name(other));
                self.reading.fail(format!("{path}.transport"), reason);
                return None;
            }
            let (before, name) = *first.get_or_insert((carrier, goes.name));
            let is_http3 = |name| matches!(name, HTTP3 | WEBSOCKET3);
            if is_http3(goes.name) != is_http3(name) {
                let reason = "HTTP/3 goes over QUIC, and not all of this mix does; make two entries";
                self.reading.fail(&one.path, reason);
                return None;
            }
            if before != carrier {
                let reason = format!(
                    "{} goes over {}, and {name} of the same mix over {}; make two entries, or give 'transport'",
                    goes.name,
                    carrier_name(carrier),
                    carrier_name(before)
                );
                self.reading.fail(&one.path, reason);
                return None;
            }
        }
        first.map(|(carrier, _)| carrier)
    }

    fn goes(&mut self, path: &str, doc: &AppDoc) -> Option<Goes> {
        let either = |name, usually| Goes { name, tcp: true, udp: true, quic: false, https: None, usually };
        let tcp = |name| Goes { udp: false, ..either(name, Carrier::Tcp) };
        let stamp = || Goes { tcp: false, ..either("stamp", Carrier::Udp) };
        Some(match doc {
            AppDoc::Word(AppWord::Echo) => either("echo", Carrier::Tcp),
            AppDoc::Word(AppWord::Discard) => tcp("discard"),
            AppDoc::Word(AppWord::Chargen) => tcp("chargen"),
            AppDoc::Word(AppWord::Http) => tcp("http"),
            AppDoc::Word(AppWord::Websocket) => tcp("websocket"),
            AppDoc::Word(AppWord::Grpc) => tcp("grpc"),
            AppDoc::Word(AppWord::Stamp) => stamp(),
            AppDoc::Full(keys) => match &**keys {
                AppKeys { raw: Some(_), .. } => Goes { quic: true, ..either("raw", Carrier::Tcp) },
                AppKeys { echo: Some(_), .. } => either("echo", Carrier::Tcp),
                AppKeys { http: Some(http), .. } if http.version() == HttpVersion::Three => {
                    Goes { tcp: false, quic: true, ..either(HTTP3, Carrier::Udp) }
                }
                AppKeys { http: Some(_), .. } => tcp("http"),
                AppKeys { websocket: Some(websocket), .. } if websocket.version() == HttpVersion::Three => {
                    Goes { tcp: false, quic: true, ..either(WEBSOCKET3, Carrier::Udp) }
                }
                AppKeys { websocket: Some(_), .. } => tcp("websocket"),
                AppKeys { grpc: Some(_), .. } => tcp("grpc"),
                AppKeys { stamp: Some(_), .. } => stamp(),
                AppKeys { dns: Some(dns), .. } => {
                    let is_http3 = dns.version() == HttpVersion::Three;
                    let https = if is_http3 { Carrier::Udp } else { Carrier::Tcp };
                    Goes { quic: true, https: Some(https), ..either("dns", Carrier::Udp) }
                }
                AppKeys { bulk: Some(_), .. } => tcp("bulk"),
                AppKeys { program: Some(_), .. } => Goes { quic: true, ..either("program", Carrier::Tcp) },
                AppKeys { pcap: Some(pcap), .. } => {
                    let carrier = self.conversation(&format!("{path}.pcap"), pcap)?.carrier;
                    let (tcp, udp) = (carrier == Carrier::Tcp, carrier == Carrier::Udp);
                    Goes { tcp, udp, ..either("this conversation", carrier) }
                }
                _ => return None,
            },
        })
    }

    fn app(
        &mut self,
        path: &str,
        doc: &AppDoc,
        entry: &SessionDoc,
        around: &Surroundings,
        (carrier, room): (Carrier, u64),
    ) -> Option<Resolved> {
        let is_in_datagrams = entry.is_in_datagrams();
        let room = if is_in_datagrams { room - DATAGRAM_FRAME } else { room };
        let has_datagrams = !entry.is_quic() && !entry.is_https() || is_in_datagrams;
        let room = (carrier == Carrier::Udp && has_datagrams).then_some(room);
        let keys = match doc {
            AppDoc::Word(word) => return self.app_word(path, *word, entry, around),
            AppDoc::Full(keys) => &**keys,
        };
        if let Some(raw) = &keys.raw {
            return Some(Resolved { app: self.raw(&format!("{path}.raw"), raw, room), port: None });
        }
        if let Some(echo) = &keys.echo {
            return Some(Resolved { app: self.echo(&format!("{path}.echo"), echo, room), port: Some(7) });
        }
        if let Some(http) = &keys.http {
            return self.http(&format!("{path}.http"), http, entry, around);
        }
        if let Some(dns) = &keys.dns {
            return self.dns(&format!("{path}.dns"), dns, entry, room, around);
        }
        if let Some(websocket) = &keys.websocket {
            return Some(self.websocket(&format!("{path}.websocket"), websocket, entry, around));
        }
        if let Some(grpc) = &keys.grpc {
            return Some(self.grpc(&format!("{path}.grpc"), grpc, entry, around));
        }
        if let Some(stamp) = &keys.stamp {
            return Some(self.stamp(&format!("{path}.stamp"), stamp, entry, room, around));
        }
        if let Some(bulk) = &keys.bulk {
            return Some(Resolved { app: self.bulk(&format!("{path}.bulk"), bulk), port: None });
        }
        if let Some(program) = &keys.program {
            let path = format!("{path}.program");
            let app = self.program(&path, program, around, room);
            if !program.client.is_empty() {
                self.check_opens_stream(&path, entry, &app);
            }
            return Some(Resolved { app, port: None });
        }
        let pcap = keys.pcap.as_ref()?;
        let conversation = self.conversation(&format!("{path}.pcap"), pcap)?;
        Some(Resolved { app: conversation.app, port: Some(conversation.port) })
    }

    fn app_word(
        &mut self,
        path: &str,
        word: AppWord,
        entry: &SessionDoc,
        around: &Surroundings,
    ) -> Option<Resolved> {
        let (app, port) = match word {
            AppWord::Echo => {
                let echo = EchoDoc { request: None, requests: once(), think: None };
                (self.echo(path, &echo, None), 7)
            }
            AppWord::Discard => (AppPlan::bulk(Side::Client, None), 9),
            AppWord::Chargen => (AppPlan::bulk(Side::Server, None), 19),
            AppWord::Http => return self.http(path, &HttpDoc::default(), entry, around),
            AppWord::Websocket => {
                return Some(self.websocket(path, &WebsocketDoc::default(), entry, around));
            }
            AppWord::Grpc => return Some(self.grpc(path, &GrpcDoc::default(), entry, around)),
            AppWord::Stamp => return Some(self.stamp(path, &StampDoc::default(), entry, None, around)),
        };
        Some(Resolved { app, port: Some(port) })
    }

    fn raw(&mut self, path: &str, raw: &RawDoc, room: Option<u64>) -> AppPlan {
        let times = raw.requests.times();
        self.message(&format!("{path}.request"), &raw.request, times, room);
        if let Some(response) = &raw.response {
            self.message(&format!("{path}.response"), response, times, room);
        }
        let request = self.amount(&raw.request);
        // As many bytes as the request, whichever it is, if nothing is said.
        let response = match &raw.response {
            Some(response) => self.amount(response),
            None => request.clone(),
        };
        let think = self.delay(&format!("{path}.think"), raw.think.as_ref());
        AppPlan::raw(request, response, times, think)
    }

    fn echo(&mut self, path: &str, echo: &EchoDoc, room: Option<u64>) -> AppPlan {
        let usual = SizeDoc::Range(BytesRange((64, 64)));
        let size = echo.request.as_ref().unwrap_or(&usual);
        let times = echo.requests.times();
        self.message(&format!("{path}.request"), size, times, room);
        let size = self.amount(size);
        let think = self.delay(&format!("{path}.think"), echo.think.as_ref());
        match AppPlan::raw(size.clone(), size, times, think) {
            AppPlan::Program { client, .. } => AppPlan::Echo { client },
            other => other,
        }
    }

    fn bulk(&mut self, path: &str, bulk: &BulkDoc) -> AppPlan {
        if bulk.bytes.as_ref().is_some_and(|bytes| bytes.0 == 0) {
            self.reading.fail(format!("{path}.bytes"), "must be at least 1B; remove it to send without end");
        }
        let side = match bulk.from {
            SideDoc::Client => Side::Client,
            SideDoc::Server => Side::Server,
        };
        AppPlan::bulk(side, bulk.bytes.as_ref().map(|bytes| bytes.0))
    }

    /// That a message has bytes, and fits into a datagram if it must.
    fn message(&mut self, path: &str, size: &SizeDoc, times: Option<u32>, room: Option<u64>) {
        let least = match size {
            SizeDoc::Range(range) => range.0.0,
            SizeDoc::Weights(_) => {
                super::content::weights(size).iter().map(|(bytes, _)| *bytes).min().unwrap_or(0)
            }
        };
        if least == 0 {
            self.reading.fail(path, "must be at least 1B");
        }
        self.fits_datagram(path, super::content::largest(size), room);
        if times == Some(1) && super::content::fixed(size).is_none() {
            self.warnings.push(format!(
                "{path}: sizes follow the request's number, and there is one request: all sessions have the same"
            ));
        }
    }

    /// Checks that a datagram of this number of bytes fits into a packet.
    pub(super) fn fits_datagram(&mut self, path: &str, bytes: u64, room: Option<u64>) {
        if let Some(room) = room.filter(|room| bytes > *room) {
            let reason = format!("{bytes}B in one datagram; the most is {room}B");
            self.reading.fail(path, reason);
        }
    }

    /// The ports of every application.
    fn with_ports(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        carrier: Carrier,
        all: Vec<(&One<'_>, Resolved)>,
    ) -> Option<Apps> {
        let given = doc.server.as_ref().and_then(|server| server.ports.as_ref()).map(|ports| ports.0);
        let single = all.len() == 1;
        let mut server_ports = given;
        let mut members = Vec::new();
        for (one, resolved) in all {
            let own = one.member.and_then(|member| member.ports.as_ref()).map(|ports| ports.0);
            let usual = resolved.port.map(|port| (port, port));
            let Some(ports) = own.or(given).or(usual) else {
                let at = if single { format!("{path}.server") } else { one.path.clone() };
                let reason = "no port for servers: this application has no default port; set 'ports'";
                self.reading.fail(at, reason);
                return None;
            };
            server_ports.get_or_insert(ports);
            members.push(Member {
                name: one.member.map_or_else(String::new, |member| member.name.0.clone()),
                weight: one.member.map_or(1, |member| member.weight.0),
                app: resolved.app,
                server_ports: own.or(usual.filter(|_| given.is_none() && !single)).map(range),
                is_alternative: false,
            });
        }
        Some(Apps { members, carrier, server_ports: server_ports? })
    }

    /// HTTP/3 beside an application of which servers announce it, or whose clients follow such announcements.
    fn with_alternative(&mut self, path: &str, doc: &SessionDoc, ones: &[One<'_>], mut apps: Apps) -> Apps {
        let http = ones.iter().find_map(|one| alternatives(one.doc));
        let (Some(http), Some(AppPlan::Http(plan))) = (http, apps.members.first().map(|member| &member.app))
        else {
            return apps;
        };
        let (clients, announces) = http.alternatives();
        let at = format!("{path}.app.http.{}", if clients { "alt_svc" } else { "server.alt_svc" });
        let has_tls = doc.tls.as_ref().is_some_and(|tls| tls.resolved().is_some());
        let (first, last) = apps.server_ports;
        let wrong = if ones.len() > 1 || ones[0].member.is_some() {
            Some("applies to an entry with one application, not to one of a mix; make two entries")
        } else if http.version() != HttpVersion::Auto || !has_tls {
            Some("HTTP/3 is an alternative to what is negotiated; set 'version: auto' and 'tls'")
        } else if doc.tunnel.is_some() {
            Some("a tunnel through a proxy goes over TCP; remove one of them")
        } else if announces && first != last {
            Some("one port is announced; give one in 'ports' of 'server'")
        } else {
            None
        };
        if let Some(reason) = wrong {
            self.reading.fail(at, reason);
            return apps;
        }
        let max_age = match http.server.as_ref().and_then(|server| server.alt_svc.as_ref()) {
            Some(AltSvcForm::Full(alt_svc)) => alt_svc.max_age.0.0 / 1_000_000_000,
            _ => MAX_AGE_S,
        };
        let close = session::plan::HttpClose::Fin;
        let own = HttpPlan { version: HttpVersion::Three, close, ..(**plan).clone() };
        let mut server = (*plan.server).clone();
        server.alt_svc = announces.then(|| format!("h3=\":{first}\"; ma={max_age}"));
        let announcing = HttpPlan { server: Arc::new(server), ..(**plan).clone() };
        let member = |name: &str, app, is_alternative| Member {
            name: name.to_owned(),
            weight: 1,
            app: AppPlan::Http(Arc::new(app)),
            server_ports: None,
            is_alternative,
        };
        let [first, second] = BOTH_WAYS;
        apps.members = vec![member(first, announcing, false), member(second, own, true)];
        apps
    }

    /// Checks that applications of a server have different ports.
    fn check_ports_apart(&mut self, ones: &[One<'_>], apps: &Apps) {
        let ports = apps.ports();
        for (index, one) in ports.iter().enumerate() {
            let same = ports[..index].iter().position(|other| common(&range(*one), &range(*other)).is_some());
            if let Some(other) = same {
                let name = &apps.members[other].name;
                let reason = format!(
                    "applications of a server need different ports, and '{name}' has port {}, too; set 'ports'",
                    one.0.max(ports[other].0)
                );
                self.reading.fail(&ones[index].path, reason);
            }
        }
    }
}

/// A program for an external end.
pub(super) fn nothing() -> Arc<Program> {
    Arc::new(Program { ops: vec![Op::Expect(Expect::End)] })
}
