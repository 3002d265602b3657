//! People log in with a password and work by their roles.

use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_runtime::operations::{Actor, NewMember};
use ostler_store::Store;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::{KEY, Online, key, problem};
use crate::support::{ECHO, ORG, Scenario, on_every_database};

const OTHER: OrgId = OrgId::from_u128(0xa12);
const ADA: &str = "ada@example.com";
const PASSWORD: &str = "amber-otter-41";

/// A browser: it keeps its cookie and sends it back.
struct Browser<'o> {
    online: &'o Online,
    address: &'static str,
    cookie: Option<String>,
}

impl<'o> Browser<'o> {
    fn new(online: &'o Online, address: &'static str) -> Self {
        Self { online, address, cookie: None }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.online.http.request(method, self.online.url(path));
        let request = request.header("x-forwarded-for", self.address);
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    /// Sends a change as the server's own page does.
    async fn change(&mut self, method: Method, path: &str, body: Value) -> Response {
        let request = self.request(method, path).header("ostler-csrf", "1");
        let request = request.header("sec-fetch-site", "same-origin");
        let answer = request.json(&body).send().await.unwrap();
        if let Some(cookie) = answer.headers().get("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
            self.cookie = cookie.split(';').next().map(str::to_owned);
        }
        answer
    }

    async fn post(&mut self, path: &str, body: Value) -> Response {
        self.change(Method::POST, path, body).await
    }

    async fn log_in(&mut self, email: &str, password: &str) -> Response {
        self.post("/v1/login", json!({"email": email, "password": password})).await
    }
}

async fn json_of(answer: Response) -> Value {
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.json().await.unwrap()
}

/// Adds a member without a password, and returns the code to set one.
async fn add(online: &Online, org: OrgId, email: &str, role: Role) -> (UserId, String) {
    let operations = online.scenario.operations();
    let terminal = operations.as_actor(Actor::Terminal, org);
    let new = NewMember { email: email.into(), name: Some("Ada Rossi".into()), role };
    let member = terminal.add_member(new).await.unwrap();
    let created = terminal.create_password_code(email).await.unwrap();
    (member.user.id, created.code.expose().to_owned())
}

/// Adds a member with a password.
async fn add_with_password<'o>(online: &'o Online, email: &str, role: Role) -> Browser<'o> {
    let (_, code) = add(online, ORG, email, role).await;
    let mut browser = Browser::new(online, "192.0.2.1");
    let set = browser.post("/v1/activate", json!({"code": code, "password": PASSWORD})).await;
    assert_eq!(set.status(), 200);
    browser
}

