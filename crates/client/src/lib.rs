//! Calls A2A agents.
