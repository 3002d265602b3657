//! Threads of the interactive harness over HTTP.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::id::OrgId;
use ostler_domain::org::role::Role;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::outcome::ToolOutcome;
use ostler_harness::{
    Budget, Harness, HarnessOMConfig, NoState, PermissionPolicy, PermissionRules, ToolCategory,
    shipped_modes,
};
use ostler_scripted::{Script, ScriptedModel};
use ostler_server::{ThreadOptions, ThreadOwner};
use ostler_store::Store;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::stream::{Event, Stream};
use super::{KEY, Online, key, problem};
use crate::support::{ORG, Scenario, on_every_database, stub_tool_with};

const OTHER_KEY: &str = "osk_another-operator-of-bella-pizza-at-work";
const VIEWER: &str = "osk_a-viewer-of-bella-pizza-who-only-looks";
const STRANGER: &str = "osk_the-owner-of-quite-another-organization";
const OTHER: OrgId = OrgId::from_u128(0xa11);

const SCRIPT: &str = "
rules:
  - when: { user: question }
    answer:
      - call: ask_user
        with: { question: Which one?, options: [red, blue] }
      - 'You chose {{ result }}.'
  - when: { user: note }
    answer:
      - call: note
      - noted
  - when: { user: Carry it out }
    answer: carried out
  - when: { user: plan }
    answer:
      - call: submit_plan
        with: { title: A plan, plan: Do it. }
      - waiting
  - when: { user: slow }
    answer: { text: One two three four five six, chunk: 4, pause: 100ms }
default: 'You said: {{ user }}'
";

/// Returns options for threads that a script answers.
pub(super) fn options(store: &Store, script: &str) -> ThreadOptions {
    let model = Arc::new(ScriptedModel::new(Script::parse("threads", script).unwrap()));
    let spec = ToolSpec::write(ToolName::from_static("note"), ToolGroup::Custom);
    let (store, note) = (store.clone(), stub_tool_with(spec, |_| ToolOutcome::ok("noted")));
    ThreadOptions::new(Arc::new(move |owner: &ThreadOwner| {
        let rules = PermissionRules {
            categories: [(ToolCategory::Read, PermissionPolicy::Allow)].into(),
            ..PermissionRules::default()
        };
        let mut builder = Harness::<NoState>::builder("ostler serve", store.clone())
            .org(owner.org)
            .resource_id(&owner.resource)
            .model(model.clone())
            .budget(Budget::Ledger)
            .memory(HarnessOMConfig::default())
            .permission_rules(rules)
            .lease(Duration::from_secs(2))
            .tool(note.clone());
        for mode in shipped_modes() {
            builder = builder.mode(mode.into());
        }
        Ok(builder.build()?)
    }))
}

impl Online {
    async fn threads() -> Self {
        Self::threads_in(ostler_testkit::TestDatabase::sqlite_memory().migrated().await).await
    }

    async fn threads_in(store: Store) -> Self {
        let scenario = Scenario::in_store(store, "default: I see.").await;
        let options = options(&scenario.store, SCRIPT);
        Self::with_threads(scenario, options).await
    }

    async fn call(&self, key: &str, method: Method, path: &str, body: Value) -> Response {
        let url = self.url(&format!("/v1/orgs/bella/threads{path}"));
        let request = self.http.request(method, url).bearer_auth(key);
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.unwrap()
    }

