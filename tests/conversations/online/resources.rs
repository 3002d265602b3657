//! Configuration, people, contacts, runs and the audit log over HTTP.

use ostler_domain::id::{ContactId, OrgId, RecordId};
use ostler_domain::org::OrgPlace;
use ostler_domain::org::plan::LicencePlan;
use ostler_domain::org::role::Role;
use serde_json::{Value, json};

use super::{KEY, Online, key};
use crate::support::{ECHO, ORG, Scenario, org};

const OWNER_KEY: &str = "osk_the-owner-of-bella-pizza-by-a-program";
const AGENCY_KEY: &str = "osk_the-owner-of-the-agency-by-a-program-1";
const PLATFORM: OrgId = OrgId::from_u128(0x9a7);
const AGENCY: OrgId = OrgId::from_u128(0xa6e);

/// An answer: its status, version and body.
struct Answer {
    status: u16,
    version: Option<String>,
    body: Value,
}

async fn online() -> Online {
    let online = Online::with(Scenario::new(ECHO).await).await;
    key(&online.scenario, ORG, 2, OWNER_KEY, Role::Owner).await;
    let platform = org(PLATFORM, "platform", OrgPlace::Platform, LicencePlan::Enterprise);
    online.scenario.store.create_org(platform).await.unwrap();
    online
}

async fn send(
    online: &Online,
    (method, path): (&str, &str),
    body: Value,
    based_on: Option<&str>,
) -> Answer {
    let url = online.url(&format!("/v1/orgs/{ORG}{path}"));
    let request = online.http.request(method.parse().unwrap(), url).bearer_auth(OWNER_KEY);
    let request = if body.is_null() { request } else { request.json(&body) };
    let request = match based_on {
        Some(version) => request.header("if-match", version),
        None => request,
    };
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let version = answer.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
    let text = answer.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status, version, body }
}

async fn read(online: &Online, path: &str) -> Value {
    let answer = send(online, ("GET", path), Value::Null, None).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.body
}

/// K02, O09, O10: agents and their souls are created, read and changed over HTTP as in a world
/// file.
#[tokio::test(flavor = "multi_thread")]
async fn k02_agents_are_created_and_changed_over_http() {
    let online = online().await;
    let new = json!({"slug": "sofia", "name": "Sofia", "subtype": "customer_service",
        "autonomy": "semi_autonomous", "soul": {"personality": "Calm."}});
    let made = send(&online, ("POST", "/agents"), new.clone(), None).await;
    assert_eq!((made.status, made.body["org"].as_str()), (201, Some("bella")), "{}", made.body);
    let again = send(&online, ("POST", "/agents"), new, None).await;
    assert_eq!((again.status, again.body["code"].as_str()), (409, Some("conflict")));
    let change = json!({"autonomy": "supervised", "soul": {"personality": "Lively."}});
    let changed = send(&online, ("PATCH", "/agents/sofia"), change, None).await;
    assert_eq!(changed.body["autonomy"], "supervised", "{}", changed.body);
    assert_eq!(read(&online, "/agents/sofia").await, changed.body);
    let listed = read(&online, "/agents").await;
    let slugs: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|one| one["slug"].as_str()).collect();
    assert!(slugs.contains(&"sofia") && slugs.contains(&"gia"), "{slugs:?}");
    let versions = read(&online, "/agents/sofia/soul/versions").await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2, "{versions}");
    let body = json!({"version": 1});
    let back = send(&online, ("POST", "/agents/sofia/soul/rollback"), body, None).await;
    assert_eq!(back.body["soul"]["personality"], "Calm.", "{}", back.body);
    let prompt = read(&online, "/agents/sofia/prompt").await;
    assert!(prompt["prompt"].as_str().unwrap().contains("Calm."));
    let tools = read(&online, "/agents/sofia/tools").await;
    assert!(tools["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{tools}");
    let renamed = send(&online, ("PATCH", "/agents/sofia"), json!({"slug": "sofie"}), None).await;
    assert_eq!(renamed.status, 422, "{}", renamed.body);
    let unknown = send(&online, ("GET", "/agents/nobody"), Value::Null, None).await;
    assert_eq!(unknown.status, 404);
    let audit = read(&online, "/audit?action=create_agent").await;
    assert_eq!(audit["items"][0]["actor"], "key test", "{audit}");
}

