"""The actions that roles need to use Athena and Step Functions."""


def actions(text: str) -> set[str]:
    """Returns the actions in lines such as `athena: GetWorkGroup GetDataCatalog`."""
    return {f"{service}:{name}" for service, names in (line.split(":") for line in text.strip().splitlines()) for name in names.split()}


# The actions of AWS's policies AmazonAthenaFullAccess and AWSQuicksightAthenaAccess that a query of
# an existing database needs.
QUERY = actions("""
athena:StartQueryExecution StopQueryExecution GetQueryExecution GetQueryResults GetDataCatalog
glue:GetDatabase GetDatabases GetTable GetTables GetPartition GetPartitions BatchGetPartition
s3:GetBucketLocation GetObject ListBucket ListBucketMultipartUploads ListMultipartUploadParts AbortMultipartUpload PutObject
""")
# Further actions of the console and of the JDBC and ODBC drivers.
CONSOLE = actions("""
athena:GetWorkGroup GetQueryResultsStream BatchGetQueryExecution ListQueryExecutions GetQueryRuntimeStatistics
athena:GetNamedQuery BatchGetNamedQuery ListNamedQueries GetPreparedStatement ListPreparedStatements
athena:GetDatabase GetTableMetadata ListDatabases ListTableMetadata
""")
# Actions on the whole account. They show names only.
NAMES = actions("""
athena:ListWorkGroups ListDataCatalogs ListEngineVersions
glue:GetDatabases
""")
# Actions of queries that create, fill and delete tables.
CHANGE = actions("glue:CreateTable UpdateTable DeleteTable CreatePartition BatchCreatePartition")
# Actions of the role of a traced state machine (Step Functions Developer Guide, "Trace Step
# Functions request data in AWS X-Ray").
TRACE = actions("xray:PutTraceSegments PutTelemetryRecords GetSamplingRules GetSamplingTargets")
