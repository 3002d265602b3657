//! The changes that store tools ask for, as typed business operations.
//!
//! An effect says what is meant ("cancel this booking"), not which rows to write.
//! [`plan`] computes the rows from what the store holds at that moment, so two calls
//! or two turns conflict only if they really need the same place or the same money.
//! Effects are idempotent: applying one a second time does nothing.

mod booking;
mod contact;
mod planner;
mod refund;

use jiff::Timestamp;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::ToolEffect;
use ostler_store::{OrgStore, RecordChange, StoreError};
use serde::{Deserialize, Serialize};

use crate::overlay::StoreOverlay;
use crate::records::{Booking, Refund};

pub(crate) use booking::{BookingTime, find_calendar};
pub use contact::ContactPatch;
pub use planner::effect_planner;
pub use refund::RefundError;
pub(crate) use refund::refundable_amount;

/// The kind of a [`ToolEffect`] that holds a [`StoreEffect`].
pub const KIND: &str = "store";
/// Attempts to apply effects when other writers change the same rows.
const MAX_ATTEMPTS: usize = 5;

/// A change of an org's records that a tool asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum StoreEffect {
    CreateContact {
        contact: Contact,
    },
    UpdateContact {
        id: ContactId,
        patch: ContactPatch,
    },
    DeleteContact {
        id: ContactId,
    },
    CreateBooking {
        id: RecordId,
        booking: Booking,
    },
    CancelBooking {
        id: RecordId,
        /// When the cancellation was decided.
        at: Timestamp,
        reason: String,
    },
    RefundPayment {
        order: RecordId,
        refund: Refund,
    },
}

/// Why an effect cannot be applied. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    #[error("`{0}` is not the kind of a store effect")]
    UnknownKind(String),
    #[error("the effect is malformed: {0}")]
    Malformed(String),
    #[error("there is no contact {0} here")]
    ContactNotFound(ContactId),
    #[error("there is no booking {0} here")]
    BookingNotFound(RecordId),
    #[error("there is no order {0} here")]
    OrderNotFound(RecordId),
    #[error(transparent)]
    Refund(#[from] RefundError),
    #[error("there is no product or event {0} here")]
    ItemNotFound(RecordId),
    #[error("`{0}` cannot be booked")]
    NotBookable(String),
    #[error("`{name}` has {free} of {capacity} places left at that time")]
    NotEnoughPlaces { name: String, free: u32, capacity: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EffectError {
    /// Returns whether the records have changed in a way that rules the effect out, so
    /// that the caller has to read them again.
    pub const fn is_conflict(&self) -> bool {
        match self {
            Self::ContactNotFound(_)
            | Self::BookingNotFound(_)
            | Self::OrderNotFound(_)
            | Self::Refund(_)
            | Self::ItemNotFound(_)
            | Self::NotBookable(_)
            | Self::NotEnoughPlaces { .. }
            | Self::Store(StoreError::Conflict(_) | StoreError::NotFound(_)) => true,
            Self::UnknownKind(_) | Self::Malformed(_) | Self::Store(_) => false,
        }
    }
}

impl From<StoreEffect> for ToolEffect {
    fn from(effect: StoreEffect) -> Self {
        // Every value can be serialized. An empty value would be refused when it is read.
        Self { kind: KIND.to_owned(), data: serde_json::to_value(effect).unwrap_or_default() }
    }
}

impl TryFrom<&ToolEffect> for StoreEffect {
    type Error = EffectError;

    fn try_from(effect: &ToolEffect) -> Result<Self, EffectError> {
        if effect.kind != KIND {
            return Err(EffectError::UnknownKind(effect.kind.clone()));
        }
        Self::deserialize(&effect.data).map_err(|error| EffectError::Malformed(error.to_string()))
    }
}

/// Computes the changes that effects need at this moment, to be applied together and
/// in order. If applying them conflicts, they have to be planned again.
pub async fn plan(
    org: &OrgStore<'_>,
    effects: &[StoreEffect],
) -> Result<Vec<RecordChange>, EffectError> {
    let mut overlay = StoreOverlay::new(*org);
    for effect in effects {
        overlay.apply_effect(effect).await?;
    }
    Ok(overlay.into_changes())
}

/// Stores effects, all or none, for callers without a turn to commit them with.
pub async fn apply(org: &OrgStore<'_>, effects: &[StoreEffect]) -> Result<(), EffectError> {
    let mut attempt = 1;
    loop {
        match org.apply_changes(plan(org, effects).await?).await {
            Err(StoreError::Conflict(_) | StoreError::NotFound(_)) if attempt < MAX_ATTEMPTS => {
                attempt += 1;
            }
            result => return result.map_err(EffectError::from),
        }
    }
}

impl StoreOverlay<'_> {
    /// Adds the changes of an effect. A refused effect changes nothing.
    pub(crate) async fn apply_effect(&mut self, effect: &StoreEffect) -> Result<(), EffectError> {
        match effect {
            StoreEffect::CreateContact { contact } => contact::create(self, contact).await,
            StoreEffect::UpdateContact { id, patch } => contact::update(self, *id, patch).await,
            StoreEffect::DeleteContact { id } => contact::delete(self, *id).await,
            StoreEffect::CreateBooking { id, booking } => booking::create(self, *id, booking).await,
            StoreEffect::CancelBooking { id, at, reason } => {
                booking::cancel(self, *id, *at, reason).await
            }
            StoreEffect::RefundPayment { order, refund } => {
                refund::create(self, *order, refund).await
            }
        }
    }
}
