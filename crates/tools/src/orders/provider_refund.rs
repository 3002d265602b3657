//! `refund_payment` of an org with a payment provider: the records check the refund, and the
//! provider makes it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::refund::RefundStatus;
use ostler_domain::tool::{Integration, Reach, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolEffect, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use serde_json::{Value, json};

use crate::effects::StoreEffect;

const DESCRIPTION: &str = "Refunds an order in part or in full, through the payment provider. Look \
    the order up first. Refunds never exceed the total of the order, and they cannot be undone.";

/// A refund that a payment provider makes.
struct ProviderRefund {
    definition: ToolDefinition,
    /// The tool that checks the refund and records it.
    records: Arc<dyn Tool>,
    /// `None` if the org's provider is not available.
    provider: Option<Arc<dyn Tool>>,
}

/// Returns the tool that refunds through a provider, with the records' checks. The provider
/// gets the arguments of `refund_payment` and decides the outcome.
pub(crate) fn refund_through(
    records: &Arc<dyn Tool>,
    provider: Option<Arc<dyn Tool>>,
) -> Arc<dyn Tool> {
    let ToolDefinition { spec, schema, .. } = records.definition().clone();
    let payments = Integration::new("payments");
    let spec = ToolSpec {
        reach: Reach::External,
        integrations: spec.integrations.into_iter().filter(|one| *one != payments).collect(),
        ..spec
    };
    let mut definition = ToolDefinition::new(spec, DESCRIPTION, schema);
    // Two refunds of one answer must not both get the last of the money.
    definition.sequential = true;
    if let Some(provider) = &provider {
        let ToolDefinition { timeout, idempotent, spec, .. } = provider.definition();
        (definition.timeout, definition.idempotent) = (*timeout, *idempotent);
        definition.spec.output = spec.output;
    }
    Arc::new(ProviderRefund { definition, records: records.clone(), provider })
}

impl ProviderRefund {
    async fn run(&self, call: &Authorized, context: &ToolContext) -> ToolReply {
        let Some(provider) = &self.provider else {
            let text = "Not refunded: the payment provider is not available at the moment.";
            return ToolReply::Done(ToolOutcome::failed(text));
        };
        let checked = match self.records.call(call, context).await {
            ToolReply::Done(outcome) if outcome.status == OutcomeStatus::Ok => outcome,
            other => return other,
        };
        let answer = match provider.call(call, context).await {
            ToolReply::Done(outcome) if outcome.status == OutcomeStatus::Ok => outcome,
            other => return other,
        };
        let recorded: Value = serde_json::from_str(&checked.content).unwrap_or_default();
        let content = json!({"refunded": recorded["refund_requested"], "provider": answer.content});
        let effects = checked.effects.into_iter().map(mark_made).collect();
        ToolReply::Done(ToolOutcome { content: content.to_string(), effects, ..answer })
    }
}

/// Records a refund as made instead of requested.
fn mark_made(effect: ToolEffect) -> ToolEffect {
    match StoreEffect::try_from(&effect) {
        Ok(StoreEffect::RefundPayment { order, mut refund }) => {
            refund.status = RefundStatus::Made;
            StoreEffect::RefundPayment { order, refund }.into()
        }
        _ => effect,
    }
}

impl Tool for ProviderRefund {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(self.run(call, context))
    }
}
