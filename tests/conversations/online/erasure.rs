//! Erasure is whole: what a person leaves through all doors of the product is gone from every
//! table, from the log of events, the search and the memory of the process.

use std::sync::Arc;
use std::time::Duration;

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::event::OrgEventKind;
use ostler_domain::id::{ContactId, RecordId};
use ostler_domain::org::role::Role;
use ostler_domain::webhook::WebhookConfig;
use ostler_harness::{Budget, Harness, HarnessOMConfig, NoState, shipped_modes};
use ostler_runtime::deps::Clock;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_runtime::webhooks::{WebhookOptions, WebhookWorker};
use ostler_runtime::workflow::WorkflowRunner;
use ostler_scripted::{Script, ScriptedModel};
use ostler_server::{ThreadOptions, ThreadOwner};
use ostler_store::{ConfigChange, ConfigWrite, StoreError};
use ostler_testkit::TestDatabase;
use reqwest::Method;
use serde_json::{Value, json};

use super::stream::Stream;
use super::{Online, SMS, WHSEC, key};
use crate::support::{ModelCalls, ORG, OWNER, RecordingModel, Scenario, item_text};

const ADMIN: &str = "osk_an-admin-of-bella-pizza-who-erases";
const ROSA: ContactId = ContactId::from_u128(0x705a);
const ORDER: RecordId = RecordId::from_u128(0x0de);
const FORM: RecordId = RecordId::from_u128(0xf0);

/// What names the person, and is replaced wherever it stands.
const NAME: &str = "Rosalind \"Quill\" Featherby";
const MAIL: &str = "rosalind.q@example.org";
const PHONE: &str = "+39 055 7741237";
const DIGITS: &str = "+390557741237";
/// Words of the person or about it, which end with what they stand in.
const WORDS: [&str; 16] = [
    "zq-note-of-the-contact",
    "zq-tag-of-the-contact",
    "zq-text-message",
    "zq-reply-of-the-agent",
    "zq-web-chat",
    "zq-file-name",
    "zq-bytes-of-the-file",
    "zq-reason-of-the-escalation",
    "zq-words-of-the-operator",
    "zq-note-of-the-session",
    "zq-note-of-the-booking",
    "zq-answer-to-the-form",
    "zq-reason-of-the-refund",
    "zq-input-of-the-workflow",
    "zq-answer-of-the-workflow",
    "zq-payload-of-the-event",
];

const SCRIPT: &str = "
rules:
  - when: { user: I need a person }
    answer:
      call: escalate_to_human
      with: { reason: zq-reason-of-the-escalation, urgency: normal, contextSummary: zq-reason-of-the-escalation }
  - when: { user: zq }
    answer: 'zq-reply-of-the-agent to {{ user }}'
default: 'About {{ user }}'
";

