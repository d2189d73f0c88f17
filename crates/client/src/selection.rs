//! Which interfaces of a card can be used, and what to say when none can.

use chancery_core::{Binding, Card, Error, ErrorKind, Interface, Result, Version};
use chancery_wire::pick::{self, Choice, Speaks};

use crate::{
    builder::Settings,
    trouble::{Trouble, TroubleKind},
};

/// The ways to talk to the agent of a card that was read before, best first.
pub(crate) fn choices_of(card: &Card, settings: &Settings) -> Vec<Choice> {
    choices(settings, |speaks| Ok(pick::candidates_of(card, speaks))).unwrap_or_default()
}

/// Why nothing of a card can be used: what it offers, what is spoken here, and what to do about it.
pub(crate) fn nothing_spoken(card: &Card, settings: &Settings) -> Error {
    let all = Settings::default();
    let list = |words: Vec<String>| words.join(", ");
    let interfaces = &card.supported_interfaces;
    let offered = list(interfaces.iter().map(|one| format!("{} {}", one.protocol_binding, one.protocol_version)).collect());
    let versions = if settings.versions.is_empty() { &Version::RELEASED[..] } else { &settings.versions };
    let versions = list(versions.iter().map(ToString::to_string).collect());
    let bindings = list(settings.bindings.iter().map(ToString::to_string).collect());
    let knows = |one: &Interface| Binding::from_name(&one.protocol_binding).is_some_and(|binding| all.bindings.contains(&binding));
    let allowed = choices_of(card, &all).into_iter().next();
    let (kind, remedy) = match allowed {
        _ if interfaces.is_empty() => {
            (ErrorKind::InvalidAgentResponse, "a card must name at least one: tell whoever runs the agent".to_owned())
        }
        Some(choice) => {
            let known = settings.allows(choice.version);
            let kind = if known { ErrorKind::UnsupportedOperation } else { ErrorKind::VersionNotSupported };
            (kind, format!("this client could speak {} {}, if it were allowed to", choice.binding, choice.version))
        }
        None if interfaces.iter().any(knows) => (
            ErrorKind::VersionNotSupported,
            "use a client that speaks one of its versions, or ask for an interface of one of ours".to_owned(),
        ),
        None => (
            ErrorKind::UnsupportedOperation,
            "use a client that speaks one of its bindings, or ask for an interface with one of ours".to_owned(),
        ),
    };
    let offered = if offered.is_empty() { "nothing at all".to_owned() } else { offered };
    let words = format!("the agent's card offers {offered}; this client speaks {versions} over {bindings}; {remedy}");
    Error::new(kind, words).caused_by(Trouble::new(TroubleKind::NoInterface))
}

/// The ways that the settings allow, best first.
pub(crate) fn choices(settings: &Settings, candidates: impl Fn(&Speaks) -> Result<Vec<Choice>>) -> Result<Vec<Choice>> {
    let speaks = Speaks::new(settings.bindings.iter().copied());
    let speaks = if settings.own_order { speaks.in_own_order() } else { speaks };
    match settings.versions.as_slice() {
        [] => candidates(&speaks),
        wanted => {
            let each: Result<Vec<_>> = wanted.iter().map(|version: &Version| candidates(&speaks.clone().only(*version))).collect();
            Ok(each?.concat())
        }
    }
}
