//! Schemas of documents for OpenAPI 3.1, made from their JSON Schemas: there is one description of each type.

use crate::*;
use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::marker::PhantomData;
use utoipa::openapi::{self, RefOr};
use utoipa::{PartialSchema, ToSchema};

type Named = (String, RefOr<openapi::Schema>);

/// The schema of a document of another room, as it is written. A name for route descriptions; there is no such value.
#[derive(Debug)]
pub struct Described<T>(PhantomData<T>);

impl<T: JsonSchema> PartialSchema for Described<T> {
    fn schema() -> RefOr<openapi::Schema> {
        own::<T>(Contract::Serialize)
    }
}

impl<T: JsonSchema> ToSchema for Described<T> {
    fn name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schemas(schemas: &mut Vec<Named>) {
        schemas.extend(all::<T>(Contract::Serialize));
    }
}

/// The schema of a document of another room, as it may be sent. A name for route descriptions; there is no such value.
#[derive(Debug)]
pub struct Accepted<T>(PhantomData<T>);

impl<T: JsonSchema> PartialSchema for Accepted<T> {
    fn schema() -> RefOr<openapi::Schema> {
        own::<T>(Contract::Deserialize)
    }
}

impl<T: JsonSchema> ToSchema for Accepted<T> {
    fn name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schemas(schemas: &mut Vec<Named>) {
        schemas.extend(all::<T>(Contract::Deserialize));
    }
}

macro_rules! documents {
    ($contract:ident: $($document:ident),* $(,)?) => { $(
        impl PartialSchema for $document {
            fn schema() -> RefOr<openapi::Schema> {
                own::<Self>(Contract::$contract)
            }
        }

        impl ToSchema for $document {
            fn name() -> Cow<'static, str> {
                Self::schema_name()
            }

            fn schemas(schemas: &mut Vec<Named>) {
                schemas.extend(all::<Self>(Contract::$contract));
            }
        }
    )* };
}

documents!(Serialize: AuditEntry, Campaign, Check, DoctorCheck, Lease, Live, Method, PingResult, Port, Problem,
    ProfileEntry, ProfileKind, ProtocolChange, Role, Run, Script, Snapshot, StoredProfile, Version, Whoami);
documents!(Deserialize: NewCampaign, NewCheck, NewLease, NewPing, NewProfile, NewRate, NewRun, NewScript,
    NewStreams, RemovedStreams, Renewal);

/// The schema of `T` and those it refers to, by name.
fn definitions<T: JsonSchema>(contract: Contract) -> Map<String, Value> {
    let mut settings = match contract {
        Contract::Serialize => result::schema_settings(),
        _ => SchemaSettings::default(),
    };
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    // Asked for as a part, `T` becomes a definition itself.
    generator.subschema_for::<T>();
    let mut all = generator.take_definitions(true);
    for schema in all.values_mut().flat_map(<&mut Schema>::try_from) {
        RecursiveTransform(simplify).transform(schema);
    }
    all
}

/// Replaces keywords that utoipa does not know: `const` by an `enum` of one, the `prefixItems` of a tuple by `items` of any of
/// their types.
fn simplify(schema: &mut Schema) {
    if let Some(word) = schema.remove("const") {
        schema.insert("enum".to_owned(), Value::Array(vec![word]));
    }
    if let Some(Value::Array(mut places)) = schema.remove("prefixItems") {
        places.dedup();
        let items = match places.len() {
            1 => places.remove(0),
            _ => json!({"anyOf": places}),
        };
        schema.insert("items".to_owned(), items);
    }
}

fn own<T: JsonSchema>(contract: Contract) -> RefOr<openapi::Schema> {
    definitions::<T>(contract).get(T::schema_name().as_ref()).map(converted).unwrap_or_default()
}

fn all<T: JsonSchema>(contract: Contract) -> Vec<Named> {
    definitions::<T>(contract).iter().map(|(name, schema)| (name.clone(), converted(schema))).collect()
}

fn converted(schema: &Value) -> RefOr<openapi::Schema> {
    let made = serde_json::from_value(schema.clone()).unwrap_or_default();
    debug_assert_eq!(
        serde_json::to_value(&made).ok().as_ref(),
        Some(schema),
        "utoipa lost a part of a schema"
    );
    made
}
