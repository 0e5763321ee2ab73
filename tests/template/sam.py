"""Translates templates as SAM does."""

import logging
import os
from pathlib import Path

# boto3 requires a region.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

BUCKET = "bucket"
POLICIES = {"AWSLambdaBasicExecutionRole": "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"}


def transform(template: dict, parameters: dict | None = None) -> dict:
    """Returns the CloudFormation template. The code of each function is the object with the name of its binary, or inline.

    SAM replaces parameters in its own resources by the given values, or by their defaults.
    """
    logging.disable(logging.WARNING)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function" and "CodeUri" in resource["Properties"]:
            # CodeUri as `sam package` writes it.
            resource["Properties"]["CodeUri"] = f"s3://{BUCKET}/" + Path(resource["Properties"]["CodeUri"]).name
    return Translator(POLICIES, Parser()).translate(template, parameters or {})
