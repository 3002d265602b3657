//! Who may change an agent, and the special rules of protected ones.

use serde::{Deserialize, Serialize};

use super::{Agent, AgentStatus, Protection};
use crate::id::OrgId;

/// Who is acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Editor {
    /// An administrator of the platform.
    PlatformAdmin,
    /// An owner or administrator of this org.
    OrgAdmin(OrgId),
    /// An agent, or a tool in an agent's name, of this org.
    Agent(OrgId),
}

/// What is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The soul.
    Soul,
    /// The tools.
    Tools,
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
}

/// Whether the change may be made. A success on a protected agent is audited
/// by the caller, as every change is.
pub fn check_change(agent: &Agent, editor: Editor, change: Change) -> Result<(), ChangeRefused> {
    let slug = || agent.slug.clone();
    match editor {
        Editor::OrgAdmin(org) | Editor::Agent(org) if org != agent.org => {
            return Err(ChangeRefused::OtherOrg(slug()));
        }
        _ => {}
    }
    if agent.protection == Protection::Open {
        return Ok(());
    }
    match (change, editor) {
        (Change::Status(status), _) if status != AgentStatus::Active => {
            Err(ChangeRefused::AlwaysActive(slug()))
        }
        (_, Editor::PlatformAdmin) => Ok(()),
        _ => Err(ChangeRefused::SystemAgent(slug())),
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
    use crate::agent::{Agent, AgentStatus, Protection};
    use crate::id::OrgId;
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
        let itself = Editor::Agent(agent.org);
        let system = Err(ChangeRefused::SystemAgent("quinn".into()));
        let active = Err(ChangeRefused::AlwaysActive("quinn".into()));
        let pause = Change::Status(AgentStatus::Paused);
        let archive = Change::Status(AgentStatus::Archived);
        let table = [
            ("D11", owner, Change::Tools, system.clone()),
            ("D11", Editor::PlatformAdmin, Change::Tools, Ok(())),
            ("H02", owner, Change::Soul, system.clone()),
            ("H02", Editor::PlatformAdmin, Change::Soul, Ok(())),
            ("A18", itself, Change::Soul, system.clone()),
            ("A18", itself, Change::Settings, system),
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

    /// H02: the error text says it is a system agent.
    #[test]
    fn h02_the_refusal_says_it_is_a_system_agent() {
        let agent = quinn();
        let why = check_change(&agent, Editor::OrgAdmin(agent.org), Change::Soul).unwrap_err();
        assert!(why.to_string().contains("is a system agent"), "{why}");
    }

    /// A05: an editor of another org learns nothing about the agent.
    #[test]
    fn a05_a_foreign_agent_is_not_found() {
        let agent = testing::agent("gia", Subtype::CustomerService);
        let stranger = OrgId::from_u128(agent.org.as_u128() + 1);
        for editor in [Editor::OrgAdmin(stranger), Editor::Agent(stranger)] {
            let refused = check_change(&agent, editor, Change::Settings);
            assert_eq!(refused, Err(ChangeRefused::OtherOrg("gia".into())));
        }
        assert_eq!(check_change(&agent, Editor::OrgAdmin(agent.org), Change::Soul), Ok(()));
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