    async fn get_thread(&self, path: &str) -> Value {
        let response = self.call(KEY, Method::GET, path, Value::Null).await;
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    async fn post_thread(&self, path: &str, body: Value, status: u16) -> Value {
        let response = self.call(KEY, Method::POST, path, body).await;
        let found = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(found, status, "{path}: {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Creates a thread and returns its path.
    async fn new_thread(&self) -> String {
        let thread = self.post_thread("", json!({"title": "First"}), 201).await;
        format!("/{}", thread["id"].as_str().unwrap())
    }

    async fn thread_events(&self, path: &str, last: Option<&str>) -> Stream {
        let url = self.url(&format!("/v1/orgs/bella/threads{path}/events"));
        Stream::open(self.http.get(url).bearer_auth(KEY), last).await
    }

    async fn send(&self, path: &str, text: &str) -> Value {
        self.post_thread(&format!("{path}/messages?wait=true"), json!({"text": text}), 200).await
    }
}

async fn wait_for(stream: &mut Stream, kind: &str) -> Event {
    loop {
        let event = stream.next().await.expect("the stream goes on");
        if event.kind.as_deref() == Some(kind) {
            return event;
        }
    }
}

on_every_database!(k02_threads_are_made_used_and_deleted_over_http);
/// K02: a thread is created, written to, searched, renamed, copied and deleted over HTTP, and
/// the ledger of the org pays.
async fn k02_threads_are_made_used_and_deleted_over_http(store: Store) {
    let online = Online::threads_in(store).await;
    let path = online.new_thread().await;
    let before = online.scenario.store.org(ORG).credit_account().await.unwrap().available();
    let sent = online.send(&path, "Hello apples").await;
    assert_eq!(sent["reason"], "complete", "{sent}");
    let after = online.scenario.store.org(ORG).credit_account().await.unwrap().available();
    assert!(after < before, "{after:?} {before:?}");
    let messages = online.get_thread(&format!("{path}/messages?limit=1")).await;
    assert_eq!(messages["items"][0]["content"][0]["text"], "Hello apples");
    let next = messages["next"].as_str().unwrap();
    let rest = online.get_thread(&format!("{path}/messages?cursor={next}")).await;
    assert_eq!(rest["items"][0]["content"][0]["text"], "You said: Hello apples");

    let renamed = online.call(KEY, Method::PATCH, &path, json!({"title": "About fruit"})).await;
    assert_eq!(renamed.json::<Value>().await.unwrap()["title"], "About fruit");
    let second = online.new_thread().await;
    let list = online.get_thread("?limit=1").await;
    assert_eq!(format!("/{}", list["items"][0]["id"].as_str().unwrap()), second);
    let next = list["next"].as_str().unwrap();
    let list = online.get_thread(&format!("?limit=1&cursor={next}")).await;
    assert_eq!(list["items"][0]["title"], "About fruit");
    let found = online.get_thread("?search=APPLES").await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
    // O23: the end of an id is enough.
    let end = &path[path.len() - 8..];
    assert_eq!(online.get_thread(&format!("/{end}")).await["thread"]["title"], "About fruit");

    let first_message = messages["items"][0]["id"].as_str().unwrap();
    let copy = json!({"title": "A copy", "upTo": first_message});
    let copy = online.post_thread(&format!("{path}/clone"), copy, 201).await;
    assert_eq!((&copy["messageCount"], &copy["title"]), (&json!(1), &json!("A copy")));
    let deleted = online.call(KEY, Method::DELETE, &path, Value::Null).await;
    assert_eq!(deleted.status(), 204);
    let gone = online.call(KEY, Method::GET, &path, Value::Null).await;
    assert_eq!(problem(gone).await, (404, "not_found".into()));
}

/// A picture of one point.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

on_every_database!(k02_images_of_messages_are_kept_with_their_thread);
/// K02: an image is uploaded, named by a message, shown to the owner only, copied with the
/// messages that name it and deleted with the thread; what is no image is refused.
async fn k02_images_of_messages_are_kept_with_their_thread(store: Store) {
    let online = Online::threads_in(store).await;
    let path = online.new_thread().await;
    let try_upload = async |bytes: Vec<u8>| {
        let url = online.url(&format!("/v1/orgs/bella/threads{path}/images"));
        online.http.post(url).bearer_auth(KEY).body(bytes).send().await
    };
    let upload = async |bytes: Vec<u8>| try_upload(bytes).await.unwrap();
    assert_eq!(problem(upload(b"<svg/>".to_vec()).await).await, (422, "invalid".into()));
    let large = [PNG, &vec![0; 5 << 20]].concat();
    // The answer may come while the client still sends.
    if let Ok(refused) = try_upload(large).await {
        assert_eq!(problem(refused).await, (413, "too_large".into()));
    }
    let uploaded: Value = upload(PNG.to_vec()).await.json().await.unwrap();
    let kind = (&uploaded["mediaType"], &uploaded["size"]);
    assert_eq!(kind, (&json!("image/png"), &json!(PNG.len())), "{uploaded}");
    let unused: Value = upload(PNG.to_vec()).await.json().await.unwrap();

    let message = json!({"text": "Look", "images": [uploaded["id"]]});
    online.post_thread(&format!("{path}/messages?wait=true"), message, 200).await;
    let messages = online.get_thread(&format!("{path}/messages")).await;
    let shown = &messages["items"][0]["content"][1];
    assert_eq!((&shown["type"], &shown["blob"]), (&json!("image"), &uploaded["id"]), "{shown}");
    assert!(shown.get("data").is_none(), "messages only name images");
    let none = json!({"text": "Look", "images": ["blb_00000000000000000000000001"]});
    let none = online.call(KEY, Method::POST, &format!("{path}/messages"), none).await;
    assert_eq!(problem(none).await, (404, "not_found".into()));
    let many = vec![uploaded["id"].clone(); 11];
    let many = json!({"text": "Look", "images": many});
    let many = online.call(KEY, Method::POST, &format!("{path}/messages"), many).await;
    assert_eq!(problem(many).await, (413, "too_large".into()));

    let image = format!("/images/{}", uploaded["id"].as_str().unwrap());
    let bytes = online.call(KEY, Method::GET, &format!("{path}{image}"), Value::Null).await;
    assert_eq!(bytes.headers()["content-type"], "image/png");
    assert_eq!(bytes.bytes().await.unwrap(), PNG);
    key(&online.scenario, ORG, 2, OTHER_KEY, Role::Operator).await;
    let foreign = online.call(OTHER_KEY, Method::GET, &format!("{path}{image}"), Value::Null).await;
    assert_eq!(problem(foreign).await, (404, "not_found".into()));

    let copy = online.post_thread(&format!("{path}/clone"), Value::Null, 201).await;
    let copy = format!("/{}", copy["id"].as_str().unwrap());
    assert_eq!(online.call(KEY, Method::DELETE, &path, Value::Null).await.status(), 204);
    let org = online.scenario.store.org(ORG);
    let count = async |path: &str| org.thread_file_count(path[1..].parse().unwrap()).await.unwrap();
    assert_eq!((count(&path).await, count(&copy).await), (0, 1), "{unused} was in no message");
    let copied = online.call(KEY, Method::GET, &format!("{copy}{image}"), Value::Null).await;
    assert_eq!(copied.status(), 200);
}

on_every_database!(k02_questions_calls_and_plans_are_answered_over_http);
/// K02: questions, tool calls and plans are answered over HTTP, each once.
async fn k02_questions_calls_and_plans_are_answered_over_http(store: Store) {
    let online = Online::threads_in(store).await;
    let path = online.new_thread().await;
    let mut events = online.thread_events(&path, None).await;
    let answers = format!("{path}/answers");
    let started =
        online.post_thread(&format!("{path}/messages"), json!({"text": "question"}), 202).await;
    let asked = wait_for(&mut events, "ask_question").await;
    let shown = online.get_thread(&path).await;
    assert_eq!(shown["asks"][0]["question"], "Which one?");
    assert_eq!(shown["turnId"], started["turnId"]);
    let route = format!("{path}/messages");
    let busy = online.call(KEY, Method::POST, &route, json!({"text": "x"})).await;
    assert_eq!(problem(busy).await, (409, "not_now".into()));
    let answer = json!({"type": "question", "id": asked.data["questionId"], "text": "red"});
    online.post_thread(&answers, answer.clone(), 204).await;
    wait_for(&mut events, "agent_end").await;
    let again = online.call(KEY, Method::POST, &answers, answer).await;
    assert_eq!(problem(again).await, (409, "not_now".into()));

    for (decision, is_error) in [("decline", true), ("approve", false), ("always", false)] {
        online.post_thread(&format!("{path}/messages"), json!({"text": "note"}), 202).await;
        let asked = wait_for(&mut events, "tool_approval_required").await;
        let id = &asked.data["toolCallId"];
        let answer = json!({"type": "approval", "id": id, "decision": decision});
        online.post_thread(&answers, answer, 204).await;
        let end = wait_for(&mut events, "tool_end").await;
        assert_eq!(end.data["isError"], is_error, "{decision}: {:?}", end.data);
        wait_for(&mut events, "agent_end").await;
    }
    let granted = online.get_thread(&format!("{path}/permissions")).await;
    assert_eq!(granted["grants"]["categories"].as_array().unwrap().len(), 1, "{granted}");

    let mode = json!({"modeId": "plan"});
    let changed = online.call(KEY, Method::PUT, &format!("{path}/mode"), mode).await;
    assert_eq!(changed.status(), 204);
    online.post_thread(&format!("{path}/messages"), json!({"text": "plan"}), 202).await;
    let asked = wait_for(&mut events, "plan_approval_required").await;
    let plan = json!({"type": "plan", "id": asked.data["planId"], "decision": "approve"});
    online.post_thread(&answers, plan, 204).await;
    wait_for(&mut events, "mode_changed").await;
    wait_for(&mut events, "agent_end").await;
    assert_eq!(online.get_thread(&path).await["modeId"], "build");
}

/// K02: turns are steered, queued and stopped, and settings are read and changed.
#[tokio::test(flavor = "multi_thread")]
async fn k02_turns_and_settings_are_changed_over_http() {
    let online = Online::threads().await;
    let path = online.new_thread().await;
    let post = |route: &str, text: &str| {
        let (path, body) = (format!("{path}/{route}"), json!({"text": text}));
        let online = &online;
        async move { online.post_thread(&path, body, 202).await }
    };
    let started = post("messages", "slow").await;
    assert!(started["turnId"].as_str().unwrap().starts_with("run_"));
    assert_eq!(post("follow-ups", "later").await.get("turnId"), None);
    let steered = post("steer", "slow instead").await;
    assert_ne!(steered["turnId"], started["turnId"]);
    let aborted = online.post_thread(&format!("{path}/abort"), Value::Null, 200).await;
    assert_eq!(aborted["aborted"], true);
    let nothing = online.call(KEY, Method::POST, &format!("{path}/resume"), Value::Null).await;
    assert_eq!(problem(nothing).await, (409, "not_now".into()));
    let nothing = online.call(KEY, Method::POST, &format!("{path}/retry"), Value::Null).await;
    assert!(matches!(nothing.status().as_u16(), 202 | 409));

    let route = format!("{path}/state");
    let state = online.call(KEY, Method::PATCH, &route, json!({"colour": "red"})).await;
    assert_eq!(state.json::<Value>().await.unwrap()["colour"], "red");
    assert_eq!(online.get_thread(&format!("{path}/state")).await["colour"], "red");
    let rules = json!({"rules": {"tools": {"note": "allow"}, "categories": {}}});
    let changed = online.call(KEY, Method::PATCH, &format!("{path}/permissions"), rules).await;
    assert_eq!(changed.json::<Value>().await.unwrap()["rules"]["tools"]["note"], "allow");
    let model = json!({"modelId": "any/model", "scope": "mode"});
    let changed = online.call(KEY, Method::PUT, &format!("{path}/model"), model).await;
    assert_eq!(changed.status(), 204);
    assert_eq!(online.get_thread(&path).await["modelId"], "any/model");
    assert_eq!(online.get_thread(&format!("{path}/tasks")).await, json!([]));
    let memory = online.get_thread(&format!("{path}/memory")).await;
    assert!(memory["windows"].is_object(), "{memory}");
    for (method, route, body, code) in [
        (Method::PUT, "/mode", json!({"modeId": "nonsense"}), (422, "invalid")),
        (Method::PUT, "/mode", json!({"mode": "plan"}), (400, "bad_request")),
        (Method::POST, "/messages", json!({"text": " "}), (422, "invalid")),
        (Method::POST, "/messages", json!({"text": "x".repeat(300_000)}), (413, "too_large")),
        (Method::PATCH, "/state", json!({"yolo": "very"}), (422, "invalid")),
        (Method::PATCH, "/state", json!({"x": "y".repeat(70_000)}), (413, "too_large")),
        (Method::PATCH, "", json!({"title": ""}), (422, "invalid")),
        (Method::POST, "/answers", json!({"type": "question"}), (400, "bad_request")),
    ] {
        let refused = online.call(KEY, method, &format!("{path}{route}"), body).await;
        assert_eq!(problem(refused).await, (code.0, code.1.to_owned()), "{route}");
    }
}

/// K02: a thread exists for its owner only; a viewer does not send.
#[tokio::test(flavor = "multi_thread")]
async fn k02_a_thread_exists_for_its_owner_only() {
    let online = Online::threads().await;
    online.scenario.store.create_org(ostler_testkit::org(OTHER, "other")).await.unwrap();
    key(&online.scenario, ORG, 2, VIEWER, Role::Viewer).await;
    key(&online.scenario, ORG, 4, OTHER_KEY, Role::Operator).await;
    key(&online.scenario, OTHER, 3, STRANGER, Role::Owner).await;
    let path = online.new_thread().await;
    let message = || json!({"text": "hello"});
    let routes = [
        (Method::GET, "", Value::Null),
        (Method::PATCH, "", json!({"title": "Mine"})),
        (Method::DELETE, "", Value::Null),
        (Method::GET, "/messages", Value::Null),
        (Method::GET, "/events", Value::Null),
        (Method::GET, "/state", Value::Null),
        (Method::GET, "/permissions", Value::Null),
        (Method::POST, "/clone", Value::Null),
        (Method::POST, "/messages", message()),
        (Method::POST, "/steer", message()),
        (Method::POST, "/follow-ups", message()),
        (Method::POST, "/abort", Value::Null),
        (Method::POST, "/resume", Value::Null),
        (Method::POST, "/retry", Value::Null),
        (Method::POST, "/answers", json!({"type": "question", "id": "x", "text": "y"})),
    ];
    for (method, route, body) in routes {
        for foreign in [OTHER_KEY, STRANGER] {
            let path = format!("{path}{route}");
            let refused = online.call(foreign, method.clone(), &path, body.clone()).await;
            assert_eq!(problem(refused).await, (404, "not_found".into()), "{method} {route}");
        }
    }
    let list: Value =
        online.call(OTHER_KEY, Method::GET, "", Value::Null).await.json().await.unwrap();
    assert_eq!(list["items"], json!([]));
    let refused = online.call(VIEWER, Method::POST, "", json!({})).await;
    assert_eq!(problem(refused).await, (403, "forbidden".into()));
    let refused = online.call(STRANGER, Method::POST, "", json!({})).await;
    assert_eq!(problem(refused).await, (404, "not_found".into()));
}

/// Z03: a client that reconnects again and again gets each stored event of a thread once, and
/// learns what is being written.
#[tokio::test(flavor = "multi_thread")]
async fn z03_the_events_of_a_thread_resume_without_gap_or_repeat() {
    let online = Online::threads().await;
    let path = online.new_thread().await;
    let mut steady = online.thread_events(&path, Some("0")).await;
    for text in ["one", "two", "question"] {
        let route = format!("{path}/follow-ups");
        online.post_thread(&route, json!({"text": text}), 202).await;
    }
    let mut all = Vec::new();
    loop {
        let event = steady.next().await.unwrap();
        let kind = event.kind.clone().unwrap();
        if event.id.is_some() && kind != "snapshot" {
            all.push(event);
        }
        if kind == "ask_question" {
            break;
        }
    }
    let ids: Vec<i64> =
        all.iter().map(|event| event.id.as_deref().unwrap().parse().unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    let mut seen: Vec<Event> = Vec::new();
    while seen.len() < all.len() {
        let last = seen.last().and_then(|event| event.id.clone()).unwrap_or("0".into());
        let mut again = online.thread_events(&path, Some(&last)).await;
        let wanted = (all.len() - seen.len()).min(3);
        let mut more = Vec::new();
        while more.len() < wanted {
            let event = again.next().await.unwrap();
            if event.id.is_some() && event.kind.as_deref() != Some("snapshot") {
                more.push(event);
            }
        }
        seen.extend(more);
    }
    assert_eq!(seen, all);

    // Without a position, a stream begins with what is going on.
    let mut fresh = online.thread_events(&path, None).await;
    let snapshot = fresh.next().await.unwrap();
    assert_eq!(snapshot.kind.as_deref(), Some("snapshot"));
    assert_eq!(snapshot.id, all.last().unwrap().id);
    assert_eq!(snapshot.data["asks"][0]["question"], "Which one?");
    online.post_thread(&format!("{path}/steer"), json!({"text": "slow"}), 202).await;
    let update = wait_for(&mut fresh, "message_update").await;
    assert_eq!(update.id, None, "what is not stored has no id");
    let mut late = online.thread_events(&path, None).await;
    let snapshot = late.next().await.unwrap();
    let draft = &snapshot.data["draft"]["message"]["content"][0]["text"];
    assert!("One two three four five six".starts_with(draft.as_str().unwrap()), "{snapshot:?}");
    wait_for(&mut late, "agent_end").await;
    let deleted = online.call(KEY, Method::DELETE, &path, Value::Null).await;
    assert_eq!(deleted.status(), 204);
    wait_for(&mut late, "deleted").await;
}

/// Z03: a turn goes on when the client that sent it is gone, and a repeat with the same key
/// sends nothing twice.
#[tokio::test(flavor = "multi_thread")]
async fn z03_a_turn_does_not_need_the_client_that_sent_it() {
    let online = Online::threads().await;
    let path = online.new_thread().await;
    let url = online.url(&format!("/v1/orgs/bella/threads{path}/messages?wait=true"));
    let send = || {
        let request = online.http.post(&url).bearer_auth(KEY).header("idempotency-key", "first");
        request.json(&json!({"text": "slow"}))
    };
    let left = send().timeout(Duration::from_millis(150)).send().await;
    assert!(left.is_err(), "the client has gone");
    let mut events = online.thread_events(&path, Some("0")).await;
    assert_eq!(wait_for(&mut events, "agent_end").await.data["reason"], "complete");
    let again = loop {
        let again = send().send().await.unwrap();
        if again.status() != 409 {
            break again;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(again.status(), 200);
    let messages = online.get_thread(&format!("{path}/messages")).await;
    assert_eq!(messages["items"].as_array().unwrap().len(), 2, "{messages}");
    assert_eq!(
        messages["items"][1]["content"][0]["text"], "One two three four five six",
        "{messages}"
    );
}

/// Z01: a thread that nobody uses is let go of; its question is answered later. One that
/// another process works on is not touched.
#[tokio::test(flavor = "multi_thread")]
async fn z01_an_idle_thread_is_let_go_of_and_its_question_stays() {
    let scenario = Scenario::new("default: I see.").await;
    let store = scenario.store.clone();
    let idle = Duration::from_millis(200);
    let options = ThreadOptions { idle_timeout: idle, max_per_org: 1, ..options(&store, SCRIPT) };
    let online = Online::with_threads(scenario, options).await;
    let path = online.new_thread().await;
    online.post_thread(&format!("{path}/messages"), json!({"text": "question"}), 202).await;
    let asked = loop {
        let asked = online.get_thread(&path).await["asks"][0]["questionId"].clone();
        if asked.is_string() {
            break asked;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    // The place is needed for another thread.
    online.new_thread().await;
    let answer = json!({"type": "question", "id": asked, "text": "blue"});
    tokio::time::sleep(idle * 2).await;

    let elsewhere = options_of_another_process(&store);
    let id = path[1..].parse().unwrap();
    elsewhere.init().await.unwrap();
    elsewhere.switch_thread(id).await.unwrap();
    let refused = online.call(KEY, Method::POST, &format!("{path}/answers"), answer.clone()).await;
    let refused: Value = refused.json().await.unwrap();
    assert_eq!((&refused["status"], &refused["code"]), (&json!(409), &json!("in_use")));
    assert!(refused["detail"].as_str().unwrap().contains("another program"), "{refused}");
    assert!(online.get_thread(&path).await["heldBy"].is_string());
    elsewhere.suspend().await.unwrap();

    let mut events = online.thread_events(&path, None).await;
    online.post_thread(&format!("{path}/answers"), answer, 204).await;
    assert_eq!(wait_for(&mut events, "agent_end").await.data["reason"], "complete");
    let messages = online.get_thread(&format!("{path}/messages")).await;
    assert_eq!(messages["items"][3]["content"][0]["text"], "You chose blue.", "{messages}");
}

fn options_of_another_process(store: &Store) -> Harness {
    let resource = ostler_domain::id::KeyId::from_u128(1).to_string();
    let model = Arc::new(ScriptedModel::new(Script::parse("threads", SCRIPT).unwrap()));
    let mut builder = Harness::<NoState>::builder("another program", store.clone())
        .org(ORG)
        .resource_id(resource)
        .model(model)
        .budget(Budget::Ledger);
    for mode in shipped_modes() {
        builder = builder.mode(mode.into());
    }
    builder.build().unwrap()
}