on_every_database!(s13_a_person_sets_a_password_once_and_works_by_their_roles);
/// S13: a one-time code sets the password; the log-in works in each org by the role there.
async fn s13_a_person_sets_a_password_once_and_works_by_their_roles(store: Store) {
    let online = Online::with(Scenario::in_store(store, ECHO).await).await;
    let store = &online.scenario.store;
    store.create_org(ostler_testkit::org(OTHER, "other")).await.unwrap();
    let (user, code) = add(&online, ORG, ADA, Role::Admin).await;
    store.org(OTHER).set_member(user, Role::Viewer).await.unwrap();
    let mut browser = Browser::new(&online, "192.0.2.1");
    let refused = problem(browser.log_in(ADA, "").await).await;
    assert_eq!(refused, (401, "unauthorized".into()), "there is no password yet");

    let shown = json_of(browser.get(&format!("/v1/activate?code={code}")).await).await;
    assert_eq!((&shown["kind"], &shown["email"]), (&json!("password"), &json!(ADA)), "{shown}");
    let short = json!({"code": code, "password": "short"});
    let refused = problem(browser.post("/v1/activate", short).await).await;
    assert_eq!(refused, (422, "invalid".into()));
    let set = json!({"code": code, "password": PASSWORD});
    let activated = json_of(browser.post("/v1/activate", set.clone()).await).await;
    assert_eq!((&activated["logged_in"], &activated["email"]), (&json!(true), &json!(ADA)));
    let again = problem(Browser::new(&online, "192.0.2.2").post("/v1/activate", set).await).await;
    assert_eq!(again, (422, "invalid".into()), "a code works once");

    let me = json_of(browser.get("/v1/me").await).await;
    assert_eq!((&me["kind"], &me["user"]), (&json!("user"), &json!(user)), "{me}");
    let orgs: Vec<(&str, &str, &str)> = me["orgs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| ["slug", "role", "relation"].map(|key| one[key].as_str().unwrap()).into())
        .collect();
    assert_eq!(orgs, [("bella", "admin", "own"), ("other", "viewer", "own")]);

    let document = json!({"title": "Hours", "body": "10 to 12", "tags": []});
    let added = browser.post("/v1/orgs/bella/knowledge", document.clone()).await;
    assert_eq!(added.status(), 201);
    let refused = problem(browser.post("/v1/orgs/other/knowledge", document).await).await;
    assert_eq!(refused, (403, "forbidden".into()), "a viewer of this org");
    let log = store.org(ORG).audit_entries(None, None, 50).await.unwrap();
    let by_ada = ostler_domain::audit::AuditActor::User(user);
    let of_ada = log.iter().filter(|one| one.entry.actor == by_ada);
    let actions: Vec<&str> = of_ada.map(|one| one.entry.action.as_str()).collect();
    assert_eq!(actions, ["add_document", "log_in", "set_password"]);

    let events = problem(browser.get("/v1/events").await).await;
    assert_eq!(events, (400, "bad_request".into()), "with two orgs, one is named");
    assert_eq!(browser.get("/v1/events?org=bella").await.status(), 200);

    assert_eq!(browser.post("/v1/logout", json!({})).await.status(), 204);
    let cookie = browser.cookie.clone().unwrap();
    assert!(cookie.ends_with('='), "{cookie}");
    assert_eq!(problem(browser.get("/v1/me").await).await, (401, "unauthorized".into()));
    assert_eq!(browser.log_in(" Ada@Example.com", PASSWORD).await.status(), 200);
    assert_eq!(browser.get("/v1/me").await.status(), 200);
}

/// S13: a page of another site changes nothing with the cookie of a browser.
#[tokio::test(flavor = "multi_thread")]
async fn s13_pages_of_other_sites_change_nothing() {
    let online = Online::new(ECHO).await;
    let browser = add_with_password(&online, ADA, Role::Admin).await;
    let document = json!({"title": "Hours", "body": "10 to 12", "tags": []});
    for headers in [
        vec![],
        vec![("ostler-csrf", "1"), ("sec-fetch-site", "cross-site")],
        vec![("ostler-csrf", "1"), ("origin", "https://evil.example")],
        vec![("sec-fetch-site", "same-origin")],
    ] {
        let mut request = browser.request(Method::POST, "/v1/orgs/bella/knowledge");
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let refused = problem(request.json(&document).send().await.unwrap()).await;
        assert_eq!(refused, (403, "foreign_origin".into()), "{headers:?}");
    }
    let log_in =
        browser.request(Method::POST, "/v1/login").header("origin", "https://evil.example");
    let log_in = log_in.json(&json!({"email": ADA, "password": PASSWORD})).send().await.unwrap();
    assert_eq!(problem(log_in).await, (403, "foreign_origin".into()), "log-in CSRF");
    let documents = json_of(browser.get("/v1/orgs/bella/knowledge").await).await;
    assert_eq!(documents["items"], json!([]));
}

/// S13: a wrong password looks like an unknown account, and who tries many locks out nobody
/// else.
#[tokio::test(flavor = "multi_thread")]
async fn s13_guessing_tells_nothing_and_locks_out_nobody_else() {
    let online = Online::new(ECHO).await;
    add_with_password(&online, ADA, Role::Viewer).await;
    let mut guesser = Browser::new(&online, "198.51.100.9");
    let body = async |answer: Response| (answer.status(), answer.text().await.unwrap());
    let wrong = body(guesser.log_in(ADA, "wrong-otter-41").await).await;
    let unknown = body(guesser.log_in("nobody@example.com", "wrong-otter-41").await).await;
    assert_eq!(wrong, unknown);
    assert_eq!(wrong.0, 401);
    let mut statuses = Vec::new();
    for _ in 0..21 {
        statuses.push(guesser.log_in(ADA, "wrong-otter-42").await.status().as_u16());
    }
    assert_eq!((statuses[18], statuses[19], statuses[20]), (401, 429, 429), "{statuses:?}");
    let right = problem(guesser.log_in(ADA, PASSWORD).await).await;
    assert_eq!(right, (429, "too_many".into()), "also with the right password");
    let mut ada = Browser::new(&online, "192.0.2.77");
    assert_eq!(ada.log_in(ADA, PASSWORD).await.status(), 200);
}

/// S13: a user sees and ends their log-ins; a new password ends the others; an admin ends
/// all and sends a new link.
#[tokio::test(flavor = "multi_thread")]
async fn s13_log_ins_are_listed_ended_and_reset() {
    const ADMIN: &str = "osk_the-admin-of-bella-pizza-who-helps-people";
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    let mut one = add_with_password(&online, ADA, Role::Operator).await;
    let (mut two, mut three) =
        (Browser::new(&online, "192.0.2.2"), Browser::new(&online, "192.0.2.3"));
    assert_eq!(two.log_in(ADA, PASSWORD).await.status(), 200);
    assert_eq!(three.log_in(ADA, PASSWORD).await.status(), 200);
    let sessions = json_of(one.get("/v1/me/sessions").await).await;
    let shown: Vec<(&str, bool, &str)> = sessions
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap();
            (text("address"), one["current"].as_bool().unwrap(), text("method"))
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("192.0.2.3", false, "password"),
            ("192.0.2.2", false, "password"),
            ("192.0.2.1", true, "code"),
        ]
    );
    let third = format!("/v1/me/sessions/{}", sessions[0]["id"].as_str().unwrap());
    assert_eq!(one.change(Method::DELETE, &third, json!({})).await.status(), 204);
    assert_eq!(three.get("/v1/me").await.status(), 401);
    assert_eq!(two.get("/v1/me").await.status(), 200);

    // A log-in replaces the one that the browser had.
    let before = two.cookie.clone();
    assert_eq!(two.log_in(ADA, PASSWORD).await.status(), 200);
    let old = Browser { online: &online, address: "192.0.2.2", cookie: before };
    assert_eq!(old.get("/v1/me").await.status(), 401);

    let wrong = json!({"current": "wrong-otter-41", "new": "a-new-password-9"});
    let refused = problem(one.change(Method::PUT, "/v1/me/password", wrong).await).await;
    assert_eq!(refused, (422, "invalid".into()));
    let change = json!({"current": PASSWORD, "new": "a-new-password-9"});
    assert_eq!(one.change(Method::PUT, "/v1/me/password", change).await.status(), 204);
    assert_eq!(one.get("/v1/me").await.status(), 200);
    assert_eq!(two.get("/v1/me").await.status(), 401);
    assert_eq!(two.log_in(ADA, PASSWORD).await.status(), 401);
    assert_eq!(two.log_in(ADA, "a-new-password-9").await.status(), 200);

    let logins = online.url(&format!("/v1/orgs/bella/members/{ADA}/logins"));
    let refused = online.http.delete(&logins).bearer_auth(KEY).send().await.unwrap();
    assert_eq!(problem(refused).await, (403, "forbidden".into()), "an operator resets nobody");
    let ended = online.http.delete(&logins).bearer_auth(ADMIN).send().await.unwrap();
    assert_eq!(json_of(ended).await, json!({"ended": 2}));
    assert_eq!(two.get("/v1/me").await.status(), 401);
    let reset = online.url(&format!("/v1/orgs/bella/members/{ADA}/password-code"));
    let link = online.http.post(&reset).bearer_auth(ADMIN).header("idempotency-key", "1");
    let link = json_of(link.send().await.unwrap()).await;
    let open = link["link"].as_str().unwrap().strip_prefix(&online.base).unwrap();
    assert_eq!(two.get(open).await.status(), 200);
}

