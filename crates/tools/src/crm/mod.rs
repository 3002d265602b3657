//! The `Crm` group: tools for contacts, and queries of an org's records.

mod contact_input;
mod create_contact;
mod delete_contact;
mod export_contacts;
mod filter;
mod import_contacts;
mod query_org_data;
mod search_contacts;
mod update_contact;

pub(crate) use contact_input::ContactInput;
pub(crate) use create_contact::CreateContact;
pub(crate) use delete_contact::DeleteContact;
pub(crate) use export_contacts::ExportContacts;
pub(crate) use import_contacts::ImportContacts;
pub(crate) use query_org_data::QueryOrgData;
pub(crate) use search_contacts::SearchContacts;
pub(crate) use update_contact::UpdateContact;
