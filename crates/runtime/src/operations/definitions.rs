//! The definitions of resources that operations read and change as JSON, for the API and its
//! document.

pub use ostler_world::export::{text as world_file, without_own_secrets};
pub use ostler_world::plan::{Action, Keep, Plan};
pub use ostler_world::rules::Violation;
pub use ostler_world::schema::schema as world_schema;
pub use ostler_world::spec::{
    AgentDefinition, ChannelDefinition, HttpToolDefinition, IntegrationDefinition,
    McpServerDefinition, OrgDefinition, ScheduleResource, SettingsDefinition, SharingDefinition,
    Spec, WorkflowResource,
};
pub use ostler_world::{Address, Resource, Resources};
