//! Who may use which skill of a card.
//!
//! A skill's requirements on the card are what is enforced, whether they were made from [`Auth::scopes_for_skill`] or stood there
//! before.

use std::collections::BTreeSet;

use chancery_core::{Caller, Card, Error, Message, Request, Result, SecurityRequirement, Skill, TransferContext, extension};
use serde_json::Value;

use super::{Auth, Denial, Kind};

impl Auth {
    /// Writes into a card what its skills need: each alternative of the whole agent, with more scopes.
    pub(super) fn describe_skills(&self, alternatives: &[SecurityRequirement], card: &mut Card) {
        for skill in &mut card.skills {
            if let Some(scopes) = self.skills.get(&skill.id).filter(|scopes| !scopes.is_empty()) {
                skill.security_requirements = alternatives.iter().map(|requirement| self.with_scopes(requirement, scopes)).collect();
            }
        }
    }

    /// The same requirement, of which one scheme has to grant more. Of several together that is the first with tokens, for they
    /// are what scopes are asked for with; the scopes of all of them count.
    fn with_scopes(&self, requirement: &SecurityRequirement, scopes: &BTreeSet<String>) -> SecurityRequirement {
        let mut requirement = requirement.clone();
        let tokens = |(_, name, scheme): &(usize, &str, &super::Scheme)| {
            matches!(scheme.kind, Kind::Bearer | Kind::Jwt(_) | Kind::ScopeToken(_)).then(|| (*name).to_owned())
        };
        let first = self.schemes_of(&requirement).next().map(|(_, name, _)| name.to_owned());
        let name = self.schemes_of(&requirement).find_map(|scheme| tokens(&scheme)).or(first);
        if let Some(granted) = name.and_then(|name| requirement.schemes.get_mut(&name)) {
            let more: Vec<_> = scopes.iter().filter(|scope| !granted.contains(scope)).cloned().collect();
            granted.extend(more);
        }
        requirement
    }

    /// Checks that what a card demands for its skills can be met here.
    ///
    /// # Errors
    /// A skill asks for a scheme that is not there.
    pub(crate) fn check_skills(&self, card: &Card) -> Result<()> {
        for skill in &card.skills {
            let mut names = skill.security_requirements.iter().flat_map(|requirement| requirement.schemes.keys());
            if let Some(strange) = names.find(|name| !self.schemes.iter().any(|(known, _)| known == *name)) {
                return Err(Error::internal(format!("auth: the skill {:?} asks for a scheme {strange:?}, and there is none", skill.id)));
            }
        }
        Ok(())
    }

    /// Checks that every skill that scopes are demanded for is on one of these cards: a skill that is misspelled would be open.
    ///
    /// # Errors
    /// The first that is not.
    pub(crate) fn find_skills<'a>(&self, cards: impl Iterator<Item = &'a Card> + Clone) -> Result<()> {
        let known = |id: &String| cards.clone().flat_map(|card| &card.skills).any(|skill| skill.id == *id);
        match self.skills.keys().find(|id| !known(id)) {
            Some(strange) => Err(Error::internal(format!("auth: no card has a skill {strange:?}"))),
            None => Ok(()),
        }
    }

    /// Whether a caller may use the skills that its request names and, since most requests name none, any skill of the card at all.
    pub(crate) fn allow_skills(&self, realm: &str, caller: &Caller, card: &Card, request: &Request) -> Result<(), Denial> {
        // Most cards demand nothing for their skills.
        if card.skills.iter().all(|skill| skill.security_requirements.is_empty()) {
            return Ok(());
        }
        let named = named(request);
        let refused = |skill: &&Skill| named.contains(&skill.id) && !caller.may_use(skill);
        if let Some(skill) = card.skills.iter().find(refused) {
            return Err(self.lacking(realm, &missing(caller, skill)));
        }
        if card.skills.iter().any(|skill| caller.may_use(skill)) {
            return Ok(());
        }
        let least = card.skills.iter().map(|skill| missing(caller, skill)).min_by_key(BTreeSet::len);
        Err(self.lacking(realm, &least.unwrap_or_default()))
    }
}

/// Takes out of a card the skills that a caller may not use.
pub(crate) fn shown_to(caller: &Caller, card: &mut Card) {
    card.skills.retain(|skill| caller.may_use(skill));
}

/// The scopes that a caller lacks for a skill, by the requirement that lacks the fewest.
fn missing(caller: &Caller, skill: &Skill) -> BTreeSet<String> {
    let scopes = |requirement: &SecurityRequirement| -> BTreeSet<String> {
        requirement.schemes.values().flatten().filter(|scope| !caller.identity().scopes.contains(*scope)).cloned().collect()
    };
    skill.security_requirements.iter().map(scopes).min_by_key(BTreeSet::len).unwrap_or_default()
}

/// The skills that a request is about, as agents that pass work on say it (DE-2, HO-2). There is no other way to name one.
fn named(request: &Request) -> Vec<String> {
    let (Request::SendMessage(send) | Request::StreamMessage(send)) = request else { return Vec::new() };
    let message: &Message = &send.message;
    if message.metadata.is_empty() {
        return Vec::new();
    }
    let asked = message.metadata.get(extension::DELEGATION).and_then(|about| about.get("skill")).and_then(Value::as_str);
    // What cannot be read is refused by whoever takes the handoff.
    let required = TransferContext::of(message).ok().flatten().map(|context| context.requires).unwrap_or_default();
    asked.map(str::to_owned).into_iter().chain(required).collect()
}
