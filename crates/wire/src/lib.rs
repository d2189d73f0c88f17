//! The dialects.
