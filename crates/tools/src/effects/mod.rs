//! What tools on the store want stored: typed, in the words of the business.
//!
//! An effect says what is meant ("cancel this booking"), not which rows to write.
//! [`plan`] works the rows out against what the store holds at that moment, so
//! that two calls of one turn, or two turns, get along unless they really want
//! the same place. Making an effect twice does nothing the second time.

mod booking;
mod contact;
mod refund;

use jiff::Timestamp;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::Effect;
use ostler_store::{Change, OrgStore, StoreError};
use serde::{Deserialize, Serialize};

use crate::records::{Booking, Refund};
use crate::view::View;

pub(crate) use booking::{Time, calendar_of};
pub use contact::ContactPatch;
pub use refund::NotRefundable;
pub(crate) use refund::left_of;

/// What kind of [`Effect`] these are.
pub const KIND: &str = "store";
/// How often changes are worked out anew when somebody else was faster.
const TRIES: usize = 5;

/// Something that a tool wants stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum StoreEffect {
    /// A new contact.
    CreateContact {
        /// The contact.
        contact: Contact,
    },
    /// Something else is known of a contact.
    UpdateContact {
        /// Who.
        id: ContactId,
        /// What.
        patch: ContactPatch,
    },
    /// A contact is forgotten.
    DeleteContact {
        /// Who.
        id: ContactId,
    },
    /// A place is taken.
    CreateBooking {
        /// The id of the booking.
        id: RecordId,
        /// The booking.
        booking: Booking,
    },
    /// A place is given back.
    CancelBooking {
        /// The booking.
        id: RecordId,
        /// When that was decided.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// Something of an order is given back.
    RefundPayment {
        /// The order.
        order: RecordId,
        /// The refund.
        refund: Refund,
    },
}

/// Why an effect cannot be stored. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum EffectError {
    /// It is of another kind.
    #[error("an effect of kind `{0}` is not one of the store's")]
    OtherKind(String),
    /// It cannot be read.
    #[error("an effect cannot be read: {0}")]
    Unreadable(String),
    /// The contact is gone.
    #[error("there is no contact {0} here")]
    NoContact(ContactId),
    /// The booking is not there.
    #[error("there is no booking {0} here")]
    NoBooking(RecordId),
    /// The order is not there.
    #[error("there is no order {0} here")]
    NoOrder(RecordId),
    /// The order is not refunded.
    #[error(transparent)]
    NotRefundable(#[from] NotRefundable),
    /// There is no such product or event.
    #[error("there is no product or event {0} here")]
    NoOffer(RecordId),
    /// It is offered, but not booked here.
    #[error("`{0}` cannot be booked")]
    NotBookable(String),
    /// There are not so many places left at that time.
    #[error("`{name}` has {free} of {capacity} places left at that time")]
    Full {
        /// What was to be booked.
        name: String,
        /// The places left.
        free: u32,
        /// All places.
        capacity: u32,
    },
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EffectError {
    /// Whether others have changed what it was about, so that whoever asked for it
    /// has to look again.
    pub const fn is_conflict(&self) -> bool {
        match self {
            Self::NoContact(_)
            | Self::NoBooking(_)
            | Self::NoOrder(_)
            | Self::NotRefundable(_)
            | Self::NoOffer(_)
            | Self::NotBookable(_)
            | Self::Full { .. }
            | Self::Store(StoreError::Conflict(_) | StoreError::NotFound(_)) => true,
            Self::OtherKind(_) | Self::Unreadable(_) | Self::Store(_) => false,
        }
    }
}

impl From<StoreEffect> for Effect {
    fn from(effect: StoreEffect) -> Self {
        // Every value of it can be written; nothing would be refused when it is
        // read.
        Self { kind: KIND.to_owned(), data: serde_json::to_value(effect).unwrap_or_default() }
    }
}

impl TryFrom<&Effect> for StoreEffect {
    type Error = EffectError;

    fn try_from(effect: &Effect) -> Result<Self, EffectError> {
        if effect.kind != KIND {
            return Err(EffectError::OtherKind(effect.kind.clone()));
        }
        Self::deserialize(&effect.data).map_err(|error| EffectError::Unreadable(error.to_string()))
    }
}

/// The changes that these effects come to at this moment, to be made together and
/// in this order. If somebody else was faster, they are to be worked out anew.
pub async fn plan(org: &OrgStore<'_>, effects: &[StoreEffect]) -> Result<Vec<Change>, EffectError> {
    let mut view = View::new(*org);
    for effect in effects {
        view.perform(effect).await?;
    }
    Ok(view.into_changes())
}

/// Stores these effects, all of them or none; for callers that have no turn to
/// commit them with.
pub async fn apply(org: &OrgStore<'_>, effects: &[StoreEffect]) -> Result<(), EffectError> {
    let mut tried = 1;
    loop {
        match org.change(plan(org, effects).await?).await {
            Err(StoreError::Conflict(_) | StoreError::NotFound(_)) if tried < TRIES => tried += 1,
            result => return result.map_err(EffectError::from),
        }
    }
}

impl View<'_> {
    /// Works out what an effect changes. What cannot be is refused and changes
    /// nothing.
    pub(crate) async fn perform(&mut self, effect: &StoreEffect) -> Result<(), EffectError> {
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
