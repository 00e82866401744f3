use crate::qpack::{self, Field};
use crate::*;
use proptest::prelude::*;

/// Pieces of a stream, received in pieces of `len`.
fn read(role: Role, bytes: &[u8], len: usize) -> Result<Vec<String>, Fault> {
    let (mut reader, mut head, mut said) = (Reader::new(role), Head::default(), Vec::<String>::new());
    for mut input in bytes.chunks(len.max(1)) {
        while let Some(piece) = reader.read(&mut input, &mut head)? {
            let text = match piece {
                Piece::Head if role == Role::Server => {
                    format!(
                        "{} {}",
                        String::from_utf8_lossy(&head.method),
                        String::from_utf8_lossy(&head.path)
                    )
                }
                Piece::Head => format!("{} {:?} {}", head.status, head.length, head.is_too_large),
                Piece::Trailers => "trailers".to_owned(),
                Piece::Data(bytes) => match said.last_mut().filter(|text| text.starts_with("data ")) {
                    Some(before) => {
                        before.push_str(&String::from_utf8_lossy(bytes));
                        continue;
                    }
                    None => format!("data {}", String::from_utf8_lossy(bytes)),
                },
            };
            said.push(text);
        }
    }
    reader.finish()?;
    Ok(said)
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    qpack::begin(&mut out);
    fields.iter().for_each(|(name, value)| Field::always(name, value.as_bytes()).put(&mut out));
    out
}

fn framed(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_varint(kind, &mut out);
    write_varint(payload.len() as u64, &mut out);
    out.extend_from_slice(payload);
    out
}

fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    framed(1, &block(fields))
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/x")];

