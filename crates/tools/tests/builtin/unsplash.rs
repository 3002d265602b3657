//! The `search_unsplash_images` tool with a local server in place of Unsplash.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::id::IntegrationId;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::{Integration, Trust};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::secret::OrgSecrets;
use ostler_engine::tool::ToolSet;
use ostler_store::{IntegrationConnection, OrgIntegration};
use ostler_tools::catalogue;
use ostler_tools::media::{Unsplash, UnsplashOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{Fixture, ORG, OTHER_ORG, bare_context, call, tool_set};
use crate::test_server::{TestServer, page};

const SEARCH: &str = "/search/photos";
const KEY: &str = "very-secret-key";

/// Two orgs with keys in their own folders.
struct UnsplashFixture {
    orgs: Fixture,
    folder: TempDir,
}

impl UnsplashFixture {
    async fn new() -> Self {
        let fixture = Self { orgs: Fixture::new().await, folder: tempfile::tempdir().unwrap() };
        for org in [ORG, OTHER_ORG] {
            let own = fixture.folder.path().join(org.to_string());
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("unsplash"), KEY).unwrap();
        }
        fixture.connect(&fixture.own_key(ORG), IntegrationConnection::Connected).await;
        fixture
    }

    fn own_key(&self, org: ostler_domain::id::OrgId) -> SecretRef {
        let path = self.folder.path().join(org.to_string()).join("unsplash");
        SecretRef::File(path.to_str().unwrap().to_owned())
    }

    async fn connect(&self, secret: &SecretRef, connection: IntegrationConnection) {
        let integration = OrgIntegration {
            id: IntegrationId::from_u128(1),
            service: Integration::new("unsplash"),
            connection,
            settings: "{}".into(),
            secret: Some(secret.clone()),
        };
        self.orgs.store.org(ORG).save_integration(integration).await.unwrap();
    }

    fn tools(&self, server: &TestServer) -> Arc<ToolSet> {
        let options = UnsplashOptions {
            base_url: server.url("127.0.0.1", "/"),
            timeout: Duration::from_millis(700),
            secrets: OrgSecrets::default().with_folder(self.folder.path()),
        };
        let unsplash = Unsplash::new(self.orgs.store.clone(), options).unwrap();
        tool_set(catalogue::unsplash_tools(&unsplash))
    }

    async fn search(&self, server: &TestServer, arguments: Value) -> ToolOutcome {
        let tools = self.tools(server);
        let outcome = call(&tools, &bare_context(), "search_unsplash_images", &arguments).await;
        assert_eq!(outcome.trust, Trust::Untrusted);
        assert!(!outcome.content.contains(KEY), "{}", outcome.content);
        outcome
    }
}

fn photo(id: &str, url: &str) -> Value {
    json!({
        "id": id, "description": null, "alt_description": "a pizza ".repeat(100),
        "width": 4000, "height": 3000, "color": "#fff",
        "urls": { "regular": url, "small": "https://images.example/s", "raw": "x" },
        "links": { "html": "https://unsplash.example/p" },
        "user": { "name": "Ann", "links": { "html": "https://unsplash.example/@ann" } },
    })
}

fn json_page(body: &Value) -> Vec<u8> {
    page("200 OK", "application/json", body.to_string().as_bytes())
}

/// Z10: texts about a picture are untrusted.
#[tokio::test]
async fn z10_photos_are_found_with_the_key_of_the_org() {
    let fixture = UnsplashFixture::new().await;
    let found = json!({
        "total": 12, "total_pages": 6,
        "results": [photo("a", "https://images.example/a"), photo("b", "javascript:alert(1)")],
    });
    let server = TestServer::start(&[(SEARCH, json_page(&found))]).await;
    let arguments = json!({ "query": "pizza & wine", "count": 2, "orientation": "landscape" });
    let outcome = fixture.search(&server, arguments).await;
    assert_eq!(outcome.status, OutcomeStatus::Ok, "{}", outcome.content);
    let answer: Value = serde_json::from_str(&outcome.content).unwrap();
    assert_eq!((&answer["total"], &answer["next_page"]), (&json!(12), &json!(2)));
    let images = answer["images"].as_array().unwrap();
    assert_eq!(images.len(), 1, "pictures with unsafe addresses are dropped");
    assert_eq!(images[0]["url"], "https://images.example/a");
    assert_eq!(images[0]["photographer"], "Ann");
    assert_eq!(images[0]["description"].as_str().unwrap().len(), 300);
    let requests = server.requests.lock().unwrap().join("");
    let line = "GET /search/photos?query=pizza+%26+wine&per_page=2&page=1&content_filter=high\
                &orientation=landscape HTTP/1.1\r\n";
    assert!(requests.starts_with(line), "{requests}");
    assert!(requests.to_lowercase().contains(&format!("authorization: client-id {KEY}\r\n")));
}

