//! Values of Lua as JSON, and back.

use mlua::{Lua, Table, Value as LuaValue};
use serde_json::{Map, Value};

/// Maximum nesting of tables.
const DEPTH_MAX: usize = 50;
/// Entries of all tables together.
const ENTRIES_MAX: usize = 1_000_000;
/// Whole numbers up to here are exact in Lua.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A table with keys as an object.
///
/// # Errors
/// Where it holds what JSON does not: `packet[2].dst: a function is no value`.
pub(crate) fn object(table: &Table) -> Result<Map<String, Value>, String> {
    match value(&LuaValue::Table(table.clone()), "", 0, &mut 0)? {
        Value::Object(object) => Ok(object),
        _ => Err("expected a table with keys, not a list".to_owned()),
    }
}

fn value(of: &LuaValue, path: &str, depth: usize, entries: &mut usize) -> Result<Value, String> {
    let wrong = |reason: &str| match path {
        "" => reason.to_owned(),
        path => format!("{path}: {reason}"),
    };
    *entries += 1;
    if depth > DEPTH_MAX || *entries > ENTRIES_MAX {
        return Err(wrong(&format!(
            "at most {DEPTH_MAX} tables in each other and {ENTRIES_MAX} values in all"
        )));
    }
    match of {
        LuaValue::Boolean(flag) => Ok((*flag).into()),
        LuaValue::Integer(number) => Ok((*number).into()),
        LuaValue::Number(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            Ok((*number as i64).into())
        }
        LuaValue::Number(number) if number.is_finite() => Ok((*number).into()),
        LuaValue::Number(number) => Err(wrong(&format!("{number} is no value"))),
        LuaValue::String(text) => match text.to_str() {
            Ok(text) => Ok(text.to_string().into()),
            Err(_) => Err(wrong("a text must be UTF-8")),
        },
        LuaValue::Table(table) => children(table, path, depth, entries),
        other => Err(wrong(&format!("a {} is no value", other.type_name()))),
    }
}

fn children(table: &Table, path: &str, depth: usize, entries: &mut usize) -> Result<Value, String> {
    let len = table.raw_len();
    if len > 0 {
        let mut list = Vec::new();
        for i in 1..=len {
            let inner = table.raw_get(i).map_err(|error| error.to_string())?;
            list.push(value(&inner, &format!("{path}[{i}]"), depth + 1, entries)?);
        }
        if table.pairs::<LuaValue, LuaValue>().count() != len {
            return Err(format!(
                "{path}{}a table is either a list or has keys",
                if path.is_empty() { "" } else { ": " }
            ));
        }
        return Ok(list.into());
    }
    let mut object = Map::new();
    for pair in table.pairs::<LuaValue, LuaValue>() {
        let (key, inner) = pair.map_err(|error| error.to_string())?;
        let key = match value(&key, path, depth, entries)? {
            Value::String(key) => key,
            Value::Number(key) => key.to_string(),
            other => return Err(format!("{path}: {other} is no key")),
        };
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        object.insert(key, value(&inner, &path, depth + 1, entries)?);
    }
    // Lua knows no order of keys: the same table is always the same text.
    object.sort_keys();
    Ok(object.into())
}

/// A JSON value; null is nil.
pub(crate) fn to_lua(lua: &Lua, of: &Value) -> mlua::Result<LuaValue> {
    Ok(match of {
        Value::Null => LuaValue::Nil,
        Value::Bool(flag) => LuaValue::Boolean(*flag),
        Value::Number(number) => LuaValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => LuaValue::String(lua.create_string(text)?),
        Value::Array(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            for (i, inner) in list.iter().enumerate() {
                table.raw_set(i + 1, to_lua(lua, inner)?)?;
            }
            LuaValue::Table(table)
        }
        Value::Object(object) => {
            let table = lua.create_table_with_capacity(0, object.len())?;
            for (key, inner) in object {
                table.raw_set(key.as_str(), to_lua(lua, inner)?)?;
            }
            LuaValue::Table(table)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let lua = Lua::new();
        let table: Table = lua.load(text).eval().unwrap();
        object(&table).map(|object| Value::Object(object).to_string())
    }

    #[test]
    fn tables_become_json_and_back() {
        let text = r#"{"a":[1,2.5,true],"b":{},"c":{"d":"x\"y","vlan[1].id":-3}}"#;
        assert_eq!(
            read("{c = {['vlan[1].id'] = -3, d = 'x\"y'}, b = {}, a = {1, 2.5, true}}").unwrap(),
            text
        );
        let lua = Lua::new();
        let LuaValue::Table(back) = to_lua(&lua, &serde_json::from_str(text).unwrap()).unwrap() else {
            panic!()
        };
        assert_eq!(Value::Object(object(&back).unwrap()).to_string(), text);
    }

    #[test]
    fn what_is_no_value_is_named() {
        assert_eq!(read("{a = {1, print}}").unwrap_err(), "a[2]: a function is no value");
        assert_eq!(read("{a = {1, b = 2}}").unwrap_err(), "a: a table is either a list or has keys");
        assert_eq!(read("{a = 0/0}").unwrap_err(), "a: NaN is no value");
        assert_eq!(read("{1}").unwrap_err(), "expected a table with keys, not a list");
        assert!(read("(function() local t = {} t.t = t return t end)()").unwrap_err().contains("at most 50"));
    }
}
