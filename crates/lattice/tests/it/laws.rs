//! The laws of the lattice, over scopes of every shape. The same number makes the same scope.

use std::{collections::BTreeMap, sync::LazyLock};

use chancery_core::Timestamp;
use chancery_lattice::{Audience, Mode, Name, Pattern, Patterns, Scope};

const CASES: u64 = 100_000;

struct Generator(u64);

impl Generator {
    /// SplitMix64.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }

    fn some<P: Pattern>(&mut self, patterns: &[P]) -> Option<Patterns<P>> {
        if self.below(4) == 0 {
            return None;
        }
        Some((0..self.below(4)).map(|_| patterns[self.below(patterns.len())].clone()).collect())
    }

    fn scope(&mut self) -> Scope {
        let mut scope = Scope::top();
        let Words { names, audiences, modes } = &*WORDS;
        scope.skills = self.some(names);
        scope.scopes = self.some(names);
        scope.audiences = self.some(audiences);
        scope.input_modes = self.some(modes);
        scope.output_modes = self.some(modes);
        scope.budget = (self.below(2) == 0).then(|| {
            let currency = |make: &mut Self| (make.pick(&["EUR", "USD", "JPY"]).to_owned(), make.bits() % 100);
            (0..self.below(3)).map(|_| currency(self)).collect::<BTreeMap<_, _>>()
        });
        scope.hops = (self.below(2) == 0).then(|| u32::try_from(self.below(5)).unwrap());
        scope.not_after = (self.below(2) == 0).then(|| Timestamp::from_unix(i64::try_from(self.below(5)).unwrap(), 0).unwrap());
        scope
    }
}

/// What scopes are made of.
struct Words {
    names: Vec<Name>,
    audiences: Vec<Audience>,
    modes: Vec<Mode>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| Words {
    names: NAMES.iter().map(|text| text.parse().unwrap()).collect(),
    audiences: AUDIENCES.iter().map(|text| text.parse().unwrap()).collect(),
    modes: MODES.iter().map(|text| text.parse().unwrap()).collect(),
});

const NAMES: &[&str] = &["*", "a", "ab", "abc", "b", "a*", "ab*", "abc*", "b*", "b.c", "b.*", "b.c*", "c"];
const AUDIENCES: &[&str] = &[
    "*",
    "https://a.example",
    "https://b.a.example",
    "https://c.b.a.example",
    "https://*.a.example",
    "https://*.b.a.example",
    "http://a.example",
    "https://a.example:8443",
    "https://*.a.example:8443",
    "https://xa.example",
    "https://*.example",
];
const MODES: &[&str] = &["*/*", "text/*", "text/plain", "text/csv", "application/*", "application/json", "image/png"];

/// LA-7, LA-8
#[test]
fn the_meet_of_scopes_is_that_of_a_lattice() {
    for case in 0..CASES {
        let mut make = Generator(case);
        let (a, b, c) = (make.scope(), make.scope(), make.scope());
        let both = a.meet(&b);
        assert_eq!(a.meet(&a), a, "idempotent, case {case}");
        assert_eq!(both, b.meet(&a), "commutative, case {case}");
        assert_eq!(both.meet(&c), a.meet(&b.meet(&c)), "associative, case {case}");
        assert!(both.is_within(&a) && both.is_within(&b), "below both, case {case}");
        assert_eq!(a.meet(&Scope::top()), a, "the top is neutral, case {case}");
        assert_eq!(a.meet(&Scope::bottom()), Scope::bottom(), "the bottom takes all, case {case}");
        if a.is_within(&b) && b.is_within(&c) {
            assert!(a.is_within(&c), "transitive, case {case}");
        }
        // A chain on purpose, because one by chance is rare.
        let chain = both.meet(&c);
        assert!(chain.is_within(&both) && chain.is_within(&a), "transitive, case {case}");
        assert!(a.is_within(&a.join(&b)) && b.is_within(&a.join(&b)), "the join is above both, case {case}");
    }
}

