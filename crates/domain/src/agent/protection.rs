//! Who may change an agent, and the special rules of protected ones.

use super::{Agent, AgentKind, AgentStatus, Protection};
use crate::id::{AgentId, OrgId};
use crate::org::Relation;
use crate::org::guardrail::{self, Action, Capability, Refused, Right, right};
use crate::org::layer::Standing;

/// Who is acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor<'a> {
    /// An administrator of the platform.
    PlatformAdmin,
    /// An owner or administrator of this org.
    OrgAdmin(OrgId),
    /// An agent, or a tool in an agent's name.
    Agent {
        /// Which.
        id: AgentId,
        /// Where the agent stands.
        standing: &'a Standing,
        /// How the changed agent's org is related to its own.
        relation: Relation,
    },
    /// The runtime itself, which looks after workers.
    Runtime,
}

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The soul.
    Soul,
    /// The tools.
    Tools,
    /// What keeps the agent in check: autonomy, approval list, limits, blocked
    /// topics.
    Guardrails,
    /// Any other setting.
    Settings,
    /// The status.
    Status(AgentStatus),
}

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// The agent is protected and the editor is not a platform admin.
    #[error("`{0}` is a system agent; only a platform administrator can change it")]
    SystemAgent(String),
    /// System agents are always active, for everyone.
    #[error("`{0}` is a system agent and always active; it cannot be paused or archived")]
    AlwaysActive(String),
    /// The agent belongs to another org.
    #[error("no agent `{0}` in this org")]
    OtherOrg(String),
    /// The editing agent's business layer does not allow it.
    #[error(transparent)]
    Guardrail(#[from] Refused),
    /// An agent proposes a soul; it does not write one.
    #[error("an agent cannot write a soul; it can propose a change")]
    ProposeInstead,
    /// What keeps agents in check is not theirs to change, and no agent chooses
    /// its own tools.
    #[error("only a person can change this of `{0}`")]
    OwnerOnly(String),
    /// The soul belongs to the template.
    #[error("`{0}` speaks with the soul of its template; change the template")]
    TemplatesSoul(String),
    /// The runtime changes nothing but the status of workers.
    #[error("the runtime only looks after workers")]
    NotAWorker,
}

/// Whether the change may be made. A success on a protected agent is audited
/// by the caller, as every change is.
pub fn check_change(
    agent: &Agent,
    editor: Editor<'_>,
    change: Change,
) -> Result<(), ChangeRefused> {
    check_editor(agent, editor, change)?;
    if change == Change::Soul && agent.template.is_some() {
        // Whoever may not touch a protected agent is told just that.
        return Err(match (agent.protection, editor) {
            (Protection::Protected, Editor::OrgAdmin(_) | Editor::Agent { .. }) => {
                ChangeRefused::SystemAgent(agent.slug.clone())
            }
            _ => ChangeRefused::TemplatesSoul(agent.slug.clone()),
        });
    }
    if agent.protection == Protection::Open || editor == Editor::Runtime {
        return Ok(());
    }
    match (change, editor) {
        (Change::Status(status), _) if status != AgentStatus::Active => {
            Err(ChangeRefused::AlwaysActive(agent.slug.clone()))
        }
        (_, Editor::PlatformAdmin) => Ok(()),
        _ => Err(ChangeRefused::SystemAgent(agent.slug.clone())),
    }
}

/// Whether this editor could change such a thing of this agent, were it open.
fn check_editor(agent: &Agent, editor: Editor<'_>, change: Change) -> Result<(), ChangeRefused> {
    let other_org = || Err(ChangeRefused::OtherOrg(agent.slug.clone()));
    match editor {
        Editor::PlatformAdmin => Ok(()),
        Editor::OrgAdmin(org) if org != agent.org => other_org(),
        Editor::OrgAdmin(_) => Ok(()),
        Editor::Runtime => match (agent.kind, change) {
            (AgentKind::Worker, Change::Status(_)) => Ok(()),
            _ => Err(ChangeRefused::NotAWorker),
        },
        Editor::Agent { id, standing, relation } => {
            let allowed = guardrail::check(standing, Action::ModifyAgent(relation));
            // Whoever may not even see the agent learns nothing of it.
            if allowed.is_err() && guardrail::check(standing, Action::ReadData(relation)).is_err() {
                return other_org();
            }
            allowed?;
            let souls = right(standing.guarded_as, Capability::SoulEvolution);
            if change == Change::Soul && souls != Right::Yes {
                return Err(ChangeRefused::ProposeInstead);
            }
            let own_tools = change == Change::Tools && id == agent.id;
            if change == Change::Guardrails || own_tools {
                return Err(ChangeRefused::OwnerOnly(agent.slug.clone()));
            }
            Ok(())
        }
    }
}