#[tokio::test]
async fn errors_of_unsplash_are_failed_outcomes() {
    let fixture = UnsplashFixture::new().await;
    let check = async |answer: Vec<u8>, expected: &str| {
        let server = TestServer::start(&[(SEARCH, answer)]).await;
        let outcome = fixture.search(&server, json!({ "query": "x" })).await;
        assert_eq!((outcome.status, outcome.content.as_str()), (OutcomeStatus::Failed, expected));
        assert_eq!(server.request_count(), 1, "{expected}");
    };
    let plain = |status: &str| page(status, "application/json", KEY.as_bytes());
    let refused = "Unsplash does not accept the key that is set up here.";
    let rate_limited = "Unsplash has reached its rate limit; try again later.";
    let malformed = "Unsplash gave an answer that cannot be read.";
    check(plain("401 Unauthorized"), refused).await;
    check(plain("403 Forbidden"), refused).await;
    check(plain("403 Forbidden\r\nX-Ratelimit-Remaining: 0"), rate_limited).await;
    check(plain("429 Too Many Requests\r\nRetry-After: 60"), rate_limited).await;
    check(plain("500 Oh"), "Unsplash answered with status 500.").await;
    check(plain("302 Found\r\nLocation: /search/photos"), "Unsplash answered with status 302.")
        .await;
    check(plain("200 OK"), malformed).await;
    check(json_page(&json!({ "total": 1, "results": [{ "id": 7 }] })), malformed).await;
    check(json_page(&json!([])), malformed).await;
    let endless = json!({ "total": 1, "results": [], "more": "x".repeat(3_000_000) });
    check(json_page(&endless), "Unsplash answered with more than 2097152 bytes.").await;
    check(Vec::new(), "Unsplash did not answer in time.").await;
}

#[tokio::test]
async fn a_lost_connection_is_retried_once() {
    let fixture = UnsplashFixture::new().await;
    let server = TestServer::start(&[(SEARCH, b"\r\n".to_vec())]).await;
    let outcome = fixture.search(&server, json!({ "query": "x" })).await;
    assert_eq!(
        (outcome.status, server.request_count()),
        (OutcomeStatus::Failed, 2),
        "{}",
        outcome.content
    );
}

/// A05: an org can use neither the secrets of the operator nor those of another org,
/// and no key while Unsplash is disconnected.
#[tokio::test]
async fn a05_only_the_key_of_the_org_is_sent() {
    let fixture = UnsplashFixture::new().await;
    let server =
        TestServer::start(&[(SEARCH, json_page(&json!({ "total": 0, "results": [] })))]).await;
    let cannot = "Unsplash cannot be used with the key that is set up here.";
    for foreign in [fixture.own_key(OTHER_ORG), "env:PATH".parse().unwrap()] {
        fixture.connect(&foreign, IntegrationConnection::Connected).await;
        let outcome = fixture.search(&server, json!({ "query": "x" })).await;
        assert_eq!((outcome.status, outcome.content.as_str()), (OutcomeStatus::Failed, cannot));
    }
    fixture.connect(&fixture.own_key(ORG), IntegrationConnection::Disconnected).await;
    let outcome = fixture.search(&server, json!({ "query": "x" })).await;
    assert_eq!(outcome.content, "Unsplash is not connected here.");
    assert_eq!(server.request_count(), 0);
    fixture.connect(&fixture.own_key(ORG), IntegrationConnection::Connected).await;
    assert_eq!(fixture.search(&server, json!({ "query": "x" })).await.status, OutcomeStatus::Ok);
}
