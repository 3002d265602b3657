//! Faults, in process and over HTTP.

use std::time::Duration;

use ostler_engine::history::Item;
use ostler_engine::model::{Chunk, ModelErrorKind};
use ostler_scripted::Script;
use ostler_scripted::mock::{LOOPBACK, MockLimits, MockServer};

use crate::http::{Response, post};
use crate::support::{ask, model};
use crate::wire::Dialect;

#[tokio::test]
async fn a_fault_is_a_typed_error_after_its_chunks() {
    let check = async |answer: &str, pieces: &[&str], kind, wait| {
        let said = ask(&model(&format!("default: {answer}")), &[Item::user("hi")]).await;
        let (last, before) = said.split_last().expect("an answer");
        let texts: Vec<_> = pieces.iter().map(|text| Ok(Chunk::Text((*text).into()))).collect();
        assert_eq!(before, texts, "{answer}");
        let error = last.as_ref().expect_err(answer);
        assert_eq!((error.kind, error.retry_after), (kind, wait), "{answer}");
    };
    let secs = |secs| Some(Duration::from_secs(secs));
    use ModelErrorKind::{Incomplete, Malformed, Network, Status, TimedOut};
    check("{ fail: 500 }", &[], Status(500), None).await;
    check("{ fail: { how: 429, retry_after: 2s } }", &[], Status(429), secs(2)).await;
    check("{ text: abcdef, chunk: 2, fail: cut }", &["ab"], Incomplete, None).await;
    check(
        "{ text: abcdef, chunk: 2, fail: { how: cut, after: 2 } }",
        &["ab", "cd"],
        Incomplete,
        None,
    )
    .await;
    check("{ text: abc, fail: { how: cut, after: 9 } }", &["abc"], Incomplete, None).await;
    check("{ text: abc, fail: { how: 529, after: 1 } }", &["abc"], Status(529), None).await;
    check("{ text: abc, fail: malformed }", &["abc"], Malformed, None).await;
    check("{ fail: timeout }", &[], TimedOut, None).await;
    check("{ fail: network }", &[], Network, None).await;
}

async fn asked(answer: &str, dialect: Dialect, stream: bool) -> Option<Response> {
    let script = Script::parse("test.yaml", &format!("default: {answer}")).expect("a script");
    let limits = MockLimits { answer: Duration::from_millis(200), ..MockLimits::default() };
    let server = MockServer::start_with(LOOPBACK, script, limits).await.expect("a server");
    let body = dialect.body(stream, &[Item::user("hi")], &[]);
    post(server.address(), dialect.path(), &body).await
}

const BOTH: [Dialect; 2] = [Dialect::OpenAi, Dialect::Anthropic];

#[tokio::test]
async fn a_status_has_its_header_and_message() {
    for dialect in BOTH {
        let answer = "{ fail: { how: 429, retry_after: 1500ms, message: Slow down. } }";
        let response = asked(answer, dialect, true).await.expect("a response");
        assert_eq!(response.status, 429);
        assert!(response.head.contains("retry-after: 2"), "{}", response.head);
        assert_eq!(response.json()["error"]["message"], "Slow down.");
    }
}

#[tokio::test]
async fn a_cut_stream_has_no_end_event() {
    for dialect in BOTH {
        for stream in [true, false] {
            let answer = "{ text: abcdef, chunk: 2, fail: { how: cut, after: 2 } }";
            let response = asked(answer, dialect, stream).await.expect("a response");
            assert!(!response.complete, "{response:?}");
            assert_eq!(response.status, 200);
            if stream {
                let body = &response.body;
                assert!(body.contains("\"cd\"") && !body.contains("\"ef\""), "{body}");
            }
        }
    }
}

#[tokio::test]
async fn a_timeout_fault_lasts_until_the_time_limit() {
    for dialect in BOTH {
        assert!(asked("{ fail: timeout }", dialect, true).await.is_none());
        let begun = "{ text: abc, fail: { how: timeout, after: 1 } }";
        let response = asked(begun, dialect, true).await.expect("a response");
        assert!(!response.complete && response.body.contains("abc"), "{response:?}");
        assert!(asked("{ fail: network }", dialect, true).await.is_none());
        assert!(asked("{ text: x, delay: 600s }", dialect, false).await.is_none());
    }
}

#[tokio::test]
async fn wire_quirks_keep_the_answer_intact() {
    let odd = "{ text: \"è vero\", wire: { split: 1, keep_alive: true, no_done: true } }";
    let response = asked(odd, Dialect::OpenAi, true).await.expect("a response");
    assert!(response.complete && response.pieces >= response.body.len(), "{response:?}");
    assert!(response.body.contains("è vero") && response.body.contains(": keep-alive\n\n"));
    assert!(!response.body.contains("[DONE]"));
    let response = asked(odd, Dialect::Anthropic, true).await.expect("a response");
    assert!(response.body.contains("event: ping\n") && response.body.contains("message_stop"));
}
