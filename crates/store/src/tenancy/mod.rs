//! Tenants: orgs, users, memberships, API keys, policies, integrations and the
//! audit log.
//!
//! Lookups that happen before the org is known (a user by e-mail address, a key by the
//! hash of its secret, the platform's policy) go across orgs; all others are bound to one
//! org.
//!
//! | file | holds |
//! |---|---|
//! | `audit`         | the append-only audit log of an org |
//! | `audited_write` | a write and its audit entry in one transaction |
//! | `audit_search`  | searching the audit log |
//! | `config_change` | several writes of a configuration in one transaction |
//! | `integrations`  | connections of an org to external services |
//! | `invitations`   | invitations to become a member |
//! | `keys`          | API keys |
//! | `logins`        | log-ins of users, password codes, identities, tried log-ins |
//! | `members`       | which user has which role in which org |
//! | `org_config`    | the whole configuration of an org, and its version |
//! | `org_state`     | everything that a world file can say about an org |
//! | `org_tools`     | HTTP tools and MCP servers of an org |
//! | `orgs`          | orgs |
//! | `people`        | audited changes of members and users |
//! | `platform_setup` | what a new installation starts with |
//! | `policies`      | versioned tool policies of the platform and of orgs |
//! | `refusals`      | audit entries of refused requests, limited |
//! | `users`         | user accounts |

pub(crate) mod audit;
pub(crate) mod audit_search;
pub(crate) mod audited_write;
pub(crate) mod config_change;
pub(crate) mod integrations;
pub(crate) mod invitations;
pub(crate) mod keys;
pub(crate) mod logins;
pub(crate) mod members;
pub(crate) mod org_config;
pub(crate) mod org_state;
pub(crate) mod org_tools;
pub(crate) mod orgs;
pub(crate) mod people;
pub(crate) mod platform_setup;
pub(crate) mod policies;
pub(crate) mod refusals;
pub(crate) mod users;
