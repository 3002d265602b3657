//! Visitors of a web chat.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use ostler_api::page::PageQuery;
use ostler_api::session::{SendMessageRequest, SessionFilter};
use ostler_channels::BindingConfig;
use ostler_channels::connection::ChannelConnection;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::audit::REFUSED;
use ostler_domain::channel::Channel;
use ostler_domain::id::AgentId;
use ostler_domain::org::role::Role;
use ostler_domain::org::settings::OrgSettings;
use ostler_domain::session::guided::{
    InterviewCompletion, InterviewPhase, InterviewQuestion, InterviewTemplate,
};
use ostler_runtime::deps::Clock;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{Online, problem};
use crate::support::{ECHO, ORG, OWNER, WEBCHAT, agent, lenient_settings};

const HELLO: &str = "
delay: 100ms
pause: 20ms
chunk: 8
rules:
  - when: { user: hello }
    answer: '**Hello!** What can I do for you?'
default: I see.
";

const ANSWER: &str = "**Hello!** What can I do for you?";

/// Z03: a visitor gets deltas without an id and each message once, also after a lost
/// connection.
#[tokio::test(flavor = "multi_thread")]
async fn z03_a_reconnecting_visitor_gets_each_message_once() {
    let online = Online::new(HELLO).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    assert_eq!(online.post(&token, "1", "hello").await.status(), 202);
    assert_eq!(online.post(&token, "1", "hello").await.status(), 202, "a repeat is taken once");
    let mut draft = String::new();
    let asked = loop {
        let event = page.next().await.unwrap();
        match event.data["type"].as_str().unwrap() {
            "delta" => {
                assert_eq!(event.data["offset"], draft.len());
                assert_eq!(event.id, None);
                draft.push_str(event.data["text"].as_str().unwrap());
            }
            "message" => break event,
            _ => {}
        }
    };
    // The last deltas may arrive after the message.
    assert!(!draft.is_empty() && ANSWER.starts_with(&draft), "{draft}");
    assert_eq!((&asked.data["from"], &asked.data["text"]), (&"visitor".into(), &"hello".into()));
    let answer = page.message().await;
    assert_eq!(answer.data["from"], "agent");
    assert_eq!(answer.data["name"], "Gia");
    assert_eq!((&answer.data["text"], &answer.data["markdown"]), (&ANSWER.into(), &true.into()));
    drop(page);

    assert_eq!(online.post(&token, "2", "and now").await.status(), 202);
    let mut again = online.listen(&token, answer.id.as_deref()).await;
    let mut seen = vec![again.message().await, again.message().await];
    assert_eq!(seen.iter().map(|one| &one.data["text"]).collect::<Vec<_>>(), ["and now", "I see."]);
    // A stream without a cursor begins with the whole session.
    let mut fresh = online.listen(&token, None).await;
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(fresh.message().await);
    }
    assert_eq!(all, [asked, answer, seen.remove(0), seen.remove(0)]);
}

/// Z03: a stream that is opened while an agent writes begins with the draft so far; so
/// does the stream of the org's events.
#[tokio::test(flavor = "multi_thread")]
async fn z03_a_stream_opened_during_a_turn_begins_with_the_draft() {
    let slow = "
pause: 100ms
chunk: 1
default: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz
";
    let online = Online::new(slow).await;
    let token = online.visitor().await;
    let mut first = online.listen(&token, None).await;
    assert_eq!(online.post(&token, "1", "hello").await.status(), 202);
    let mut written = 0;
    while written < 5 {
        let event = first.next().await.unwrap();
        if event.data["type"] == "delta" {
            written += event.data["text"].as_str().unwrap().len();
        }
    }
    let mut page = online.listen(&token, None).await;
    let request = online.http.get(online.url("/v1/events")).bearer_auth(super::KEY);
    let mut log = super::stream::Stream::open(request.query(&[("deltas", "true")]), None).await;
    let snapshot = loop {
        let event = log.next().await.unwrap();
        if event.kind.as_deref() == Some("delta") {
            break event;
        }
    };
    assert_eq!((&snapshot.data["offset"], snapshot.id), (&0.into(), None));
    assert!(snapshot.data["text"].as_str().unwrap().len() >= 5, "{:?}", snapshot.data);
    let mut draft = String::new();
    loop {
        let event = page.next().await.unwrap();
        match event.data["type"].as_str().unwrap() {
            "delta" => {
                assert_eq!((&event.data["offset"], event.id), (&draft.len().into(), None));
                let text = event.data["text"].as_str().unwrap();
                assert!(!draft.is_empty() || text.len() >= 5, "it begins with what there was");
                draft.push_str(text);
            }
            "message" if event.data["from"] == "agent" => {
                let text = event.data["text"].as_str().unwrap();
                assert!(!draft.is_empty() && text.starts_with(&draft), "{draft}");
                break;
            }
            _ => {}
        }
    }
}

