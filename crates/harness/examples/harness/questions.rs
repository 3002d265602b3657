//! Questions and plans: the turn waits for a person, also across restarts.

use ostler_harness::{AskEvent, EventKind, MessageEvent, PlanResponse, TurnLifeEvent};

use super::{Printed, harness};

const SCRIPT: &str = "rules:\n  - when: { user: go }\n    answer:\n      - call: ask_user\n        with: { question: Which colour?, options: [red, blue] }\n      - call: submit_plan\n        with: { plan: Paint it }\n      - planned\n  - when: { user: Carry it out }\n    answer: Painted.";

pub(super) async fn run() -> Printed {
    let harness = harness(SCRIPT).await?.build()?;
    harness.init().await?;
    let mut events = harness.subscribe();
    harness.follow_up("go").await?;
    let mut printed = String::new();
    loop {
        match &events.next().await.kind {
            EventKind::Ask(AskEvent::AskQuestion { question_id, question, .. }) => {
                printed += &format!("{question} blue\n");
                harness.respond_to_question(question_id, "blue").await?;
            }
            EventKind::Ask(AskEvent::PlanApprovalRequired { plan_id, plan, .. }) => {
                printed += &format!("{plan}: approved\n");
                harness.respond_to_plan_approval(plan_id, PlanResponse::Approve).await?;
                break;
            }
            _ => {}
        }
    }
    // The approved plan is carried out in the default mode, by a turn of its own.
    let mut ended = 0;
    while ended < 2 {
        let event = events.next().await;
        if let EventKind::Message(MessageEvent::MessageEnd { message }) = &event.kind {
            printed += &format!("{:?}\n", message.content);
        }
        ended += i32::from(matches!(event.kind, EventKind::Turn(TurnLifeEvent::AgentEnd { .. })));
    }
    Ok(printed)
}
