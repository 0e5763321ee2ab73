//! Stream calls, and ARNs, in the form of AWS.
//!
//! The engine has ARNs without a region, and shard ids that SDKs and the AWS CLI reject: a shard id
//! has at least 28 characters.
use dynoxide::{
    Database, DynoxideError,
    actions::{
        describe_stream::{DescribeStreamRequest, DescribeStreamResponse},
        get_records::{GetRecordsRequest, GetRecordsResponse},
        get_shard_iterator::{GetShardIteratorRequest, GetShardIteratorResponse},
        list_streams::{ListStreamsRequest, ListStreamsResponse},
    },
    streams::{LOCAL_REGION, shard_id},
};
use serde_json::Value;

use template::{REGION, STREAM_LABEL, stream_arn};

type Answer<T> = Result<T, DynoxideError>;

pub(super) fn list(database: &Database, request: ListStreamsRequest) -> Answer<ListStreamsResponse> {
    let ListStreamsRequest { table_name, exclusive_start_stream_arn: start, limit } = request;
    let all = ListStreamsRequest { table_name, ..ListStreamsRequest::default() };
    let mut streams = database.list_streams(all)?.streams;
    for stream in &mut streams {
        stream.stream_arn = stream_arn(&stream.table_name);
        STREAM_LABEL.clone_into(&mut stream.stream_label);
    }
    if let Some(last) = streams.iter().position(|stream| Some(&stream.stream_arn) == start.as_ref()) {
        streams.drain(..=last);
    }
    let has_more = limit.is_some_and(|limit| streams.len() > limit);
    streams.truncate(limit.unwrap_or(streams.len()));
    let last = streams.last().filter(|_| has_more).map(|stream| stream.stream_arn.clone());
    Ok(ListStreamsResponse { streams, last_evaluated_stream_arn: last })
}

pub(super) fn describe(database: &Database, mut request: DescribeStreamRequest) -> Answer<DescribeStreamResponse> {
    let start = request.exclusive_start_shard_id.take();
    let mut answer = database.describe_stream(request)?;
    let stream = &mut answer.stream_description;
    stream.stream_arn = stream_arn(&stream.table_name);
    STREAM_LABEL.clone_into(&mut stream.stream_label);
    for shard in &mut stream.shards {
        shard.shard_id = public_shard_id(&stream.table_name);
        // Only a closed shard has a last number. The shard of a local stream stays open.
        shard.sequence_number_range.ending_sequence_number = None;
    }
    stream.shards.retain(|shard| Some(&shard.shard_id) != start.as_ref());
    Ok(answer)
}

pub(super) fn iterator(database: &Database, mut request: GetShardIteratorRequest) -> Answer<GetShardIteratorResponse> {
    let table = request.stream_arn.split('/').nth(1).unwrap_or_default();
    if request.shard_id != public_shard_id(table) {
        let (shard, arn) = (&request.shard_id, &request.stream_arn);
        let error = format!("Requested resource not found: Shard does not exist: {shard} of stream {arn}");
        return Err(DynoxideError::ResourceNotFoundException(error));
    }
    request.shard_id = shard_id(table);
    database.get_shard_iterator(request)
}

pub(super) fn records(database: &Database, request: GetRecordsRequest) -> Answer<GetRecordsResponse> {
    let mut answer = database.get_records(request)?;
    for record in &mut answer.records {
        REGION.clone_into(&mut record.aws_region);
    }
    Ok(answer)
}

/// Id of the only shard of a table's stream, such as `shardId-00000001767225600000-1a2b3c4d`.
fn public_shard_id(table: &str) -> String {
    // FNV-1a.
    let hash = table.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("shardId-00000001767225600000-{hash:08x}")
}

/// Sets the region and the stream label in each ARN of a table description.
pub(super) fn localise(description: &mut Value) {
    match description {
        Value::Object(members) => {
            for (name, member) in members {
                if name == "LatestStreamLabel" {
                    *member = STREAM_LABEL.into();
                } else {
                    localise(member);
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(localise),
        Value::String(text) if text.starts_with("arn:aws:") => *text = public_arn(text),
        _ => {}
    }
}

fn public_arn(arn: &str) -> String {
    let arn = arn.replacen(&format!(":{LOCAL_REGION}:"), &format!(":{REGION}:"), 1);
    match arn.split_once("/stream/") {
        Some((table, _)) => format!("{table}/stream/{STREAM_LABEL}"),
        None => arn,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shard_ids_have_the_length_that_sdks_require() {
        for table in ["a", "local-Cart", &"x".repeat(255)] {
            assert!((28..=65).contains(&public_shard_id(table).len()), "{table}");
        }
        assert_ne!(public_shard_id("local-Cart"), public_shard_id("local-LedgerJobs"));
    }

    #[test]
    fn every_arn_of_a_description_has_the_region() {
        let mut description = json!({"Table": {
            "TableArn": "arn:aws:dynamodb:dynoxide:000000000000:table/T",
            "LatestStreamArn": "arn:aws:dynamodb:dynoxide:000000000000:table/T/stream/1.2",
            "LatestStreamLabel": "1.2",
            "GlobalSecondaryIndexes": [{"IndexArn": "arn:aws:dynamodb:dynoxide:000000000000:table/T/index/I"}],
        }});
        localise(&mut description);
        assert!(!description.to_string().contains(LOCAL_REGION), "{description}");
        assert_eq!(description["Table"]["LatestStreamArn"], stream_arn("T"));
        assert_eq!(description["Table"]["LatestStreamLabel"], STREAM_LABEL);
    }
}
