use clap::{CommandFactory, error::ErrorKind};

use super::*;

fn parse(line: &str) -> Result<Command, ErrorKind> {
    let parsed = Cli::try_parse_from(std::iter::once("local").chain(line.split(' ')));
    parsed.map(|cli| cli.command).map_err(|error| error.kind())
}

#[test]
fn the_command_definitions_are_valid() {
    Cli::command().debug_assert();
}

#[test]
fn run_parses_its_options() {
    let line = "run --port 1 --dynamodb-port 2 --data d.db --lake l --auth required --parameter ReadShards=7 --parameter A=b=c";
    let Ok(Command::Run(options)) = parse(line) else { unreachable!() };
    assert_eq!((options.port, options.dynamodb_port, options.auth), (1, 2, Auth::Required));
    assert_eq!((options.data, options.lake), (Some(PathBuf::from("d.db")), Some(PathBuf::from("l"))));
    assert_eq!(options.stack.template, PathBuf::from("template.yaml"));
    let expected = [("ReadShards", "7"), ("A", "b=c")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(options.stack.parameters, expected);
}

#[test]
fn run_parses_the_rates_of_faults() {
    let Ok(Command::Run(options)) = parse("run --hostile 7 --hostile-rates stale=1,kill=0") else { unreachable!() };
    let rates = options.hostile_rates.unwrap();
    assert_eq!((options.hostile, rates.stale, rates.kill, rates.lag), (Some(7), 1.0, 0.0, Rates::usual().lag));
    for line in ["run --hostile-rates stale=1", "run --hostile x", "run --hostile 1 --hostile-rates stael=1"] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn sam_env_writes_only_declared_variables() {
    let template = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml"));
    let template = Stack::builder(template).template().unwrap();
    let files = sam_env::files(&template, "http://host:1");
    let functions: usize =
        files.iter().filter(|(name, _)| *name != "system").map(|(_, functions)| functions.len()).sum();
    assert_eq!((files["system"].len(), functions), (template.lambdas.len(), template.lambdas.len()));
    for lambda in &template.lambdas {
        let (stack, id) = lambda.id.split_once('/').unwrap();
        let variables = &files["system"][&lambda.id];
        assert_eq!(variables, &files[&stack.to_lowercase()][id]);
        assert!(variables.keys().eq(lambda.environment.keys()), "{}", lambda.id);
        assert_eq!(variables["AWS_ENDPOINT_URL"], "http://host:1", "{}", lambda.id);
    }
}

#[test]
fn invoke_parses_a_function_and_an_event() {
    let Ok(Command::Invoke(options)) = parse("invoke f e.json --url http://127.0.0.1:1") else { unreachable!() };
    assert_eq!((options.function.as_str(), options.event), ("f", PathBuf::from("e.json")));
    assert_eq!(options.url.as_deref(), Some("http://127.0.0.1:1"));
}

#[test]
fn event_parses_a_name() {
    let Ok(Command::Event(options)) = parse("event get-payment.no-payment-id") else { unreachable!() };
    assert_eq!(options.name.as_deref(), Some("get-payment.no-payment-id"));
    let Ok(Command::Event(options)) = parse("event") else { unreachable!() };
    assert_eq!((options.name, options.folder), (None, PathBuf::from("events")));
}

#[test]
fn a_token_has_the_requested_claims() {
    let line =
        "token --scope bank:read --scope bank:write --account A --account B --company C --sub u --expires-in 30m";
    let Ok(Command::Token(options)) = parse(line) else { unreachable!() };
    assert_eq!(options.expires_in, std::time::Duration::from_mins(30));
    let expected = serde_json::json!({
        "sub": "u", "scope": "bank:read bank:write", "account_ids": ["A", "B"], "company_id": "C"
    });
    assert_eq!(serde_json::Value::Object(token::claims(options)), expected);
}

#[test]
fn rejects_invalid_arguments() {
    for line in [
        "run --parameter X",
        "run --parameter =1",
        "run --port x",
        "run --port 70000",
        "run --auth sometimes",
        "run --listen 0.0.0.0",
        "run --listen ::",
        "run --listen docker0",
        "token --scope a --expires-in=-1h",
        "token --scope a --expires-in soon",
    ] {
        assert_eq!(
            parse(line).err(),
            Some(ErrorKind::ValueValidation).filter(|_| !line.ends_with("sometimes")).or(Some(ErrorKind::InvalidValue)),
            "{line}"
        );
    }
    assert_eq!(parse("token").err(), Some(ErrorKind::MissingRequiredArgument));
    assert_eq!(parse("invoke f").err(), Some(ErrorKind::MissingRequiredArgument));
    assert_eq!(parse("walk").err(), Some(ErrorKind::InvalidSubcommand));
}

#[tokio::test]
async fn the_demo_calls_every_access_pattern() {
    let template = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml"));
    let done = demo::demo(&StackOptions { template, parameters: Vec::new() }).await;
    assert!(done.is_ok(), "{}", done.map_or_else(|error| error.to_string(), |()| String::new()));
}
