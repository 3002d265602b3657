//! Agents on queues over HTTP.

use std::sync::Arc;

use ostler_bus::Envelope;
use ostler_domain::org::role::Role;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::agents::{AgentRuntime, HostingOptions, StoredRecords};
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::support::{ECHO, ORG, Scenario};

const ADMIN_KEY: &str = "osk_somebody-who-configures-bella-pizza2";

async fn send(
    online: &Online,
    key: &str,
    (method, path): (&str, &str),
    body: Value,
) -> (u16, Value) {
    let url = online.url(&format!("/v1/orgs/{ORG}{path}"));
    let request = online.http.request(method.parse().unwrap(), url).bearer_auth(key);
    let request = if body.is_null() { request } else { request.json(&body) };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

async fn read(online: &Online, path: &str) -> Value {
    let (status, body) = send(online, KEY, ("GET", path), Value::Null).await;
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// Connects the org's agents to a bus within the process.
async fn connect(online: &Online) -> AgentRuntime {
    let bus = Arc::new(ostler_bus::MemoryBus::default());
    let records = StoredRecords::new(online.scenario.store.clone(), ORG);
    let builder = AgentRuntime::for_org(bus, &records).hosting(HostingOptions::default());
    let runtime = builder.start().await.unwrap();
    online.queues.runtimes.insert(ORG, runtime.clone());
    runtime
}

/// K02, O26: agents are started, asked, put into teams and given work over HTTP; what waits for
/// people is answered there, and the queues are looked at.
#[tokio::test(flavor = "multi_thread")]
async fn k02_queue_agents_are_operated_over_http() {
    let online = Online::with(Scenario::new(ECHO).await).await;
    key(&online.scenario, ORG, 2, ADMIN_KEY, Role::Admin).await;
    let (status, problem) = send(&online, KEY, ("GET", "/bus"), Value::Null).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("not_now")), "{problem}");
    let ada = json!({"name": "ada", "agent_type": "human", "capabilities": ["review"]});
    let (status, _) = send(&online, KEY, ("POST", "/queue-agents"), ada.clone()).await;
    assert_eq!(status, 403, "an operator configures nothing");
    for new in [ada, json!({"name": "bob", "agent_type": "echo"})] {
        let (status, made) = send(&online, ADMIN_KEY, ("POST", "/queue-agents"), new).await;
        assert_eq!((status, &made["available"]), (201, &json!(true)), "{made}");
    }
    let runtime = connect(&online).await;
    let found = read(&online, "/queue-agents?can=review").await;
    assert_eq!(found["items"][0]["name"], "ada", "{found}");

    let team = json!({"name": "crew", "members": ["ada", "bob"]});
    let (status, made) = send(&online, ADMIN_KEY, ("POST", "/queue-teams"), team).await;
    assert_eq!((status, made["leader"].as_str()), (201, Some("ada")), "{made}");
    let leave = ("DELETE", "/queue-teams/crew/members/bob");
    let (status, left) = send(&online, ADMIN_KEY, leave, Value::Null).await;
    assert_eq!((status, &left["members"]), (200, &json!(["ada"])), "{left}");

    let work = json!({"by": "bob", "to": "ada", "description": "Look at the contract"});
    let (status, made) = send(&online, KEY, ("POST", "/delegations"), work).await;
    assert_eq!((status, &made["sent"]), (201, &json!(true)), "{made}");
    let code = made["work"]["reference"].as_str().unwrap();
    let done = format!("/delegations/{code}/status");
    let (status, changed) =
        send(&online, KEY, ("POST", &done), json!({"status": "in_progress"})).await;
    assert_eq!(
        (status, changed["work"]["status"].as_str()),
        (200, Some("in_progress")),
        "{changed}"
    );

    let name: AgentName = "ada".parse().unwrap();
    let code = runtime.new_reference_code().await.unwrap();
    let question = Envelope::new("question", json!({"text": "May we ship?"}), code);
    let id = question.message.id.to_string();
    runtime.send(&name, question).await.unwrap();
    let waits = async || {
        let items = read(&online, "/work-items?agent=ada").await;
        let all = items["items"].as_array().unwrap().clone();
        all.iter().any(|one| one["message"]["message"]["id"] == id.as_str())
    };
    while !waits().await {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let answer = format!("/work-items/{id}/answer");
    let (status, answered) = send(&online, KEY, ("POST", &answer), json!({"text": "Yes"})).await;
    assert_eq!((status, &answered["item"]["agent"]), (200, &json!("ada")), "{answered}");
    let (status, again) = send(&online, KEY, ("POST", &answer), json!({"text": "No"})).await;
    assert!((400..500).contains(&status), "the first answer counts: {again}");

    let bus = read(&online, "/bus").await;
    let covered = json!({"capability": "review", "available": 1, "unavailable": 0});
    assert_eq!((&bus["coverage"][0], &bus["in_process"]), (&covered, &json!(true)), "{bus}");
    assert_eq!(read(&online, "/bus-dead-letters").await["items"], json!([]));
    let (status, replayed) =
        send(&online, KEY, ("POST", "/bus-dead-letters/replay"), json!({})).await;
    assert_eq!((status, &replayed["replayed"]), (200, &json!(0)), "{replayed}");
    assert_eq!(read(&online, "/queue-plans").await["items"], json!([]));
    for unknown in ["/queue-agents/eve", "/delegations/del_01jd0v4k9pf2ht6z3m8w5x7ybc"] {
        let (status, problem) = send(&online, KEY, ("GET", unknown), Value::Null).await;
        assert_eq!((status, problem["code"].as_str()), (404, Some("not_found")), "{unknown}");
    }
    runtime.shutdown().await.unwrap();
}

/// K02, X37: a team is asked over HTTP, its leader alone or all members, and is sent a message by
/// those who work in the inbox; both are in the audit log.
#[tokio::test(flavor = "multi_thread")]
async fn k02_teams_are_asked_and_told_over_http() {
    const VIEWER: &str = "osk_a-viewer-of-bella-pizza-who-asks-no-team";
    let online = Online::with(Scenario::new(ECHO).await).await;
    key(&online.scenario, ORG, 2, ADMIN_KEY, Role::Admin).await;
    key(&online.scenario, ORG, 3, VIEWER, Role::Viewer).await;
    let runtime = connect(&online).await;
    for name in ["ada", "bob"] {
        let new = json!({"name": name, "agent_type": "echo"});
        send(&online, ADMIN_KEY, ("POST", "/queue-agents"), new).await;
    }
    let crew = json!({"name": "crew", "members": ["ada", "bob"]});
    assert_eq!(send(&online, ADMIN_KEY, ("POST", "/queue-teams"), crew).await.0, 201);
    let ask = ("POST", "/queue-teams/crew/questions");
    let question = json!({"text": "May we?", "council": true, "timeout_ms": 20_000});
    assert_eq!(send(&online, VIEWER, ask, question.clone()).await.0, 403);
    let (status, asked) = send(&online, KEY, ask, question).await;
    assert_eq!((status, &asked["asked"]), (200, &json!(2)), "{asked}");
    assert_eq!(asked["answers"][1]["payload"]["text"], "May we?", "{asked}");
    let (_, asked) = send(&online, KEY, ask, json!({"text": "And you?"})).await;
    assert_eq!(asked["answers"].as_array().map(Vec::len), Some(1), "the leader: {asked}");
    for (path, body, status) in [
        ("/queue-teams/nothing/questions", json!({"text": "?"}), 404),
        ("/queue-teams/crew/questions", json!({"text": " "}), 422),
        ("/queue-teams/crew/questions", json!({"text": "?", "timeout_ms": 60_000}), 422),
        ("/queue-teams/crew/messages", json!({"text": "?", "type": "A B"}), 422),
    ] {
        assert_eq!(send(&online, KEY, ("POST", path), body.clone()).await.0, status, "{body}");
    }
    let tell = ("POST", "/queue-teams/crew/messages");
    let (status, told) = send(&online, KEY, tell, json!({"text": "We ship"})).await;
    assert_eq!((status, &told["told"], &told["missed"]), (200, &json!(2), &json!([])), "{told}");
    let audit = read(&online, "/audit").await.to_string();
    assert!(audit.contains("ask_team") && audit.contains("broadcast_to_team"), "{audit}");
    runtime.shutdown().await.unwrap();
}
