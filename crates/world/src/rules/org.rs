//! Rules of orgs and of the tree that they form.

use std::collections::BTreeSet;

use ostler_domain::contact::{is_email_address, normalize_email};
use ostler_domain::notice::preferences::NoticeDestination;
use ostler_domain::org::settings::OWNER;
use ostler_domain::org::tree::{OrgTree, TreeError, check_sub_org_licence};
use ostler_domain::tool::ToolName;

use super::Checker;
use crate::address::{Address, Kind};
use crate::spec::{
    NoticesDefinition, OrgDefinition, PlatformDefinition, SettingsDefinition, TeamDefinition,
};

impl Checker<'_> {
    pub(super) fn platform(&mut self, address: &Address, spec: &PlatformDefinition) {
        self.policy(address, "tools", &spec.tools);
    }

    pub(super) fn org(&mut self, address: &Address, spec: &OrgDefinition) {
        self.slug(address, "slug", &spec.slug);
        self.not_empty(address, "name", &spec.name);
        self.time_zone(address, "time_zone", &spec.time_zone);
        self.place(address, spec);
        self.policy(address, "tools", &spec.tools);
        if spec.sharing.notice_percent > 100 {
            self.report(address, "sharing.notice_percent", "a percentage is at most 100");
        }
        for child in spec.sharing.overrides.keys() {
            let is_child = self
                .orgs
                .get(child)
                .is_some_and(|(org, _)| org.parent.as_deref() == Some(spec.slug.as_str()));
            if !is_child {
                let message = format!("`{child}` is not a client of `{}`", spec.slug);
                self.report(address, &format!("sharing.overrides.{child}"), message);
            }
        }
        self.settings(address, &spec.settings);
        if spec.settings.sign_up.is_some() && !spec.platform {
            let message = "people sign up with the platform; set this on its organization";
            self.report(address, "settings.sign_up", message);
        }
    }

    fn place(&mut self, address: &Address, spec: &OrgDefinition) {
        if let Some(parent) = &spec.parent {
            if spec.platform {
                return self.report(address, "parent", "the platform has no parent");
            }
            if !self.exists(&Address::of_org(parent)) {
                let known: Vec<String> = self.orgs.keys().cloned().collect();
                let message = crate::unknown_name("org", parent, known.iter().map(String::as_str));
                return self.report(address, "parent", message);
            }
        }
        let before: Option<OrgDefinition> =
            self.before.get(address).and_then(|org| org.spec().ok());
        let Some(before) = before else { return };
        if before.parent != spec.parent {
            self.report(address, "parent", "an organization keeps the parent it was created with");
        }
        if before.platform != spec.platform {
            self.report(address, "platform", "the platform was chosen when it was created");
        }
        if before.starting_credits != spec.starting_credits {
            let message = "starting credits are granted once, when the organization is created; \
                           grant more with `ostler credit grant`";
            self.report(address, "starting_credits", message);
        }
    }

    /// Checks the tree that all orgs form, and the licences of those with clients.
    pub(super) fn tree(&mut self) {
        let orgs = self.orgs.values().map(|(_, org)| org.clone());
        if let Err(error) = OrgTree::new(orgs) {
            let slug = match &error {
                TreeError::NoPlatform => self.orgs.keys().next().cloned().unwrap_or_default(),
                TreeError::SecondPlatform { slug }
                | TreeError::Duplicate { slug }
                | TreeError::UnknownParent { slug }
                | TreeError::TooDeep { slug, .. } => slug.clone(),
            };
            return self.report(&Address::of_org(&slug), "slug", error.to_string());
        }
        let mut refused = Vec::new();
        for (slug, (spec, org)) in &self.orgs {
            let parent = spec.parent.as_ref().and_then(|parent| self.orgs.get(parent));
            let Some((_, parent)) = parent else { continue };
            let is_new = !self.before.contains_key(&Address::of_org(slug));
            if !is_new || org.archived {
                continue;
            }
            let clients = self.orgs.values().filter(|(_, one)| one.parent() == Some(parent.id));
            let others = clients.filter(|(_, one)| !one.archived).count().saturating_sub(1);
            let others = u32::try_from(others).unwrap_or(u32::MAX);
            let Err(error) = check_sub_org_licence(parent, others) else { continue };
            let message = error.to_string();
            refused.push((Address::of_org(slug), message));
        }
        for (address, message) in refused {
            self.report(&address, "parent", message);
        }
    }

    fn settings(&mut self, address: &Address, settings: &SettingsDefinition) {
        if let Some(team) = &settings.team {
            self.team(address, team);
        }
        let people = &settings.people;
        let people = [
            ("owner", &people.owner),
            ("team_group", &people.team_group),
            ("owner_email", &people.owner_email),
        ];
        for (field, person) in people {
            let Some(person) = person else { continue };
            let path = format!("settings.people.{field}");
            self.reference(address, &format!("{path}.channel"), Kind::Channel, &person.channel);
            self.not_empty(address, &format!("{path}.identifier"), &person.identifier);
        }
        let mut people = BTreeSet::new();
        for notices in &settings.notices {
            self.notices(address, notices);
            if !people.insert(normalize_email(&notices.person)) {
                let message = format!("the notices of `{}` are listed twice", notices.person);
                self.report(address, "settings.notices", message);
            }
        }
        if settings.session_budget.warning > settings.session_budget.cap {
            let message = "the warning comes before the cap, so it must not be larger";
            self.report(address, "settings.session_budget.warning", message);
        }
        for (channel, lifetime) in &settings.lifetimes {
            if lifetime.idle.is_zero() || lifetime.max_age < lifetime.idle {
                let message = "a session lives longer than it may be idle, and both are above 0";
                self.report(address, &format!("settings.lifetimes.{channel}"), message);
            }
        }
        let provider = settings.payment_provider.iter().map(ToolName::as_str);
        self.tools(address, "settings.payment_provider", provider);
        if settings.approvals.expire_after.is_zero() {
            let message = "people need time to decide; use at least 1";
            self.report(address, "settings.approvals.expire_after_secs", message);
        }
    }

    fn notices(&mut self, address: &Address, notices: &NoticesDefinition) {
        let (path, person) = ("settings.notices", notices.person.as_str());
        if person != OWNER {
            if !is_email_address(person) {
                let message =
                    format!("`{person}` is no e-mail address of a member; or use `owner`");
                self.report(address, path, message);
            }
            let destinations = notices.topics.values().flatten().copied();
            let others = [notices.digest.to.into(), notices.unanswered.to.into()];
            if destinations.chain(others).any(|one| one == NoticeDestination::TeamGroup) {
                let message = "only the notices of `owner` go to the team's group";
                self.report(address, path, message);
            }
        }
        for at in [&notices.chat, &notices.email].into_iter().flatten() {
            self.reference(address, path, Kind::Channel, &at.channel);
            self.not_empty(address, path, &at.identifier);
        }
        if let Some(zone) = &notices.time_zone {
            self.time_zone(address, path, zone);
        }
        if notices.quiet_hours.is_some_and(|quiet| quiet.from == quiet.to) {
            self.report(address, path, "quiet hours begin and end at different times");
        }
    }

    pub(super) fn time_zone(&mut self, address: &Address, path: &str, zone: &str) {
        if jiff::tz::TimeZone::get(zone).is_err() {
            let message = format!("no time zone `{zone}`; use an IANA name such as Europe/Berlin");
            self.report(address, path, message);
        }
    }

    fn team(&mut self, address: &Address, team: &TeamDefinition) {
        for (trigger, agent) in &team.specialists {
            let name = serde_json::to_value(trigger).ok();
            let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
            let path = format!("settings.team.specialists.{name}");
            self.reference(address, &path, Kind::Agent, agent);
        }
        for (from, targets) in team.permissions.iter().flatten() {
            let path = format!("settings.team.permissions.{from}");
            self.reference(address, &path, Kind::Agent, from);
            for target in targets.iter().filter(|target| *target != "*") {
                self.reference(address, &path, Kind::Agent, target);
            }
        }
    }
}
