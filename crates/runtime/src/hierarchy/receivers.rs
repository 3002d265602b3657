//! Finds the agents that receive what is sent to another business layer.

use ostler_domain::agent::AgentStatus;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::hierarchy::route::{EscalationTargets, Party};
use ostler_store::StoreError;

use super::call::ExchangeCall;
use crate::org_view::OrgView;

/// Returns the oldest active agent of a subtype.
fn oldest(view: &OrgView, subtype: &Subtype) -> Option<Party> {
    let active = view
        .agents
        .iter()
        .filter(|one| one.agent.subtype == *subtype && one.agent.status == AgentStatus::Active);
    let oldest = active.min_by_key(|one| (one.agent.created_at, one.agent.id))?;
    Some(Party {
        org: view.org.id,
        agent: oldest.agent.id,
        business_layer: oldest.position.business_layer,
    })
}

/// Returns the PM of an org.
fn pm(view: &OrgView) -> Option<Party> {
    oldest(view, &Subtype::Pm)
}

/// Returns the coordinator of an org.
pub(super) fn coordinator(view: &OrgView) -> Option<Party> {
    oldest(view, &Subtype::Coordinator)
}

/// Returns who can receive an issue of the calling agent: the PM of its org, that of the parent
/// org, and the system agent of the platform.
pub(super) async fn escalation_targets(
    call: &ExchangeCall<'_>,
) -> Result<EscalationTargets, StoreError> {
    let view = &call.turn.view;
    let parent_pm = match view.org.parent() {
        Some(parent) => pm(&*call.org_views().current(parent).await?),
        None => None,
    };
    let platform = call.org_views().store().shared_config(view.org.place).await?.platform;
    let platform = match platform.filter(|platform| *platform != view.org.id) {
        Some(platform) => oldest(&*call.org_views().current(platform).await?, &Subtype::System),
        None => None,
    };
    Ok(EscalationTargets { own_pm: pm(view), parent_pm, platform })
}
