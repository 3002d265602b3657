//! Rules of agents.

use ostler_domain::agent::autonomy::check_level;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{AgentCreationRefused, AgentKind};
use ostler_domain::id::AgentId;
use ostler_domain::org::layer::BusinessPosition;
use ostler_domain::soul::Soul;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use ostler_domain::tool::profile::ToolProfile;

use super::Checker;
use crate::address::{Address, Kind};
use crate::spec::{AgentDefinition, Names};
use crate::suggestion::unknown_name;

impl Checker<'_> {
    pub(super) fn agent(&mut self, address: &Address, spec: &AgentDefinition) {
        self.slug(address, "slug", &spec.slug);
        self.not_empty(address, "name", &spec.name);
        self.role(address, spec);
        if let Some(name) = &spec.profile
            && name.parse::<ToolProfile>().is_err()
        {
            let known = ToolProfile::ALL.map(ToolProfile::name);
            self.report(address, "profile", unknown_name("tool profile", name, known));
        }
        self.policy(address, "tools", &spec.tools);
        let approvals = spec.require_approval_for.iter().map(ToolName::as_str);
        self.tools(address, "require_approval_for", approvals);
        for (index, model) in spec.models.iter().enumerate() {
            self.not_empty(address, &format!("models[{index}]"), model);
        }
        self.template(address, spec);
    }

    fn role(&mut self, address: &Address, spec: &AgentDefinition) {
        let role = spec.role();
        if matches!(role, Subtype::Other(_)) && !spec.custom {
            let known = Subtype::KNOWN.iter().map(Subtype::name);
            let message = unknown_name("role", &spec.subtype, known);
            let message = format!("{message}; for a role of your own add `custom = true`");
            return self.report(address, "subtype", message);
        }
        let Some((_, org)) = self.orgs.get(&address.org) else { return };
        let position = BusinessPosition::of(org, &role);
        if let Err(refused) = check_level(&position, spec.autonomy) {
            self.report(address, "autonomy", refused.to_string());
        }
    }

    /// Checks that who takes its soul from a template has one, and none of its own.
    fn template(&mut self, address: &Address, spec: &AgentDefinition) {
        if let Some(template) = &spec.template {
            self.reference(address, "template", Kind::Agent, template);
            let target = Address { name: template.clone(), ..address.clone() };
            let target = self.after.get(&target).and_then(|one| one.spec::<AgentDefinition>().ok());
            if target.is_some_and(|target| target.kind != AgentKind::Template) {
                let message = format!("`{template}` is not a template; set its `kind` to template");
                self.report(address, "template", message);
            }
            if spec.soul != Soul::default() {
                let message = format!("it speaks with the soul of `{template}`; change it there");
                self.report(address, "soul", message);
            }
        }
        let Some((_, org)) = self.orgs.get(&address.org) else { return };
        let mut names = Names::default();
        if let Some(template) = &spec.template {
            names.agents.insert(template, AgentId::from_u128(1));
        }
        let agent = spec.to_agent(AgentId::from_u128(2), org.id, Timestamp::from_millis(0), &names);
        if let Ok(agent) = agent
            && let Err(refused) = agent.check_creation()
        {
            let path = match refused {
                AgentCreationRefused::NoTemplate(_) => "template",
                AgentCreationRefused::Unprotected(_) => "subtype",
            };
            self.report(address, path, refused.to_string());
        }
    }
}
