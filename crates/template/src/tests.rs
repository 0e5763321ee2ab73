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

/// Replaces `from` in the small template. Returns the new text and the line number.
fn changed(from: &str, to: &str) -> (String, usize) {
    let line = SMALL.lines().position(|line| line.contains(from.trim_end())).unwrap() + 1;
    (SMALL.replacen(from, to, 1), line)
}

#[test]
fn reads_the_template_with_a_key() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../template.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let read = |key: &str| {
        let parameters = BTreeMap::from([("KmsKeyArn".to_owned(), key.to_owned())]);
        Template::read(&text, &file, "stack", &parameters)
    };
    assert!(read("arn:aws:kms:us-east-1:123456789012:key/0192f3a1").is_ok());
    assert!(read("alias/key").is_err());
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
    let whole = || {
        let read = Template::read(root, &folder.join("template.yaml"), "stack", &BTreeMap::new());
        read.map_err(|error| error.to_string())
    };
    let read = |nested: &str| {
        std::fs::write(folder.join("stacks/things.yaml"), nested).unwrap();
        whole()
    };
    let missing = whole().unwrap_err();
    assert!(missing.starts_with("template.yaml:5: stacks/things.yaml: "), "{missing}");
    let outputs = "Outputs:\n  Table: {Value: !Ref Things}\n";
    assert_eq!(read(&format!("{SMALL}{outputs}")).unwrap().tables[0].name, "stack-Things-Things");
    let (text, line) = changed("MaxValue: 10", "MaxValue: 6");
    let refused = read(&format!("{text}{outputs}")).unwrap_err();
    assert_eq!(refused, format!("things.yaml:{}: parameter Size is `7`, but it must be at most 6", line - 4));
    assert!(read(SMALL).unwrap_err().ends_with("things.yaml has no Outputs.Table"));
    std::fs::remove_dir_all(folder).unwrap();
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
    let size = "!Ref Size, OVER";
    let unsupported = [
        ("Type: AWS::DynamoDB::Table", "Type: AWS::SQS::Queue", "resources of type AWS::SQS::Queue"),
        ("Type: HttpApi", "Type: SQS", "events of type SQS"),
        ("Type: Number", "Type: CommaDelimitedList", "parameters of type CommaDelimitedList"),
        (size, "!ImportValue Size, OVER", "!ImportValue"),
        ("!Ref Things", "!GetAtt Things.Size", "the attribute Size of AWS::DynamoDB::Table"),
        ("BillingMode: PAY_PER_REQUEST", "Import: {}", "Import in AWS::DynamoDB::Table"),
        ("CodeUri: target/lambda/get", "InlineCode: x", "InlineCode in AWS::Serverless::Function"),
        ("Timeout: 10", "Layers: []", "Layers in Globals.Function"),
        ("/things/{id}", "/things/{id+}", "the path segment `{id+}`"),
        ("AuthorizationScopes: [read]", "Authorizer: NONE", "Authorizer in Auth"),
        ("Resources:", "Mappings:", "Mappings in a template"),
    ];
    let unsupported =
        unsupported.map(|(from, to, what)| (from, to, format!("the local stack does not support {what}")));
    let refused = [
        (size, "{Ref: Size}, OVER", "use !Ref instead of Ref"),
        (size, "{Fn::Sub: Size}, OVER", "use !Sub instead of Fn::Sub"),
        ("!Ref Things", "!Ref Thing", "there is no parameter or resource Thing"),
        ("!Ref Things", "!GetAtt Things.StreamArn", "Things has no StreamSpecification"),
        ("!Ref Things", "!GetAtt Things", "!GetAtt must have the form Resource.Attribute"),
        ("${!Literal}", "${Nothing}", "there is no parameter or resource Nothing"),
        ("${!Literal}", "${Nothing", "!Sub has a ${ without a }"),
        ("!If [IsA, first, second]", "!If [IsB, first, second]", "there is no condition IsB"),
        ("!If [IsA, first, second]", "!If [IsA, first]", "!If needs a condition and two values"),
        ("!Not [!Condition IsA]", "!Not [!Condition IsOther]", "IsOther refers to itself"),
        ("!Not [!Condition IsA]", "!Not [!Ref Mode]", "!Ref is not a condition"),
        ("PAY_PER_REQUEST", "PROVISIONED", "the local stack supports only PAY_PER_REQUEST tables"),
        ("Timeout: 10", "Timeout: long", "`long` is not a valid number"),
        ("Method: GET", "Method: ANY", "the method must be one of GET, POST, PUT, PATCH, DELETE"),
        ("DefaultAuthorizer: Jwt", "DefaultAuthorizer: Other", "there is no authorizer Other"),
        ("  Api:", "  Things:", "Things is declared twice"),
        ("DefaultAuthorizer: Jwt", "DefaultAuthorizer: *Jwt", "while parsing node, found unknown anchor"),
    ];
    for (from, to, message) in
        unsupported.into_iter().chain(refused.map(|(from, to, told)| (from, to, told.to_owned())))
    {
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
