//! Permission to change an agent, and the special rules of protected agents.
//!
//! No agent loosens its own harness: autonomy, approval lists, limits, blocked topics
//! and tools are changed by people only.

use super::{Agent, AgentKind, AgentStatus, Protection};
use crate::id::{AgentId, OrgId};
use crate::org::Relation;
use crate::org::guardrail::{self, Capability, GuardedAction, GuardrailRefusal, Right, right};
use crate::org::layer::BusinessPosition;

/// The actor that changes an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor<'a> {
    /// An administrator of the platform.
    PlatformAdmin,
    /// An owner or administrator of this org.
    OrgAdmin(OrgId),
    /// An agent, or a tool that acts for it.
    Agent {
        id: AgentId,
        /// The position of the editing agent.
        position: &'a BusinessPosition,
        /// How the changed agent's org is related to the editing agent's org.
        relation: Relation,
    },
    /// The runtime, which manages workers.
    Runtime,
}

/// The part of an agent to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentChange {
    Soul,
    Tools,
    /// Autonomy, approval list, limits and blocked topics.
    Guardrails,
    Settings,
    Status(AgentStatus),
}

/// The reason why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentChangeRefused {
    #[error("`{0}` is a system agent; only a platform administrator can change it")]
    SystemAgent(String),
    /// System agents are always active; not even a platform admin can pause them.
    #[error("`{0}` is a system agent and always active; it cannot be paused or archived")]
    AlwaysActive(String),
    #[error("no agent `{0}` in this org")]
    OtherOrg(String),
    /// The business layer of the editing agent does not allow it.
    #[error(transparent)]
    Guardrail(#[from] GuardrailRefusal),
    /// An agent can propose a change to a soul but not write one.
    #[error("an agent cannot write a soul; it can propose a change")]
    ProposeInstead,
    /// Agents cannot change guardrails, nor their own tools.
    #[error("only a person can change this setting of `{0}`")]
    OwnerOnly(String),
    /// The soul is stored in the template.
    #[error("`{0}` speaks with the soul of its template; change the template")]
    TemplatesSoul(String),
    /// The runtime changes only the status of workers.
    #[error("the runtime can change only the status of workers")]
    NotAWorker,
}

/// Checks that the editor may change this part of the agent. The caller writes the
/// audit entry.
pub fn check_change(
    agent: &Agent,
    editor: Editor<'_>,
    change: AgentChange,
) -> Result<(), AgentChangeRefused> {
    check_editor(agent, editor, change)?;
    if change == AgentChange::Soul && agent.template.is_some() {
        // An editor without access to protected agents learns only that.
        return Err(match (agent.protection, editor) {
            (Protection::Protected, Editor::OrgAdmin(_) | Editor::Agent { .. }) => {
                AgentChangeRefused::SystemAgent(agent.slug.clone())
            }
            _ => AgentChangeRefused::TemplatesSoul(agent.slug.clone()),
        });
    }
    if agent.protection == Protection::Open || editor == Editor::Runtime {
        return Ok(());
    }
    match (change, editor) {
        (AgentChange::Status(status), _) if status != AgentStatus::Active => {
            Err(AgentChangeRefused::AlwaysActive(agent.slug.clone()))
        }
        (_, Editor::PlatformAdmin) => Ok(()),
        _ => Err(AgentChangeRefused::SystemAgent(agent.slug.clone())),
    }
}

