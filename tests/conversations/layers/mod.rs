//! The business layers at work: what an agent of one org sends is read where it arrives, in the
//! other org's prompt, record or channel.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | a platform, an agency and its client, with agents in each |
//! | `administration` | agencies and the platform administer orgs and agents |
//! | `awareness` | what agents read about their layer |
//! | `bootstrap` | clients that cannot be made as a whole |
//! | `customer_tools` | what customer service looks up and creates |
//! | `coordinator` | a coordinator routes and decides nothing |
//! | `issues` | issues go up, their resolutions come back |
//! | `matrix` | every capability from every layer on every org |
//! | `verification` | the eight points by which the layers are verified |
//! | `outreach` | e-mail and text messages to contacts |
//! | `routing` | who is recognized, and who answers them |
//! | `sign_up` | strangers get an organization by an interview |
//! | `testing_mode` | what a test leaves behind |
//! | `delegations` | work and instructions go down, insights go up |

mod administration;
mod awareness;
mod bootstrap;
mod coordinator;
mod customer_tools;
mod delegations;
mod issues;
mod matrix;
mod outreach;
mod routing;
mod sign_up;
mod testing_mode;
mod tree;
mod verification;
