//! The list of methods.
//!
//! A method is a file: settings, trials, rows, findings, names. A new one is that file and a line in `methods!`.

use crate::finding::{Finding, GoalMeaning};
use crate::method::Method;
use crate::rates::{KnownRate, RateSource};
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

macro_rules! methods {
    ($($about:literal $module:ident::$method:ident($config:ident, $row:ident);)*) => {
        $(pub use crate::$module::{$config, $row};)*

        /// A method with its settings.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum MethodConfig {
            $(#[doc = $about] $method($config),)*
        }

        /// Findings by method: a row for each frame length, mix, application or goal.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case", tag = "type", content = "rows")]
        pub enum Findings {
            $(#[doc = $about] $method(Vec<$row>),)*
        }

        /// Names of the methods.
        const ABOUT: &[About] = &[$($config::ABOUT),*];

        impl MethodConfig {
            /// Every method with its default settings.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$method($config::default())),*]
            }

            /// The findings of a method that has none.
            pub fn no_findings(&self) -> Findings {
                match self {
                    $(Self::$method(_) => Findings::$method(Vec::new()),)*
                }
            }

            /// Its names and descriptions for reports.
            pub fn about(&self) -> &'static About {
                match self {
                    $(Self::$method(_) => &$config::ABOUT,)*
                }
            }

            fn settings(&self) -> &dyn Settings {
                match self {
                    $(Self::$method(config) => config,)*
                }
            }

            fn settings_mut(&mut self) -> &mut dyn Settings {
                match self {
                    $(Self::$method(config) => config,)*
                }
            }
        }

        impl Findings {
            /// The rows as values.
            ///
            /// # Errors
            /// A row can't be written as JSON.
            pub fn values(&self) -> Result<Vec<Finding>, serde_json::Error> {
                match self {
                    $(Self::$method(rows) => values_of(rows),)*
                }
            }

            fn rows(&self) -> Vec<&dyn Row> {
                match self {
                    $(Self::$method(rows) => rows.iter().map(|row| row as &dyn Row).collect(),)*
                }
            }
        }
    };
}

methods! {
    "MLRsearch (RFC 9971)." mlr::Mlr(MlrConfig, MlrRow);
    "RFC 2544 section 26.1." throughput::Throughput(ThroughputConfig, ThroughputRow);
    "RFC 2544 section 26.2." latency::Latency(LatencyConfig, LatencyRow);
    "RFC 2544 section 26.3." loss::FrameLoss(LossConfig, LossRow);
    "RFC 9004." back_to_back::BackToBack(BackToBackConfig, BackToBackRow);
    "RFC 2544 section 26.5." recovery::Recovery(RecoveryConfig, RecoveryRow);
    "RFC 6201." reset::Reset(ResetConfig, ResetRow);
    "RFC 7747." convergence::Convergence(ConvergenceConfig, ConvergenceRow);
    "Forwarding rate at full load." mrr::Mrr(MrrConfig, MrrRow);
    "Loss and latency over load." sweep::Sweep(SweepConfig, SweepRow);
    "A load held for long." soak::Soak(SoakConfig, SoakRow);
    "RFC 2889 sections 5.7 and 5.8." addresses::Addresses(AddressConfig, AddressRow);
    "RFC 2889 sections 5.1 to 5.6, 5.9 and 5.10, RFC 8239 sections 3 to 6." switch::Switch(SwitchConfig, SwitchRow);
    "RFC 3918." multicast::Multicast(MulticastConfig, MulticastRow);
    "DHCP set-up rate." leases::Leases(LeaseConfig, LeaseRow);
    "Route capacity." routes::Routes(RouteConfig, RouteRow);
    "Load balancers." balancer::Balancer(BalancerConfig, BalancerRow);
    "RFC 9693." natxy::Nat(NatConfig, NatRow);
    "ITU-T Y.1564." y1564::ServiceActivation(ServiceConfig, ServiceRow);
    "RFC 7640 sections 6.1 to 6.3." traffic::Traffic(TrafficConfig, TrafficRow);
    "The tester alone." self_test::SelfTest(SelfTestConfig, SelfTestRow);
    "RFC 9411 sections 7.2, 7.3 and 7.5, and a load of sessions in steps." sessions::Sessions(SessionConfig, SessionRow);
    "RFC 9411 section 7.1: a mix of applications." mix::Mix(MixConfig, MixRow);
    "RFC 9411 section 7.4." session_latency::SessionLatency(SessionLatencyConfig, SessionLatencyRow);
    "RFC 6349." tcp::Tcp(TcpConfig, TcpRow);
}