/// S13: somebody who works in several orgs is reset only by who may do it in all of them.
#[tokio::test(flavor = "multi_thread")]
async fn s13_an_admin_of_one_org_takes_over_no_account_of_another() {
    const ADMIN: &str = "osk_the-admin-of-bella-pizza-who-helps-people";
    let online = Online::new(ECHO).await;
    key(&online.scenario, ORG, 5, ADMIN, Role::Admin).await;
    let store = &online.scenario.store;
    store.create_org(ostler_testkit::org(OTHER, "other")).await.unwrap();
    let (both, _) = add(&online, ORG, "both@example.com", Role::Viewer).await;
    store.org(OTHER).set_member(both, Role::Viewer).await.unwrap();
    add(&online, ORG, "owner@example.com", Role::Owner).await;
    for member in ["both@example.com", "owner@example.com"] {
        for (method, what) in [("POST", "password-code"), ("GET", "logins"), ("DELETE", "logins")] {
            let url = online.url(&format!("/v1/orgs/bella/members/{member}/{what}"));
            let request = online.http.request(method.parse().unwrap(), url).bearer_auth(ADMIN);
            let refused = problem(request.send().await.unwrap()).await;
            assert_eq!(refused, (403, "forbidden".into()), "{method} {what} of {member}");
        }
    }
}

