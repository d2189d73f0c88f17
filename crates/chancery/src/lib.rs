//! Write and serve A2A agents.