/// K09: a change that is based on an old version is refused, and changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn k09_a_lost_update_is_refused() {
    let online = online().await;
    let changes = [
        ("", json!({"time_zone": "Europe/Paris"}), json!({"time_zone": "Europe/Berlin"})),
        ("/agents/gia", json!({"name": "Gia A"}), json!({"name": "Gia B"})),
        ("/settings", json!({"team": {"max_handoffs": 3}}), json!({"team": {"max_handoffs": 4}})),
        ("/sharing", json!({"notice_percent": 70}), json!({"notice_percent": 60})),
    ];
    for (path, first, second) in changes {
        let before = send(&online, ("GET", path), Value::Null, None).await;
        let old = before.version.expect("a version");
        let changed = send(&online, ("PATCH", path), first.clone(), Some(&old)).await;
        assert_eq!(changed.status, 200, "{path}: {}", changed.body);
        assert_ne!(changed.version.as_deref(), Some(old.as_str()), "{path}");
        let lost = send(&online, ("PATCH", path), second.clone(), Some(&old)).await;
        assert_eq!((lost.status, lost.body["code"].as_str()), (412, Some("changed")), "{path}");
        let now = send(&online, ("GET", path), Value::Null, None).await;
        assert_eq!((now.body, &now.version), (changed.body, &changed.version), "{path}");
        let renewed = send(&online, ("PATCH", path), second, now.version.as_deref()).await;
        assert_eq!(renewed.status, 200, "{path}: {}", renewed.body);
        let any = send(&online, ("PATCH", path), first, Some("*")).await;
        assert_eq!(any.status, 200, "{path}: {}", any.body);
    }
    let bad = send(&online, ("PATCH", "/settings"), json!({}), Some("no-quotes")).await;
    assert_eq!((bad.status, bad.body["code"].as_str()), (400, Some("bad_request")));
}

