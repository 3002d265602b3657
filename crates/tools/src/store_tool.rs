//! The frame of store tools: parses arguments, opens the org of the call, and turns
//! errors into outcomes.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_domain::contact::Contact;
use ostler_domain::id::ContactId;
use ostler_domain::identity_check::{PROVEN_CONTACT, ProvenContact};
use ostler_domain::tool::{Audience, ToolSpec};
use ostler_engine::gate::Authorized;
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{DEFAULT_MAX_OUTPUT, Tool, ToolContext, ToolDefinition, ToolReply};
use ostler_store::{OrgStore, Store};
use schemars::JsonSchema;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::crm::ContactInput;
use crate::effects::{EffectError, StoreEffect};
use crate::org_clock::OrgClock;
use crate::overlay::StoreOverlay;
use crate::schema;

/// A tool that reads or changes the records of an org.
pub(crate) trait StoreTool: Send + Sync + 'static {
    /// The description that models receive.
    const DESCRIPTION: &'static str;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Runs a call. It changes nothing itself; changes are effects of the outcome.
    fn run(
        arguments: Self::Arguments,
        context: CallContext<'_>,
    ) -> impl Future<Output = Result<ToolOutcome, ToolError>> + Send;
}

/// Why a store tool did not do what it was called for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The arguments are wrong. The text tells the model how to correct them.
    #[error("{0}")]
    Invalid(String),
    /// A business rule says no.
    #[error("{0}")]
    Refused(String),
    /// What the call is about does not exist for this audience.
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Effect(#[from] EffectError),
}

impl From<ostler_store::StoreError> for ToolError {
    fn from(error: ostler_store::StoreError) -> Self {
        Self::Effect(error.into())
    }
}

/// The context of one call: its org with the uncommitted effects of the turn applied.
pub(crate) struct CallContext<'c> {
    pub(crate) overlay: StoreOverlay<'c>,
    pub(crate) tool_context: &'c ToolContext,
    /// The known person of the conversation, also if they have proven it in this turn.
    pub(crate) contact: Option<ContactId>,
}

impl<'c> CallContext<'c> {
    async fn open(store: &'c Store, tool_context: &'c ToolContext) -> Result<Self, EffectError> {
        let mut overlay = StoreOverlay::new(store.org(tool_context.org));
        let mut contact = tool_context.contact;
        for effect in tool_context.pending.iter() {
            if effect.kind == PROVEN_CONTACT {
                let proven = ProvenContact::deserialize(&effect.data).ok();
                contact = proven.map(|proven| proven.contact).or(contact);
            }
            let Ok(effect) = StoreEffect::try_from(effect) else { continue };
            match overlay.apply_effect(&effect).await {
                // The commit of the turn meets the same conflict and handles it.
                Err(error) if error.is_conflict() => {}
                other => other?,
            }
        }
        Ok(Self { overlay, tool_context, contact })
    }

    /// Returns whether a personal record of this contact may be shown and changed here; see
    /// [`Audience::may_access`](ostler_domain::tool::Audience::may_access).
    pub(crate) fn may_access(&self, owner: Option<ContactId>) -> bool {
        self.tool_context.audience.may_access(owner, self.contact)
    }

    /// Returns whether a booking may be made for this contact: one that may be accessed, or
    /// one that was created in this turn.
    pub(crate) fn may_book_for(&self, contact: ContactId) -> bool {
        self.may_access(Some(contact)) || self.overlay.is_new_contact(contact)
    }

    /// Returns what may be stored of the details that a conversation gives of a person.
    pub(crate) fn for_audience(&self, input: ContactInput) -> ContactInput {
        match self.tool_context.audience {
            Audience::Customer => input.into_unproven(),
            Audience::Staff => input,
        }
    }

    /// Returns a contact's name and id, unless it is hidden from the audience.
    pub(crate) fn describe_contact(&self, contact: &Contact) -> String {
        if self.may_access(Some(contact.id)) {
            format!("{} ({})", contact.name, contact.id)
        } else {
            "another contact".to_owned()
        }
    }

