//! What a receiver's answer means.

use std::time::Duration;

use chancery_core::Timestamp;
use chancery_engine::push::Sent;
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};

use super::Failure;

/// 2xx takes the notification, 410 ends the webhook, everything else is a failure; so is a redirect, which
/// would lead past the URL that the client registered.
pub(super) fn read(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Sent {
    match status {
        status if status.is_success() => Sent::Accepted,
        StatusCode::GONE => Sent::Gone,
        status => {
            let after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            Sent::Failed { error: Failure::Status(status).into(), after: after.and_then(|text| retry_after(text, now)) }
        }
    }
}

/// How long `Retry-After` asks to wait: a number of seconds, or a date.
fn retry_after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is a very long time; the outbox has its own limit.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let wait = http_date(text)?.unix_millis().saturating_sub(now.unix_millis());
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

/// A date as HTTP writes it today: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if words.next() != Some("GMT") || words.next().is_some() {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}Z")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, seconds: Option<u64>) {
        let now = Timestamp::parse("1994-11-06T08:49:07Z").unwrap();
        assert_eq!(retry_after(text, now), seconds.map(Duration::from_secs), "{text:?}");
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        check("0", Some(0));
        check("120", Some(120));
        check(" 7 ", Some(7));
        check("99999999999999999999999", Some(u64::MAX));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(30));
        check("Mon, 07 Nov 1994 08:49:07 GMT", Some(86_400));
        check("Sat, 05 Nov 1994 08:49:37 GMT", Some(0));
    }

    #[test]
    fn anything_else_in_retry_after_asks_for_nothing() {
        for text in
            ["", "-1", "1.5", "soon", "+3", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Feb 1994 08:49:37 GMT"]
        {
            check(text, None);
        }
    }
}
