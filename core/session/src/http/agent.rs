//! Clients that follow redirects and keep cookies, like a browser, the same in all versions, and send the requests of a log.
//! Source: RFC 9110 section 15.4, RFC 6265.
//!
//! A redirect is followed by a further request on the same connection, before the next of the plan, so that it has a separate number
//! on the connection; the plan's requests are counted apart. If the server has closed the connection, or is about to, the session
//! continues on another one to the same server, with its cookies ([`leave`]).
//!
//! Not here: how requests are written (the clients of each version).
//!
//! Invariant: [`Agent::trips`] has every request that lacks its response, and with HTTP/1.1 every one that is not acknowledged.

use super::cookies::{Jar, Place};
use super::h2::LeftOut;
use super::location::{host_and_port, resolve};
use super::plan::{AgentPlan, HttpRequest, Method};
use crate::counts::{Counts, Unfollowed};
use crate::extra::{Extra, Extras};
use crate::flow::{Ctx, Flag, Flow};
use crate::message::{Message, Vars, pieces};
use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// Names of the fields that are looked at, in HTTP/2 and HTTP/3.
pub(super) const FIELDS: &[&str] = &[super::alternative::FIELD, LOCATION, SET_COOKIE];
pub(super) const LOCATION: &str = "location";
pub(super) const SET_COOKIE: &str = "set-cookie";

/// Host and target of a request of the plan.
#[derive(Debug)]
pub(super) struct Aim {
    host: Message,
    target: Message,
}

impl Aim {
    pub(super) fn new(request: &HttpRequest) -> Self {
        let path = request.response_bytes.and_then(|bytes| request.path.sized(bytes));
        Self {
            host: Message::new(pieces(&request.host)),
            target: Message::new(pieces(path.as_ref().unwrap_or(&request.path))),
        }
    }
}

/// A text of a message.
pub(super) fn text(message: &Message, vars: &Vars) -> Vec<u8> {
    let mut out = vec![0; message.len(vars) as usize];
    message.write(vars, 0, &mut out);
    out
}

/// Whether a field is about the body of a request.
pub(super) fn is_of_body(name: &str) -> bool {
    name.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("content-"))
}

/// A request, and where it goes.
#[derive(Debug, Clone)]
pub(super) struct Trip {
    /// The number of the plan's request that led to it.
    pub original: u32,
    /// Its place in a log.
    pub entry: u64,
    /// Redirects before it.
    pub hops: u16,
    pub method: Method,
    pub has_body: bool,
    pub host: Vec<u8>,
    /// Path and query.
    pub target: Vec<u8>,
    /// It was sent before, and refused.
    pub is_repeat: bool,
    /// HTTP/1.1: its head, and the bytes of the whole request.
    pub head: Vec<u8>,
    pub len: u64,
    /// HTTP/1.1: its response is whole.
    pub answered: bool,
}

impl Trip {
    /// Request `original` of the plan.
    pub(super) fn new(original: u32, method: Method, has_body: bool, aim: &Aim, vars: &Vars) -> Self {
        Self {
            original,
            entry: 0,
            hops: 0,
            method,
            has_body,
            host: text(&aim.host, vars),
            target: text(&aim.target, vars),
            head: Vec::new(),
            len: 0,
            answered: false,
            is_repeat: false,
        }
    }

    fn path(&self) -> &[u8] {
        self.target.split(|byte| *byte == b'?').next().unwrap_or_default()
    }

    /// The request after a redirect by `status`. Where the method becomes GET it loses its body, as clients do with POST (RFC 9110
    /// section 15.4.2), and as 303 wants it (section 15.4.4).
    fn next(&self, status: u16, target: Vec<u8>) -> Self {
        let becomes_get = match status {
            303 => self.method != Method::Head,
            301 | 302 => self.method == Method::Post,
            _ => false,
        };
        Self {
            method: if becomes_get { Method::Get } else { self.method },
            has_body: self.has_body && !becomes_get,
            hops: self.hops + 1,
            target,
            head: Vec::new(),
            answered: false,
            is_repeat: false,
            ..self.clone()
        }
    }
}

