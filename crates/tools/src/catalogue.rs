//! The built-in tools of this crate, in the order of their specifications in
//! `domain::tool::catalogue`, which says what else a new tool needs.

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;
use ostler_store::Store;

use crate::media::{SearchUnsplashImages, Unsplash};
use crate::web::{Fetcher, WebFetch};
use crate::{bookings, crm, knowledge, media, offers, orders, store_tool};

/// Returns the tools that read and change the records of an org.
#[allow(clippy::needless_pass_by_value, reason = "the tools share the store from now on")]
pub fn store_tools(store: Store) -> Vec<Arc<dyn Tool>> {
    built_in().into_iter().filter_map(|spec| store_tool_for(spec, &store)).collect()
}

/// Returns the tools that read the web.
pub fn web_tools(fetcher: &Fetcher) -> Vec<Arc<dyn Tool>> {
    let is_web_fetch = |spec: &ToolSpec| spec.name.as_str() == "web_fetch";
    let tool = |spec| -> Arc<dyn Tool> { Arc::new(WebFetch::new(spec, fetcher.clone())) };
    built_in().into_iter().filter(is_web_fetch).map(tool).collect()
}

/// Returns the tools that search Unsplash.
pub fn unsplash_tools(unsplash: &Unsplash) -> Vec<Arc<dyn Tool>> {
    let is_search = |spec: &ToolSpec| spec.name.as_str() == "search_unsplash_images";
    let tool =
        |spec| -> Arc<dyn Tool> { Arc::new(SearchUnsplashImages::new(spec, unsplash.clone())) };
    built_in().into_iter().filter(is_search).map(tool).collect()
}

fn store_tool_for(spec: ToolSpec, store: &Store) -> Option<Arc<dyn Tool>> {
    let build = store_tool_builder(spec.name.as_str())?;
    Some(build(spec, store))
}

/// Makes a tool from its spec.
type Builder = fn(ToolSpec, &Store) -> Arc<dyn Tool>;

fn store_tool_builder(name: &str) -> Option<Builder> {
    Some(match name {
        "query_org_data" => store_tool::build::<crm::QueryOrgData>,
        "search_contacts" => store_tool::build::<crm::SearchContacts>,
        "create_contact" => store_tool::build::<crm::CreateContact>,
        "update_contact" => store_tool::build::<crm::UpdateContact>,
        "delete_contact" => store_tool::build::<crm::DeleteContact>,
        "export_contacts" => store_tool::build::<crm::ExportContacts>,
        "import_contacts" => store_tool::build::<crm::ImportContacts>,
        "list_products" => store_tool::build::<offers::ListProducts>,
        "list_events" => store_tool::build::<offers::ListEvents>,
        "list_forms" => store_tool::build::<offers::ListForms>,
        "get_form_responses" => store_tool::build::<offers::GetFormResponses>,
        "create_booking" => store_tool::build::<bookings::CreateBooking>,
        "cancel_booking" => store_tool::build::<bookings::CancelBooking>,
        "get_order" => store_tool::build::<orders::GetOrder>,
        "refund_payment" => store_tool::build::<orders::RefundPayment>,
        "search_media" => store_tool::build::<media::SearchMedia>,
        "search_knowledge" => store_tool::build::<knowledge::SearchKnowledge>,
        _ => return None,
    })
}
