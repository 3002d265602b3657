//! Workflows that steps of others have started.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::contact::Contact;
use ostler_domain::id::{AuditId, ContactId, WorkflowId};
use ostler_domain::workflow::ChildEnd;
use ostler_store::{NewWorkflow, Store, WorkflowCommit, WorkflowLeaseAction, WorkflowParent};
use serde_json::json;

use crate::on_every_backend;
use crate::support::{next, with_org};

on_every_backend!(
    /// O30, S09: the step that waits for a workflow about a person learns that it is deleted,
    /// and what all of them have cost is one sum.
    o30_s09_a_deleted_child_answers_its_parent
);
async fn o30_s09_a_deleted_child_answers_its_parent(store: &Store) {
    let org = with_org(store, 1).await;
    let rosa: Contact = serde_json::from_value(json!({"id": ContactId::from_u128(next()),
        "name": "Rosa", "tags": [], "notes": [], "details": {}}))
    .unwrap();
    let here = store.org(org);
    here.create_contact(rosa.clone()).await.unwrap();
    let new = |input: serde_json::Value, parent| NewWorkflow {
        id: WorkflowId::from_u128(next()),
        name: "test".into(),
        definition: "{}".into(),
        input: input.to_string(),
        state: "{}".into(),
        parent,
    };
    let parent = new(json!({}), None);
    here.start_workflow(parent.clone()).await.unwrap();
    let claimed = store.claim_workflow(Duration::from_secs(60), 9).await.unwrap().unwrap();
    let link = WorkflowParent {
        workflow: parent.id,
        task: "a".into(),
        question: "child".into(),
        ancestors: vec!["test".into()],
        untrusted: false,
    };
    let child = new(json!({"contact": rosa.id}), Some(link));
    let id = child.id;
    let waits = WorkflowCommit {
        lease: claimed.lease,
        status: "waiting".into(),
        state: "1".into(),
        spent: 5,
        tasks: vec![],
        consumed_answers: vec![],
        waits: vec![],
        ended_waits: vec![],
        clear_waits: false,
        changes: vec![],
        audit: vec![],
        charges: vec![],
        notices: vec![],
        children: vec![child],
        cancel_children: false,
        ended: None,
        events: vec![],
        lease_ttl: Duration::from_secs(60),
        lease_action: WorkflowLeaseAction::Release { seen_signals: 0, recheck_in: None },
    };
    store.commit_workflow(waits.clone()).await.unwrap();
    let claimed = store.claim_workflow(Duration::from_secs(60), 9).await.unwrap().unwrap();
    assert_eq!(claimed.workflow.id, id);
    let runs = WorkflowCommit { lease: claimed.lease, spent: 3, children: vec![], ..waits };
    store.commit_workflow(runs).await.unwrap();
    for one in [id, parent.id] {
        assert_eq!(here.workflow_family_spent(one).await.unwrap(), 8);
    }

    here.erase_contact(rosa.id, AuditActor::System, AuditId::from_u128(next())).await.unwrap();
    assert!(here.workflow(id).await.is_err());
    let claimed = store.claim_workflow(Duration::from_secs(60), 9).await.unwrap().unwrap();
    assert_eq!(claimed.workflow.id, parent.id);
    let answer = &claimed.signals.answers[0];
    assert_eq!((answer.task.as_str(), answer.question.as_str()), ("a", "child"));
    let end: ChildEnd = serde_json::from_str(&answer.data).unwrap();
    assert_eq!((end.result, end.spent), (None, 3));
}
