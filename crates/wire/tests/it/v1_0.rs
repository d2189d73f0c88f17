//! v1.0 over JSON-RPC and HTTP+JSON.
