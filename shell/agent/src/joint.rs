//! A command to several agents, with one reply.
//!
//! Invariants: the reply does not depend on which agent was first. One to a command with an instant comes after that, unless it is an error.

use crate::control::Control;
use engine::{Command, CommandError, PendingReply, Promise, Reply};
use result::Named;
use units::Nanos;

/// A command to several agents.
pub(crate) struct Joint {
    promise: Option<Promise>,
    /// Replies that have not come, in the order of the parts.
    awaited: Vec<Option<PendingReply>>,
    /// The others, at their places.
    replies: Vec<Option<Result<Reply, CommandError>>>,
    /// Whether it succeeds if one agent carries it out.
    any: bool,
    /// When it takes effect, as time since the start.
    until: Option<Nanos>,
    /// Most protocol states of each kind in the reply.
    limit: usize,
}

impl Joint {
    /// Sends a command to all of these. `any`: whether it succeeds if one carries it out. `until`: since the start, when it takes effect.
    pub(crate) fn send<'a>(
        command: &Command,
        controls: impl Iterator<Item = &'a Control>,
        any: bool,
        until: Option<Nanos>,
        promise: Promise,
    ) -> Self {
        let awaited: Vec<_> = controls.map(|control| Some(control.request(command.clone()))).collect();
        let limit = if let Command::AskProtocols { limit, .. } = command { *limit } else { usize::MAX };
        let replies = awaited.iter().map(|_| None).collect();
        Self { promise: Some(promise), awaited, replies, any, until, limit }
    }

    /// Polls the replies; keeps the promise once all have come and the command has taken effect, and returns whether that is so.
    /// `ports`: all of the run, in their order. `now`: since the start.
    pub(crate) fn poll<T>(&mut self, ports: &Named<T>, now: Nanos) -> bool {
        for (awaited, reply) in self.awaited.iter_mut().zip(&mut self.replies) {
            *reply = reply.take().or_else(|| awaited.as_ref()?.poll());
            awaited.take_if(|_| reply.is_some());
        }
        if self.awaited.iter().any(Option::is_some) {
            return false;
        }
        let is_due = self.until.is_none_or(|until| now >= until);
        // Figures are set to zero on all machines or not at all; rates change on those that are there.
        let leaves = self.until.is_some();
        if !is_due && joined(self.replies.iter().flatten().cloned().collect(), self.any, leaves).is_ok() {
            return false;
        }
        if let Some(promise) = self.promise.take() {
            let mut reply = joined(self.replies.drain(..).flatten().collect(), self.any, leaves);
            if let Ok(Reply::Protocols(states)) = &mut reply {
                let ports: Vec<&str> = ports.keys().map(String::as_str).collect();
                states.arrange(&ports, self.limit);
            }
            promise.keep(reply);
        }
        true
    }
}

