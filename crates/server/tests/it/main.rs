//! The doors, through real sockets.
