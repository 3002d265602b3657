//! O30: what people do to the steps of a workflow, and how they learn of them.

use ostler_domain::id::WorkflowId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::workflow::{StepControl, StepName};
use ostler_runtime::operations::{Actor, GraphFormat, OperationError};
use ostler_store::EventCursor;
use serde_json::{Value, json};

use super::support::{WorkflowScenario, result, state};
use crate::support::{ECHO, ORG};

async fn control(
    workflows: &WorkflowScenario,
    id: WorkflowId,
    step: &str,
    control: StepControl,
) -> Result<(), OperationError> {
    let operations = workflows.scenario.operations();
    let step: StepName = step.parse().unwrap();
    operations.as_actor(Actor::Terminal, ORG).control_step(id, &step, control).await
}

/// The events of workflows, as kind and what they say.
async fn events(workflows: &WorkflowScenario) -> Vec<String> {
    let store = workflows.scenario.store.org(ORG);
    let all = store.events_after(EventCursor::default(), 1000).await.unwrap();
    let text = |data: &str| {
        let data: Value = serde_json::from_str(data).unwrap();
        let fields = ["step", "state", "status", "tasks"];
        let values = fields.iter().filter(|field| !data[**field].is_null());
        values.map(|field| data[*field].to_string().replace('"', "")).collect::<Vec<_>>().join(" ")
    };
    let of_workflows = all.into_iter().filter(|event| event.kind.starts_with("workflow_"));
    let line = |kind: String, data: String| format!("{kind} {data}").trim_end().to_owned();
    of_workflows.map(|event| line(event.kind, text(&event.data))).collect()
}

/// O30: a paused step waits with all that follows, a skipped one lets the steps after it
/// run, and every change is an event.
#[tokio::test(flavor = "multi_thread")]
async fn o30_steps_are_paused_continued_and_skipped() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let steps = json!([
        {"id": "first", "tool": "note", "with": {"say": "one"}},
        {"id": "paid", "after": ["first"], "wait": "paid"},
        {"id": "pay", "after": ["paid"], "tool": "pay", "with": {"say": "the bill"}},
        {"id": "last", "after": ["pay"], "tool": "note",
         "with": {"say": "last {{ steps.pay.result }}"}},
    ]);
    let id = workflows.start(steps, json!({})).await;
    control(&workflows, id, "first", StepControl::Pause).await.unwrap();
    workflows.work().await;
    let detail = workflows.detail(id).await;
    assert_eq!((state(&detail, "first"), detail.summary.status.as_str()), ("paused", "waiting"));
    assert!(workflows.log().is_empty());
    let wrong = control(&workflows, id, "nowhere", StepControl::Pause).await.unwrap_err();
    assert!(wrong.to_string().contains("no step `nowhere`"), "{wrong}");

    control(&workflows, id, "first", StepControl::Continue).await.unwrap();
    workflows.work().await;
    assert_eq!(workflows.log(), ["note one"]);
    control(&workflows, id, "paid", StepControl::Skip).await.unwrap();
    let other = workflows.second_process();
    other.work().await;
    let operations = workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let calls = operator.workflow_calls(10).await.unwrap();
    assert_eq!(calls.len(), 1, "the event is not waited for any more: {calls:?}");
    assert_eq!((calls[0].tool.as_str(), calls[0].task.to_string().as_str()), ("pay", "pay"));
    assert!(
        operator.workflow_graph(id, GraphFormat::Mermaid).await.unwrap().contains("s2 waiting")
    );
    assert!(operator.workflow_graph(id, GraphFormat::Svg).await.unwrap().contains("pay waiting"));

    control(&workflows, id, "pay", StepControl::Skip).await.unwrap();
    other.work().await;
    let detail = workflows.detail(id).await;
    assert_eq!((state(&detail, "pay"), result(&detail, "last")), ("skipped", "last "));
    assert_eq!(workflows.log(), ["note one", "note last "], "the bill is not paid");
    assert!(operator.workflow_calls(10).await.unwrap().is_empty());
    let over = control(&workflows, id, "last", StepControl::Pause).await.unwrap_err();
    assert!(over.to_string().contains("has ended"), "{over}");
    assert_eq!(
        events(&workflows).await,
        [
            "workflow_started",
            "workflow_waiting []",
            "workflow_step first done",
            "workflow_waiting [paid]",
            "workflow_step paid skipped",
            "workflow_waiting [pay]",
            "workflow_step pay skipped",
            "workflow_step last done",
            "workflow_ended done",
        ]
    );
}

/// O30: the owner learns that a workflow failed, each time; a retry repeats only what is not
/// done.
#[tokio::test(flavor = "multi_thread")]
async fn o30_a_failed_workflow_is_noticed_and_retried() {
    let workflows = WorkflowScenario::new(ECHO).await;
    let steps = json!([
        {"id": "first", "tool": "note", "with": {"say": "one"}},
        {"id": "bad", "after": ["first"], "tool": "break", "with": {"say": "it"}},
    ]);
    let failed = workflows.run(steps, json!({})).await;
    assert_eq!(failed.summary.status, "failed");
    let id = failed.summary.id;
    let operations = workflows.scenario.operations();
    let operator = operations.as_actor(Actor::Terminal, ORG);
    let notices = async || {
        let all = workflows
            .scenario
            .store
            .org(ORG)
            .unread_notices(NoticeRecipient::Owner, None, 100)
            .await
            .unwrap();
        let kinds = all.into_iter().filter(|one| one.notice.kind == NoticeKind::WorkflowFailed);
        kinds.map(|one| one.notice.data).collect::<Vec<_>>()
    };
    let first = notices().await;
    assert!(first.len() == 1 && first[0].contains("It is broken."), "{first:?}");
    let again = operator.retry_workflow(id).await.unwrap();
    assert_eq!(again.iter().map(StepName::as_str).collect::<Vec<_>>(), ["bad"]);
    let twice = operator.retry_workflow(id).await.unwrap_err();
    assert!(twice.to_string().contains("only a failed workflow"), "{twice}");
    workflows.work().await;
    assert_eq!(workflows.log(), ["note one", "break it", "break it"]);
    assert_eq!(notices().await.len(), 2);
    assert!(
        events(&workflows).await.ends_with(&[
            "workflow_step bad failed".to_owned(),
            "workflow_ended failed".to_owned()
        ])
    );
}