/// State of a session.
#[derive(Debug, Default)]
pub(crate) struct Agent {
    jar: Jar,
    /// Requests after redirects, to be sent.
    next: VecDeque<Trip>,
    /// Requests by their number on the connection.
    pub(super) trips: BTreeMap<u32, Trip>,
    /// Requests of the plan that were sent.
    originals: u32,
}

/// States of a flow of HTTP/1.1 whose session continues on another connection.
pub(super) mod state {
    /// Waiting for that.
    pub(crate) const LEAVING: u8 = 15;
    /// The session is elsewhere.
    pub(crate) const LEFT: u8 = 16;
}

/// Where a request that the server refused is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// On this connection, before others.
    Here,
    /// By any session; with its place in a log.
    Elsewhere(u64),
}

/// The fields of a response that matter.
pub(super) struct Response<'a, C> {
    pub status: u16,
    pub location: Option<&'a [u8]>,
    pub cookies: C,
}

/// Meaning of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The last one to its request.
    Final,
    /// Another request follows.
    Followed,
    /// It leads somewhere it was not followed to.
    Stuck,
}

/// Differences of a request of HTTP/2 or HTTP/3 from the plan's.
#[derive(Debug, Default)]
pub(super) struct Made {
    /// The path and query after a redirect, in place of the plan's.
    pub target: Option<Vec<u8>>,
    /// Value of the Cookie field; empty without one.
    pub cookie: Vec<u8>,
    /// Whether it has lost its body.
    pub is_bare: bool,
    /// The method, in place of the plan's.
    pub method: Option<Method>,
}

impl Made {
    /// Fields of the plan's request that it does not have.
    pub(super) fn left_out(&self) -> LeftOut {
        LeftOut { path: self.target.is_some(), body: self.is_bare }
    }
}

/// A request of the plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned<'a> {
    pub original: u32,
    pub method: Method,
    pub has_body: bool,
    pub aim: &'a Aim,
}

/// Settings of a client.
#[derive(Debug)]
pub(super) struct Settings {
    plan: AgentPlan,
    /// The wall clock at instant zero.
    pub wall_zero: Nanos,
}

impl Settings {
    /// `None`: redirects and cookies are ignored.
    pub(super) fn new(plan: &AgentPlan) -> Option<Self> {
        let is_used = *plan != AgentPlan::default();
        is_used.then(|| Self { plan: plan.clone(), wall_zero: Nanos::ZERO })
    }

    fn seconds(&self, now: Nanos) -> u64 {
        self.wall_zero.saturating_add(now).0 / 1_000_000_000
    }

    /// Value of the Cookie field of a request; empty without one.
    pub(super) fn cookie(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, trip: &Trip) -> Vec<u8> {
        if !self.plan.cookies {
            return Vec::new();
        }
        let (host, _) = host_and_port(&trip.host);
        let place = Place { host: &host, path: trip.path(), secure: is_secure(ctx) };
        let (now, jar) = (self.seconds(ctx.now), &agent(ctx.extras, flow).jar);
        let value = jar.field(&place, now);
        ctx.counts.cookies.sent += u64::from(!value.is_empty());
        value
    }

    /// The next request of the log in place of one of the plan, if there is a log. Logs have no bodies: the plan's goes with POST, PUT and
    /// PATCH.
    pub(super) fn logged(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, trip: Trip) -> Trip {
        let Some(log) = &self.plan.log else { return trip };
        let entry = ctx.extras.of(flow).entries.pop_front().unwrap_or_default();
        let Some(request) = log.requests.get(entry as usize) else { return trip };
        let has_body = trip.has_body && matches!(request.method, Method::Post | Method::Put | Method::Patch);
        Trip { method: request.method, target: request.target.to_vec(), has_body, entry, ..trip }
    }

