//! A worker dies while a tool works outside; another goes on with the run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::gate::Authorized;
use ostler_engine::tool::{Definition, Reply, Tool, ToolContext};
use ostler_runtime::parts::Settings;
use tokio::sync::Notify;

use crate::kit::{impatient, world_with};
use crate::world::{ENZO, GIA, text_of};

/// A mail that is begun and never ends.
struct Endless {
    definition: Definition,
    begun: Arc<Notify>,
}

impl Tool for Endless {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(&'a self, _: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, Reply> {
        self.begun.notify_one();
        std::future::pending().boxed()
    }
}

fn endless(begun: &Arc<Notify>) -> Arc<dyn Tool> {
    let spec = built_in().into_iter().find(|spec| spec.name.as_str() == "send_email").unwrap();
    let schema = serde_json::json!({"type": "object"});
    let mut definition = Definition::new(spec, "Sends a mail.", schema);
    // The lease outlasts the call, and the test waits for the lease.
    definition.timeout = Duration::from_millis(500);
    Arc::new(Endless { definition, begun: begun.clone() })
}

const SCRIPT: &str = "
price: { input: 0, output: 1000 }
usage: { output: 10 }
rules:
  - when: { user: invoice, agent: 'You are Gia' }
    answer:
      text: One moment.
      call: tag_in_agent
      with: { targetAgentId: enzo, reason: an invoice }
  - when: { agent: 'You are Enzo' }
    answer:
      - { call: send_email }
      - I cannot say whether the mail went out.
";

/// Z01, Z04: the turn before the one that was interrupted is committed with it:
/// what was said, and what both agents cost. The mail is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn z04_a_run_of_two_agents_outlives_its_worker() {
    let begun = Arc::new(Notify::new());
    let mut settings: Settings = impatient();
    settings.claims.lease = Duration::from_millis(200);
    let (world, seen) = world_with(SCRIPT, vec![endless(&begun)], settings).await;
    world.change(ENZO, |enzo| enzo.autonomy = AutonomyLevel::Autonomous).await;
    let funds = world.org().account().await.unwrap().available().unwrap();
    world.write("rosa", "my invoice").await;
    let worker = world.worker.clone();
    let dies = tokio::spawn(async move { worker.answer_next().await });
    begun.notified().await;
    dies.abort();
    let _gone = dies.await;
    let asked = seen.count();

    let answered = async {
        while !world.worker.answer_next().await.unwrap() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.expect("the lease ends");
    let heard: Vec<String> = world.deliver().await.iter().map(text_of).collect();
    assert_eq!(heard, ["One moment.", "I cannot say whether the mail went out."]);
    assert_eq!(seen.count(), asked + 1, "no model is asked twice for the same");
    let runs = world.runs("rosa").await;
    let agents: Vec<_> = runs[0].turns.iter().map(|turn| turn.agent).collect();
    assert_eq!((runs.len(), agents), (1, vec![GIA, ENZO]));
    let session = world.session("rosa").await;
    assert_eq!((session.active_agent(), session.unknown_outcomes), (Some(ENZO), 1));
    assert_eq!(session.messages, 3, "each is counted once");
    world.org().apply_settlements().await.unwrap();
    let left = world.org().account().await.unwrap().available().unwrap();
    assert!(runs[0].credits.get() >= 3, "two answers and a mail: {}", runs[0].credits);
    assert_eq!(left + runs[0].credits, funds, "what both cost is paid, and nothing is held");
}
