//! The client's end of HTTP/1.1 (RFC 9112), for servers without HTTP/2: requests one after the other.

use super::connect::Wire;
use super::{BLOCK, ZEROS};
use crate::reason;
use responsiveness::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Longest head of a response, octets, and most of its fields.
const HEAD_MOST: usize = 16 << 10;
const FIELDS_MOST: usize = 64;
/// Length of an upload: 8 GiB.
const UPLOAD: u64 = 8 << 30;

/// The head of a response, and what came after it.
struct Head {
    status: u16,
    length: Option<u64>,
    is_chunked: bool,
    rest: Vec<u8>,
}

async fn ask(wire: &mut Box<dyn Wire>, method: &str, at: &Location, more: &str) -> Result<(), String> {
    let text = format!(
        "{method} {} HTTP/1.1\r\nHost: {}\r\nAccept-Encoding: identity\r\nUser-Agent: eagre/{}\r\n{more}\r\n",
        at.path,
        at.authority(),
        env!("CARGO_PKG_VERSION")
    );
    wire.write_all(text.as_bytes()).await.map_err(|error| reason(&error))?;
    wire.flush().await.map_err(|error| reason(&error))
}

/// Reads until a head is whole; interim responses are passed over.
async fn head(wire: &mut Box<dyn Wire>) -> Result<Head, String> {
    let mut data = Vec::new();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MOST];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(&data).map_err(|error| format!("no response of HTTP/1.1: {error}"))?;
        if let httparse::Status::Complete(length) = parsed {
            let status = response.code.unwrap_or(0);
            let field = |name: &str| {
                let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
                found.and_then(|field| std::str::from_utf8(field.value).ok()).map(str::trim)
            };
            let is_chunked = field("transfer-encoding").is_some_and(|value| value.ends_with("chunked"));
            let length_of_body = field("content-length").and_then(|value| value.parse().ok());
            data.drain(..length);
            if (100..200).contains(&status) {
                continue;
            }
            return Ok(Head { status, length: length_of_body, is_chunked, rest: data });
        }
        if data.len() > HEAD_MOST {
            return Err(format!("the head of a response is longer than {HEAD_MOST} octets"));
        }
        if wire.read_buf(&mut data).await.map_err(|error| reason(&error))? == 0 {
            return Err("the server closed the connection before it responded".to_owned());
        }
    }
}

/// Gets an object, and with it ends the connection: status and body.
pub(super) async fn get(
    wire: &mut Box<dyn Wire>,
    at: &Location,
    most: usize,
) -> Result<(u16, Vec<u8>), String> {
    ask(wire, "GET", at, "Connection: close\r\n").await?;
    let mut head = head(wire).await?;
    let mut body = std::mem::take(&mut head.rest);
    while head.length.is_none_or(|length| (body.len() as u64) < length) {
        if body.len() > most {
            return Err(format!("{} is longer than {most} octets", at.url()));
        }
        match wire.read_buf(&mut body).await {
            Ok(0) => break,
            Ok(_) => {}
            // Some servers end TLS without saying so.
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(reason(&error)),
        }
    }
    Ok((head.status, if head.is_chunked { joined(&body)? } else { body }))
}

/// The body in chunks (RFC 9112 section 7.1).
fn joined(mut chunks: &[u8]) -> Result<Vec<u8>, String> {
    let mut whole = Vec::new();
    loop {
        let size = httparse::parse_chunk_size(chunks).map_err(|_| "a chunk without a size".to_owned())?;
        let httparse::Status::Complete((begin, size)) = size else {
            return Err("the body ends early".to_owned());
        };
        if size == 0 {
            return Ok(whole);
        }
        let end = usize::try_from(size).ok().and_then(|size| begin.checked_add(size));
        let part = end.and_then(|end| chunks.get(begin..end));
        whole.extend_from_slice(part.ok_or("the body ends early")?);
        chunks = chunks.get(begin + size as usize + 2..).ok_or("the body ends early")?;
    }
}

/// Downloads again and again; counts octets of bodies.
pub(super) async fn download(
    wire: &mut Box<dyn Wire>,
    at: &Location,
    count: &AtomicU64,
) -> Result<(), String> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        ask(wire, "GET", at, "").await?;
        let head = head(wire).await?;
        if head.status != 200 {
            return Err(format!("{}: status {}", at.url(), head.status));
        }
        count.fetch_add(head.rest.len() as u64, Ordering::Relaxed);
        // A body in chunks ends with the connection: its framing is not read.
        let mut left = head.length.map(|length| length.saturating_sub(head.rest.len() as u64));
        while left != Some(0) {
            let most =
                left.map_or(buffer.len(), |left| buffer.len().min(left.try_into().unwrap_or(usize::MAX)));
            let octets = wire.read(&mut buffer[..most]).await.map_err(|error| reason(&error))?;
            if octets == 0 {
                return Err("the server ended a download".to_owned());
            }
            count.fetch_add(octets as u64, Ordering::Relaxed);
            left = left.map(|left| left - octets as u64);
        }
    }
}

/// Uploads again and again.
pub(super) async fn upload(wire: &mut Box<dyn Wire>, at: &Location) -> Result<(), String> {
    let fields = format!("Content-Type: application/octet-stream\r\nContent-Length: {UPLOAD}\r\n");
    loop {
        ask(wire, "POST", at, &fields).await?;
        let (mut reader, mut writer) = tokio::io::split(&mut *wire);
        let send = async {
            for _ in 0..UPLOAD / BLOCK as u64 {
                writer.write_all(&ZEROS).await.map_err(|error| reason(&error))?;
            }
            writer.flush().await.map_err(|error| reason(&error))
        };
        let mut early = Vec::new();
        tokio::select! {
            sent = send => sent?,
            octets = reader.read_buf(&mut early) => {
                octets.map_err(|error| reason(&error))?;
                let line = String::from_utf8_lossy(&early);
                let line = line.lines().next().unwrap_or("nothing").to_owned();
                return Err(format!("the server ended an upload: {line}"));
            }
        }
        let head = head(wire).await?;
        if head.status != 200 {
            return Err(format!("{}: status {}", at.url(), head.status));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined() {
        assert_eq!(joined(b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n"), Ok(b"abcd".to_vec()));
        for bad in [&b"5\r\nabc\r\n"[..], b"3\r\nabc\r\n", b"x", b"", b"ffffffffffffffff\r\nabc"] {
            assert!(joined(bad).is_err(), "{bad:?}");
        }
    }
}
