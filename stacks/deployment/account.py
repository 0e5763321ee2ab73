"""An AWS account in a region."""

import boto3
from botocore.exceptions import ClientError

# States of a stack that can only be deleted.
FAILED = ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED", "IMPORT_ROLLBACK_FAILED")


class Account:
    """The account and the region of a section of samconfig.toml."""

    def __init__(self, section):
        self.session = boto3.Session(profile_name=section.get("profile"), region_name=section.get("region"))

    def client(self, service):
        return self.session.client(service)

    def stack(self, name):
        """Returns the description of a stack, or None if there is no such stack."""
        try:
            return self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        except ClientError as error:
            if "does not exist" in str(error):
                return None
            raise

    def outputs(self, name):
        stack = self.stack(name) or {}
        return {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}

    def has_stream(self, arn):
        streams = self.client("dynamodbstreams")
        try:
            return bool(streams.describe_stream(StreamArn=arn))
        except streams.exceptions.ResourceNotFoundException:
            return False