/// The org whose credits an agent's work in `org` consumes: a protected
/// agent's work is the platform's.
pub const fn payer(agent: &Agent, platform: OrgId) -> OrgId {
    match agent.protection {
        Protection::Protected => platform,
        Protection::Open => agent.org,
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, ChangeRefused, Editor, check_change, payer};
    use crate::agent::subtype::Subtype;
    use crate::agent::{Agent, AgentKind, AgentStatus, Protection};
    use crate::id::{AgentId, OrgId};
    use crate::org::layer::Standing;
    use crate::org::{Org, Relation};
    use crate::testing;

    fn quinn() -> Agent {
        let mut agent = testing::agent("quinn", Subtype::System);
        agent.protection = Protection::Protected;
        agent
    }

    /// A18, D11, H02, H03: what whom is refused on a protected agent.
    #[test]
    fn d11_only_platform_admins_change_a_protected_agent() {
        let agent = quinn();
        let owner = Editor::OrgAdmin(agent.org);
        let pm = standing(&testing::client(), "pm");
        let colleague = agent_editor(&pm, Relation::Own);
        let system = Err(ChangeRefused::SystemAgent("quinn".into()));
        let active = Err(ChangeRefused::AlwaysActive("quinn".into()));
        let templates = Err(ChangeRefused::TemplatesSoul("quinn".into()));
        let pause = Change::Status(AgentStatus::Paused);
        let archive = Change::Status(AgentStatus::Archived);
        let table = [
            ("D11", owner, Change::Tools, system.clone()),
            ("D11", Editor::PlatformAdmin, Change::Tools, Ok(())),
            ("H02", owner, Change::Soul, system.clone()),
            ("H04", Editor::PlatformAdmin, Change::Soul, templates.clone()),
            ("A18", colleague, Change::Tools, system.clone()),
            ("A18", colleague, Change::Settings, system),
            ("H03", owner, pause, active.clone()),
            ("H03", owner, archive, active.clone()),
            ("H03", Editor::PlatformAdmin, archive, active),
        ];
        for (row, editor, change, expected) in table {
            assert_eq!(
                check_change(&agent, editor, change),
                expected,
                "{row} {editor:?} {change:?}"
            );
        }
    }

    /// H02, H04: a platform admin edits the template, where the soul is.
    #[test]
    fn h04_a_protected_soul_is_edited_in_its_template() {
        let template = Agent { kind: AgentKind::Template, template: None, ..quinn() };
        assert_eq!(check_change(&template, Editor::PlatformAdmin, Change::Soul), Ok(()));
        let owner = Editor::OrgAdmin(template.org);
        let refused = Err(ChangeRefused::SystemAgent("quinn".into()));
        assert_eq!(check_change(&template, owner, Change::Soul), refused);
        let mut worker = testing::agent("walt", Subtype::CustomerService);
        (worker.kind, worker.template) = (AgentKind::Worker, Some(template.id));
        let refused = Err(ChangeRefused::TemplatesSoul("walt".into()));
        assert_eq!(check_change(&worker, Editor::OrgAdmin(worker.org), Change::Soul), refused);
    }

    /// D12: no agent changes what keeps agents in check, nor its own tools.
    #[test]
    fn d12_an_agent_does_not_loosen_its_own_harness() {
        let luca = testing::agent("luca", Subtype::Pm);
        let gia = testing::agent("gia", Subtype::CustomerService);
        let pm = standing(&testing::client(), "pm");
        let editor = Editor::Agent { id: luca.id, standing: &pm, relation: Relation::Own };
        let only = |agent: &Agent| Err(ChangeRefused::OwnerOnly(agent.slug.clone()));
        let table = [
            (&luca, Change::Guardrails, only(&luca)),
            (&gia, Change::Guardrails, only(&gia)),
            (&luca, Change::Tools, only(&luca)),
            (&gia, Change::Tools, Ok(())),
            (&luca, Change::Settings, Ok(())),
        ];
        for (agent, change, expected) in table {
            let ruling = check_change(agent, editor, change);
            assert_eq!(ruling, expected, "{} {change:?}", agent.slug);
            let owner = Editor::OrgAdmin(agent.org);
            assert_eq!(check_change(agent, owner, change), Ok(()), "{}", agent.slug);
        }
    }

    /// H02: the error text says it is a system agent.
    #[test]
    fn h02_the_refusal_says_it_is_a_system_agent() {
        let agent = quinn();
        let why = check_change(&agent, Editor::OrgAdmin(agent.org), Change::Soul).unwrap_err();
        assert!(why.to_string().contains("is a system agent"), "{why}");
    }

    fn agent_editor(standing: &Standing, relation: Relation) -> Editor<'_> {
        Editor::Agent { id: AgentId::from_u128(5), standing, relation }
    }

    fn standing(org: &Org, subtype: &str) -> Standing {
        Standing::of(org, &Subtype::from(subtype))
    }

    /// A05: an editor of another org learns nothing about the agent.
    #[test]
    fn a05_a_foreign_agent_is_not_found() {
        let agent = testing::agent("gia", Subtype::CustomerService);
        let stranger = OrgId::from_u128(agent.org.as_u128() + 1);
        let pm = standing(&testing::agency(), "pm");
        let foreign = agent_editor(&pm, Relation::Unrelated);
        for editor in [Editor::OrgAdmin(stranger), foreign] {
            let refused = check_change(&agent, editor, Change::Settings);
            assert_eq!(refused, Err(ChangeRefused::OtherOrg("gia".into())));
        }
        assert_eq!(check_change(&agent, Editor::OrgAdmin(agent.org), Change::Soul), Ok(()));
    }

    /// H09, H11, L44: what an agent may change of another, by where it stands.
    #[test]
    fn h11_l44_an_agent_changes_what_its_layer_allows() {
        use Relation::{Child, Own, Unrelated};
        let gia = testing::agent("gia", Subtype::CustomerService);
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let check = |org: &Org, subtype: &str, relation, change, expected: Result<(), &str>| {
            let standing = standing(org, subtype);
            let editor = agent_editor(&standing, relation);
            let refused = check_change(&gia, editor, change).map_err(|why| why.to_string());
            assert_eq!(refused, expected.map_err(str::to_owned), "{subtype} {change:?}");
        };
        let propose = Err("an agent cannot write a soul; it can propose a change");
        check(&platform, "system", Unrelated, Change::Soul, Ok(()));
        check(&client, "pm", Own, Change::Settings, Ok(()));
        check(&client, "pm", Own, Change::Soul, propose);
        let child = Err("business layer 2 (Agency) may not modify agents here; it has: own org");
        check(&agency, "pm", Child, Change::Settings, child);
        check(&agency, "pm", Child, Change::Soul, child);
        let service = Err("business layer 4 (End-Customer) may not modify agents");
        check(&client, "customer_service", Own, Change::Settings, service);
    }

    /// H03, H05: the runtime archives workers, protected ones too, and touches
    /// nothing else.
    #[test]
    fn h05_the_runtime_archives_workers_only() {
        let archive = Change::Status(AgentStatus::Archived);
        let mut agent = quinn();
        let refused = Err(ChangeRefused::NotAWorker);
        assert_eq!(check_change(&agent, Editor::Runtime, archive), refused);
        agent.kind = AgentKind::Worker;
        assert_eq!(check_change(&agent, Editor::Runtime, archive), Ok(()));
        assert_eq!(check_change(&agent, Editor::Runtime, Change::Soul), refused);
        let owner = Editor::OrgAdmin(agent.org);
        let active = Err(ChangeRefused::AlwaysActive("quinn".into()));
        assert_eq!(check_change(&agent, owner, archive), active);
    }

    /// E12: a protected agent's work is paid by the platform.
    #[test]
    fn e12_protected_agents_spend_the_platforms_credits() {
        let platform = testing::platform().id;
        assert_eq!(payer(&quinn(), platform), platform);
        let gia = testing::agent("gia", Subtype::CustomerService);
        assert_eq!(payer(&gia, platform), gia.org);
    }
}
