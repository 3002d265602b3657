//! Agents as models of the OpenAI API.

use std::collections::BTreeSet;
use std::time::Duration;

use ostler_domain::agent::Agent;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::org::role::Role;
use ostler_domain::session::lifetime::CloseReason;
use ostler_domain::session::status::SessionStatus;
use ostler_runtime::records::run::RunRecord;
use ostler_runtime::records::session::Session;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::approvals::{contacts, only, operator};
use crate::enforcement::spend_all_credits;
use crate::support::{ECHO, GIA, ModelCalls, ORG, item_text, scenario};

const VIEWER_KEY: &str = "osk_a-viewer-of-bella-pizza-who-only-reads";
const PATH: &str = "/v1/chat/completions";

/// Starts a server, and records what its model is asked.
async fn recorded(script: &str) -> (Online, ModelCalls) {
    let (scenario, calls) = scenario(script).await;
    (Online::with(scenario).await, calls)
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn request(messages: &[Value]) -> Value {
    json!({"model": "gia", "messages": messages})
}

async fn post(online: &Online, key: Option<&str>, body: &Value) -> reqwest::Response {
    let request = online.http.post(online.url(PATH)).json(body);
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request,
    };
    request.send().await.unwrap()
}

async fn complete(online: &Online, body: &Value) -> Value {
    let answer = post(online, Some(KEY), body).await;
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(status, StatusCode::OK, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Returns the status and the error of a request that is refused.
async fn refused(online: &Online, key: Option<&str>, body: &Value) -> (u16, Value) {
    let answer = post(online, key, body).await;
    let status = answer.status().as_u16();
    let body: Value = answer.json().await.unwrap();
    let fields: BTreeSet<&str> =
        body["error"].as_object().expect("an error").keys().map(String::as_str).collect();
    assert_eq!(fields, ["code", "message", "param", "type"].into(), "{body}");
    (status, body["error"].clone())
}

/// Returns the chunks of a stream, and whether it ended as it should.
async fn stream(online: &Online, body: &Value) -> (Vec<Value>, bool) {
    let answer = post(online, Some(KEY), body).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = answer.text().await.unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let (done, chunks): (Vec<&str>, Vec<&str>) = lines.partition(|line| *line == "[DONE]");
    (chunks.iter().map(|one| serde_json::from_str(one).unwrap()).collect(), done.len() == 1)
}

fn streamed_text(chunks: &[Value]) -> String {
    chunks.iter().filter_map(|one| one["choices"][0]["delta"]["content"].as_str()).collect()
}

async fn only_session(online: &Online) -> Session {
    let mut sessions = online.scenario.sessions().await;
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

/// K04: the agent reads the history that the client sends, the run and its cost are recorded,
/// and the session ends with the answer.
#[tokio::test]
async fn k04_a_request_is_answered_in_the_agents_harness() {
    let (online, calls) = recorded(ECHO).await;
    let messages = [
        json!({"role": "system", "content": "Speak like a pirate."}),
        user("I am Rosa."),
        json!({"role": "assistant", "content": "Hello Rosa!"}),
        user("my order"),
    ];
    let answer = complete(&online, &request(&messages)).await;
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "gia");
    let choice = &answer["choices"][0];
    assert_eq!(choice["message"]["content"], "About my order: yes.");
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["finish_reason"], "stop");
    let usage = &answer["usage"];
    let [prompt, written, total] = ["prompt_tokens", "completion_tokens", "total_tokens"]
        .map(|name| usage[name].as_u64().unwrap());
    assert!(prompt > 0 && written > 0 && total == prompt + written, "{usage}");
    let asked = calls.last();
    assert!(!asked.system.contains("pirate"), "{}", asked.system);
    let history: Vec<String> = asked.history.iter().map(item_text).collect();
    assert_eq!(history.len(), 4, "{history:?}");
    assert!(history[0].contains("Speak like a pirate."), "{history:?}");
    assert_eq!(history[1..], ["I am Rosa.", "Hello Rosa!", "my order"]);
    let session = only_session(&online).await;
    assert_eq!(session.status, SessionStatus::Closed(CloseReason::Completed));
    let run = online.scenario.org().runs(session.id, None, 10).await.unwrap().remove(0);
    assert_eq!(run.id.to_string(), answer["id"]);
    assert_eq!(answer["ostler"]["session"], session.id.to_string());
    assert_eq!(online.scenario.spent(ORG).await, answer["ostler"]["credits"].as_u64().unwrap());
    assert_eq!(online.scenario.deliver().await.len(), 0, "nothing is sent elsewhere");
}

/// K04: an answer in pieces has the whole text, an end, and the usage if it is asked for.
#[tokio::test]
async fn k04_an_answer_is_streamed_as_it_is_written() {
    let script = "
rules:
  - when: { user: hours }
    answer: [ { text: Let me look., call: list_products }, 'We are open from 5 to 11.' ]
default: I see.
";
    let online = Online::new(script).await;
    let mut body = request(&[user("hours")]);
    body["stream"] = true.into();
    let (chunks, done) = stream(&online, &body).await;
    assert!(done);
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let text = streamed_text(&chunks);
    assert!(text.ends_with("We are open from 5 to 11."), "{text}");
    assert_eq!(text.matches("We are open").count(), 1, "{text}");
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert!(chunks.iter().all(|one| one.get("usage").is_none()), "{chunks:?}");
    assert!(chunks.iter().all(|one| one["object"] == "chat.completion.chunk"));
    body["stream_options"] = json!({"include_usage": true});
    let (chunks, done) = stream(&online, &body).await;
    let last = chunks.last().unwrap();
    assert!(done && last["choices"] == json!([]), "{last}");
    assert!(last["usage"]["total_tokens"].as_u64().unwrap() > 0, "{last}");
}

/// K04: the models are the agents that take messages.
#[tokio::test]
async fn k04_agents_are_models() {
    let online = Online::new(ECHO).await;
    let get = async |path: &str| {
        let request = online.http.get(online.url(path)).bearer_auth(KEY);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    };
    let (_, list) = get("/v1/models").await;
    let ids = list["data"].as_array().unwrap().iter().map(|one| one["id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), ["enzo", "gia"]);
    let (status, enzo) = get("/v1/models/enzo").await;
    assert_eq!((status, &enzo["owned_by"]), (200, &json!("bella")));
    assert_eq!(get("/v1/models/bella%2Fgia").await.0, 200);
    let (status, missing) = get("/v1/models/nobody").await;
    assert_eq!((status, missing["error"]["type"].as_str()), (404, Some("invalid_request_error")));
    online.scenario.pause_gia().await;
    assert_eq!(get("/v1/models").await.1["data"].as_array().unwrap().len(), 1);
}

/// K04: every error has the form of the OpenAI API, with the status that its clients expect.
#[tokio::test]
async fn k04_errors_have_the_form_of_the_openai_api() {
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 2, VIEWER_KEY, Role::Viewer).await;
    let good = request(&[user("hello")]);
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (key, body, status, code) in [
        (None, good.clone(), 401, "invalid_api_key"),
        (Some(VIEWER_KEY), good.clone(), 403, "forbidden"),
        (Some(KEY), with("model", json!("gpt-5")), 404, "model_not_found"),
        (Some(KEY), with("model", json!("elsewhere/gia")), 404, "model_not_found"),
        (Some(KEY), json!({"model": "gia"}), 400, "bad_request"),
        (Some(KEY), with("n", json!(2)), 400, "unsupported_parameter"),
        (Some(KEY), with("tools", json!([{"type": "function"}])), 400, "unsupported_parameter"),
    ] {
        let (found, error) = refused(&online, key, &body).await;
        assert_eq!((found, error["code"].as_str()), (status, Some(code)), "{error}");
    }
    assert_eq!(online.scenario.sessions().await.len(), 0);
}

/// K04: an agent without credits or beyond its limits answers with an error that is not worth
/// repeating, also in a stream; nobody is called to the conversation.
#[tokio::test]
async fn k04_budget_and_limits_are_errors() {
    let online = Online::new(ECHO).await;
    let limit = async |messages| {
        let change = |gia: &mut Agent| gia.limits.max_messages_per_day = messages;
        online.scenario.change_agent(GIA, change).await;
    };
    limit(1).await;
    let hello = request(&[user("hello")]);
    complete(&online, &hello).await;
    let (status, error) = refused(&online, Some(KEY), &hello).await;
    assert_eq!((status, error["code"].as_str()), (429, Some("rate_limit_exceeded")), "{error}");
    limit(100).await;
    spend_all_credits(&online.scenario).await;
    for streams in [false, true] {
        let mut body = hello.clone();
        body["stream"] = streams.into();
        let answer = post(&online, Some(KEY), &body).await;
        assert_eq!(answer.headers()["x-should-retry"], "false");
        let (status, error) = refused(&online, Some(KEY), &body).await;
        assert_eq!((status, error["type"].as_str()), (429, Some("insufficient_quota")), "{error}");
    }
    let escalated = |one: &Session| one.escalation.is_some();
    assert!(!online.scenario.sessions().await.iter().any(escalated));
}

/// K04: a call that needs approval is pending, the agent says so, and the session stays open
/// for the decision, with the history that the client sent.
#[tokio::test]
async fn k04_a_call_that_needs_approval_is_pending() {
    let online = Online::with(crate::approvals::scenario(AutonomyLevel::Supervised).await).await;
    let messages =
        [user("Hi"), json!({"role": "assistant", "content": "Hello!"}), user("remember Rosa")];
    let answer = complete(&online, &request(&messages)).await;
    let text = &answer["choices"][0]["message"]["content"];
    assert_eq!(text, "I am checking that with my team.");
    let approval = only(&online.scenario).await;
    assert_eq!(answer["ostler"]["approvals"], json!([approval.to_string()]));
    let session = only_session(&online).await;
    assert_eq!(session.status, SessionStatus::Active);
    assert_eq!(contacts(&online.scenario).await, Vec::<String>::new());
    operator(&online.scenario.operations()).approve(approval).await.unwrap();
    while contacts(&online.scenario).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(contacts(&online.scenario).await, ["Rosa"]);
    let thread = online.scenario.org().last_messages(session.thread, 10).await.unwrap();
    let first: Value = serde_json::from_str(&thread[0].data).unwrap();
    assert_eq!(first["parts"][0]["text"], "Hi");
}

/// K04: a conversation that the client names is kept: the agent remembers it, and one of
/// another key has nothing to do with it.
#[tokio::test]
async fn k04_a_named_conversation_is_kept() {
    let (online, calls) = recorded(ECHO).await;
    let named = |text: &str| {
        let mut body = request(&[user("ignored"), json!({"role": "assistant"}), user(text)]);
        body["metadata"] = json!({"conversation": "rosa-42"});
        body
    };
    complete(&online, &named("one")).await;
    complete(&online, &named("two")).await;
    let history: Vec<String> = calls.last().history.iter().map(item_text).collect();
    assert_eq!(history, ["one", "About one: yes.", "two"]);
    let session = only_session(&online).await;
    assert_eq!((session.status, session.messages), (SessionStatus::Active, 4));
    operator(&online.scenario.operations()).take_over(session.id).await.unwrap();
    let (status, error) = refused(&online, Some(KEY), &named("three")).await;
    assert_eq!((status, error["code"].as_str()), (409, Some("conversation_with_person")));
    let other = "osk_another-operator-of-bella-pizza-at-work";
    key(&online.scenario, ORG, 2, other, Role::Operator).await;
    let answer = post(&online, Some(other), &named("four")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(online.scenario.sessions().await.len(), 2);
}

/// K04: a client that disconnects aborts the turn, streamed or not.
#[tokio::test]
async fn k04_a_client_that_disconnects_aborts_the_turn() {
    let script = "default: { text: Once upon a time, chunk: 4, pause: 60s }";
    for streams in [false, true] {
        let (online, calls) = recorded(script).await;
        let mut body = request(&[user("hello")]);
        body["stream"] = streams.into();
        let sending = online.http.post(online.url(PATH)).bearer_auth(KEY).json(&body).send();
        let sending = tokio::spawn(sending);
        if streams {
            let mut answer = sending.await.unwrap().unwrap();
            let first = answer.chunk().await.unwrap().unwrap();
            assert!(first.starts_with(b"data: "), "{first:?}");
        } else {
            while calls.count() == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            sending.abort();
        }
        let run = tokio::time::timeout(Duration::from_secs(20), first_run(&online)).await.unwrap();
        assert_eq!(run["outcome"]["why"], "the caller went away", "{run}");
    }
}

/// Returns the first run, when it has ended.
async fn first_run(online: &Online) -> Value {
    loop {
        for session in online.scenario.sessions().await {
            let runs = online.scenario.org().runs(session.id, None, 10).await.unwrap();
            if let Some(run) = runs.first() {
                return serde_json::to_value(RunRecord::from_stored(run).unwrap()).unwrap();
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
