-- Differences between a snapshot of ledger_legs and the rows of leg_changes.
-- Placeholders: the snapshot, at, its time, a state that is older than the snapshot, and since, the
-- first hour that the state may lack. Changes in the last minute before the snapshot are not
-- expected in it, because the times of changes are approximate.
WITH merged AS (
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
        posted_at,
        '' AS hour,
        0 AS delivery
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
        posted_at,
        hour,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS delivery
    FROM leg_changes
    WHERE hour >= '{since}'
),
copies AS (
    SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy
    FROM merged
),
rows_then AS (
    SELECT *
    FROM copies
    WHERE copy = 1 AND (changed_at IS NULL OR changed_at <= TIMESTAMP '{at}' + interval '1' minute)
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY leg_id, entry ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS age,
        row_number() OVER (PARTITION BY leg_id, entry ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM rows_then
),
compared AS (
    SELECT
        s.leg_id || ' ' || s.entry AS item,
        s.version AS version,
        CASE
            WHEN newest.version IS NULL THEN 'missing'
            WHEN newest.version < s.version THEN 'behind'
            WHEN l.version IS NULL THEN ''
            WHEN s.transaction_id IS DISTINCT FROM l.transaction_id
                OR s.account_id IS DISTINCT FROM l.account_id
                OR s.user_id IS DISTINCT FROM l.user_id
                OR s.leg_type IS DISTINCT FROM l.leg_type
                OR s.amount IS DISTINCT FROM l.amount
                OR s.currency IS DISTINCT FROM l.currency
                OR s.created_at IS DISTINCT FROM l.created_at
                OR s.balance_after IS DISTINCT FROM l.balance_after
                OR s.posted_at IS DISTINCT FROM l.posted_at THEN 'different'
            ELSE ''
        END AS kind,
        CASE
            WHEN l.version IS NULL THEN ''
            ELSE CASE WHEN s.transaction_id IS DISTINCT FROM l.transaction_id THEN 'transaction_id ' ELSE '' END
                || CASE WHEN s.account_id IS DISTINCT FROM l.account_id THEN 'account_id ' ELSE '' END
                || CASE WHEN s.user_id IS DISTINCT FROM l.user_id THEN 'user_id ' ELSE '' END
                || CASE WHEN s.leg_type IS DISTINCT FROM l.leg_type THEN 'leg_type ' ELSE '' END
                || CASE WHEN s.amount IS DISTINCT FROM l.amount THEN 'amount ' ELSE '' END
                || CASE WHEN s.currency IS DISTINCT FROM l.currency THEN 'currency ' ELSE '' END
                || CASE WHEN s.created_at IS DISTINCT FROM l.created_at THEN 'created_at ' ELSE '' END
                || CASE WHEN s.balance_after IS DISTINCT FROM l.balance_after THEN 'balance_after ' ELSE '' END
                || CASE WHEN s.posted_at IS DISTINCT FROM l.posted_at THEN 'posted_at ' ELSE '' END
        END AS detail
    FROM {snapshot} AS s
    LEFT JOIN ranked AS newest ON s.leg_id = newest.leg_id AND s.entry = newest.entry AND newest.age = 1
    LEFT JOIN ranked AS l ON s.leg_id = l.leg_id AND s.entry = l.entry AND l.place = 1
),
findings AS (
    SELECT kind, item, version, detail
    FROM compared
    WHERE kind <> ''
    UNION ALL
    SELECT 'extra' AS kind, l.leg_id || ' ' || l.entry AS item, l.version AS version, '' AS detail
    FROM ranked AS l
    LEFT JOIN {snapshot} AS s ON s.leg_id = l.leg_id AND s.entry = l.entry
    WHERE l.age = 1 AND s.version IS NULL AND l.operation NOT IN ('remove', 'expire') AND l.changed_at <= TIMESTAMP '{at}' - interval '1' minute
    UNION ALL
    SELECT 'repeated' AS kind, r.leg_id || ' ' || r.entry AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'late' AS kind, r.leg_id || ' ' || r.entry AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery = 1 AND r.operation <> 'snapshot'
        AND TRY_CAST(substr(r.hour, 1, 10) || ' ' || substr(r.hour, 12, 2) || ':00:00' AS timestamp) > r.changed_at + interval '2' hour
)
SELECT kind, item, version, detail
FROM findings
ORDER BY kind, item, version