    /// Makes the next request, of HTTP/2 or HTTP/3: that of the plan, or one that it led to.
    pub(super) fn make(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        hop: Option<Trip>,
        planned: Planned<'_>,
        vars: &Vars,
    ) -> Made {
        let Planned { original, method, has_body, aim } = planned;
        let is_other = hop.is_some() || self.plan.log.is_some();
        let trip = match hop {
            Some(trip) => trip,
            None => self.logged(ctx, flow, Trip::new(original, method, has_body, aim, vars)),
        };
        let made = Made {
            target: is_other.then(|| trip.target.clone()),
            cookie: self.cookie(ctx, flow, &trip),
            is_bare: has_body && !trip.has_body,
            method: Some(trip.method).filter(|own| *own != method),
        };
        agent(ctx.extras, flow).sent(flow.sent, trip, ctx.counts);
        made
    }

    /// Notes the response to request `number`: keeps its cookies, and prepares the next request if it is a redirect. `wanted` is the
    /// status that is expected in the end.
    pub(super) fn note<'a>(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        number: u32,
        wanted: Option<u16>,
        response: Response<'a, impl Iterator<Item = &'a [u8]>>,
    ) -> Outcome {
        let (secure, now) = (is_secure(ctx), self.seconds(ctx.now));
        let Agent { jar, next, trips, .. } = agent(ctx.extras, flow);
        let Some(trip) = trips.get(&number) else { return Outcome::Final };
        if self.plan.cookies {
            let (host, _) = host_and_port(&trip.host);
            let place = Place { host: &host, path: trip.path(), secure };
            response.cookies.for_each(|value| jar.set(value, &place, now, &mut ctx.counts.cookies));
        }
        let Some(most) = self.plan.redirects else { return Outcome::Final };
        let status = response.status;
        if !matches!(status, 301 | 302 | 303 | 307 | 308) || wanted == Some(status) {
            return Outcome::Final;
        }
        let target = match response.location {
            None => Err(Unfollowed::NoLocation),
            Some(_) if trip.hops >= most => Err(Unfollowed::Limit),
            Some(location) => resolve(location, &trip.host, &trip.target, secure),
        };
        match target {
            Ok(target) => {
                next.push_back(trip.next(status, target));
                Outcome::Followed
            }
            Err(reason) => {
                ctx.counts.redirects.unfollowed(reason, 1);
                Outcome::Stuck
            }
        }
    }
}

fn is_secure(ctx: &Ctx<'_>) -> bool {
    ctx.common.secured || ctx.common.quic
}

/// The state of a session, made if there is none.
pub(super) fn agent<'a>(extras: &'a mut Extras, flow: &mut Flow) -> &'a mut Agent {
    extras.of(flow).agent.get_or_insert_default()
}

/// The state of a session, if there is any.
pub(super) fn find<'a>(extras: &'a Extras, flow: &Flow) -> Option<&'a Agent> {
    extras.find(flow).and_then(|extra: &Extra| extra.agent.as_deref())
}

impl Agent {
    /// Requests of the plan that were sent.
    pub(super) fn originals(&self) -> u32 {
        self.originals
    }

    /// Whether a redirect waits to be followed.
    pub(super) fn has_next(&self) -> bool {
        !self.next.is_empty()
    }

    /// The next request after a redirect.
    pub(super) fn take_next(&mut self) -> Option<Trip> {
        self.next.pop_front()
    }

    /// Request `number` is sent.
    pub(super) fn sent(&mut self, number: u32, trip: Trip, counts: &mut Counts) {
        if trip.hops == 0 {
            self.originals = self.originals.wrapping_add(1);
        } else {
            counts.redirects.followed += u64::from(!trip.is_repeat);
        }
        self.trips.insert(number, trip);
    }

    /// The server refused request `number`: one after a redirect is sent again here.
    pub(super) fn refused(&mut self, number: u32) -> Again {
        match self.trips.remove(&number) {
            Some(trip) if trip.hops > 0 => {
                self.next.push_front(Trip { is_repeat: true, ..trip });
                Again::Here
            }
            trip => Again::Elsewhere(trip.map_or(0, |trip| trip.entry)),
        }
    }

