//! The catalogue: every number of a document by its path, with unit, presence and meaning, and how to read it.
//!
//! Invariant: a path of the catalogue with names for its keys, and the value in the serialized document, are the same.

use indexmap::IndexMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Values by name, in the order of the profile.
pub type Named<T> = IndexMap<String, T>;

/// Counters by name. One that is zero may be absent.
pub type Counters = BTreeMap<String, u64>;

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes; of frames, with FCS.
    Bytes,
    /// A share, 0 to 1.
    Ratio,
    /// Parts per million.
    Ppm,
    /// Yes (1) or no (0).
    Flag,
    /// Nanoseconds.
    Nanos,
    /// Seconds.
    Seconds,
    /// Ticks per second.
    Hertz,
    /// Packets per second.
    PacketRate,
    /// Bits per second.
    BitRate,
    /// Sessions or transactions per second.
    SessionRate,
}

/// When a number is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// In every document that has the part it belongs to.
    Always,
    /// If there was something to measure.
    Optional,
    /// For streams whose packets have a signature.
    Measured,
    /// For sessions whose clients run here.
    Clients,
    /// For sessions whose servers run here.
    Servers,
    /// Once criteria are judged.
    Judged,
}

/// A series that monitoring systems see: of a running trial, for each name, as `/metrics` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// Its name without prefix and `_total`: what it is of, what is counted, the base unit (`stream_tx_packets`).
    pub name: &'static str,
    /// Whether it only grows.
    pub grows: bool,
}

/// Meaning of a map's keys or a list's indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A port of the profile.
    Port,
    /// A stream of the profile.
    Stream,
    /// A group of the profile.
    Group,
    /// A row of a group.
    Row,
    /// An entry under `sessions` of the profile.
    Sessions,
    /// An application of a mix.
    App,
    /// A host that plays an end of sessions.
    Host,
    /// A phase of an entry's load.
    Phase,
    /// A value that packets arrived with.
    Egress,
    /// The path of a figure of the document.
    Figure,
    /// A place in a list, from 0.
    Index,
    /// Why a session failed.
    Failure,
    /// A detail of a failure.
    FailureDetail,
    /// A class of HTTP status.
    HttpClass,
    /// A DNS response code.
    DnsCode,
    /// A close code of WebSocket.
    CloseCode,
    /// A status of HTTP.
    HttpStatus,
    /// Why a redirect was not followed.
    Redirect,
    /// A status of gRPC.
    GrpcStatus,
    /// A counter of TCP.
    TcpCounter,
    /// A counter of frames.
    FrameCounter,
    /// A counter of a port's fragments or tunnels.
    PortCounter,
    /// Why a received frame does not count as it should.
    RxError,
    /// Why a frame was not sent.
    TxError,
    /// Kind of damage to a packet.
    Damage,
}

impl Key {
    /// As documentation writes it: `<stream>`.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Port => "<port>",
            Self::Stream => "<stream>",
            Self::Group => "<group>",
            Self::Row => "<row>",
            Self::Sessions => "<entry>",
            Self::App => "<application>",
            Self::Host => "<host>",
            Self::Phase => "<phase>",
            Self::Egress => "<value>",
            Self::Figure => "<figure>",
            Self::Index => "<n>",
            Self::Failure | Self::RxError | Self::TxError => "<reason>",
            Self::FailureDetail => "<detail>",
            Self::Damage => "<kind>",
            Self::HttpClass => "<class>",
            Self::DnsCode | Self::CloseCode => "<code>",
            Self::HttpStatus | Self::GrpcStatus => "<status>",
            Self::Redirect => "<reason>",
            Self::TcpCounter | Self::FrameCounter | Self::PortCounter => "<counter>",
        }
    }
}

/// A step of a field's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field's name.
    Name(&'static str),
    /// Any key of a map or place in a list.
    Key(Key),
}