#[test]
fn integers_are_those_of_the_rfc() {
    // RFC 9000 appendix A.1.
    let vectors: [(u64, &[u8]); 4] = [
        (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
        (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
        (15_293, &[0x7b, 0xbd]),
        (37, &[0x25]),
    ];
    for (value, bytes) in vectors {
        let mut out = Vec::new();
        write_varint(value, &mut out);
        assert_eq!((&out[..], read_varint(bytes)), (bytes, Some((value, bytes.len()))));
        assert_eq!(read_varint(&bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(read_varint(&[0x40, 0x25]), Some((37, 2)));
}

#[test]
fn blocks_are_those_of_the_rfc() {
    // RFC 9204 appendix B.1.
    let bytes = [0, 0, 0x51, 0x0b, 0x2f, 0x69, 0x6e, 0x64, 0x65, 0x78, 0x2e, 0x68, 0x74, 0x6d, 0x6c];
    let mut said = Vec::new();
    let size = qpack::decode(&bytes, 1_000, &mut Vec::new(), |name, value| {
        said.push((name.to_vec(), value.to_vec()));
    });
    assert_eq!((size, said), (Ok(48), vec![(b":path".to_vec(), b"/index.html".to_vec())]));
    // Appendix B.2 needs a dynamic table: required insert count 2, and an index behind the base.
    for bytes in [&[0x03, 0x81, 0x10, 0x11][..], &[0, 0, 0x80], &[0, 0, 0x10], &[0, 0, 0x40, 0], &[0, 0, 0]] {
        assert!(qpack::decode(bytes, 1_000, &mut Vec::new(), |_, _| {}).is_err(), "{bytes:x?}");
    }
    // The table ends with number 98.
    assert!(qpack::decode(&[0, 0, 0xff, 35], 1_000, &mut Vec::new(), |_, _| {}).is_ok());
    assert!(qpack::decode(&[0, 0, 0xff, 36], 1_000, &mut Vec::new(), |_, _| {}).is_err());
    assert_eq!(block(&[(":method", "GET"), (":path", "/"), (":status", "200")]), [0, 0, 0xd1, 0xc1, 0xd9]);
}

#[test]
fn messages_are_understood_in_any_pieces() {
    let request =
        [head(&GET), framed(0x21, b"grease"), framed(0, b"ab"), framed(0, b""), framed(0, b"c")].concat();
    let response = [
        head(&[(":status", "103"), ("link", "x")]),
        head(&[(":status", "200"), ("content-length", "5"), ("x-odd", "1")]),
        framed(0, b"hel"),
        framed(0x40 * 0x1f + 0x21, &[7; 300]),
        framed(0, b"lo"),
        head(&[("x-sum", "9")]),
    ]
    .concat();
    for len in 1..40 {
        assert_eq!(read(Role::Server, &request, len).unwrap(), ["GET /x", "data abc"]);
        let said = read(Role::Client, &response, len).unwrap();
        assert_eq!(said, ["103 None false", "200 Some(5) false", "data hello", "trailers"]);
    }
}

#[test]
fn faults_have_their_code_and_a_reason() {
    let get = head(&GET);
    let with = |more: &[u8]| [&get[..], more].concat();
    let server = |bytes: &[u8]| read(Role::Server, bytes, 7).unwrap_err();
    let cases = [
        (framed(0, b"x"), Code::FRAME_UNEXPECTED, false),
        (framed(4, &[]), Code::FRAME_UNEXPECTED, false),
        (framed(5, &[0]), Code::FRAME_UNEXPECTED, false),
        (framed(8, &[0]), Code::FRAME_UNEXPECTED, false),
        (with(&framed(7, &[0])), Code::FRAME_UNEXPECTED, false),
        (framed(1, &[1, 0]), Code::DECOMPRESSION_FAILED, false),
        (framed(1, &[]), Code::DECOMPRESSION_FAILED, false),
        (head(&GET[..3]), Code::MESSAGE_ERROR, true),
        (head(&[GET[0], GET[0], GET[1], GET[3]]), Code::MESSAGE_ERROR, true),
        (head(&[GET[0], GET[1], GET[3], ("connection", "close")]), Code::MESSAGE_ERROR, true),
        (head(&[("x", "y"), GET[0], GET[1], GET[3]]), Code::MESSAGE_ERROR, true),
        (with(&[0, 5, 1]), Code::FRAME_ERROR, false),
        (with(&[0]), Code::FRAME_ERROR, false),
        (Vec::new(), Code::REQUEST_INCOMPLETE, true),
        ([with(&head(&[("x", "y")])), framed(0, b"x")].concat(), Code::FRAME_UNEXPECTED, false),
        (with(&head(&[(":path", "/")])), Code::MESSAGE_ERROR, true),
    ];
    for (bytes, code, of_stream) in cases {
        let fault = server(&bytes);
        assert_eq!((fault.code, fault.of_stream), (code, of_stream), "{bytes:x?}: {}", fault.why);
    }
    let sized = head(&[(":status", "200"), ("content-length", "2")]);
    for body in [&b"abc"[..], b"a"] {
        let fault = read(Role::Client, &[&sized[..], &framed(0, body)].concat(), 9).unwrap_err();
        assert_eq!((fault.code, fault.of_stream), (Code::MESSAGE_ERROR, true));
    }
    let push = read(Role::Client, &framed(5, &[0, 0, 0]), 9).unwrap_err();
    assert_eq!(push.code, Code::ID_ERROR);
}

#[test]
fn a_section_that_is_too_large_is_passed_over() {
    let long = "x".repeat(limits::BLOCK);
    for name in ["a", "x-plain"] {
        let bytes = [head(&[(":status", "431"), (name, &long)]), framed(0, b"ok")].concat();
        let said = read(Role::Client, &bytes, 1_000).unwrap();
        assert_eq!(said.last().unwrap(), "data ok");
        assert!(said[0].ends_with("true"), "{said:?}");
    }
    let mut reader = Reader::new(Role::Server);
    let bytes = framed(1, &vec![0; 1 << 20]);
    for mut piece in bytes.chunks(100) {
        let _ = reader.read(&mut piece, &mut Head::default());
        assert!(reader.held() <= 16);
    }
}

#[test]
fn the_peer_says_what_it_takes() {
    let mut peer = Peer::new(Role::Client);
    for byte in opening(false) {
        assert_eq!(peer.read(3, &[byte]), Ok(Use::Read));
    }
    let settings = peer.settings().unwrap();
    assert_eq!((settings.field_section, settings.table_capacity), (u64::from(limits::FIELD_SECTION), 0));
    assert!(!settings.connect);
    let mut other = Peer::new(Role::Client);
    assert_eq!(other.read(3, &opening(true)), Ok(Use::Read));
    assert!(other.settings().unwrap().connect);
    assert_eq!(peer.read(7, &[2, 0x20]), Ok(Use::Read));
    assert_eq!(peer.read(11, &[3, 0x41, 0x7f, 0x80, 1]), Ok(Use::Read));
    assert_eq!(peer.read(15, &[0x21]), Ok(Use::Stop(Code::STREAM_CREATION_ERROR)));
    let mut bytes = framed(0x1f * 3 + 0x21, b"grease");
    goaway(8, &mut bytes);
    goaway(4, &mut bytes);
    bytes.chunks(3).for_each(|piece| assert_eq!(peer.read(3, piece), Ok(Use::Read)));
    assert_eq!(peer.goaway(), (Some(4), 2));
    let mut above = Vec::new();
    goaway(8, &mut above);
    assert_eq!(peer.read(3, &above).unwrap_err().code, Code::ID_ERROR);
}

#[test]
fn what_a_peer_does_wrong_has_its_code() {
    let settings = |payload: &[u8]| [vec![0], framed(4, payload)].concat();
    let good = settings(&[]);
    let after = |more: Vec<u8>| [good.clone(), more].concat();
    let cases = [
        ([vec![0], framed(7, &[0])].concat(), Code::MISSING_SETTINGS),
        ([vec![0], framed(0x21, &[0])].concat(), Code::MISSING_SETTINGS),
        (settings(&[2, 1]), Code::SETTINGS_ERROR),
        (settings(&[6, 1, 6, 1]), Code::SETTINGS_ERROR),
        (settings(&[8, 2]), Code::SETTINGS_ERROR),
        (settings(&[6]), Code::FRAME_ERROR),
        (after(framed(4, &[])), Code::FRAME_UNEXPECTED),
        (after(framed(0, &[])), Code::FRAME_UNEXPECTED),
        (after(framed(6, &[])), Code::FRAME_UNEXPECTED),
        (after(framed(13, &[0])), Code::FRAME_UNEXPECTED),
        (after(framed(3, &[0])), Code::ID_ERROR),
        (after(framed(7, &[1])), Code::ID_ERROR),
        (after(framed(7, &[0, 0])), Code::FRAME_ERROR),
        (after([4u8, 0x80, 1, 0, 0].to_vec()), Code::FRAME_UNEXPECTED),
        (vec![0, 4, 0x80, 1, 0, 0], Code::EXCESSIVE_LOAD),
        (vec![1, 0], Code::ID_ERROR),
        (vec![2, 0x3f, 1], Code::ENCODER_STREAM_ERROR),
        (vec![3, 0x80], Code::DECODER_STREAM_ERROR),
        ([vec![3, 0x7f], vec![0xff; 12]].concat(), Code::DECODER_STREAM_ERROR),
    ];
    for (bytes, code) in cases {
        let said = Peer::new(Role::Client).read(3, &bytes);
        assert_eq!(said.unwrap_err().code, code, "{bytes:x?}");
    }
    assert_eq!(Peer::new(Role::Server).read(2, &[1]).unwrap_err().code, Code::STREAM_CREATION_ERROR);
    let mut peer = Peer::new(Role::Server);
    assert_eq!(peer.read(2, &good), Ok(Use::Read));
    assert_eq!(peer.read(6, &good).unwrap_err().code, Code::STREAM_CREATION_ERROR);
    assert_eq!(peer.finish(2).unwrap_err().code, Code::CLOSED_CRITICAL_STREAM);
    let mut peer = Peer::new(Role::Server);
    let many = (0..).find_map(|id| peer.read(id, &[0x40]).err()).unwrap();
    assert_eq!(many.code, Code::EXCESSIVE_LOAD);
}

proptest! {
    #[test]
    fn fields_come_back(fields in prop::collection::vec(("[a-z-]{1,20}", "[ -~]{0,40}"), 0..20)) {
        let mut bytes = Vec::new();
        qpack::begin(&mut bytes);
        for (at, (name, value)) in fields.iter().enumerate() {
            match at % 2 {
                0 => Field::always(name, value.as_bytes()).put(&mut bytes),
                _ => Field::named(name).put_value(value.as_bytes(), &mut bytes),
            }
        }
        let mut said = Vec::new();
        let size = qpack::decode(&bytes, u32::MAX, &mut Vec::new(), |name, value| {
            said.push((String::from_utf8_lossy(name).into_owned(), String::from_utf8_lossy(value).into_owned()));
        });
        prop_assert_eq!(size.unwrap() as usize, fields.iter().map(|(n, v)| n.len() + v.len() + 32).sum::<usize>());
        prop_assert_eq!(said, fields);
    }
}

/// Heads that repeat are known by their bytes; whatever comes between them, each has its own content.
#[test]
fn a_head_that_repeats_means_the_same() {
    let other = [(":method", "HEAD"), (":scheme", "https"), (":authority", "a.test"), (":path", "/y")];
    let broken = [(":method", "GET"), (":path", "/x")];
    let trailers = [&head(&GET)[..], &head(&[("x", "y")])].concat();
    let (gets, others) = (head(&GET), head(&other));
    let mut one = Head::default();
    for (bytes, path) in [
        (&gets, Some("/x")),
        (&gets, Some("/x")),
        (&others, Some("/y")),
        (&gets, Some("/x")),
        (&trailers, Some("")),
        (&gets, Some("/x")),
        (&head(&broken), None),
        (&head(&broken), None),
        (&gets, Some("/x")),
    ] {
        let (mut reader, mut input) = (Reader::new(Role::Server), &bytes[..]);
        let mut failed = false;
        while !input.is_empty() && !failed {
            failed = reader.read(&mut input, &mut one).is_err();
        }
        assert_eq!((!failed).then_some(&one.path[..]), path.map(str::as_bytes));
    }
    // A length counts for each response anew.
    let response = [head(&[(":status", "200"), ("content-length", "1")]), framed(0, b"a")].concat();
    let mut one = Head::default();
    for _ in 0..3 {
        let (mut reader, mut input) = (Reader::new(Role::Client), &response[..]);
        while reader.read(&mut input, &mut one).unwrap().is_some() {}
        assert_eq!((reader.finish(), one.length), (Ok(()), Some(1)));
    }
}
