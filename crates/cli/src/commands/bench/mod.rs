//! `a2a bench`: how fast an agent is.

mod histogram;
mod load;
mod process;
mod threshold;

use std::{
    collections::BTreeMap,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use chancery_core::{Message, Operations as _, SendMessage, SendReply, sync::Mutex};
use serde_json::{Value, json};

use self::{histogram::Histogram, load::Load, process::Process, threshold::Threshold};
use crate::{
    args::Bench,
    card,
    connect::{self, Agent},
    context::Context,
    print::Progress,
    settings::time,
    stop,
    trouble::Trouble,
};

/// What was measured.
#[derive(Debug, Clone, Default)]
struct Figures {
    /// Microseconds of whole calls that succeeded.
    latency: Histogram,
    /// Microseconds until the first event.
    first: Histogram,
    errors: u64,
    /// What went wrong, and how often.
    reasons: BTreeMap<String, u64>,
    seconds: f64,
    /// Whether the user ended it before its time.
    stopped: bool,
}

impl Figures {
    fn requests(&self) -> u64 {
        self.latency.total() + self.errors
    }

    fn rate(&self) -> f64 {
        self.requests() as f64 / self.seconds.max(0.001)
    }

    fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.first.merge(&other.first);
        self.errors += other.errors;
        for (reason, count) in &other.reasons {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }
}

/// How many users there are, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stage {
    ends: Duration,
    users: usize,
}

/// The course of a run.
#[derive(Debug, Clone)]
struct Course {
    stages: Vec<Stage>,
    /// How many calls are made; `None` for as many as there is time for.
    calls: Option<u64>,
    /// Calls per second; `None` for as fast as users can.
    rate: Option<f64>,
    /// What the line of progress begins with.
    about: &'static str,
}

impl Course {
    fn users(&self) -> usize {
        self.stages.iter().map(|stage| stage.users).max().unwrap_or_default()
    }

    fn length(&self) -> Duration {
        self.stages.last().map(|stage| stage.ends).unwrap_or_default()
    }
}

pub(crate) async fn run(context: &Context, args: &Bench) -> Result<(), Trouble> {
    let thresholds = args.threshold.iter().map(|text| Threshold::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let course = course(args)?;
    let mut stop = pin!(stop::asked());
    let (agent, load) = tokio::select! {
        prepared = prepare(context, args, &course) => prepared?,
        code = &mut stop => return Err(Trouble::stopped(code)),
    };
    let mut process = args.pid.map(Process::watch).transpose()?;
    if args.warmup > Duration::ZERO && args.scenario != "idle" {
        let stages = vec![Stage { ends: args.warmup, users: course.stages.first().map_or(1, |stage| stage.users) }];
        let warmup = Course { stages, calls: None, rate: course.rate, about: "warming up, " };
        if let (_, Some(code)) = run_course(context, &load, &warmup, None, stop.as_mut()).await {
            context.notes.insist("Stopped: while warming up, so nothing was measured");
            return Err(Trouble::stopped(code));
        }
    }
    // Only what is measured counts.
    if let Some(process) = &mut process {
        *process = Process::watch(process.pid)?;
    }
    let (figures, stopped) = run_course(context, &load, &course, process.as_mut(), stop.as_mut()).await;
    let judged: Vec<_> = thresholds.iter().map(|threshold| (threshold, threshold.holds(&figures))).collect();
    let document = document(args, &agent.client, &course, &figures, process.as_ref(), &judged);
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&document).map_err(|error| Trouble::internal(error.to_string()))? + "\n";
        crate::files::write(path, "--out", text)?;
    }
    show(context, args, &agent.client, &course, &figures, process.as_ref(), &judged, &document)?;
    if let Some(code) = stopped {
        return Err(Trouble::stopped(code));
    }
    if figures.requests() > 0 && figures.latency.total() == 0 {
        let reason = figures.reasons.keys().next().cloned().unwrap_or_default();
        return Err(Trouble::unreachable(format!("no call succeeded: {reason}")).reported());
    }
    match judged.iter().filter(|(_, holds)| !holds).count() {
        0 => Ok(()),
        missed => Err(Trouble::own("THRESHOLD", format!("{missed} of {} thresholds do not hold", judged.len())).reported()),
    }
}

