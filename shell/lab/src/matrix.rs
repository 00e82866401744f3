//! A campaign's runs: configurations × methods. Frame lengths are the methods' own.

use crate::template::Variables;
use std::fmt;

/// Maximum number of runs of a campaign.
const RUNS_MAX: usize = 10_000;

/// A value of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number, such as of routes.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A setting of the device that varies, such as cores, routes or rules, and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dimension {
    /// Its name; `{config.NAME}` in hooks.
    pub name: String,
    /// The values.
    pub values: Vec<Value>,
}

/// The configurations and methods of a campaign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    /// Dimensions. The first changes least often. Empty: one configuration, the unmodified device.
    pub dimensions: Vec<Dimension>,
    /// Names of the methods.
    pub methods: Vec<String>,
}

/// One run of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixRun {
    /// Number of the configuration, from 1.
    pub configuration: usize,
    /// Whether the device must be configured before it.
    pub begins_configuration: bool,
    /// Whether it is the last with this configuration.
    pub ends_configuration: bool,
    /// The configuration.
    pub values: Vec<(String, Value)>,
    /// The method.
    pub method: String,
}

impl MatrixRun {
    /// Its variables for hooks: `config.NAME` of each dimension, `config.number`, `method`.
    pub fn variables(&self) -> Variables {
        let mut variables =
            Variables::new().with("config.number", self.configuration).with("method", &self.method);
        for (name, value) in &self.values {
            variables.set(&format!("config.{name}"), value);
        }
        variables
    }
}

/// An error in a matrix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatrixError {
    /// An empty list.
    #[error("the matrix has no {0}")]
    Empty(String),
    /// Two dimensions with the same name, or one called 'number'.
    #[error("duplicate '{0}' in the matrix")]
    Twice(String),
    /// Too many runs.
    #[error("the matrix has more than {RUNS_MAX} runs")]
    TooMany,
}

impl Matrix {
    /// All runs. Configurations change as seldom as possible; the last dimension changes faster than those before it.
    ///
    /// # Errors
    ///
    /// If a list is empty, a name is duplicate, or there are too many runs.
    pub fn runs(&self) -> Result<Vec<MatrixRun>, MatrixError> {
        self.check()?;
        let mut runs = Vec::new();
        for (number, values) in (1..).zip(self.configurations()) {
            let first = runs.len();
            runs.extend(self.methods.iter().map(|method| MatrixRun {
                configuration: number,
                begins_configuration: false,
                ends_configuration: false,
                values: values.clone(),
                method: method.clone(),
            }));
            runs[first].begins_configuration = true;
            if let Some(last) = runs.last_mut() {
                last.ends_configuration = true;
            }
        }
        Ok(runs)
    }

    fn check(&self) -> Result<(), MatrixError> {
        let mut total = 1usize;
        let lists = self.dimensions.iter().map(|one| (format!("values of '{}'", one.name), one.values.len()));
        for (what, len) in lists.chain([("methods".to_owned(), self.methods.len())]) {
            if len == 0 {
                return Err(MatrixError::Empty(what));
            }
            total = total.checked_mul(len).filter(|&total| total <= RUNS_MAX).ok_or(MatrixError::TooMany)?;
        }
        let mut names = vec!["number"];
        for dimension in &self.dimensions {
            if names.contains(&dimension.name.as_str()) {
                return Err(MatrixError::Twice(dimension.name.clone()));
            }
            names.push(&dimension.name);
        }
        Ok(())
    }

    /// The product of all dimensions.
    fn configurations(&self) -> Vec<Vec<(String, Value)>> {
        self.dimensions.iter().fold(vec![Vec::new()], |chosen, dimension| {
            let longer = |before: &Vec<(String, Value)>, value: &Value| {
                let mut values = before.clone();
                values.push((dimension.name.clone(), value.clone()));
                values
            };
            chosen
                .iter()
                .flat_map(|before| dimension.values.iter().map(move |value| longer(before, value)))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Matrix {
        Matrix {
            dimensions: vec![
                Dimension { name: "routes".into(), values: vec![1.into(), 262_144.into()] },
                Dimension { name: "rules".into(), values: vec![0.into(), 1024.into()] },
            ],
            methods: vec!["throughput".into(), "latency".into()],
        }
    }

    #[test]
    fn everything_is_gone_through_and_configurations_change_seldom() {
        let runs = matrix().runs().unwrap();
        assert_eq!(runs.len(), 8);
        let configurations: Vec<_> = runs.iter().map(|run| run.configuration).collect();
        assert_eq!(configurations, [1, 1, 2, 2, 3, 3, 4, 4]);
        let begins: Vec<_> = (0..8).filter(|&n| runs[n].begins_configuration).collect();
        let ends: Vec<_> = (0..8).filter(|&n| runs[n].ends_configuration).collect();
        assert_eq!((begins, ends), (vec![0, 2, 4, 6], vec![1, 3, 5, 7]));
        assert_eq!((runs[2].values[0].1.clone(), runs[2].values[1].1.clone()), (1.into(), 1024.into()));
        assert_eq!(runs[1].method, "latency");
    }

    #[test]
    fn hooks_know_the_run() {
        let variables = matrix().runs().unwrap()[7].variables();
        let known: Vec<_> = variables.names().map(|name| (name, variables.value(name).unwrap())).collect();
        let expected = [
            ("config.number", "4"),
            ("config.routes", "262144"),
            ("config.rules", "1024"),
            ("method", "latency"),
        ];
        assert_eq!(known, expected);
    }

    #[test]
    fn no_dimension_is_one_configuration() {
        let runs = Matrix { dimensions: vec![], ..matrix() }.runs().unwrap();
        assert_eq!((runs.len(), runs[1].configuration, runs[1].ends_configuration), (2, 1, true));
    }

    #[test]
    fn nonsense_is_refused() {
        let error = |matrix: Matrix| matrix.runs().unwrap_err().to_string();
        assert_eq!(error(Matrix { methods: vec![], ..matrix() }), "the matrix has no methods");
        let mut twice = matrix();
        twice.dimensions[1].name = "routes".into();
        assert_eq!(error(twice), "duplicate 'routes' in the matrix");
        let mut none = matrix();
        none.dimensions[0].values.clear();
        assert_eq!(error(none), "the matrix has no values of 'routes'");
        let many = Dimension { name: "x".into(), values: (0..50_000).map(Value::Number).collect() };
        assert_eq!(
            error(Matrix { dimensions: vec![many], ..matrix() }),
            "the matrix has more than 10000 runs"
        );
    }
}
