//! The event log, followed over HTTP.

use super::stream::{Event, Stream};
use super::{KEY, Online};
use crate::support::ECHO;

impl Online {
    async fn follow(&self, query: &[(&str, &str)], last: Option<&str>) -> Stream {
        let request = self.http.get(self.url("/v1/events")).bearer_auth(KEY).query(query);
        let mut stream = Stream::open(request, last).await;
        let open = stream.next().await.unwrap();
        assert_eq!(open.kind.as_deref(), Some("open"));
        assert!(open.id.is_some());
        stream
    }
}

/// Returns the next events of the log.
async fn next_events(stream: &mut Stream, many: usize) -> Vec<Event> {
    let mut events = Vec::new();
    while events.len() < many {
        let event = stream.next().await.expect("the stream goes on");
        if event.kind.as_deref() != Some("delta") {
            assert!(event.id.is_some(), "{event:?}");
            events.push(event);
        }
    }
    events
}

/// Z03: a client that reconnects again and again gets the same log as one that was always
/// connected; deltas have no id.
#[tokio::test(flavor = "multi_thread")]
async fn z03_a_client_that_reconnects_sees_no_gap_and_no_repeat() {
    let online = Online::new(ECHO).await;
    let mut steady = online.follow(&[("after", "0-0")], None).await;
    let mut pieces = online.follow(&[("deltas", "true")], None).await;
    for n in 0..6 {
        online.scenario.write(&format!("p{n}"), "hello").await;
    }
    // Each person writes and is answered: two messages and a run.
    let all = next_events(&mut steady, 18).await;
    let mut seen: Vec<Event> = Vec::new();
    while seen.len() < all.len() {
        let last = seen.last().and_then(|event| event.id.clone());
        let after: &[(&str, &str)] = if last.is_none() { &[("after", "0-0")] } else { &[] };
        let mut again = online.follow(after, last.as_deref()).await;
        let more = next_events(&mut again, (all.len() - seen.len()).min(4)).await;
        seen.extend(more);
    }
    assert_eq!(seen, all);
    let session = all[0].data["data"]["session"].as_str().unwrap();
    let expected = all.iter().filter(|event| event.data["data"]["session"] == session);
    let expected: Vec<Event> = expected.cloned().collect();
    let query = [("after", "0-0"), ("session", session)];
    let mut one = online.follow(&query, None).await;
    assert_eq!(next_events(&mut one, expected.len()).await, expected);
    loop {
        let event = pieces.next().await.unwrap();
        if event.kind.as_deref() == Some("delta") {
            assert_eq!(event.id, None);
            break;
        }
    }
}