/// The agent, and what is done with it.
async fn prepare(context: &Context, args: &Bench, course: &Course) -> Result<(Agent, Arc<Load>), Trouble> {
    let agent = connect::connected(context, connect::builder(context)?.retries(0).resubscribes(0).poll_failures(0)).await?;
    let url = agent.client.url();
    if !args.yes_remote && !is_near(&url) {
        return Err(Trouble::usage(format!("{url} is not on this machine")).hint("add --yes-remote if you may load that server"));
    }
    let mut load = Load {
        scenario: args.scenario.clone(),
        caller: agent.caller_until(None),
        client: agent.client.clone(),
        http: chancery_net::Client::trusted(&chancery_net::Options::new().direct().no_timeout())
            .map_err(|error| Trouble::internal(error.to_string()))?,
        card: String::new(),
        payload: "x".repeat(args.payload.max(1)),
        chunks: args.chunks,
        limit: context.call_limit(),
        hold: course.length(),
        task: None,
        shared: tokio::sync::Mutex::default(),
    };
    if matches!(args.scenario.as_str(), "get" | "mixed") {
        let sent = agent.client.send_message(&agent.caller(context), SendMessage::new(Message::from("hi"))).await;
        match sent.map_err(|error| agent.trouble(context, error))? {
            SendReply::Task(task) => load.task = Some(task.id),
            SendReply::Message(_) => return Err(Trouble::own("CHECKS_FAILED", "the agent makes no tasks that could be read")),
        }
    }
    if args.scenario == "card" {
        let found = card::find(context).await?;
        load.card = found.url.ok_or_else(|| Trouble::usage("a card in a file cannot be measured").hint("name a host"))?;
    }
    Ok((agent, Arc::new(load)))
}

/// What the flags ask for.
fn course(args: &Bench) -> Result<Course, Trouble> {
    let wrong = |what: String| Trouble::usage(what).hint("a2a bench --help");
    if args.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
        return Err(wrong("--rate must be more than nothing".to_owned()));
    }
    let mut stages = Vec::new();
    let mut ends = Duration::ZERO;
    for stage in args.stages.iter().flat_map(|text| text.split(',')) {
        let read = stage.split_once(':').and_then(|(length, users)| Some((time(length.trim()).ok()?, users.trim().parse().ok()?)));
        let Some((length, users)) = read else { return Err(wrong(format!("--stages: {stage:?} is not like 10s:50"))) };
        ends += length;
        stages.push(Stage { ends, users });
    }
    if stages.is_empty() {
        // A number of calls ends by itself, but not never.
        let ends = if args.requests.is_some() { args.duration.max(Duration::from_secs(3_600)) } else { args.duration };
        stages.push(Stage { ends, users: args.users });
    }
    if stages.iter().all(|stage| stage.users == 0) {
        return Err(wrong("there are no users".to_owned()));
    }
    // A stream that is only held lasts as long as the run, so one for each user is all there can be.
    let calls =
        if args.scenario == "idle" { Some(stages.iter().map(|stage| stage.users).max().unwrap_or(1) as u64) } else { args.requests };
    Ok(Course { stages, calls, rate: args.rate, about: "" })
}

/// What a user has measured so far.
type Shared = Arc<Mutex<Figures>>;

