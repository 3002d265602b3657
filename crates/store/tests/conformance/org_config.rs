//! The configuration of an org: read at once, with a version for caches.

use ostler_domain::agent::Agent;
use ostler_domain::id::RecordId;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::{Soul, SoulHistory, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_store::Store;

use crate::on_every_backend;
use crate::support::{self, agent, with_org};

on_every_backend!(the_config_version_grows_with_every_change_of_configuration);
async fn the_config_version_grows_with_every_change_of_configuration(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let versions = async || {
        let of = async |org| store.org(org).config_version().await.unwrap();
        (of(org).await, of(other).await)
    };
    let id = RecordId::from_u128(7);
    let before = versions().await;
    store.org(org).create_record("order", id, "{}".into()).await.unwrap();
    assert_eq!(versions().await, before, "orders are no configuration");
    store.org(org).save_agent(agent(org, "gia")).await.unwrap();
    let agents = versions().await;
    assert_ne!(agents.0, before.0);
    store.org(org).create_record("settings", id, "{}".into()).await.unwrap();
    let settings = versions().await;
    assert_ne!(settings.0, agents.0);
    store.org(org).save_policy(0, ToolPolicy::default()).await.unwrap();
    let policy = versions().await;
    assert_ne!(policy.0, settings.0);
    assert_eq!(policy.1, before.1, "another org keeps its version");
}

on_every_backend!(what_orgs_share_changes_the_config_version_of_all);
async fn what_orgs_share_changes_the_config_version_of_all(store: &Store) {
    let org = with_org(store, 1).await;
    let platform = Org { place: OrgPlace::Platform, ..support::org(2) };
    store.create_org(platform.clone()).await.unwrap();
    let version = async || store.org(org).config_version().await.unwrap();
    let mut seen = vec![version().await];
    store.org(platform.id).save_platform_policy(0, ToolPolicy::default()).await.unwrap();
    seen.push(version().await);
    store.org(platform.id).save_agent(agent(platform.id, "quinn")).await.unwrap();
    seen.push(version().await);
    store.org(platform.id).update_org(Org { name: "New".into(), ..platform }).await.unwrap();
    seen.push(version().await);
    for (earlier, later) in seen.iter().zip(&seen[1..]) {
        assert_ne!(earlier, later);
    }
}

on_every_backend!(
    /// One read returns the agents with their versions and the newest version of each soul.
    the_configuration_of_an_org_is_read_at_once
);
async fn the_configuration_of_an_org_is_read_at_once(store: &Store) {
    let org = with_org(store, 1).await;
    let gia = agent(org, "gia");
    let of = store.org(org);
    of.save_agent(gia.clone()).await.unwrap();
    of.save_agent(Agent { display_name: "Gia B.".into(), ..gia.clone() }).await.unwrap();
    let first = SoulHistory::new(Soul::default(), Timestamp::from_millis(1));
    let soul = |version| SoulVersion { version, ..first.current().clone() };
    of.push_soul(gia.id, soul(1)).await.unwrap();
    of.push_soul(gia.id, soul(2)).await.unwrap();
    let id = RecordId::from_u128(org.as_u128());
    of.create_record("settings", id, "{\"a\":1}".into()).await.unwrap();
    let config = of.config(10).await.unwrap();
    assert_eq!(config.org, of.org().await.unwrap());
    assert_eq!(config.settings.as_deref(), Some("{\"a\":1}"));
    let [one] = config.agents.as_slice() else { panic!("one agent: {config:?}") };
    assert_eq!((one.agent.display_name.as_str(), one.version), ("Gia B.", 2));
    assert_eq!(one.soul, Some(soul(2)));
}

on_every_backend!(
    /// L06: what all orgs share includes the parent of a sub-org, and of a top-level org no
    /// other org is read.
    l06_the_parent_is_read_for_sub_orgs_only
);
async fn l06_the_parent_is_read_for_sub_orgs_only(store: &Store) {
    let (agency, client) = (with_org(store, 1).await, with_org(store, 2).await);
    let shared = store.shared_config(OrgPlace::SubOrg { parent: agency }).await.unwrap();
    assert_eq!(shared.parent.map(|parent| parent.id), Some(agency));
    let missing = OrgPlace::SubOrg { parent: ostler_domain::id::OrgId::from_u128(404) };
    assert!(store.shared_config(missing).await.is_err(), "it is read");
    let shared = store.shared_config(OrgPlace::TopLevel).await.unwrap();
    assert_eq!(shared.parent, None);
    let place = store.org(client).org().await.unwrap().place;
    assert_eq!(place, OrgPlace::TopLevel);
}
