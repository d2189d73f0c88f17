//! The binary, as its users run it: real processes, which are really killed.

mod process;
mod resume;
mod voice;
