//! What the card offers, looked at before a call is made (V10-CAP-002).

use chancery_core::{Card, Error, ErrorKind, Operation, Request, Result};

use crate::{
    client::Client,
    trouble::{Trouble, TroubleKind},
};

/// Something that an agent may do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capability {
    Streaming,
    PushNotifications,
    ExtendedCard,
}

impl Capability {
    const ALL: [Self; 3] = [Self::Streaming, Self::PushNotifications, Self::ExtendedCard];

    /// Whether a request makes no sense without it.
    fn is_needed_for(self, request: &Request) -> bool {
        use Operation as O;
        match (self, request) {
            (Self::PushNotifications, Request::SendMessage(send) | Request::StreamMessage(send)) => {
                send.configuration.push_config.is_some()
            }
            (Self::PushNotifications, _) => {
                matches!(request.operation(), O::CreatePushConfig | O::GetPushConfig | O::ListPushConfigs | O::DeletePushConfig)
            }
            (Self::Streaming, _) => request.operation().is_streaming(),
            (Self::ExtendedCard, _) => request.operation() == O::GetExtendedCard,
        }
    }

    /// What the card says about it.
    fn declared(self, card: &Card) -> Option<bool> {
        match self {
            Self::Streaming => card.capabilities.streaming,
            Self::PushNotifications => card.capabilities.push_notifications,
            Self::ExtendedCard => card.capabilities.extended_agent_card,
        }
    }

    /// What the agent would answer, and what to do instead.
    fn refusal(self, declared: Option<bool>) -> Error {
        let (kind, member, instead) = match self {
            Self::Streaming => (ErrorKind::UnsupportedOperation, "streaming", "send the message, and read its task until it ends"),
            Self::PushNotifications => {
                (ErrorKind::PushNotificationNotSupported, "pushNotifications", "read the task, or watch it, instead of a webhook")
            }
            Self::ExtendedCard => (ErrorKind::UnsupportedOperation, "extendedAgentCard", "the public card is all there is"),
        };
        let said = if declared.is_some() { "says" } else { "leaves out, which means" };
        let words = format!("the agent's card {said} {member}: false, so nothing was sent; {instead}");
        Error::new(kind, words).with("capability", member).caused_by(Trouble::new(TroubleKind::NotOffered))
    }
}

impl Client {
    /// Whether the card offers something; without a card nothing is known, and everything is tried.
    pub(crate) fn offers(&self, capability: Capability) -> bool {
        self.card().is_none_or(|card| capability.declared(&card) == Some(true))
    }

    /// Fails as the agent would, without a call, if the card does not offer what a request needs.
    pub(crate) fn demand_offered(&self, request: &Request) -> Result<()> {
        let Some(card) = self.card() else { return Ok(()) };
        let missing = Capability::ALL.into_iter().find(|one| one.is_needed_for(request) && one.declared(&card) != Some(true));
        missing.map_or(Ok(()), |one| Err(one.refusal(one.declared(&card))))
    }
}