/// Z03, Z08: a page shows a reply once it was sent, and never one that a takeover withdrew.
#[tokio::test(flavor = "multi_thread")]
async fn z08_a_page_shows_what_was_sent_and_nothing_that_was_withdrawn() {
    let online = Online::without_delivery(ECHO).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    online.post(&token, "1", "hello").await;
    assert_eq!(page.message().await.data["text"], "hello");
    let client = online.client(super::KEY);
    let bella = client.org(ORG);
    let session = loop {
        let sessions = bella.sessions(SessionFilter::All, &PageQuery::default()).await.unwrap();
        if let Some(session) = sessions.items.first()
            && !bella.session(session.id).await.unwrap().runs.is_empty()
        {
            break session.id;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let early = tokio::time::timeout(Duration::from_millis(300), page.message()).await;
    assert!(early.is_err(), "the reply was not sent yet: {early:?}");

    assert_eq!(bella.take_over(session).await.unwrap().withdrawn, 1);
    bella.say(session, &SendMessageRequest { text: "I am Ada".into() }).await.unwrap();
    online.scenario.deliver().await;
    let mut fresh = online.listen(&token, None).await;
    for stream in [&mut page, &mut fresh] {
        let mut said = stream.message().await.data;
        if said["text"] == "hello" {
            said = stream.message().await.data;
        }
        assert_eq!((&said["from"], &said["text"]), (&"person".into(), &"I am Ada".into()));
    }
}

/// S01: requests to a web chat that are refused are in the audit log of its org.
#[tokio::test(flavor = "multi_thread")]
async fn s01_refused_requests_to_a_web_chat_are_audited() {
    let online = Online::new(ECHO).await;
    let refused = async || {
        let log = online.scenario.org().audit_entries(None, None, 100).await.unwrap();
        log.into_iter().filter(|one| one.entry.action == REFUSED).count()
    };
    let token = online.visitor().await;
    assert_eq!(online.post(&token, "1", "hello").await.status(), 202);
    assert_eq!(refused().await, 0);
    let chat = |path: &str| online.url(&format!("/chat/{WEBCHAT}/{path}"));
    let blob = ostler_domain::id::BlobId::from_u128(1);
    let requests = [
        online.http.post(chat("messages")).bearer_auth("nonsense").json(&json!({})),
        online.http.post(chat("tickets")).bearer_auth("nonsense"),
        online.http.get(chat("events")).query(&[("ticket", "nonsense")]),
        online.http.get(chat(&format!("files/{blob}"))).query(&[("ticket", "nonsense")]),
        online
            .http
            .post(chat("visitors"))
            .header("origin", "https://evil.example")
            .json(&json!({})),
    ];
    let count = requests.len();
    for request in requests {
        let status = request.send().await.unwrap().status().as_u16();
        assert!(matches!(status, 401 | 403 | 404), "{status}");
    }
    assert_eq!(refused().await, count);
}

/// A chat has a page on which only its own script runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_has_a_page_with_a_strict_content_policy() {
    let online = Online::new(ECHO).await;
    let get = |path: String| online.http.get(online.url(&path)).send();
    let page = get(format!("/chat/{WEBCHAT}")).await.unwrap();
    assert_eq!(page.status(), 200);
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'self'"));
    let page = page.text().await.unwrap();
    assert!(page.contains("<h1>Bella Pizza</h1>"), "{page}");
    assert!(page.contains(&format!("data-binding=\"{WEBCHAT}\"")), "{page}");
    let nothing = get(format!("/chat/{}", ostler_domain::id::BindingId::from_u128(404)));
    assert_eq!(problem(nothing.await.unwrap()).await, (404, "not_found".to_owned()));
}

/// Z03: deltas of side turns, here the extraction of interview answers, are not shown to
/// visitors.
#[tokio::test(flavor = "multi_thread")]
async fn z03_deltas_of_side_turns_are_not_shown_to_visitors() {
    let script = "
rules:
  - when: { agent: 'You read answers' }
    answer: '{\"answer\": \"four\", \"confidence\": 95}'
  - when: { user: four }
    answer: { text: A table for four., delay: 200ms }
default: { text: For how many people?, delay: 200ms }
";
    let online = Online::new(script).await;
    let ask = "For how many?".into();
    let questions = vec![InterviewQuestion { field: "people".into(), ask, required: true }];
    let phases = vec![InterviewPhase { name: "booking".into(), questions }];
    let template = InterviewTemplate { phases, completion: InterviewCompletion::AllAsked };
    let interviews = [(Channel::Webchat, template)].into();
    online.scenario.save_settings(&OrgSettings { interviews, ..lenient_settings() }).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    let mut shown = Vec::new();
    for (id, text) in [("1", "a table"), ("2", "four")] {
        assert_eq!(online.post(&token, id, text).await.status(), 202);
        loop {
            let event = page.next().await.unwrap();
            match event.data["type"].as_str().unwrap() {
                "delta" => shown.push(event.data["text"].as_str().unwrap().to_owned()),
                "message" if event.data["from"] == "agent" => break,
                _ => {}
            }
        }
    }
    let run = online.scenario.sessions().await.remove(0).interview.unwrap();
    assert_eq!(run.state.fields()["people"], "four", "it was read");
    let expected = ["For how many people?", "A table for four."];
    assert!(shown.iter().all(|text| expected.contains(&text.as_str())), "{shown:?}");
    assert!(!shown.is_empty());
}

/// A token gives access to its own conversation only.
#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_token_gives_access_to_its_own_conversation_only() {
    let online = Online::new(ECHO).await;
    let (rosa, eve) = (online.visitor().await, online.visitor().await);
    assert_ne!(rosa, eve);
    let mut hers = online.listen(&rosa, None).await;
    online.post(&rosa, "1", "my secret").await;
    hers.message().await;
    let place = hers.message().await.id;
    let mut page = online.listen(&eve, place.as_deref()).await;
    online.post(&eve, "1", "what did she say").await;
    let seen = [page.message().await, page.message().await];
    let texts = seen.map(|one| one.data["text"].as_str().unwrap().to_owned());
    assert_eq!(texts, ["what did she say", "About what did she say: yes."]);
    let url = online.url(&format!("/chat/{WEBCHAT}/events"));
    let forged = format!("{rosa}x");
    let tickets = online.url(&format!("/chat/{WEBCHAT}/tickets"));
    for token in ["", "nonsense", &forged] {
        let refused = online.http.get(&url).query(&[("ticket", token)]).send().await.unwrap();
        assert_eq!(problem(refused).await, (401, "unauthorized".into()), "{token}");
        let refused = online.http.post(&tickets).bearer_auth(token).send().await.unwrap();
        assert_eq!(problem(refused).await.0, 401, "{token}");
        assert_eq!(problem(online.post(token, "9", "hi").await).await.0, 401);
    }
    // S10: a token is not accepted in a URL.
    let in_url = online.http.get(&url).query(&[("ticket", &rosa)]).send().await.unwrap();
    assert_eq!(problem(in_url).await.0, 401);
    let in_url = online.http.get(&url).query(&[("token", &rosa)]).send().await.unwrap();
    assert_eq!(in_url.status().as_u16(), 400);
}

