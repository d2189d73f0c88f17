//! The JSON-RPC 2.0 envelope, the same for all versions.

use std::borrow::Cow;

use chancery_core::{Binding, Error, ErrorKind, Result, Version};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Dialect, json};

/// The dialect of a version over JSON-RPC. Every version has one.
#[must_use]
pub fn dialect(version: Version) -> Dialect {
    Dialect::of(version, Binding::JsonRpc).unwrap_or(Dialect::V1_0)
}

/// The id of a call, kept as the JSON text it came in, so that it goes back with the same type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id(String);

impl Id {
    /// The id of an answer to a call whose id could not be read.
    #[must_use]
    pub fn null() -> Self {
        Self("null".to_owned())
    }

    /// A string id.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(serde_json::Value::from(text).to_string())
    }

    /// A number id.
    #[must_use]
    pub fn number(number: i64) -> Self {
        Self(number.to_string())
    }

    /// The id as JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// Whether the id is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0 == "null"
    }

    /// Strings, integers and null; fractions, booleans and containers are no ids.
    fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let legal = match text.as_bytes().first()? {
            b'"' | b'n' => true,
            b'-' | b'0'..=b'9' => !text.contains(['.', 'e', 'E']),
            _ => false,
        };
        legal.then(|| Self(text.to_owned()))
    }
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The id; `None` when the member is absent, which JSON-RPC calls a notification.
    pub id: Option<Id>,
    /// The method name.
    pub method: Cow<'a, str>,
    params: Option<&'a [u8]>,
}

/// A call that could not be read, with the id under which to say so.
#[derive(Debug)]
pub struct InvalidCall {
    /// The call's id, or null when that could not be read either.
    pub id: Id,
    /// What is wrong.
    pub error: Error,
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A member that is there even when it is null.
fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Call<'a> {
    /// Reads a request body.
    ///
    /// # Errors
    /// [`ErrorKind::Parse`] when it is not JSON, [`ErrorKind::InvalidRequest`] when it is not one
    /// JSON-RPC 2.0 call. Batches are no part of A2A.
    pub fn parse(body: &'a [u8]) -> Result<Self, InvalidCall> {
        let members: Members<'a> = json::parse(body).map_err(|error| InvalidCall { id: Id::null(), error: envelope_error(error) })?;
        let refused = |id: Option<&Id>, what: &str| InvalidCall {
            id: id.cloned().unwrap_or_else(Id::null),
            error: Error::new(ErrorKind::InvalidRequest, ErrorKind::InvalidRequest.default_message()).violation("request", what),
        };
        let id = match members.id {
            Some(raw) => Some(Id::read(raw).ok_or_else(|| refused(None, "id must be a string, an integer or null"))?),
            None => None,
        };
        if members.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err(refused(id.as_ref(), "jsonrpc must be \"2.0\""));
        }
        let method = members.method.and_then(|raw| serde_json::from_str::<Text<'a>>(raw.get()).ok());
        let Some(Text(method)) = method else { return Err(refused(id.as_ref(), "method must be a string")) };
        let params = members.params.map(|raw| raw.get().as_bytes()).filter(|params| params != b"null");
        if params.is_some_and(|params| !params.starts_with(b"{")) {
            return Err(InvalidCall { id: id.unwrap_or_else(Id::null), error: Error::invalid_param("params", "must be an object") });
        }
        Ok(Self { id, method, params })
    }

    /// The parameters as JSON text; an empty object when there are none.
    #[must_use]
    pub fn params(&self) -> &'a [u8] {
        self.params.unwrap_or(b"{}")
    }

    /// The id under which to answer.
    #[must_use]
    pub fn answer_id(&self) -> Id {
        self.id.clone().unwrap_or_else(Id::null)
    }
}

/// A string, borrowed when it holds no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn envelope_error(error: serde_json::Error) -> Error {
    let kind = if error.is_data() { ErrorKind::InvalidRequest } else { ErrorKind::Parse };
    Error::from(kind).caused_by(error)
}

/// One answer, as a client reads it.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the call; `None` when the peer left it out.
    pub id: Option<Id>,
    /// The result, or the error object, as JSON text. A peer that sends neither means a result of
    /// null.
    pub outcome: std::result::Result<&'a [u8], &'a [u8]>,
}

