"""Tables and log groups that exist although the stack has not created them, so that it cannot create them.

The templates give these two types fixed names, and both outlive a stack: tables have a retain policy,
and a function that ends late writes its log group again (docs/decisions/stacks.md).
"""

import contextlib
import json

from botocore.exceptions import ClientError

from .account import FAILED
from .settings import template_of, text

WORDS = {"AWS::DynamoDB::Table": "table", "AWS::Logs::LogGroup": "log group"}
NAMES = {"AWS::DynamoDB::Table": "TableName", "AWS::Logs::LogGroup": "LogGroupName"}


def outside(account, stack):
    """Returns the type and the name of each resource that exists outside of the stack, with the stack that has it."""
    own = {one.get("PhysicalResourceId") for one in existing(account, stack) if one["ResourceStatus"] != "DELETE_SKIPPED"}
    exists = {"AWS::DynamoDB::Table": account.table, "AWS::Logs::LogGroup": account.has_log_group}
    named = [(one["Type"], one["Properties"][NAMES[one["Type"]]]) for _, one in stack.resources if one["Type"] in NAMES]
    return [(kind, name, account.owner(name)) for kind, name in named if name not in own and exists[kind](name)]


def existing(account, stack):
    return account.resources(stack.stack_name) if account.stack(stack.stack_name) else []


def retained(account, stack):
    """Returns the names of the tables that no stack has."""
    return [name for kind, name, owner in outside(account, stack) if kind == "AWS::DynamoDB::Table" and not owner]


def logical_ids(stack, names):
    """Returns the logical ids of the tables with these names, each with its name."""
    found = {logical: one["Properties"]["TableName"] for logical, one in stack.of("AWS::DynamoDB::Table")}
    return {logical: name for logical, name in found.items() if name in names}


def problems(account, stack, takes_over):
    """Returns a line for each resource that prevents the creation of the stack."""
    found = outside(account, stack)
    lines = []
    for kind, name, owner in found:
        if owner:
            lines.append(f"the {WORDS[kind]} {name} belongs to the stack {owner}. Delete that stack, or set another Name")
        elif kind == "AWS::Logs::LogGroup":
            lines.append(f"the log group {name} exists already. Delete it: aws logs delete-log-group --log-group-name {name}")
    tables = [name for kind, name, owner in found if kind == "AWS::DynamoDB::Table" and not owner]
    importable = bool(tables) and can_import(account, stack)
    if tables and not (takes_over and importable):
        use = f"Use them with their items: make deploy STACK={stack.name} ARGS=--take-over. " if importable else ""
        lines.append(f"the tables of a deleted or failed stack exist already: {', '.join(tables)}. {use}{deletion(account, stack, tables)}")
    return lines + (other_indexes(account, stack, tables) if takes_over and importable else [])


def other_indexes(account, stack, tables):
    """Returns a line for each table whose indexes the deployment after the import could not change."""
    lines = []
    for logical, name in logical_ids(stack, tables).items():
        has, wants = indexes(account.table(name)).keys(), defined_indexes(stack, logical).keys()
        if len(has ^ wants) > 1:
            found, wanted = (", ".join(sorted(each)) or "none" for each in (has - wants, wants - has))
            lines.append(
                f"the indexes of the table {name} are not those of the settings: it has {found}, and needs {wanted}. A deployment changes only "
                "one index. Take over with the release and the settings of the deleted stack, and change one index in each later deployment"
            )
    return lines


def indexes(table):
    """Returns the definitions of the indexes by name, keys and projected attributes, in words."""
    found = {}
    for one in table.get("GlobalSecondaryIndexes", []):
        keys = [key["AttributeName"] for key in one["KeySchema"]]
        projection = one["Projection"]
        words = " ".join([*keys, projection["ProjectionType"], *sorted(projection.get("NonKeyAttributes", []))])
        found[f"{one['IndexName']} ({words})"] = {name: one[name] for name in ("IndexName", "KeySchema", "Projection")}
    return found


def defined_indexes(stack, logical):
    """Returns the indexes that the table has in the template with the settings of the stack."""
    found = template_of(stack.name)["Resources"][logical]["Properties"].get("GlobalSecondaryIndexes", [])
    pairs = [one.get("Fn::If", [None, one]) for one in found]
    chosen = [one for condition, one, *_ in pairs if condition is None or holds(stack, {"Condition": condition})]
    return {words: one for one in chosen for words in indexes({"GlobalSecondaryIndexes": [one]})}


