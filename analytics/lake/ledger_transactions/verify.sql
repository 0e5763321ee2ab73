-- Differences between a snapshot of ledger_transactions and the rows of transaction_changes.
-- Placeholders: the snapshot, at, its time, a state that is older than the snapshot, and since, the
-- first hour that the state may lack. Changes in the last minute before the snapshot are not
-- expected in it, because the times of changes are approximate.
WITH merged AS (
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        transaction_id,
        version,
        transaction_type,
        status,
        merchant_id,
        amount,
        currency,
        legs,
        reverses_id,
        created_at,
        created_by,
        '' AS hour,
        0 AS delivery
    FROM {state}
    UNION ALL
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        transaction_id,
        version,
        transaction_type,
        status,
        merchant_id,
        amount,
        currency,
        legs,
        reverses_id,
        created_at,
        created_by,
        hour,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS delivery
    FROM transaction_changes
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
        row_number() OVER (PARTITION BY transaction_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS age,
        row_number() OVER (PARTITION BY transaction_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM rows_then
),
compared AS (
    SELECT
        s.transaction_id AS item,
        s.version AS version,
        CASE
            WHEN newest.version IS NULL THEN 'missing'
            WHEN newest.version < s.version THEN 'behind'
            WHEN l.version IS NULL THEN ''
            WHEN s.transaction_type IS DISTINCT FROM l.transaction_type
                OR s.status IS DISTINCT FROM l.status
                OR s.merchant_id IS DISTINCT FROM l.merchant_id
                OR s.amount IS DISTINCT FROM l.amount
                OR s.currency IS DISTINCT FROM l.currency
                OR s.legs IS DISTINCT FROM l.legs
                OR s.reverses_id IS DISTINCT FROM l.reverses_id
                OR s.created_at IS DISTINCT FROM l.created_at
                OR s.created_by IS DISTINCT FROM l.created_by THEN 'different'
            ELSE ''
        END AS kind,
        CASE
            WHEN l.version IS NULL THEN ''
            ELSE CASE WHEN s.transaction_type IS DISTINCT FROM l.transaction_type THEN 'transaction_type ' ELSE '' END
                || CASE WHEN s.status IS DISTINCT FROM l.status THEN 'status ' ELSE '' END
                || CASE WHEN s.merchant_id IS DISTINCT FROM l.merchant_id THEN 'merchant_id ' ELSE '' END
                || CASE WHEN s.amount IS DISTINCT FROM l.amount THEN 'amount ' ELSE '' END
                || CASE WHEN s.currency IS DISTINCT FROM l.currency THEN 'currency ' ELSE '' END
                || CASE WHEN s.legs IS DISTINCT FROM l.legs THEN 'legs ' ELSE '' END
                || CASE WHEN s.reverses_id IS DISTINCT FROM l.reverses_id THEN 'reverses_id ' ELSE '' END
                || CASE WHEN s.created_at IS DISTINCT FROM l.created_at THEN 'created_at ' ELSE '' END
                || CASE WHEN s.created_by IS DISTINCT FROM l.created_by THEN 'created_by ' ELSE '' END
        END AS detail
    FROM {snapshot} AS s
    LEFT JOIN ranked AS newest ON s.transaction_id = newest.transaction_id AND newest.age = 1
    LEFT JOIN ranked AS l ON s.transaction_id = l.transaction_id AND l.place = 1
),
findings AS (
    SELECT kind, item, version, detail
    FROM compared
    WHERE kind <> ''
    UNION ALL
    SELECT 'extra' AS kind, l.transaction_id AS item, l.version AS version, '' AS detail
    FROM ranked AS l
    LEFT JOIN {snapshot} AS s ON s.transaction_id = l.transaction_id
    WHERE l.age = 1 AND s.version IS NULL AND l.operation NOT IN ('remove', 'expire') AND l.changed_at <= TIMESTAMP '{at}' - interval '1' minute
    UNION ALL
    SELECT 'repeated' AS kind, r.transaction_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'late' AS kind, r.transaction_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery = 1 AND r.operation <> 'snapshot'
        AND TRY_CAST(substr(r.hour, 1, 10) || ' ' || substr(r.hour, 12, 2) || ':00:00' AS timestamp) > r.changed_at + interval '2' hour
)
SELECT kind, item, version, detail
FROM findings
ORDER BY kind, item, version
