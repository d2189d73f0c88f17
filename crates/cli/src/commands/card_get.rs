//! `a2a card get`: the card, as it was received.

use chancery_core::{GetExtendedCard, Operations as _};
use serde_json::value::RawValue;

use super::card_sign;
use crate::{
    args::CardGet,
    card::{self, Found},
    connect::{self, Capability},
    context::Context,
    print::card::{Verdict, card as print},
    resume,
    trouble::Trouble,
    trust,
};

pub(crate) async fn run(context: &Context, args: &CardGet) -> Result<(), Trouble> {
    let named = args.reference.as_deref().map(|reference| context.with_agent(reference)).transpose()?;
    let context = named.as_ref().unwrap_or(context);
    let found = if args.extended { extended(context).await? } else { card::find(context).await? };
    let verdict = verdict(context, args, &found).await?;
    if args.validate {
        validate(&found)?;
    }
    if context.settings.require_signature && verdict != Verdict::Verified {
        return Err(trust::refused(context, &verdict));
    }
    if context.printer.is_json() {
        context.notes.say(&format!("Signature: {verdict}"));
        return context.printer.document(&raw(&found)?);
    }
    context.printer.result(&(), |text| print(text, &found.card, &verdict))
}

/// What the signatures of the card say.
async fn verdict(context: &Context, args: &CardGet, found: &Found) -> Result<Verdict, Trouble> {
    if args.no_verify {
        return Ok(Verdict::unchecked(&found.card, "not checked"));
    }
    if found.card.signatures.is_empty() {
        return Ok(Verdict::Absent);
    }
    let report = card_sign::report(context, trust::policy(context, found.url.as_deref())?, found).await?;
    Ok(Verdict::of(&report))
}

/// The card for authenticated callers; it is never kept.
async fn extended(context: &Context) -> Result<Found, Trouble> {
    let agent = connect::agent(context).await?;
    agent.require(Capability::ExtendedCard, || format!("a2a card get{}", resume::same(&context.settings)))?;
    let asked = agent.client.get_extended_card(&agent.caller(context), GetExtendedCard::default()).await;
    let card = asked.map_err(|error| agent.trouble(context, error))?;
    let body = serde_json::to_vec(&card).map_err(|error| Trouble::internal(format!("the card is no JSON: {error}")))?;
    Ok(Found { card, body: body.into(), origin: "the extended card".to_owned(), url: agent.card_url })
}

/// The card as it was received, re-indented but not re-read: members that we do not know stay.
fn raw(found: &Found) -> Result<serde_json::Value, Trouble> {
    let wrong = |error| Trouble::card_invalid(format!("{} is no JSON: {error}", found.origin));
    let raw: &RawValue = serde_json::from_slice(&found.body).map_err(wrong)?;
    serde_json::from_str(raw.get()).map_err(wrong)
}

/// Checks the card against the rules of the protocol; every violation is a line on stderr.
fn validate(found: &Found) -> Result<(), Trouble> {
    let findings = chancery_check::card(&found.body).findings;
    if findings.is_empty() { Ok(()) } else { Err(Trouble::card_findings(&found.origin, &findings)) }
}
