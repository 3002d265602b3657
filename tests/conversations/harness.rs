//! The harness around an agent.

use crate::world::{GIA, World};

/// A04, A21: who answers, for which tenant, and with whom.
#[tokio::test]
async fn a04_a21_the_snapshot_says_who_answers_and_with_whom() {
    let world = World::new("default: I see.").await;
    world.say("rosa", "hello").await;
    let run = world.runs("rosa").await.remove(0);
    let harness = &run.turns[0].harness;
    assert_eq!(harness.identity.agent_id, GIA);
    assert_eq!(harness.identity.organization_id, crate::world::ORG);
    assert_eq!(harness.session_context.external_contact_identifier, "rosa");
    assert_eq!(harness.session_context.conversation_history, 0);
}