/// S13: a member changes what they are notified of, and nobody else's choices.
#[tokio::test(flavor = "multi_thread")]
async fn s13_members_choose_their_own_notices_only() {
    let online = Online::new(ECHO).await;
    let platform = ostler_domain::org::Org {
        place: ostler_domain::org::OrgPlace::Platform,
        ..ostler_testkit::org(OTHER, "platform")
    };
    online.scenario.store.create_org(platform).await.unwrap();
    let mut ada = add_with_password(&online, ADA, Role::Viewer).await;
    let mut tom = add_with_password(&online, "tom@example.com", Role::Admin).await;
    let choices = "/v1/orgs/bella/notice-choices";
    assert_eq!(json_of(ada.get(choices).await).await, json!({"person": ADA}));
    let change = json!({"time_zone": "Europe/Rome", "person": "tom@example.com"});
    let changed = json_of(ada.change(Method::PATCH, choices, change).await).await;
    assert_eq!((&changed["person"], &changed["time_zone"]), (&json!(ADA), &json!("Europe/Rome")));
    let of_tom = json_of(tom.get(choices).await).await;
    assert_eq!(of_tom, json!({"person": "tom@example.com"}));
    let change = json!({"time_zone": "Europe/Berlin"});
    assert_eq!(tom.change(Method::PATCH, choices, change).await.status(), 200);
    let of_ada = json_of(ada.get(choices).await).await;
    assert_eq!(of_ada["time_zone"], "Europe/Rome", "{of_ada}");
    let wrong = ada.change(Method::PATCH, choices, json!({"no_such_choice": 1})).await;
    assert_eq!(problem(wrong).await, (422, "invalid".into()));
    let key = online.http.get(online.url(choices)).bearer_auth(KEY).send().await.unwrap();
    assert_eq!(problem(key).await, (403, "forbidden".into()), "a key has no notices");
    let settings = ada.change(Method::PATCH, "/v1/orgs/bella/settings", json!({})).await;
    assert_eq!(problem(settings).await, (403, "forbidden".into()), "a viewer");
}

