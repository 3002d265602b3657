//! Who may set up an installation that has no platform.

use ostler_domain::channel::Channel;
use ostler_domain::id::{BindingId, KeyId, OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::SecretRef;
use ostler_runtime::operations::world::ApplyHost;
use ostler_runtime::operations::{Actor, OperationError};
use ostler_store::OrgBinding;
use ostler_testkit::TestDatabase;
use ostler_world::file::parse;

use crate::support::{ECHO, ORG, Scenario};

/// A machine that needs no secrets.
pub(crate) struct NoSecrets;

impl ApplyHost for NoSecrets {
    fn new_secret(&self, _: OrgId, _: BindingId, _: &Channel) -> Result<Option<SecretRef>, String> {
        Ok(None)
    }

    fn check_channel(&self, _: OrgId, _: &OrgBinding) -> Result<(), String> {
        Ok(())
    }
}

/// Applies a file; `None` if the plan is refused already.
async fn apply(
    scenario: &Scenario,
    actor: Actor,
    text: &str,
) -> Option<Result<(), OperationError>> {
    let operations = scenario.operations();
    let files = parse([("world.toml", text)]).unwrap().resources;
    let live = operations.live_world(actor).await.unwrap();
    let plan = operations.plan(live, &files, None).ok()?;
    Some(operations.apply(actor, &plan, &NoSecrets, |_| {}).await)
}

/// O02, O08: in an installation without a platform only the operator at the machine creates
/// an org. Where there is one, licences are the platform's, also for people who cannot see
/// it.
#[tokio::test]
async fn o02_o08_only_the_operator_sets_up_an_installation() {
    let database = TestDatabase::sqlite_file();
    let scenario = Scenario::attach(database.migrated().await, ECHO);
    let platform =
        "[[org]]\nslug = \"platform\"\nname = \"P\"\nplatform = true\nplan = \"enterprise\"\n";
    let shop = "[[org]]\nslug = \"shop\"\nname = \"Shop\"\nplan = \"enterprise\"\n";
    let user = Actor::User(UserId::from_u128(7));
    let key = Actor::Key { id: KeyId::from_u128(9), org: ORG, role: Role::Owner };
    let others = [user, key, Actor::Chat(UserId::from_u128(7))];
    for actor in others {
        let refused = apply(&scenario, actor, platform).await;
        assert!(matches!(refused, Some(Err(OperationError::Forbidden { .. }))), "{refused:?}");
    }
    assert!(scenario.store.orgs().await.unwrap().is_empty());
    apply(&scenario, Actor::Terminal, platform).await.unwrap().unwrap();
    // A file that brings a platform of its own does not help those who cannot see this one.
    let both = format!("{shop}\n{platform}");
    for actor in others {
        for text in [shop, &both] {
            let refused = apply(&scenario, actor, text).await;
            assert!(!matches!(refused, Some(Ok(()))), "{actor:?}");
        }
    }
    assert_eq!(scenario.store.orgs().await.unwrap().len(), 1);
    apply(&scenario, Actor::Terminal, shop).await.unwrap().unwrap();
    assert_eq!(scenario.store.orgs().await.unwrap().len(), 2);
}
