use std::collections::BTreeMap;

use super::*;
use template::Template;

/// Each put and each stream read looks up records by sequence number.
#[test]
fn stream_queries_use_the_sequence_number_index() {
    let store = Store::open(None, &[]).unwrap();
    let sql = store.sql.lock().unwrap();
    for query in [
        "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = 'T'",
        "SELECT event_name FROM _stream_records
            WHERE table_name = 'T' AND shard_id = 'S' AND CAST(sequence_number AS INTEGER) > 1
            ORDER BY CAST(sequence_number AS INTEGER) ASC LIMIT 10",
    ] {
        let mut plan = sql.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let plan: Vec<String> = plan.query_map((), |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert!(plan[0].contains("_local_stream_records_by_number"), "{plan:?}");
        assert_eq!(plan.len(), 1, "{plan:?}");
    }
}

#[test]
fn the_deletion_protection_of_an_existing_table_follows_the_template() {
    let folder = std::env::temp_dir().join(format!("local-store-{}", Uuid::new_v4()));
    std::fs::create_dir(&folder).unwrap();
    let data = folder.join("data.db");
    for protects in ["", "true", "false", "true"] {
        let line = if protects.is_empty() { "" } else { &format!("DeletionProtectionEnabled: {protects}") };
        let text = format!(
            "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{{AttributeName: PK, AttributeType: S}}]
      KeySchema: [{{AttributeName: PK, KeyType: HASH}}]
      {line}
"
        );
        let template = Template::read(&text, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap();
        let store = Store::open(Some(&data), &template.tables).unwrap();
        let request = make::request(&json!({"TableName": "local-Things"})).unwrap();
        let described = store.database().describe_table(request).unwrap();
        assert_eq!(described.table.deletion_protection_enabled, Some(protects == "true"), "{protects:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
