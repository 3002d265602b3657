//! The definition of every resource that a world file can hold. Files, commands and the
//! plan of `ostler apply` use the same types; their doc comments are the descriptions in
//! the JSON Schema.
//!
//! Resources refer to each other by name. Conversions from and to the values of
//! `ostler_domain` translate names and ids.

mod agent;
mod channel;
mod data;
mod document;
mod integration;
mod member;
mod names;
mod notices;
mod org;
mod session;
mod settings;
mod tool;
mod workflow;

use ostler_domain::agent::subtype::Subtype;
use ostler_domain::contact::normalize_email;
use ostler_domain::knowledge::Document;
use ostler_domain::tool::Integration;
use ostler_domain::tool::profile::ToolProfile;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use agent::{AgentDefinition, LimitsDefinition};
pub use channel::ChannelDefinition;
pub use data::DataDefinition;
pub use document::DocumentDefinition;
pub use integration::IntegrationDefinition;
pub use member::MemberDefinition;
pub use names::{NameMap, Names, UnknownName};
pub use notices::NoticesDefinition;
pub use org::{CreditsDefinition, OrgDefinition, PlatformDefinition, SharingDefinition};
pub use session::SessionDefinition;
pub use settings::{
    PeopleDefinition, PersonDefinition, SessionBudgetDefinition, SettingsDefinition, TeamDefinition,
};
pub use tool::{HttpToolDefinition, McpServerDefinition};
pub use workflow::{ScheduleResource, WorkflowResource};

use crate::address::Kind;

/// A kind of resource.
pub trait Spec: Serialize + DeserializeOwned + JsonSchema {
    /// Its kind.
    const KIND: Kind;

    /// Returns the spec in the form in which a live resource is described, so that two
    /// spellings of the same are equal.
    #[must_use]
    fn normalized(self) -> Self {
        self
    }
}

impl Spec for PlatformDefinition {
    const KIND: Kind = Kind::Platform;
}

impl Spec for OrgDefinition {
    const KIND: Kind = Kind::Org;

    fn normalized(mut self) -> Self {
        if let Some(team) = &mut self.settings.team {
            team.normalize();
        }
        self
    }
}

impl Spec for AgentDefinition {
    const KIND: Kind = Kind::Agent;

    fn normalized(self) -> Self {
        let role = self.role();
        let is_own = matches!(role, Subtype::Other(_));
        let default = ToolProfile::default_for(&role).name();
        Self {
            custom: self.custom && is_own,
            subtype: role.to_string(),
            profile: self.profile.filter(|name| name != default),
            ..self
        }
    }
}

impl Spec for HttpToolDefinition {
    const KIND: Kind = Kind::Tool;
}

impl Spec for McpServerDefinition {
    const KIND: Kind = Kind::McpServer;
}

impl Spec for ChannelDefinition {
    const KIND: Kind = Kind::Channel;
}

impl Spec for IntegrationDefinition {
    const KIND: Kind = Kind::Integration;

    fn normalized(self) -> Self {
        Self { service: Integration::new(&self.service).to_string(), ..self }
    }
}

impl Spec for DocumentDefinition {
    const KIND: Kind = Kind::Document;

    fn normalized(self) -> Self {
        match Document::new(&self.title, &self.text, self.tags.iter().map(String::as_str)) {
            Ok(document) => Self {
                org: self.org,
                title: document.title().to_owned(),
                tags: document.tags().clone(),
                text: document.body().to_owned(),
            },
            Err(_) => self,
        }
    }
}

impl Spec for MemberDefinition {
    const KIND: Kind = Kind::Member;

    fn normalized(self) -> Self {
        Self { email: normalize_email(&self.email).unwrap_or_default(), ..self }
    }
}

impl Spec for WorkflowResource {
    const KIND: Kind = Kind::Workflow;
}

impl Spec for ScheduleResource {
    const KIND: Kind = Kind::Schedule;
}

/// For `serde(default)` of switches that are on unless a file says otherwise.
const fn on() -> bool {
    true
}
