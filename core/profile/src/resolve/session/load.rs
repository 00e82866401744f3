//! When sessions are opened and closed.

use super::pool::Ends;
use crate::document::app::{AppDoc, AppWord};
use crate::document::pattern::ShapeDoc;
use crate::document::quantity::{DelayText, SessionRate};
use crate::document::session::{
    AtEndDoc, LateRequestsDoc, OpenCurveDoc, OpenDoc, OpenShape, RampDoc, SessionDoc,
};
use crate::document::session_text::OpenText;
use crate::resolve::Resolver;
use session::plan::{AtEnd, Delay, LoadPlan, OpenRate, RateCurve};
use units::{Nanos, Pps};

/// The curve of the whole run: how long it goes up and down.
struct Ramps {
    up: Nanos,
    down: Nanos,
}

impl Resolver<'_> {
    pub(super) fn session_load(
        &mut self,
        path: &str,
        doc: &SessionDoc,
        ends: Ends,
        duration: Nanos,
    ) -> LoadPlan {
        if ends.client.is_none() {
            self.refuse_clients_load(path, doc);
            return LoadPlan { at_end: at_end(doc.at_end), ..LoadPlan::at(OpenRate::Max) };
        }
        let start_delay = doc.start_delay.0;
        self.within_a_year(&format!("{path}.start_delay"), start_delay);
        let span = duration.since(start_delay);
        let open = self.open(path, doc, span);
        if doc.close.is_some() && doc.hold.is_none() && !self.reading.is_broken(&format!("{path}.hold")) {
            let reason = "closes sessions that have lasted 'hold': set 'hold'";
            self.reading.fail(format!("{path}.close"), reason);
        }
        let time = doc.time.as_ref().map(|time| time.0);
        if time == Some(Nanos::ZERO) {
            self.reading.fail(format!("{path}.for"), "must be longer than 0");
        }
        if doc.bytes.as_ref().is_some_and(|bytes| bytes.0 == 0) {
            self.reading.fail(format!("{path}.bytes"), "must be at least 1B");
        }
        self.check_requests(path, doc);
        LoadPlan {
            open,
            concurrent: doc.concurrent.map(|concurrent| self.multiplied(concurrent).max(1)),
            start_delay,
            count: doc.count,
            bytes: doc.bytes.as_ref().map(|bytes| bytes.0),
            time,
            up: doc.hold.as_ref().map(|hold| self.delay(&format!("{path}.hold"), Some(hold))),
            down: self.delay(&format!("{path}.idle"), doc.idle.as_ref()),
            close_rate: doc.close.as_ref().map(|rate| self.session_rate(&format!("{path}.close"), rate)),
            request_rate: doc
                .request_rate
                .as_ref()
                .map(|rate| self.session_rate(&format!("{path}.request_rate"), rate)),
            late: doc.late_requests == LateRequestsDoc::Send,
            request_count: doc.request_count,
            at_end: at_end(doc.at_end),
        }
    }

    /// Keys about requests that only some applications have.
    fn check_requests(&mut self, path: &str, doc: &SessionDoc) {
        let has_requests = match &doc.app {
            AppDoc::Word(word) => matches!(word, AppWord::Http | AppWord::Websocket | AppWord::Grpc),
            AppDoc::Full(keys) => keys.http.is_some() || keys.websocket.is_some() || keys.grpc.is_some(),
        };
        let late = doc.late_requests == LateRequestsDoc::Send;
        for (key, _) in [("late_requests", late), ("request_count", doc.request_count.is_some())]
            .into_iter()
            .filter(|(_, given)| *given && !has_requests)
        {
            self.reading
                .fail(format!("{path}.{key}"), "applies to the applications http, websocket and grpc only");
        }
        if late && doc.request_rate.is_none() && !self.reading.is_broken(&format!("{path}.request_rate")) {
            let reason = "requests are late where they are due at a rate: set 'request_rate'";
            self.reading.fail(format!("{path}.late_requests"), reason);
        }
    }

    /// Refuses load keys of clients if the clients are external.
    fn refuse_clients_load(&mut self, path: &str, doc: &SessionDoc) {
        let given = [
            ("open", doc.open.is_some()),
            ("close", doc.close.is_some()),
            ("request_rate", doc.request_rate.is_some()),
            ("late_requests", doc.late_requests != LateRequestsDoc::Skip),
            ("request_count", doc.request_count.is_some()),
            ("concurrent", doc.concurrent.is_some()),
            ("count", doc.count.is_some()),
            ("bytes", doc.bytes.is_some()),
            ("for", doc.time.is_some()),
            ("hold", doc.hold.is_some()),
            ("idle", doc.idle.is_some()),
        ];
        for (key, _) in given.iter().filter(|(_, given)| *given) {
            let reason = "applies to emulated clients only: 'client' has no 'port'";
            self.reading.fail(format!("{path}.{key}"), reason);
        }
    }

    /// Rate at which sessions are opened, in `span` of time.
    fn open(&mut self, path: &str, doc: &SessionDoc, span: Nanos) -> OpenRate {
        let open_path = format!("{path}.open");
        if self.reading.is_broken(&open_path) {
            return OpenRate::Max;
        }
        let ramps = self.ramps(span);
        match &doc.open {
            None => {
                if doc.concurrent.is_none() {
                    let reason =
                        "no rate of opening sessions: set 'open', such as 1000/s or max, or 'concurrent'";
                    self.reading.fail(path, reason);
                }
                self.without_ramp(&doc.name.0);
                OpenRate::Max
            }
            Some(OpenDoc::Rate(text)) => match text.0 {
                OpenText::Max => {
                    self.without_ramp(&doc.name.0);
                    OpenRate::Max
                }
                OpenText::Rate(rate) => {
                    let rate = self.session_rate(&open_path, &SessionRate(rate));
                    match ramps {
                        None => OpenRate::Constant(rate),
                        Some(Ramps { up, down }) => OpenRate::Curve(RateCurve::ramp(
                            rate,
                            up,
                            span.since(up.saturating_add(down)),
                            down,
                        )),
                    }
                }
            },
            Some(OpenDoc::Shape(OpenShape::Ramp(ramp))) => self.ramp(&open_path, ramp, span),
            Some(OpenDoc::Shape(OpenShape::Curve(curve))) => self.open_curve(&open_path, curve),
        }
    }

    /// The run's own ramps; `None` if there are none.
    fn ramps(&mut self, span: Nanos) -> Option<Ramps> {
        let load = &self.document.load;
        let (up, down) = (load.ramp_up.0, load.ramp_down.0);
        if up == Nanos::ZERO && down == Nanos::ZERO {
            return None;
        }
        // A run that the command line makes shorter is a look at the beginning.
        if up.saturating_add(down) > span && self.overrides.duration.is_none() {
            let key = if up > Nanos::ZERO { "ramp_up" } else { "ramp_down" };
            let path = format!("load.{key}");
            if !self.reading.is_broken(&path) {
                let reason =
                    format!("{up} up and {down} down are longer than sessions are opened, which is {span}");
                self.reading.fail(path, reason);
            }
            return None;
        }
        Some(Ramps { up, down })
    }

    /// An entry that the run's ramps can't hold for.
    fn without_ramp(&mut self, name: &str) {
        let load = &self.document.load;
        if load.ramp_up.0 > Nanos::ZERO || load.ramp_down.0 > Nanos::ZERO {
            self.warnings.push(format!(
                "sessions '{name}' are opened as fast as can be; 'ramp_up' and 'ramp_down' change only rates"
            ));
        }
    }

    fn ramp(&mut self, path: &str, ramp: &RampDoc, span: Nanos) -> OpenRate {
        let path = format!("{path}.ramp");
        let rate = self.session_rate(&format!("{path}.rate"), &ramp.rate);
        let (up, down) = (ramp.up.0, ramp.down.0);
        let hold = ramp.hold.as_ref().map(|hold| hold.0);
        for (key, time) in [("up", up), ("hold", hold.unwrap_or_default()), ("down", down)] {
            self.within_a_year(&format!("{path}.{key}"), time);
        }
        if hold.is_none() && up.saturating_add(down) > span && self.overrides.duration.is_none() {
            let reason =
                format!("{up} up and {down} down are longer than sessions are opened, which is {span}");
            self.reading.fail(path, reason);
            return OpenRate::Max;
        }
        let hold = hold.unwrap_or_else(|| span.since(up.saturating_add(down)));
        OpenRate::Curve(RateCurve::ramp(rate, up, hold, down))
    }

    fn open_curve(&mut self, path: &str, curve: &OpenCurveDoc) -> OpenRate {
        let path = format!("{path}.curve.points");
        let mut points: Vec<(Nanos, Pps)> = Vec::new();
        for (index, point) in curve.points.iter().enumerate() {
            let (at, rate) = (point.at.0, self.multiplied_rate(point.rate.0));
            self.within_a_year(&format!("{path}[{index}].at"), at);
            match points.last() {
                Some((before, _)) if at <= *before => {
                    let reason = format!("must be later than the previous point at {before}");
                    self.reading.fail(format!("{path}[{index}].at"), reason);
                }
                Some((_, before)) if curve.shape == ShapeDoc::Steps => points.push((at, *before)),
                _ => {}
            }
            points.push((at, rate));
        }
        if points.iter().all(|(_, rate)| *rate == Pps::ZERO) {
            self.reading.fail(path, "all rates are 0; set at least one above 0");
        }
        OpenRate::Curve(RateCurve { points })
    }

    /// A rate above zero, multiplied.
    fn session_rate(&mut self, path: &str, rate: &SessionRate) -> Pps {
        if rate.0 == Pps::ZERO {
            self.reading.fail(path, "must be above 0; remove it or set a rate");
        }
        self.multiplied_rate(rate.0)
    }

    fn multiplied_rate(&self, rate: Pps) -> Pps {
        Pps::from_micro(self.multiplied(rate.micro()))
    }

    /// `number` times the factor of the whole load.
    fn multiplied(&self, number: u64) -> u64 {
        let millionths = u128::from(number) * u128::from(self.document.load.multiply.0);
        u64::try_from(millionths / 1_000_000).unwrap_or(u64::MAX)
    }

    /// A time, or any of a range; none at all if nothing is given.
    pub(super) fn delay(&mut self, path: &str, text: Option<&DelayText>) -> Delay {
        let Some(DelayText((from, to))) = text else { return Delay::NONE };
        self.within_a_year(path, *to);
        if from == to {
            return Delay::Constant(*from);
        }
        Delay::Uniform { from: *from, to: *to, seed: self.seed_of(path, "delay") }
    }
}

fn at_end(doc: AtEndDoc) -> AtEnd {
    match doc {
        AtEndDoc::Close => AtEnd::Close,
        AtEndDoc::Reset => AtEnd::Reset,
    }
}
