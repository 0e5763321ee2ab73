//! JSON Schemas of amounts and currencies.

keys::schema!(crate::Currency as "Currency": {
    "description": "ISO 4217 code of a currency with a defined number of decimal places.",
    "type": "string",
    "pattern": "^[A-Z]{3}$"
});

keys::schema!(crate::Decimal as "Decimal": {
    "description": "Exact amount with all decimal places of its currency.",
    "type": "string",
    "pattern": r"^-?(0|[1-9][0-9]{0,37})(\.[0-9]{1,38})?$"
});

keys::schema!(crate::JsonDecimal as "NewDecimal": {
    "description": "Amount with at most 38 digits, and at most as many decimal places as its currency. A JSON number is \
        parsed without conversion to a float, and must not have an exponent.",
    "oneOf": [
        {"title": "DecimalText", "type": "string", "pattern": r"^(0|[1-9][0-9]{0,37})(\.[0-9]{1,38})?$"},
        {"title": "DecimalNumber", "type": "number", "minimum": 0}
    ]
});
