//! Routes that carry their descriptions where these are read: in the test that writes docs/openapi.json, the document that the
//! program serves. So the program has the document, and not the code that makes it.

use crate::service::Service;
use axum::Router;
use axum::routing::MethodRouter;
use std::sync::Arc;

/// Handlers of one path, and their description.
pub(super) struct Routed {
    pub(super) path: String,
    pub(super) methods: MethodRouter<Arc<Service>>,
    #[cfg(test)]
    pub(super) described: utoipa_axum::router::UtoipaMethodRouter<Arc<Service>>,
}

/// Handlers of one path, each described by `#[utoipa::path]`.
macro_rules! routes {
    ($first:ident $(, $handler:ident)* $(,)?) => {
        utoipa_axum::paste! {{
            use utoipa::Path as _;
            use utoipa_axum::PathItemExt as _;
            let methods = axum::routing::MethodRouter::new();
            let methods = [<__path_ $first>]::methods()
                .iter()
                .fold(methods, |all, method| all.on(method.to_method_filter(), $first));
            $(
                let methods = [<__path_ $handler>]::methods()
                    .iter()
                    .fold(methods, |all, method| all.on(method.to_method_filter(), $handler));
            )*
            $crate::routes::described::Routed {
                path: [<__path_ $first>]::path(),
                methods,
                #[cfg(test)]
                described: utoipa_axum::routes!($first $(, $handler)*),
            }
        }}
    };
}
pub(super) use routes;

/// Routes of a part of the API.
#[derive(Default)]
pub(super) struct Routes {
    served: Router<Arc<Service>>,
    #[cfg(test)]
    described: utoipa_axum::router::OpenApiRouter<Arc<Service>>,
}

impl Routes {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Adds the handlers of a path.
    pub(super) fn routes(self, routed: Routed) -> Self {
        Self {
            served: self.served.route(&routed.path, routed.methods),
            #[cfg(test)]
            described: self.described.routes(routed.described),
        }
    }

    /// Adds all routes of another part.
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            served: self.served.merge(other.served),
            #[cfg(test)]
            described: self.described.merge(other.described),
        }
    }

    pub(super) fn served(self) -> Router<Arc<Service>> {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use crate::routes::api_routes;
    use api::{Live, Problem, Role};
    use std::path::Path;
    use utoipa::openapi::OpenApi as Described;
    use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
    use utoipa::{Modify, OpenApi};

    #[derive(OpenApi)]
    #[openapi(
        info(title = "Eagre", description = "Network traffic generator and test system: ports, runs, methods, results.", license(name = "Apache-2.0")),
        components(schemas(Live, Problem, Role)),
        modifiers(&Bearer),
        security(("token" = []))
    )]
    struct Document;

    /// Bearer tokens (RFC 6750).
    struct Bearer;

    impl Modify for Bearer {
        fn modify(&self, document: &mut Described) {
            let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
            document
                .components
                .get_or_insert_default()
                .add_security_scheme("token", SecurityScheme::Http(scheme));
        }
    }

    /// After a deliberate change of a route or a document, run with `UPDATE_GOLDEN=1` and read the difference.
    #[test]
    fn the_openapi_document_is_up_to_date() {
        let document = utoipa_axum::router::OpenApiRouter::with_openapi(Document::openapi())
            .merge(api_routes().described)
            .into_openapi();
        let text = format!("{:#}\n", serde_json::to_value(&document).unwrap());
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        assert!(
            text == std::fs::read_to_string(golden).unwrap(),
            "docs/openapi.json is out of date; run with UPDATE_GOLDEN=1"
        );
    }
}
