//! Performs what a turn asks for.
