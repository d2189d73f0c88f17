//! The agent that `a2a conformance` checks: found by its reference, with the credentials and certificates of the settings.

use chancery_check::{Error, Target};
use chancery_core::{
    Card,
    security::{ApiKeyLocation, SecurityScheme},
};

use crate::{
    card, connect,
    context::Context,
    trouble::{Trouble, with_cause},
};

/// The agent that the settings name.
pub(super) async fn target(context: &Context) -> Result<Target, Trouble> {
    let found = card::find(context).await?;
    let (settings, given) = (&context.settings, &context.settings.given);
    let http = chancery_net::Options::new().connect_timeout(settings.connect_timeout).no_timeout().tls(&connect::tls(context)?);
    let headers = headers(context, &found.card);
    let target = Target::new(found.card, found.body, found.url, connect::builder(context)?).http(http);
    let target = target.has_credentials(given.bearer.is_some() || given.api_key.is_some() || given.basic.is_some());
    let target = target.bindings(settings.transports.iter().copied());
    Ok(headers.into_iter().fold(target, |target, (name, value)| target.header(name, value)))
}

/// The headers that the user adds: parameters, and credentials where the card wants them in a header.
fn headers(context: &Context, card: &Card) -> Vec<(String, String)> {
    let settings = &context.settings;
    let mut headers: Vec<_> = settings.svc_params.iter().map(|(name, value)| (name.to_string(), value.expose().to_owned())).collect();
    if let Some(token) = &settings.given.bearer {
        headers.push(("authorization".to_owned(), format!("Bearer {}", token.expose())));
    }
    if let Some(key) = &settings.given.api_key {
        let scheme = card.security_schemes.values().find_map(|scheme| match scheme {
            SecurityScheme::ApiKey(scheme) if scheme.location == ApiKeyLocation::Header => Some(scheme.name.clone()),
            _ => None,
        });
        headers.push((scheme.unwrap_or_else(|| "x-api-key".to_owned()), key.expose().to_owned()));
    }
    headers
}

/// What keeps checks from being run, as the command line tells it.
pub(super) fn trouble(error: Error) -> Trouble {
    match error {
        Error::CardNotJson(_) => Trouble::card_invalid(error.to_string()),
        Error::Unreachable(_) => Trouble::unreachable(with_cause(&error)),
        Error::Http(_) | Error::Header => Trouble::usage(with_cause(&error)),
        Error::Client(error) => error.into(),
        other => Trouble::internal(with_cause(&other)),
    }
}
