//! Tools for agents.
//!
//! [`mcp`] makes tools of what MCP servers offer. A tool never decides whether
//! it may run; the engine's gate has done that before it is called.

pub mod mcp;
