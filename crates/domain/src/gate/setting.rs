//! The setting behind a decision: which one it is, and which other calls it decides about.

use super::{AskReason, DenyReason, GateDecision};
use crate::scope::removal::{PolicyLayer, Removal};

/// Whose setting it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SettingHolder {
    Platform,
    Org,
    Agent,
}

/// The setting by which a call waits or is refused, or a tool is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecidingSetting {
    pub holder: SettingHolder,
    pub field: SettingField,
}

/// A field that decides about calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SettingField {
    ToolsAllow,
    ToolsDeny,
    Profile,
    Autonomy,
    RequireApprovalFor,
    SubOrgs,
    Team,
    SessionBudget,
    WebHosts,
}

impl SettingField {
    const ALL: [Self; 9] = [
        Self::ToolsAllow,
        Self::ToolsDeny,
        Self::Profile,
        Self::Autonomy,
        Self::RequireApprovalFor,
        Self::SubOrgs,
        Self::Team,
        Self::SessionBudget,
        Self::WebHosts,
    ];

    /// Returns the field of the resource, as in world files.
    pub const fn path(self) -> &'static str {
        match self {
            Self::ToolsAllow => "tools.allow",
            Self::ToolsDeny => "tools.deny",
            Self::Profile => "profile",
            Self::Autonomy => "autonomy",
            Self::RequireApprovalFor => "require_approval_for",
            Self::SubOrgs => "sub_orgs",
            Self::Team => "settings.team",
            Self::SessionBudget => "settings.session_budget",
            Self::WebHosts => "settings.web_hosts",
        }
    }
}

impl DecidingSetting {
    /// Returns the setting behind a decision; `None` if the call runs, or if the rule is
    /// built in and no setting changes it.
    pub const fn of(decision: &GateDecision) -> Option<Self> {
        match decision {
            GateDecision::Ask(AskReason::Autonomy { .. })
            | GateDecision::Deny(DenyReason::DraftOnly) => Self::agent(SettingField::Autonomy),
            GateDecision::Ask(AskReason::ApprovalList) => {
                Self::agent(SettingField::RequireApprovalFor)
            }
            GateDecision::Ask(AskReason::UnlistedHost) => Self::org(SettingField::WebHosts),
            GateDecision::Deny(DenyReason::OutOfScope(removal)) => Self::of_removal(removal),
            GateDecision::Deny(DenyReason::SessionReadOnly) => {
                Self::of_removal(&Removal::SessionReadOnly)
            }
            GateDecision::Allow(_)
            | GateDecision::Ask(AskReason::Untrusted | AskReason::Permission(_))
            | GateDecision::Deny(
                DenyReason::UnknownTool
                | DenyReason::Disabled { .. }
                | DenyReason::OverBudget(_)
                | DenyReason::Permission(_),
            ) => None,
        }
    }

    const fn of_removal(removal: &Removal) -> Option<Self> {
        match removal {
            Removal::Denied { policy_layer } => {
                Self::of_policy(*policy_layer, SettingField::ToolsDeny)
            }
            Removal::NotAllowed { policy_layer } => {
                Self::of_policy(*policy_layer, SettingField::ToolsAllow)
            }
            Removal::Unlicensed => Self::org(SettingField::SubOrgs),
            Removal::NoTeamCoordination => Self::org(SettingField::Team),
            Removal::OutsideProfile { .. } => Self::agent(SettingField::Profile),
            Removal::DraftOnly => Self::agent(SettingField::Autonomy),
            Removal::SessionReadOnly => Self::org(SettingField::SessionBudget),
            Removal::NotConnected { .. }
            | Removal::OtherLayersTool { .. }
            | Removal::NoRight { .. }
            | Removal::NotOnLayerList { .. }
            | Removal::BlockedAtLayer { .. }
            | Removal::RoutesOnly
            | Removal::PmDecides
            | Removal::FailedTooOften { .. }
            | Removal::NotOnChannel { .. }
            | Removal::StaffOnly => None,
        }
    }

    const fn of_policy(layer: PolicyLayer, field: SettingField) -> Option<Self> {
        let holder = match layer {
            PolicyLayer::Platform => SettingHolder::Platform,
            PolicyLayer::Org => SettingHolder::Org,
            PolicyLayer::Agent => SettingHolder::Agent,
            PolicyLayer::Session => return None,
        };
        Some(Self { holder, field })
    }

    const fn agent(field: SettingField) -> Option<Self> {
        Some(Self { holder: SettingHolder::Agent, field })
    }

