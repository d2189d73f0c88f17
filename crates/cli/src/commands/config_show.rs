//! `a2a config show`: what holds here, and where it comes from.

use serde_json::{Value, json};

use crate::{
    args::ConfigShow,
    context::Context,
    settings::{Layers, Raw, Source, table::Spec},
    trouble::Trouble,
    wallet,
};

pub(crate) fn run(context: &Context, _: &ConfigShow) -> Result<(), Trouble> {
    let layers = &context.settings.layers;
    let shown = context.settings.shown();
    let settings: Vec<_> = shown.iter().map(|(spec, raw)| setting(layers, spec, raw)).collect();
    let files: Vec<_> = layers.files().map(|file| json!({"path": layers.around.shown(&file.path), "read": file.read})).collect();
    // Of tokens it is said how many there are and where; `auth status` says more.
    let tokens = wallet::stored(&context.settings)?.len();
    let place = wallet::file(&context.settings).map(|file| layers.around.shown(&file));
    let credentials = json!({"path": place, "tokens": tokens});
    context.printer.result(&json!({"settings": settings, "files": files, "credentials": credentials}), |text| {
        for (spec, raw) in &shown {
            let value = if is_hidden(spec) { "set, hidden".to_owned() } else { raw.values.join(", ") };
            text.field(spec.name, &format!("{value} ({})", words(layers, &raw.source)));
        }
        if let Some(place) = place.filter(|_| tokens > 0) {
            text.field("credentials", &format!("{tokens} set, hidden (file {place})"));
        }
    })
}

fn setting(layers: &Layers, spec: &Spec, raw: &Raw) -> Value {
    let (source, origin) = match &raw.source {
        Source::Flag => ("flag", json!(format!("--{}", spec.name))),
        Source::Environment(variable) => ("environment", json!(variable)),
        Source::Local(path) => ("local", json!(layers.around.shown(path))),
        Source::Global(path) => ("global", json!(layers.around.shown(path))),
        Source::Overruled(flag) => ("flag", json!(format!("--{flag}"))),
        Source::Default => ("default", Value::Null),
    };
    if is_hidden(spec) {
        return json!({"name": spec.name, "value": null, "set": true, "source": source, "origin": origin});
    }
    let value = match (spec.value, spec.repeats, &raw.source) {
        (None, ..) => json!(raw.values.last().is_some_and(|word| matches!(word.as_str(), "true" | "1"))),
        (Some(_), true, source) if *source != Source::Default => json!(raw.values),
        _ => json!(raw.values.join(", ")),
    };
    json!({"name": spec.name, "value": value, "source": source, "origin": origin})
}

/// Parameters may hold secrets, so they are hidden as credentials are.
fn is_hidden(spec: &Spec) -> bool {
    spec.secret || spec.name == "svc-param"
}

fn words(layers: &Layers, source: &Source) -> String {
    match source {
        Source::Flag => "flag".to_owned(),
        Source::Environment(variable) => format!("environment {variable}"),
        Source::Local(path) => format!("local file {}", layers.around.shown(path)),
        Source::Global(path) => format!("file {}", layers.around.shown(path)),
        Source::Overruled(flag) => format!("flag --{flag}"),
        Source::Default => "built-in".to_owned(),
    }
}
