//! The dashboard's files, which are part of the program.

use crate::fault::Fault;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

/// What `make web` has made, when the program was built.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dist;

/// Nothing from elsewhere, no script in a page.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'; \
                      base-uri 'none'; form-action 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Eagre</title>\
<h1>Eagre</h1><p>This program was built without its dashboard; <code>make build</code> builds both. \
The API is at <a href=\"/api/v1/openapi.json\">/api/v1</a>, metrics are at <a href=\"/metrics\">/metrics</a>.";

/// A file of the dashboard; `/` is its page.
pub(crate) fn serve(path: &str, headers: &HeaderMap) -> Result<Response, Fault> {
    let name = match path.trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let Some(file) = Dist::get(name) else {
        if name == "index.html" {
            return Ok(page(StatusCode::OK, "text/html; charset=utf-8", NOT_BUILT.as_bytes().to_vec(), None));
        }
        return Err(Fault::not_found(format!("no such path: {path}")));
    };
    let tag: String = file.metadata.sha256_hash().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        return Ok(page(StatusCode::NOT_MODIFIED, kind(name), Vec::new(), Some(&tag)));
    }
    Ok(page(StatusCode::OK, kind(name), file.data.into_owned(), Some(&tag)))
}

fn page(status: StatusCode, kind: &'static str, bytes: Vec<u8>, tag: Option<&str>) -> Response {
    let mut response = (status, bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(tag).ok()) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json" | "webmanifest") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
