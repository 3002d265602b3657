//! The house in order: arrows between crates, what may be depended on, and a
//! feature list that tells the truth.

mod arrows;
mod dependencies;
mod features;
mod metadata;
