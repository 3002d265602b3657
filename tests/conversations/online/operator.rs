//! An operator with an API key.

use ostler_api::approval::ApprovalState;
use ostler_api::knowledge::NewDocument;
use ostler_api::me::Me;
use ostler_api::page::PageQuery;
use ostler_api::problem::ProblemCode;
use ostler_api::session::{Author, SendMessageRequest, SessionFilter, SessionState};
use ostler_api::unknown_outcome::ResolveRequest;
use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{KEY, Online, key, problem};
use crate::support::{ECHO, ORG};

const ADMIN: &str = "osk_an-admin-of-bella-pizza-who-sets-up";

/// G41: an operator takes over by the API and writes; the customer gets the text
/// unchanged, and after the resume the agent answers.
#[tokio::test(flavor = "multi_thread")]
async fn g41_an_operator_takes_over_writes_and_resumes_by_the_api() {
    let online = Online::new(ECHO).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    online.post(&token, "1", "hello").await;
    page.message().await;
    page.message().await;

    let client = online.client(KEY);
    let Me::Key(me) = client.me().await.unwrap() else { panic!("a key") };
    let bella = client.org(me.org);
    let sessions = bella.sessions(SessionFilter::All, &PageQuery::default()).await.unwrap();
    let [session] = &sessions.items[..] else { panic!("{sessions:?}") };
    assert_eq!((session.status, sessions.next), (SessionState::Active, None));
    let taken = bella.take_over(session.id).await.unwrap();
    assert_eq!((taken.session.status, taken.withdrawn), (SessionState::HandedOff, 0));
    let queue = bella.escalations().await.unwrap();
    assert_eq!(queue.items.iter().map(|one| one.session.id).collect::<Vec<_>>(), [session.id]);
    let words = "*I* am a person: 2 * 3 = 6 <b>";
    bella.say(session.id, &SendMessageRequest { text: words.into() }).await.unwrap();
    let heard = page.message().await.data;
    assert_eq!((&heard["from"], &heard["text"]), (&"person".into(), &words.into()));
    assert_eq!(heard["markdown"], false);

    online.post(&token, "2", "are you there").await;
    assert_eq!(page.message().await.data["text"], "are you there");
    assert_eq!(bella.resume(session.id).await.unwrap().status, SessionState::Active);
    online.post(&token, "3", "thanks").await;
    let mut texts = Vec::new();
    loop {
        let said = page.message().await.data;
        texts.push(said["text"].as_str().unwrap().to_owned());
        if said["from"] == "agent" && texts.contains(&"thanks".to_owned()) {
            break;
        }
    }

    let shown = bella.session(session.id).await.unwrap();
    assert!(shown.messages.iter().any(|one| matches!(one.author, Author::Human { .. })));
    assert_eq!(shown.runs.last().unwrap().outcome, "answered");
    assert_eq!(
        bella.approvals(ApprovalState::Pending, &PageQuery::default()).await.unwrap().items,
        []
    );
    assert_eq!(bella.close(session.id).await.unwrap().status, SessionState::Closed);
    let refused = bella.take_over(session.id).await.unwrap_err();
    assert_eq!(
        (refused.code, refused.detail.as_str()),
        (ProblemCode::NotNow, "this session is closed")
    );
    loop {
        let event = page.next().await.unwrap();
        if event.data["type"] == "ended" {
            break;
        }
    }
}

/// A26: the layer of an agent is called business layer; no field is called layer alone.
#[tokio::test(flavor = "multi_thread")]
async fn a26_no_field_of_a_session_is_called_layer_alone() {
    let online = Online::new(ECHO).await;
    online.scenario.say("rosa", "hello").await;
    let id = loop {
        if let Some(session) = online.scenario.sessions().await.first() {
            break session.id;
        }
        tokio::task::yield_now().await;
    };
    let url = online.url(&format!("/v1/orgs/{ORG}/sessions/{id}"));
    let shown: Value =
        online.http.get(url).bearer_auth(KEY).send().await.unwrap().json().await.unwrap();
    assert!(shown["runs"][0]["turns"][0]["business_layer"].is_number(), "{shown}");
    assert!(!shown.to_string().contains("\"layer\""));
}

