//! Messages that wait for the approval of a plan or for a human.

use std::sync::Arc;

use ostler_bus::{Envelope, next_id};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::plan::{
    AgentPlan, PlanAnswer, PlanEffect, PlanRefused, PlanStatus,
};
use ostler_runtime::agents::{Page, PlanKey, QueueError, ReceivedPlanAnswer};
use serde_json::json;
use tokio::task::JoinSet;

use crate::on_every_store;
use crate::support::{RecordStores, code, name};

fn envelope(number: u64) -> Arc<Envelope> {
    Arc::new(Envelope::new("say", json!({ "n": number }), code(number)))
}

fn answered(message: EnvelopeId, answer: PlanAnswer) -> ReceivedPlanAnswer {
    ReceivedPlanAnswer { message, by: name("boss"), reference: code(1), answer }
}

on_every_store!(
    /// X45: a plan is decided once; repeating the deciding answer returns the
    /// same effect, and any other answer fails.
    x45_a_plan_is_decided_once
);
async fn x45_a_plan_is_decided_once(stores: RecordStores) {
    let plans = stores.plans;
    let held = envelope(1);
    let key = PlanKey { agent: name("ada"), message: held.message.id };
    let plan = AgentPlan::propose(code(1), name("ada"), name("boss"), None);
    let unknown = plans.answer(&key, answered(next_id(), PlanAnswer::Approve)).await;
    assert!(matches!(unknown, Err(QueueError::UnknownPlan(_))));
    let status = plans.hold(&key, plan.clone(), held.clone()).await.unwrap();
    assert_eq!(status, PlanStatus::Waiting);
    let stranger =
        ReceivedPlanAnswer { by: name("eve"), ..answered(next_id(), PlanAnswer::Approve) };
    let refused = plans.answer(&key, stranger).await;
    assert!(matches!(refused, Err(QueueError::Plan(PlanRefused::NotTheApprover { .. }))));

    let messages: Vec<EnvelopeId> = (0..10).map(|_| next_id()).collect();
    let mut running = JoinSet::new();
    for message in messages {
        let (plans, key) = (plans.clone(), key.clone());
        running.spawn(async move {
            let result = plans.answer(&key, answered(message, PlanAnswer::Approve)).await;
            (message, result)
        });
    }
    let mut deciding = Vec::new();
    for (message, result) in running.join_all().await {
        match result {
            Ok(effect) => {
                assert_eq!(effect, (PlanEffect::Dispatch, held.clone()));
                deciding.push(message);
            }
            Err(QueueError::Plan(PlanRefused::AlreadyAnswered)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(deciding.len(), 1);
    let again = plans.answer(&key, answered(deciding[0], PlanAnswer::Approve)).await.unwrap();
    assert_eq!(again, (PlanEffect::Dispatch, held.clone()));
    assert_eq!(plans.hold(&key, plan, held).await.unwrap(), PlanStatus::Approved);
    plans.forget(&key).await.unwrap();
    plans.forget(&key).await.unwrap();
    let over = plans.answer(&key, answered(deciding[0], PlanAnswer::Approve)).await;
    assert!(matches!(over, Err(QueueError::UnknownPlan(_))));
}

on_every_store!(
    /// X62: oldest first.
    x62_a_work_list_is_ordered_and_each_message_is_taken_once
);
async fn x62_a_work_list_is_ordered_and_each_message_is_taken_once(stores: RecordStores) {
    let (list, rosa) = (stores.worklist, name("rosa"));
    let messages = [envelope(1), envelope(2), envelope(3)];
    for message in messages.iter().chain(&messages).rev() {
        list.add(&rosa, message.clone()).await.unwrap();
    }
    assert_eq!(list.list(&rosa, Page::default()).await.unwrap(), messages);
    let page = Page::after(messages[0].message.id, 1);
    assert_eq!(list.list(&rosa, page).await.unwrap(), messages[1..2]);
    assert!(list.list(&name("ugo"), Page::default()).await.unwrap().is_empty());
    let mut running = JoinSet::new();
    for _ in 0..10 {
        let (list, rosa, id) = (list.clone(), rosa.clone(), messages[0].message.id);
        running.spawn(async move { list.take(&rosa, id).await.unwrap() });
    }
    let taken: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken, messages[..1]);
    assert_eq!(list.list(&rosa, Page::default()).await.unwrap(), messages[1..]);
}
