//! Changes of queue agents by people.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, EnvelopeId, OrgId};
use ostler_domain::queue_agent::delegation::DelegationStatus;
use ostler_domain::queue_agent::name::TeamName;
use ostler_domain::queue_agent::team_lifecycle::{Team, TeamChange};
use ostler_store::{AuditedWrite, HeldMessage, HeldMessageKind, NewAuditEntry, Store};

use super::agents::agent;
use super::{at, id, name, work};
use crate::on_every_backend;
use crate::support::{next, with_org};

fn write<'s>(store: &'s Store, org: OrgId, action: &str) -> AuditedWrite<'s> {
    store.org(org).audited(NewAuditEntry {
        id: AuditId::from_u128(next()),
        actor: AuditActor::System,
        action: action.to_owned(),
        subject: "queue".into(),
        data: "{}".into(),
    })
}

async fn actions(store: &Store, org: OrgId) -> Vec<String> {
    let mut all = store.org(org).audit_entries(None, None, 100).await.unwrap();
    all.sort_by_key(|one| one.entry.id);
    all.into_iter().map(|one| one.entry.action).collect()
}

on_every_backend!(
    /// O26: each change is stored together with its audit entry, and a refused one leaves
    /// neither.
    o26_changes_of_queue_agents_are_stored_with_their_audit_entries
);
async fn o26_changes_of_queue_agents_are_stored_with_their_audit_entries(store: &Store) {
    let (org, other) = (with_org(store, 1).await, with_org(store, 2).await);
    let (ada, there) = (name("ada"), store.org(org));
    write(store, org, "save").save_queue_agent(agent("ada", &["review"])).await.unwrap();
    write(store, org, "withdraw").withdraw_queue_agent(ada.clone()).await.unwrap();
    assert!(write(store, other, "no").withdraw_queue_agent(ada.clone()).await.is_err());
    assert!(write(store, org, "no").delete_queue_agent(name("eve")).await.is_err());

    let crew: TeamName = "crew".parse().unwrap();
    let (team, _start) = Team::assemble(crew.clone(), ada.clone(), []);
    write(store, org, "team").create_team(team.clone()).await.unwrap();
    assert!(write(store, org, "no").create_team(team).await.is_err());
    let join = TeamChange::Join(name("bob"));
    write(store, org, "join").change_team(crew.clone(), join).await.unwrap();
    let leave = TeamChange::Leave(ada.clone());
    assert!(write(store, org, "no").change_team(crew.clone(), leave).await.is_err());
    assert_eq!(there.team(&crew).await.unwrap().unwrap().members().len(), 2);

    write(store, org, "delegate").create_delegation(work(1, &[])).await.unwrap();
    assert!(write(store, org, "no").create_delegation(work(2, &[9])).await.is_err());
    let begin = write(store, org, "update");
    begin.update_delegation(id(1), DelegationStatus::InProgress, at(0)).await.unwrap();
    let back = write(store, org, "no");
    assert!(back.update_delegation(id(1), DelegationStatus::Assigned, at(0)).await.is_err());

    let (plan, list) = (HeldMessageKind::Plan, HeldMessageKind::WorkList);
    let message = EnvelopeId::from_u128(7);
    let held = there.hold_message(plan, &ada, message, "1".into()).await.unwrap();
    there.hold_message(list, &name("bob"), message, "2".into()).await.unwrap();
    let changed = HeldMessage { data: "3".into(), ..held };
    let decide =
        |action| write(store, org, action).update_held_message(plan, ada.clone(), changed.clone());
    decide("decide").await.unwrap();
    assert!(decide("no").await.is_err(), "it has changed since");
    let all = there.all_held_messages(plan, 10).await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].0, all[0].1.data.as_str()), (&ada, "3"));
    assert!(store.org(other).all_held_messages(plan, 10).await.unwrap().is_empty());
    let answer = |action| write(store, org, action).take_held_message(list, &name("bob"), message);
    assert_eq!(answer("answer").await.unwrap().data, "2");
    assert!(answer("no").await.is_err());
    write(store, org, "delete").delete_queue_agent(ada.clone()).await.unwrap();
    assert!(there.queue_agent(&ada).await.unwrap().is_none());
    let expected =
        ["save", "withdraw", "team", "join", "delegate", "update", "decide", "answer", "delete"];
    assert_eq!(actions(store, org).await, expected);
    assert!(actions(store, other).await.is_empty());
}