impl Online {
    /// Sends a request of the admin and returns its body, which is empty without one.
    async fn admin(&self, method: Method, path: &str, body: &Value) -> Value {
        let url = self.url(&format!("/v1/orgs/{ORG}/{path}"));
        let request = self.http.request(method, url).bearer_auth(ADMIN);
        let request = request.header("idempotency-key", format!("key of {path}"));
        let request = if body.is_null() { request } else { request.json(body) };
        let response = request.send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// A gateway brings a text message.
    async fn text_message(&self, id: &str, from: &str, text: &str) {
        let body = json!({"type": "message", "from": {"id": from}, "text": text}).to_string();
        let keys = SigningKeys::parse(&ChannelSecret::new(WHSEC)).unwrap();
        let mut request = self.http.post(self.url(&format!("/v1/webhooks/{SMS}")));
        for (name, value) in keys.sign(id, Clock::system().now(), body.as_bytes()) {
            request = request.header(name, value);
        }
        assert_eq!(request.body(body).send().await.unwrap().status(), 200);
    }

    /// Waits until a session has so many messages, and returns its id.
    async fn session_with(&self, messages: usize, words: &str) -> String {
        for _ in 0..400 {
            for session in self.scenario.sessions().await {
                let thread = self.scenario.org().thread_for_turn(session.thread, 50).await.unwrap();
                let has_words = thread.iter().any(|message| message.data.contains(words));
                if has_words && thread.len() >= messages {
                    return session.id.to_string();
                }
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("no session with {words}");
    }
}

/// Returns options for threads whose model records what it is asked.
fn recorded_threads(scenario: &Scenario, calls: &ModelCalls) -> ThreadOptions {
    let script = Script::parse("threads", "default: I see.").unwrap();
    let model = RecordingModel::new("threads", Arc::new(ScriptedModel::new(script)), calls.clone());
    let (model, store) = (Arc::new(model), scenario.store.clone());
    ThreadOptions::new(Arc::new(move |owner: &ThreadOwner| {
        let mut builder = Harness::<NoState>::builder("ostler serve", store.clone())
            .org(owner.org)
            .resource_id(&owner.resource)
            .model(model.clone())
            .budget(Budget::Ledger)
            .memory(HarnessOMConfig::default());
        for mode in shipped_modes() {
            builder = builder.mode(mode.into());
        }
        Ok(builder.build()?)
    }))
}

/// Creates the contact with its order, its booking, its refund and its answer to a form.
async fn add_person(scenario: &Scenario) {
    let contact = Contact {
        id: ROSA,
        name: NAME.into(),
        details: ContactDetails { phone: Some(PHONE.into()), email: Some(MAIL.into()) },
        locale: None,
        tags: [WORDS[1].to_owned()].into(),
        notes: vec![WORDS[0].to_owned()],
        crm: None,
    };
    scenario.org().create_contact(contact).await.unwrap();
    let order = json!({"number": "A-1", "contact": ROSA, "status": "sent",
        "placed_at": "2026-11-10T10:00:00Z", "total": {"amount": "50.00", "currency": "EUR"}});
    let refunds = json!({"order_number": "A-1", "refunds": [{"id": RecordId::from_u128(9),
        "amount": {"amount": "1.00", "currency": "EUR"}, "reason": WORDS[12],
        "at": "2026-11-10T10:00:00Z", "agent": crate::support::GIA, "note": WORDS[12]}]});
    let booking = json!({"item": RecordId::from_u128(0x7ab), "name": "Table", "contact": ROSA,
        "quantity": 1, "starts_at": "2027-01-10T10:00:00Z", "ends_at": "2027-01-10T12:00:00Z",
        "status": "confirmed", "notes": WORDS[10]});
    let answers = json!({"contact": ROSA, "submitted_at": "2026-11-10T10:00:00Z",
        "answers": {"name": WORDS[11]}});
    let responses = ostler_tools::records::form_response_kind(FORM);
    for (kind, data) in [
        ("order", order),
        ("refunds", refunds),
        ("booking", booking),
        (responses.as_str(), answers),
    ] {
        scenario.org().create_record(kind, ORDER, data.to_string()).await.unwrap();
    }
}

/// Starts a workflow about the person, answers its question, and starts one of its children.
async fn run_workflows(online: &Online) {
    let definition = |name: &str, steps: Value| {
        let whole = json!({"name": name, "inputs": ["mail", "about"], "step": steps});
        ConfigWrite::Workflow(Box::new(serde_json::from_value(whole).unwrap()))
    };
    let child = json!([{"id": "wait", "wait": "never"}]);
    let steps = json!([
        {"id": "ask", "ask": "What about {{ input.mail }} and {{ input.about }}?"},
        {"id": "run", "after": ["ask"], "workflow": "child",
         "with": {"mail": "{{ input.mail }}", "about": "{{ steps.ask.result }}"}},
    ]);
    // Its parent names nobody.
    let innocent = json!([
        {"id": "run", "workflow": "child", "with": {"mail": MAIL, "about": "x"}, "retries": 0},
    ]);
    let mut parent = innocent;
    parent[0]["with"]["mail"] = json!("{{ 'rosalind.q@' ~ 'example.org' }}");
    let innocent = json!({"name": "innocent", "step": parent});
    let writes = vec![
        definition("child", child),
        definition("parent", steps),
        ConfigWrite::Workflow(Box::new(serde_json::from_value(innocent).unwrap())),
    ];
    let change = ConfigChange { writes, ..ConfigChange::default() };
    online.scenario.org().change_config(change).await.unwrap();

    let runner = WorkflowRunner::new(online.scenario.worker.services()).unwrap();
    let start = json!({"workflow": "parent", "input": {"mail": MAIL, "about": WORDS[13]}});
    let started = online.admin(Method::POST, "workflows", &start).await;
    while runner.run_next().await.unwrap() {}
    let id = started["id"].as_str().unwrap();
    let answer = json!({"type": "text", "task": "ask", "text": WORDS[14]});
    online.admin(Method::POST, &format!("workflows/{id}/answers"), &answer).await;
    let operations = online.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.start_stored_workflow("innocent", &json!({})).await.unwrap();
    while runner.run_next().await.unwrap() {}
    let event = json!({"name": "parcel", "payload": {"mail": MAIL, "about": WORDS[15]}});
    online.admin(Method::POST, "workflow-events", &event).await;
}

/// Sends all events of the org to a receiver of webhooks.
async fn send_webhooks(online: &Online) {
    online.scenario.add_member(OWNER, Role::Owner).await;
    let operations = online.scenario.operations();
    let owner = operations.as_actor(Actor::User(OWNER), ORG);
    let (url, description) = ("http://127.0.0.1:9/hooks".to_owned(), String::new());
    let events = [OrgEventKind::Message, OrgEventKind::Escalation].into();
    let config = WebhookConfig { url, description, events, ..WebhookConfig::default() };
    owner.create_webhook(config).await.unwrap();
    let (store, channels) = (online.scenario.store.clone(), online.channels.clone());
    let worker = WebhookWorker::new(store, channels, Clock::system(), WebhookOptions::default());
    worker.run_once().await.unwrap();
}

/// Leaves everything at all doors, and returns the path of a thread that names the person.
async fn leave_traces(online: &Online) -> String {
    add_person(&online.scenario).await;
    send_webhooks(online).await;
    online.text_message("m1", DIGITS, "zq-text-message").await;
    let session = online.session_with(2, "zq-text-message").await;
    let note = json!({"text": WORDS[9]});
    online.admin(Method::POST, &format!("sessions/{session}/notes"), &note).await;
    online.text_message("m2", DIGITS, "I need a person").await;
    online.session_with(4, "zq-text-message").await;
    online.admin(Method::POST, &format!("sessions/{session}/take-over"), &json!({})).await;
    let words = json!({"text": WORDS[8]});
    online.admin(Method::POST, &format!("sessions/{session}/messages"), &words).await;

    let token = online.visitor().await;
    let mut page = online.listen(&token, None).await;
    let file = json!({"name": "zq-file-name.txt", "media_type": "text/plain",
        "content": "enEtYnl0ZXMtb2YtdGhlLWZpbGU="});
    let body = json!({"id": "1", "text": "zq-web-chat", "files": [file]});
    let post = online.http.post(online.url(&format!("/chat/{}/messages", crate::support::WEBCHAT)));
    assert!(post.bearer_auth(&token).json(&body).send().await.unwrap().status().is_success());
    page.message().await;
    page.message().await;
    let visitor = online.scenario.org().visitors(10).await.unwrap().remove(0);
    let contact = online.scenario.org().contact(ROSA).await.unwrap();
    let operations = online.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    operator.link_visitor(&visitor, &contact).await.unwrap();

    // Another customer writes about the person, and so does an operator in a thread.
    let named = format!("{NAME}, {} or {DIGITS}", MAIL.to_uppercase());
    online.text_message("m3", "+39 02 1", &format!("Do you know {named}?")).await;
    online.session_with(2, "Do you know").await;
    run_workflows(online).await;
    let thread = online.admin(Method::POST, "threads", &json!({"title": "First"})).await;
    let path = format!("threads/{}/messages?wait=true", thread["id"].as_str().unwrap());
    online.admin(Method::POST, &path, &json!({"text": format!("Remember {named}")})).await;
    path
}

/// Returns all events that the org's log still has.
async fn logged_events(online: &Online) -> String {
    let request = online.http.get(online.url("/v1/events")).bearer_auth(ADMIN);
    let mut stream = Stream::open(request, Some("0-0")).await;
    let mut all = String::new();
    while let Ok(Some(event)) =
        tokio::time::timeout(Duration::from_millis(500), stream.next()).await
    {
        all.push_str(&event.data.to_string());
    }
    all
}

/// S09: 20 markers of a person, left at all doors of the product, are nowhere after the person
/// is deleted, in memory neither.
#[tokio::test(flavor = "multi_thread")]
async fn s09_no_marker_of_a_deleted_person_is_left_anywhere() {
    for backend in TestDatabase::both().await {
        let scenario = Scenario::in_store(backend.migrated().await, SCRIPT).await;
        let calls = ModelCalls::default();
        let threads = recorded_threads(&scenario, &calls);
        let online = Online::with_threads(scenario, threads).await;
        key(&online.scenario, ORG, 7, ADMIN, Role::Admin).await;
        let thread = leave_traces(&online).await;
        let in_json = NAME.replace('"', "\\\"");
        let names = [NAME, &in_json, MAIL, PHONE, DIGITS];
        let (mut missing, mut before) = (Vec::new(), 0);
        for marker in WORDS.iter().chain(&names) {
            let columns = backend.columns_with(marker).await;
            before += columns.len();
            if columns.is_empty() && *marker != NAME {
                missing.push(*marker);
            }
        }
        assert_eq!(missing, [""; 0], "every marker is stored");
        assert!(before > 60, "{before}");

        // A turn that is at work, or a workflow, makes the deletion wait.
        let path = format!("contacts/{ROSA}");
        let operations = online.scenario.operations();
        let operator = operations.as_actor(Actor::Terminal, ORG);
        loop {
            match operator.delete_contact(ROSA).await {
                Ok(_) => break,
                Err(OperationError::Store(StoreError::ConversationBusy)) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(other) => panic!("{path}: {other}"),
            }
        }

        let runner = WorkflowRunner::new(online.scenario.worker.services()).unwrap();
        while runner.run_next().await.unwrap() {}
        let mut left = Vec::new();
        for marker in WORDS.iter().chain(&names) {
            for column in backend.columns_with(marker).await {
                left.push(format!("{marker}: {column}"));
            }
        }
        for word in ["featherby", "7741237"] {
            for column in backend.columns_with(word).await {
                left.push(format!("{word}: {column}"));
            }
        }
        assert_eq!(left, [""; 0]);
        let about = backend.columns_with(&ROSA.to_string()).await;
        assert!(about.iter().all(|column| column == "audit.subject"), "{about:?}");

        let events = logged_events(&online).await;
        assert!(!events.is_empty());
        for marker in WORDS.iter().chain(&names) {
            assert!(!events.contains(marker), "{marker}");
        }
        let found = online.admin(Method::GET, "messages?words=zq", &Value::Null).await;
        assert_eq!(found["items"], json!([]));

        // The workflow that waited for one about the person goes on without it.
        let workflows = online.scenario.org().workflows(None, 10).await.unwrap();
        let status: Vec<_> =
            workflows.iter().map(|one| (one.name.as_str(), one.status.as_str())).collect();
        assert_eq!(status, [("innocent", "failed")]);

        // The open thread is read again before its next turn.
        tokio::time::sleep(Duration::from_secs(5)).await;
        online.admin(Method::POST, &format!("{thread}&again"), &json!({"text": "And now?"})).await;
        let seen: String = calls.last().history.iter().map(item_text).collect();
        assert!(seen.contains("Remember") && seen.contains("And now?"), "{seen}");
        for marker in names {
            assert!(!seen.to_lowercase().contains(&marker.to_lowercase()), "{seen}");
        }
    }
}
