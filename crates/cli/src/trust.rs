//! Whose signatures count: the keys and certificates that the user has put aside, then those that a signature points to.
//!
//! ```text
//! ~/.config/a2a-cli/trust/HOST[_PORT].json   keys of the agents at this host, as a JWK set
//! ~/.config/a2a-cli/trust/roots.pem          certificates that chains may end in
//! ```

use chancery_client::{
    Client, SignedCards,
    seal::{self, JwkSet, Policy, Roots},
};

use crate::{
    card::Found,
    context::{Context, read},
    print::card::Verdict,
    reference,
    trouble::{Trouble, with_cause},
};

/// The certificates that chains may end in.
const ROOTS: &str = "roots.pem";

/// Which signatures count for a card from this address.
pub(crate) fn policy(context: &Context, url: Option<&str>) -> Result<Policy, Trouble> {
    let mut policy = Policy::default();
    policy.well_known = true;
    let Some(folder) = context.settings.layers.around.settings.as_ref().map(|folder| folder.join("trust")) else { return Ok(policy) };
    let wrong = |file: &std::path::Path, error: &dyn std::error::Error| {
        Trouble::own("SIGNATURE", format!("{} cannot be used: {}", file.display(), with_cause(error)))
    };
    if let Some(host) = url.and_then(reference::host) {
        let file = folder.join(format!("{}.json", host.replace(':', "_")));
        if file.is_file() {
            policy.keys = JwkSet::parse(&read(&file, "trust")?).map_err(|error| wrong(&file, &error))?;
        }
    }
    let file = folder.join(ROOTS);
    if file.is_file() {
        policy.roots = Roots::from_pem(&read(&file, "trust")?).map_err(|error| wrong(&file, &error))?;
    }
    Ok(policy)
}

/// What is done about signatures.
pub(crate) fn mode(context: &Context) -> SignedCards {
    if context.settings.require_signature { SignedCards::Require } else { SignedCards::Report }
}

/// Warns of a card with signatures of which none is good. Whoever demands one has been refused before.
pub(crate) fn warn(context: &Context, client: &Client) {
    if let Some(report) = client.card_report().filter(|report| !report.result.is_good() && report.result != seal::Verdict::Unsigned) {
        context.notes.warning(&format!("the signature of the card is {}", Verdict::of(&report)));
    }
}

/// A card as far as it can be trusted: refused, if a signature is demanded and none is good; and only what a good one covers.
pub(crate) async fn checked(context: &Context, found: Found) -> Result<Found, Trouble> {
    if found.card.signatures.is_empty() && !context.settings.require_signature {
        return Ok(found);
    }
    let builder = crate::connect::builder(context)?.trust(policy(context, found.url.as_deref())?);
    let verified = builder.verify_card(&found.body, found.url.as_deref()).await?;
    let verdict = Verdict::of(&verified.report);
    let Some(covered) = verified.covered else {
        if context.settings.require_signature {
            return Err(refused(context, &verdict));
        }
        if verdict != Verdict::Absent {
            context.notes.warning(&format!("the signature of the card is {verdict}"));
        }
        return Ok(found);
    };
    let body = covered.to_string();
    let card = chancery_wire::card::read(body.as_bytes()).map_err(|error| Trouble::card_invalid(with_cause(&error)))?;
    Ok(Found { card, body: body.into(), ..found })
}

/// A signature is demanded, and this is what there is.
pub(crate) fn refused(context: &Context, verdict: &Verdict) -> Trouble {
    let hint = format!("a2a card verify{}", crate::resume::same(&context.settings));
    Trouble::own("SIGNATURE", format!("the signature of the card is {verdict}")).hint(hint)
}