/// Lets all users work until the end, or until the user of this program has enough, and gives what they measured.
async fn run_course(
    context: &Context,
    load: &Arc<Load>,
    course: &Course,
    mut process: Option<&mut Process>,
    mut stop: Pin<&mut impl Future<Output = u8>>,
) -> (Figures, Option<u8>) {
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let mut users = tokio::task::JoinSet::new();
    let measured: Vec<Shared> = (0..course.users()).map(|_| Shared::default()).collect();
    for (user, own) in measured.iter().enumerate() {
        users.spawn(work(user, load.clone(), course.clone(), next.clone(), begun, own.clone()));
    }
    let line = Progress::new(&context.notes, context.printer.is_json());
    let (mut broken, mut stopped) = (0, None);
    loop {
        tokio::select! {
            biased;
            code = &mut stop => {
                stopped = Some(code);
                break;
            }
            done = users.join_next() => match done {
                Some(done) => broken += u64::from(done.is_err()),
                None => break,
            },
            () = tokio::time::sleep(process::PAUSE) => {
                if let Some(process) = process.as_deref_mut() {
                    process.look();
                }
                line.show(&so_far(course, &measured, begun.elapsed()));
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    // Calls that are under way are given up, and do not count.
    users.shutdown().await;
    if let Some(process) = process {
        process.look();
    }
    context.notes.clear();
    let mut figures = Figures { errors: broken, seconds, stopped: stopped.is_some(), ..Figures::default() };
    measured.iter().for_each(|own| figures.merge(&own.lock()));
    (figures, stopped)
}

/// `3 of 10 s, 5321 calls (1773/s), 2 errors`
fn so_far(course: &Course, measured: &[Shared], since: Duration) -> String {
    let (calls, errors) = measured.iter().fold((0, 0), |(calls, errors), own| {
        let own = own.lock();
        (calls + own.requests(), errors + own.errors)
    });
    let seconds = since.as_secs_f64();
    let rate = calls as f64 / seconds.max(0.001);
    let errors = match errors {
        0 => String::new(),
        1 => ", 1 error".to_owned(),
        errors => format!(", {errors} errors"),
    };
    let about = course.about;
    match course.calls {
        Some(all) => format!("{about}{calls} of {all} calls in {seconds:.0} s ({rate:.0}/s){errors}"),
        None => format!("{about}{seconds:.0} of {:.0} s, {calls} calls ({rate:.0}/s){errors}", course.length().as_secs_f64()),
    }
}

/// One user.
async fn work(user: usize, load: Arc<Load>, course: Course, next: Arc<AtomicU64>, begun: Instant, own: Shared) {
    loop {
        let since = begun.elapsed();
        let Some(stage) = course.stages.iter().find(|stage| since < stage.ends) else { return };
        if user >= stage.users {
            tokio::time::sleep(stage.ends - since).await;
            continue;
        }
        let turn = next.fetch_add(1, Ordering::Relaxed);
        if course.calls.is_some_and(|calls| turn >= calls) {
            return;
        }
        let mut from = Instant::now();
        if let Some(rate) = course.rate {
            // What is late because all users are busy counts as late: the time is that of the plan.
            from = begun + Duration::from_secs_f64(turn as f64 / rate);
            if from - begun >= course.length() {
                return;
            }
            tokio::time::sleep_until(from.into()).await;
        }
        let called = Instant::now();
        let done = load.one(turn).await;
        let took = from.elapsed();
        let failed = done.is_err();
        {
            let mut own = own.lock();
            match done {
                Ok(done) => {
                    own.latency.record(micros(took));
                    if let Some(first) = done.first {
                        own.first.record(micros(first + (called - from)));
                    }
                }
                Err(error) => {
                    own.errors += 1;
                    *own.reasons.entry(error.to_string()).or_default() += 1;
                }
            }
        }
        if failed {
            // A server that refuses at once is not asked a hundred thousand times a second.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Whether an address is on this machine.
fn is_near(url: &str) -> bool {
    let parsed = url::Url::parse(url).or_else(|_| url::Url::parse(&format!("http://{url}")));
    parsed.is_ok_and(|url| match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    })
}

fn document(
    args: &Bench,
    client: &chancery_client::Client,
    course: &Course,
    figures: &Figures,
    process: Option<&Process>,
    judged: &[(&Threshold, bool)],
) -> Value {
    let times = |times: &Histogram| {
        let of = |percent| times.percentile(percent) as f64 / 1e3;
        json!({"count": times.total(), "p50": of(50.0), "p90": of(90.0), "p99": of(99.0), "max": times.max() as f64 / 1e3})
    };
    let rounded = |number: f64| (number * 100.0).round() / 100.0;
    json!({
        "label": args.label,
        "scenario": args.scenario,
        "binding": client.binding().as_str(),
        "version": client.version().as_str(),
        "users": course.users(),
        "rateWanted": args.rate,
        "payload": args.payload,
        "chunks": (args.scenario == "stream").then_some(args.chunks),
        "seconds": rounded(figures.seconds),
        "stopped": figures.stopped,
        "requests": figures.requests(),
        "rate": rounded(figures.rate()),
        "errors": figures.errors,
        "reasons": figures.reasons,
        "latencyMs": times(&figures.latency),
        "firstEventMs": (figures.first.total() > 0).then(|| times(&figures.first)),
        "process": process.map(|process| json!({
            "pid": process.pid, "memoryKib": {"begin": process.memory.0, "max": process.memory.1, "end": process.memory.2},
            "cpuPercent": rounded(process.load()),
        })),
        "thresholds": judged.iter().map(|(threshold, holds)| json!({"threshold": threshold.text, "holds": holds})).collect::<Vec<_>>(),
    })
}

#[allow(clippy::too_many_arguments, reason = "everything that was measured is shown")]
fn show(
    context: &Context,
    args: &Bench,
    client: &chancery_client::Client,
    course: &Course,
    figures: &Figures,
    process: Option<&Process>,
    judged: &[(&Threshold, bool)],
    document: &Value,
) -> Result<(), Trouble> {
    context.printer.result(document, |text| {
        text.known("Label", args.label.as_deref().unwrap_or_default());
        let (binding, version) = (client.binding(), client.version());
        let what = match args.scenario.as_str() {
            "stream" => format!(", {} chunks", args.chunks),
            "send" | "mixed" => format!(", {} bytes", args.payload),
            _ => String::new(),
        };
        let rate = args.rate.map(|rate| format!(", {rate}/s wanted")).unwrap_or_default();
        text.field("Scenario", &format!("{} {binding} {version}, {} users{what}{rate}", args.scenario, course.users()));
        if figures.stopped {
            text.field("Stopped", &format!("after {:.1} s; what was under way then does not count", figures.seconds));
        }
        text.field("Requests", &format!("{} ({:.0}/s), errors {}", figures.requests(), figures.rate(), figures.errors));
        for (reason, count) in figures.reasons.iter().take(5) {
            text.field("Error", &format!("{count} times: {reason}"));
        }
        let of = |times: &Histogram, percent| shown(times.percentile(percent));
        if figures.latency.total() > 0 {
            let times = &figures.latency;
            let all = format!("p50 {}, p90 {}, p99 {}, max {}", of(times, 50.0), of(times, 90.0), of(times, 99.0), shown(times.max()));
            text.field("Latency", &all);
        }
        if figures.first.total() > 0 {
            text.field("First event", &format!("p50 {}, p99 {}", of(&figures.first, 50.0), of(&figures.first, 99.0)));
        }
        if let Some(process) = process {
            let (begin, max, end) = process.memory;
            let mib = |kib: u64| kib as f64 / 1_024.0;
            let memory = format!("{:.1} MiB at the beginning, {:.1} at most, {:.1} at the end", mib(begin), mib(max), mib(end));
            text.field("Memory", &memory);
            text.field("Processor", &format!("{:.0} % of one", process.load()));
        }
        for (threshold, holds) in judged {
            text.field("Threshold", &format!("{} {}", threshold.text, if *holds { "ok" } else { "does not hold" }));
        }
    })
}

/// Microseconds as people read them.
fn shown(micros: u64) -> String {
    match micros as f64 / 1e3 {
        millis if millis < 10.0 => format!("{millis:.1} ms"),
        millis => format!("{millis:.0} ms"),
    }
}