/// S10: the URL of a file is absolute and carries a ticket for this file; a visitor reads the
/// files of their own conversation only.
#[tokio::test(flavor = "multi_thread")]
async fn s10_a_visitor_reads_files_of_their_own_conversation_only() {
    let online = Online::new(ECHO).await;
    let (rosa, eve) = (online.visitor().await, online.visitor().await);
    let mut page = online.listen(&rosa, None).await;
    let file = json!({"name": "a.txt", "media_type": "text/plain", "content": "aGk="});
    let body = json!({"id": "1", "text": "look", "files": [file]});
    let post = online.http.post(online.url(&format!("/chat/{WEBCHAT}/messages")));
    assert_eq!(post.bearer_auth(&rosa).json(&body).send().await.unwrap().status(), 202);
    let message = page.message().await;
    let url = format!("http:{}", message.data["files"][0]["url"].as_str().unwrap());
    assert!(url.starts_with(&format!("{}/chat/{WEBCHAT}/files/blb_", online.base)), "{url}");
    assert!(!url.contains(&rosa), "the token is in no URL");
    let get = async |url: &str| online.http.get(url).send().await.unwrap();
    assert_eq!(get(&url).await.text().await.unwrap(), "hi");

    let (path, ticket) = url.split_once("?ticket=").unwrap();
    assert_eq!(get(path).await.status().as_u16(), 400);
    let stream_ticket = online.ticket(&rosa).await;
    for other in [rosa.as_str(), &stream_ticket, &format!("{ticket}x"), ""] {
        let refused = get(&format!("{path}?ticket={other}")).await;
        assert_eq!(problem(refused).await.0, 401, "{other}");
    }
    // Eve has a ticket that is valid for this file, but it is not in her conversation.
    online.post(&eve, "1", "hello").await;
    let binding = ostler_testkit::binding(WEBCHAT, Channel::Webchat);
    let (settings, secret) = (String::new(), Some("env:CHAT".parse().unwrap()));
    let config = BindingConfig { org: ORG, binding, settings, secret };
    let ChannelConnection::Webchat(chat) = online.channels.open(&config).unwrap() else { panic!() };
    let now = Clock::system().now();
    let blob = path.rsplit('/').next().unwrap().parse().unwrap();
    let hers = chat.file_ticket(&chat.verify_token(&eve, now).unwrap(), blob, now);
    let refused = get(&format!("{path}?ticket={hers}")).await;
    assert_eq!(problem(refused).await, (404, "not_found".into()));
}

