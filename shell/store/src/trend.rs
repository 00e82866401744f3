//! One question over time: the same method on the same profile, run again and again.

use crate::compare::answers;
use crate::{CampaignId, Filter, Store, StoreError};
use serde::Serialize;

/// Scale from the median absolute deviation to a normal distribution's standard deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Minimum number of earlier points to determine what is usual.
const POINTS_MIN: usize = 4;

/// Which campaigns and which of their findings.
#[derive(Debug, Clone, Default)]
pub struct TrendQuery {
    /// Which campaigns; the newest `limit` of them.
    pub campaigns: Filter,
    /// SHA-256 of the profile, or its beginning.
    pub profile_sha256: Option<String>,
    /// Only this frame length or mix.
    pub frame: Option<String>,
    /// Only this goal.
    pub goal: Option<String>,
}

/// A frame length and a goal over time.
#[derive(Debug, Clone, Serialize)]
pub struct Trend {
    /// Name of the campaigns.
    pub name: String,
    /// Their method.
    pub method: String,
    /// Frame length or mix.
    pub frame: String,
    /// Goal.
    pub goal: String,
    /// Unit of the values.
    pub unit: String,
    /// Oldest first.
    pub points: Vec<TrendPoint>,
    /// Median of all values but the last, or of the only one.
    pub median: f64,
    /// (last − median) / median; `None` if the median is zero and the last is not.
    pub last_ratio: Option<f64>,
    /// Whether the last is more than three standard deviations, estimated from the median absolute deviation, away from
    /// the median; `None` with fewer than four earlier points.
    pub last_is_unusual: Option<bool>,
}

/// One campaign's value.
#[derive(Debug, Clone, Serialize)]
pub struct TrendPoint {
    /// The campaign.
    pub campaign: CampaignId,
    /// When it began.
    pub started: String,
    /// Version of the program.
    pub version: String,
    /// Value found.
    pub value: f64,
    /// Its uncertainty either way.
    pub noise: Option<f64>,
}

impl Store {
    /// Findings over time, a trend for each name, method, frame length and goal.
    ///
    /// # Errors
    /// `since` is no date; the store can't be read.
    pub fn trend(&self, query: &TrendQuery) -> Result<Vec<Trend>, StoreError> {
        let mut all: Vec<Trend> = Vec::new();
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        for summary in self.list(&query.campaigns)?.into_iter().rev() {
            let campaign = self.campaign(&summary.id)?;
            if query.profile_sha256.as_ref().is_some_and(|sha| !campaign.profile_sha256.starts_with(sha)) {
                continue;
            }
            for finding in answers(&self.findings(&summary.id)?, &self.trials(&summary.id)?) {
                let Some(value) = finding.value else { continue };
                if !is(&query.frame, &finding.frame) || !is(&query.goal, &finding.goal) {
                    continue;
                }
                let point = TrendPoint {
                    campaign: summary.id.clone(),
                    started: summary.started.clone(),
                    version: campaign.version.clone(),
                    value,
                    noise: finding.noise(),
                };
                let about = [&summary.name, &summary.method, &finding.frame, &finding.goal, &finding.unit];
                match all.iter_mut().find(|t| [&t.name, &t.method, &t.frame, &t.goal, &t.unit] == about) {
                    Some(trend) => trend.points.push(point),
                    None => all.push(Trend::new(about, point)),
                }
            }
        }
        all.iter_mut().for_each(Trend::judge);
        Ok(all)
    }
}

impl Trend {
    fn new([name, method, frame, goal, unit]: [&String; 5], point: TrendPoint) -> Self {
        Self {
            name: name.clone(),
            method: method.clone(),
            frame: frame.clone(),
            goal: goal.clone(),
            unit: unit.clone(),
            median: point.value,
            points: vec![point],
            last_ratio: None,
            last_is_unusual: None,
        }
    }

    fn judge(&mut self) {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let Some((last, earlier)) = values.split_last() else { return };
        let Some(middle) = median(earlier) else { return };
        self.median = middle;
        self.last_ratio =
            if *last == middle { Some(0.0) } else { (middle != 0.0).then(|| (last - middle) / middle) };
        if earlier.len() >= POINTS_MIN {
            let deviations: Vec<f64> = earlier.iter().map(|value| (value - middle).abs()).collect();
            let sigma = MAD_TO_SIGMA * median(&deviations).unwrap_or(0.0);
            // Searches end on a grid, and equal values have no deviation: what the bounds leave open is not unusual.
            let noise = self.points.last().and_then(|point| point.noise).unwrap_or(0.0);
            self.last_is_unusual = Some((last - middle).abs() > (3.0 * sigma).max(noise));
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(sorted[half - 1].midpoint(sorted[half])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(values: &[f64]) -> Trend {
        let point = |value: &f64| TrendPoint {
            campaign: CampaignId(String::new()),
            started: String::new(),
            version: String::new(),
            value: *value,
            noise: None,
        };
        let text = String::new();
        let mut trend = Trend::new([&text; 5], point(&values[0]));
        trend.points = values.iter().map(point).collect();
        trend.judge();
        trend
    }

    #[test]
    fn the_last_is_judged_by_those_before_it() {
        let steady = trend(&[100.0, 101.0, 99.0, 100.0, 101.0]);
        assert_eq!((steady.median, steady.last_is_unusual), (100.0, Some(false)));
        let fallen = trend(&[100.0, 101.0, 99.0, 100.0, 80.0]);
        assert_eq!(
            (fallen.median, fallen.last_ratio, fallen.last_is_unusual),
            (100.0, Some(-0.2), Some(true))
        );
        assert_eq!(trend(&[100.0, 80.0]).last_is_unusual, None);
        assert_eq!((trend(&[5.0]).median, trend(&[5.0]).last_ratio), (5.0, None));
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (Some(2.0), Some(2.5)));
    }
}