/// LA-2, LA-3, LA-4, LA-8: what is in a meet is what is in both, element by element.
#[test]
fn something_is_in_a_meet_when_it_is_in_both() {
    fn agree<P: Pattern>(a: Option<&Patterns<P>>, b: Option<&Patterns<P>>, both: Option<&Patterns<P>>, texts: &[P], case: u64) {
        let allows = |set: Option<&Patterns<P>>, text| set.is_none_or(|set| set.covers(text));
        for text in texts {
            assert_eq!(allows(both, text), allows(a, text) && allows(b, text), "{text} in {a:?} and {b:?}, case {case}");
        }
    }
    let names = ["a", "ab", "abc", "abcd", "b", "b.", "b.c", "b.cd", "c", "zebra"];
    let origins = [
        "https://a.example",
        "https://b.a.example",
        "https://d.c.b.a.example",
        "https://xa.example",
        "http://a.example",
        "http://b.a.example",
        "https://a.example:8443",
        "https://b.a.example:8443",
        "https://other.test",
    ];
    let modes = ["text/plain", "text/csv", "text/html", "application/json", "image/png", "audio/ogg"];
    let names = names.map(|text| text.parse::<Name>().unwrap());
    let origins = origins.map(|text| text.parse::<Audience>().unwrap());
    let modes = modes.map(|text| text.parse::<Mode>().unwrap());
    for case in 0..CASES {
        let mut make = Generator(case ^ 0xfeed_0000_0000);
        let (a, b) = (make.scope(), make.scope());
        let both = a.meet(&b);
        agree(a.skills.as_ref(), b.skills.as_ref(), both.skills.as_ref(), &names, case);
        agree(a.scopes.as_ref(), b.scopes.as_ref(), both.scopes.as_ref(), &names, case);
        agree(a.audiences.as_ref(), b.audiences.as_ref(), both.audiences.as_ref(), &origins, case);
        agree(a.input_modes.as_ref(), b.input_modes.as_ref(), both.input_modes.as_ref(), &modes, case);
        agree(a.output_modes.as_ref(), b.output_modes.as_ref(), both.output_modes.as_ref(), &modes, case);
        for (currency, amount) in [("EUR", 0), ("EUR", 50), ("USD", 50), ("JPY", 99), ("CHF", 1)] {
            assert_eq!(both.affords(currency, amount), a.affords(currency, amount) && b.affords(currency, amount), "case {case}");
        }
    }
}

/// LA-23: whatever is granted, what is passed on is less than what was held.
#[test]
fn what_is_passed_on_only_shrinks() {
    for case in 0..CASES / 10 {
        let mut make = Generator(case ^ 0xbeef_0000_0000);
        let (held, grant) = (make.scope(), make.scope());
        let passed = held.passed_on(&grant);
        assert!(passed.is_within(&held) && passed.is_within(&grant), "case {case}");
        assert!(held.hops.is_none_or(|hops| hops == 0 || passed.hops < Some(hops)), "case {case}");
    }
}

/// LA-1, LA-5: absent is without a limit, empty is nothing, and a written scope is read as it was.
#[test]
fn a_scope_survives_its_json() {
    for case in 0..CASES / 10 {
        let scope = Generator(case).scope();
        let text = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<Scope>(&text).unwrap(), scope, "{text}");
    }
    let scope: Scope = serde_json::from_str(r#"{"skills":[],"budget":{"USD":5000},"unknown":1}"#).unwrap();
    assert!(!scope.skills.unwrap().allows("a"));
    assert_eq!(serde_json::to_string(&Scope::top()).unwrap(), "{}");
}

/// LA-2, LA-3, LA-4: the shortest form, and what is no pattern.
#[test]
fn patterns_have_one_form_and_nonsense_has_none() {
    let shortest = |texts: &[&str]| texts.iter().map(|text| text.parse::<Name>().unwrap()).collect::<Patterns<_>>();
    assert_eq!(shortest(&["abc", "ab*", "a*", "b"]), shortest(&["b", "a*"]));
    for (written, form) in [("HTTPS://A.Example:443", "https://a.example"), ("http://[::1]:80", "http://[::1]")] {
        assert_eq!(written.parse::<Audience>().unwrap().to_string(), form);
    }
    assert_eq!("Text/Plain; charset=utf-8".parse::<Mode>().unwrap().to_string(), "text/plain");
    for wrong in ["", "a*b", "**"] {
        assert!(wrong.parse::<Name>().is_err(), "{wrong}");
    }
    for wrong in
        ["", "a.example", "https://", "https://a.*.example", "https://a.example/path", "https://me@a.example", "https://*a.example"]
    {
        assert!(wrong.parse::<Audience>().is_err(), "{wrong}");
    }
    for wrong in ["", "text", "*/plain", "text/", "/plain", "text/p*"] {
        assert!(wrong.parse::<Mode>().is_err(), "{wrong}");
    }
}
