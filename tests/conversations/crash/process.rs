//! A process that receives messages from a gateway, answers them and sends the answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use ostler_domain::tool::{ToolGroup, ToolName, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::ToolOutcome;
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_runtime::delivery::DeliveryOptions;
use ostler_runtime::deps::Settings;
use ostler_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::{ConnectedOrg, SMS, Scenario, catalogue, delivery_options};

/// The variable with the orders of a process; without it the test of the process does
/// nothing.
pub(super) const ORDERS: &str = "OSTLER_CRASH_ORDERS";
/// The test that is the process.
pub(super) const PROCESS: &str = "crash::process::process";

/// Each message has a unique word, which its answer repeats.
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

/// The orders of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) database: String,
    /// The address of the external server of the tools.
    pub(super) outside: String,
    pub(super) messages: Vec<CustomerMessage>,
    /// The attempts after which a message is a dead letter.
    pub(super) attempts: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CustomerMessage {
    pub(super) from: String,
    pub(super) text: String,
    pub(super) word: String,
}

impl Orders {
    /// Assembles the process.
    pub(super) fn assemble(&self, store: Store) -> ConnectedOrg {
        let mut settings = Settings {
            poll_interval: Duration::from_millis(20),
            retry_after: Duration::ZERO,
            ..Settings::default()
        };
        settings.claims.max_attempts = self.attempts;
        let tool = |name, price| {
            let spec = ToolSpec::write(ToolName::from_static(name), ToolGroup::Outreach);
            spec.for_customers().external().priced(price)
        };
        let (mail, parcel) = (tool("send_email", 2), tool("post_parcel", 1));
        let http = plain_http();
        let tools = vec![self.tool(mail, false, &http), self.tool(parcel, true, &http)];
        let scenario = Scenario::with_replaced_tools(store, catalogue(SCRIPT), settings, tools);
        let sending =
            DeliveryOptions { poll_interval: Duration::from_millis(20), ..delivery_options() };
        ConnectedOrg::within(scenario, sending, Duration::from_secs(20))
    }

    fn tool(&self, spec: ToolSpec, idempotent: bool, http: &reqwest::Client) -> Arc<dyn Tool> {
        let mut definition =
            ToolDefinition::new(spec, "Reaches outside.", json!({"type": "object"}));
        definition.idempotent = idempotent;
        let (url, http) = (self.outside.clone(), http.clone());
        Arc::new(ExternalTool { definition, url, http })
    }

    /// Receives the messages from the gateway, in order.
    pub(super) async fn receive_messages(&self, org: &ConnectedOrg) {
        for CustomerMessage { from, text, word } in &self.messages {
            let body = json!({"type": "message", "from": {"id": from}, "text": text});
            org.receive_webhook(SMS, word, &body).await;
        }
    }
}

/// Returns a client without the certificates of the machine: reading them would take most
/// of a process's life.
fn plain_http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

/// A tool that posts its arguments and its idempotency key to a server.
struct ExternalTool {
    definition: ToolDefinition,
    url: String,
    http: reqwest::Client,
}

impl Tool for ExternalTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
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

/// A process that ends at its fault or is killed.
#[tokio::test(flavor = "multi_thread")]
async fn process() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let org = orders.assemble(Store::open(&orders.database).await.unwrap());
    let (_stop, stopped) = watch::channel(false);
    let working = async {
        tokio::join!(
            orders.receive_messages(&org),
            org.scenario.worker.run(2, stopped.clone()),
            org.delivery.run(2, stopped.clone()),
        )
    };
    // It is killed, or its fault was not reached.
    let _timed_out = tokio::time::timeout(Duration::from_secs(20), working).await;
}
