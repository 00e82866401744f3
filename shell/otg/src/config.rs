//! Partial changes of a configuration.
//!
//! Each change returns a new configuration, which takes effect once it is translated.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use serde_json::{Map, Value};

/// The empty configuration.
pub fn empty() -> Value {
    Value::Object(Map::new())
}

/// Applies a `ConfigUpdate`: replaces properties of flows.
pub fn update(config: &Value, update: &Value) -> Result<Value, Errors> {
    allowed(update, "ConfigUpdate")?;
    if update.get("protocols").is_some() || update["choice"] == "protocols" {
        return Err(Errors::invalid("protocols: not supported"));
    }
    let update = &update["flows"];
    let mut config = config.clone();
    let mut errors = Vec::new();
    for (index, new) in items(update, "flows").iter().enumerate() {
        let flows = config.get_mut("flows").and_then(Value::as_array_mut);
        let known = flows.and_then(|flows| flows.iter_mut().find(|flow| flow["name"] == new["name"]));
        let Some(flow) = known.and_then(Value::as_object_mut) else {
            errors.push(format!("flows.flows[{index}].name: unknown flow {}", new["name"]));
            continue;
        };
        for property in items(update, "property_names").iter().filter_map(Value::as_str) {
            match new.get(property) {
                Some(value) => flow.insert(property.to_owned(), value.clone()),
                None => flow.remove(property),
            };
        }
    }
    done(config, errors)
}

/// Applies a `ConfigAppend`: adds resources.
pub fn append(config: &Value, append: &Value) -> Result<Value, Errors> {
    allowed(append, "ConfigAppend")?;
    let mut config = config.clone();
    let mut errors = Vec::new();
    for (index, resources) in items(append, "config_append_list").iter().enumerate() {
        for (kind, new) in resources.as_object().into_iter().flatten().filter(|(kind, _)| *kind != "choice") {
            let path = format!("config_append_list[{index}].{kind}");
            for (number, item) in new.as_array().into_iter().flatten().enumerate() {
                if items(&config, kind).iter().any(|old| old["name"] == item["name"]) {
                    errors.push(format!("{path}[{number}].name: {} already exists", item["name"]));
                }
            }
            match (config.get_mut(kind).and_then(Value::as_array_mut), new.as_array()) {
                (Some(old), Some(new)) => old.extend(new.iter().cloned()),
                (None, Some(_)) => config[kind] = new.clone(),
                _ => errors.push(format!("{path}: not supported")),
            }
        }
    }
    done(config, errors)
}

/// Applies a `ConfigDelete`: removes resources by name.
pub fn delete(config: &Value, delete: &Value) -> Result<Value, Errors> {
    allowed(delete, "ConfigDelete")?;
    let mut config = config.clone();
    let mut errors = Vec::new();
    for (index, resources) in items(delete, "config_delete_list").iter().enumerate() {
        for (kind, names) in resources.as_object().into_iter().flatten().filter(|(kind, _)| *kind != "choice")
        {
            for (number, name) in names.as_array().into_iter().flatten().enumerate() {
                let old = config.get_mut(kind).and_then(Value::as_array_mut);
                let before = old.as_ref().map_or(0, |old| old.len());
                let left = old.map_or(0, |old| {
                    old.retain(|item| item["name"] != *name);
                    old.len()
                });
                if left == before {
                    errors.push(format!("config_delete_list[{index}].{kind}[{number}]: unknown name {name}"));
                }
            }
        }
    }
    done(config, errors)
}

/// Checks that `value` is a document of the model.
pub fn allowed(value: &Value, name: &'static str) -> Result<(), Errors> {
    match check(value, message(name)) {
        errors if errors.is_empty() => Ok(()),
        errors => Err(Errors { kind: ErrorKind::Validation, errors }),
    }
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn done(config: Value, errors: Vec<String>) -> Result<Value, Errors> {
    if errors.is_empty() { Ok(config) } else { Err(Errors { kind: ErrorKind::Validation, errors }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> Value {
        let flow = |name: &str| json!({"name": name, "tx_rx": {}, "rate": {"pps": 1}, "size": {"fixed": 64}});
        json!({"ports": [{"name": "p"}], "flows": [flow("a"), flow("b")]})
    }

    #[test]
    fn flows_are_updated_added_and_taken_away() {
        let flow = json!({"name": "b", "tx_rx": {}, "rate": {"pps": 9}});
        let rate = json!({"choice": "flows", "flows": {"property_names": ["rate"], "flows": [flow]}});
        let updated = update(&config(), &rate).unwrap();
        assert_eq!(updated["flows"][1]["rate"]["pps"], 9);
        assert_eq!(updated["flows"][1]["size"]["fixed"], 64);
        let more =
            json!({"config_append_list": [{"choice": "flows", "flows": [{"name": "c", "tx_rx": {}}]}]});
        let appended = append(&config(), &more).unwrap();
        assert_eq!(appended["flows"].as_array().unwrap().len(), 3);
        let less = json!({"config_delete_list": [{"choice": "flows", "flows": ["a", "c"]}]});
        let names: Vec<&str> = delete(&appended, &less).unwrap()["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| if flow["name"] == "b" { "b" } else { "?" })
            .collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn names_that_are_not_there_are_told() {
        let less = json!({"config_delete_list": [{"choice": "flows", "flows": ["x"]}]});
        assert_eq!(
            delete(&config(), &less).unwrap_err().errors,
            ["config_delete_list[0].flows[0]: unknown name \"x\""]
        );
        let more =
            json!({"config_append_list": [{"choice": "flows", "flows": [{"name": "a", "tx_rx": {}}]}]});
        let wanted = ["config_append_list[0].flows[0].name: \"a\" already exists"];
        assert_eq!(append(&config(), &more).unwrap_err().errors, wanted);
    }
}