/// A number of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Path from the document's root.
    pub segments: Vec<Segment>,
    /// Unit.
    pub unit: Unit,
    /// When it is present.
    pub presence: Presence,
    /// Description.
    pub about: &'static str,
    /// The series of monitoring it belongs to: its own or that of the part it is in, as a statistic of it.
    pub series: Option<Series>,
    /// Description of the part that has the series.
    pub series_about: &'static str,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name(name) => name,
            Self::Key(key) => key.placeholder(),
        })
    }
}

impl fmt::Display for Field {
    /// The path: `streams.<stream>.latency_ns.p99`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.below(0))
    }
}

impl Field {
    /// The path after its first `depth` steps: `latency_ns.p99`.
    pub fn below(&self, depth: usize) -> String {
        let steps: Vec<String> = self.segments.iter().skip(depth).map(Segment::to_string).collect();
        steps.join(".")
    }
}

/// A part of a document, with numbers at paths below it.
pub trait Numbers {
    /// Adds the numbers of this part, at path `at`, to `all`.
    fn list(at: Place<'_>, all: &mut Vec<Field>);

    /// The number at `path` below this part: `latency_ns.p99`. Counters that are absent are zero; a flag is 1 or 0.
    /// Names may have dots: the longest one that fits wins.
    fn number(&self, path: &str) -> Option<f64>;

    /// The counters by name at `path` below this part; `None` if other things or nothing are there.
    fn counters(&self, path: &str) -> Option<&Counters> {
        let _ = path;
        None
    }
}

/// The catalogue of a part of a document: every number it may have.
pub fn fields<T: Numbers>() -> Vec<Field> {
    let mut all = Vec::new();
    let root = Place {
        segments: &[],
        spec: &PART,
        presence: Presence::Always,
        about: "",
        series: None,
        series_about: "",
    };
    T::list(root, &mut all);
    all
}

/// Path of a part, and the attributes it inherits there.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    segments: &'a [Segment],
    spec: &'a Spec,
    presence: Presence,
    about: &'static str,
    series: Option<Series>,
    series_about: &'static str,
}

impl Place<'_> {
    /// The place of a field of this part.
    pub(crate) fn field(
        self,
        name: &'static str,
        spec: &Spec,
        about: &'static str,
        list: impl FnOnce(Place<'_>),
    ) {
        let mut segments = self.segments.to_vec();
        if !spec.flat {
            segments.push(Segment::Name(name));
        }
        // What is said of a part holds for all below it, unless they say something else.
        let presence = if spec.presence == Presence::Always { self.presence } else { spec.presence };
        let (series, series_about) = match spec.series {
            Some(series) => (Some(series), about),
            None => (self.series, self.series_about),
        };
        list(Place { segments: &segments, spec, presence, about, series, series_about });
    }

    fn optional(self) -> Self {
        let presence = if self.presence == Presence::Always { Presence::Optional } else { self.presence };
        Self { presence, ..self }
    }

    /// The place of the values of this map or list.
    fn values(self, list: impl FnOnce(Place<'_>)) {
        let (key, rest) =
            self.spec.keys.split_first().map_or((Key::Index, &[][..]), |(key, rest)| (*key, rest));
        let mut segments = self.segments.to_vec();
        segments.push(Segment::Key(key));
        let spec = Spec { keys: rest, ..*self.spec };
        list(Place { segments: &segments, spec: &spec, ..self });
    }

    fn number(self, all: &mut Vec<Field>) {
        let (segments, unit) = (self.segments.to_vec(), self.spec.unit);
        let Self { presence, about, series, series_about, .. } = self;
        all.push(Field { segments, unit, presence, about, series, series_about });
    }
}

/// Attributes of a field, as declared in its struct.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    unit: Unit,
    presence: Presence,
    keys: &'static [Key],
    pub(crate) flat: bool,
    series: Option<Series>,
}

const fn of(unit: Unit) -> Spec {
    Spec { unit, presence: Presence::Always, keys: &[], flat: false, series: None }
}

impl Spec {
    /// Of a map: what its keys are; of maps of maps, from outside to inside.
    pub(crate) const fn by(self, keys: &'static [Key]) -> Self {
        Self { keys, ..self }
    }

    /// Present for streams whose packets have a signature.
    pub(crate) const fn measured(self) -> Self {
        Self { presence: Presence::Measured, ..self }
    }

