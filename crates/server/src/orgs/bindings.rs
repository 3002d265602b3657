//! Routes for channels as they are bound to an organization: where each is reached, what is wrong
//! with it, and connecting one with a name and a secret of its own.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use ostler_api::channel::{ChannelBinding, ChannelChange, NewChannelRequest};
use ostler_api::page::Page;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_runtime::operations::{BindingChange, ChannelStatus, NewBinding};
use serde_json::{Map, Value, json};

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::{Route, get, patch, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/bindings",
            "listBindings",
            "List channels with where each is reached and what is wrong with it",
            list,
        ),
        get(
            View,
            "/bindings/{binding}",
            "getBinding",
            "Show a channel with where it is reached and what is wrong with it",
            show,
        ),
        post(
            Configure,
            "/bindings",
            "connectBinding",
            "Connect a channel; its name and, if it makes one itself, its secret are chosen here",
            create,
        )
        .example(json!({"channel": "webchat", "agent": "gia"})),
        patch(
            Configure,
            "/bindings/{binding}",
            "changeBinding",
            "Change a channel; its settings are replaced as a whole",
            change,
        )
        .example(json!({"enabled": false})),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<ChannelBinding>>> {
    let slugs = request.agent_slugs().await?;
    let channels = &request.server.deps.channels;
    let found = request.operations().channel_statuses(channels).await;
    let items = request.hide_foreign_org(found)?.into_iter();
    let items = items.map(|status| request.binding(status, &slugs)).collect();
    Ok(Json(Page { items, next: None }))
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Versioned<ChannelBinding>> {
    let id = request.binding_id(&id).await?;
    request.shown_binding(id, None).await
}

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewChannelRequest>,
) -> Result<(StatusCode, Json<ChannelBinding>)> {
    let NewChannelRequest { channel, settings, secret, agent, priority } = body;
    let settings = settings.map(|settings| text(&settings));
    let new = NewBinding { channel, settings, secret, agent, priority };
    let (channels, host) = (&request.server.deps.channels, request.host());
    let created = request.operations().create_binding(new, channels, host).await;
    let (bound, note) = request.hide_foreign_org(created)?;
    let shown = request.shown_binding(bound.binding.id, note).await?;
    Ok((StatusCode::CREATED, Json(shown.value)))
}

async fn change(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(body): JsonBody<ChannelChange>,
) -> Result<Versioned<ChannelBinding>> {
    let id = request.binding_id(&id).await?;
    let _turn = based_on.turn(&request.server).await;
    based_on.check(&request.shown_binding(id, None).await?.basis)?;
    let ChannelChange { settings, secret, agent, priority, enabled } = body;
    let settings = settings.map(|settings| text(&settings));
    let change = BindingChange { settings, secret, agent, priority, enabled };
    let changed = request.operations().change_binding(id, change, request.host()).await;
    let (_, note) = request.hide_foreign_org(changed)?;
    request.shown_binding(id, note).await
}

fn text(settings: &Map<String, Value>) -> String {
    json!(settings).to_string()
}

/// The agents of an org by id.
type Slugs = BTreeMap<AgentId, String>;

impl OrgRequest {
    async fn agent_slugs(&self) -> Result<Slugs> {
        let found = self.operations().configured_agents().await;
        let (_, agents) = self.hide_foreign_org(found)?;
        Ok(agents.into_iter().map(|agent| (agent.id, agent.slug)).collect())
    }

    async fn binding_id(&self, text: &str) -> Result<BindingId> {
        super::find_id(text, "channel", async {
            let bound = self.hide_foreign_org(self.operations().bindings().await)?;
            Ok(bound.iter().map(|one| one.binding.id).collect())
        })
        .await
    }

    async fn shown_binding(
        &self,
        id: BindingId,
        note: Option<String>,
    ) -> Result<Versioned<ChannelBinding>> {
        let channels = &self.server.deps.channels;
        let found = self.operations().channel_status(&id.to_string(), channels).await;
        let status = self.hide_foreign_org(found)?;
        let bound = &status.binding;
        let basis = json!({"binding": bound.binding, "settings": bound.settings,
            "secret": bound.secret, "agent": bound.agent});
        let mut value = self.binding(status, &self.agent_slugs().await?);
        value.notes.extend(note);
        Ok(Versioned { value, basis })
    }

    fn binding(&self, status: ChannelStatus, slugs: &Slugs) -> ChannelBinding {
        let address = self.channel_address(&status);
        let ChannelStatus { binding: bound, open_failure, lacks_secret, .. } = status;
        let binding = bound.binding;
        ChannelBinding {
            binding: binding.id,
            org: self.org,
            name: binding.name(),
            polls: binding.channel == Channel::Telegram && self.server.deps.public_url.is_none(),
            channel: binding.channel,
            agent: bound.agent,
            agent_slug: slugs.get(&bound.agent).cloned().unwrap_or_default(),
            enabled: binding.enabled,
            priority: binding.priority,
            settings: serde_json::from_str(&bound.settings).unwrap_or_default(),
            secret: bound.secret,
            address,
            error: open_failure,
            lacks_secret,
            failing_since: status.failing_since,
            failure: status.receive_failure,
            notes: Vec::new(),
        }
    }

    /// Returns where a channel is reached.
    pub(super) fn channel_address(&self, status: &ChannelStatus) -> String {
        let (url, reached) = (self.public_url(), status.reached);
        match status.binding.binding.channel {
            Channel::Webchat => format!("{url}/chat/{reached}"),
            _ => format!("{url}/v1/webhooks/{reached}"),
        }
    }
}
