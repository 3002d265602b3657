//! `search_unsplash_images` against a server that plays Unsplash.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::id::IntegrationId;
use ostler_domain::secret::SecretRef;
use ostler_domain::tool::{Integration, Trust};
use ostler_engine::outcome::{Outcome, Status};
use ostler_engine::secret::OrgSecrets;
use ostler_engine::tool::ToolSet;
use ostler_store::{Connection, OrgIntegration};
use ostler_tools::catalogue;
use ostler_tools::media::{Unsplash, UnsplashOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Server, page};
use crate::world::{ORG, OTHER, World, call, nowhere, only};

const SEARCH: &str = "/search/photos";
const KEY: &str = "very-secret-key";

/// An org with a key in its own folder.
struct Place {
    world: World,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let place = Self { world: World::new().await, folder: tempfile::tempdir().unwrap() };
        for org in [ORG, OTHER] {
            let own = place.folder.path().join(org.to_string());
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("unsplash"), KEY).unwrap();
        }
        place.connect(&place.own_key(ORG), Connection::Connected).await;
        place
    }

    fn own_key(&self, org: ostler_domain::id::OrgId) -> SecretRef {
        let path = self.folder.path().join(org.to_string()).join("unsplash");
        SecretRef::File(path.to_str().unwrap().to_owned())
    }

    async fn connect(&self, secret: &SecretRef, connection: Connection) {
        let integration = OrgIntegration {
            id: IntegrationId::from_u128(1),
            service: Integration::new("unsplash"),
            connection,
            settings: "{}".into(),
            secret: Some(secret.clone()),
        };
        self.world.store.org(ORG).save_integration(integration).await.unwrap();
    }

    fn tools(&self, server: &Server) -> Arc<ToolSet> {
        let options = UnsplashOptions {
            address: server.url("127.0.0.1", "/"),
            within: Duration::from_millis(700),
            secrets: OrgSecrets::default().with_folder(self.folder.path()),
        };
        let unsplash = Unsplash::new(self.world.store.clone(), options).unwrap();
        only(catalogue::unsplash(&unsplash))
    }

    async fn ask(&self, server: &Server, arguments: Value) -> Outcome {
        let tools = self.tools(server);
        let outcome = call(&tools, &nowhere(), "search_unsplash_images", &arguments).await;
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

/// Z10: what is written about a picture is from outside.
#[tokio::test]
async fn z10_photographs_are_found_with_the_key_of_the_org() {
    let place = Place::new().await;
    let found = json!({
        "total": 12, "total_pages": 6,
        "results": [photo("a", "https://images.example/a"), photo("b", "javascript:alert(1)")],
    });
    let server = Server::start(&[(SEARCH, json_page(&found))]).await;
    let wanted = json!({ "query": "pizza & wine", "count": 2, "orientation": "landscape" });
    let outcome = place.ask(&server, wanted).await;
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.content);
    let told: Value = serde_json::from_str(&outcome.content).unwrap();
    assert_eq!((&told["total"], &told["next_page"]), (&json!(12), &json!(2)));
    let images = told["images"].as_array().unwrap();
    assert_eq!(images.len(), 1, "an address that is none of the web is left out");
    assert_eq!(images[0]["url"], "https://images.example/a");
    assert_eq!(images[0]["photographer"], "Ann");
    assert_eq!(images[0]["description"].as_str().unwrap().len(), 300);
    let asked = server.asked.lock().unwrap().join("");
    let line = "GET /search/photos?query=pizza+%26+wine&per_page=2&page=1&content_filter=high\
                &orientation=landscape HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.to_lowercase().contains(&format!("authorization: client-id {KEY}\r\n")));
}

#[tokio::test]
async fn every_fault_is_an_outcome() {
    let place = Place::new().await;
    let check = async |answer: Vec<u8>, expected: &str| {
        let server = Server::start(&[(SEARCH, answer)]).await;
        let outcome = place.ask(&server, json!({ "query": "x" })).await;
        assert_eq!((outcome.status, outcome.content.as_str()), (Status::Failed, expected));
        assert_eq!(server.asked(), 1, "{expected}");
    };
    let plain = |status: &str| page(status, "application/json", KEY.as_bytes());
    let refused = "Unsplash does not accept the key that is set up here.";
    let too_often = "Unsplash was asked too often; it can be asked again later.";
    let nonsense = "Unsplash gave no answer that can be understood.";
    check(plain("401 Unauthorized"), refused).await;
    check(plain("403 Forbidden"), refused).await;
    check(plain("403 Forbidden\r\nX-Ratelimit-Remaining: 0"), too_often).await;
    check(plain("429 Too Many Requests\r\nRetry-After: 60"), too_often).await;
    check(plain("500 Oh"), "Unsplash answered with status 500.").await;
    check(plain("302 Found\r\nLocation: /search/photos"), "Unsplash answered with status 302.")
        .await;
    check(plain("200 OK"), nonsense).await;
    check(json_page(&json!({ "total": 1, "results": [{ "id": 7 }] })), nonsense).await;
    check(json_page(&json!([])), nonsense).await;
    let endless = json!({ "total": 1, "results": [], "more": "x".repeat(3_000_000) });
    check(json_page(&endless), "Unsplash answered with more than 2097152 bytes.").await;
    check(Vec::new(), "Unsplash did not answer in time.").await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_twice() {
    let place = Place::new().await;
    let server = Server::start(&[(SEARCH, b"\r\n".to_vec())]).await;
    let outcome = place.ask(&server, json!({ "query": "x" })).await;
    assert_eq!((outcome.status, server.asked()), (Status::Failed, 2), "{}", outcome.content);
}

/// A05: an org names neither the operator's secrets nor another org's, and is not
/// served while it is disconnected.
#[tokio::test]
async fn a05_only_the_orgs_own_key_is_sent() {
    let place = Place::new().await;
    let server = Server::start(&[(SEARCH, json_page(&json!({ "total": 0, "results": [] })))]).await;
    let cannot = "Unsplash cannot be used with the key that is set up here.";
    for foreign in [place.own_key(OTHER), "env:PATH".parse().unwrap()] {
        place.connect(&foreign, Connection::Connected).await;
        let outcome = place.ask(&server, json!({ "query": "x" })).await;
        assert_eq!((outcome.status, outcome.content.as_str()), (Status::Failed, cannot));
    }
    place.connect(&place.own_key(ORG), Connection::Disconnected).await;
    let outcome = place.ask(&server, json!({ "query": "x" })).await;
    assert_eq!(outcome.content, "Unsplash is not connected here.");
    assert_eq!(server.asked(), 0);
    place.connect(&place.own_key(ORG), Connection::Connected).await;
    assert_eq!(place.ask(&server, json!({ "query": "x" })).await.status, Status::Ok);
}