/// K09: every route of the document that changes what is shown at its path refuses a change that
/// is based on another version, and makes one that is based on the current version.
#[tokio::test(flavor = "multi_thread")]
async fn k09_every_editable_route_refuses_a_lost_update() {
    let online = online().await;
    let paths = ostler_server::document()["paths"].as_object().unwrap();
    let example = |path: &str, method: &str| {
        paths[path][method]["requestBody"]["content"]["application/json"]["example"].clone()
    };
    let mut made = std::collections::BTreeMap::new();
    for (list, parameter, name) in [
        ("/tools", "{tool}", "name"),
        ("/mcp-servers", "{server}", "name"),
        ("/integrations", "{integration}", "service"),
        ("/threads", "{thread}", "id"),
        ("/webhooks", "{webhook}", "id"),
        ("/workflow-definitions", "{definition}", "name"),
        ("/schedules", "{schedule}", "name"),
    ] {
        let new = example(&format!("/v1/orgs/{{org}}{list}"), "post");
        let created = send(&online, ("POST", list), new, None).await;
        assert_eq!(created.status, 201, "{list}: {}", created.body);
        made.insert(parameter, created.body[name].as_str().unwrap().to_owned());
    }
    let channels = read(&online, "/channels").await;
    made.insert("{channel}", channels["items"][0]["name"].as_str().unwrap().to_owned());
    let bindings = read(&online, "/bindings").await;
    made.insert("{binding}", bindings["items"][0]["binding"].as_str().unwrap().to_owned());
    made.insert("{agent}", "gia".to_owned());
    let member = json!({"email": "rosa@example.com", "name": "Rosa", "role": "operator"});
    assert_eq!(send(&online, ("POST", "/members"), member, None).await.status, 201);
    made.insert("{member}", "rosa@example.com".to_owned());
    made.insert("{user}", "nobody".to_owned());
    let (mut checked, mut removals) = (0, Vec::<(String, String)>::new());
    for (path, methods) in paths {
        let Some(path) = path.strip_prefix("/v1/orgs/{org}") else { continue };
        for method in ["patch", "put"]
            .into_iter()
            .filter(|name| methods[*name]["responses"]["412"].is_object())
            .filter(|_| methods["get"].is_object())
        {
            let named = made
                .iter()
                .fold(path.to_owned(), |path, (parameter, name)| path.replace(parameter, name));
            assert!(!named.contains('{'), "the test makes nothing for {path}");
            // A person has choices, and the platform has users; they have tests of their own.
            if path == "/notice-choices" || path == "/users/{user}" {
                checked += 1;
                continue;
            }
            let body = example(&format!("/v1/orgs/{{org}}{path}"), method);
            let method = method.to_uppercase();
            let before = send(&online, ("GET", &named), Value::Null, None).await;
            let version = before.version.unwrap_or_else(|| panic!("{named} has no version"));
            let stale = Some("\"00000000000000000000000000000000\"");
            let lost = send(&online, (&method, &named), body.clone(), stale).await;
            assert_eq!(
                (lost.status, lost.body["code"].as_str()),
                (412, Some("changed")),
                "{named}"
            );
            let now = send(&online, ("GET", &named), Value::Null, None).await;
            assert_eq!((now.body, now.version.as_ref()), (before.body, Some(&version)), "{named}");
            if methods["delete"].is_object() {
                let lost = send(&online, ("DELETE", &named), Value::Null, stale).await;
                assert_eq!(lost.status, 412, "DELETE {named}");
            }
            let done = send(&online, (&method, &named), body, Some(&version)).await;
            assert_eq!(done.status, 200, "{named}: {}", done.body);
            if methods["delete"].is_object() {
                let now = send(&online, ("GET", &named), Value::Null, None).await;
                removals.retain(|(other, _)| *other != named);
                removals.push((named, now.version.unwrap()));
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 20, "routes with a version");
    // A definition that a schedule starts cannot go before it.
    removals.sort_by_key(|(named, _)| named.starts_with("/workflow-definitions"));
    for (named, version) in &removals {
        let gone = send(&online, ("DELETE", named), Value::Null, Some(version)).await;
        assert!(matches!(gone.status, 200 | 204), "DELETE {named}: {}", gone.body);
    }
    assert_eq!(removals.len(), 7, "{removals:?}");
}

/// K09: what is changed at another path than it is read at: who looks after a session, the soul
/// of an agent, contacts, business data, and a plan of several resources.
#[tokio::test(flavor = "multi_thread")]
async fn k09_changes_at_other_paths_refuse_a_lost_update() {
    let online = online().await;
    let stale = Some("\"00000000000000000000000000000000\"");
    let version = async |path: &str| {
        let shown = send(&online, ("GET", path), Value::Null, None).await;
        shown.version.unwrap_or_else(|| panic!("{path}: {}", shown.body))
    };
    let member = json!({"email": "rosa@example.com", "name": "Rosa", "role": "operator"});
    assert_eq!(send(&online, ("POST", "/members"), member, None).await.status, 201);
    online.scenario.write("otto", "hello").await;
    let session = loop {
        let sessions = read(&online, "/sessions").await;
        if let Some(found) = sessions["items"].as_array().unwrap().first() {
            break found["id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let store = online.scenario.org();
    for (number, mail) in [(0xada, "ada@example.com"), (0xadb, "ada@example.org")] {
        let contact = json!({"id": ContactId::from_u128(number), "name": mail, "tags": [],
            "notes": [], "details": {"email": mail}});
        store.create_contact(serde_json::from_value(contact).unwrap()).await.unwrap();
    }
    let product = json!({"name": "Bell", "sku": "B-1"}).to_string();
    store.create_record("product", RecordId::from_u128(0xbe11), product).await.unwrap();

    let (work, assignee) =
        (format!("/sessions/{session}/work"), format!("/sessions/{session}/assignee"));
    let gia = "/agents/gia";
    send(&online, ("PATCH", gia), json!({"soul": {"personality": "Calm."}}), None).await;
    let first_contact = "/contacts/ada@example.com";
    let changes = [
        (work.as_str(), ("PUT", assignee.as_str()), json!({"person": "rosa@example.com"})),
        (work.as_str(), ("DELETE", assignee.as_str()), Value::Null),
        (gia, ("POST", "/agents/gia/soul/rollback"), json!({"version": 1})),
        (
            first_contact,
            ("POST", "/contacts/ada@example.com/merge"),
            json!({"other": "ada@example.org"}),
        ),
        (first_contact, ("DELETE", first_contact), Value::Null),
        ("/data/products/B-1", ("DELETE", "/data/products/B-1"), Value::Null),
    ];
    for (read_at, change, body) in changes {
        let lost = send(&online, change, body.clone(), stale).await;
        assert_eq!((lost.status, &lost.body["code"]), (412, &json!("changed")), "{change:?}");
        let based_on = version(read_at).await;
        let done = send(&online, change, body, Some(&based_on)).await;
        assert!(matches!(done.status, 200 | 204), "{change:?}: {}", done.body);
    }

    let url = |path: &str| online.url(&format!("/v1/resources/{path}"));
    let post = async |path: &str, version: &str| {
        let (name, change) = ("agent bella/gia", json!({"name": "Gia G"}));
        let mut gia = read(&online, gia).await;
        gia.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let body = json!({"resources": {name: gia}, "based_on": {name: version}});
        let request = online.http.post(url(path)).bearer_auth(OWNER_KEY).json(&body);
        request.send().await.unwrap().status().as_u16()
    };
    let current = version(gia).await;
    for path in ["plan", "apply"] {
        assert_eq!(post(path, "0000").await, 412, "{path}");
        assert_eq!(post(path, current.trim_matches('"')).await, 200, "{path}");
    }
    assert_eq!(post("apply", current.trim_matches('"')).await, 412, "it was changed");
}

/// K02, O13, O15: members and the audit log over HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn k02_members_are_managed_over_http() {
    let online = online().await;
    let new = json!({"email": "rosa@example.com", "name": "Rosa", "role": "operator"});
    let added = send(&online, ("POST", "/members"), new, None).await;
    assert_eq!((added.status, added.body["role"].as_str()), (201, Some("operator")));
    let role = json!({"role": "admin"});
    let changed = send(&online, ("PATCH", "/members/rosa@example.com"), role, None).await;
    assert_eq!(changed.body["role"], "admin", "{}", changed.body);
    let members = read(&online, "/members").await;
    assert_eq!(members["items"][0]["email"], "rosa@example.com", "{members}");
    let removed = send(&online, ("DELETE", "/members/Rosa"), Value::Null, None).await;
    assert_eq!((removed.status, &removed.body["state"]), (200, &json!("removed")));
    let audit = read(&online, "/audit?object=rosa@example.com&limit=2").await;
    assert_eq!(audit["items"].as_array().unwrap().len(), 0, "the person is no member any more");
    let audit = read(&online, "/audit?limit=1").await;
    let next = audit["next"].as_str().unwrap().to_owned();
    assert_eq!(audit["items"][0]["action"], "remove_member", "{audit}");
    let audit = read(&online, &format!("/audit?limit=1&cursor={next}")).await;
    assert_eq!(audit["items"][0]["action"], "set_member_role", "{audit}");
    let unknown = send(&online, ("GET", "/audit?actor=nobody"), Value::Null, None).await;
    assert_eq!((unknown.status, unknown.body["code"].as_str()), (422, Some("invalid")));
    assert_eq!(read(&online, "/invitations").await["items"], json!([]));
}

/// K02: sessions are read page by page, runs with their harness, and tools with the reason why
/// an agent has them.
#[tokio::test(flavor = "multi_thread")]
async fn k02_runs_and_messages_are_read_over_http() {
    let online = online().await;
    online.scenario.write("rosa", "hello").await;
    let session = loop {
        let sessions = read(&online, "/sessions").await;
        if let Some(found) = sessions["items"].as_array().unwrap().first()
            && found["messages"].as_u64().is_some_and(|count| count >= 2)
        {
            break found["id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let path = format!("/sessions/{session}/messages?limit=1");
    let newest = read(&online, &path).await;
    assert_eq!(newest["items"][0]["author"]["role"], "agent", "{newest}");
    let next = newest["next"].as_str().unwrap();
    let older = read(&online, &format!("{path}&cursor={next}")).await;
    assert_eq!(older["items"][0]["author"]["role"], "customer", "{older}");
    assert_eq!(older["items"][0]["text"], "hello");
    let run = newest["items"][0]["run"].as_str().unwrap();
    let shown = read(&online, &format!("/runs/{run}")).await;
    assert_eq!(shown["session"], session.as_str());
    assert!(shown["steps"].as_array().unwrap().len() > 5, "{shown}");
    let harness = read(&online, &format!("/runs/{run}/harness")).await;
    assert!(harness["turns"][0]["harness"]["identity"].is_object(), "{harness}");
    let tools = read(&online, &format!("/sessions/{session}/tools?agent=gia")).await;
    assert_eq!(tools["session"], session.as_str());
    assert!(tools["tools"][0]["why"].is_string(), "{tools}");
}

/// K02: a conversation is read as people read it, with what they did, and notices in words.
#[tokio::test(flavor = "multi_thread")]
async fn k02_transcripts_and_notices_are_read_over_http() {
    let online = online().await;
    online.scenario.write("rosa", "Can I talk to a human please?").await;
    let session = loop {
        let waiting = read(&online, "/escalations").await;
        if let Some(found) = waiting["items"].as_array().unwrap().first() {
            break found["session"]["id"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    let path = format!("/sessions/{session}/take-over");
    assert_eq!(send(&online, ("POST", &path), Value::Null, None).await.status, 200);
    let transcript = read(&online, &format!("/sessions/{session}/transcript")).await;
    let lines = transcript["lines"].as_array().unwrap();
    let of = |kind: &str| lines.iter().find(|line| line["line"] == kind).unwrap().clone();
    assert_eq!(of("message")["text"], "Can I talk to a human please?", "{transcript}");
    assert!(of("escalation")["reason"].is_string(), "{transcript}");
    assert_eq!(of("change")["action"], "take_over", "{transcript}");
    let notices = read(&online, "/notices?all=true").await;
    let notice = &notices["items"][0];
    assert!(notice["message"].as_str().unwrap().contains("needs a person"), "{notices}");
    let shown = read(&online, &format!("/notices/{}", notice["id"].as_str().unwrap())).await;
    assert_eq!((&shown["id"], &shown["deliveries"]), (&notice["id"], &json!([])), "{shown}");
}

/// K02, O30: workflows are started, answered and cancelled over HTTP.
#[tokio::test(flavor = "multi_thread")]
async fn k02_workflows_are_started_and_answered_over_http() {
    let online = online().await;
    let definition = json!({"name": "ask", "step": [{"id": "size", "ask": "How large?"}]});
    let body = json!({"definition": definition});
    let started = send(&online, ("POST", "/workflows"), body, None).await;
    assert_eq!(started.status, 201, "{}", started.body);
    let id = started.body["id"].as_str().unwrap();
    let shown = read(&online, &format!("/workflows/{id}")).await;
    assert_eq!(shown["tasks"][0]["task"], "size", "{shown}");
    let early = json!({"type": "text", "task": "other", "text": "Large"});
    let early = send(&online, ("POST", &format!("/workflows/{id}/answers")), early, None).await;
    assert_eq!((early.status, early.body["code"].as_str()), (409, Some("not_now")));
    let path = format!("/workflows/{id}/cancel");
    let cancelled = send(&online, ("POST", &path), Value::Null, None).await;
    assert_eq!(cancelled.status, 204, "{}", cancelled.body);
    let listed = read(&online, "/workflows").await;
    assert_eq!(listed["items"][0]["id"], id, "{listed}");
    let bad = json!({"definition": {"name": "ask", "step": []}});
    let bad = send(&online, ("POST", "/workflows"), bad, None).await;
    assert_eq!(bad.status, 422, "{}", bad.body);
    assert_eq!(read(&online, "/refunds").await["items"], json!([]));
}

/// K02: the inbox of an agency has what waits in its clients.
#[tokio::test(flavor = "multi_thread")]
async fn k02_the_inbox_has_what_waits_in_clients() {
    let online = online().await;
    online.scenario.write("rosa", "Can I talk to a human please?").await;
    let entry = loop {
        let inbox = read(&online, "/inbox?holder=nobody").await;
        if let Some(found) = inbox["items"].as_array().unwrap().first() {
            break found.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!((&entry["org_slug"], &entry["holder"]), (&json!("bella"), &Value::Null), "{entry}");
    assert!(entry["last_message"]["text"].is_string(), "{entry}");
    let session = entry["session"]["id"].as_str().unwrap();
    let path = format!("/sessions/{session}/take-over");
    assert_eq!(send(&online, ("POST", &path), Value::Null, None).await.status, 200);
    let held = read(&online, "/inbox?holder=me&channel=webchat").await;
    assert_eq!(held["items"].as_array().unwrap().len(), 1, "{held}");
    for query in ["holder=nobody", "channel=email", "client=other", "urgency=low"] {
        let none = read(&online, &format!("/inbox?{query}")).await;
        assert_eq!(none["items"], json!([]), "{query}");
    }
}

/// K02, O08: an agency lists what it may view, and creates a client.
#[tokio::test(flavor = "multi_thread")]
async fn k02_an_agency_creates_and_lists_clients_over_http() {
    let online = online().await;
    let mut agency = org(AGENCY, "agency", OrgPlace::TopLevel, LicencePlan::Agency);
    agency.sub_orgs_enabled = true;
    online.scenario.store.create_org(agency).await.unwrap();
    key(&online.scenario, AGENCY, 3, AGENCY_KEY, Role::Owner).await;
    let client = json!({"slug": "trattoria", "name": "Trattoria", "time_zone": "Europe/Rome",
        "owners": ["rosa@example.com"]});
    let url = online.url("/v1/orgs/agency/clients");
    let request = online.http.post(url).bearer_auth(AGENCY_KEY).json(&client);
    let answer = request.send().await.unwrap();
    let (status, made): (_, Value) = (answer.status(), answer.json().await.unwrap());
    assert_eq!(status, 201, "{made}");
    assert_eq!((&made["org"]["slug"], &made["existed"]), (&json!("trattoria"), &json!(false)));
    let orgs = |secret: &'static str| {
        let request = online.http.get(online.url("/v1/orgs")).bearer_auth(secret);
        async move {
            let listed: Value = request.send().await.unwrap().json().await.unwrap();
            let items = listed["items"].as_array().unwrap().clone();
            items.iter().map(|one| one["slug"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        }
    };
    assert_eq!(orgs(AGENCY_KEY).await, ["agency", "trattoria"]);
    assert_eq!(orgs(KEY).await, ["bella"]);
}
