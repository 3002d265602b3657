//! The definitions of resources that operations read and change as JSON, for the document of
//! the API.

pub use ostler_world::spec::{
    AgentDefinition, ChannelDefinition, HttpToolDefinition, IntegrationDefinition,
    McpServerDefinition, OrgDefinition, SettingsDefinition, SharingDefinition, Spec,
};