def holds(stack, condition):
    """Evaluates a condition of the template."""
    [(kind, parts)] = condition.items()
    if kind == "Condition":
        return holds(stack, template_of(stack.name)["Conditions"][parts])
    if kind == "Fn::Equals":
        one, other = (stack.values()[part["Ref"]] if isinstance(part, dict) else text(part) for part in parts)
        return one == other
    each = [holds(stack, part) for part in parts]
    return {"Fn::Not": not each[0], "Fn::Or": any(each), "Fn::And": all(each)}[kind]


def deletion(account, stack, tables):
    """Returns how to delete the tables. The deletion of a stack that works would delete all its tables."""
    if is_replaceable(account, stack):
        return f"Delete them with their items: make undeploy STACK={stack.name} ARGS=--delete-data"
    commands = [
        f"aws dynamodb update-table --table-name {name} --no-deletion-protection-enabled && aws dynamodb delete-table --table-name {name}"
        for name in tables
    ]
    return f"Delete them with their items: {'; '.join(commands)}"


def is_replaceable(account, stack):
    """Returns whether the stack is missing, or can only be deleted."""
    found = account.stack(stack.stack_name)
    return not found or found["StackStatus"] in (*FAILED, "REVIEW_IN_PROGRESS")


def can_import(account, stack):
    """Returns whether the stack is new, or must be deleted first. CloudFormation cannot import into nested stacks."""
    return stack.name != "system" and is_replaceable(account, stack)


def take_over(account, stack):
    """Creates the stack with the retained tables only, as an import. The deployment then updates the stack."""
    tables = logical_ids(stack, retained(account, stack))
    if not tables:
        return
    print(f"importing {', '.join(tables.values())} into {stack.stack_name}", flush=True)
    formation, change = account.client("cloudformation"), {"StackName": stack.stack_name, "ChangeSetName": "take-over"}
    if account.stack(stack.stack_name):
        # An earlier attempt may have left it.
        with contextlib.suppress(ClientError):
            formation.delete_change_set(**change)
    resources = {logical: present(stack, logical, account.table(name)) for logical, name in tables.items()}
    formation.create_change_set(
        **change,
        ChangeSetType="IMPORT",
        TemplateBody=json.dumps(only(template_of(stack.name), resources)),
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in stack.values().items()],
        ResourcesToImport=[
            {"ResourceType": "AWS::DynamoDB::Table", "LogicalResourceId": logical, "ResourceIdentifier": {"TableName": name}}
            for logical, name in tables.items()
        ],
    )
    formation.get_waiter("change_set_create_complete").wait(**change, WaiterConfig={"Delay": 1})
    formation.execute_change_set(**change)
    formation.get_waiter("stack_import_complete").wait(StackName=stack.stack_name, WaiterConfig={"Delay": 5})


def present(stack, logical, table):
    """Returns the definition of a table with the key, the protection and the indexes that it has.

    An import does not change a table. The update after it changes what differs from this definition.
    """
    resource = template_of(stack.name)["Resources"][logical]
    defined = resource["Properties"]
    key = table.get("SSEDescription", {}).get("KMSMasterKeyArn")
    added = [one for one in table["AttributeDefinitions"] if one not in defined["AttributeDefinitions"]]
    known, found = defined_indexes(stack, logical), indexes(table)
    nothing = {"Ref": "AWS::NoValue"}
    properties = {
        **defined,
        "DeletionProtectionEnabled": text(bool(table.get("DeletionProtectionEnabled"))),
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": key} if key else nothing,
        "AttributeDefinitions": defined["AttributeDefinitions"] + added,
        "GlobalSecondaryIndexes": [known.get(words) or found[words] for words in {**known, **found} if words in found] or nothing,
    }
    return {**resource, "Properties": properties}


def only(template, resources):
    """Returns a template with only these resources. An import may not have outputs or other new resources."""
    kept = {name: template[name] for name in ("AWSTemplateFormatVersion", "Parameters", "Conditions")}
    return {**kept, "Resources": resources}