    /// Present for sessions whose clients run here.
    pub(crate) const fn clients(self) -> Self {
        Self { presence: Presence::Clients, ..self }
    }

    /// Present for sessions whose servers run here.
    pub(crate) const fn servers(self) -> Self {
        Self { presence: Presence::Servers, ..self }
    }

    /// Monitoring sees it as this series, which only grows. The series' labels are the keys on the way.
    pub(crate) const fn counter(self, name: &'static str) -> Self {
        Self { series: Some(Series { name, grows: true }), ..self }
    }

    /// Monitoring sees it as this series, which rises and falls. Of a part: its times, each a statistic.
    pub(crate) const fn gauge(self, name: &'static str) -> Self {
        Self { series: Some(Series { name, grows: false }), ..self }
    }

    /// Present once criteria are judged.
    pub(crate) const fn judged(self) -> Self {
        Self { presence: Presence::Judged, ..self }
    }
}

pub(crate) const COUNT: Spec = of(Unit::Count);
pub(crate) const BYTES: Spec = of(Unit::Bytes);
pub(crate) const RATIO: Spec = of(Unit::Ratio);
pub(crate) const PPM: Spec = of(Unit::Ppm);
pub(crate) const FLAG: Spec = of(Unit::Flag);
pub(crate) const NANOS: Spec = of(Unit::Nanos);
pub(crate) const SECONDS: Spec = of(Unit::Seconds);
pub(crate) const HERTZ: Spec = of(Unit::Hertz);
pub(crate) const PACKETS_PER_S: Spec = of(Unit::PacketRate);
pub(crate) const BITS_PER_S: Spec = of(Unit::BitRate);
pub(crate) const PER_S: Spec = of(Unit::SessionRate);
/// No number.
pub(crate) const TEXT: Spec = of(Unit::Count);
/// A part with its own numbers.
pub(crate) const PART: Spec = of(Unit::Count);
/// A part whose fields are flattened into its parent.
pub(crate) const FLAT: Spec = Spec { flat: true, ..PART };

macro_rules! plain_numbers {
    ($($type:ty),*) => {$(
        impl Numbers for $type {
            fn list(at: Place<'_>, all: &mut Vec<Field>) {
                at.number(all);
            }

            fn number(&self, path: &str) -> Option<f64> {
                path.is_empty().then_some(*self as f64)
            }
        }
    )*};
}

plain_numbers!(u64, i64, usize, f64);

impl Numbers for bool {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        at.number(all);
    }

    fn number(&self, path: &str) -> Option<f64> {
        path.is_empty().then_some(f64::from(*self))
    }
}

macro_rules! texts {
    ($($type:ty),*) => {$(
        impl Numbers for $type {
            fn list(_: Place<'_>, _: &mut Vec<Field>) {}

            fn number(&self, _: &str) -> Option<f64> {
                None
            }
        }
    )*};
}

texts!(String, Cow<'static, str>);

impl<T: Numbers> Numbers for Option<T> {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        T::list(at.optional(), all);
    }

    fn number(&self, path: &str) -> Option<f64> {
        self.as_ref()?.number(path)
    }

    fn counters(&self, path: &str) -> Option<&Counters> {
        self.as_ref()?.counters(path)
    }
}

impl<T: Numbers> Numbers for Box<T> {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        T::list(at, all);
    }

    fn number(&self, path: &str) -> Option<f64> {
        (**self).number(path)
    }

    fn counters(&self, path: &str) -> Option<&Counters> {
        (**self).counters(path)
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        at.values(|at| T::list(at, all));
    }

    fn number(&self, path: &str) -> Option<f64> {
        let (index, rest) = split(path);
        self.get(index.parse::<usize>().ok()?)?.number(rest)
    }
}

impl<T: Numbers> Numbers for Named<T> {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        at.values(|at| T::list(at, all));
    }

    fn number(&self, path: &str) -> Option<f64> {
        let dots = path.rmatch_indices('.').map(|(at, _)| (&path[..at], &path[at + 1..]));
        let mut splits = std::iter::once((path, "")).chain(dots);
        splits.find_map(|(name, rest)| self.get(name)?.number(rest))
    }
}

