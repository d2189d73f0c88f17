//! `a2a card sign|verify|diff`: the seal of a card, and what changed in one.

use std::path::Path;

use chancery_client::seal::{Document, Form, JwkSet, Policy, Report, Roots, Signer, SigningKey, Verdict, diff, lint};
use serde_json::json;

use super::keys;
use crate::{
    args::{CardDiff, CardSign, CardVerify, SignedForm},
    card, connect,
    context::{Context, read},
    print::{Text, card::Verdict as Signature},
    trouble::{Trouble, with_cause},
    trust,
};

/// Adds a signature.
pub(crate) fn sign(context: &Context, args: &CardSign) -> Result<(), Trouble> {
    let mut document = document(&args.file)?;
    let warnings = lint(&document);
    for warning in &warnings {
        context.notes.warning(&format!("{}: {}", warning.path, warning.message));
    }
    if args.strict && !warnings.is_empty() {
        return Err(Trouble::own("SIGNATURE", format!("the card has {} things to warn of", warnings.len())).hint("they are on stderr"));
    }
    let key = key(context, args)?;
    let mut signer = Signer::new(&key);
    signer = match args.form {
        SignedForm::Both => signer,
        SignedForm::Spec => signer.forms([Form::Spec]),
        SignedForm::Pruned => signer.forms([Form::Sdk]),
    };
    if let Some(jku) = &args.jku {
        signer = signer.jku(jku);
    }
    if args.replace_kid {
        signer = signer.replace();
    }
    let signed = signer.sign(&mut document).map_err(|error| Trouble::own("SIGNATURE", with_cause(&error)))?;
    for form in &signed.forms {
        context.notes.say(&format!("Signed: {} with key {}", form.as_str(), key.kid()));
    }
    for path in &signed.uncovered {
        context.notes.say(&format!("Not covered for the SDKs: {path}"));
    }
    let card = document.into_value();
    match if args.in_place { Some(&args.file) } else { args.out.as_ref() } {
        Some(file) => crate::files::write(file, "", format!("{card:#}\n")),
        None => context.printer.document(&card),
    }
}

/// The key that signs: a file, a key of the store, or its newest.
fn key(context: &Context, args: &CardSign) -> Result<SigningKey, Trouble> {
    let store = keys::store(context, args.dir.as_deref())?;
    let Some(name) = &args.key else {
        let newest = store.newest().map_err(keys::trouble)?;
        return newest.ok_or_else(|| Trouble::own("KEY", "there is no key to sign with").hint("a2a keys generate"));
    };
    let path = Path::new(name);
    if !path.is_file() {
        return store.key(name).map_err(keys::trouble);
    }
    let text = read(path, "--key")?;
    let kid = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let key = if text.trim_ascii_start().starts_with(b"{") { SigningKey::from_jwk(&text) } else { SigningKey::from_pem(&text, kid) };
    key.map_err(|error| Trouble::own("KEY", format!("{name}: {}", with_cause(&error))))
}

fn document(file: &Path) -> Result<Document, Trouble> {
    let text = read(file, "FILE")?;
    Document::parse(&text).map_err(|error| Trouble::card_invalid(format!("{}: {}", file.display(), with_cause(&error))))
}

/// Checks signatures; a verdict.
pub(crate) async fn verify(context: &Context, args: &CardVerify) -> Result<(), Trouble> {
    let named = args.reference.as_deref().map(|reference| context.with_agent(reference)).transpose()?;
    let context = named.as_ref().unwrap_or(context);
    let found = card::find(context).await?;
    let report = report(context, policy(context, args, &found)?, &found).await?;
    context.printer.result(&report, |text| lines(text, &report))?;
    if report.result.is_good() || (args.allow_absent && report.result == Verdict::Unsigned) {
        return Ok(());
    }
    Err(Trouble::own("SIGNATURE", format!("the signature of the card is {}", Signature::of(&report))).reported())
}

/// What the signatures of a card say.
pub(crate) async fn report(context: &Context, policy: Policy, found: &card::Found) -> Result<Report, Trouble> {
    let builder = connect::builder(context)?.trust(policy);
    let verified = builder.verify_card(&found.body, found.url.as_deref()).await?;
    Ok(verified.report)
}

/// What the user has put aside, and what the flags say instead.
fn policy(context: &Context, args: &CardVerify, found: &card::Found) -> Result<Policy, Trouble> {
    let mut policy = trust::policy(context, found.url.as_deref())?;
    if let Some(file) = &args.jwks {
        let wrong =
            |error: &dyn std::error::Error| Trouble::usage(format!("--jwks: {} is no key set: {}", file.display(), with_cause(error)));
        policy.keys = JwkSet::parse(&read(file, "--jwks")?).map_err(|error| wrong(&error))?;
    }
    if let Some(file) = &args.trust {
        let wrong = |error: &dyn std::error::Error| Trouble::usage(format!("--trust: {}: {}", file.display(), with_cause(error)));
        policy.roots = Roots::from_pem(&read(file, "--trust")?).map_err(|error| wrong(&error))?;
    }
    for name in &args.allow_form {
        let form =
            Form::parse(name).ok_or_else(|| Trouble::usage(format!("--allow-form: {name} is no form; there are raw and js-memory")))?;
        policy.forms.push(form);
    }
    Ok(policy)
}

fn lines(text: &mut Text, report: &Report) {
    text.field("Signature", &Signature::of(report).to_string());
    if let Some(kid) = &report.kid {
        let alg = report.alg.map_or("", |alg| alg.as_str());
        let source = report.key_source.and_then(|source| serde_json::to_value(source).ok());
        let source = source.as_ref().and_then(|source| source.as_str()).unwrap_or("unknown").to_owned();
        text.field("Key", &format!("kid {kid}, {alg}, from {source}"));
    }
    if let Some(form) = report.form {
        text.field("Form", form.as_str());
    }
    report.uncovered.iter().for_each(|path| text.field("Not covered", path));
    report.ignored.iter().for_each(|path| text.field("Ignored", path));
}

/// What changed.
pub(crate) fn compare(context: &Context, args: &CardDiff) -> Result<(), Trouble> {
    let changes = diff(&document(&args.before)?, &document(&args.after)?)
        .ok_or_else(|| Trouble::card_invalid("a card has one member under both of its names"))?;
    let breaking = changes.iter().filter(|change| change.breaking).count();
    let compatible = changes.len() - breaking;
    let verdict = format!("{breaking} breaking, {compatible} compatible");
    context.printer.result(&json!({"changes": changes, "breaking": breaking, "compatible": compatible}), |text| {
        for change in &changes {
            let line = change.to_string();
            let (label, value) = line.split_once(": ").unwrap_or(("Changed", &line));
            text.field(label, value);
        }
        text.field("Verdict", &verdict);
    })?;
    if args.exit_code && breaking > 0 { Err(Trouble::own("CHECKS_FAILED", verdict).reported()) } else { Ok(()) }
}
