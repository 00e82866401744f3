use crate::frame::{self, FrameHead, HEAD};
use crate::hpack::{Decoder, Encoder, Field, Fields, huffman, integer};
use crate::{Announced, Body, Code, Connection, Event, Fault, PREFACE, Role};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn list(decoder: &mut Decoder, block: &str) -> String {
    let mut out = String::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder
        .decode(&bytes(block), 65_536, |name, value| out += &format!("{}: {}\n", text(name), text(value)))
        .unwrap();
    out
}

/// RFC 7541 appendix C.1.
#[test]
fn integers_of_the_rfc() {
    for (value, bits, hex) in
        [(10, 5, "0a"), (1_337, 5, "1f9a0a"), (42, 8, "2a"), (0, 7, "00"), (127, 7, "7f00")]
    {
        let mut out = Vec::new();
        integer::write(value, bits, 0, &mut out);
        assert_eq!((out.clone(), integer::read(&out, bits)), (bytes(hex), Some((value, out.len()))));
    }
    for broken in ["", "1f", "1f80", "1fffffffffff", "1f8080808001", "1fffffffff7f"] {
        assert_eq!(integer::read(&bytes(broken), 5), None, "{broken}");
    }
}

/// RFC 7541 appendices C.2 to C.4: requests, with and without Huffman codes.
#[test]
fn requests_of_the_rfc() {
    assert_eq!(
        list(&mut Decoder::new(4_096), "400a637573746f6d2d6b65790d637573746f6d2d686561646572"),
        "custom-key: custom-header\n"
    );
    assert_eq!(list(&mut Decoder::new(4_096), "040c2f73616d706c652f70617468"), ":path: /sample/path\n");
    assert_eq!(list(&mut Decoder::new(4_096), "100870617373776f726406736563726574"), "password: secret\n");
    let first = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
    let second = format!("{first}cache-control: no-cache\n");
    let third = ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n";
    let plain = [
        "828684410f7777772e6578616d706c652e636f6d",
        "828684be58086e6f2d6361636865",
        "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ];
    let coded = [
        "828684418cf1e3c2e5f23a6ba0ab90f4ff",
        "828684be5886a8eb10649cbf",
        "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ];
    for blocks in [plain, coded] {
        let mut decoder = Decoder::new(4_096);
        assert_eq!((list(&mut decoder, blocks[0]), decoder.size()), (first.to_owned(), 57));
        assert_eq!((list(&mut decoder, blocks[1]), decoder.size()), (second.clone(), 110));
        assert_eq!((list(&mut decoder, blocks[2]), decoder.size()), (third.to_owned(), 164));
    }
}

/// RFC 7541 appendices C.5 and C.6: responses, with a table of 256 bytes that drives fields out.
#[test]
fn responses_of_the_rfc() {
    let date = "Mon, 21 Oct 2013 20:13:21 GMT";
    let first =
        format!(":status: 302\ncache-control: private\ndate: {date}\nlocation: https://www.example.com\n");
    let second = first.replace("302", "307");
    let third = format!(
        ":status: 200\ncache-control: private\ndate: {}\nlocation: https://www.example.com\ncontent-encoding: gzip\n\
         set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
        date.replace(":21", ":22")
    );
    let plain = [
        "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
    ];
    let coded = [
        "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
        "4883640effc1c0bf",
        "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
    ];
    for blocks in [plain, coded] {
        let mut decoder = Decoder::new(256);
        assert_eq!((list(&mut decoder, blocks[0]), decoder.size()), (first.clone(), 222));
        assert_eq!((list(&mut decoder, blocks[1]), decoder.size()), (second.clone(), 222));
        assert_eq!((list(&mut decoder, blocks[2]), decoder.size()), (third.clone(), 215));
    }
}

#[test]
fn blocks_that_are_none_are_refused() {
    let refused = |block: &str| Decoder::new(4_096).decode(&bytes(block), 65_536, |_, _| {}).unwrap_err();
    assert_eq!(refused("80"), "an index that no table has");
    assert_eq!(refused("be"), "an index that no table has");
    assert_eq!(refused("ff"), "a bad integer in a header block");
    assert_eq!(refused("4003616263"), "a bad integer in a header block");
    assert_eq!(refused("400361626305"), "a header block that is cut short");
    assert_eq!(refused("8220"), "a new table size inside a header block");
    assert_eq!(refused("3fe21f"), "a table size above the announced one");
    // Padding that is not the end's beginning, eight bits of it, and the end itself (section 5.2).
    for text in ["00811800", "00821fff00", "0084ffffffff00"] {
        assert_eq!(refused(text), "a bad Huffman code in a header block", "{text}");
    }
    // A kilobyte that stands for 4 MB.
    let mut decoder = Decoder::new(4_096);
    let mut bomb = bytes("4001617f811e");
    bomb.extend([b'x'; 3_968]);
    assert!(decoder.decode(&bomb, 65_536, |_, _| {}).is_ok());
    assert_eq!(decoder.decode(&[0xbe; 1_000], 65_536, |_, _| {}), Err("a header list that is too large"));
}

#[test]
fn fields_are_indexed_once_they_are_known() {
    let mut fields = Fields::default();
    let (get, host) = (fields.always(":method", b"GET"), fields.always("x-a", b"b"));
    let path = Fields::named(":path");
    let (mut encoder, mut decoder) = (Encoder::new(4_096), Decoder::new(4_096));
    let mut lens = Vec::new();
    for _ in 0..2 {
        let mut block = Vec::new();
        encoder.begin(&mut block);
        encoder.put(&get, &mut block);
        encoder.put(&host, &mut block);
        encoder.put_value(&path, b"/7", &mut block);
        lens.push(block.len());
        let mut seen = Vec::new();
        decoder.decode(&block, 4_096, |name, value| seen.push([name, b"=", value].concat())).unwrap();
        assert_eq!(seen, [&b":method=GET"[..], b"x-a=b", b":path=/7"]);
    }
    assert_eq!(lens, [12, 6]);
    // A peer with a smaller table, then none (section 4.2).
    for most in [40, 0] {
        encoder.set_most(most);
        for _ in 0..2 {
            let mut block = Vec::new();
            encoder.begin(&mut block);
            encoder.put(&host, &mut block);
            let mut seen = 0;
            decoder.decode(&block, 4_096, |_, _| seen += 1).unwrap();
            assert_eq!((seen, decoder.size() <= most), (1, true));
        }
    }
}

proptest! {
    #[test]
    fn huffman_codes_say_what_was_written(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (mut coded, mut again) = (Vec::new(), Vec::new());
        huffman::encode(&text, &mut coded);
        prop_assert_eq!(coded.len(), huffman::len(&text));
        prop_assert_eq!(huffman::decode(&coded, &mut again), Some(()));
        prop_assert_eq!(again, text);
    }

    #[test]
    fn tables_stay_in_step(
        turns in proptest::collection::vec((0usize..40, 0u32..6), 1..200),
    ) {
        let mut fields = Fields::default();
        let all: Vec<Field> = (0..40).map(|n| fields.always(&format!("x-{n}"), "v".repeat(n * 9).as_bytes())).collect();
        let (mut encoder, mut decoder) = (Encoder::new(4_096), Decoder::new(4_096));
        for (number, resize) in turns {
            if resize == 0 {
                encoder.set_most(number as u32 * 100);
            }
            let mut block = Vec::new();
            encoder.begin(&mut block);
            encoder.put(&all[number], &mut block);
            let mut seen = Vec::new();
            decoder.decode(&block, 65_536, |name, value| seen.push((name.to_vec(), value.len()))).unwrap();
            prop_assert_eq!(seen, vec![(format!("x-{number}").into_bytes(), number * 9)]);
        }
    }
}

/// Frames as a peer writes them.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&FrameHead { len: payload.len() as u32, kind, flags, stream }.write()[..], payload].concat()
}

const BODY: Body = Body { source: 0, number: 7 };

/// One end and how far it is.
struct End {
    connection: Connection<u32>,
    sent: u64,
    acknowledged: u64,
    log: Vec<u8>,
    seen: Vec<String>,
}

impl End {
    fn new(role: Role) -> Self {
        let connection = Connection::new(role, &Announced::default());
        Self { connection, sent: 0, acknowledged: 0, log: Vec::new(), seen: Vec::new() }
    }

    /// Pending output, at most this number of bytes. Some earlier output is checked again.
    fn take(&mut self, most: usize) -> Vec<u8> {
        self.connection.flush();
        self.sent += self.connection.asked();
        let from = self.log.len() as u64;
        let mut out = vec![0xee; (self.sent - from).min(most as u64) as usize];
        let body = |body: Body, offset: u64, out: &mut [u8]| {
            out.iter_mut()
                .enumerate()
                .for_each(|(at, byte)| *byte = (offset as usize + at) as u8 ^ body.number as u8);
        };
        self.connection.fill(from, &mut out, body);
        self.log.extend_from_slice(&out);
        let again = (self.acknowledged.max(from.saturating_sub(700))) as usize;
        let mut same = vec![0; self.log.len() - again];
        self.connection.fill(again as u64, &mut same, body);
        assert_eq!(same, self.log[again..], "bytes from {again} on changed");
        out
    }

    fn hear(&mut self, mut input: &[u8]) -> Result<(), Fault> {
        let mut seen = Vec::new();
        let outcome = loop {
            let text = match self.connection.read(0, &mut input) {
                Ok(None) => break Ok(()),
                Err(fault) => break Err(fault),
                Ok(Some(Event::Head { stream, end })) => {
                    let head = self.connection.head();
                    let method = String::from_utf8_lossy(&head.method).into_owned();
                    format!("{stream} {method}{} {end}", head.status)
                }
                Ok(Some(Event::Data { stream, bytes, end })) => format!("{stream} {} {end}", bytes.len()),
                Ok(Some(Event::Trailers { stream })) => format!("{stream} 0 true"),
                Ok(Some(other)) => format!("{other:?}"),
            };
            seen.push(text);
        };
        self.seen.append(&mut seen);
        outcome
    }

    /// A server that was greeted.
    fn greeted() -> Self {
        let mut server = Self::new(Role::Server);
        server.hear(&[&PREFACE[..], &frame(frame::SETTINGS, 0, 0, &[])].concat()).unwrap();
        server.take(usize::MAX);
        server.seen.clear();
        server
    }

    /// The frames it has to send: kinds, streams, and payloads.
    fn frames(&mut self) -> Vec<(u8, u32, Vec<u8>)> {
        let all = self.take(usize::MAX);
        let (mut rest, mut frames) = (&all[..], Vec::new());
        while let Some(bytes) = rest.first_chunk::<HEAD>() {
            let head = FrameHead::read(bytes);
            frames.push((head.kind, head.stream, rest[HEAD..HEAD + head.len as usize].to_vec()));
            rest = &rest[HEAD + head.len as usize..];
        }
        frames
    }
}

fn request(end: &mut End, bodiless: bool, body: u64) -> u32 {
    let stream = end.connection.open(0, bodiless);
    let mut fields = Fields::default();
    let mut block = Vec::new();
    for (name, value) in [(":method", "GET"), (":scheme", "http"), (":path", "/a"), (":authority", "x")] {
        let field = fields.always(name, value.as_bytes());
        let encoder = end.connection.encoder();
        encoder.put_value(&Fields::named(name), value.as_bytes(), &mut block);
        drop(field);
    }
    end.connection.send_head(stream, &block, body == 0, 0);
    if body > 0 {
        end.connection.send_body(stream, BODY, body, 0);
    }
    stream
}

fn respond(end: &mut End, stream: u32, body: u64) {
    let mut block = Vec::new();
    end.connection.encoder().put_value(&Fields::named(":status"), b"200", &mut block);
    end.connection.send_head(stream, &block, body == 0, 3);
    if body > 0 {
        end.connection.send_body(stream, BODY, body, 3);
    }
}

/// Carries bytes both ways in pieces until both ends are silent; everything is acknowledged at once.
fn carry(client: &mut End, server: &mut End, cut: usize) -> Vec<u8> {
    let mut tags = Vec::new();
    loop {
        let there = client.take(cut);
        server.hear(&there).unwrap();
        client.acknowledged = client.log.len() as u64;
        client.connection.acknowledged(client.acknowledged, |tag| tags.push(tag));
        let back = server.take(cut);
        client.hear(&back).unwrap();
        server.acknowledged = server.log.len() as u64;
        server.connection.acknowledged(server.acknowledged, |tag| tags.push(tag));
        if there.is_empty() && back.is_empty() {
            return tags;
        }
    }
}

#[test]
fn requests_and_bodies_pass_in_any_pieces() {
    for cut in [1, 7, 1_460, 1 << 20] {
        let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
        assert!(client.connection.may_open());
        let stream = request(&mut client, false, 100_000);
        assert!(!client.connection.may_open(), "one request before SETTINGS have come");
        carry(&mut client, &mut server, cut);
        assert!(client.connection.may_open());
        assert_eq!((server.seen[2].as_str(), server.connection.streams()), ("1 GET0 false", 1));
        let body = |seen: &[String]| -> usize {
            seen.iter().filter_map(|text| text.split(' ').nth(1)?.parse::<usize>().ok()).sum()
        };
        assert_eq!(body(&server.seen[3..]), 100_000);
        respond(&mut server, stream, 3_000_000);
        assert_eq!(carry(&mut client, &mut server, cut), [3]);
        assert_eq!(body(&client.seen), 3_000_200, "more than both windows");
        assert_eq!(client.seen.last().unwrap().rsplit(' ').next(), Some("true"));
        assert_eq!((server.connection.streams(), client.connection.take(stream)), (0, Some(0)));
        // What an idle connection keeps of what it has sent.
        for end in [&client, &server] {
            let (sent, _) = end.connection.held();
            assert!(sent <= 300 && end.connection.is_delivered(), "{sent} bytes");
        }
    }
}

/// Parts of a body, some of them kept bytes, then trailers whose fields are kept; windows are smaller than the body.
#[test]
fn parts_make_a_body_that_trailers_end() {
    for cut in [1, 1_460, 1 << 20] {
        let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
        client.connection.keep(&["x-sum", "x-none"]);
        let stream = request(&mut client, false, 0);
        carry(&mut client, &mut server, cut);
        let mut block = Vec::new();
        server.connection.encoder().put_value(&Fields::named(":status"), b"200", &mut block);
        server.connection.send_head(stream, &block, false, 0);
        client.seen.clear();
        let copy: Vec<u8> = (0..2_000_000_u32).map(|at| (at / 7) as u8).collect();
        for (part, bytes) in [(0, 300_000), (1, 0), (2, 5)] {
            assert_eq!(server.connection.drained(), None);
            match bytes {
                0 => server.connection.send_copy(stream, copy.clone()),
                bytes => server.connection.send_part(stream, Body { source: 0, number: part }, bytes),
            }
            carry(&mut client, &mut server, cut);
            assert_eq!((server.connection.drained(), server.connection.drained()), (Some(stream), None));
        }
        let (_, held) = server.connection.held();
        assert!(held < 10_000, "{held} bytes are held after all are acknowledged");
        assert!(server.log.windows(9_000).any(|window| window == &copy[4_000..13_000]) || cut == 1);
        block.clear();
        for (name, value) in [("x-sum", "7"), ("x-sum", "8"), ("x-other", "9")] {
            server.connection.encoder().put_value(&Fields::named(name), value.as_bytes(), &mut block);
        }
        server.connection.send_head(stream, &block, true, 3);
        assert_eq!(carry(&mut client, &mut server, cut), [3]);
        let got: usize =
            client.seen.iter().filter_map(|text| text.split(' ').nth(1)?.parse::<usize>().ok()).sum();
        assert_eq!(got, 200 + 2_300_005, "the status, and the body");
        assert_eq!(client.seen.last().map(String::as_str), Some("1 0 true"));
        let head = client.connection.head();
        assert!(head.is_trailer());
        assert_eq!(
            (head.value("x-sum"), head.value("x-none"), head.value("x-other")),
            (Some(&b"7"[..]), None, None)
        );
        assert_eq!(server.connection.streams(), 0);
    }
}

#[test]
fn parts_end_without_trailers_too() {
    let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
    let stream = client.connection.open(0, false);
    let mut block = Vec::new();
    for (name, value) in [(":method", "GET"), (":scheme", "http"), (":path", "/a")] {
        client.connection.encoder().put_value(&Fields::named(name), value.as_bytes(), &mut block);
    }
    client.connection.send_head(stream, &block, false, 0);
    client.connection.send_part(stream, Body { source: 0, number: 0 }, 10);
    carry(&mut client, &mut server, 1_460);
    assert_eq!(
        (client.connection.drained(), server.seen.last().map(String::as_str)),
        (Some(stream), Some("1 10 false"))
    );
    client.connection.send_end(stream, 5);
    client.connection.send_end(stream, 5);
    assert_eq!(carry(&mut client, &mut server, 1_460), [5]);
    assert_eq!(server.seen.last().map(String::as_str), Some("1 0 true"));
}

#[test]
fn a_hundred_streams_share_the_connection() {
    let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
    carry(&mut client, &mut server, 1_000);
    let streams: Vec<u32> = (0..100).map(|_| request(&mut client, false, 0)).collect();
    carry(&mut client, &mut server, 1_000);
    streams.iter().for_each(|stream| respond(&mut server, *stream, 50_000));
    server.connection.flush();
    let (sent, _) = server.connection.held();
    assert!(sent <= 20_000 && server.connection.is_full() == (sent > 0), "{sent} bytes");
    assert_eq!(carry(&mut client, &mut server, 1_000).len(), 100);
    // Each has its share: the first parts of all come before the second of any.
    let first: Vec<&String> = client.seen.iter().filter(|text| text.contains(" 16384 ")).collect();
    assert!(first.is_empty() || first.len() >= 100);
    for stream in streams {
        assert!(client.connection.take(stream).is_some());
    }
    assert_eq!(client.connection.streams(), 0);
}

/// A request of a stream in one frame.
fn get(stream: u32, flags: u8) -> Vec<u8> {
    frame(frame::HEADERS, flags | frame::END_HEADERS, stream, &bytes("828684410178"))
}

#[test]
fn faults_end_connections_with_a_reason() {
    let flood: Vec<u8> = (0..2_001).flat_map(|_| frame(frame::PING, 0, 0, &[0; 8])).collect();
    let settings: Vec<u8> = (0..2_001).flat_map(|_| frame(frame::SETTINGS, 0, 0, &[])).collect();
    let empty: Vec<u8> =
        [get(1, 0), (0..2_001).flat_map(|_| frame(frame::DATA, 0, 1, &[])).collect::<Vec<u8>>()].concat();
    let go_on: Vec<u8> = (0..64).flat_map(|_| frame(frame::CONTINUATION, 0, 1, &[])).collect();
    let go_on = [frame(frame::HEADERS, 0, 1, &bytes("82")), go_on].concat();
    let cancelled: Vec<u8> = (0..101)
        .flat_map(|n| [get(2 * n + 1, 1), frame(frame::RST_STREAM, 0, 2 * n + 1, &[0, 0, 0, 8])].concat())
        .collect();
    let mut huge = bytes("4001617f811e");
    huge.extend([b'x'; 3_968]);
    huge.extend([0xbe; 1_000]);
    let cases: Vec<(Vec<u8>, Code)> = vec![
        (frame(frame::DATA, 0, 1, b"x"), Code::PROTOCOL_ERROR),
        (frame(frame::HEADERS, 5, 2, &bytes("828684")), Code::PROTOCOL_ERROR),
        (frame(frame::HEADERS, 5, 1, &bytes("be")), Code::COMPRESSION_ERROR),
        (
            [frame(frame::HEADERS, 1, 1, &bytes("82")), frame(frame::PING, 0, 0, &[0; 8])].concat(),
            Code::PROTOCOL_ERROR,
        ),
        (frame(frame::HEADERS, 13, 1, &bytes("09828684")), Code::PROTOCOL_ERROR),
        (frame(frame::SETTINGS, 0, 0, &[0; 5]), Code::FRAME_SIZE_ERROR),
        (frame(frame::SETTINGS, 0, 0, &bytes("000480000000")), Code::FLOW_CONTROL_ERROR),
        (frame(frame::SETTINGS, 0, 0, &bytes("000500003fff")), Code::PROTOCOL_ERROR),
        (frame(frame::SETTINGS, 1, 0, &[0; 6]), Code::FRAME_SIZE_ERROR),
        (frame(frame::PUSH_PROMISE, 4, 1, &bytes("00000002828684")), Code::PROTOCOL_ERROR),
        (frame(frame::WINDOW_UPDATE, 0, 0, &[0; 4]), Code::PROTOCOL_ERROR),
        (frame(frame::WINDOW_UPDATE, 0, 0, &bytes("7fffffff")), Code::FLOW_CONTROL_ERROR),
        (frame(frame::GOAWAY, 0, 0, &[0; 7]), Code::FRAME_SIZE_ERROR),
        (frame(frame::RST_STREAM, 0, 1, &[0; 4]), Code::PROTOCOL_ERROR),
        (frame(frame::CONTINUATION, 4, 1, &[]), Code::PROTOCOL_ERROR),
        (frame(frame::DATA, 0, 1, &[0; 16_385]), Code::FRAME_SIZE_ERROR),
        (flood, Code::ENHANCE_YOUR_CALM),
        (settings, Code::ENHANCE_YOUR_CALM),
        (empty, Code::ENHANCE_YOUR_CALM),
        (go_on, Code::ENHANCE_YOUR_CALM),
        (cancelled, Code::ENHANCE_YOUR_CALM),
        (frame(frame::HEADERS, 5, 1, &huge), Code::ENHANCE_YOUR_CALM),
    ];
    for (index, (input, code)) in cases.into_iter().enumerate() {
        let mut server = End::greeted();
        let fault = server.hear(&input).expect_err(&format!("case {index}"));
        assert_eq!(fault.code, code, "case {index}: {}", fault.why);
        let last = server.frames().pop().expect("GOAWAY");
        assert_eq!((last.0, &last.2[4..]), (frame::GOAWAY, &code.0.to_be_bytes()[..]), "case {index}");
        // It reads nothing more.
        assert_eq!(server.hear(&get(9, 1)), Ok(()));
    }
    let mut client = End::new(Role::Client);
    assert_eq!(client.hear(b"HTTP/1.1 400 Bad Request\r\n").unwrap_err().why, Fault::NO_SETTINGS);
    assert_eq!(End::new(Role::Server).hear(b"GET / HTTP/1.1\r\n\r\n").unwrap_err().why, Fault::NO_PREFACE);
}

#[test]
fn faults_of_streams_leave_the_others() {
    let upper = bytes("828684410178400358612d0162");
    let cases = [
        (frame(frame::HEADERS, 5, 1, &upper), "not in lower case"),
        (frame(frame::HEADERS, 5, 1, &bytes("8286")), "no :method"),
        (frame(frame::HEADERS, 5, 1, &bytes("828286844101 78")), "twice"),
        (frame(frame::HEADERS, 5, 1, &bytes("8286844101780f0d0131")), "content-length"),
        ([get(1, 0), frame(frame::HEADERS, 4, 1, &bytes("8286"))].concat(), "pseudo"),
        ([get(1, 1), frame(frame::DATA, 0, 1, b"x")].concat(), "after the end"),
        ([get(1, 0), frame(frame::WINDOW_UPDATE, 0, 1, &[0; 4])].concat(), "by nothing"),
    ];
    for (input, why) in cases {
        let mut server = End::greeted();
        server.hear(&input).unwrap();
        let seen = server.seen.last().unwrap().clone();
        assert!(seen.starts_with("Broken") && seen.contains(why), "{why}: {seen}");
        assert!(server.frames().iter().any(|(kind, stream, _)| (*kind, *stream) == (frame::RST_STREAM, 1)));
        server.hear(&get(3, 1)).unwrap();
        assert_eq!(server.seen.last().unwrap(), "3 GET0 true");
    }
}

#[test]
fn more_requests_than_announced_are_refused() {
    let mut server = End::greeted();
    for n in 0..257 {
        server.hear(&get(2 * n + 1, 1)).unwrap();
    }
    assert_eq!((server.connection.streams(), server.seen.last().unwrap().as_str()), (256, "Refused"));
    assert_eq!(server.frames().pop().unwrap().2, Code::REFUSED_STREAM.0.to_be_bytes());
}

#[test]
fn windows_are_kept_and_may_go_below_zero() {
    let mut server = End::greeted();
    server.hear(&frame(frame::SETTINGS, 0, 0, &bytes("000400000003"))).unwrap();
    server.hear(&get(1, 1)).unwrap();
    respond(&mut server, 1, 10);
    let data = |frames: Vec<(u8, u32, Vec<u8>)>| -> Vec<usize> {
        frames.iter().filter(|(kind, ..)| *kind == frame::DATA).map(|(.., payload)| payload.len()).collect()
    };
    assert_eq!(data(server.frames()), [3]);
    // 3 - 3 + (2 - 3) = -1: two more bytes are one.
    server.hear(&frame(frame::SETTINGS, 0, 0, &bytes("000400000002"))).unwrap();
    server.hear(&frame(frame::WINDOW_UPDATE, 0, 1, &bytes("00000002"))).unwrap();
    assert_eq!(data(server.frames()), [1]);
    server.hear(&frame(frame::SETTINGS, 0, 0, &bytes("000400000064"))).unwrap();
    assert_eq!((data(server.frames()), server.connection.streams()), (vec![6], 0));
}

#[test]
fn a_client_follows_limits_and_goaway() {
    let mut client = End::new(Role::Client);
    client.hear(&frame(frame::SETTINGS, 0, 0, &bytes("000300000002"))).unwrap();
    let streams = [request(&mut client, false, 0), request(&mut client, false, 0)];
    assert!(!client.connection.may_open() && client.connection.peer_streams() == Some(2));
    client.hear(&frame(frame::GOAWAY, 0, 0, &bytes("0000000100000000"))).unwrap();
    client.hear(&frame(frame::HEADERS, 5, 1, &bytes("88"))).unwrap();
    assert_eq!(client.seen[1..], ["GoAway { last: 1, code: Code(0) }", "1 200 true"]);
    assert_eq!(client.connection.take(streams[0]), Some(0));
    assert!(!client.connection.may_open() && client.connection.left() == Some(1));
    // Informational heads come before, and a body that is too short breaks the stream.
    client.hear(&frame(frame::HEADERS, 4, 3, &bytes("4803313030"))).unwrap();
    client.hear(&frame(frame::HEADERS, 4, 3, &bytes("880f0d0135"))).unwrap();
    client.hear(&frame(frame::DATA, 1, 3, b"abcd")).unwrap();
    let seen = &client.seen[3..];
    assert!(
        seen[0] == "3 100 false" && seen[1] == "3 200 false" && seen[2].starts_with("Broken"),
        "{seen:?}"
    );
}

#[test]
fn padding_and_priorities_are_passed_over() {
    let mut server = End::greeted();
    let priority = bytes("0000000b10");
    let head = [&[2][..], &priority, &bytes("828684410178"), &[0, 0]].concat();
    server.hear(&frame(frame::HEADERS, 4 | 8 | 0x20, 1, &head)).unwrap();
    server.hear(&frame(frame::PRIORITY, 0, 5, &priority)).unwrap();
    let data = frame(frame::DATA, 1 | 8, 1, &[3, b'a', b'b', 0, 0, 0]);
    for byte in &data {
        server.hear(std::slice::from_ref(byte)).unwrap();
    }
    assert_eq!(server.seen, ["1 GET0 false", "1 1 false", "1 1 true"]);
}

/// RFC 8441: a server that announces extended CONNECT takes it, if it is whole; another one does not.
#[test]
fn extended_connect_is_taken_where_it_is_announced() {
    for connect in [true, false] {
        let announced = Announced { connect, ..Announced::default() };
        let mut client = Connection::<()>::new(Role::Client, &Announced::default());
        let mut server = Connection::<()>::new(Role::Server, &announced);
        let mut said = vec![0; server.asked() as usize];
        server.fill(0, &mut said, |_, _, _| {});
        let mut input = &said[..];
        while client.read(0, &mut input).unwrap().is_some() {}
        assert_eq!(client.peer_connects(), connect);
        let all: [(&str, &[u8]); 5] = [
            (":method", b"CONNECT"),
            (":protocol", b"websocket"),
            (":scheme", b"http"),
            (":path", b"/a"),
            (":authority", b"h"),
        ];
        for left_out in 0..=all.len() {
            let mut block = Vec::new();
            for (_, (name, value)) in all.iter().enumerate().filter(|(number, _)| *number != left_out) {
                client.encoder().put_value(&Fields::named(name), value, &mut block);
            }
            let id = client.open((), false);
            client.send_head(id, &block, false, 0);
        }
        let mut said = vec![0; client.asked() as usize];
        client.fill(0, &mut said, |_, _, _| {});
        let (mut input, mut heads, mut broken) = (&said[..], Vec::new(), 0);
        while let Some(event) = server.read(0, &mut input).unwrap() {
            match event {
                Event::Head { .. } => {
                    heads.push((server.head().protocol.clone(), server.head().path.clone()))
                }
                Event::Broken { .. } => broken += 1,
                _ => {}
            }
        }
        let plain = (Vec::new(), b"/a".to_vec());
        let whole = (b"websocket".to_vec(), b"/a".to_vec());
        let expected = if connect { vec![plain, whole] } else { vec![plain] };
        assert_eq!((heads, broken), (expected, if connect { 4 } else { 5 }));
        let wrong = |value: u8| [&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0][..], &[value]].concat();
        assert!(client.read(0, &mut &wrong(2)[..]).is_err());
    }
}
