//! Which web pages may talk to the agents from a browser. Cards are for all of them; calls only for
//! those that were named, or any page that a user visits could use an agent on the user's machine.

use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ORIGIN, VARY,
    },
};

use crate::body::Body;

/// The pages that may call, by their origin such as `https://console.example`; `*` for all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cors(pub(crate) Vec<String>);

impl Cors {
    /// The origin that an answer names, if the page may read it.
    fn origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        let named = |known: &String| known == "*" || known.as_bytes() == origin.as_bytes();
        self.0.iter().any(named).then(|| origin.clone())
    }

    /// Lets the page read an answer.
    pub(crate) fn allow(&self, headers: &HeaderMap, answer: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        answer.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = self.origin(headers) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            let exposed = "A2A-Extensions, X-A2A-Extensions, ETag, Retry-After, WWW-Authenticate";
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
        }
    }

    /// Tells a browser what it may ask.
    pub(crate) fn preflight(&self, headers: &HeaderMap, card: bool) -> Response<Body> {
        let mut response = Response::new(Body::bytes(""));
        *response.status_mut() = StatusCode::NO_CONTENT;
        let origin = if card && self.0.is_empty() { Some(HeaderValue::from_static("*")) } else { self.origin(headers) };
        let answer = response.headers_mut();
        answer.insert(VARY, HeaderValue::from_static("Origin, Access-Control-Request-Headers"));
        if let Some(origin) = origin {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            answer.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
            answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
            if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
                answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
            }
        }
        response
    }
}
