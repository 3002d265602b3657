//! Agents on queues as wire types.

use ostler_api::queue_agent::{
    AnswerDelivery, BusDeadLetter, BusDeadLetterCause, BusQueue, BusStatus, PlanKey, QueueAgent,
    QueueAgentDetail, QueuePlan, QueueService, RunningQueueAgent, WaitingPlan, WorkItem,
};
use ostler_domain::time::Timestamp;
use ostler_runtime::agents::{self, AgentHealth, AgentRecord, ReplyDelivery};
use ostler_runtime::operations;
use serde_json::json;

use crate::error::{ApiError, Result};

/// Parses the name of an agent or a team; nothing has another one.
pub(super) fn parse_name<N: std::str::FromStr>(text: &str) -> Result<N> {
    text.parse().map_err(|_| ApiError::not_found("agent or team"))
}

pub(super) fn agent(record: AgentRecord, now: Timestamp) -> QueueAgent {
    QueueAgent {
        available: record.is_available(now),
        name: record.name,
        agent_type: record.agent_type,
        capabilities: record.capabilities,
        placement: record.placement,
        concurrency: record.concurrency,
        availability: record.availability,
        available_until: record.available_until,
        load: record.load,
    }
}

pub(super) fn detail(view: operations::QueueAgentView, now: Timestamp) -> QueueAgentDetail {
    QueueAgentDetail {
        record: agent(view.record, now),
        teams: view.teams,
        waiting: view.waiting,
        on_its_list: view.on_its_list,
        work: view.work,
    }
}

pub(super) fn status(found: operations::BusStatus) -> BusStatus {
    let condition = match found.status.condition {
        AgentHealth::Healthy => "healthy",
        AgentHealth::Degraded => "degraded",
    };
    let running = found.status.agents.into_iter().map(|one| RunningQueueAgent {
        name: one.name,
        teams: one.teams,
        in_progress: one.in_progress,
        breaker: one.breaker,
    });
    let queues = found.queues.into_iter().map(|one| BusQueue {
        name: one.name.to_string(),
        waiting: one.waiting,
        consumers: one.consumers,
        service: match one.service {
            agents::QueueService::Served => QueueService::Served,
            agents::QueueService::Unserved => QueueService::Unserved,
            agents::QueueService::Stuck => QueueService::Stuck,
        },
    });
    BusStatus {
        condition: condition.to_owned(),
        coverage: found.status.coverage,
        agents: running.collect(),
        awake: found.status.awake,
        in_process: !found.is_shared,
        away: found.away,
        queues: queues.collect(),
        dead_letters: found.dead_letters,
    }
}

pub(super) fn dead_letter(letter: operations::BusDeadLetter) -> BusDeadLetter {
    let cause = letter.cause;
    BusDeadLetter {
        id: letter.id,
        cause: BusDeadLetterCause {
            queue: cause.queue.to_string(),
            class: cause.class,
            reason: cause.reason,
            attempts: cause.attempts,
            at: cause.at,
        },
        envelope: json!(letter.envelope),
        body: letter.body,
    }
}

pub(super) fn work_item(item: operations::WorkItem) -> WorkItem {
    WorkItem { agent: item.agent, message: json!(item.message) }
}

pub(super) const fn delivery(delivery: ReplyDelivery) -> AnswerDelivery {
    match delivery {
        ReplyDelivery::Sent => AnswerDelivery::Sent,
        ReplyDelivery::NotWanted => AnswerDelivery::NotWanted,
        ReplyDelivery::TooLate => AnswerDelivery::TooLate,
    }
}

pub(super) fn plan(waiting: agents::WaitingPlan) -> WaitingPlan {
    WaitingPlan {
        key: PlanKey { agent: waiting.key.agent, message: waiting.key.message },
        plan: QueuePlan {
            reference: waiting.plan.reference,
            proposed_by: waiting.plan.proposed_by,
            approver: waiting.plan.approver,
            requester: waiting.plan.requester,
        },
        request: json!(waiting.request),
    }
}