    /// All that was sent is to be sent again: the handshake began anew.
    pub(super) fn begin_anew(&mut self) {
        self.trips.clear();
        self.originals = 0;
    }

    /// Requests of the plan that are sent again, by any session.
    pub(super) fn take_back(&mut self, requests: u32) {
        self.originals = self.originals.wrapping_sub(requests);
    }

    /// The connection closed before the response to request `number` began, which is one after a redirect: it is sent once more if its
    /// method may be repeated (RFC 9110 section 9.2.2). Returns whether it will be.
    pub(super) fn closed_on(&mut self, number: u32) -> bool {
        let may = |trip: &Trip| trip.hops > 0 && !trip.is_repeat && trip.method.is_idempotent();
        let Some(trip) = self.trips.get(&number).filter(|trip| may(trip)) else { return false };
        let again = Trip { is_repeat: true, head: Vec::new(), answered: false, ..trip.clone() };
        self.next.push_front(again);
        true
    }

    /// State that goes along to another connection.
    fn successor(&mut self) -> Self {
        let (jar, next) = (std::mem::take(&mut self.jar), std::mem::take(&mut self.next));
        Self { jar, next, trips: BTreeMap::new(), originals: self.originals }
    }

    /// The session is over: redirects that wait are not followed. Returns how many.
    pub(crate) fn abandon(&mut self, counts: &mut Counts) -> u64 {
        let lost = std::mem::take(&mut self.next).len() as u64;
        counts.redirects.unfollowed(Unfollowed::Closed, lost);
        lost
    }
}

/// Number among the plan's requests of request `number` of a connection.
#[inline]
pub(super) fn original(settings: Option<&Settings>, extras: &Extras, flow: &Flow, number: u32) -> u32 {
    if settings.is_none() {
        return number;
    }
    find(extras, flow).and_then(|agent| agent.trips.get(&number)).map_or(number, |trip| trip.original)
}

/// Requests of the plan that a session has sent.
#[inline]
pub(super) fn originals(settings: Option<&Settings>, extras: &Extras, flow: &Flow) -> u32 {
    if settings.is_none() {
        return flow.sent;
    }
    find(extras, flow).map_or(0, Agent::originals)
}

/// Whether a redirect of a session waits to be followed.
#[inline]
pub(super) fn has_next(settings: Option<&Settings>, extras: &Extras, flow: &Flow) -> bool {
    settings.is_some() && find(extras, flow).is_some_and(Agent::has_next)
}

/// The connection takes no more requests, and a redirect waits: the session is to continue on another connection. `leaving` is the state
/// of the flow until then.
#[cold]
pub(super) fn depart(ctx: &mut Ctx<'_>, flow: &mut Flow, leaving: u8) {
    flow.state = leaving;
    ctx.ask.go_on = Some(ctx.common.carrier);
}

/// State that a session takes to another connection, from a flow that is left in the state `left`.
pub(super) fn leave(extras: &mut Extras, flow: &mut Flow, left: u8) -> Flow {
    let mut next = flow.successor();
    next.step = 0;
    next.set(Flag::ARRIVES);
    let carried = agent(extras, flow).successor();
    *agent(extras, &mut next) = carried;
    flow.state = left;
    flow.unset(Flag::Turn);
    flow.set(Flag::Done);
    flow.set(Flag::Closing);
    next
}

/// The connection takes no more requests: redirects that wait are not followed, and their requests count as failed. Returns whether the
/// session fails by it.
#[cold]
pub(super) fn abandon(ctx: &mut Ctx<'_>, flow: &mut Flow, errors_fail: bool) -> bool {
    let lost = agent(ctx.extras, flow).abandon(ctx.counts);
    if lost > 0 && !errors_fail {
        ctx.counts.error_responses += lost;
    }
    lost > 0 && errors_fail
}

#[cfg(test)]
mod tests;
