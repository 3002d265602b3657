//! API keys are sent as a header and appear nowhere else.

use ostler_domain::secret::SecretRef;
use ostler_engine::model::{Model, ModelErrorKind};
use ostler_models::anthropic::Anthropic;
use ostler_models::openai::{LimitField, OpenAi};

use crate::ask::{PRICE, ask, http, request};
use crate::server::{Reply, Server};

const KEY: &str = "very-secret";

fn both(url: &str, key: &SecretRef) -> [(Box<dyn Model>, String); 2] {
    let (name, model, base_url) = ("test/m".to_owned(), "m".to_owned(), url.to_owned());
    let open = ostler_models::openai::Options {
        name: name.clone(),
        model: model.clone(),
        base_url: base_url.clone(),
        key: Some(key.clone()),
        limit: LimitField::MaxTokens,
        price: PRICE,
    };
    let anthropic = ostler_models::anthropic::Options {
        name,
        model,
        base_url,
        key: Some(key.clone()),
        price: PRICE,
    };
    let (open, anthropic) = (OpenAi::new(http(), open), Anthropic::new(http(), anthropic));
    let shown = format!("{open:?}{anthropic:?}");
    assert!(!shown.contains(KEY));
    [
        (Box::new(open), format!("authorization: Bearer {KEY}\r\n")),
        (Box::new(anthropic), format!("x-api-key: {KEY}\r\n")),
    ]
}

fn key_file() -> (tempfile::TempDir, SecretRef) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    let place = SecretRef::File(path.to_str().unwrap().into());
    (folder, place)
}

#[tokio::test]
async fn a_key_is_sent_as_a_header_and_appears_in_no_error() {
    let (_folder, place) = key_file();
    let echo = format!(
        "{{\"error\":{{\"message\":\"what is {KEY}? or key={KEY} {}\"}}}}",
        "and so on ".repeat(40)
    );
    let replies = ["401 No", "400 Bad", "500 Oh"].map(|status| Reply::status(status, "", &echo));
    let in_the_stream = Reply::events(&format!("event: error\ndata: {echo}\n\n"));
    let typed = echo.replacen('{', "{\"type\":\"error\",", 1);
    let in_a_message = Reply::events(&format!("event: error\ndata: {typed}\n\n"));
    for reply in replies.into_iter().chain([in_the_stream, in_a_message]) {
        let server = Server::start([reply]).await;
        for (at, (model, header)) in both(&server.url, &place).into_iter().enumerate() {
            let (_, error) = ask(&*model, request()).await;
            let error = error.unwrap();
            assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
            let seen = &server.seen()[at];
            assert!(format!("{}\r\n", seen.head).contains(&header), "{}", seen.head);
            assert!(!seen.body.to_string().contains(KEY));
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (_folder, place) = key_file();
    let thief = Server::start([Reply::events("")]).await;
    for status in ["301 Moved", "302 Found", "307 There", "308 There"] {
        let location = format!("location: {}/chat/completions\r\n", thief.url);
        let server = Server::start([Reply::status(status, &location, "")]).await;
        for (model, _) in both(&server.url, &place) {
            let error = ask(&*model, request()).await.1.unwrap();
            assert!(error.message.contains("correct its base URL"), "{error}");
            assert!(!error.kind.is_retryable());
        }
    }
    assert_eq!(thief.seen().len(), 0);
}

#[tokio::test]
async fn without_a_key_no_request_is_sent() {
    let server = Server::start([Reply::events("")]).await;
    let place = SecretRef::File("/there/is/no/such/key".into());
    for (model, _) in both(&server.url, &place) {
        let error = ask(&*model, request()).await.1.unwrap();
        assert_eq!(error.kind, ModelErrorKind::NoKey);
        assert!(error.message.contains("/there/is/no/such/key"), "{error}");
    }
    assert_eq!(server.seen().len(), 0);
}
