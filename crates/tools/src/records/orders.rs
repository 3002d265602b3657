//! What was ordered, and the pictures and files of an org.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ostler_domain::id::{BlobId, ContactId};
use ostler_domain::message::MediaType;
use serde::{Deserialize, Serialize};

use super::{Entity, Price};

/// An order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The number that the customer was given.
    pub number: String,
    /// Who ordered, if they are known.
    #[serde(default)]
    pub contact: Option<ContactId>,
    /// How far it is, in the org's own words.
    pub status: String,
    /// What was ordered.
    #[serde(default)]
    pub lines: Vec<OrderLine>,
    /// What it costs altogether.
    #[serde(default)]
    pub total: Option<Price>,
    /// When it was placed.
    pub placed_at: Timestamp,
}

impl Entity for Order {
    const KIND: &'static str = "order";
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    /// What it is.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// What one costs.
    #[serde(default)]
    pub price: Option<Price>,
}

/// A picture or file of the org, to be shown or sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Its title.
    pub title: String,
    /// What is to be seen.
    #[serde(default)]
    pub description: String,
    /// What it is: `image/jpeg`.
    pub media_type: MediaType,
    /// Words to find it by.
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// Its bytes.
    pub blob: BlobId,
}

impl Entity for Media {
    const KIND: &'static str = "media";
}
