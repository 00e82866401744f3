//! Flapping of routes.

use super::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Routes that flap, from 'advertise' until 'withdraw'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpFlap")]
pub struct FlapDoc {
    /// Time from one withdrawal to the next, and from the advertisement to the first withdrawal.
    pub every: Duration,
    /// Time from a withdrawal until the routes are advertised again.
    pub down: Duration,
}
