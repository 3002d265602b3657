//! A whole process: a gateway brings letters, workers answer them, couriers send
//! the answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use ostler_domain::tool::catalogue::built_in;
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{ToolDefinition, ToolReply, Tool, ToolContext};
use ostler_runtime::delivery::DeliveryOptions;
use ostler_runtime::deps::Settings;
use ostler_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{ConnectedOrg, SMS, Scenario, catalogue, delivery_options};


/// The variable with a process's orders; without it the process's test does
/// nothing.
pub(super) const ORDERS: &str = "OSTLER_CRASH_ORDERS";
/// The test that is a process.
pub(super) const PROCESS: &str = "crash::process::process";

/// Letters, each with a word of its own that its answer repeats.
const SCRIPT: &str = r#"
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: { regex: 'note (?<word>\S+)' } }
    answer:
      - { call: create_contact, with: { name: "Friend {{ word }}" } }
      - "Noted {{ word }}"
  - when: { user: { regex: 'mail (?<word>\S+)' } }
    answer:
      - { call: send_email, with: { word: "{{ word }}" } }
      - "Mailed {{ word }}"
  - when: { user: { regex: 'post (?<word>\S+)' } }
    answer:
      - { call: post_parcel, with: { word: "{{ word }}" } }
      - "Posted {{ word }}"
default: "About {{ user }}"
"#;

/// What a process is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) database: String,
    /// Where its tools reach outside.
    pub(super) outside: String,
    pub(super) letters: Vec<Letter>,
    /// After so many tries a letter is dead.
    pub(super) attempts: u32,
}

/// What somebody writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Letter {
    pub(super) from: String,
    pub(super) text: String,
    /// The word in it that no other letter has.
    pub(super) word: String,
}

impl Orders {
    /// What a process is made of.
    pub(super) fn assemble(&self, store: Store) -> ConnectedOrg {
        let mut settings = Settings {
            poll_interval: Duration::from_millis(20),
            retry_after: Duration::ZERO,
            ..Settings::default()
        };
        settings.claims.max_attempts = self.attempts;
        let mail = built_in().into_iter().find(|spec| spec.name.as_str() == "send_email");
        let parcel = ToolName::from_static("post_parcel");
        let parcel = ToolSpec::write(parcel, ToolGroup::Outreach).external().priced(1);
        let http = plain_http();
        let tools = vec![self.tool(mail.unwrap(), false, &http), self.tool(parcel, true, &http)];
        let scenario = Scenario::with_replaced_tools(store, catalogue(SCRIPT), settings, tools);
        let sending = DeliveryOptions { poll_interval: Duration::from_millis(20), ..delivery_options() };
        ConnectedOrg::within(scenario, sending, Duration::from_secs(20))
    }

    fn tool(&self, spec: ToolSpec, idempotent: bool, http: &reqwest::Client) -> Arc<dyn Tool> {
        let mut definition = ToolDefinition::new(spec, "Reaches outside.", json!({"type": "object"}));
        definition.idempotent = idempotent;
        let (url, http) = (self.outside.clone(), http.clone());
        Arc::new(Outside { definition, url, http })
    }

    /// A gateway brings the letters, in order.
    pub(super) async fn bring(&self, org: &ConnectedOrg) {
        for Letter { from, text, word } in &self.letters {
            let body = json!({"type": "message", "from": {"id": from}, "text": text});
            org.receive_webhook(SMS, word, &body).await;
        }
    }
}

/// Reading all certificates of the machine would take most of a process's life.
fn plain_http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

/// A tool that asks a server, and says under which key.
struct Outside {
    definition: ToolDefinition,
    url: String,
    http: reqwest::Client,
}

impl Tool for Outside {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, context: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        async move {
            let word = match call.arguments::<Value>() {
                Ok(arguments) => arguments["word"].clone(),
                Err(bad) => return ToolReply::Done(bad),
            };
            let asked = json!({"word": word, "key": context.idempotency_key});
            let answer = self.http.post(&self.url).json(&asked).send().await;
            ToolReply::Done(match answer {
                Ok(_) => ToolOutcome::ok("It is done."),
                Err(error) => ToolOutcome::failed(error.to_string()),
            })
        }
        .boxed()
    }
}

/// A process, which ends where it is told to, or in the middle of something.
#[tokio::test(flavor = "multi_thread")]
async fn process() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let org = orders.assemble(Store::open(&orders.database).await.unwrap());
    let (_stop, stopped) = watch::channel(false);
    let working = async {
        tokio::join!(
            orders.bring(&org),
            org.scenario.worker.run(2, stopped.clone()),
            org.delivery.run(2, stopped.clone()),
        )
    };
    // Nobody stops it: it is killed, or its fault was not reached.
    let _in_vain = tokio::time::timeout(Duration::from_secs(20), working).await;
}
