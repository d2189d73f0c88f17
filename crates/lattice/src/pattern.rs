//! What one element of a scope stands for: a name or all names that begin alike, an origin or all below a
//! domain, a media type or a whole family. Two patterns either exclude each other, or one covers the other;
//! so a meet is exact, and a set of them has one shortest form.

use std::{collections::BTreeSet, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use url::Url;

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {what}")]
pub struct PatternError {
    text: String,
    what: &'static str,
}

fn wrong<T>(text: &str, what: &'static str) -> Result<T, PatternError> {
    Err(PatternError { text: text.to_owned(), what })
}

/// One element of a dimension.
pub trait Pattern: Clone + Ord + fmt::Debug + fmt::Display + FromStr<Err = PatternError> {
    /// What both stand for; `None` for nothing.
    fn meet(&self, other: &Self) -> Option<Self>;

    /// Whether everything that the other stands for is in this one.
    fn covers(&self, other: &Self) -> bool {
        self.meet(other).as_ref() == Some(other)
    }
}

/// A name as it is, or all names that begin alike (LA-2).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// This name.
    Exact(String),
    /// `invoice.*`; all names when empty.
    Prefix(String),
}

impl FromStr for Name {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        match text.strip_suffix('*') {
            _ if text.is_empty() => wrong(text, "is no name"),
            Some(prefix) if !prefix.contains('*') => Ok(Self::Prefix(prefix.to_owned())),
            None if !text.contains('*') => Ok(Self::Exact(text.to_owned())),
            _ => wrong(text, "has a * that is not at its end"),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => f.write_str(name),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
        }
    }
}

impl Pattern for Name {
    fn meet(&self, other: &Self) -> Option<Self> {
        let narrower = match (self, other) {
            (Self::Exact(a), Self::Exact(b)) => (a == b).then_some(self),
            (Self::Exact(exact), Self::Prefix(prefix)) => exact.starts_with(prefix.as_str()).then_some(self),
            (Self::Prefix(prefix), Self::Exact(exact)) => exact.starts_with(prefix.as_str()).then_some(other),
            (Self::Prefix(a), Self::Prefix(b)) if a.starts_with(b.as_str()) => Some(self),
            (Self::Prefix(a), Self::Prefix(b)) => b.starts_with(a.as_str()).then_some(other),
        };
        narrower.cloned()
    }
}

/// An origin, or all origins below a domain (LA-3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audience {
    /// Every origin.
    Any,
    /// This origin.
    Exact(Origin),
    /// `https://*.example.com`: one or more labels below the domain, not the domain itself.
    Below(Origin),
}

/// `scheme://host[:port]`, in lower case, without a port that goes without saying.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

impl FromStr for Origin {
    type Err = PatternError;

    /// Reads the origin of any URL.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let Ok(url) = Url::parse(text) else { return wrong(text, "is no URL") };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else { return wrong(text, "has no host") };
        Ok(Self { scheme: url.scheme().to_owned(), host: host.to_ascii_lowercase(), port: url.port() })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl Origin {
    fn is_below(&self, domain: &Self) -> bool {
        let sub = self.host.strip_suffix(domain.host.as_str()).and_then(|rest| rest.strip_suffix('.'));
        self.scheme == domain.scheme && self.port == domain.port && sub.is_some_and(|labels| !labels.is_empty())
    }
}

impl FromStr for Audience {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let (pattern, wild) = match text.split_once("://*.") {
            Some((scheme, domain)) => (format!("{scheme}://{domain}"), true),
            None => (text.to_owned(), false),
        };
        if pattern.contains('*') {
            return wrong(text, "has a * that is not its first label");
        }
        let origin: Origin = pattern.parse()?;
        if Url::parse(&pattern).is_ok_and(|url| !matches!(url.path(), "" | "/") || url.query().is_some() || !url.username().is_empty()) {
            return wrong(text, "is more than an origin");
        }
        Ok(if wild { Self::Below(origin) } else { Self::Exact(origin) })
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Exact(origin) => origin.fmt(f),
            Self::Below(domain) => {
                write!(f, "{}://*.{}", domain.scheme, domain.host)?;
                domain.port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

impl Pattern for Audience {
    fn meet(&self, other: &Self) -> Option<Self> {
        let narrower = match (self, other) {
            (Self::Any, narrower) | (narrower, Self::Any) => Some(narrower),
            (Self::Exact(a), Self::Exact(b)) => (a == b).then_some(self),
            (Self::Exact(origin), Self::Below(domain)) => origin.is_below(domain).then_some(self),
            (Self::Below(domain), Self::Exact(origin)) => origin.is_below(domain).then_some(other),
            (Self::Below(a), Self::Below(b)) if a == b || a.is_below(b) => Some(self),
            (Self::Below(a), Self::Below(b)) => b.is_below(a).then_some(other),
        };
        narrower.cloned()
    }
}

/// A media type, or a family of them (LA-4).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// `*/*`
    Any,
    /// `text/*`
    Family(String),
    /// `text/plain`
    Exact(String, String),
}

impl FromStr for Mode {
    type Err = PatternError;