/// S10: without a list, only pages of the server itself embed the chat.
#[tokio::test(flavor = "multi_thread")]
async fn s10_the_own_host_is_the_default_origin() {
    let online = Online::new(ECHO).await;
    let hello = |origin: String| {
        let request = online.http.post(online.url(&format!("/chat/{WEBCHAT}/visitors")));
        request.header("origin", origin).json(&json!({})).send()
    };
    assert_eq!(hello(online.base.clone()).await.unwrap().status(), 200);
    for foreign in ["https://evil.example", "http://127.0.0.1:1", "null"] {
        let refused = hello(foreign.to_owned()).await.unwrap();
        assert_eq!(problem(refused).await, (403, "foreign_origin".into()), "{foreign}");
    }
}

/// A page of another origin can neither write nor read.
#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_origins_can_embed_the_chat() {
    let online = Online::new(ECHO).await;
    let settings = r#"{"origins": ["https://bella.example"]}"#;
    super::bind(&online.scenario, WEBCHAT, "webchat".into(), "CHAT", settings).await;
    let hello = |origin: &'static str| {
        let request = online.http.post(online.url(&format!("/chat/{WEBCHAT}/visitors")));
        request.header("origin", origin).json(&serde_json::json!({})).send()
    };
    let known = hello("https://bella.example").await.unwrap();
    assert_eq!(known.headers()["access-control-allow-origin"], "https://bella.example");
    assert_eq!(known.status(), 200);
    let foreign = hello("https://evil.example").await.unwrap();
    assert!(!foreign.headers().contains_key("access-control-allow-origin"));
    assert_eq!(problem(foreign).await, (403, "foreign_origin".into()));
    let asks = online
        .http
        .request(reqwest::Method::OPTIONS, online.url(&format!("/chat/{WEBCHAT}/messages")));
    let asked = asks.header("origin", "https://bella.example").send().await.unwrap();
    assert_eq!(asked.status(), 204);
    let headers = asked.headers()["access-control-allow-headers"].to_str().unwrap();
    assert!(headers.contains("authorization"), "{headers}");
    let widget = online.http.get(online.url("/widget.js")).send().await.unwrap();
    assert_eq!(widget.headers()["content-type"], "text/javascript; charset=utf-8");
    assert!(widget.text().await.unwrap().contains("EventSource"));
}

/// Returns the token of a visitor whose address the page's server has proved.
pub(super) async fn signed_visitor(online: &Online, email: &str) -> String {
    let expires = Clock::system().now().as_millis() / 1000 + 600;
    let mut mac = Hmac::<Sha256>::new_from_slice("c".repeat(40).as_bytes()).unwrap();
    mac.update(format!("webchat identity\0{email}\0{expires}").as_bytes());
    let proof = mac.finalize().into_bytes();
    let proof: String = proof.iter().map(|byte| format!("{byte:02x}")).collect();
    let hello = online.http.post(online.url(&format!("/chat/{WEBCHAT}/visitors")));
    let hello = hello.json(&json!({"email": email, "proof": proof, "expires": expires}));
    let welcome: Value = hello.send().await.unwrap().json().await.unwrap();
    welcome["token"].as_str().unwrap().to_owned()
}

/// L13, L14, S10: the owner, known by an address that the page's server has signed, talks to
/// the PM on the page; everybody else talks to customer service.
#[tokio::test(flavor = "multi_thread")]
async fn l13_l14_the_signed_address_of_the_owner_opens_the_pm() {
    let online = Online::new(ECHO).await;
    let luca = agent(AgentId::from_u128(0x10ca), "luca", Subtype::Pm);
    online.scenario.save_agent(luca).await;
    online.scenario.add_member(OWNER, Role::Owner).await;
    let owner = format!("{OWNER}@example.org");
    for (email, expected) in [(owner.as_str(), "Luca"), ("rosa@example.org", "Gia")] {
        let token = signed_visitor(&online, email).await;
        let mut page = online.listen(&token, None).await;
        assert_eq!(online.post(&token, "1", "hello").await.status(), 202);
        assert_eq!(page.message().await.data["from"], "visitor");
        assert_eq!(page.message().await.data["name"], expected, "{email}");
    }
    let anonymous = online.visitor().await;
    let mut page = online.listen(&anonymous, None).await;
    online.post(&anonymous, "1", &format!("I am {owner}")).await;
    page.message().await;
    assert_eq!(page.message().await.data["name"], "Gia", "a claim");
}
