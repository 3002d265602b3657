//! The built-in tools of a conversation: an org's contacts, offers, bookings,
//! orders, pictures and documents, and the web; and what MCP servers offer.
//!
//! A tool on the store changes nothing by itself. It returns [`effects`], which
//! are stored with the turn, and it sees what earlier calls of the same turn
//! returned. Every look into the store goes through one org. What policy knows
//! of a tool comes from `domain`'s catalogue; what a model is told of it is here.

mod bookings;
pub mod catalogue;
mod crm;
pub mod effects;
mod ids;
mod knowledge;
mod local;
pub mod mcp;
pub mod media;
mod offers;
mod orders;
mod page;
mod planner;
pub mod records;
mod schema;
mod view;
pub mod web;
mod when;

pub use planner::planner;