    /// Parameters are ignored.
    fn from_str(text: &str) -> Result<Self, PatternError> {
        let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.split_once('/') {
            Some(("*", "*")) => Ok(Self::Any),
            Some((family, kind)) if family.is_empty() || kind.is_empty() || family.contains('*') => wrong(text, "is no media type"),
            Some((family, "*")) => Ok(Self::Family(family.to_owned())),
            Some((family, kind)) if !kind.contains('*') => Ok(Self::Exact(family.to_owned(), kind.to_owned())),
            _ => wrong(text, "is no media type"),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*/*"),
            Self::Family(family) => write!(f, "{family}/*"),
            Self::Exact(family, kind) => write!(f, "{family}/{kind}"),
        }
    }
}

impl Pattern for Mode {
    fn meet(&self, other: &Self) -> Option<Self> {
        let narrower = match (self, other) {
            (Self::Any, narrower) | (narrower, Self::Any) => Some(narrower),
            (Self::Family(a), Self::Family(b)) => (a == b).then_some(self),
            (Self::Exact(family, _), Self::Family(other)) => (family == other).then_some(self),
            (Self::Family(family), Self::Exact(exact, _)) => (family == exact).then_some(other),
            (Self::Exact(..), Self::Exact(..)) => (self == other).then_some(self),
        };
        narrower.cloned()
    }
}

/// A set of patterns in its shortest form: none covers another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Patterns<P>(BTreeSet<P>);

impl<P: Pattern> Patterns<P> {
    /// No pattern at all: nothing is allowed.
    #[must_use]
    pub const fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// What both stand for: all pairwise meets.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        self.0.iter().flat_map(|own| other.0.iter().filter_map(|other| own.meet(other))).collect()
    }

    /// What either stands for.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).cloned().collect()
    }

    /// Whether all that a pattern stands for is in here.
    #[must_use]
    pub fn covers(&self, pattern: &P) -> bool {
        self.0.iter().any(|own| own.covers(pattern))
    }

    /// Whether a text is in here, such as the name of a skill; what is no pattern is nowhere.
    #[must_use]
    pub fn allows(&self, text: &str) -> bool {
        text.parse().is_ok_and(|pattern| self.covers(&pattern))
    }

    /// Whether nothing is in here.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patterns, in order.
    pub fn iter(&self) -> impl Iterator<Item = &P> {
        self.0.iter()
    }
}

impl<P: Pattern> Default for Patterns<P> {
    fn default() -> Self {
        Self::none()
    }
}

impl<P: Pattern> FromIterator<P> for Patterns<P> {
    /// Leaves out what another pattern covers.
    fn from_iter<I: IntoIterator<Item = P>>(patterns: I) -> Self {
        let all: BTreeSet<P> = patterns.into_iter().collect();
        let shortest = all.iter().filter(|one| !all.iter().any(|other| other != *one && other.covers(one))).cloned().collect();
        Self(shortest)
    }
}

impl<P: Pattern> Serialize for Patterns<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

impl<'de, P: Pattern> Deserialize<'de> for Patterns<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One<P>(P);
        impl<'de, P: Pattern> Deserialize<'de> for One<P> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                text.parse().map(Self).map_err(D::Error::custom)
            }
        }
        Ok(Vec::<One<P>>::deserialize(deserializer)?.into_iter().map(|one| one.0).collect())
    }
}