/// A request repeated with the same idempotency key is done once; the key of another
/// request is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_repeated_with_its_idempotency_key_is_done_once() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 2, ADMIN, Role::Admin).await;
    let add = |title: &'static str| {
        let request = online.http.post(online.url(&format!("/v1/orgs/{ORG}/knowledge")));
        let request = request.bearer_auth(ADMIN).header("idempotency-key", "k-1");
        request.json(&json!({"title": title, "body": "We open at six.", "tags": ["public"]})).send()
    };
    let (first, second) = (add("Hours").await.unwrap(), add("Hours").await.unwrap());
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (201, 201));
    let first: Value = first.json().await.unwrap();
    assert_eq!(first, second.json::<Value>().await.unwrap());
    let reused = problem(add("Prices").await.unwrap()).await;
    assert_eq!(reused, (422, "idempotency_key_reused".into()));

    let admin = online.client(ADMIN);
    let bella = admin.org(ORG);
    for n in 0..4 {
        let (title, body) = (format!("Menu {n}"), format!("Margherita {n}"));
        bella.add_document(&NewDocument { title, body, tags: vec![] }).await.unwrap();
    }
    let mut titles = Vec::new();
    let mut turn = PageQuery { cursor: None, limit: Some(2) };
    loop {
        let page = bella.documents(&turn).await.unwrap();
        assert!(page.items.len() <= 2);
        titles.extend(page.items.into_iter().map(|one| one.title));
        let Some(next) = page.next else { break };
        turn.cursor = Some(next);
    }
    titles.sort();
    assert_eq!(titles, ["Hours", "Menu 0", "Menu 1", "Menu 2", "Menu 3"]);
}

/// A05: the idempotency keys of one API key are nothing to another one of the same org.
#[tokio::test(flavor = "multi_thread")]
async fn a05_two_api_keys_may_use_the_same_idempotency_key() {
    let online = Online::new(ECHO).await;
    const SECOND: &str = "osk_another-admin-of-bella-pizza-at-work";
    key(&online.scenario, ORG, 2, ADMIN, Role::Admin).await;
    key(&online.scenario, ORG, 3, SECOND, Role::Admin).await;
    let mut titles = Vec::new();
    for (secret, title) in [(ADMIN, "Hours"), (SECOND, "Prices"), (ADMIN, "Hours")] {
        let request = online.http.post(online.url(&format!("/v1/orgs/{ORG}/knowledge")));
        let request = request.bearer_auth(secret).header("idempotency-key", "k-1");
        let document = json!({"title": title, "body": format!("About {title}."), "tags": []});
        let answer = request.json(&document).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{title}");
        titles.push(answer.json::<Value>().await.unwrap()["id"].clone());
    }
    assert_eq!(titles[0], titles[2], "a repeat");
    assert_ne!(titles[0], titles[1], "somebody else's request is their own");
}

/// Z09: a client lists the unknown outcomes and resolves one; the agent continues with
/// the result.
#[tokio::test(flavor = "multi_thread")]
async fn z09_an_unknown_outcome_is_resolved_by_the_api() {
    let online = Online::with(crate::operations::scenario_with_unknown_outcome().await).await;
    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    online.post(&token, "1", "order this").await;
    let client = online.client(KEY);
    let bella = client.org(ORG);
    let lost = loop {
        let found = bella.unknown_outcomes(&PageQuery::default()).await.unwrap().items;
        if let Some(call) = found.into_iter().next() {
            break call;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((lost.tool.as_str(), &lost.arguments["name"]), ("create_contact", &"Rosa".into()));
    let nothing =
        bella.resolve(lost.id, &ResolveRequest { outcome: " ".into() }).await.unwrap_err();
    assert_eq!(nothing.code, ProblemCode::Invalid);
    bella.resolve(lost.id, &ResolveRequest { outcome: "it went through".into() }).await.unwrap();
    while page.message().await.data["text"] != "Good news, it went through." {}
    assert_eq!(bella.unknown_outcomes(&PageQuery::default()).await.unwrap().items, []);
    let again = bella.resolve(lost.id, &ResolveRequest { outcome: "twice".into() }).await;
    assert!(again.is_err(), "{again:?}");
}

/// The lists of the API, empty and filled.
#[tokio::test(flavor = "multi_thread")]
async fn lists_of_the_api_return_their_items() {
    let online = Online::new(ECHO).await;
    let client = online.client(KEY);
    let bella = client.org(ORG);
    let turn = PageQuery::default();
    assert_eq!(bella.dead_letters(&turn).await.unwrap().items, []);
    assert_eq!(bella.notices(&turn).await.unwrap().items, []);
    let account = bella.credits().await.unwrap();
    assert!(account.available.is_some_and(|left| left.get() >= 1000), "{account:?}");
    let lines = bella.ledger(&turn).await.unwrap().items;
    assert!(lines.iter().any(|line| line.amount.get() == 1000), "{lines:?}");
    let missing = bella.replay("out_00000000000000000000000001").await.unwrap_err();
    assert_eq!(missing.code, ProblemCode::NotFound);
}
