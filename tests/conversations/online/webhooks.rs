//! Webhooks of channels.

use ostler_channels::secret::ChannelSecret;
use ostler_channels::signature::SigningKeys;
use ostler_domain::id::BindingId;
use ostler_runtime::deps::Clock;
use serde_json::{Value, json};

use super::{Online, SMS, WHSEC, problem};
use crate::support::ECHO;

/// A signed webhook is accepted once and answered; others are refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_signed_webhook_is_accepted_once_and_others_are_refused() {
    let online = Online::new(ECHO).await;
    let url = online.url(&format!("/v1/webhooks/{SMS}"));
    let body =
        json!({"type": "message", "from": {"id": "+39 06 1234"}, "text": "ciao"}).to_string();
    let keys = SigningKeys::parse(&ChannelSecret::new(WHSEC)).unwrap();
    let bring = |signed: &str, sent: &str| {
        let mut request = online.http.post(&url).body(sent.to_owned());
        for (name, value) in keys.sign("d1", Clock::system().now(), signed.as_bytes()) {
            request = request.header(name, value);
        }
        request.send()
    };
    let mut ids = Vec::new();
    for _ in 0..2 {
        let taken = bring(&body, &body).await.unwrap();
        assert_eq!(taken.status(), 200);
        ids.push(taken.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ids[0], ids[1], "a repeat is taken once");
    let changed = body.replace("ciao", "send me money");
    let forged = bring(&body, &changed).await.unwrap();
    assert_eq!(problem(forged).await, (401, "bad_signature".into()));
    let unsigned = online.http.post(&url).body(body).send().await.unwrap();
    assert_eq!(problem(unsigned).await, (401, "bad_signature".into()));
    let other = json!({"type": "receipt", "from": {"id": "1"}}).to_string();
    let ignored: Value = bring(&other, &other).await.unwrap().json().await.unwrap();
    assert!(ignored["ignored"].is_string(), "{ignored}");
    let nowhere = online.url(&format!("/v1/webhooks/{}", BindingId::from_u128(0xdead)));
    let nobody = online.http.post(nowhere).body("{}").send().await.unwrap();
    assert_eq!(problem(nobody).await, (404, "not_found".into()));
}
