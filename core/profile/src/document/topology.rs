//! Shapes of generated topologies, as routers of link-state protocols have them behind them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A grid of routers, 10,000 at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TopologyGrid")]
pub struct GridDoc {
    /// Number of rows.
    #[schemars(range(min = 1, max = 10_000))]
    pub rows: u32,
    /// Routers in a row.
    #[schemars(range(min = 1, max = 10_000))]
    pub columns: u32,
}

/// A tree of routers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TopologyTree")]
pub struct TreeDoc {
    /// Number of routers.
    #[schemars(range(min = 1, max = 10_000))]
    pub routers: u32,
    /// Routers below each.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 100))]
    pub children: u32,
}

fn two() -> u32 {
    2
}
