//! What an org offers: products, events, forms, and what can be booked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use ostler_domain::id::{ContactId, RecordId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Entity;

/// A price, as people write it. Nothing is calculated with it here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The amount: `12.50`.
    pub amount: String,
    /// The currency: `EUR`.
    pub currency: String,
}

/// Something that an org sells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// What it costs.
    #[serde(default)]
    pub price: Option<Price>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: BTreeSet<String>,
    /// Whether it is offered at the moment.
    #[serde(default = "yes")]
    pub active: bool,
    /// How it is booked, if it can be.
    #[serde(default)]
    pub bookable: Option<Bookable>,
}

const fn yes() -> bool {
    true
}

/// How a product is booked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bookable {
    /// How many places there are at the same time.
    pub capacity: u32,
    /// How long a booking is, unless another length is asked for.
    pub duration_minutes: u32,
    /// The resource whose places it takes, with all other products that use it;
    /// its capacity counts then.
    #[serde(default)]
    pub resource: Option<RecordId>,
}

impl Entity for Product {
    const KIND: &'static str = "product";
}

/// Something that several products need: a room, a table, a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// How many places it has at the same time.
    pub capacity: u32,
}

impl Entity for Resource {
    const KIND: &'static str = "resource";
}

/// Something that happens at a certain time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(default)]
    pub description: String,
    /// Where it is.
    #[serde(default)]
    pub location: Option<String>,
    /// When it begins.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Timestamp,
    /// How many places there are; none means that it is not booked here.
    #[serde(default)]
    pub capacity: Option<u32>,
    /// What a place costs.
    #[serde(default)]
    pub price: Option<Price>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: BTreeSet<String>,
}

impl Entity for Event {
    const KIND: &'static str = "event";
}

/// Questions that people fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// The questions.
    #[serde(default)]
    pub fields: Vec<FormField>,
}

impl Entity for Form {
    const KIND: &'static str = "form";
}

/// A question of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormField {
    /// Its name among the answers.
    pub name: String,
    /// What is asked.
    pub label: String,
    /// Whether it must be answered.
    #[serde(default)]
    pub required: bool,
}

/// What somebody filled in. The store lists the responses of each form by
/// themselves: see [`responses_of`](super::responses_of).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormResponse {
    /// Who it was, if they are known.
    #[serde(default)]
    pub contact: Option<ContactId>,
    /// When.
    pub submitted_at: Timestamp,
    /// The answers by the names of their fields.
    #[serde(default)]
    pub answers: BTreeMap<String, Value>,
}
