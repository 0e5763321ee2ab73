use std::{collections::BTreeMap, path::Path, time::Duration};

use super::*;

const SMALL: &str = "\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Size:
    Type: Number
    Default: 5
    MinValue: 1
    MaxValue: 10
  Mode:
    Type: String
    Default: a
    AllowedValues: [a, b]
    AllowedPattern: '[a-c]'
Conditions:
  IsA: !Equals [!Ref Mode, a]
  IsOther: !And [!Not [!Condition IsA], !Or [!Condition IsA, !Equals [!Ref Size, 7]]]
Globals:
  Function:
    Timeout: 10
    Environment:
      Variables: {SIZE: !Ref Size, OVER: global}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers: {Jwt: {JwtConfiguration: {issuer: me, audience: [you]}}}
  Get:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/get
      Environment:
        Variables:
          OVER: own
          TABLE: !Ref Things
          ARN: !Sub '${Things.Arn}/index/${Mode}/${!Literal}'
          KIND: !If [IsA, first, second]
          GONE: !If [IsA, !Ref AWS::NoValue, there]
      Events:
        Route:
          Type: HttpApi
          Properties: {Method: GET, Path: '/things/{id}', Auth: {AuthorizationScopes: [read]}}
";

fn read(text: &str, parameters: &[(&str, &str)]) -> Result<Template, String> {
    let parameters: BTreeMap<_, _> = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Template::read(text, Path::new("somewhere/template.yaml"), "stack", &parameters).map_err(|error| error.to_string())
}

/// Reads template.yaml with the selected stacks.
fn whole(parameters: &[(&str, &str)], stacks: &[&str]) -> Result<Template, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let parameters = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let text = std::fs::read_to_string(&file).unwrap();
    Template::read_some(&text, &file, "stack", &parameters, &Selection::of(stacks)).map_err(|error| error.to_string())
}

/// Replaces `from` in the small template. Returns the new text and the line number.
fn changed(from: &str, to: &str) -> (String, usize) {
    let line = SMALL.lines().position(|line| line.contains(from.trim_end())).unwrap() + 1;
    (SMALL.replacen(from, to, 1), line)
}

#[test]
fn reads_the_template_of_the_project() {
    let template = whole(&[], &[]).unwrap();
    let names: Vec<_> = template.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "stack-PaymentScheduler",
            "stack-TransactionHistory",
            "stack-BankJobs",
            "stack-Cart",
            "stack-CartJobs",
            "stack-Products",
            "stack-Activities",
            "stack-WellnessJobs",
            "stack-FinancialTransactions",
            "stack-Totals",
            "stack-LedgerJobs"
        ]
    );
    let of = |domain: &str, scopes: &[&str]| scopes.iter().map(|scope| format!("{domain}:{scope}")).collect::<Vec<_>>();
    let three = ["operate", "read", "write"];
    let wellness = of("wellness", &["admin", "operate", "read", "write"]);
    let scopes = [of("bank", &three), of("cart", &three), of("ledger", &three), wellness];
    assert_eq!(template.scopes(), scopes.concat());
    let export = template.lambdas.iter().find(|lambda| lambda.name == "export-changes").unwrap();
    assert_eq!((export.mappings[0].table.as_str(), export.mappings[0].batch_size), ("stack-Cart", 1000));
    assert_eq!(template.authorizer, Some(Authorizer::local()));
    let archive = template.lambdas.iter().find(|lambda| lambda.name == "archive-settled-payments").unwrap();
    assert_eq!(archive.timeout, Duration::from_mins(14));
    assert_eq!(archive.schedules[0].expression, "cron(0/15 * * * ? *)");
    assert!(archive.routes.is_empty());
    assert_eq!(
        template.buckets,
        [
            "stack-bank-inbox",
            "stack-bank-failedchanges",
            "stack-cart-failedchanges",
            "stack-wellness-files",
            "stack-wellness-failedchanges",
            "stack-ledger-failedchanges",
            "stack-lake-failedchanges",
            "stack-lake-lake"
        ]
    );
    let delivery = &template.delivery_streams[0];
    assert_eq!((delivery.name.as_str(), delivery.bucket.as_str()), ("stack-CartChanges", "stack-lake-lake"));
    let time = "2026-12-01T09:59:59Z".parse().unwrap();
    assert_eq!(delivery.prefix.at(time), "changes/cart-items/hour=2026-12-01-09/");
}

#[test]
fn reads_the_template_with_a_key() {
    let key = "arn:aws:kms:us-east-1:123456789012:key/0192f3a1";
    let with = whole(&[("KmsKeyArn", key)], &[]).unwrap();
    assert_eq!(with.tables.len(), whole(&[], &[]).unwrap().tables.len());
    assert!(whole(&[("KmsKeyArn", "alias/key")], &[]).is_err());
}