    pub(crate) const fn org(&self) -> OrgStore<'c> {
        self.overlay.org()
    }

    /// Returns the current time in the time zone of the org.
    pub(crate) async fn clock(&self) -> Result<OrgClock, ToolError> {
        let org = self.org().org().await?;
        Ok(OrgClock::new(self.tool_context.now, &org.time_zone))
    }

    /// Checks that an effect can be applied, and returns it with a JSON answer.
    pub(crate) async fn finish(
        mut self,
        effect: StoreEffect,
        answer: &Value,
    ) -> Result<ToolOutcome, ToolError> {
        self.overlay.apply_effect(&effect).await?;
        Ok(json_outcome(answer).with_effect(effect.into()))
    }
}

/// Returns a successful outcome with JSON content.
pub(crate) fn json_outcome(answer: &Value) -> ToolOutcome {
    ToolOutcome::ok(answer.to_string())
}

/// Makes an engine tool of a [`StoreTool`].
struct StoreToolAdapter<T> {
    store: Store,
    definition: ToolDefinition,
    tool: PhantomData<fn() -> T>,
}

/// Builds the engine tool of `T`, with the policy facts of `spec`.
pub(crate) fn build<T: StoreTool>(spec: ToolSpec, store: &Store) -> Arc<dyn Tool> {
    let definition = ToolDefinition {
        idempotent: true,
        ..ToolDefinition::new(spec, T::DESCRIPTION, schema::schema_for::<T::Arguments>())
    };
    Arc::new(StoreToolAdapter::<T> { store: store.clone(), definition, tool: PhantomData })
}

impl<T: StoreTool> Tool for StoreToolAdapter<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        call: &'a Authorized,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolReply> {
        Box::pin(async move {
            let outcome = match call.arguments::<T::Arguments>() {
                Err(invalid) => invalid,
                Ok(arguments) => match self.run(arguments, context).await {
                    Ok(outcome) => outcome,
                    Err(error) => error_outcome(&error, &call.call().name),
                },
            };
            ToolReply::Done(outcome.truncated(DEFAULT_MAX_OUTPUT))
        })
    }
}

impl<T: StoreTool> StoreToolAdapter<T> {
    async fn run(
        &self,
        arguments: T::Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        T::run(arguments, CallContext::open(&self.store, context).await?).await
    }
}

/// Returns what the model is told about an error. Internal errors are only logged.
fn error_outcome(error: &ToolError, tool: &str) -> ToolOutcome {
    match error {
        ToolError::Invalid(reason) => ToolOutcome::new(OutcomeStatus::Invalid, reason.clone()),
        ToolError::Refused(reason) => ToolOutcome::new(OutcomeStatus::Refused, reason.clone()),
        ToolError::NotFound(reason) => ToolOutcome::new(OutcomeStatus::NotFound, reason.clone()),
        ToolError::Effect(full @ EffectError::NotEnoughPlaces { .. }) => {
            let why = format!("Not booked: {full}. Offer another time.");
            ToolOutcome::new(OutcomeStatus::Refused, why)
        }
        ToolError::Effect(EffectError::Refund(reason)) => {
            ToolOutcome::new(OutcomeStatus::Refused, format!("Not refunded: {reason}."))
        }
        ToolError::Effect(error @ EffectError::NotBookable(_)) => {
            ToolOutcome::new(OutcomeStatus::Invalid, format!("Not booked: {error}."))
        }
        ToolError::Effect(
            error @ (EffectError::ContactNotFound(_)
            | EffectError::BookingNotFound(_)
            | EffectError::OrderNotFound(_)
            | EffectError::ItemNotFound(_)),
        ) => {
            let why = format!("{}.", capitalize(&error.to_string()));
            ToolOutcome::new(OutcomeStatus::NotFound, why)
        }
        ToolError::Effect(error) => {
            tracing::warn!(tool, error = %error, "store tool failed");
            ToolOutcome::failed("The records are not available at the moment. Try again later.")
        }
    }
}

/// Returns the text with its first letter in upper case.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
