use std::pin::Pin;

/// Makes a future that is seldom needed. It is in a box, so that whoever awaits it has no room for it, and the
/// compiler lays the way there apart from what happens often: what lies together is fetched together.
#[cold]
#[inline(never)]
pub fn aside<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
