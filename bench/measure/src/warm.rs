//! Measures warm invocations of a function through the runtime. Compares them with the DynamoDB
//! call of the function, and with a function that does nothing.

use crate::{
    calls::timed,
    delay::{AWAY, Delayed},
};
use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, ReturnConsumedCapacity},
};
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::HashMap, process::Stdio};
use system_tests::{
    Asks, root,
    runtime::{self, Runtime},
    stack,
};
use tokio::process::Child;
use uuid::Uuid;

const ACCOUNT: &str = "Account123";
const TIME: &str = "2099-12-01T09:30:00Z";
const PAGE: usize = 50;
const WARM_UP: usize = 100;
const ROUNDS: usize = 200;
/// The measured functions.
const FUNCTIONS: [&str; 3] = ["get-payment", "schedule-payment", "list-account-payments"];

type Row = HashMap<String, AttributeValue>;

/// Measures three functions with a distant DynamoDB.
pub(crate) async fn measure() -> Value {
    let stack = stack().start().await.expect("a stack");
    let rows = fill(&stack).await;
    let (delayed, mut functions) = (Delayed::start(stack.dynamo_url(), AWAY).await, json!({}));
    for function in FUNCTIONS {
        let mut against = Against::start(&stack, delayed.url(), function, rows.clone()).await;
        functions[function] = against.run().await;
        against.stop().await;
    }
    stack.stop().await;
    json!({"away_ms": AWAY.as_millis(), "page": PAGE, "functions": functions})
}

/// Schedules `PAGE` payments for one account, and returns their items.
async fn fill(stack: &Stack) -> Vec<Row> {
    let client = system_tests::Client::operator(stack);
    for _ in 0..PAGE {
        let answer = client.post(&format!("/bank/accounts/{ACCOUNT}/payments"), &new()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let scan = stack.client().expect("a client").scan().table_name(table(stack)).send().await;
    scan.expect("items").items.expect("items")
}

fn new() -> Value {
    json!({"scheduledTime": TIME, "data": {"amount": "12.50", "currency": "EUR", "memo": "Rent of December"}})
}

fn table(stack: &Stack) -> String {
    stack.table("PaymentScheduler").expect("a table").to_owned()
}

/// The three parts of a comparison: a function, its DynamoDB call alone, and a function that does
/// nothing.
struct Against {
    function: &'static str,
    ours: Runtime,
    hello: Runtime,
    processes: Vec<Child>,
    bare: Client,
    table: String,
    rows: Vec<Row>,
}

impl Against {
    async fn start(stack: &Stack, dynamo: &str, function: &'static str, rows: Vec<Row>) -> Self {
        let (ours, hello) = (Runtime::start().await, Runtime::start().await);
        let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == function).expect("a function");
        let mut settings: Vec<_> =
            lambda.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        settings.push(("AWS_ENDPOINT_URL_DYNAMODB", dynamo));
        let binaries =
            [(format!("target/lambda/{function}/bootstrap"), &ours), ("target/peers/hello".to_owned(), &hello)];
        let start = |(path, runtime): (String, &Runtime)| {
            let path = root().join(path);
            let mut command = runtime::command(&path, function, &runtime.address, &settings);
            command.stdout(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let processes = binaries.map(start).into();
        let bare = stack.client().expect("a client").config().to_builder().endpoint_url(dynamo).build();
        Self { function, ours, hello, processes, bare: Client::from_conf(bare), table: table(stack), rows }
    }

    /// Returns the times of the function, the DynamoDB call and hello-world, per round.
    async fn run(&mut self) -> Value {
        let mut times = [const { Vec::new() }; 3];
        for round in 0..WARM_UP + ROUNDS {
            for turn in 0..times.len() {
                let who = (round + turn) % times.len();
                let millis = match who {
                    0 => timed(self.call()).await.1,
                    1 => timed(self.hello.invoke("{}".to_owned())).await.1,
                    _ => self.invoke(round).await,
                };
                if round >= WARM_UP {
                    times[who].push(millis);
                }
            }
        }
        let [bare, hello, ours] = times;
        json!({"bare": bare, "hello": hello, "ours": ours})
    }

    async fn invoke(&mut self, round: usize) -> f64 {
        let event = self.event(round).to_string();
        let ((_, answer), millis) = timed(self.ours.invoke(event)).await;
        assert!(matches!(answer["statusCode"].as_u64(), Some(200 | 201)), "{}: {answer}", self.function);
        if self.function == "list-account-payments" {
            let body: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
            assert_eq!(body["items"].as_array().map(Vec::len), Some(PAGE));
        }
        millis
    }

    fn event(&self, round: usize) -> Value {
        let id = self.rows[round % self.rows.len()]["SK"].as_s().expect("a text").rsplit('#').next().expect("an id");
        let (path, of_account) = (format!("/bank/accounts/{ACCOUNT}/payments"), json!({"accountId": ACCOUNT}));
        let (route, path, parameters, body) = match self.function {
            "get-payment" => {
                let parameters = json!({"accountId": ACCOUNT, "paymentId": id});
                ("GET /bank/accounts/{accountId}/payments/{paymentId}", format!("{path}/{id}"), parameters, None)
            }
            "schedule-payment" => {
                let another = "Account9";
                let path = format!("/bank/accounts/{another}/payments");
                ("POST /bank/accounts/{accountId}/payments", path, json!({"accountId": another}), Some(new()))
            }
            _ => {
                let path = format!("{path}?from={TIME}&to={TIME}&limit={PAGE}");
                ("GET /bank/accounts/{accountId}/payments", path, of_account, None)
            }
        };
        Asks { route, path: &path, parameters, key: None, body: body.as_ref() }.at(Timestamp::now())
    }

    /// Makes the DynamoDB call of the function with the SDK alone.
    async fn call(&self) {
        let capacity = ReturnConsumedCapacity::Indexes;
        let key = |name: &str| (name.to_owned(), self.rows[0][name].clone());
        match self.function {
            "get-payment" => {
                let get = self.bare.get_item().table_name(&self.table).return_consumed_capacity(capacity);
                let got = get.set_key(Some([key("PK"), key("SK")].into())).consistent_read(true).send().await;
                assert!(got.expect("an answer").item.is_some());
            }
            "schedule-payment" => {
                let mut row = self.rows[0].clone();
                row.insert("SK".to_owned(), AttributeValue::S(format!("2098#{}", Uuid::now_v7())));
                let put = self.bare.put_item().table_name(&self.table).return_consumed_capacity(capacity);
                let put = put.set_item(Some(row)).condition_expression("attribute_not_exists(PK)");
                put.send().await.expect("a put");
            }
            _ => {
                let query = self.bare.query().table_name(&self.table).return_consumed_capacity(capacity);
                let query = query.key_condition_expression("PK = :account AND SK BETWEEN :from AND :to");
                let query = query.expression_attribute_values(":account", key("PK").1);
                let query = query.expression_attribute_values(":from", AttributeValue::S("2099".to_owned()));
                let query = query.expression_attribute_values(":to", AttributeValue::S("21".to_owned()));
                let items = query.limit(i32::try_from(PAGE).expect("a limit")).send().await.expect("a page").items;
                assert_eq!(items.expect("items").len(), PAGE);
            }
        }
    }

    async fn stop(mut self) {
        for process in &mut self.processes {
            process.kill().await.expect("a process");
        }
    }
}
