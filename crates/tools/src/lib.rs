//! Built-in tools for conversations (an org's contacts, offers, bookings, orders,
//! media and documents, and the web), the tools of MCP servers, and the HTTP tools and MCP
//! servers of orgs.
//!
//! A store tool never writes by itself. It returns [`effects`], which are committed
//! with the turn, and it sees the effects of earlier calls of the same turn. Every
//! read of the store goes through one org. The policy facts of a tool (risk, group,
//! price) come from `domain`'s catalogue; descriptions and schemas for models are here.

mod bookings;
pub mod catalogue;
mod crm;
pub mod effects;
mod ids;
pub mod import;
mod knowledge;
pub mod mcp;
pub mod media;
mod offers;
mod orders;
mod org_clock;
pub mod org_tools;
mod overlay;
mod page;
pub mod records;
mod schema;
mod store_tool;
mod text_query;
pub mod web;

pub use effects::effect_planner;
