//! The business layers at work: what an agent of one org sends is read where it arrives, in the
//! other org's prompt, record or channel.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | a platform, an agency and its client, with agents in each |
//! | `awareness` | what agents read about their layer |
//! | `coordinator` | a coordinator routes and decides nothing |
//! | `issues` | issues go up, their resolutions come back |
//! | `verification` | the eight points by which the layers are verified |
//! | `delegations` | work and instructions go down, insights go up |

mod awareness;
mod coordinator;
mod delegations;
mod issues;
mod tree;
mod verification;
