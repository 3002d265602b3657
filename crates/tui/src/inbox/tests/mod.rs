//! The inbox: its screens, and what keys and lines do.

mod calls;
mod choice;
mod keys;
mod lines;
mod screens;
mod world;
