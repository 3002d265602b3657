//! Bots: asked for updates, or told where to bring them.

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

fn attend(org: &ConnectedOrg, updates: UpdateMode) -> (watch::Sender<bool>, JoinHandle<()>) {
    let (stop, stopped) = watch::channel(false);
    let receiver = org.receiver.clone();
    (stop, tokio::spawn(async move { receiver.run_telegram_bots(&updates, stopped).await }))
}

/// The methods of the Bot API that were called.
fn methods(server: &Server) -> Vec<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    server.seen().iter().map(|one| last(one.path())).collect()
}

/// C16: where the web does not reach this server, Telegram is asked, without
/// anybody naming the bot.
#[tokio::test]
async fn c16_telegram_is_asked_for_updates() {
    let org = ConnectedOrg::new(ECHO).await;
    let server = org.bot([result(&json!([telegram_message(1, 7, "hello")])), result(&json!([]))]).await;
    let (stop, attending) = attend(&org, UpdateMode::Polling);
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

/// C16: where it does, Telegram is told the address, and asked only if the
/// binding wants that.
#[tokio::test]
async fn c16_telegram_is_told_where_to_bring_updates() {
    let org = ConnectedOrg::new(ECHO).await;
    let server = org.bot([result(&json!(true))]).await;
    let brought = || UpdateMode::Webhook("https://ostler.example/".into());
    let (stop, attending) = attend(&org, brought());
    eventually("a call", async || !server.seen().is_empty()).await;
    assert_eq!(methods(&server), ["setWebhook"]);
    let url = server.seen()[0].json()["url"].clone();
    assert_eq!(url, format!("https://ostler.example/v1/webhooks/{BOT}"));
    stop.send_replace(true);
    attending.await.unwrap();

    let asked = Server::start([result(&json!([]))]).await;
    let settings = json!({"base_url": asked.url, "polling": true});
    org.bind(BOT, "telegram", GIA, 1, &settings).await;
    let (stop, attending) = attend(&org, brought());
    eventually("a call", async || !asked.seen().is_empty()).await;
    assert_eq!(methods(&asked)[0], "getUpdates");
    stop.send_replace(true);
    attending.await.unwrap();
}
