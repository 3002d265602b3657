//! All tools of this crate, in the order of `domain`'s catalogue.

use std::sync::Arc;

use ostler_domain::tool::ToolSpec;
use ostler_domain::tool::catalogue::built_in;
use ostler_engine::tool::Tool;
use ostler_store::Store;

use crate::media::{SearchUnsplashImages, Unsplash};
use crate::web::{Fetcher, WebFetch};
use crate::{bookings, crm, knowledge, local, media, offers, orders};

/// The tools on the store.
#[allow(clippy::needless_pass_by_value, reason = "the tools share the store from now on")]
pub fn business(store: Store) -> Vec<Arc<dyn Tool>> {
    built_in().into_iter().filter_map(|spec| on_store(spec, &store)).collect()
}

/// The tools on the web.
pub fn web(fetcher: &Fetcher) -> Vec<Arc<dyn Tool>> {
    let specs = built_in().into_iter();
    specs.filter_map(|spec| on_web(spec, fetcher)).collect()
}

/// The tools on Unsplash.
pub fn unsplash(unsplash: &Unsplash) -> Vec<Arc<dyn Tool>> {
    let ours = |spec: &ToolSpec| spec.name.as_str() == "search_unsplash_images";
    let tool =
        |spec| -> Arc<dyn Tool> { Arc::new(SearchUnsplashImages::new(spec, unsplash.clone())) };
    built_in().into_iter().filter(ours).map(tool).collect()
}

fn on_store(spec: ToolSpec, store: &Store) -> Option<Arc<dyn Tool>> {
    let make = match spec.name.as_str() {
        "query_org_data" => local::tool::<crm::QueryOrgData>,
        "search_contacts" => local::tool::<crm::SearchContacts>,
        "create_contact" => local::tool::<crm::CreateContact>,
        "update_contact" => local::tool::<crm::UpdateContact>,
        "delete_contact" => local::tool::<crm::DeleteContact>,
        "export_contacts" => local::tool::<crm::ExportContacts>,
        "import_contacts" => local::tool::<crm::ImportContacts>,
        "list_products" => local::tool::<offers::ListProducts>,
        "list_events" => local::tool::<offers::ListEvents>,
        "list_forms" => local::tool::<offers::ListForms>,
        "get_form_responses" => local::tool::<offers::GetFormResponses>,
        "create_booking" => local::tool::<bookings::CreateBooking>,
        "cancel_booking" => local::tool::<bookings::CancelBooking>,
        "get_order" => local::tool::<orders::GetOrder>,
        "refund_payment" => local::tool::<orders::RefundPayment>,
        "search_media" => local::tool::<media::SearchMedia>,
        "search_knowledge" => local::tool::<knowledge::SearchKnowledge>,
        _ => return None,
    };
    Some(make(spec, store))
}

fn on_web(spec: ToolSpec, fetcher: &Fetcher) -> Option<Arc<dyn Tool>> {
    match spec.name.as_str() {
        "web_fetch" => Some(Arc::new(WebFetch::new(spec, fetcher.clone()))),
        _ => None,
    }
}
