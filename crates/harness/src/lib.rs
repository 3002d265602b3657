//! The interactive harness: the session object behind the UI of an agent.