/// S13: an invitation makes a member with a password, once.
#[tokio::test(flavor = "multi_thread")]
async fn s13_an_invited_person_chooses_a_password_and_is_a_member() {
    let online = Online::new(ECHO).await;
    let operations = online.scenario.operations();
    let code = format!("osi_{}", "b".repeat(64)).parse().unwrap();
    let terminal = operations.as_actor(Actor::Terminal, ORG);
    terminal.invite("tom@example.com", Role::Operator, 7, &code).await.unwrap();
    let mut tom = Browser::new(&online, "192.0.2.4");
    let path = format!("/v1/activate?code={}", code.expose());
    let shown = json_of(tom.get(&path).await).await;
    assert_eq!((&shown["kind"], &shown["role"]), (&json!("invitation"), &json!("operator")));
    assert_eq!(shown["needs_password"], true);
    let body = json!({"code": code.expose(), "name": "Tom Weber", "password": PASSWORD});
    let accepted = json_of(tom.post("/v1/activate", body.clone()).await).await;
    assert_eq!(accepted["logged_in"], true);
    let me = json_of(tom.get("/v1/me").await).await;
    assert_eq!((&me["name"], &me["orgs"][0]["role"]), (&json!("Tom Weber"), &json!("operator")));
    let again = problem(tom.post("/v1/activate", body).await).await;
    assert_eq!(again, (422, "invalid".into()));
    // A member with a password keeps it when accepting another invitation.
    online.scenario.store.create_org(ostler_testkit::org(OTHER, "other")).await.unwrap();
    let code = format!("osi_{}", "c".repeat(64)).parse().unwrap();
    let terminal = operations.as_actor(Actor::Terminal, OTHER);
    terminal.invite("tom@example.com", Role::Viewer, 7, &code).await.unwrap();
    let body = json!({"code": code.expose(), "name": "Tom", "password": "another-password-9"});
    let accepted =
        json_of(Browser::new(&online, "192.0.2.5").post("/v1/activate", body).await).await;
    assert_eq!(accepted["logged_in"], false);
    let mut other = Browser::new(&online, "192.0.2.5");
    assert_eq!(other.log_in("tom@example.com", "another-password-9").await.status(), 401);
    assert_eq!(other.log_in("tom@example.com", PASSWORD).await.status(), 200);
}

/// S12: the scopes of a key narrow its role, by resource and access.
#[tokio::test(flavor = "multi_thread")]
async fn s12_a_key_reaches_only_what_its_scopes_name() {
    let online = Online::new(ECHO).await;
    let secret = "osk_a-key-for-importing-documents-and-nothing-else";
    let new = ostler_store::NewApiKey {
        id: ostler_domain::id::KeyId::from_u128(77),
        name: "importer".into(),
        role: Role::Admin,
        scopes: "knowledge:write sessions:read".parse().unwrap(),
        expires_at: None,
    };
    online.scenario.org().create_key(new, &secret.parse().unwrap()).await.unwrap();
    let document = json!({"title": "Hours", "body": "10 to 12", "tags": []});
    for (method, path, status) in [
        ("GET", "/v1/me", 200),
        ("GET", "/v1/orgs/bella/knowledge", 200),
        ("POST", "/v1/orgs/bella/knowledge", 201),
        ("GET", "/v1/orgs/bella/sessions", 200),
        ("POST", "/v1/orgs/bella/sessions/ses_1/close", 403),
        ("GET", "/v1/orgs/bella/credits", 403),
        ("GET", "/v1/orgs/bella/settings", 403),
        ("GET", "/v1/events", 403),
        ("POST", "/v1/orgs/bella/threads", 403),
    ] {
        let request = online.http.request(method.parse().unwrap(), online.url(path));
        let request = request.bearer_auth(secret);
        let request = if method == "POST" { request.json(&document) } else { request };
        assert_eq!(request.send().await.unwrap().status(), status, "{method} {path}");
    }
}

/// S12: an address that sends many invalid keys waits, and valid keys from it go on.
#[tokio::test(flavor = "multi_thread")]
async fn s12_invalid_keys_are_limited_by_address() {
    let online = Online::new(ECHO).await;
    let get = async |key: &str, address: &str| {
        let request = online.http.get(online.url("/v1/me")).bearer_auth(key);
        request.header("x-forwarded-for", address).send().await.unwrap().status().as_u16()
    };
    assert_eq!(get(KEY, "192.0.2.1").await, 200);
    let mut statuses = std::collections::BTreeMap::new();
    // Enough for two minutes, should one end meanwhile.
    for number in 0..121 {
        let guess = format!("osk_a-key-that-somebody-guesses-{number:06}");
        *statuses.entry(get(&guess, "192.0.2.1").await).or_insert(0) += 1;
    }
    assert!(statuses[&401] <= 120 && statuses.contains_key(&429), "{statuses:?}");
    assert_eq!(get(KEY, "192.0.2.1").await, 200, "a valid key goes on");
    assert_eq!(get("osk_nobody-has-this-key-nobody-at-all", "192.0.2.2").await, 401);
}