#[test]
fn reads_only_the_selected_stacks() {
    let cart = whole(&[], &["cart"]).unwrap();
    assert_eq!(cart.services().into_iter().collect::<Vec<_>>(), ["cart"]);
    assert_eq!(cart.tables.len(), 3);
    // The bank takes the name of the ledger's table, and the lake the streams of three services.
    let bank = whole(&[], &["bank"]).unwrap();
    assert_eq!(bank.services().into_iter().collect::<Vec<_>>(), ["bank", "ledger"]);
    let lake = whole(&[], &["Lake"]).unwrap();
    assert_eq!(lake.services().into_iter().collect::<Vec<_>>(), ["bank", "cart", "ledger"]);
    let unknown = "template.yaml:1: there is no stack bnak; the stacks are bank, cart, wellness, ledger, lake; did you mean bank?";
    assert_eq!(whole(&[], &["bnak"]).unwrap_err(), unknown);
}

#[test]
fn errors_name_the_nested_template() {
    let folder = std::env::temp_dir().join(format!("nested-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir_all(folder.join("stacks")).unwrap();
    let root = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Things:
    Type: AWS::Serverless::Application
    Properties: {Location: stacks/things.yaml, Parameters: {Size: 7}}
Outputs:
  Table: {Value: !GetAtt Things.Outputs.Table}
";
    let read = |nested: &str| {
        std::fs::write(folder.join("stacks/things.yaml"), nested).unwrap();
        Template::read(root, &folder.join("template.yaml"), "stack", &BTreeMap::new())
            .map_err(|error| error.to_string())
    };
    let missing =
        Template::read(root, &folder.join("template.yaml"), "stack", &BTreeMap::new()).unwrap_err().to_string();
    assert!(missing.starts_with("template.yaml:5: stacks/things.yaml: "), "{missing}");
    let outputs = "Outputs:\n  Table: {Value: !Ref Things}\n";
    assert_eq!(read(&format!("{SMALL}{outputs}")).unwrap().tables[0].name, "stack-Things-Things");
    let line = SMALL.lines().position(|line| line.contains("MaxValue")).unwrap() + 1;
    let refused = read(&format!("{}{outputs}", SMALL.replace("MaxValue: 10", "MaxValue: 6"))).unwrap_err();
    assert_eq!(refused, format!("things.yaml:{}: parameter Size is `7`, but it must be at most 6", line - 4));
    assert!(read(SMALL).unwrap_err().ends_with("things.yaml has no Outputs.Table"));
    let again = SMALL.rsplit_once("  Get:").unwrap().1;
    let refused = read(&format!("{SMALL}  Again:{again}{outputs}")).unwrap_err();
    assert!(
        refused.starts_with("things.yaml:") && refused.contains("another function already has the route"),
        "{refused}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn index_projection_determines_the_indexes_and_the_reads() {
    for (projection, indexes, due) in [
        ("KEYS_ONLY", vec!["GSI1"], "GSI1"),
        ("KEYS_ONLY_AND_ALL", vec!["GSI1", "GSI1All"], "GSI1"),
        ("ALL_AND_KEYS_ONLY", vec!["GSI1", "GSI1All"], "GSI1All"),
        ("ALL", vec!["GSI1All"], "GSI1All"),
    ] {
        let template = whole(&[("IndexProjection", projection), ("WarmReadUnits", "20000")], &[]).unwrap();
        let of = |table: usize| {
            let indexes = template.tables[table].definition["GlobalSecondaryIndexes"].as_array().unwrap();
            indexes.iter().map(|index| index["IndexName"].as_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of(0), indexes, "{projection}");
        assert_eq!(of(1), [indexes, vec!["GSI2"]].concat(), "{projection}");
        let list = template.lambdas.iter().find(|lambda| lambda.name == "list-due-payments").unwrap();
        assert_eq!(list.environment["DUE_INDEX"], due);
        let arn = |index: &&str| {
            format!("arn:aws:dynamodb:us-east-1:000000000000:table/stack-PaymentScheduler/index/{index}")
        };
        let resources = of(0).iter().map(arn).collect();
        assert_eq!(
            list.statements[0],
            Statement { actions: vec!["dynamodb:Query".into()], resources, leading_keys: Vec::new() }
        );
    }
}

#[test]
fn resolves_intrinsic_functions_and_merges_globals() {
    let environment = |parameters: &[(&str, &str)]| read(SMALL, parameters).unwrap().lambdas[0].environment.clone();
    let expected = [
        ("ARN", "arn:aws:dynamodb:us-east-1:000000000000:table/stack-Things/index/a/${Literal}"),
        ("KIND", "first"),
        ("OVER", "own"),
        ("SIZE", "5"),
        ("TABLE", "stack-Things"),
    ];
    let expected: BTreeMap<_, _> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(environment(&[]), expected);
    let other = environment(&[("Mode", "b"), ("Size", "7")]);
    assert_eq!((other["KIND"].as_str(), other["GONE"].as_str(), other["SIZE"].as_str()), ("second", "there", "7"));
}

#[test]
fn enforces_parameter_constraints() {
    for (name, value, rule) in [
        ("Size", "0", "it must be at least 1"),
        ("Size", "11", "it must be at most 10"),
        ("Size", "many", "it must be a number"),
        ("Mode", "c", "it must be one of a, b"),
    ] {
        let line = if name == "Size" { 3 } else { 8 };
        let expected = format!("template.yaml:{line}: parameter {name} is `{value}`, but {rule}");
        assert_eq!(read(SMALL, &[(name, value)]).unwrap_err(), expected);
    }
    assert_eq!(read(SMALL, &[("Sise", "1")]).unwrap_err(), "template.yaml:3: there is no parameter Sise");
    let (text, line) = changed("    Default: a\n", "");
    assert_eq!(
        read(&text, &[]).unwrap_err(),
        format!("template.yaml:{}: parameter Mode has no default and needs a value", line - 2)
    );
    let (text, _) = changed("[a, b]", "[a, b, x]");
    assert_eq!(
        read(&text, &[("Mode", "x")]).unwrap_err(),
        "template.yaml:8: parameter Mode is `x`, but it must match [a-c]"
    );
}

#[test]
fn rejects_unsupported_constructs_with_their_line() {
    for (from, to, message) in [
        (
            "Type: AWS::DynamoDB::Table",
            "Type: AWS::SQS::Queue",
            "the local stack does not support resources of type AWS::SQS::Queue",
        ),
        ("Type: HttpApi", "Type: SQS", "the local stack does not support events of type SQS"),
        (
            "Type: Number",
            "Type: CommaDelimitedList",
            "the local stack does not support parameters of type CommaDelimitedList",
        ),
        ("!Ref Size, OVER", "!ImportValue Size, OVER", "the local stack does not support !ImportValue"),
        ("!Ref Size, OVER", "{Ref: Size}, OVER", "use !Ref instead of Ref"),
        ("!Ref Size, OVER", "{Fn::Sub: Size}, OVER", "use !Sub instead of Fn::Sub"),
        ("!Ref Things", "!Ref Thing", "there is no parameter or resource Thing"),
        ("!Ref Things", "!GetAtt Things.StreamArn", "Things has no StreamSpecification"),
        (
            "!Ref Things",
            "!GetAtt Things.Size",
            "the local stack does not support the attribute Size of AWS::DynamoDB::Table",
        ),
        ("!Ref Things", "!GetAtt Things", "!GetAtt must have the form Resource.Attribute"),
        ("${!Literal}", "${Nothing}", "there is no parameter or resource Nothing"),
        ("${!Literal}", "${Nothing", "!Sub has a ${ without a }"),
        ("!If [IsA, first, second]", "!If [IsB, first, second]", "there is no condition IsB"),
        ("!If [IsA, first, second]", "!If [IsA, first]", "!If needs a condition and two values"),
        ("!Not [!Condition IsA]", "!Not [!Condition IsOther]", "IsOther refers to itself"),
        ("!Not [!Condition IsA]", "!Not [!Ref Mode]", "!Ref is not a condition"),
        (
            "      BillingMode: PAY_PER_REQUEST",
            "      ImportSourceSpecification: {}",
            "the local stack does not support ImportSourceSpecification in AWS::DynamoDB::Table",
        ),
        ("PAY_PER_REQUEST", "PROVISIONED", "the local stack supports only PAY_PER_REQUEST tables"),
        (
            "CodeUri: target/lambda/get",
            "InlineCode: x",
            "the local stack does not support InlineCode in AWS::Serverless::Function",
        ),
        ("Timeout: 10", "Layers: []", "the local stack does not support Layers in Globals.Function"),
        ("Timeout: 10", "Timeout: long", "`long` is not a valid number"),
        ("/things/{id}", "/things/{id+}", "the local stack does not support the path segment `{id+}`"),
        ("Method: GET", "Method: ANY", "the method must be one of GET, POST, PUT, PATCH, DELETE"),
        ("AuthorizationScopes: [read]", "Authorizer: NONE", "the local stack does not support Authorizer in Auth"),
        ("DefaultAuthorizer: Jwt", "DefaultAuthorizer: Other", "there is no authorizer Other"),
        ("Resources:", "Mappings:", "the local stack does not support Mappings in a template"),
        ("  Api:", "  Things:", "Things is declared twice"),
        ("DefaultAuthorizer: Jwt", "DefaultAuthorizer: *Jwt", "while parsing node, found unknown anchor"),
    ] {
        let (text, line) = changed(from, to);
        assert_eq!(read(&text, &[]).unwrap_err(), format!("template.yaml:{line}: {message}"), "{from} -> {to}");
    }
}

#[test]
fn rejects_a_duplicate_route() {
    let again = SMALL.rsplit_once("  Get:").unwrap().1.replace("{id}", "{other}");
    let line = SMALL.lines().count() + again.lines().count();
    let text = format!("{SMALL}  Again:{again}");
    let expected = format!("template.yaml:{line}: another function already has the route GET /things/{{other}}");
    assert_eq!(read(&text, &[]).unwrap_err(), expected);
}

mod objects;
mod streams;
