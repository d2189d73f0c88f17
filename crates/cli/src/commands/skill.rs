//! `a2a skill …`: tells other agents how to use this program.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{
    args::{Skill, SkillInstall},
    context::Context,
    trouble::Trouble,
};

/// The skill, and the examples beside it.
const FILES: [(&str, &str); 2] =
    [("SKILL.md", include_str!("../../../../skill/SKILL.md")), ("EXAMPLES.md", include_str!("../../../../skill/EXAMPLES.md"))];

/// Where agents look for skills.
const PLACE: [&str; 3] = [".agents", "skills", "a2a"];

pub(crate) fn run(context: &Context, skill: &Skill) -> Result<(), Trouble> {
    match skill {
        Skill::Print if context.printer.is_json() => context.printer.document(&json!({"name": "a2a", "skill": FILES[0].1})),
        Skill::Print => context.printer.write(FILES[0].1),
        Skill::Install(args) => install(context, args),
    }
}

fn install(context: &Context, args: &SkillInstall) -> Result<(), Trouble> {
    let scope = match (&args.scope, &context.settings.layers.around.home) {
        (Some(scope), _) => scope.clone(),
        (None, Some(home)) => home.clone(),
        (None, None) => return Err(Trouble::usage("there is no home folder").hint("a2a skill install --scope DIR")),
    };
    if !scope.is_dir() {
        return Err(Trouble::usage(format!("--scope: there is no folder {}", scope.display())));
    }
    let folder = PLACE.iter().fold(scope, |folder, name| folder.join(name));
    std::fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let mut written: Vec<PathBuf> = Vec::new();
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
        written.push(path);
    }
    let shown: Vec<_> = written.iter().map(|path| path.display().to_string()).collect();
    context.printer.result(&json!({"files": shown}), |text| shown.iter().for_each(|path| text.field("Installed", path)))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::usage(format!("{} cannot be written: {error}", path.display())).hint("a2a skill install --scope DIR")
}
