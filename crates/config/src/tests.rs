//! The file: what is read, and the exact words for what is wrong.

use std::time::Duration;

use super::*;
use crate::{
    backend::command::{Lifetime, Mode},
    folder::Folder,
};

fn parse(text: &str) -> Result<Config> {
    let variables = [("PATH", "/usr/bin:/bin"), ("NAME", "harbor")];
    Config::parse(Path::new("a2a.toml"), text, &variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
}

#[track_caller]
fn refused(text: &str, words: &str) {
    match parse(text) {
        Ok(config) => panic!("{text} was read as {config:?}"),
        Err(problem) => assert_eq!(problem.to_string(), words, "for {text}"),
    }
}

#[test]
fn the_default_file_is_what_a_file_without_words_means() {
    let mut default = parse(&default_file()).unwrap();
    default.check().unwrap();
    let bare = parse("[[agent]]\nname = \"echo\"\ndescription = \"Gives back what it gets\"\necho = true\n").unwrap();
    // The one thing that the default file shows and nothing stands for.
    default.agents[0].card.skills = bare.agents[0].card.skills.clone();
    assert_eq!(default, bare);
}

/// Each key of the default file stands there because it is read, and each key that is read stands there.
#[test]
fn the_default_file_names_every_key() {
    let known = [
        SERVER,
        STORE,
        PUSH,
        GUARD,
        auth::AUTH,
        auth::SCHEME,
        auth::EXCHANGE,
        signing::SIGNING,
        signing::KEY,
        auth::TLS,
        lattice::WORKFLOWS,
        lattice::LATTICE,
        lattice::ROOT,
        handoff::HANDOFF,
        handoff::PEER,
        LIMITS,
        RETENTION,
        LOG,
        agent::keys(),
    ];
    let default = default_file();
    for key in known.iter().flat_map(|keys| keys.known.iter()) {
        let named = default.lines().any(|line| line.trim_start_matches("# ").starts_with(&format!("{key} = ")));
        assert!(named, "{key} is not in default.toml");
    }
    // With every comment sign in front of a key taken away, it is still a file; but for the keys of schemes, which exclude
    // each other, and stand in the guide.
    let (before, rest) = default.split_once("# Who may call the agents.").unwrap();
    let (_, after) = rest.split_once("[limits]").unwrap();
    let whole: Vec<_> = [before, "[limits]", after]
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| if line.contains(" = ") || line.contains("[[") { line.trim_start_matches("# ") } else { line })
        .collect();
    let whole = whole.join("\n").replace("card = \"card.json\"", "").replace("lifetime = \"task\"", "").replace("lenient = false", "");
    parse(&whole).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn everything_that_is_said_is_read() {
    let config = parse(
        r#"
        [server]
        listen = "[::1]:0"
        public_url = "https://${NAME}.example.com/"
        hosts = ["agents.internal", "10.0.0.7:8080", "[::1]:80", "https://a.example/x"]
        data = "tasks"
        versions = ["1.0", "0.3"]
        bindings = ["grpc", "jsonrpc"]
        lenient_version = true
        drain = "1m30s"
        reload = false
        [store]
        ephemeral = true
        durability = "process"
        [push]
        allow = ["10.0.0.0/8", "fd00::/8"]
        schedule = ["200ms", "1h"]
        [limits]
        body = "64k"
        parts = 1_000
        json_depth = 0x20
        requests = 8
        streams = 20_000
        [retention]
        tasks = "forever"
        [log]
        format = "json"
        level = "debug"
        [[agent]]
        name = "words"
        description = "Counts"
        version = "2.1"
        path = "/count/words"
        skills = ["count", { id = "sum", name = "Sum", description = "Adds", tags = ["math"], examples = ["1 2"] }]
        bindings = ["rest"]
        versions = ["1.0"]
        timeout = "500ms"
        concurrency = 2
        on_restart = "rerun"
        command = ["wc", "-w"]
        chunk = "--"
        env = []
        cwd = "/"
        kill_after = "2s"
        max_processes = 1
        expose_stderr = true
        [[agent]]
        name = "talk"
        command = ["/bin/sh", "-c", "true"]
        mode = "jsonl"
        lifetime = "pool"
        lenient = true
        "#,
    )
    .unwrap();
    assert_eq!(config.server.listen, "[::1]:0");
    assert_eq!(config.server.public_url.as_deref(), Some("https://harbor.example.com"));
    assert!(config.server.data.is_absolute() && config.server.data.ends_with("tasks"));
    assert_eq!(config.server.versions, [Version::V1_0, Version::V0_3]);
    assert_eq!(config.server.bindings, [Binding::Grpc, Binding::JsonRpc]);
    assert_eq!(config.server.hosts, ["agents.internal", "10.0.0.7:8080", "[::1]:80", "https://a.example/x"]);
    assert_eq!((config.server.drain, config.server.reload, config.server.lenient_version), (Duration::from_secs(90), false, true));
    assert_eq!(config.store, Store { ephemeral: true, durability: Durability::Process });
    assert_eq!(config.push.allow, ["10.0.0.0/8", "fd00::/8"]);
    assert_eq!(config.push.schedule, Some(vec![Duration::from_millis(200), Duration::from_secs(3_600)]));
    let limits = Limits { body: Some(65_536), parts: Some(1_000), json_depth: Some(32), requests: Some(8), streams: Some(20_000) };
    assert_eq!(config.limits, limits);
    assert_eq!(config.retention.tasks, None);
    assert_eq!(config.log, Log { json: true, level: LogLevel::Debug });
    let [words, talk] = &config.agents[..] else { panic!("two agents") };
    assert_eq!((words.path.as_str(), talk.path.as_str()), ("/count/words", "/talk"));
    assert_eq!((words.bindings.as_deref(), words.versions.as_deref()), (Some(&[Binding::HttpJson][..]), Some(&[Version::V1_0][..])));
    assert_eq!((words.timeout, words.concurrency), (Duration::from_millis(500), Some(2)));
    assert_eq!(words.on_restart, OnRestart::Rerun);
    let skills: Vec<_> =
        words.card.skills.iter().map(|skill| (skill.id.as_str(), skill.name.as_str(), skill.description.as_str())).collect();
    assert_eq!(skills, [("count", "count", "Counts"), ("sum", "Sum", "Adds")]);
    assert_eq!(words.card.version, "2.1");
    let Backend::Command(command) = &words.backend else { panic!("a command") };
    assert!(command.program.is_absolute() && command.program.ends_with("wc"));
    assert_eq!(command.mode, Mode::Text { chunk: Some("--".to_owned()), expose_stderr: true });
    assert!(command.env.is_empty());
    let Backend::Command(command) = &talk.backend else { panic!("a command") };
    assert_eq!(command.mode, Mode::Jsonl { lifetime: Lifetime::Pool, lenient: true });
    config.check().unwrap();
}

#[test]
fn variables_come_before_the_file() {
    let variables = [
        ("A2A_SERVER_LISTEN", "0.0.0.0:9"),
        ("A2A_SERVER_VERSIONS", "1.0, 0.3"),
        ("A2A_STORE_EPHEMERAL", "true"),
        ("A2A_LIMITS_PARTS", "7"),
        ("A2A_LOG_LEVEL", "warn"),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let config = Config::parse(Path::new("a2a.toml"), "[server]\nlisten = \"localhost:1\"\n", &variables).unwrap();
    assert_eq!((config.server.listen.as_str(), config.server.versions.len()), ("0.0.0.0:9", 2));
    assert_eq!((config.store.ephemeral, config.limits.parts, config.log.level), (true, Some(7), LogLevel::Warn));
    let wrong = BTreeMap::from([("A2A_LIMITS_PARTS".to_owned(), "many".to_owned())]);
    let problem = Config::parse(Path::new("a2a.toml"), "", &wrong).unwrap_err();
    assert_eq!(problem.to_string(), "A2A_LIMITS_PARTS: parts must be a whole number of at least 1");
}

#[test]
fn an_agent_alone_is_at_the_root_and_others_are_under_their_names() {
    let path = |text: &str| parse(text).unwrap().agents.iter().map(|agent| agent.path.clone()).collect::<Vec<_>>();
    assert_eq!(path("[[agent]]\nname = \"a\"\necho = true"), ["/"]);
    assert_eq!(path("[[agent]]\nname = \"a\"\necho = true\n[[agent]]\nname = \"b\"\necho = true"), ["/a", "/b"]);
}

/// Every way to be wrong, with its exact words.
#[test]
fn what_is_wrong_is_said_with_its_place_and_a_suggestion() {
    for (text, words) in [
        ("[server\n", "a2a.toml:1:8: unclosed table, expected `]`\n  |\n1 | [server\n  |        ^"),
        ("a = 1\na = 2\n", "a2a.toml:2:1: duplicate key\n  |\n2 | a = 2\n  | ^"),
        ("[servr]\n", "a2a.toml:1:2: there is no section [servr]\n  |\n1 | [servr]\n  |  ^^^^^\nhint: did you mean \"server\"?"),
        ("[garden]\n", "a2a.toml:1:2: there is no section [garden]\n  |\n1 | [garden]\n  |  ^^^^^^"),
        (
            "[bus]\nurl = \"x\"\n",
            "a2a.toml:1:2: the section [bus] is not supported in this release\n  |\n1 | [bus]\n  |  ^^^\nhint: remove it, or wait for a later release",
        ),
        ("server = 1\n", "a2a.toml:1:1: server must be a table, not a number\n  |\n1 | server = 1\n  | ^^^^^^\nhint: write [server]"),
        (
            "[server]\n# where\nlisen = \"x\"\n",
            "a2a.toml:3:1: [server] has no key \"lisen\"\n  |\n3 | lisen = \"x\"\n  | ^^^^^\nhint: did you mean \"listen\"?",
        ),
        (
            "[limits]\nrate = 5\n",
            "a2a.toml:2:1: the key \"rate\" of [limits] is not supported in this release\n  |\n2 | rate = 5\n  | ^^^^\nhint: remove it, or wait for a later release",
        ),
        (
            "[server]\nlisten = 8080\n",
            "a2a.toml:2:10: listen of [server] must be a string, not a number\n  |\n2 | listen = 8080\n  |          ^^^^",
        ),
        (
            "[server]\nlisten = \"8080\"\n",
            "a2a.toml:2:10: listen must be an address and a port, not \"8080\"\n  |\n2 | listen = \"8080\"\n  |          ^^^^^^\nhint: write it like \"127.0.0.1:8080\" or \"[::]:8080\"",
        ),
        (
            "[server]\npublic_url = \"agents.example.com\"\n",
            "a2a.toml:2:14: public_url must begin with http:// or https://, not \"agents.example.com\"\n  |\n2 | public_url = \"agents.example.com\"\n  |              ^^^^^^^^^^^^^^^^^^^^",
        ),
        (
            "[server]\nhosts = [\"a.example\", \"a b\"]\n",
            "a2a.toml:2:23: hosts must name hosts, not \"a b\"\n  |\n2 | hosts = [\"a.example\", \"a b\"]\n  |                       ^^^^^\nhint: write a host like \"agents.internal\", \"10.0.0.7:8080\" or \"https://agents.example.com\"",
        ),
        (
            "[server]\nbindings = [\"jsonrcp\"]\n",
            "a2a.toml:2:13: bindings must be \"jsonrpc\" or \"rest\" or \"grpc\", not \"jsonrcp\"\n  |\n2 | bindings = [\"jsonrcp\"]\n  |             ^^^^^^^^^\nhint: did you mean \"jsonrpc\"?",
        ),
        (
            "[server]\ndata = \"${HARBOR}/x\"\n",
            "a2a.toml:2:8: the variable HARBOR is not set\n  |\n2 | data = \"${HARBOR}/x\"\n  |        ^^^^^^^^^^^^^",
        ),
        ("[server]\ndata = \"${NAME\"\n", "a2a.toml:2:8: \"${\" has no closing \"}\"\n  |\n2 | data = \"${NAME\"\n  |        ^^^^^^^^"),
        (
            "[server]\nversions = [\"1.0\", \"0.4\"]\n",
            "a2a.toml:2:20: versions must be \"1.0\" or \"0.3\" or \"0.2\" or \"0.1\", not \"0.4\"\n  |\n2 | versions = [\"1.0\", \"0.4\"]\n  |                    ^^^^^\nhint: did you mean \"0.3\"?",
        ),
        ("[server]\nversions = []\n", "a2a.toml:2:12: versions must not be empty\n  |\n2 | versions = []\n  |            ^^"),
        (
            "[server]\nversions = \"1.0\"\n",
            "a2a.toml:2:12: versions of [server] must be a list of strings, not a string\n  |\n2 | versions = \"1.0\"\n  |            ^^^^^\nhint: write versions = [\"1.0\"]",
        ),
        (
            "[server]\ndrain = \"30\"\n",
            "a2a.toml:2:9: drain must be a duration, not \"30\"\n  |\n2 | drain = \"30\"\n  |         ^^^^\nhint: write it like 500ms, 2s, 5m or 1h30m",
        ),
        (
            "[server]\nreload = \"no\"\n",
            "a2a.toml:2:10: reload of [server] must be true or false, not a string\n  |\n2 | reload = \"no\"\n  |          ^^^^",
        ),
        (
            "[store]\ndurability = \"proces\"\n",
            "a2a.toml:2:14: durability must be \"power\" or \"process\", not \"proces\"\n  |\n2 | durability = \"proces\"\n  |              ^^^^^^^^\nhint: did you mean \"process\"?",
        ),
        (
            "[push]\nallow = [\"10.0.0.0\"]\n",
            "a2a.toml:2:10: allow must name networks, not \"10.0.0.0\"\n  |\n2 | allow = [\"10.0.0.0\"]\n  |          ^^^^^^^^^^\nhint: write a network like \"10.0.0.0/8\" or \"fd00::/8\"",
        ),
        (
            "[push]\nschedule = [\"1s\", \"soon\"]\n",
            "a2a.toml:2:19: schedule must be a duration, not \"soon\"\n  |\n2 | schedule = [\"1s\", \"soon\"]\n  |                   ^^^^^^\nhint: write it like 500ms, 2s, 5m or 1h30m",
        ),
        (
            "[push]\nschedule = \"1s\"\n",
            "a2a.toml:2:12: schedule of [push] must be a list of strings, not a string\n  |\n2 | schedule = \"1s\"\n  |            ^^^^\nhint: write schedule = [\"1s\"]",
        ),
        ("[limits]\nstreams = 0\n", "a2a.toml:2:11: streams must be a whole number of at least 1\n  |\n2 | streams = 0\n  |           ^"),
        (
            "[limits]\nbody = \"big\"\n",
            "a2a.toml:2:8: body must be a size, not \"big\"\n  |\n2 | body = \"big\"\n  |        ^^^^^\nhint: write it like \"512\", \"64k\" or \"16MiB\"",
        ),
        ("[limits]\nparts = 0\n", "a2a.toml:2:9: parts must be a whole number of at least 1\n  |\n2 | parts = 0\n  |         ^"),
        (
            "[limits]\nparts = 1.5\n",
            "a2a.toml:2:9: parts of [limits] must be a whole number, not a number with a fraction\n  |\n2 | parts = 1.5\n  |         ^^^",
        ),
        (
            "[retention]\ntasks = \"long\"\n",
            "a2a.toml:2:9: tasks must be a duration or \"forever\", not \"long\"\n  |\n2 | tasks = \"long\"\n  |         ^^^^^^\nhint: write it like 12h or 30d",
        ),
        (
            "[log]\nlevel = \"inof\"\n",
            "a2a.toml:2:9: level must be \"error\" or \"warn\" or \"info\" or \"debug\" or \"trace\", not \"inof\"\n  |\n2 | level = \"inof\"\n  |         ^^^^^^\nhint: did you mean \"info\"?",
        ),
        (
            "[agent]\nname = \"a\"\n",
            "a2a.toml:1:2: an agent is written with two brackets\n  |\n1 | [agent]\n  |  ^^^^^\nhint: write [[agent]]",
        ),
        ("agent = 1\n", "a2a.toml:1:1: agent must be a list of tables, not a number\n  |\n1 | agent = 1\n  | ^^^^^"),
        ("agent = [1]\n", "a2a.toml:1:10: an agent is a table\n  |\n1 | agent = [1]\n  |          ^\nhint: write [[agent]]"),
        ("[[agent]]\necho = true\n", "a2a.toml:1:1: the agent has no name\n  |\n1 | [[agent]]\n  | ^^^^^^^^^\nhint: add name = \"...\""),
        (
            "[[agent]]\nname = \"my agent\"\necho = true\n",
            "a2a.toml:2:8: \"my agent\" cannot be a name\n  |\n2 | name = \"my agent\"\n  |        ^^^^^^^^^^\nhint: use letters, digits, \".\", \"_\" and \"-\"; what people read is in the card",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\n[[agent]]\nname = \"a\"\necho = true\n",
            "a2a.toml:5:8: there is an agent \"a\" already\n  |\n5 | name = \"a\"\n  |        ^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\n[[agent]]\nname = \"b\"\npath = \"/a\"\necho = true\n",
            "a2a.toml:6:8: the agent \"a\" is at \"/a\" already\n  |\n6 | path = \"/a\"\n  |        ^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\npath = \"/b\"\necho = true\n[[agent]]\nname = \"b\"\necho = true\n",
            "a2a.toml:5:1: the agent \"a\" is at \"/b\" already\n  |\n5 | [[agent]]\n  | ^^^^^^^^^\nhint: give one of them another path",
        ),
        (
            "[[agent]]\nname = \"a\"\npath = \"a/\"\necho = true\n",
            "a2a.toml:3:8: \"a/\" cannot be a path\n  |\n3 | path = \"a/\"\n  |        ^^^^\nhint: begin with \"/\", do not end with it, and use letters, digits, \".\", \"_\", \"~\" and \"-\"",
        ),
        (
            "[[agent]]\nname = \"a\"\npath = \"/metrics\"\necho = true\n",
            "a2a.toml:3:8: the path \"/metrics\" belongs to the server\n  |\n3 | path = \"/metrics\"\n  |        ^^^^^^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\ncomand = [\"wc\"]\n",
            "a2a.toml:3:1: [[agent]] has no key \"comand\"\n  |\n3 | comand = [\"wc\"]\n  | ^^^^^^\nhint: did you mean \"command\"?",
        ),
        (
            "[[agent]]\nname = \"a\"\nmodel = \"x\"\n",
            "a2a.toml:3:1: the key \"model\" of [[agent]] is not supported in this release\n  |\n3 | model = \"x\"\n  | ^^^^^\nhint: remove it, or wait for a later release",
        ),
        (
            "[[agent]]\nname = \"a\"\n",
            "a2a.toml:1:1: the agent \"a\" has no back end\n  |\n1 | [[agent]]\n  | ^^^^^^^^^\nhint: add command = [\"program\", \"argument\"] or echo = true",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\necho = true\n",
            "a2a.toml:4:1: the agent \"a\" has two back ends\n  |\n4 | echo = true\n  | ^^^^\nhint: keep one of \"command\" and \"echo\"",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = false\n",
            "a2a.toml:3:8: echo can only be true\n  |\n3 | echo = false\n  |        ^^^^^\nhint: give the agent another back end instead",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\nmode = \"text\"\n",
            "a2a.toml:4:1: mode is for agents with a command\n  |\n4 | mode = \"text\"\n  | ^^^^",
        ),
        ("[[agent]]\nname = \"a\"\ncommand = []\n", "a2a.toml:3:11: command must name a program\n  |\n3 | command = []\n  |           ^^"),
        (
            "[[agent]]\nname = \"a\"\ncommand = \"wc -w\"\n",
            "a2a.toml:3:11: command of [[agent]] must be a list of strings, not a string\n  |\n3 | command = \"wc -w\"\n  |           ^^^^^^^\nhint: write command = [\"wc\", \"-w\"]",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"no-such-program\"]\n",
            "a2a.toml:3:12: there is no program \"no-such-program\"\n  |\n3 | command = [\"no-such-program\"]\n  |            ^^^^^^^^^^^^^^^^^\nhint: it was sought in the folders of PATH",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"./nothing\"]\n",
            "a2a.toml:3:12: there is no program \"./nothing\"\n  |\n3 | command = [\"./nothing\"]\n  |            ^^^^^^^^^^^\nhint: it must be a file that may be executed; relative paths begin at cwd, or at the folder of this file",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\ncwd = \"nowhere\"\n",
            "a2a.toml:4:7: there is no folder \"nowhere\"\n  |\n4 | cwd = \"nowhere\"\n  |       ^^^^^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\nmode = \"json\"\n",
            "a2a.toml:4:8: mode must be \"text\" or \"jsonl\", not \"json\"\n  |\n4 | mode = \"json\"\n  |        ^^^^^^\nhint: did you mean \"jsonl\"?",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\nlifetime = \"pool\"\n",
            "a2a.toml:4:1: lifetime is for mode = \"jsonl\"\n  |\n4 | lifetime = \"pool\"\n  | ^^^^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\nmode = \"jsonl\"\nchunk = \"x\"\n",
            "a2a.toml:5:1: chunk is for mode = \"text\"\n  |\n5 | chunk = \"x\"\n  | ^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\ncommand = [\"wc\"]\nchunk = \"\"\n",
            "a2a.toml:4:9: chunk must not be empty\n  |\n4 | chunk = \"\"\n  |         ^^",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\ncard = \"card.json\"\n",
            "a2a.toml:4:8: there is no file \"card.json\"\n  |\n4 | card = \"card.json\"\n  |        ^^^^^^^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\nskills = \"x\"\n",
            "a2a.toml:4:1: skills of [[agent]] must be a list, not a string\n  |\n4 | skills = \"x\"\n  | ^^^^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\nskills = [{ name = \"x\" }]\n",
            "a2a.toml:4:11: the skill has no id\n  |\n4 | skills = [{ name = \"x\" }]\n  |           ^^^^^^^^^^^^^^\nhint: add id = \"...\"",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\nskills = [\"x\", \"x\"]\n",
            "a2a.toml:4:16: there is a skill \"x\" already\n  |\n4 | skills = [\"x\", \"x\"]\n  |                ^^^",
        ),
        (
            "[[agent]]\nname = \"a\"\necho = true\nskills = [{ id = \"x\", tag = [] }]\n",
            "a2a.toml:4:23: skills has no key \"tag\"\n  |\n4 | skills = [{ id = \"x\", tag = [] }]\n  |                       ^^^\nhint: did you mean \"tags\"?",
        ),
    ] {
        refused(text, words);
    }
}

#[test]
fn a_card_is_laid_over_the_one_that_is_made() {
    let folder = Folder::new();
    folder.write(
        "card.json",
        r#"{"name":"Harbor","capabilities":{"streaming":false},"provider":{"organization":"Port","url":"https://port.example"}}"#,
    );
    let file = folder.write("a2a.toml", "[[agent]]\nname = \"a\"\ndescription = \"d\"\necho = true\ncard = \"card.json\"\n");
    let config = Config::load(&file).unwrap();
    config.check().unwrap();
    let card = &config.agents[0].card;
    assert_eq!((card.name.as_str(), card.description.as_str(), card.capabilities.streaming), ("Harbor", "d", Some(false)));
    assert_eq!(card.capabilities.push_notifications, Some(true));
    assert_eq!(card.provider.as_ref().unwrap().organization, "Port");
    assert_eq!(config.sources(), [file.clone(), folder.path("card.json")]);
    folder.write("card.json", "{\n  \"name\": oops\n}\n");
    let problem = Config::load(&file).unwrap_err().to_string();
    let card = folder.path("card.json").display().to_string();
    assert_eq!(problem, format!("{card}:2:11: the card is not JSON: expected value\n  |\n2 |   \"name\": oops\n  |           ^"));
    folder.write("card.json", "[]");
    assert_eq!(Config::load(&file).unwrap_err().to_string(), format!("{card}: the card must be a JSON object"));
    folder.write("card.json", r#"{"description":""}"#);
    let problem = Config::load(&file).unwrap().check().unwrap_err().to_string();
    assert_eq!(
        problem,
        format!("{}: the card of the agent \"a\" is not valid: Invalid parameters: description is required", file.display())
    );
}

#[test]
fn a_missing_file_is_said_so() {
    let folder = Folder::new();
    let file = folder.path("a2a.toml");
    let words = format!("{}: the file cannot be read: there is no such file", file.display());
    assert_eq!(Config::load(&file).unwrap_err().to_string(), words);
}

#[tokio::test]
async fn a_watch_tells_of_another_content_and_of_nothing_else() {
    let folder = Folder::new();
    let file = folder.write("a2a.toml", "[server]\n");
    let mut watch = Watch::new([file.clone()]).await;
    // Written again with the same content, and gone for a moment: both are no change.
    folder.write("a2a.toml", "[server]\n");
    std::fs::remove_file(&file).unwrap();
    let early = tokio::time::timeout(Duration::from_millis(1_200), watch.changed()).await;
    assert!(early.is_err(), "{early:?}");
    folder.write("a2a.toml", "[server]\nlisten = \"localhost:1\"\n");
    let told = tokio::time::timeout(Duration::from_secs(20), watch.changed()).await;
    assert_eq!(told.unwrap(), file);
}

/// The example of the guide is a file that works.
#[test]
fn the_example_of_the_guide_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    let config = Config::load(folder.join("a2a.toml")).unwrap_or_else(|problem| panic!("{problem}"));
    config.check().unwrap();
    let names: Vec<_> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["words", "greeter", "echo"]);
}

/// What is wrong with who may call is said when the file is read, and never repeats a secret.
#[test]
fn what_is_wrong_with_auth_is_said_without_its_secrets() {
    let scheme = |rest: &str| format!("[[auth.scheme]]\nname = \"key\"\n{rest}\n");
    let holders = "holders = [{ subject = \"ada\", secret = \"k\" }]";
    let exchange = |rest: &str| {
        let jwt = scheme("type = \"jwt\"\nissuer = \"https://id.example\"\naudience = [\"a\"]");
        format!("{jwt}[auth.exchange]\n{rest}\n")
    };
    for (text, words) in [
        ("[auth]\nanonymous = true\n".to_owned(), "[auth] has no scheme"),
        (scheme("type = \"api_key\""), "nobody could prove anything by this scheme"),
        (scheme(&format!("type = \"apikey\"\n{holders}")), "type must be"),
        (scheme(holders), "the scheme has no type"),
        (scheme(&format!("type = \"bearer\"\nfield = \"X\"\n{holders}")), "field is for schemes of another type"),
        (
            scheme("type = \"bearer\"\nholders = [{ subject = \"ada\", secret = \"sha256:CANARY\" }]"),
            "secret must be a text, or \"sha256:\"",
        ),
        (scheme("type = \"bearer\"\nholders = [{ subject = \"ada\", secret = \"\" }]"), "secret is missing"),
        (scheme("type = \"bearer\"\nholders = [{ secret = \"k\" }]"), "subject is missing"),
        (scheme("type = \"jwt\"\nissuer = \"https://id.example\""), "the scheme has no audience"),
        (scheme("type = \"jwt\"\nissuer = \"https://id.example\"\naudience = [\"a\"]\nalgorithms = [\"HS256\"]"), "algorithms must be"),
        (scheme("type = \"jwt\"\nissuer = \"https://id.example\"\naudience = [\"a\"]\nalgorithms = [\"none\"]"), "algorithms must be"),
        (
            format!("[auth]\nrequire = [\"keys\"]\n{}", scheme(&format!("type = \"bearer\"\n{holders}"))),
            "there is no scheme \"keys\" in [auth]",
        ),
        ("[[agent]]\nname = \"a\"\necho = true\nauth = [\"key\"]\n".to_owned(), "there is no scheme \"key\" in [auth]"),
        ("[tls]\ncert = \"c.pem\"\n".to_owned(), "[tls] needs both cert and key"),
        (
            "[[agent]]\nname = \"a\"\necho = true\nskills = [{ id = \"s\", scopes = [\"x\"] }]\n".to_owned(),
            "the skill \"s\" demands scopes of callers that nobody asks who they are",
        ),
        (
            format!(
                "{}[[agent]]\nname = \"a\"\necho = true\nauth = [\"none\"]\nskills = [{{ id = \"s\", scopes = [\"x\"] }}]\n",
                scheme(&format!("type = \"bearer\"\n{holders}"))
            ),
            "the skill \"s\" demands scopes of callers that nobody asks who they are",
        ),
        ("[[agent]]\nname = \"a\"\necho = true\nskills = [{ id = \"s\", scopes = [] }]\n".to_owned(), "scopes must not be empty"),
        (scheme(&format!("type = \"bearer\"\nactors = []\n{holders}")), "actors is for schemes of another type"),
        ("[auth.exchange]\ntoken_url = \"x\"\n".to_owned(), "[auth] has no scheme"),
        (
            format!("{}[auth.exchange]\ntoken_url = \"https://id.example/token\"\n", scheme(&format!("type = \"bearer\"\n{holders}"))),
            "there are no tokens to be exchanged",
        ),
        (exchange("client_id = \"c\"\nclient_secret = \"CANARY\""), "token_url is missing"),
        (exchange("token_url = \"https://id.example/token\"\nclient_id = \"c\""), "client_secret is missing"),
        (
            exchange("token_url = \"http://id.example/token\"\nclient_id = \"c\"\nclient_secret = \"CANARY\""),
            "tokens cannot be exchanged there",
        ),
        (exchange("token_uri = \"https://id.example/token\""), "[auth.exchange] has no key \"token_uri\""),
    ] {
        let problem = parse(&text).expect_err(&text).to_string();
        assert!(problem.contains(words), "{text}\n{problem}");
        assert!(!problem.contains("CANARY"), "{problem}");
    }
}

/// LA-24, LA-37, LA-45: the workflows, how strictly they are kept, and whose tokens are believed.
#[test]
fn how_far_agents_reach_is_read() {
    let folder = Folder::new();
    let key = "ed25519/acdd6d5b53bfee478bf689f8e012fe7988bf755e3d7c5152947abc149bc20189";
    folder.write("refunds.toml", "[workflow]\nname = \"refunds\"\n[[agent]]\nid = \"triage\"\n");
    let file = folder.path("a2a.toml");
    let read = |text: &str| Config::parse(&file, text, &BTreeMap::new()).map(|config| config.lattice);
    let said = format!(
        "[workflows]\nfiles = [\"refunds.toml\"]\n[lattice]\nmode = \"warn\"\nleast_privilege = false\non_violation = \"escalate\"\n\
         approvers = [\"alice\"]\n[[scope.roots]]\nkid = 7\npublic_key = \"{key}\"\n"
    );
    let reach = read(&said).unwrap();
    assert_eq!(reach.workflows[0].1.name, "refunds");
    assert_eq!((reach.mode, reach.least_privilege), (Some(chancery_lattice::Strictness::Warn), false));
    assert_eq!((reach.on_violation, &reach.approvers[..]), (chancery_lattice::OnViolation::Escalate, &["alice".to_owned()][..]));
    assert_eq!(reach.roots, [(7, key.to_owned())]);

    refused(
        "[lattice]\nmode = \"enforced\"",
        "a2a.toml:2:8: mode must be \"off\" or \"warn\" or \"enforce\", not \"enforced\"\n  |\n2 | mode = \"enforced\"\n  |        ^^^^^^^^^^\nhint: did you mean \"enforce\"?",
    );
    refused(
        "[lattice]\napprover = []",
        "a2a.toml:2:1: [lattice] has no key \"approver\"\n  |\n2 | approver = []\n  | ^^^^^^^^\nhint: did you mean \"approvers\"?",
    );
    for (wrong, words) in [
        ("[workflows]\nfiles = [\"none.toml\"]".to_owned(), "the workflow \"none.toml\" cannot be read: there is no such file"),
        ("[[scope.roots]]\npublic_key = \"x\"".to_owned(), "the root has no kid"),
        ("[[scope.roots]]\nkid = 1".to_owned(), "the root has no public_key"),
        ("[[scope.roots]]\nkid = 1\npublic_key = \"ed25519/00\"".to_owned(), "this is no key"),
        (format!("{said}[[scope.roots]]\nkid = 7\npublic_key = \"{key}\""), "there is a root 7 already"),
        ("[scope]\nroot = 1".to_owned(), "[scope] has no key \"root\""),
    ] {
        let problem = read(&wrong).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
    // The guide is read as it stands.
    let guide = include_str!("../../../docs/guide/scope.md");
    let examples: Vec<_> = guide.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    folder.write("refunds.toml", examples[0]);
    assert_eq!(read(examples[1]).unwrap().workflows[0].1.edges[0].label(), "triage->billing");
    assert_eq!((read(examples[2]).unwrap().roots.len(), examples.len()), (1, 3));
    folder.write("refunds.toml", "[[agent]]\nid = \"triage\"\ncrad = 1\n");
    let problem = read(&said).unwrap_err().to_string();
    assert!(problem.starts_with("refunds.toml:"), "{problem}");
}

/// SC-32: the keys are read with the file, in its order, and each problem names its line.
#[test]
fn signing_is_read_with_its_keys() {
    use chancery_signing::{Algorithm, KeyStore};
    let folder = Folder::new();
    let store = KeyStore::new(folder.path("keys"));
    for kid in ["2026-11", "2026-12"] {
        store.generate(Algorithm::EdDsa, kid, jiff::Timestamp::now()).unwrap();
    }
    let load = |signing: &str| {
        let text = format!("[signing]\ndir = \"keys\"\n{signing}[[agent]]\nname = \"echo\"\necho = true\n");
        Config::load(folder.write("a2a.toml", &text))
    };
    let key = |kid: &str, more: &str| format!("[[signing.keys]]\nkid = \"{kid}\"\n{more}");
    let both = load(&(key("2026-11", "") + &key("2026-12", "also_sign = true\n"))).unwrap();
    let signing = both.signing.clone().unwrap();
    assert_eq!(signing.sources().count(), 2);
    assert_eq!(both.sources().len(), 3);
    assert_eq!(load(&(key("2026-11", "") + &key("2026-12", "also_sign = true\n"))).unwrap(), both);
    assert_ne!(load(&(key("2026-12", "") + &key("2026-11", "also_sign = true\n"))).unwrap(), both);
    // The same file with another key in it is another configuration.
    let one = load(&key("2026-12", "")).unwrap();
    store.remove("2026-12").unwrap();
    store.generate(Algorithm::EdDsa, "2026-12", jiff::Timestamp::now()).unwrap();
    assert_ne!(load(&key("2026-12", "")).unwrap(), one);

    for (text, words) in [
        (key("2026-13", ""), "a2a.toml:4:7: there is no key 2026-13"),
        (key("2026-11", "") + &key("2026-11", ""), "there is a key \"2026-11\" already"),
        ("[[signing.keys]]\nalso_sign = true\n".to_owned(), "the key has neither kid nor file"),
        ("[[signing.keys]]\nfile = \"none.pem\"\n".to_owned(), "there is no such file"),
        (key("2026-11", "chain = \"a2a.toml\"\n"), "holds no certificates in PEM"),
        (key("2026-11", "also_sing = true\n"), "did you mean \"also_sign\"?"),
        ("jku = \"http://keys.example/\"\n".to_owned(), "jku must begin with https://"),
        (String::new(), "[signing] has no key"),
    ] {
        let problem = load(&text).unwrap_err().to_string();
        assert!(problem.contains(words), "{text}\n{problem}");
    }
}

/// One configuration for whatever is called on a stranger's word.
#[test]
fn the_guard_is_read() {
    let config = parse("[guard]\nallow = [\"10.0.0.0/8\"]\nloopback = true\n[[agent]]\nname = \"echo\"\necho = true\n").unwrap();
    assert_eq!((config.guard.allow, config.guard.loopback), (vec!["10.0.0.0/8".to_owned()], true));
    let problem = parse("[guard]\nallow = [\"10.0.0.1\"]\n").unwrap_err().to_string();
    assert!(problem.contains("allow must name networks, not \"10.0.0.1\""), "{problem}");
}
