//! The world of the demo: applied like any other, and the business data of Bella Pizza.

use anyhow::Context as _;
use ostler_domain::channel::Channel;
use ostler_domain::contact::{Contact, ContactDetails};
use ostler_domain::id::{BindingId, ContactId, OrgId, RecordId};
use ostler_runtime::operations::Actor;
use ostler_runtime::operations::world::CheckedPlan;
use ostler_store::Store;
use ostler_world::file::parse;
use serde_json::{Value, json};

use crate::commands::apply::Host;
use crate::commands::operator::Operator;
use crate::world::{SAMPLE, SAMPLE_NAME, report};

/// Creates the world and the business data in an empty installation.
pub(super) async fn plant(operator: &Operator) -> anyhow::Result<()> {
    let operations = &operator.operations;
    let parsed = parse([(SAMPLE_NAME, SAMPLE)])?;
    let live = operations.live_world(Actor::Terminal).await?;
    let plan: CheckedPlan = operations
        .plan(live, &parsed.resources, None)
        .map_err(|refused| report(&parsed, &refused.0))?;
    let host = Host::new(&operator.installation)?;
    operations.apply(Actor::Terminal, &plan, &host, |_| {}).await?;
    let bella = super::story::find_bella(&operator.store).await?;
    plant_data(&operator.store, bella).await
}

/// Creates the products, and Rosa with her order.
async fn plant_data(store: &Store, org: OrgId) -> anyhow::Result<()> {
    let rosa = Contact {
        id: ContactId::from_u128(1),
        name: "Rosa".to_owned(),
        details: ContactDetails::default(),
        locale: None,
        tags: [].into(),
        notes: Vec::new(),
        crm: None,
    };
    let rosa_id = rosa.id;
    let org = store.org(org);
    org.create_contact(rosa).await?;
    org.link_identifier(rosa_id, &Channel::Webchat, "rosa").await?;
    for ((kind, data), number) in records(rosa_id).into_iter().zip(1..) {
        org.create_record(kind, RecordId::from_u128(number), data.to_string()).await?;
    }
    Ok(())
}

fn records(rosa: ContactId) -> [(&'static str, Value); 4] {
    let euros = |amount: &str| json!({"amount": amount, "currency": "EUR"});
    [
        (
            "product",
            json!({"name": "Margherita", "description": "Tomato, mozzarella, basil.",
            "price": euros("8.50"), "tags": ["pizza"]}),
        ),
        (
            "product",
            json!({"name": "Margherita, large", "description": "The same, for two.",
            "price": euros("10.00"), "tags": ["pizza"]}),
        ),
        (
            "product",
            json!({"name": "Table for an evening",
            "description": "Inside or on the terrace.", "tags": ["table"],
            "bookable": {"capacity": 8, "duration_minutes": 120}}),
        ),
        (
            "order",
            json!({"contact": rosa, "number": "1234", "status": "delivered",
            "lines": [{"name": "Margherita, large", "quantity": 5, "price": euros("10.00")}],
            "total": euros("50.00"), "placed_at": "2026-11-14T18:42:00Z"}),
        ),
    ]
}

/// Returns the web chat of an org.
pub(super) async fn find_webchat(store: &Store, org: OrgId) -> anyhow::Result<BindingId> {
    let bindings = store.org(org).bindings(None, 100).await?;
    let webchat = bindings.iter().find(|one| one.binding.channel == Channel::Webchat);
    Ok(webchat.context("bella has no web chat")?.binding.id)
}
