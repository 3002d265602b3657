//! `delegate_to_child`: gives work to a client org.

use ostler_domain::hierarchy::delegation::OrgDelegation;
use ostler_domain::hierarchy::route::{NoRoute, check_delegation};
use ostler_domain::id::RecordId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{CallError, ExchangeCall, ExchangeTool};
use super::effect::ExchangeEffect;
use super::escalate_to_parent::Severity;
use crate::ids::fresh;

pub(super) struct DelegateToChild;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The short name of the client, such as `bella`.
    client_slug: String,
    /// What the client's PM should do.
    instruction: String,
    #[serde(default)]
    priority: Option<Severity>,
}

impl ExchangeTool for DelegateToChild {
    const DESCRIPTION: &'static str = "Give work to the PM of one of your clients. The PM accepts \
        or rejects it, and you are told the result.";
    type Arguments = Arguments;

    async fn run(
        Arguments { client_slug, instruction, priority }: Arguments,
        call: &ExchangeCall<'_>,
    ) -> Result<(ExchangeEffect, String), CallError> {
        let store = call.org_views().store();
        let client = store.org_by_slug(client_slug.trim()).await?.ok_or(NoRoute::NotAChild)?;
        let client = store.org(client).org().await?;
        let own = &call.turn.view.org;
        check_delegation(own, &client)?;
        let work = OrgDelegation::new(own.id, client.id, &instruction, priority.map(Into::into))?;
        let delegation = Box::new(OrgDelegation {
            sender: call.sender(),
            agent: Some(call.context.agent),
            session: Some(call.turn.session.id),
            conversation: Some(call.turn.session.conversation),
            ..work
        });
        let id = fresh(RecordId::from_u128);
        let text = format!("{} has the work {id}. You are told the result.", client.name);
        Ok((ExchangeEffect::Delegate { id, delegation }, text))
    }
}
