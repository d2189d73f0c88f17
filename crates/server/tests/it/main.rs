//! The doors, through real sockets.

mod grpc;