/// One reply from several. `any`: whether one that is carried out is enough. `leaves`: whether a part that has ended, or was lost, leaves it
/// to the others.
fn joined(replies: Vec<Result<Reply, CommandError>>, any: bool, leaves: bool) -> Result<Reply, CommandError> {
    let (done, failed): (Vec<_>, Vec<_>) = replies.into_iter().partition(Result::is_ok);
    let is_left = |error: &CommandError| leaves && *error == CommandError::Ended;
    let is_reason = |error: &CommandError| done.is_empty() || !any && !is_left(error);
    if let Some(error) = failed.into_iter().filter_map(Result::err).find(is_reason) {
        return Err(error);
    }
    let sum = done.into_iter().flatten().reduce(|sum, reply| match (sum, reply) {
        (Reply::Changed(sum), Reply::Changed(n)) => Reply::Changed(sum + n),
        (Reply::Protocols(sum), Reply::Protocols(own)) => {
            let mut sum = (*sum).clone();
            sum.add((*own).clone());
            Reply::Protocols(Box::new(sum))
        }
        (sum, _) => sum,
    });
    sum.ok_or(CommandError::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::promise;
    use result::{BgpPeerState, ProtocolStates};

    #[test]
    fn one_reply_is_made_of_several() {
        let refused = || Err(CommandError::Refused("no such stream".to_owned()));
        assert_eq!(joined(vec![Ok(Reply::Done), Ok(Reply::Done)], false, true), Ok(Reply::Done));
        assert_eq!(joined(vec![Ok(Reply::Done), refused()], false, true), refused());
        assert_eq!(
            joined(vec![Ok(Reply::Changed(2)), refused(), Ok(Reply::Changed(3))], true, true),
            Ok(Reply::Changed(5))
        );
        assert_eq!(joined(vec![refused(), refused()], true, true), refused());
        assert_eq!(joined(Vec::new(), false, true), Err(CommandError::Ended));
        let ended = || Err(CommandError::Ended);
        assert_eq!(joined(vec![ended(), Ok(Reply::Done)], false, true), Ok(Reply::Done), "one is lost");
        assert_eq!(joined(vec![ended(), Ok(Reply::Done)], false, false), ended(), "its figures are not zero");
        assert_eq!(joined(vec![ended(), refused(), Ok(Reply::Done)], false, true), refused());
        assert_eq!(joined(vec![ended(), ended()], false, true), ended());
    }

    #[test]
    fn a_success_is_reported_once_it_is_one() {
        let until = Nanos::from_millis(300);
        let joint = |replies: [Result<Reply, CommandError>; 2]| {
            let (kept, reply) = promise();
            let replies: Vec<_> = replies.into_iter().map(Some).collect();
            let (awaited, until) = (vec![None, None], Some(until));
            (Joint { promise: Some(kept), awaited, replies, any: false, until, limit: 0 }, reply)
        };
        let ports = Named::<usize>::default();
        let (mut changed, reply) = joint([Ok(Reply::Done), Ok(Reply::Done)]);
        assert!(!changed.poll(&ports, Nanos::from_millis(299)));
        assert_eq!(reply.poll(), None);
        assert!(changed.poll(&ports, until));
        assert_eq!(reply.poll(), Some(Ok(Reply::Done)));
        let error = Err(CommandError::Refused("no such stream".to_owned()));
        let (mut refused, reply) = joint([Ok(Reply::Done), error.clone()]);
        assert!(refused.poll(&ports, Nanos::ZERO), "errors don't wait");
        assert_eq!(reply.poll(), Some(error));
    }

    #[test]
    fn states_are_in_the_order_of_ports_whoever_replies_first() {
        let states = |ports: &[&str]| {
            let peer = |port: &&str| BgpPeerState { port: (*port).to_owned(), ..BgpPeerState::default() };
            let mut states =
                ProtocolStates { bgp: ports.iter().map(peer).collect(), ..ProtocolStates::default() };
            states.counts.bgp_peers = ports.len() as u64;
            Ok(Reply::Protocols(Box::new(states)))
        };
        let listed = |limit, backwards| {
            let (promises, awaited): (Vec<_>, Vec<_>) = (0..2).map(|_| promise()).unzip();
            let (kept, reply) = promise();
            let awaited = awaited.into_iter().map(Some).collect();
            let mut joint = Joint {
                promise: Some(kept),
                awaited,
                replies: vec![None, None],
                any: true,
                until: None,
                limit,
            };
            let ports: Named<usize> =
                ["p0", "p1", "p2", "p3"].map(str::to_owned).into_iter().zip(0..).collect();
            let mut promises: Vec<_> = promises.into_iter().zip([["p0", "p3"], ["p1", "p2"]]).collect();
            if backwards {
                promises.reverse();
            }
            for (promise, own) in promises {
                assert!(!joint.poll(&ports, Nanos::ZERO));
                promise.keep(states(&own));
            }
            assert!(joint.poll(&ports, Nanos::ZERO));
            let Ok(Reply::Protocols(states)) = reply.wait() else { panic!() };
            let ports = states.bgp.iter().map(|peer| peer.port.clone()).collect::<Vec<_>>().join(" ");
            (ports, states.counts.bgp_peers)
        };
        for backwards in [false, true] {
            assert_eq!(listed(usize::MAX, backwards), ("p0 p1 p2 p3".to_owned(), 4));
            assert_eq!(listed(3, backwards), ("p0 p1 p2".to_owned(), 4));
        }
    }
}
