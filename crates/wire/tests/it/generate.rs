//! Values of every shape, made from a number: the same number gives the same value, so a failing
//! case is repeated by its number.

use std::collections::BTreeMap;

use chancery_core::{
    Artifact, ArtifactUpdate, Authentication, Binding, Bytes, CancelTask, Card, Content, DeletePushConfig, Error, ErrorKind, Event,
    Extension, GetExtendedCard, GetPushConfig, GetTask, Interface, ListPushConfigs, ListTasks, Message, Object, Operation, Part, Provider,
    PushConfig, PushConfigPage, Reply, Request, Role, SecurityRequirement, SecurityScheme, SendConfiguration, SendMessage, SendReply,
    Signature, Skill, StatusUpdate, Subscribe, Task, TaskPage, TaskState, TaskStatus, Timestamp, Version,
    security::{
        ApiKeyLocation, ApiKeyScheme, AuthorizationCodeFlow, ClientCredentialsFlow, DeviceCodeFlow, HttpAuthScheme, ImplicitFlow,
        MutualTlsScheme, OAuth2Scheme, OAuthFlow, OpenIdConnectScheme, PasswordFlow,
    },
};
use serde_json::Value;

/// A source of values.
pub struct Generator(u64);

impl Generator {
    pub fn new(case: u64) -> Self {
        Self(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// SplitMix64.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0..end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.bits() % end as u64).unwrap()
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.chance(2) { Some(make(self)) } else { None }
    }

    fn list<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(most)).map(|_| make(self)).collect()
    }

    /// Text with everything that JSON and people can hold.
    pub fn text(&mut self) -> String {
        let words = [
            "",
            "tide",
            "a b",
            "é",
            "港",
            "🚢",
            "\"",
            "\\",
            "\n",
            "\u{1}",
            "/",
            "null",
            "0",
            "kind",
            "\u{2028}",
            "<b>",
            "ü—ß",
            "TASK_STATE_WORKING",
        ];
        (0..self.below(4)).map(|_| self.pick(&words)).collect()
    }

    fn word(&mut self) -> String {
        format!("{}{}", self.pick(&["tide", "quay", "ü", "x y", "港"]), self.below(50))
    }

    fn id(&mut self) -> String {
        match self.below(3) {
            0 => format!("t-{}", self.below(1000)),
            1 => format!("{:016x}-{:04x}", self.bits(), self.below(0xffff)),
            _ => format!("id.{}_ü", self.below(9)),
        }
    }

    fn url(&mut self) -> String {
        format!("https://{}.example/p?q={}#f", self.pick(&["a", "files", "hooks"]), self.below(99))
    }

    fn media_type(&mut self) -> String {
        self.pick(&["text/markdown", "image/png", "application/vnd.x+json", "text/csv"]).to_owned()
    }

    /// A whole number of milliseconds, because that is what all versions write.
    fn time(&mut self) -> Timestamp {
        let millis = i64::try_from(self.bits() % 4_000_000_000_000).unwrap();
        Timestamp::from_unix_millis(millis - 1_000_000_000_000).unwrap()
    }

    /// Any JSON; numbers as exact as a double, since some versions have no other.
    pub fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => Value::Bool(self.chance(2)),
            2 => Value::from(self.below(1 << 20)),
            3 => Value::from(-i64::try_from(self.below(1 << 40)).unwrap()),
            4 => Value::from(f64::from(u32::try_from(self.below(1_000_000)).unwrap()) + 0.25),
            5 => Value::from(self.text()),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::from(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: usize) -> Object {
        (0..self.below(4)).map(|_| (self.word(), self.value(depth))).collect()
    }

    fn metadata(&mut self) -> Object {
        if self.chance(2) {
            return Object::new();
        }
        let depth = self.below(4);
        self.object(depth)
    }

    pub fn part(&mut self) -> Part {
        let content = match self.below(4) {
            0 => Content::Text(self.text()),
            1 => Content::Raw(Bytes::from((0..self.below(20)).map(|_| self.bits().to_le_bytes()[0]).collect::<Vec<_>>())),
            2 => Content::Url(self.url()),
            _ => Content::Data(self.value(3)),
        };
        let mut part = Part::new(content);
        part.metadata = self.metadata();
        part.filename = self.maybe(Self::word).unwrap_or_default();
        part.media_type = self.maybe(Self::media_type).unwrap_or_default();
        part
    }

    fn message_of(&mut self, role: Role) -> Message {
        let mut message = Message::new(role, self.some(3, Self::part)).id(self.id());
        message.context_id = self.maybe(|make| make.id().into());
        message.task_id = self.maybe(|make| make.id().into());
        message.metadata = self.metadata();
        message.extensions = self.list(2, Self::url);
        message.reference_task_ids = self.list(2, |make| make.id().into());
        message
    }

    pub fn message(&mut self) -> Message {
        let role = self.pick(&[Role::User, Role::Agent]);
        self.message_of(role)
    }

    fn artifact_named(&mut self, id: String) -> Artifact {
        let mut artifact = Artifact::new(self.part()).id(id);
        artifact.parts.extend(self.list(2, Self::part));
        artifact.name = self.maybe(Self::word).unwrap_or_default();
        artifact.description = self.maybe(Self::word).unwrap_or_default();
        artifact.metadata = self.metadata();
        artifact.extensions = self.list(2, Self::url);
        artifact
    }

    pub fn status(&mut self) -> TaskStatus {
        let mut status = TaskStatus::new(self.pick(&TaskState::ALL[1..]));
        status.message = self.maybe(|make| make.message_of(Role::Agent));
        status.timestamp = self.maybe(Self::time);
        status
    }

    pub fn task(&mut self) -> Task {
        let status = self.status();
        let mut task = Task::new(self.id(), self.id(), status);
        task.artifacts = (0..self.below(3)).map(|at| format!("art-{at}")).map(|id| self.artifact_named(id)).collect();
        task.history = self.list(3, Self::message);
        task.metadata = self.metadata();
        task
    }

    /// A stream as a server sends it: a message, or a task and what happens to it afterwards.
    pub fn stream(&mut self) -> Vec<Event> {
        if self.chance(8) {
            return vec![self.message_of(Role::Agent).into()];
        }
        let task = self.task();
        let (id, context) = (task.id.clone(), task.context_id.clone());
        let mut known = task.artifacts.len();
        let mut events = vec![Event::from(task)];
        for _ in 0..self.below(5) {
            let mut event = if self.chance(2) {
                let mut update = StatusUpdate::new(id.clone(), context.clone(), self.status());
                update.metadata = self.metadata();
                Event::from(update)
            } else {
                let append = known > 0 && self.chance(2);
                let name = if append { self.below(known) } else { known };
                known = known.max(name + 1);
                let mut update = ArtifactUpdate::new(id.clone(), context.clone(), self.artifact_named(format!("art-{name}")));
                (update.append, update.last_chunk) = (append, self.chance(3));
                Event::from(update)
            };
            if let Event::Artifact(update) = &mut event {
                update.metadata = self.metadata();
            }
            events.push(event);
        }
        events
    }

    pub fn push_config(&mut self) -> PushConfig {
        let mut config = PushConfig::new(self.url()).id(self.id()).for_task(self.id());
        config.token = self.maybe(Self::word).unwrap_or_default().into();
        config.authentication = self.maybe(|make| {
            let scheme = make.pick(&["Bearer", "Basic", "Digest"]);
            Authentication::new(scheme, make.maybe(Self::word).unwrap_or_default())
        });
        config
    }

    fn tenant(&mut self) -> String {
        self.maybe(|make| format!("tenant-{}", make.below(9))).unwrap_or_default()
    }

    fn send(&mut self) -> SendMessage {
        let mut send = SendMessage::new(self.message_of(Role::User));
        send.tenant = self.tenant();
        send.metadata = self.metadata();
        let mut configuration = SendConfiguration::default();
        configuration.accepted_output_modes = self.list(2, Self::media_type);
        configuration.push_config = self.maybe(|make| {
            let mut config = make.push_config();
            config.task_id = String::new().into();
            Box::new(config)
        });
        configuration.history_length = self.maybe(|make| i32::try_from(make.below(9)).unwrap());
        configuration.return_immediately = self.chance(2);
        send.configuration = configuration;
        send
    }

    pub fn request(&mut self, operation: Operation) -> Request {
        let mut request = match operation {
            Operation::SendMessage => Request::SendMessage(Box::new(self.send())),
            Operation::StreamMessage => Request::StreamMessage(Box::new(self.send())),
            Operation::GetTask => {
                let mut get = GetTask::new(self.id());
                get.history_length = self.maybe(|make| i32::try_from(make.below(9)).unwrap());
                Request::GetTask(get)
            }
            Operation::ListTasks => {
                let mut list = ListTasks::default();
                list.context_id = self.maybe(|make| make.id().into());
                list.status = self.maybe(|make| make.pick(&TaskState::ALL[1..])).unwrap_or_default();
                list.page_size = self.maybe(|make| i32::try_from(make.below(100)).unwrap() + 1);
                list.page_token = self.maybe(Self::word).unwrap_or_default();
                list.history_length = self.maybe(|make| i32::try_from(make.below(9)).unwrap());
                list.status_timestamp_after = self.maybe(Self::time);
                list.include_artifacts = self.maybe(|make| make.chance(2));
                Request::ListTasks(list)
            }
            Operation::CancelTask => {
                let mut cancel = CancelTask::new(self.id());
                cancel.metadata = self.metadata();
                Request::CancelTask(cancel)
            }
            Operation::Subscribe => Request::Subscribe(Subscribe::new(self.id())),
            Operation::CreatePushConfig => Request::CreatePushConfig(Box::new(self.push_config())),
            Operation::GetPushConfig => Request::GetPushConfig(GetPushConfig::new(self.id(), self.id())),
            Operation::ListPushConfigs => {
                let mut list = ListPushConfigs::new(self.id());
                list.page_size = self.maybe(|make| i32::try_from(make.below(50)).unwrap()).unwrap_or_default();
                list.page_token = self.maybe(Self::word).unwrap_or_default();
                Request::ListPushConfigs(list)
            }
            Operation::DeletePushConfig => Request::DeletePushConfig(DeletePushConfig::new(self.id(), self.id())),
            Operation::GetExtendedCard => Request::GetExtendedCard(GetExtendedCard::default()),
        };
        request.set_tenant(self.tenant());
        request
    }

    pub fn reply(&mut self, operation: Operation) -> Reply {
        match operation {
            Operation::SendMessage if self.chance(3) => Reply::Sent(SendReply::from(self.message_of(Role::Agent))),
            Operation::SendMessage => Reply::Sent(SendReply::from(self.task())),
            Operation::ListTasks => {
                let tasks = self.list(3, Self::task);
                let total = i32::try_from(tasks.len() + self.below(9)).unwrap();
                let mut page = TaskPage::new(tasks, i32::try_from(self.below(100)).unwrap() + 1, total);
                page.next_page_token = self.maybe(Self::word).unwrap_or_default();
                page.with_artifacts = page.tasks.iter().any(|task| !task.artifacts.is_empty());
                Reply::Tasks(page.into())
            }
            Operation::CreatePushConfig | Operation::GetPushConfig => Reply::PushConfig(Box::new(self.push_config())),
            Operation::ListPushConfigs => Reply::PushConfigs(PushConfigPage::new(self.list(3, Self::push_config))),
            Operation::DeletePushConfig => Reply::Deleted,
            Operation::GetExtendedCard => Reply::Card(Box::new(self.card())),
            _ => Reply::Task(self.task().into()),
        }
    }

    fn scopes(&mut self) -> BTreeMap<String, String> {
        (0..self.below(3)).map(|_| (self.word(), self.text())).collect()
    }

    fn flow(&mut self) -> OAuthFlow {
        let refresh = self.maybe(Self::url).unwrap_or_default();
        match self.below(5) {
            0 => {
                let mut flow = AuthorizationCodeFlow::default();
                (flow.authorization_url, flow.token_url, flow.refresh_url) = (self.url(), self.url(), refresh);
                (flow.scopes, flow.pkce_required) = (self.scopes(), self.chance(2));
                OAuthFlow::AuthorizationCode(flow)
            }
            1 => {
                let mut flow = ClientCredentialsFlow::default();
                (flow.token_url, flow.refresh_url, flow.scopes) = (self.url(), refresh, self.scopes());
                OAuthFlow::ClientCredentials(flow)
            }
            2 => {
                let mut flow = DeviceCodeFlow::default();
                (flow.device_authorization_url, flow.token_url) = (self.url(), self.url());
                (flow.refresh_url, flow.scopes) = (refresh, self.scopes());
                OAuthFlow::DeviceCode(flow)
            }
            3 => {
                let mut flow = ImplicitFlow::default();
                (flow.authorization_url, flow.refresh_url, flow.scopes) = (self.url(), refresh, self.scopes());
                OAuthFlow::Implicit(flow)
            }
            _ => {
                let mut flow = PasswordFlow::default();
                (flow.token_url, flow.refresh_url, flow.scopes) = (self.url(), refresh, self.scopes());
                OAuthFlow::Password(flow)
            }
        }
    }

    pub fn scheme(&mut self) -> SecurityScheme {
        let description = self.maybe(Self::word).unwrap_or_default();
        match self.below(5) {
            0 => {
                let mut scheme = ApiKeyScheme::new(self.pick(ApiKeyLocation::ALL), self.word());
                scheme.description = description;
                SecurityScheme::ApiKey(scheme)
            }
            1 => {
                let mut scheme = HttpAuthScheme::new(self.pick(&["Bearer", "Basic"]), self.maybe(|_| "JWT").unwrap_or_default());
                scheme.description = description;
                SecurityScheme::HttpAuth(scheme)
            }
            2 => {
                let mut scheme = OAuth2Scheme::new(self.flow());
                (scheme.description, scheme.metadata_url) = (description, self.maybe(Self::url).unwrap_or_default());
                SecurityScheme::OAuth2(scheme)
            }
            3 => {
                let mut scheme = OpenIdConnectScheme::new(self.url());
                scheme.description = description;
                SecurityScheme::OpenIdConnect(scheme)
            }
            _ => {
                let mut scheme = MutualTlsScheme::default();
                scheme.description = description;
                SecurityScheme::MutualTls(scheme)
            }
        }
    }

    fn requirements(&mut self, names: &[String]) -> Vec<SecurityRequirement> {
        if names.is_empty() {
            return Vec::new();
        }
        self.list(2, |make| {
            let one = SecurityRequirement::new().and(make.pick(names), make.list(2, Self::word));
            if make.chance(3) { one.and(make.pick(names), Vec::<String>::new()) } else { one }
        })
    }

    pub fn card(&mut self) -> Card {
        let mut card = Card::new(self.word(), self.word()).version(format!("{}.{}", self.below(9), self.below(9)));
        card.supported_interfaces = vec![Interface::new(self.url(), Binding::JsonRpc.as_str(), Version::V1_0.as_str())];
        card.supported_interfaces.extend(self.list(2, |make| {
            let binding = make.pick(&[Binding::JsonRpc, Binding::HttpJson]);
            let version = make.pick(&[Version::V1_0, Version::V0_3]);
            Interface::new(make.url(), binding.as_str(), version.as_str()).tenant(make.tenant())
        }));
        card.provider = self.maybe(|make| Provider::new(make.word(), make.url()));
        card.documentation_url = self.maybe(Self::url);
        card.icon_url = self.maybe(Self::url);
        card.capabilities.streaming = self.maybe(|make| make.chance(2));
        card.capabilities.push_notifications = self.maybe(|make| make.chance(2));
        card.capabilities.extended_agent_card = self.maybe(|make| make.chance(2));
        let mut number = 0;
        card.capabilities.extensions = self.list(2, |make| {
            number += 1;
            let mut extension = Extension::new(format!("urn:example:{number}:{}", make.below(9))).described(make.text());
            extension.required = make.chance(2);
            extension.params = make.maybe(|make| make.object(2));
            extension
        });
        let names: Vec<String> = (0..self.below(4)).map(|at| format!("scheme{at}")).collect();
        card.security_schemes = names.iter().map(|name| (name.clone(), self.scheme())).collect();
        card.security_requirements = self.requirements(&names);
        card.default_input_modes = self.some(2, Self::media_type);
        card.default_output_modes = self.some(2, Self::media_type);
        card.skills = self.some(2, |make| {
            let mut skill = Skill::new(make.id(), make.word()).named(make.word()).tags(make.some(2, Self::word));
            skill.examples = make.list(2, Self::word);
            skill.input_modes = make.list(2, Self::media_type);
            skill.output_modes = make.list(2, Self::media_type);
            skill.security_requirements = make.requirements(&names);
            skill
        });
        card.signatures = self.list(1, |make| {
            let mut signature = Signature::new("eyJhbGciOiJFUzI1NiJ9", "AAAA");
            signature.header = make.maybe(|make| make.object(1));
            signature
        });
        card
    }

    pub fn error(&mut self) -> Error {
        let kind = self.pick(ErrorKind::ALL);
        let mut error = Error::new(kind, self.word());
        for _ in 0..self.below(3) {
            error = error.with(self.word(), self.text());
        }
        if kind == ErrorKind::InvalidParams {
            for _ in 0..self.below(3) {
                error = error.violation(self.word(), self.text());
            }
        }
        error
    }
}
