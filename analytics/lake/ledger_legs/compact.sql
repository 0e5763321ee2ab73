-- State of ledger_legs: the newest row of every item, also of items that no longer exist.
-- Placeholders: the previous state, and since, the first hour of the changes that are merged.
SELECT
    event_id,
    operation,
    sequence_number,
    changed_at,
    leg_id,
    entry,
    version,
    transaction_id,
    account_id,
    user_id,
    leg_type,
    amount,
    currency,
    created_at,
    balance_after,
    posted_at
FROM (
    SELECT
        *,
        row_number() OVER (PARTITION BY leg_id, entry ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM (
        SELECT
            event_id,
            operation,
            sequence_number,
            changed_at,
            leg_id,
            entry,
            version,
            transaction_id,
            account_id,
            user_id,
            leg_type,
            amount,
            currency,
            created_at,
            balance_after,
            posted_at
        FROM {state}
        UNION ALL
        SELECT
            event_id,
            operation,
            sequence_number,
            changed_at,
            leg_id,
            entry,
            version,
            transaction_id,
            account_id,
            user_id,
            leg_type,
            amount,
            currency,
            created_at,
            balance_after,
            posted_at
        FROM leg_changes
        WHERE hour >= '{since}'
    ) AS rows_of_both
) AS ranked
WHERE place = 1
