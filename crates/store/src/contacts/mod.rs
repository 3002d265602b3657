//! Contacts: external people, what is stored about them, and its export and
//! erasure.
//!
//! | file | holds |
//! |---|---|
//! | `blob_uses`       | which conversations refer to which blobs |
//! | `blobs`           | bytes of files |
//! | `contact`         | contacts |
//! | `identifiers`     | the identifiers of a contact, per channel |
//! | `import`          | many changes in one audited transaction |
//! | `merge`           | two contacts of one person become one |
//! | `privacy`         | export and erasure of personal data |
//! | `records`         | business records of any kind |
//! | `reference_codes` | blocks of numbers for reference codes |
//! | `shared_records`  | records of which two orgs have a copy |
//! | `visitors`        | people who wrote and are no contact |

pub(crate) mod blob_uses;
pub(crate) mod blobs;
pub(crate) mod contact;
pub(crate) mod identifiers;
pub(crate) mod import;
pub(crate) mod merge;
pub(crate) mod privacy;
pub(crate) mod records;
pub(crate) mod reference_codes;
pub(crate) mod shared_records;
pub(crate) mod visitors;
