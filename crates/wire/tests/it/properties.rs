//! For every dialect: what it can carry comes back as it was.
