//! Wire types of the HTTP API.
//!
//! Owns the JSON of requests and responses. Fields may be added; none is renamed
//! or changes its meaning after a release. This crate does not know how things
//! are stored or decided. Times are milliseconds since 1970 in UTC.
//!
//! | module | contents |
//! |---|---|
//! | [`problem`] | errors with stable codes |
//! | [`page`] | cursor pagination |
//! | [`session`] | sessions: reading, takeover, writing, handing back |
//! | [`transcript`] | a conversation as people read it |
//! | [`session_work`] | who looks after a session, notes, what was read, search of messages |
//! | [`approval`], [`escalation`], [`dead_letter`], [`unknown_outcome`], [`notice`] | what waits for a person |
//! | [`hierarchy`] | issues, delegations and insights between business layers; proposals about agents |
//! | [`org`], [`contact`], [`audit`] | organizations and members, contacts, the audit log |
//! | [`key`], [`user`] | API keys, user accounts of the installation |
//! | [`resource`] | the resources of an installation as a whole, plans and changes |
//! | [`data`], [`tool`], [`integration`] | business data; the tools that agents can have and the services that they use |
//! | [`contact_message`] | messages that staff write in the place of a contact |
//! | [`deep_link`] | links that open a conversation |
//! | [`queue_agent`] | agents on queues, their teams, work, queues and dead letters |
//! | [`team_message`] | questions and broadcasts to teams of agents on queues |
//! | [`run`], [`soul`] | runs with their harness, souls |
//! | [`workflow`], [`workflow_schedule`], [`refund`] | workflows, schedules, refunds |
//! | [`agent`], [`channel`] | agents and channels at a glance |
//! | [`agent_test`], [`channel_test`] | trying an agent or a channel |
//! | [`inbox`] | what waits for a person in an agency and its clients |
//! | [`completion`] | chat completions in the form of the OpenAI API |
//! | [`credit`] | credit accounts and ledgers |
//! | [`knowledge`] | knowledge documents |
//! | [`thread`], [`thread_event`] | threads of the interactive harness and their events |
//! | [`event`] | the event stream |
//! | [`webhook`] | webhooks to which events are sent |
//! | [`account`], [`account_link`] | log-in of people and their own accounts; their accounts on channels |
//! | [`names`] | names of agents and people by id |
//! | [`me`] | the identity of the caller |
//! | [`service`] | the state of the server |

pub mod account;
pub mod account_link;
pub mod agent;
pub mod agent_test;
pub mod approval;
pub mod audit;
pub mod channel;
pub mod channel_test;
pub mod completion;
pub mod contact;
pub mod contact_message;
pub mod credit;
pub mod data;
pub mod dead_letter;
pub mod deep_link;
pub mod escalation;
pub mod event;
pub mod hierarchy;
pub mod inbox;
pub mod integration;
pub mod key;
pub mod knowledge;
pub mod me;
pub mod names;
pub mod notice;
pub mod org;
pub mod page;
pub mod problem;
pub mod queue_agent;
pub mod refund;
pub mod resource;
pub mod run;
pub mod service;
pub mod session;
pub mod session_work;
pub mod soul;
pub mod team_message;
pub mod thread;
pub mod thread_event;
pub mod tool;
pub mod transcript;
pub mod unknown_outcome;
pub mod user;
pub mod webhook;
pub mod workflow;
pub mod workflow_schedule;