impl Numbers for Counters {
    fn list(at: Place<'_>, all: &mut Vec<Field>) {
        at.values(|at| at.number(all));
    }

    fn number(&self, path: &str) -> Option<f64> {
        (!path.is_empty()).then(|| self.get(path).copied().unwrap_or(0) as f64)
    }

    fn counters(&self, path: &str) -> Option<&Counters> {
        path.is_empty().then_some(self)
    }
}

/// The first name of a path, and what follows it.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}

/// Defines a part of a document: `name: Type = SPEC;`. Fields are public; a description is the field's doc comment.
macro_rules! part {
    (
        $(#[$meta:meta])*
        pub struct $part:ident {
            $($(#[doc = $about:literal])* $(#[serde($($serde:tt)*)])* $field:ident: $type:ty = $spec:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default)]
        pub struct $part {
            $($(#[doc = $about])* $(#[serde($($serde)*)])* pub $field: $type,)*
        }

        impl $crate::Numbers for $part {
            fn list(at: $crate::numbers::Place<'_>, all: &mut Vec<$crate::Field>) {
                #[allow(unused_imports, reason = "not every part has all units")]
                use $crate::numbers::*;
                $(at.field(stringify!($field), &$spec, concat!($($about),*), |at| <$type>::list(at, all));)*
            }

            fn number(&self, path: &str) -> Option<f64> {
                #[allow(unused_imports, reason = "not every part has all units")]
                use $crate::numbers::*;
                let (name, rest) = split(path);
                $(
                    if const { $spec.flat } {
                        if let Some(number) = self.$field.number(path) {
                            return Some(number);
                        }
                    } else if name == stringify!($field) {
                        return self.$field.number(rest);
                    }
                )*
                None
            }

            fn counters(&self, path: &str) -> Option<&$crate::Counters> {
                #[allow(unused_imports, reason = "not every part has all units")]
                use $crate::numbers::*;
                let (name, rest) = split(path);
                $(
                    if const { $spec.flat } {
                        if let Some(counters) = self.$field.counters(path) {
                            return Some(counters);
                        }
                    } else if name == stringify!($field) {
                        return self.$field.counters(rest);
                    }
                )*
                None
            }
        }
    };
}

#[cfg(test)]
mod tests {
    #![allow(unreachable_pub, reason = "the macro makes public parts")]

    use super::*;

    part! {
        /// A row with a field that no other has.
        pub struct NewRow {
            /// Frames with a new fault.
            #[serde(skip_serializing_if = "Option::is_none")]
            new_faults: Option<u64> = COUNT.measured().counter("stream_new_faults_packets");
        }
    }

    part! {
        /// A document with such rows.
        pub struct NewDocument {
            /// Rows by name.
            rows: Named<NewRow> = PART.by(&[Key::Stream]);
        }
    }

    #[test]
    fn a_field_is_defined_in_one_place() {
        let all = fields::<NewDocument>();
        assert_eq!(all.len(), 1);
        let field = &all[0];
        assert_eq!(
            (field.to_string().as_str(), field.about.trim()),
            ("rows.<stream>.new_faults", "Frames with a new fault.")
        );
        assert_eq!((field.unit, field.presence), (Unit::Count, Presence::Measured));
        assert_eq!(field.series, Some(Series { name: "stream_new_faults_packets", grows: true }));
        let document: NewDocument =
            serde_json::from_str(r#"{"rows": {"a": {"new_faults": 3}, "old": {}}}"#).unwrap();
        assert_eq!(
            (document.number("rows.a.new_faults"), document.number("rows.old.new_faults")),
            (Some(3.0), None)
        );
        assert_eq!(serde_json::to_string(&document).unwrap(), r#"{"rows":{"a":{"new_faults":3},"old":{}}}"#);
        let schema = crate::schema_of::<NewDocument>();
        let about = &schema["$defs"]["NewRow"]["properties"]["new_faults"]["description"];
        assert_eq!(about, "Frames with a new fault.");
    }
}
