//! Integrations: connections to external services.

use std::collections::BTreeSet;

use ostler_domain::id::IntegrationId;
use ostler_domain::tool::Integration;
use ostler_store::{IntegrationConnection, OrgIntegration, Store, StoreError};

use crate::on_every_backend;
use crate::support::{next, with_org};

fn integration(service: &str) -> OrgIntegration {
    OrgIntegration {
        id: IntegrationId::from_u128(next()),
        service: Integration::new(service),
        connection: IntegrationConnection::Connected,
        settings: "{\"account\":1}".into(),
        secret: Some("env:SERVICE_KEY".parse().unwrap()),
    }
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<Integration> {
    names.map(Integration::new).into()
}

on_every_backend!(a_service_is_connected_and_disconnected);
async fn a_service_is_connected_and_disconnected(store: &Store) {
    let org = with_org(store, 1).await;
    let stripe = integration("stripe");
    let maps = OrgIntegration { secret: None, ..integration("maps") };
    for service in [&stripe, &maps] {
        store.org(org).save_integration(service.clone()).await.unwrap();
    }
    assert_eq!(store.org(org).integration(stripe.id).await.unwrap(), stripe);
    assert_eq!(
        store.org(org).integrations(None, 10).await.unwrap(),
        [stripe.clone(), maps.clone()]
    );
    assert_eq!(store.org(org).integrations(Some(stripe.id), 1).await.unwrap(), [maps]);
    assert_eq!(store.org(org).connected_services().await.unwrap(), names(["maps", "stripe"]));
    store.org(org).set_connection(stripe.id, IntegrationConnection::Disconnected).await.unwrap();
    assert_eq!(store.org(org).connected_services().await.unwrap(), names(["maps"]));
    let kept = store.org(org).integration(stripe.id).await.unwrap();
    let connection = IntegrationConnection::Disconnected;
    assert_eq!(kept, OrgIntegration { connection, ..stripe.clone() });
    let with =
        async |service| store.org(org).integration_by_service(&Integration::new(service)).await;
    assert_eq!(with("Stripe").await.unwrap(), Some(kept));
    assert_eq!(with("sms").await.unwrap(), None);
    let changed = OrgIntegration { settings: "{}".into(), secret: None, ..stripe };
    store.org(org).save_integration(changed.clone()).await.unwrap();
    assert_eq!(store.org(org).integration(changed.id).await.unwrap(), changed);
}

on_every_backend!(connecting_a_service_twice_conflicts);
async fn connecting_a_service_twice_conflicts(store: &Store) {
    let org = with_org(store, 1).await;
    store.org(org).save_integration(integration("stripe")).await.unwrap();
    let twice = store.org(org).save_integration(integration("Stripe ")).await;
    assert!(matches!(twice, Err(StoreError::Conflict(what)) if what == "integration `stripe`"));
}

on_every_backend!(
    /// A05: an integration of another org is not found and enables no tool here.
    a05_a_foreign_integration_is_not_found
);
async fn a05_a_foreign_integration_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let stripe = integration("stripe");
    store.org(here).save_integration(stripe.clone()).await.unwrap();
    let read = store.org(there).integration(stripe.id).await;
    assert!(matches!(read, Err(StoreError::NotFound("integration"))));
    let cut = store.org(there).set_connection(stripe.id, IntegrationConnection::Disconnected).await;
    assert!(matches!(cut, Err(StoreError::NotFound("integration"))));
    assert!(store.org(there).integrations(None, 10).await.unwrap().is_empty());
    assert!(store.org(there).connected_services().await.unwrap().is_empty());
    let copy = OrgIntegration { settings: "{}".into(), ..stripe.clone() };
    store.org(there).save_integration(copy).await.unwrap();
    assert_eq!(store.org(here).integration(stripe.id).await.unwrap(), stripe);
}