impl MethodConfig {
    /// Whether the method can run on `testbed`.
    ///
    /// # Errors
    /// The first setting that makes no sense.
    pub fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        testbed.check()?;
        self.settings().check(testbed)
    }

    /// The method, at its beginning.
    ///
    /// # Errors
    /// As for [`MethodConfig::check`].
    pub fn build(&self, testbed: &Testbed) -> Result<Box<dyn Method>, ConfigError> {
        self.check(testbed)?;
        Ok(self.settings().start(testbed))
    }

    /// Minutes instead of hours: short trials, few repeats. Results note where that is less than an RFC requires.
    pub fn quicken(&mut self) {
        self.settings_mut().quicken();
    }

    /// Changes the length of every trial that counts.
    pub fn set_trial(&mut self, trial: Nanos) {
        self.settings_mut().set_trial(trial);
    }

    /// The frames it sends; empty if it uses the profile's.
    pub fn sizes(&self) -> Vec<Frames> {
        self.settings().sizes()
    }

    /// Changes the frames, if they can be chosen.
    pub fn set_sizes(&mut self, sizes: &[Frames]) {
        self.settings_mut().set_sizes(sizes);
    }

    /// Whether it begins at a rate that another method can find.
    pub fn takes_rates(&self) -> bool {
        self.clone().settings_mut().rates().is_some()
    }

    /// Gives it the rates to begin at, if it takes some.
    pub fn set_rates(&mut self, known: Vec<KnownRate>) {
        if let Some(rates) = self.settings_mut().rates() {
            *rates = RateSource::Known(known);
        }
    }

    /// Requirements besides streams or sessions.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.settings().requirements()
    }

    /// A method that usually runs after it, at the rates it found.
    pub fn followed_by(&self) -> Option<Self> {
        self.settings().followed_by()
    }
}

impl Findings {
    /// The rate found at each frame length, for methods that begin at one.
    pub fn known_rates(&self) -> Vec<KnownRate> {
        let found = self.rows().into_iter().filter_map(Row::known_rate);
        found.filter(|known| known.rate.micro() > 0).collect()
    }

    /// Whether a result is missing because trials can't be judged: the tester was disturbed.
    pub fn is_unjudged(&self) -> bool {
        self.rows().iter().any(|row| row.is_unjudged())
    }

    /// Whether nothing was found: no row has a value, and the DUT failed at nothing.
    pub fn nothing_found(&self) -> bool {
        let has_value = |row: &&dyn Row| row.findings().iter().any(|finding| finding.value.is_some());
        !self.has_failed() && !self.rows().iter().any(has_value)
    }

    /// Whether the DUT failed: at the smallest value of a search, or what was agreed of a service.
    pub fn has_failed(&self) -> bool {
        self.rows().iter().any(|row| row.has_failed())
    }

    /// Result of each row, with its values.
    pub fn answers(&self) -> Vec<(RowAnswer, Vec<Finding>)> {
        self.rows().into_iter().map(|row| (answer(row), row.findings())).collect()
    }
}

/// Result of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAnswer {
    /// It has a value.
    Found,
    /// The DUT failed.
    Failed,
    /// It has no value, because the DUT is better than all that can be measured so.
    NotNeeded,
    /// It has no value.
    Nothing,
    /// It has no value, because the tester was disturbed or the limit.
    CannotJudge,
}

