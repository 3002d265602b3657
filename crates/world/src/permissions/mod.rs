//! Permissions files: the rules of a user or a project, with the place of each rule, its own
//! tests, and edits that keep everything else in the file as it is.

mod definition;
mod edit;
mod parse;

pub use definition::{TrustedProject, permissions_schema};
pub use edit::{insert_rule, render_rule, set_trust};
pub use parse::{FileRule, PermissionFile, parse_expiry, parse_permissions};
