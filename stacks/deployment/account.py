"""An AWS account in a region: stacks, and resources that a stack may have left behind."""

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

    def resources(self, name):
        """Returns the existing resources of a stack and of the stacks that it nests."""
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=name)
        found = [one for page in pages for one in page["StackResourceSummaries"] if one["ResourceStatus"] != "DELETE_COMPLETE"]
        nested = [one["PhysicalResourceId"] for one in found if one["ResourceType"] == "AWS::CloudFormation::Stack"]
        return found + [one for stack in nested for one in self.resources(stack)]

    def owner(self, name):
        """Returns the name of the stack that has a resource with this physical name, or None."""
        try:
            found = self.client("cloudformation").describe_stack_resources(PhysicalResourceId=name)["StackResources"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                return None
            raise
        if not found:
            return None
        # The answer has only 100 resources of the stack, which may not include this one.
        own = [one["ResourceStatus"] for one in self.resources(found[0]["StackId"]) if one.get("PhysicalResourceId") == name]
        return None if "DELETE_SKIPPED" in own else found[0]["StackName"]

    def place(self):
        """Returns the account and the region, in words."""
        identity = self.client("sts").get_caller_identity()
        return f"the account {identity['Account']} in {self.session.region_name}"

    def table(self, name):
        """Returns the description of a table, or None if there is no such table."""
        tables = self.client("dynamodb")
        try:
            return tables.describe_table(TableName=name)["Table"]
        except tables.exceptions.ResourceNotFoundException:
            return None

    def has_log_group(self, name):
        found = self.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
        return any(one["logGroupName"] == name for one in found)

    def has_stream(self, arn):
        streams = self.client("dynamodbstreams")
        try:
            return bool(streams.describe_stream(StreamArn=arn))
        except streams.exceptions.ResourceNotFoundException:
            return False

    def topic(self, arn):
        """Returns the attributes of an SNS topic, or None if there is no such topic."""
        topics = self.client("sns")
        try:
            return topics.get_topic_attributes(TopicArn=arn)["Attributes"]
        except topics.exceptions.NotFoundException:
            return None