fn answer(row: &dyn Row) -> RowAnswer {
    let limits = row.limits();
    match row.findings().iter().any(|finding| finding.value.is_some()) {
        _ if row.has_failed() => RowAnswer::Failed,
        true => RowAnswer::Found,
        false if row.needs_none() => RowAnswer::NotNeeded,
        false if limits.iter().any(|limit| limit.is_testers()) => RowAnswer::CannotJudge,
        false => RowAnswer::Nothing,
    }
}

/// Each row as values, with the row in full.
fn values_of<R: Row + Serialize>(rows: &[R]) -> Result<Vec<Finding>, serde_json::Error> {
    let mut all = Vec::new();
    for row in rows {
        let document = serde_json::to_value(row)?;
        let full = |finding: Finding| match finding.document.is_null() {
            true => Finding { document: document.clone(), ..finding },
            false => finding,
        };
        all.extend(row.findings().into_iter().map(full));
    }
    Ok(all)
}

/// Whether the trials of a method, by its name in results, are points of curves over the offered load.
pub fn makes_curves(result_name: &str) -> bool {
    let named = |about: &&About| about.result_names.contains(&result_name);
    ABOUT.iter().find(named).is_none_or(|about| about.makes_curves)
}

/// Meaning of a goal in the methods' files: `latency_mean at 50%` is a `latency_mean`, `pdr 0.5%` a `pdr`.
pub fn meaning(goal: &str) -> Option<GoalMeaning> {
    let goal = goal.split(' ').next().unwrap_or(goal);
    let same = |meaning: &&GoalMeaning| meaning.goal.eq_ignore_ascii_case(goal);
    ABOUT.iter().flat_map(|about| about.goals).find(same).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_method_says_what_it_is() {
        let testbed = Testbed::both_ways(10_000_000_000);
        let (mut names, mut goals) = (BTreeSet::new(), BTreeSet::new());
        for config in MethodConfig::all() {
            let about = config.about();
            assert!(names.insert(about.name), "two methods are called {}", about.name);
            assert!(!about.about.is_empty() && !about.about.ends_with('.'), "{}", about.name);
            let method = config.build(&testbed).unwrap();
            assert!(
                about.result_names.contains(&method.name()),
                "{} is not in the file's names",
                method.name()
            );
            for goal in about.goals {
                assert!(goals.insert(goal.goal), "two methods explain {}", goal.goal);
            }
        }
    }

    #[test]
    fn every_method_has_a_quick_form_and_takes_another_trial_length() {
        let testbed = Testbed::both_ways(10_000_000_000);
        for config in MethodConfig::all() {
            let name = config.about().name;
            let mut quick = config.clone();
            quick.quicken();
            assert_ne!(quick, config, "{name}");
            let wall = |config: &MethodConfig| config.build(&testbed).unwrap().estimate().wall_s;
            assert!(wall(&quick) < wall(&config), "{name}: {} s", wall(&quick));
            let mut longer = config.clone();
            longer.set_trial(Nanos::from_secs(7));
            assert_ne!(longer, config, "{name}");
            longer.check(&testbed).unwrap();
        }
    }

    #[test]
    fn methods_that_take_rates_send_at_them() {
        let testbed = Testbed::one_way(10_000_000_000);
        for mut config in MethodConfig::all() {
            if config.takes_rates() {
                let frames = Frames::bytes(512).unwrap();
                config.set_rates(vec![KnownRate {
                    frames: frames.clone(),
                    rate: units::Pps::new(1_000),
                    limit: None,
                }]);
                assert_eq!(config.sizes(), Vec::new(), "known rates leave no size to choose");
                config.check(&testbed).unwrap();
            }
        }
    }

    #[test]
    fn only_loads_make_curves() {
        assert!(makes_curves("rfc2544-frame-loss") && makes_curves("of another version"));
        assert!(!makes_curves("rfc9004-back-to-back"));
    }

    #[test]
    fn goals_have_meanings_whatever_they_were_measured_at() {
        assert_eq!(meaning("pdr 0.5%").map(|meaning| meaning.name), Some("Partial drop rate"));
        assert_eq!(meaning("NDR").map(|meaning| meaning.goal), Some("ndr"));
        assert_eq!(meaning("some_thing"), None);
    }
}
