//! Setting up an installation.

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, Protection};
use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AgentId, AuditId, OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::org::{Org, OrgPlace};
use ostler_domain::soul::{Soul, SoulOrigin, SoulVersion};
use ostler_domain::time::Timestamp;
use ostler_store::{NewAuditEntry, PlatformParts, PlatformSetup, Store, User};

use crate::on_every_backend;
use crate::support::{agent, next, org};

const COMPLETE: (bool, bool) = (true, true);

fn setup() -> (PlatformSetup, NewAuditEntry) {
    let platform = Org { slug: "platform".into(), place: OrgPlace::Platform, ..org(next()) };
    let template = Agent {
        id: AgentId::from_u128(next()),
        kind: AgentKind::Template,
        subtype: Subtype::System,
        protection: Protection::Protected,
        ..agent(platform.id, "template")
    };
    let system_agent = Agent {
        id: AgentId::from_u128(next()),
        slug: "quinn".into(),
        kind: AgentKind::Conversational,
        template: Some(template.id),
        ..template.clone()
    };
    let at = Timestamp::from_millis(0);
    let soul = Soul { personality: "calm".into(), ..Soul::default() };
    let id = UserId::from_u128(next());
    let entry = NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::Terminal,
        action: "set_up".into(),
        subject: String::new(),
        data: "{}".into(),
    };
    let setup = PlatformSetup {
        platform,
        system_agent,
        template,
        soul: SoulVersion { version: 1, soul, origin: SoulOrigin::Created, at },
        administrator: User { id, email: "ada@example.org".into(), name: "Ada".into() },
    };
    (setup, entry)
}

fn exists(parts: PlatformParts) -> (bool, bool) {
    (parts.system_agent, parts.administrator)
}

on_every_backend!(o01_the_platform_is_set_up_once);
/// O01: everything is created in one transaction, with the soul at the template; a repeat
/// changes nothing.
async fn o01_the_platform_is_set_up_once(store: &Store) {
    let (first, entry) = setup();
    let platform = first.platform.id;
    assert_eq!(store.platform_parts().await.unwrap(), PlatformParts::default());
    let before = store.set_up_platform(first.clone(), entry.clone()).await.unwrap();
    assert_eq!(before, PlatformParts::default());
    let after = store.platform_parts().await.unwrap();
    assert_eq!((after.platform, exists(after)), (Some(platform), COMPLETE));
    let agents = store.org(platform).agent_configs().await.unwrap();
    let quinn = agents.iter().find(|one| one.agent.slug == "quinn").unwrap();
    assert_eq!(quinn.soul.as_ref().unwrap().soul.personality, "calm");
    let member = store.org(platform).member(first.administrator.id).await.unwrap();
    assert_eq!(member.role, Role::PlatformAdmin);
    let audit = store.org(platform).audit_entries(None, None, 10).await.unwrap();
    assert_eq!(audit.len(), 1);
    assert_eq!(audit[0].entry.subject, platform.to_string());
    let id = AuditId::from_u128(next());
    let again = store.set_up_platform(first, NewAuditEntry { id, ..entry }).await.unwrap();
    assert_eq!(again, after);
    assert_eq!(store.org(platform).audit_entries(None, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.org(platform).agents().await.unwrap().len(), 2);
}

on_every_backend!(o01_only_what_is_missing_is_added);
/// O01: an existing platform gets what it lacks, and keeps what it has.
async fn o01_only_what_is_missing_is_added(store: &Store) {
    let (mut first, entry) = setup();
    let existing = Org { id: OrgId::from_u128(next()), ..first.platform.clone() };
    store.create_org(existing.clone()).await.unwrap();
    store.ensure_user(first.administrator.clone()).await.unwrap();
    let known = first.administrator.id;
    first.administrator.id = UserId::from_u128(next());
    let before = store.set_up_platform(first, entry).await.unwrap();
    assert_eq!((before.platform, exists(before)), (Some(existing.id), (false, false)));
    let after = store.platform_parts().await.unwrap();
    assert_eq!((after.platform, exists(after)), (Some(existing.id), COMPLETE));
    let members = store.org(existing.id).members(None, 10).await.unwrap();
    assert_eq!(members.iter().map(|one| one.user.id).collect::<Vec<_>>(), [known]);
}
