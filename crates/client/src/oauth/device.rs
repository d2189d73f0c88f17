//! The device flow (RFC 8628): a person confirms a code elsewhere, and we ask until it is done.

use std::time::Duration;

use chancery_core::Result;
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    Prompt, Show,
    form::{Answer, Applicant, Given, IssuerClient, unusable},
    issuer::{Issuer, refused},
};
use crate::trouble::{Trouble, TroubleKind};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// How long to wait between two questions when the issuer does not say, and how much longer when it wants that.
const STEP: Duration = Duration::from_secs(5);
/// How long a code may be good for.
const LONGEST: u64 = 24 * 3_600;

/// What a person is to be shown.
#[derive(Debug, Deserialize)]
struct Begun {
    device_code: chancery_core::Secret,
    user_code: String,
    #[serde(alias = "verification_url")]
    verification_uri: String,
    #[serde(default)]
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

/// Shows a person a code, and waits until it is confirmed.
pub(super) async fn run(
    issuer_client: &IssuerClient,
    issuer: &Issuer,
    applicant: &Applicant,
    scope: &str,
    show: Show<'_>,
) -> Result<Given> {
    let url = issuer.device.as_deref().ok_or_else(|| refused("the issuer has no device flow"))?;
    let begun: Begun = issuer_client.other(url, issuer, applicant, &[("scope", scope)]).await?;
    let lasts = Duration::from_secs(begun.expires_in.min(LONGEST));
    let end = Instant::now() + lasts;
    for url in [Some(&begun.verification_uri), begun.verification_uri_complete.as_ref()].into_iter().flatten() {
        // A browser is sent there.
        let good = url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"));
        if !good {
            return Err(unusable("the issuer names a page that no browser can show"));
        }
    }
    show(&Prompt::Confirm {
        url: &begun.verification_uri,
        code: &begun.user_code,
        complete: begun.verification_uri_complete.as_deref(),
        lasts,
    });
    let mut pause = begun.interval.map_or(STEP, |seconds| Duration::from_secs(seconds.clamp(1, 3_600)));
    loop {
        tokio::time::sleep_until(end.min(Instant::now() + pause)).await;
        if Instant::now() >= end {
            return Err(refused("nobody confirmed the code in time").caused_by(Trouble::new(TroubleKind::Refused)));
        }
        let form = [("grant_type", GRANT), ("device_code", begun.device_code.expose())];
        match issuer_client.token(&issuer.token, issuer, applicant, &form).await {
            Ok(Answer::Given(given)) => return Ok(given),
            Ok(Answer::Refused(refusal)) => match refusal.word() {
                "authorization_pending" => {}
                "slow_down" => pause += STEP,
                _ => return Err(refusal.error()),
            },
            // The line may come back before the code has run out (RFC 8628 section 3.5).
            Err(error) if crate::failure::is_transient(&error) => {
                tracing::debug!(%error, "the issuer could not be asked");
                pause = (pause * 2).min(Duration::from_secs(60));
            }
            Err(error) => return Err(error),
        }
    }
}
