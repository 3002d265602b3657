//! A directory that agents work in: confined files, sandboxed commands, undo.