/// Checks the change as if the agent were not protected.
fn check_editor(
    agent: &Agent,
    editor: Editor<'_>,
    change: AgentChange,
) -> Result<(), AgentChangeRefused> {
    let other_org = || Err(AgentChangeRefused::OtherOrg(agent.slug.clone()));
    match editor {
        Editor::PlatformAdmin => Ok(()),
        Editor::OrgAdmin(org) if org != agent.org => other_org(),
        Editor::OrgAdmin(_) => Ok(()),
        Editor::Runtime => match (agent.kind, change) {
            (AgentKind::Worker, AgentChange::Status(_)) => Ok(()),
            _ => Err(AgentChangeRefused::NotAWorker),
        },
        Editor::Agent { id, position, relation } => {
            let allowed = guardrail::check(position, GuardedAction::ModifyAgent(relation));
            // An editor that cannot see the agent must not learn that it exists.
            if allowed.is_err()
                && guardrail::check(position, GuardedAction::ReadData(relation)).is_err()
            {
                return other_org();
            }
            allowed?;
            let souls = right(position.guardrail_layer, Capability::SoulEvolution);
            if change == AgentChange::Soul && souls != Right::Yes {
                return Err(AgentChangeRefused::ProposeInstead);
            }
            let own_tools = change == AgentChange::Tools && id == agent.id;
            if change == AgentChange::Guardrails || own_tools {
                return Err(AgentChangeRefused::OwnerOnly(agent.slug.clone()));
            }
            Ok(())
        }
    }
}

