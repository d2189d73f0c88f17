use super::*;
use crate::folder::Folder;

/// Surroundings below a folder: a project in a home, and settings beside it.
fn around(folder: &Folder, variables: &[(&str, &str)]) -> Surroundings {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for below in ["home/project", "settings/agents", "settings/profiles"] {
        std::fs::create_dir_all(folder.path(below)).unwrap();
    }
    Surroundings {
        variables,
        folder: folder.path("home/project"),
        home: Some(folder.path("home")),
        settings: Some(folder.path("settings")),
        cache: None,
        state: None,
    }
}

fn settings(flags: &[(&'static str, &str)], around: Surroundings) -> Result<Settings, Trouble> {
    let mut map: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (name, value) in flags {
        map.entry(name).or_default().push((*value).to_owned());
    }
    Layers::new(map, around).and_then(Settings::new)
}

/// A2ACLI_CONFIG_002: each layer lies over the one after it.
#[test]
fn each_layer_lies_over_the_next() {
    let folder = Folder::new();
    let bare = around(&folder, &[]);
    let timeout = |flags: &[(&'static str, &str)], around: Surroundings| {
        settings(&[flags, &[("agent-card", "localhost:8080")]].concat(), around).unwrap().timeout.unwrap().as_secs()
    };
    assert_eq!(timeout(&[], bare.clone()), 600);
    folder.write("settings/.env", "A2ACLI_TIMEOUT=1s");
    assert_eq!(timeout(&[], bare.clone()), 1);
    folder.write("settings/agents/localhost_8080.env", "A2ACLI_TIMEOUT=2s");
    assert_eq!(timeout(&[], bare.clone()), 2);
    folder.write("home/project/.env", "A2ACLI_TIMEOUT=3s");
    assert_eq!(timeout(&[], bare), 3);
    let set = around(&folder, &[("A2ACLI_TIMEOUT", "4")]);
    assert_eq!(timeout(&[], set.clone()), 4);
    assert_eq!(timeout(&[("timeout", "5s")], set), 5);
}

#[test]
fn a_project_cannot_switch_the_check_of_certificates_off() {
    let folder = Folder::new();
    let bare = around(&folder, &[]);
    folder.write("home/project/.env", "A2ACLI_INSECURE=true\nA2ACLI_VERBOSE=1");
    let read = settings(&[], bare.clone()).unwrap();
    assert!(!read.insecure && read.verbose);
    let named = folder.path("home/project/.env").display().to_string();
    assert!(settings(&[("config", &named)], bare).unwrap().insecure);
}

#[test]
fn a_profile_is_a_file_and_a_wrong_name_is_helped() {
    let folder = Folder::new();
    let bare = around(&folder, &[]);
    folder.write("settings/profiles/staging.env", "A2ACLI_AGENT_CARD=staging.example");
    assert_eq!(settings(&[("profile", "staging")], bare.clone()).unwrap().agent.as_deref(), Some("staging.example"));
    let trouble = settings(&[("profile", "stagign")], bare.clone()).unwrap_err();
    assert_eq!(trouble.hint.as_deref(), Some("did you mean staging?"));
    assert!(settings(&[("profile", "../x")], bare).is_err());
}

#[test]
fn a_file_with_a_secret_that_others_can_read_is_warned_of() {
    let folder = Folder::new();
    let bare = around(&folder, &[]);
    let file = folder.write("settings/.env", "A2ACLI_BEARER=s3cret");
    let warnings = |around| Layers::new(BTreeMap::new(), around).unwrap().warnings();
    set_mode(&file, 0o644);
    let warned = warnings(bare.clone());
    assert!(warned.len() == 1 && warned[0].contains("A2ACLI_BEARER") && !warned[0].contains("s3cret"), "{warned:?}");
    set_mode(&file, 0o600);
    assert_eq!(warnings(bare), Vec::<String>::new());
}

fn set_mode(file: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_wrong_value_names_its_place_and_the_nearest_word() {
    let folder = Folder::new();
    let trouble = settings(&[], around(&folder, &[("A2ACLI_TRANSPORT", "grpc,jsonrcp")])).unwrap_err();
    assert!(trouble.message.starts_with("A2ACLI_TRANSPORT: "), "{trouble}");
    assert_eq!(trouble.hint.as_deref(), Some("did you mean jsonrpc?"));
    assert_eq!(trouble.exit, 2);
}

#[test]
fn what_cannot_go_together_is_refused() {
    let folder = Folder::new();
    for flags in [
        &[("async", "true"), ("stream", "true")][..],
        &[("async", "true"), ("wait", "true")],
        &[("agent-card", "a"), ("endpoint", "http://b"), ("transport", "rest")],
        &[("endpoint", "http://b")],
        &[("endpoint", "http://b"), ("transport", "rest"), ("transport", "grpc")],
    ] {
        assert_eq!(settings(flags, around(&folder, &[])).unwrap_err().exit, 2, "{flags:?}");
    }
}

#[test]
fn a_flag_wins_over_what_a_variable_says_to_the_contrary() {
    let folder = Folder::new();
    let read = settings(&[("stream", "true")], around(&folder, &[("A2ACLI_ASYNC", "1")])).unwrap();
    assert!(read.stream && !read.detached);
    let read = settings(&[("async", "true")], around(&folder, &[("A2ACLI_WAIT", "1")])).unwrap();
    assert!(read.detached && !read.wait);
    let flags = [("endpoint", "http://b"), ("transport", "rest")];
    let read = settings(&flags, around(&folder, &[("A2ACLI_AGENT_CARD", "a")])).unwrap();
    assert!(read.agent.is_none() && read.endpoint.is_some());
}

#[test]
fn times_are_read_and_have_an_end() {
    for (text, expected) in [("2", 2), ("2s", 2), ("1h30m", 5_400), ("99999999999d", LONGEST.as_secs())] {
        assert_eq!(time(text).unwrap().as_secs(), expected, "{text}");
    }
    assert!(time("soon").is_err());
}
