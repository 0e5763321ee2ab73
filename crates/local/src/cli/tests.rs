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
fn run_parses_the_rates_of_faults() {
    let Ok(Command::Run(options)) = parse("run --hostile 7 --hostile-rates stale=1,kill=0") else { unreachable!() };
    let rates = options.hostile_rates.unwrap();
    assert_eq!((options.hostile, rates.stale, rates.kill, rates.lag), (Some(7), 1.0, 0.0, Rates::usual().lag));
    for line in ["run --hostile-rates stale=1", "run --hostile x", "run --hostile 1 --hostile-rates stael=1"] {
        assert!(parse(line).is_err(), "{line}");
    }
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
async fn the_welcome_names_every_table_and_bucket() {
    let template = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml"));
    let Ok(Command::Run(options)) = parse("run") else { unreachable!() };
    let stack = Stack::builder(&template).start().await.unwrap();
    let welcome = run::welcome(&stack, &options, &Events::of(template.with_file_name(EVENTS))).unwrap();
    let words: Vec<_> = welcome.split([' ', '\n']).map(|word| word.trim_end_matches([',', '.'])).collect();
    let buckets = stack.buckets().iter().map(String::as_str);
    for name in stack.tables().into_iter().chain(buckets) {
        assert!(words.contains(&name), "{name}: {welcome}");
    }
    assert!(words.contains(&"local-bank-inbox"), "{welcome}");
    stack.stop().await;
}

#[tokio::test]
async fn the_demo_calls_every_access_pattern() {
    let template = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml"));
    let done = demo::demo(&StackOptions { template, parameters: Vec::new() }).await;
    assert!(done.is_ok(), "{}", done.map_or_else(|error| error.to_string(), |()| String::new()));
}
