//! Channel bindings.

use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::Binding;
use ostler_domain::id::{AgentId, BindingId, OrgId};
use ostler_store::{OrgBinding, Store, StoreError};

use crate::on_every_backend;
use crate::support::{agent, next, with_org};

async fn with_agent(store: &Store, org: OrgId) -> AgentId {
    let gia = agent(org, &format!("gia{}", next()));
    store.org(org).save_agent(gia.clone()).await.expect("a new agent");
    gia.id
}

fn binding(agent: AgentId) -> OrgBinding {
    let id = BindingId::from_u128(next());
    OrgBinding {
        binding: Binding {
            id,
            name: String::new(),
            channel: Channel::Telegram,
            enabled: true,
            priority: 10,
        },
        agent,
        settings: "{\"bot\":\"bella\"}".into(),
        secret: Some("file:/run/secrets/telegram".parse().unwrap()),
    }
}

on_every_backend!(a_binding_is_found_by_its_id_alone);
async fn a_binding_is_found_by_its_id_alone(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let first = binding(with_agent(store, here).await);
    let second = OrgBinding { secret: None, ..binding(first.agent) };
    let theirs = binding(with_agent(store, there).await);
    store.org(here).save_binding(first.clone()).await.unwrap();
    store.org(here).save_binding(second.clone()).await.unwrap();
    store.org(there).save_binding(theirs.clone()).await.unwrap();
    assert_eq!(store.binding(first.binding.id).await.unwrap(), (here, first.clone()));
    assert_eq!(store.binding(theirs.binding.id).await.unwrap(), (there, theirs));
    let nobody = store.binding(BindingId::from_u128(next())).await;
    assert!(matches!(nobody, Err(StoreError::NotFound("binding"))));
    let all = [first.clone(), second.clone()];
    assert_eq!(store.org(here).bindings(None, 10).await.unwrap(), all);
    assert_eq!(store.org(here).bindings(Some(first.binding.id), 10).await.unwrap(), all[1..]);
    assert_eq!(store.org(here).bindings(None, 1).await.unwrap(), all[..1]);
    let mut off = second;
    off.binding.enabled = false;
    off.agent = with_agent(store, here).await;
    store.org(here).save_binding(off.clone()).await.unwrap();
    assert_eq!(store.org(here).binding(off.binding.id).await.unwrap(), off);
}

on_every_backend!(
    /// A05: a binding of another org is not found, is not taken over, and routes
    /// to no agent of another org.
    a05_a_foreign_binding_is_not_found
);
async fn a05_a_foreign_binding_is_not_found(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let mine = binding(with_agent(store, here).await);
    store.org(here).save_binding(mine.clone()).await.unwrap();
    let read = store.org(there).binding(mine.binding.id).await;
    assert!(matches!(read, Err(StoreError::NotFound("binding"))));
    assert!(store.org(there).bindings(None, 10).await.unwrap().is_empty());
    let taken = OrgBinding { agent: with_agent(store, there).await, ..mine.clone() };
    let refused = store.org(there).save_binding(taken).await;
    assert!(matches!(refused, Err(StoreError::NotFound("binding"))), "{refused:?}");
    let routed = store.org(there).save_binding(binding(mine.agent)).await;
    assert!(matches!(routed, Err(StoreError::NotFound("agent"))));
    assert_eq!(store.binding(mine.binding.id).await.unwrap(), (here, mine));
}

on_every_backend!(
    /// O31: a failing binding keeps the time of its first failure until it works again.
    o31_a_binding_fails_until_it_works_again
);
async fn o31_a_binding_fails_until_it_works_again(store: &Store) {
    let (here, there) = (with_org(store, 1).await, with_org(store, 2).await);
    let id = BindingId::from_u128(7);
    store.org(here).record_binding_failure(id, "no route").await.unwrap();
    let first = store.org(here).binding_failures().await.unwrap();
    store.org(here).record_binding_failure(id, "Unauthorized").await.unwrap();
    let second = store.org(here).binding_failures().await.unwrap();
    assert_eq!((second[0].reason.as_str(), second[0].since), ("Unauthorized", first[0].since));
    assert!(store.org(there).binding_failures().await.unwrap().is_empty());
    store.org(here).clear_binding_failure(id).await.unwrap();
    assert!(store.org(here).binding_failures().await.unwrap().is_empty());
}
