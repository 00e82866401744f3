//! Files for browsers: the dashboard's, which are part of the program, and the documentation's, from a folder next to
//! it.

use crate::fault::Fault;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use rust_embed::{EmbeddedFile, RustEmbed};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Output of `make web` at the time the program was built. Files that end in `.gz` are served under the name without it.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dist;

/// Nothing from elsewhere, no script in a page.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'; \
                      base-uri 'none'; form-action 'none'";

/// The same for pages of the documentation, which have their own scripts for search and folding, and a simulation in
/// WebAssembly.
const PAGES_POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; \
                            img-src 'self' data:; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

const NOT_BUILT: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Eagre</title>\
<h1>Eagre</h1><p>This program was built without its dashboard; <code>make build</code> builds both. \
The API is at <a href=\"/api/v1/openapi.json\">/api/v1</a>, metrics are at <a href=\"/metrics\">/metrics</a>.";

const NOT_INSTALLED: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Eagre</title><h1>Eagre</h1>\
<p>This program was installed without the pages of its documentation. Packages have them, and <code>make docs</code> \
makes them. <a href=\"/\">Back to the dashboard</a>";

/// A file of the dashboard; `/` is its page.
pub(crate) fn serve(path: &str, headers: &HeaderMap) -> Result<Response, Fault> {
    let name = match path.trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let plain = Dist::get(name);
    let is_packed = plain.is_none();
    let Some(file) = plain.or_else(|| Dist::get(&format!("{name}.gz"))) else {
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
    let takes_packed = is_packed && takes_gzip(headers);
    let bytes = if is_packed && !takes_packed { unpacked(&file)? } else { file.data.into_owned() };
    let mut response = page(StatusCode::OK, kind(name), bytes, Some(&tag));
    if is_packed {
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if takes_packed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// Whether a client takes content that gzip has packed (RFC 9110 section 12.5.3): it names gzip, and not with a weight of 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some(0.0)
    })
}

fn unpacked(file: &EmbeddedFile) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let read = GzDecoder::new(&*file.data).read_to_end(&mut bytes);
    read.map_err(|error| Fault::machine(format!("a file of the dashboard: {error}")))?;
    Ok(bytes)
}

/// The documentation's pages, as `tools/site` makes them. Only what was there when the server started is ever read, by its
/// whole name: no path of a request reaches the file system.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    folder: PathBuf,
    names: BTreeSet<String>,
}

/// Most files of the documentation, and how deep its folders are.
const PAGES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 8;

impl Pages {
    /// The pages in a folder; none if it can't be read.
    pub(crate) fn new(folder: Option<&Path>) -> Self {
        let Some(folder) = folder else { return Self::default() };
        let mut pages = Self { folder: folder.to_owned(), names: BTreeSet::new() };
        // What can't be listed is not served.
        let _unlisted = pages.list(folder, "", DEPTH_MAX);
        pages
    }

    fn list(&mut self, folder: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let kind = entry.file_type()?;
            if kind.is_dir() && depth > 0 {
                self.list(&entry.path(), &format!("{prefix}{name}/"), depth - 1)?;
            } else if kind.is_file() && self.names.len() < PAGES_MAX {
                self.names.insert(format!("{prefix}{name}"));
            }
        }
        Ok(())
    }

    /// A page by its name below `/docs/`; a folder stands for its `index.html`.
    pub(crate) fn serve(&self, name: &str, headers: &HeaderMap) -> Result<Response, Fault> {
        let whole = if name.is_empty() || name.ends_with('/') {
            format!("{name}index.html")
        } else {
            name.to_owned()
        };
        if self.names.is_empty() {
            let text = NOT_INSTALLED.as_bytes().to_vec();
            return Ok(page(StatusCode::NOT_FOUND, "text/html; charset=utf-8", text, None));
        }
        if !self.names.contains(&whole) {
            return Err(Fault::not_found(format!("no such page: /docs/{name}")));
        }
        let file = self.folder.join(&whole);
        let gone = |error: io::Error| Fault::machine(format!("{}: {error}", file.display()));
        let metadata = std::fs::metadata(&file).map_err(gone)?;
        let changed = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let tag = format!("\"{:x}-{:x}\"", metadata.len(), changed.unwrap_or_default().as_nanos());
        if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
            return Ok(with_policy(page(StatusCode::NOT_MODIFIED, kind(&whole), Vec::new(), Some(&tag))));
        }
        Ok(with_policy(page(StatusCode::OK, kind(&whole), std::fs::read(&file).map_err(gone)?, Some(&tag))))
    }
}

fn with_policy(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGES_POLICY));
    response
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
        Some("woff2") => "font/woff2",
        Some("wasm") => "application/wasm",
        Some("txt" | "md" | "yaml" | "py" | "lua") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
