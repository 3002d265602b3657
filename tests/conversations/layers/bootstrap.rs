//! A client that cannot be made as a whole: nothing is left half-made, or a repeat completes it.

use std::sync::atomic::{AtomicUsize, Ordering};

use ostler_domain::agent::AgentStatus;
use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, OrgId};
use ostler_domain::secret::SecretRef;
use ostler_runtime::operations::world::ApplyHost;
use ostler_runtime::operations::{Actor, NewClient};
use ostler_store::{OrgBinding, Store};

use super::tree::{AGENCY, MARA, ORG_COUNT, Tree};
use crate::support::{ECHO, ORG, TestHost, on_every_database};

/// A machine on which the first calls fail.
struct FailingHost {
    failures: AtomicUsize,
}

impl FailingHost {
    fn fails(&self) -> Result<(), String> {
        let less = |left: usize| left.checked_sub(1);
        match self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) {
            Ok(_) => Err("the disk is full".to_owned()),
            Err(_) => Ok(()),
        }
    }
}

impl ApplyHost for FailingHost {
    fn new_secret(
        &self,
        org: OrgId,
        binding: BindingId,
        channel: &Channel,
    ) -> Result<Option<SecretRef>, String> {
        self.fails()?;
        TestHost.new_secret(org, binding, channel)
    }

    fn check_channel(&self, _: OrgId, _: &OrgBinding) -> Result<(), String> {
        self.fails()
    }
}

fn pasta() -> NewClient {
    NewClient {
        slug: "pasta".to_owned(),
        name: "Pasta Bar".to_owned(),
        time_zone: "UTC".to_owned(),
        owners: vec!["ada@pasta.example".to_owned()],
        coordinator: false,
    }
}

on_every_database!(
    /// L08, L09: wherever making the web chat fails, the client starts with its PM, who answers,
    /// and the next attempt adds what is missing, once.
    l09_a_client_without_its_web_chat_starts_with_its_pm_and_is_completed_by_a_repeat
);
async fn l09_a_client_without_its_web_chat_starts_with_its_pm_and_is_completed_by_a_repeat(
    store: Store,
) {
    let tree = Tree::in_store(store, ECHO).await;
    let operations = tree.scenario.operations();
    let agency = operations.as_actor(Actor::Agent { id: MARA, org: AGENCY }, AGENCY);
    let host = FailingHost { failures: AtomicUsize::new(1) };
    let made = agency.create_client(&pasta(), &host).await.unwrap();
    assert_eq!((made.existed, made.missing.is_some()), (false, true), "{made:?}");
    assert!(made.deep_link.is_some(), "a new client has a deep link");
    let org = tree.scenario.store.org(made.org.id);
    let roles = async || {
        let agents = org.agents().await.unwrap();
        let active = agents.iter().filter(|one| one.status == AgentStatus::Active);
        let mut roles: Vec<String> = active.map(|one| one.subtype.to_string()).collect();
        roles.sort();
        roles
    };
    assert_eq!(roles().await, ["pm"]);
    assert_eq!(org.members(None, 9).await.unwrap().len(), 1, "the owner is essential");
    for _ in 0..2 {
        let again = agency.create_client(&pasta(), &host).await.unwrap();
        assert_eq!((again.existed, again.missing, again.deep_link), (true, None, None));
        assert_eq!(roles().await, ["customer_service", "pm"]);
        assert_eq!(org.bindings(None, 9).await.unwrap().len(), 1);
        assert_eq!(org.members(None, 9).await.unwrap().len(), 1);
    }
}

/// L08, L47: a client that breaks a rule leaves nothing.
#[tokio::test]
async fn l08_a_refused_client_leaves_nothing() {
    let tree = Tree::new(ECHO).await;
    let operations = tree.scenario.operations();
    let mara = Actor::Agent { id: MARA, org: AGENCY };
    let bad = [
        NewClient { slug: "Not A Slug".to_owned(), ..pasta() },
        NewClient { owners: vec!["nobody".to_owned()], ..pasta() },
        NewClient { time_zone: "Mars/Olympus".to_owned(), ..pasta() },
        NewClient { name: " ".to_owned(), ..pasta() },
        NewClient { slug: "stranger".to_owned(), ..pasta() },
    ];
    for new in bad {
        let refused = operations.as_actor(mara, AGENCY).create_client(&new, &TestHost).await;
        assert!(refused.is_err(), "{new:?}");
    }
    for actor in [mara, Actor::Terminal] {
        let refused = operations.as_actor(actor, ORG).create_client(&pasta(), &TestHost).await;
        assert!(refused.is_err(), "one level only");
    }
    assert_eq!(tree.scenario.store.orgs().await.unwrap().len(), ORG_COUNT);
}
