//! The event stream parser: tables, every split of the bytes, and random bytes.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use ostler_models::sse::{EventTooLong, SseParser};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

type Events = (Vec<(String, String)>, Option<EventTooLong>);

/// Parses bytes that arrive in these pieces.
fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Events {
    let (mut parser, mut events) = (SseParser::new(limit), Vec::new());
    for piece in pieces {
        parser.feed(piece);
        loop {
            match parser.next_event() {
                Ok(Some(event)) => events.push((event.name.into(), event.data.into())),
                Ok(None) => break,
                Err(error) => return (events, Some(error)),
            }
        }
    }
    match parser.last_event() {
        Ok(event) => events.extend(event.map(|event| (event.name.into(), event.data.into()))),
        Err(error) => return (events, Some(error)),
    }
    (events, None)
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let expected = expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
    assert_eq!(parse([text.as_bytes()], 1000), (expected, None), "{text:?}");
}

#[test]
fn events_are_parsed_as_browsers_do() {
    check("data: a\n\n", &[("", "a")]);
    check("data:a\n\ndata:  b\n\n", &[("", "a"), ("", " b")]);
    check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
    check("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")]);
    check("event: x\r\ndata: a\r\ndata: b\r\n\r\n", &[("x", "a\nb")]);
    check("event: x\rdata: a\rdata: b\r\r", &[("x", "a\nb")]);
    check("data: a\ndata: b\ndata\ndata: c\n\n", &[("", "a\nb\n\nc")]);
    check(": hello\n\n:\n\ndata: a\n: in between\n\n", &[("", "a")]);
    check("event: x\n\ndata: a\n\n", &[("", "a")]);
    check("id: 7\nretry: 10\nother: x\ndatax: y\ndata: a\n\n", &[("", "a")]);
    check("data\n\ndata:\n\n", &[("", ""), ("", "")]);
    check("\u{feff}data: a\n\n", &[("", "a")]);
    check("\n\r\n\r\n\n", &[]);
    check("", &[]);
}

/// An id belongs to one event; in which pieces the bytes come does not matter.
#[test]
fn ids_are_those_of_their_events() {
    let text = "id: 7-1\nevent: x\ndata: a\n\ndata: b\n\nid: 8\n\ndata: c\nid: 9\n\n";
    for size in 1..text.len() {
        let (mut parser, mut ids) = (SseParser::new(100), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            parser.feed(piece);
            while let Some(event) = parser.next_event().unwrap() {
                ids.push((event.id.map(String::from), String::from(event.data)));
            }
        }
        let expected = [(Some("7-1"), "a"), (None, "b"), (Some("9"), "c")];
        let expected = expected.map(|(id, data)| (id.map(str::to_owned), data.to_owned()));
        assert_eq!(ids, expected, "pieces of {size}");
    }
}

#[test]
fn the_last_event_may_lack_its_blank_line() {
    check("data: a\n\ndata: b", &[("", "a"), ("", "b")]);
    check("data: b\n", &[("", "b")]);
    check("data: b\r", &[("", "b")]);
    check("event: x\ndata: a\ndata: b", &[("x", "a\nb")]);
    check("event: x\n", &[]);
    check(": only a comment", &[]);
}

#[test]
fn events_have_a_size_limit_and_streams_have_none() {
    let long = format!("data: a\n\ndata: {}\n\n", "x".repeat(100));
    let (events, error) = parse([long.as_bytes()], 50);
    assert_eq!((events.len(), error), (1, Some(EventTooLong { limit: 50 })));
    let many = "data: 0123456789\n".repeat(10);
    assert_eq!(parse([many.as_bytes()], 50).1, Some(EventTooLong { limit: 50 }));
    let calm = ": keep-alive\n".repeat(100) + "data: a\n\n" + &":\n\n".repeat(100);
    assert_eq!(parse([calm.as_bytes()], 50), (vec![(String::new(), "a".into())], None));
}

#[test]
fn invalid_utf8_is_replaced() {
    let (events, _) = parse([&b"data: a\xFFb\n\n"[..]], 50);
    assert_eq!(events, [(String::new(), "a\u{fffd}b".to_owned())]);
}

/// Generates almost valid streams: fragments in any order.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop_oneof![
        Just(&b"data: "[..]),
        Just(&b"data:"[..]),
        Just(&b"event: "[..]),
        Just(&b"\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\n\n"[..]),
        Just(&b": "[..]),
        Just("Grüße 🐎".as_bytes()),
        Just(&b"\xEF\xBB\xBF"[..]),
        Just(&b"{\"a\": 1}"[..]),
        Just(&b"[DONE]"[..]),
        Just(&b"\xF0\x9F"[..]),
        Just(&b"\0"[..]),
    ];
    proptest::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

/// Splits the bytes at these positions.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|two| &bytes[two[0]..two[1]]).collect()
}

proptest! {
    #[test]
    fn splitting_the_bytes_does_not_change_the_events(
        bytes in nearly(),
        places in proptest::collection::vec(any::<usize>(), 0..10),
        limit in 1_usize..80,
    ) {
        let whole = parse([&bytes[..]], limit);
        assert_eq!(parse(bytes.chunks(1), limit), whole);
        assert_eq!(parse(cut(&bytes, &places), limit), whole);
    }

    /// Random bytes do not panic, and splitting them changes nothing.
    #[test]
    fn random_bytes_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000),
        size in 1_usize..100,
    ) {
        assert_eq!(parse(bytes.chunks(size), 500), parse([&bytes[..]], 500));
    }
}
