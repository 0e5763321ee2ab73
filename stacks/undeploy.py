"""Deletes a stack. Its tables and buckets stay, unless --delete-data is given.

Usage: undeploy.py <stack> [--yes] [--delete-data]
docs/decisions/stacks.md explains what stays, and how a new deployment uses it.
"""

import collections
import sys

from botocore.exceptions import ClientError, WaiterError
from deployment import checks, leftovers, settings
from deployment.account import FAILED, Account
from deployment.settings import STACKS, Stack

# The types with a retain policy in the templates.
DATA = ("AWS::DynamoDB::Table", "AWS::S3::Bucket")


def data_of(account, stack):
    """Returns the names of the tables and buckets of the stack, and of the tables that an earlier stack has left."""
    existing = leftovers.existing(account, stack)
    # Another stack may have taken over a table that this stack has skipped. `retained` has those
    # that no stack has.
    own = [one for one in existing if (one["ResourceType"], one["ResourceStatus"]) != ("AWS::DynamoDB::Table", "DELETE_SKIPPED")]
    found = [(one["ResourceType"], one["PhysicalResourceId"]) for one in own if one["ResourceType"] in DATA and "PhysicalResourceId" in one]
    left = [("AWS::DynamoDB::Table", name) for name in leftovers.retained(account, stack)]
    names = sorted(set(found + left))
    return {kind: [name for one, name in names if one == kind] for kind in DATA}


def describe(account, stack, data, deletes_data):
    """Prints what the deletion removes, and what it keeps."""
    found = [one for one in leftovers.existing(account, stack) if one["ResourceType"] not in DATA]
    counts = collections.Counter(one["ResourceType"].removeprefix("AWS::") for one in found)
    print(f"In {account.place()}:")
    if found:
        print(f"The stack {stack.stack_name} is deleted, with {', '.join(f'{count} {kind}' for kind, count in sorted(counts.items()))}.")
        print("A new deployment creates them again. Its API has another URL.")
    for one in found:
        if one["ResourceType"] == "AWS::Logs::LogGroup":
            print(f"lost: the logs in {one.get('PhysicalResourceId')}")
    for kind, names in data.items():
        for name in names:
            print(f"{'lost' if deletes_data else 'kept'}: {kind.split('::')[2].lower()} {name}")


def delete_stack(account, stack):
    """Deletes the stack, and waits for the end."""
    formation = account.client("cloudformation")
    formation.delete_stack(StackName=stack.stack_name)
    try:
        formation.get_waiter("stack_delete_complete").wait(StackName=stack.stack_name, WaiterConfig={"Delay": 5, "MaxAttempts": 720})
    except WaiterError:
        events = formation.describe_stack_events(StackName=stack.stack_name)["StackEvents"]
        failed = [f"{one['LogicalResourceId']}: {one.get('ResourceStatusReason')}" for one in events if one["ResourceStatus"] == "DELETE_FAILED"]
        sys.exit("\n".join([f"{stack.stack_name} is not deleted. Repair the cause, and run the command again", *failed]))


def unprotect(account, tables):
    """Removes the deletion protection of the tables, which would make the deletion of a failed stack fail."""
    for name in tables:
        if (account.table(name) or {}).get("DeletionProtectionEnabled"):
            account.client("dynamodb").update_table(TableName=name, DeletionProtectionEnabled=False)
            account.client("dynamodb").get_waiter("table_exists").wait(TableName=name)


def delete_data(account, data):
    tables = account.client("dynamodb")
    for name in data["AWS::DynamoDB::Table"]:
        if account.table(name):
            tables.delete_table(TableName=name)
            tables.get_waiter("table_not_exists").wait(TableName=name)
    left = [name for name in data["AWS::S3::Bucket"] if not delete_bucket(account, name)]
    if left:
        sys.exit("\n".join(f"the bucket {name} is not deleted. Delete it: aws s3 rb --force s3://{name}" for name in left))


def delete_bucket(account, name):
    """Deletes a bucket with all versions of its objects. Returns whether it is gone."""
    bucket = account.session.resource("s3").Bucket(name)
    try:
        bucket.object_versions.delete()
        bucket.delete()
    except ClientError as error:
        return error.response["Error"]["Code"] == "NoSuchBucket"
    return True


def refusal(found):
    """Returns why the stack cannot be deleted now, or None."""
    if found.get("EnableTerminationProtection"):
        name = found["StackName"]
        return f"{name} has termination protection. Remove it: aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name {name}"
    if found["StackStatus"].endswith("_IN_PROGRESS") and found["StackStatus"] != "REVIEW_IN_PROGRESS":
        return f"{found['StackName']} is {found['StackStatus']}. Run the command again after its end"
    return None


def main(name, *options):
    if name not in (*STACKS, "system"):
        sys.exit(f"STACK={name} is no stack: choose one of {', '.join(STACKS)}, or system for all of them as one")
    if unknown := set(options) - {"--yes", "--delete-data"}:
        sys.exit(f"unknown option {' '.join(sorted(unknown))}: use --yes to skip the question, and --delete-data to delete tables and buckets")
    stack = Stack(name, settings.read())
    account = Account(stack.section)
    if missing := checks.access(account):
        sys.exit("\n".join(missing))
    deletes_data = "--delete-data" in options
    data = data_of(account, stack)
    exists = account.stack(stack.stack_name)
    if exists and (reason := refusal(exists)):
        sys.exit(reason)
    if not exists and not (deletes_data and any(data.values())):
        sys.exit(f"there is no stack {stack.stack_name}")
    describe(account, stack, data, deletes_data)
    if "--yes" not in options and input(f"Type {stack.stack_name} to continue: ") != stack.stack_name:
        sys.exit("nothing is deleted")
    # A failed creation deletes its tables with the stack. Other stacks keep them, and their
    # protection, until the stack is gone.
    if deletes_data and exists and exists["StackStatus"] in FAILED:
        unprotect(account, data["AWS::DynamoDB::Table"])
    if exists:
        delete_stack(account, stack)
    if deletes_data:
        unprotect(account, data["AWS::DynamoDB::Table"])
        delete_data(account, data)
    print("deleted")


if __name__ == "__main__":
    main(*sys.argv[1:])
