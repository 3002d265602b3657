//! Updates of Telegram bots, by polling and by webhook.

use std::time::Duration;

use ostler_runtime::conversation::receive::telegram_bots::UpdateMode;
use ostler_testkit::eventually;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::fake_server::{Reply, Server};
use crate::support::{BOT, ConnectedOrg, ECHO, GIA, telegram_message};

fn result(value: &Value) -> Reply {
    Reply::json(200, &json!({"ok": true, "result": value}))
}

fn run_bots(org: &ConnectedOrg, updates: UpdateMode) -> (watch::Sender<bool>, JoinHandle<()>) {
    let (stop, stopped) = watch::channel(false);
    let receiver = org.receiver.clone();
    (stop, tokio::spawn(async move { receiver.run_telegram_bots(&updates, stopped).await }))
}

/// Returns the called methods of the Bot API.
fn methods(server: &Server) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    server.seen().iter().map(|one| last(one.path())).collect()
}

/// C16: without a public URL all bots are polled for updates.
#[tokio::test]
async fn c16_telegram_is_polled_without_a_public_url() {
    let org = ConnectedOrg::new(ECHO).await;
    let server =
        org.bot([result(&json!([telegram_message(1, 7, "hello")])), result(&json!([]))]).await;
    let (stop, attending) = run_bots(&org, UpdateMode::Polling);
    let answered = async || {
        org.scenario.work().await;
        !org.scenario.sessions().await.is_empty()
    };
    eventually("an answer", answered).await;
    stop.send_replace(true);
    tokio::time::timeout(Duration::from_secs(60), attending).await.unwrap().unwrap();
    assert!(methods(&server).iter().all(|method| method == "getUpdates"));
    assert_eq!(org.scenario.runs("7").await.len(), 1);
}

/// C16: with a public URL a webhook is set; a binding can still ask for polling.
#[tokio::test]
async fn c16_telegram_gets_a_webhook_with_a_public_url() {
    let org = ConnectedOrg::new(ECHO).await;
    let server = org.bot([result(&json!(true))]).await;
    let brought = || UpdateMode::Webhook("https://ostler.example/".into());
    let (stop, attending) = run_bots(&org, brought());
    eventually("a call", async || !server.seen().is_empty()).await;
    assert_eq!(methods(&server), ["setWebhook"]);
    let url = server.seen()[0].json()["url"].clone();
    assert_eq!(url, format!("https://ostler.example/v1/webhooks/{BOT}"));
    stop.send_replace(true);
    attending.await.unwrap();

    let asked = Server::start([result(&json!([]))]).await;
    let settings = json!({"base_url": asked.url, "polling": true});
    org.bind(BOT, "telegram", GIA, 1, &settings).await;
    let (stop, attending) = run_bots(&org, brought());
    eventually("a call", async || !asked.seen().is_empty()).await;
    assert_eq!(methods(&asked)[0], "getUpdates");
    stop.send_replace(true);
    attending.await.unwrap();
}

/// O20: a bot that cannot be polled is shown as failing, until it can.
#[tokio::test]
async fn o20_a_bot_that_cannot_be_polled_is_failing() {
    let org = ConnectedOrg::new(ECHO).await;
    let refused = json!({"ok": false, "error_code": 401, "description": "Unauthorized"});
    let server = org.bot([Reply::json(401, &refused), result(&json!([]))]).await;
    let (stop, attending) = run_bots(&org, UpdateMode::Polling);
    let failures = async || org.scenario.org().binding_failures().await.unwrap();
    eventually("a failure", async || !failures().await.is_empty()).await;
    let found = failures().await;
    assert_eq!(found[0].binding, BOT);
    assert!(found[0].reason.contains("token is not accepted"), "{found:?}");
    eventually("a poll", async || failures().await.is_empty()).await;
    assert!(server.seen().len() >= 2);
    stop.send_replace(true);
    attending.await.unwrap();
}
