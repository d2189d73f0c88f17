//! `a2a task push-config …`: the webhooks of a task.

use chancery_core::{DeletePushConfig, GetPushConfig, ListPushConfigs, Operations as _, PushConfig as Config, PushConfigPage};
use serde_json::json;

use crate::{
    args::{PushConfig, PushConfigCreate, PushConfigList, PushConfigOne},
    connect::{self, Agent, Capability},
    context::Context,
    print::{Table, Text},
    resume,
    trouble::Trouble,
    wait::Wait,
};

pub(crate) async fn run(context: &Context, args: &PushConfig) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    let task = match args {
        PushConfig::Create(args) => &args.task,
        PushConfig::Get(args) | PushConfig::Delete(args) => &args.task,
        PushConfig::List(args) => &args.task,
    };
    agent.require(Capability::PushNotifications, || {
        format!("a2a task get{} --wait {}", resume::same(&context.settings), resume::quoted(task))
    })?;
    match args {
        PushConfig::Create(args) => create(context, &agent, args).await,
        PushConfig::Get(args) => get(context, &agent, args).await,
        PushConfig::List(args) => list(context, &agent, args).await,
        PushConfig::Delete(args) => delete(context, &agent, args).await,
    }
}

async fn create(context: &Context, agent: &Agent, args: &PushConfigCreate) -> Result<(), Trouble> {
    let variable = |name: &str| context.settings.layers.variable(name);
    let mut config = Config::new(&args.url).for_task(args.task.as_str());
    if let Some(id) = &args.id {
        config = config.id(id.as_str());
    }
    if let Some(token) = args.token.clone().or_else(|| variable("A2ACLI_TOKEN")) {
        config = config.token(token);
    }
    let credentials = args.auth_credentials.clone().or_else(|| variable("A2ACLI_AUTH_CREDENTIALS"));
    match (&args.auth_scheme, credentials) {
        (Some(scheme), credentials) => config = config.authentication(scheme, credentials.unwrap_or_default()),
        (None, Some(_)) if args.auth_credentials.is_some() => {
            return Err(Trouble::usage("--auth-credentials needs --auth-scheme").hint("add --auth-scheme Bearer"));
        }
        (None, _) => {}
    }
    let mut wait = Wait::new(context, agent)?;
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.create_push_config(&caller, config)).await;
    let made = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    context.printer.result(&made, |text| write(text, &made))
}

async fn get(context: &Context, agent: &Agent, args: &PushConfigOne) -> Result<(), Trouble> {
    let mut wait = Wait::new(context, agent)?;
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.get_push_config(&caller, GetPushConfig::new(args.task.as_str(), args.id.as_str()))).await;
    let config = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    context.printer.result(&config, |text| write(text, &config))
}

async fn delete(context: &Context, agent: &Agent, args: &PushConfigOne) -> Result<(), Trouble> {
    let mut wait = Wait::new(context, agent)?;
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.delete_push_config(&caller, DeletePushConfig::new(args.task.as_str(), args.id.as_str()))).await;
    asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    context.printer.result(&json!({}), |text| text.field("Deleted", &args.id))
}

async fn list(context: &Context, agent: &Agent, args: &PushConfigList) -> Result<(), Trouble> {
    let mut wait = Wait::new(context, agent)?;
    let mut request = ListPushConfigs::new(args.task.as_str());
    request.page_size = args.page_size.unwrap_or(0);
    request.page_token = args.page_token.clone().unwrap_or_default();
    let mut all = Vec::new();
    let page = loop {
        let caller = agent.caller(context);
        let asked = wait.call(agent.client.list_push_configs(&caller, request.clone())).await;
        let mut page = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
        all.append(&mut page.configs);
        if !args.all || page.next_page_token.is_empty() || page.next_page_token == request.page_token {
            let mut whole = PushConfigPage::new(all);
            whole.next_page_token = page.next_page_token;
            break whole;
        }
        request.page_token = page.next_page_token;
    };
    if context.settings.stream && context.printer.is_json() {
        return page.configs.iter().try_for_each(|config| context.printer.line(config));
    }
    context.printer.list(&page, |text| write_page(text, &page), || table(&page))
}

fn write_page(text: &mut Text, page: &PushConfigPage) {
    let count = page.configs.len();
    for (at, config) in page.configs.iter().enumerate() {
        text.field("Push config", &format!("{} of {count}", at + 1));
        write(text, config);
    }
    text.field("Total", &count.to_string());
    text.known("Next page token", &page.next_page_token);
}

/// What the webhook is given to prove itself stays out of sight in text.
fn write(text: &mut Text, config: &Config) {
    text.field("Task ID", config.task_id.as_str());
    text.field("Config ID", config.id.as_str());
    text.field("URL", &config.url);
    if !config.token.is_empty() {
        text.field("Token", "set, hidden");
    }
    if let Some(authentication) = &config.authentication {
        text.field("Authentication", &format!("{}, hidden", authentication.scheme));
    }
}

fn table(page: &PushConfigPage) -> Table {
    let mut table = Table::new(&["Config ID", "Task ID", "URL"]);
    page.configs.iter().for_each(|config| table.row([config.id.as_str(), config.task_id.as_str(), &config.url]));
    table
}
