//! The `verify_identity` tool: the check that an org has configured.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::contact::ContactDetails;
use ostler_domain::id::{ContactId, SessionId};
use ostler_domain::identity_check::{IdentityCheck, PROVEN_CONTACT, ProvenContact, tool_spec};
use ostler_domain::time::Window;
use ostler_domain::tool::Audience;
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolEffect, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{CountOutcome, OrgStore, Store, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::order_lookup::{normalize, owners_of_number};
use crate::schema;

const DESCRIPTION: &str = "Checks who the customer is, by the number of one of their orders and \
    what the shop knows of them. Ask for these details first, and never guess any. Afterwards \
    you see the orders and bookings of this customer.";
const NO_MATCH: &str = "These details do not belong together. Nothing was found out about anybody; \
    ask the customer to look again, or hand over to a person.";
const TOO_MANY: &str = "There were too many attempts today. Hand over to a person.";
const NOT_HERE: &str = "Only a customer in a conversation can prove who they are.";

/// What a customer gives.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The number of an order, as the customer has it.
    #[schemars(length(min = 1, max = 64))]
    order: String,
    /// The e-mail address of the customer.
    #[serde(default)]
    #[schemars(length(max = 254))]
    email: Option<String>,
    /// The telephone number of the customer.
    #[serde(default)]
    #[schemars(length(max = 40))]
    phone: Option<String>,
}

/// The check of one org.
struct VerifyIdentity {
    store: Store,
    check: IdentityCheck,
    definition: ToolDefinition,
}

/// Makes the tool of an org that has configured a check.
pub(crate) fn verify_identity(store: &Store, check: IdentityCheck) -> Arc<dyn Tool> {
    let schema = schema::schema_for::<Arguments>();
    let definition = ToolDefinition {
        sequential: true,
        ..ToolDefinition::new(tool_spec(), DESCRIPTION, schema)
    };
    Arc::new(VerifyIdentity { store: store.clone(), check, definition })
}

impl Tool for VerifyIdentity {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let outcome = match (call.arguments::<Arguments>(), context.session) {
                (Err(invalid), _) => invalid,
                (Ok(given), Some(session)) if context.audience == Audience::Customer => {
                    self.run(given, session, context).await
                }
                (Ok(_), _) => ToolOutcome::new(OutcomeStatus::Refused, NOT_HERE),
            };
            ToolReply::Done(outcome)
        })
    }
}

impl VerifyIdentity {
    async fn run(
        &self,
        given: Arguments,
        session: SessionId,
        context: &ToolContext,
    ) -> ToolOutcome {
        match self.find_contact(given, session, self.store.org(context.org)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                tracing::warn!(%error, "identity check failed");
                ToolOutcome::failed("The check is not possible at the moment. Try again later.")
            }
        }
    }

    async fn find_contact(
        &self,
        given: Arguments,
        session: SessionId,
        org: OrgStore<'_>,
    ) -> Result<ToolOutcome, StoreError> {
        let Arguments { order, email, phone } = given;
        if !self.count_attempt(session, &order, org).await? {
            return Ok(ToolOutcome::new(OutcomeStatus::Refused, TOO_MANY));
        }
        let given = ContactDetails { phone, email };
        let mut proven: Vec<ContactId> = Vec::new();
        for owner in owners_of_number(org, &order).await? {
            let contact = match org.contact(owner).await {
                Ok(stored) => stored.contact,
                Err(StoreError::NotFound(_)) => continue,
                Err(other) => return Err(other),
            };
            if self.check.matches(&contact.details, &given) {
                proven.push(contact.id);
            }
        }
        let [contact] = proven[..] else {
            return Ok(ToolOutcome::new(OutcomeStatus::NotFound, NO_MATCH));
        };
        let data = serde_json::to_value(ProvenContact { contact }).unwrap_or_default();
        let effect = ToolEffect { kind: PROVEN_CONTACT.to_owned(), data };
        let answer = json!({ "verified": true, "contact_id": contact });
        Ok(ToolOutcome::ok(answer.to_string()).with_effect(effect))
    }

    /// Counts an attempt of the conversation and of the order. Returns whether both are
    /// within their limits. It is counted at once, also if the turn fails.
    async fn count_attempt(
        &self,
        session: SessionId,
        order: &str,
        org: OrgStore<'_>,
    ) -> Result<bool, StoreError> {
        let counters = [
            (format!("identity/{session}"), self.check.attempts),
            (format!("identity/order/{}", normalize(order)), self.check.attempts_per_order()),
        ];
        for (counter, limit) in counters {
            let counted = org.count_within_limit(&counter, Window::Day, 1, limit.into()).await?;
            if matches!(counted, CountOutcome::Exceeded(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