/// Returns the org that pays for an agent's work: the platform for a protected
/// agent, its own org for any other.
pub const fn paying_org(agent: &Agent, platform: OrgId) -> OrgId {
    match agent.protection {
        Protection::Protected => platform,
        Protection::Open => agent.org,
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentChange, AgentChangeRefused, Editor, check_change, paying_org};
    use crate::agent::subtype::Subtype;
    use crate::agent::{Agent, AgentKind, AgentStatus, Protection};
    use crate::id::{AgentId, OrgId};
    use crate::org::layer::BusinessPosition;
    use crate::org::{Org, Relation};
    use crate::testing;

    fn quinn() -> Agent {
        let mut agent = testing::agent("quinn", Subtype::System);
        agent.protection = Protection::Protected;
        agent
    }

    /// A18, D11, H02, H03: which changes to a protected agent are refused, by editor.
    #[test]
    fn d11_only_platform_admins_change_a_protected_agent() {
        let agent = quinn();
        let owner = Editor::OrgAdmin(agent.org);
        let pm = position(&testing::client(), "pm");
        let colleague = agent_editor(&pm, Relation::Own);
        let system = Err(AgentChangeRefused::SystemAgent("quinn".into()));
        let active = Err(AgentChangeRefused::AlwaysActive("quinn".into()));
        let templates = Err(AgentChangeRefused::TemplatesSoul("quinn".into()));
        let pause = AgentChange::Status(AgentStatus::Paused);
        let archive = AgentChange::Status(AgentStatus::Archived);
        let table = [
            ("D11", owner, AgentChange::Tools, system.clone()),
            ("D11", Editor::PlatformAdmin, AgentChange::Tools, Ok(())),
            ("H02", owner, AgentChange::Soul, system.clone()),
            ("H04", Editor::PlatformAdmin, AgentChange::Soul, templates.clone()),
            ("A18", colleague, AgentChange::Tools, system.clone()),
            ("A18", colleague, AgentChange::Settings, system),
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
        assert_eq!(check_change(&template, Editor::PlatformAdmin, AgentChange::Soul), Ok(()));
        let owner = Editor::OrgAdmin(template.org);
        let refused = Err(AgentChangeRefused::SystemAgent("quinn".into()));
        assert_eq!(check_change(&template, owner, AgentChange::Soul), refused);
        let mut worker = testing::agent("walt", Subtype::CustomerService);
        (worker.kind, worker.template) = (AgentKind::Worker, Some(template.id));
        let refused = Err(AgentChangeRefused::TemplatesSoul("walt".into()));
        assert_eq!(check_change(&worker, Editor::OrgAdmin(worker.org), AgentChange::Soul), refused);
    }

    /// D12: no agent changes guardrails or its own tools.
    #[test]
    fn d12_an_agent_cannot_change_guardrails_or_its_own_tools() {
        let luca = testing::agent("luca", Subtype::Pm);
        let gia = testing::agent("gia", Subtype::CustomerService);
        let pm = position(&testing::client(), "pm");
        let editor = Editor::Agent { id: luca.id, position: &pm, relation: Relation::Own };
        let only = |agent: &Agent| Err(AgentChangeRefused::OwnerOnly(agent.slug.clone()));
        let table = [
            (&luca, AgentChange::Guardrails, only(&luca)),
            (&gia, AgentChange::Guardrails, only(&gia)),
            (&luca, AgentChange::Tools, only(&luca)),
            (&gia, AgentChange::Tools, Ok(())),
            (&luca, AgentChange::Settings, Ok(())),
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
        let why = check_change(&agent, Editor::OrgAdmin(agent.org), AgentChange::Soul).unwrap_err();
        assert!(why.to_string().contains("is a system agent"), "{why}");
    }

    fn agent_editor(position: &BusinessPosition, relation: Relation) -> Editor<'_> {
        Editor::Agent { id: AgentId::from_u128(5), position, relation }
    }

    fn position(org: &Org, subtype: &str) -> BusinessPosition {
        BusinessPosition::of(org, &Subtype::from(subtype))
    }

    /// A05: an editor of another org learns nothing about the agent.
    #[test]
    fn a05_a_foreign_agent_is_not_found() {
        let agent = testing::agent("gia", Subtype::CustomerService);
        let stranger = OrgId::from_u128(agent.org.as_u128() + 1);
        let pm = position(&testing::agency(), "pm");
        let foreign = agent_editor(&pm, Relation::Unrelated);
        for editor in [Editor::OrgAdmin(stranger), foreign] {
            let refused = check_change(&agent, editor, AgentChange::Settings);
            assert_eq!(refused, Err(AgentChangeRefused::OtherOrg("gia".into())));
        }
        assert_eq!(check_change(&agent, Editor::OrgAdmin(agent.org), AgentChange::Soul), Ok(()));
    }

    /// H09, H11, L44: what an agent may change of another, by its position.
    #[test]
    fn h11_l44_an_agent_changes_what_its_layer_allows() {
        use Relation::{Child, Own, Unrelated};
        let gia = testing::agent("gia", Subtype::CustomerService);
        let (platform, agency, client) =
            (testing::platform(), testing::agency(), testing::client());
        let check = |org: &Org, subtype: &str, relation, change, expected: Result<(), &str>| {
            let position = position(org, subtype);
            let editor = agent_editor(&position, relation);
            let refused = check_change(&gia, editor, change).map_err(|why| why.to_string());
            assert_eq!(refused, expected.map_err(str::to_owned), "{subtype} {change:?}");
        };
        let propose = Err("an agent cannot write a soul; it can propose a change");
        check(&platform, "system", Unrelated, AgentChange::Soul, Ok(()));
        check(&client, "pm", Own, AgentChange::Settings, Ok(()));
        check(&client, "pm", Own, AgentChange::Soul, propose);
        let child = Err("business layer 2 (Agency) may not modify agents here; it has: own org");
        check(&agency, "pm", Child, AgentChange::Settings, child);
        check(&agency, "pm", Child, AgentChange::Soul, child);
        let service = Err("business layer 4 (End-Customer) may not modify agents");
        check(&client, "customer_service", Own, AgentChange::Settings, service);
    }

    /// H03, H05: the runtime archives workers, protected ones too, and touches
    /// nothing else.
    #[test]
    fn h05_the_runtime_archives_workers_only() {
        let archive = AgentChange::Status(AgentStatus::Archived);
        let mut agent = quinn();
        let refused = Err(AgentChangeRefused::NotAWorker);
        assert_eq!(check_change(&agent, Editor::Runtime, archive), refused);
        agent.kind = AgentKind::Worker;
        assert_eq!(check_change(&agent, Editor::Runtime, archive), Ok(()));
        assert_eq!(check_change(&agent, Editor::Runtime, AgentChange::Soul), refused);
        let owner = Editor::OrgAdmin(agent.org);
        let active = Err(AgentChangeRefused::AlwaysActive("quinn".into()));
        assert_eq!(check_change(&agent, owner, archive), active);
    }

    /// E12: a protected agent's work is paid by the platform.
    #[test]
    fn e12_protected_agents_spend_the_platforms_credits() {
        let platform = testing::platform().id;
        assert_eq!(paying_org(&quinn(), platform), platform);
        let gia = testing::agent("gia", Subtype::CustomerService);
        assert_eq!(paying_org(&gia, platform), gia.org);
    }
}
