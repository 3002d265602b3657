//! The inbox: its screens, and what keys do.

mod keys;
mod screens;
mod world;
