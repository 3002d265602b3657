//! The steps of a run that its record times.

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStep {
    Agent,
    RateLimit,
    Session,
    Context,
    Prompt,
    History,
    Tools,
    Credits,
    Turn,
    Record,
}

impl RunStep {
    const ALL: [Self; 10] = [
        Self::Agent,
        Self::RateLimit,
        Self::Session,
        Self::Context,
        Self::Prompt,
        Self::History,
        Self::Tools,
        Self::Credits,
        Self::Turn,
        Self::Record,
    ];

    /// Returns the number by which records and traces name the step.
    pub(crate) const fn number(self) -> &'static str {
        match self {
            Self::Agent => "1",
            Self::RateLimit => "2",
            Self::Session => "3",
            Self::Context => "4",
            Self::Prompt => "5",
            Self::History => "6",
            Self::Tools => "7",
            Self::Credits => "7.5",
            Self::Turn => "8",
            Self::Record => "12",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::RateLimit => "rate limit",
            Self::Session => "session",
            Self::Context => "contact and knowledge",
            Self::Prompt => "prompt",
            Self::History => "history",
            Self::Tools => "tools",
            Self::Credits => "credits",
            Self::Turn => "model and tools",
            Self::Record => "record",
        }
    }

    /// Returns the step with a number.
    pub(crate) fn with_number(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.number() == number)
    }
}
