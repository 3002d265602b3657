//! The `Offers` group: tools that list products, events and forms.

mod get_form_responses;
mod list_events;
mod list_forms;
mod list_products;

pub(crate) use get_form_responses::GetFormResponses;
pub(crate) use list_events::ListEvents;
pub(crate) use list_forms::ListForms;
pub(crate) use list_products::ListProducts;
