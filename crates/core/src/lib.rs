//! The canonical model.
