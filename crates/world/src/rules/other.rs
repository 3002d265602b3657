//! Rules of channels, integrations, documents and members.

use ostler_domain::contact::normalize_email;
use ostler_domain::knowledge::Document;
use ostler_domain::secret::{SecretRef, WRITTEN_SECRET, is_written_secret};
use serde_json::{Map, Value};

use super::Checker;
use crate::address::{Address, Kind};
use crate::spec::{
    ChannelDefinition, DocumentDefinition, HttpToolDefinition, IntegrationDefinition,
    McpServerDefinition, MemberDefinition,
};
use crate::suggestion::unknown_name;

impl Checker<'_> {
    pub(super) fn http_tool(&mut self, address: &Address, spec: &HttpToolDefinition) {
        if self.known.tools.contains(spec.tool.name.as_str()) {
            let message =
                format!("there is a built-in tool `{}`; choose another name", spec.tool.name);
            self.report(address, "name", message);
        }
        for problem in spec.tool.check() {
            self.report(address, &problem.field, problem.message);
        }
    }

    pub(super) fn mcp_server(&mut self, address: &Address, spec: &McpServerDefinition) {
        for problem in spec.server.check() {
            self.report(address, &problem.field, problem.message);
        }
    }

    pub(super) fn channel(&mut self, address: &Address, spec: &ChannelDefinition) {
        self.slug(address, "name", &spec.name);
        self.reference(address, "agent", Kind::Agent, &spec.agent);
        self.no_secrets(address, "settings", &spec.settings);
        let before: Option<ChannelDefinition> =
            self.before.get(address).and_then(|one| one.spec().ok());
        if before.is_some_and(|before| before.kind != spec.kind) {
            let message = "a channel stays what it is; define another one under another name";
            self.report(address, "kind", message);
        }
    }

    /// Checks that no secret is written in settings.
    fn no_secrets(&mut self, address: &Address, path: &str, settings: &Map<String, Value>) {
        for (name, value) in settings {
            let path = format!("{path}.{name}");
            match value {
                Value::Object(inner) => self.no_secrets(address, &path, inner),
                Value::String(text)
                    if text.parse::<SecretRef>().is_err() && is_written_secret(name, text) =>
                {
                    self.report(address, &path, WRITTEN_SECRET.to_owned());
                }
                _ => {}
            }
        }
    }

    pub(super) fn integration(&mut self, address: &Address, spec: &IntegrationDefinition) {
        self.no_secrets(address, "settings", &spec.settings);
        if !self.known.services.contains(&spec.service) {
            let known = self.known.services.iter().map(String::as_str);
            let message = unknown_name("service", &spec.service, known);
            self.report(address, "service", message);
        }
    }

    pub(super) fn document(&mut self, address: &Address, spec: &DocumentDefinition) {
        self.not_empty(address, "text", &spec.text);
        let tags = spec.tags.iter().map(String::as_str);
        if let Err(refused) = Document::new(&spec.title, &spec.text, tags) {
            self.report(address, "title", refused.to_string());
        }
    }

    pub(super) fn member(&mut self, address: &Address, spec: &MemberDefinition) {
        let valid = normalize_email(&spec.email).is_some_and(|email| {
            email.split_once('@').is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !email.contains(char::is_whitespace)
            })
        });
        if !valid {
            let message = format!("`{}` is not an e-mail address", spec.email);
            self.report(address, "email", message);
        }
        let place = self.orgs.get(&address.org).map(|(_, org)| org.place);
        if place.is_some_and(|place| !spec.role.exists_in(place)) {
            let message = "this role exists in the platform's organization only";
            self.report(address, "role", message);
        }
    }
}