    const fn org(field: SettingField) -> Option<Self> {
        Some(Self { holder: SettingHolder::Org, field })
    }

    /// Returns whether a change of the setting for a tool concerns a call: a list decides
    /// about one tool, everything else about all.
    pub fn concerns(self, tool: &str, of_call: &str) -> bool {
        let is_list = matches!(
            self.field,
            SettingField::ToolsAllow | SettingField::ToolsDeny | SettingField::RequireApprovalFor
        );
        tool == of_call || !is_list
    }

    /// Returns whether a field of the resource is the setting, a part of it or contains it.
    pub fn is_field(self, path: &str) -> bool {
        let own = self.field.path();
        is_within(path, own) || is_within(own, path)
    }
}

/// Returns whether a field of a platform, org or agent decides about tool calls.
pub fn decides_about_calls(path: &str) -> bool {
    SettingField::ALL.iter().any(|field| is_within(path, field.path()))
}

fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{DecidingSetting, SettingField, SettingHolder, decides_about_calls};
    use crate::agent::autonomy::AutonomyLevel::Supervised;
    use crate::gate::{AllowReason, AskReason, DenyReason, GateDecision};
    use crate::org::layer::BusinessLayer;
    use crate::scope::removal::{PolicyLayer, Removal};
    use crate::tool::Risk;
    use crate::tool::profile::ToolProfile;

    fn check(decision: &GateDecision, expected: Option<(SettingHolder, &str)>) {
        let found = DecidingSetting::of(decision);
        let found = found.map(|setting| (setting.holder, setting.field.path()));
        assert!(found.is_none_or(|(_, field)| decides_about_calls(field)), "{found:?}");
        assert_eq!(found, expected, "{decision:?}");
    }

    /// Z14: every decision that a setting makes names it.
    #[test]
    fn z14_a_decision_names_its_setting() {
        use SettingHolder::{Agent, Org, Platform};
        let removed = |removal| GateDecision::Deny(DenyReason::OutOfScope(removal));
        let risk = Risk::Write;
        let asks = AskReason::Autonomy { level: Supervised, risk };
        check(&GateDecision::Ask(asks), Some((Agent, "autonomy")));
        check(&GateDecision::Ask(AskReason::ApprovalList), Some((Agent, "require_approval_for")));
        check(&GateDecision::Ask(AskReason::UnlistedHost), Some((Org, "settings.web_hosts")));
        check(&GateDecision::Ask(AskReason::Untrusted), None);
        check(&GateDecision::Allow(AllowReason::ControlTool), None);
        check(&GateDecision::Deny(DenyReason::DraftOnly), Some((Agent, "autonomy")));
        check(&GateDecision::Deny(DenyReason::UnknownTool), None);
        for (policy_layer, holder) in [
            (PolicyLayer::Platform, Some(Platform)),
            (PolicyLayer::Org, Some(Org)),
            (PolicyLayer::Agent, Some(Agent)),
            (PolicyLayer::Session, None),
        ] {
            let denied = removed(Removal::Denied { policy_layer });
            check(&denied, holder.map(|holder| (holder, "tools.deny")));
            let not_allowed = removed(Removal::NotAllowed { policy_layer });
            check(&not_allowed, holder.map(|holder| (holder, "tools.allow")));
        }
        let profile = ToolProfile::Readonly;
        check(&removed(Removal::OutsideProfile { profile }), Some((Agent, "profile")));
        check(&removed(Removal::Unlicensed), Some((Org, "sub_orgs")));
        check(&removed(Removal::NoTeamCoordination), Some((Org, "settings.team")));
        check(&removed(Removal::SessionReadOnly), Some((Org, "settings.session_budget")));
        let business_layer = BusinessLayer::EndCustomer;
        check(&removed(Removal::BlockedAtLayer { business_layer }), None);
    }

    /// Z14: a list decides about one tool, a level about all; parts of a field belong to it.
    #[test]
    fn z14_a_setting_knows_its_calls_and_its_fields() {
        let setting = |field| DecidingSetting { holder: SettingHolder::Agent, field };
        assert!(!setting(SettingField::ToolsDeny).concerns("refund_payment", "create_booking"));
        assert!(setting(SettingField::ToolsDeny).concerns("refund_payment", "refund_payment"));
        assert!(setting(SettingField::Autonomy).concerns("refund_payment", "create_booking"));
        for (path, expected) in [
            ("settings.team", true),
            ("settings.team.budget", true),
            ("settings", true),
            ("settings.teams", false),
            ("tools", false),
        ] {
            assert_eq!(setting(SettingField::Team).is_field(path), expected, "{path}");
        }
    }
}