impl<'a> Response<'a> {
    /// Reads a response body, or the data of one stream event.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidAgentResponse`] when it is no JSON-RPC response.
    pub fn parse(body: &'a [u8]) -> Result<Self> {
        let members: Outcome<'a> = json::parse(body)
            .map_err(|error| Error::new(ErrorKind::InvalidAgentResponse, "the answer is not a JSON-RPC response").caused_by(error))?;
        let outcome = match (members.error.filter(|raw| raw.get() != "null"), members.result) {
            (Some(error), _) => Err(error.get().as_bytes()),
            (None, Some(result)) => Ok(result.get().as_bytes()),
            (None, None) => Ok(&b"null"[..]),
        };
        Ok(Self { id: members.id.and_then(Id::read), outcome })
    }
}

/// Writes a call.
#[must_use]
pub fn call(id: &Id, method: &str, params: &[u8]) -> Vec<u8> {
    // Method names come from our table and need no escaping.
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.0.as_bytes(), b",\"method\":\"", method.as_bytes(), b"\",\"params\":", params, b"}"].concat()
}

/// Writes a successful answer whose result `write` puts behind what is in the buffer.
///
/// # Errors
/// Whatever `write` gives.
pub fn result_with<E>(id: &Id, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Vec<u8>, E> {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.0.as_bytes());
    out.extend_from_slice(b",\"result\":");
    write(&mut out)?;
    out.push(b'}');
    Ok(out)
}

/// Writes a failed answer around an error object that is JSON text already.
#[must_use]
pub fn error(id: &Id, error: &[u8]) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.0.as_bytes(), b",\"error\":", error, b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refusal(body: &str) -> (ErrorKind, String) {
        let refused = Call::parse(body.as_bytes()).unwrap_err();
        (refused.error.kind(), refused.id.0)
    }

    /// V10-RPC-001.
    #[test]
    fn a_call_is_read_whatever_the_order_of_its_members() {
        let call = Call::parse(br#"{"params":{"id":"t"},"method":"Get\u0054ask","id":7,"jsonrpc":"2.0","extra":[1]}"#).unwrap();
        assert_eq!((call.method.as_ref(), call.params(), call.answer_id()), ("GetTask", &br#"{"id":"t"}"#[..], Id::number(7)));
    }

    #[test]
    fn a_call_is_found_however_it_is_written() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":3}}"#,
            "{\"params\" : {\"id\":3},\n\t\"method\":\"\\u006d\", \"jsonrpc\": \"2.0\" ,\"id\" : 1 \r\n} \n",
            r#"{"jsonrpc":"2.0","params":{"id":3},"more":{"params":"}"},"method":"m","id":1}"#,
        ] {
            let call = Call::parse(body.as_bytes()).unwrap();
            assert_eq!((call.answer_id().as_json(), &*call.method, call.params()), ("1", "m", &br#"{"id":3}"#[..]), "{body}");
        }
    }

    #[test]
    fn ids_come_back_with_their_type() {
        for id in ["\"a\\\"b\"", "17", "-1", "null"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            let call = Call::parse(body.as_bytes()).unwrap();
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#).into_bytes();
            let written = result_with(&call.answer_id(), |out| {
                out.push(b'1');
                Ok::<(), Error>(())
            });
            assert_eq!(written.unwrap(), expected);
        }
    }

    #[test]
    fn what_is_no_call_is_refused_with_the_id_if_that_was_readable() {
        use ErrorKind::{InvalidParams, InvalidRequest, Parse};
        for (body, expected) in [
            ("{\"jsonrpc\":\"2.0\",", (Parse, "null")),
            ("", (Parse, "null")),
            ("[]", (InvalidRequest, "null")),
            ("7", (InvalidRequest, "null")),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, (InvalidRequest, "null")),
            (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, (InvalidRequest, "null")),
            (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, (InvalidRequest, "1")),
            (r#"{"id":"x","method":"m"}"#, (InvalidRequest, "\"x\"")),
            (r#"{"jsonrpc":"2.0","id":1}"#, (InvalidRequest, "1")),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, (InvalidRequest, "1")),
            (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, (InvalidParams, "1")),
        ] {
            assert_eq!(refusal(body), (expected.0, expected.1.to_owned()), "{body}");
        }
    }

    #[test]
    fn an_answer_without_result_and_error_means_null() {
        let response = Response::parse(br#"{"id":"k9","jsonrpc":"2.0"}"#).unwrap();
        assert_eq!(response.outcome, Ok(&b"null"[..]));
    }
}
