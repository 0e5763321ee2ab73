-- Differences between a snapshot of payments and the rows of payment_changes.
-- Placeholders: the snapshot, at, its time, a state that is older than the snapshot, and since, the
-- first hour that the state may lack. Changes in the last minute before the snapshot are not
-- expected in it, because the times of changes are approximate.
WITH merged AS (
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        account_id,
        payment_id,
        version,
        scheduled_at,
        created_at,
        amount,
        currency,
        debit_account_id,
        credit_account_id,
        by_operator,
        retry_of,
        status,
        attempts,
        transaction_id,
        dispatched_at,
        settled_at,
        failure_reason,
        execution,
        next_attempt_at,
        old_status,
        old_attempts,
        '' AS hour,
        0 AS delivery
    FROM {state}
    UNION ALL
    SELECT
        event_id,
        operation,
        sequence_number,
        changed_at,
        account_id,
        payment_id,
        version,
        scheduled_at,
        created_at,
        amount,
        currency,
        debit_account_id,
        credit_account_id,
        by_operator,
        retry_of,
        status,
        attempts,
        transaction_id,
        dispatched_at,
        settled_at,
        failure_reason,
        execution,
        next_attempt_at,
        old_status,
        old_attempts,
        hour,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS delivery
    FROM payment_changes
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
        row_number() OVER (PARTITION BY account_id, payment_id ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS age,
        row_number() OVER (PARTITION BY account_id, payment_id, version ORDER BY version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC) AS place
    FROM rows_then
),
compared AS (
    SELECT
        s.account_id || ' ' || s.payment_id AS item,
        s.version AS version,
        CASE
            WHEN newest.version IS NULL THEN 'missing'
            WHEN newest.version < s.version THEN 'behind'
            WHEN l.version IS NULL THEN ''
            WHEN s.scheduled_at IS DISTINCT FROM l.scheduled_at
                OR s.created_at IS DISTINCT FROM l.created_at
                OR s.amount IS DISTINCT FROM l.amount
                OR s.currency IS DISTINCT FROM l.currency
                OR s.debit_account_id IS DISTINCT FROM l.debit_account_id
                OR s.credit_account_id IS DISTINCT FROM l.credit_account_id
                OR s.by_operator IS DISTINCT FROM l.by_operator
                OR s.retry_of IS DISTINCT FROM l.retry_of
                OR s.status IS DISTINCT FROM l.status
                OR s.attempts IS DISTINCT FROM l.attempts
                OR s.transaction_id IS DISTINCT FROM l.transaction_id
                OR s.dispatched_at IS DISTINCT FROM l.dispatched_at
                OR s.settled_at IS DISTINCT FROM l.settled_at
                OR s.failure_reason IS DISTINCT FROM l.failure_reason
                OR s.execution IS DISTINCT FROM l.execution
                OR s.next_attempt_at IS DISTINCT FROM l.next_attempt_at THEN 'different'
            ELSE ''
        END AS kind,
        CASE
            WHEN l.version IS NULL THEN ''
            ELSE CASE WHEN s.scheduled_at IS DISTINCT FROM l.scheduled_at THEN 'scheduled_at ' ELSE '' END
                || CASE WHEN s.created_at IS DISTINCT FROM l.created_at THEN 'created_at ' ELSE '' END
                || CASE WHEN s.amount IS DISTINCT FROM l.amount THEN 'amount ' ELSE '' END
                || CASE WHEN s.currency IS DISTINCT FROM l.currency THEN 'currency ' ELSE '' END
                || CASE WHEN s.debit_account_id IS DISTINCT FROM l.debit_account_id THEN 'debit_account_id ' ELSE '' END
                || CASE WHEN s.credit_account_id IS DISTINCT FROM l.credit_account_id THEN 'credit_account_id ' ELSE '' END
                || CASE WHEN s.by_operator IS DISTINCT FROM l.by_operator THEN 'by_operator ' ELSE '' END
                || CASE WHEN s.retry_of IS DISTINCT FROM l.retry_of THEN 'retry_of ' ELSE '' END
                || CASE WHEN s.status IS DISTINCT FROM l.status THEN 'status ' ELSE '' END
                || CASE WHEN s.attempts IS DISTINCT FROM l.attempts THEN 'attempts ' ELSE '' END
                || CASE WHEN s.transaction_id IS DISTINCT FROM l.transaction_id THEN 'transaction_id ' ELSE '' END
                || CASE WHEN s.dispatched_at IS DISTINCT FROM l.dispatched_at THEN 'dispatched_at ' ELSE '' END
                || CASE WHEN s.settled_at IS DISTINCT FROM l.settled_at THEN 'settled_at ' ELSE '' END
                || CASE WHEN s.failure_reason IS DISTINCT FROM l.failure_reason THEN 'failure_reason ' ELSE '' END
                || CASE WHEN s.execution IS DISTINCT FROM l.execution THEN 'execution ' ELSE '' END
                || CASE WHEN s.next_attempt_at IS DISTINCT FROM l.next_attempt_at THEN 'next_attempt_at ' ELSE '' END
        END AS detail
    FROM {snapshot} AS s
    LEFT JOIN ranked AS newest ON s.account_id = newest.account_id AND s.payment_id = newest.payment_id AND newest.age = 1
    LEFT JOIN ranked AS l ON s.account_id = l.account_id AND s.payment_id = l.payment_id AND l.place = 1 AND l.version = s.version
),
steps AS (
    SELECT
        *,
        lag(status) OVER (PARTITION BY account_id, payment_id ORDER BY version) AS before_status,
        lag(attempts) OVER (PARTITION BY account_id, payment_id ORDER BY version) AS before_attempts,
        lag(version) OVER (PARTITION BY account_id, payment_id ORDER BY version) AS before_version
    FROM ranked
    WHERE place = 1
),
findings AS (
    SELECT kind, item, version, detail
    FROM compared
    WHERE kind <> ''
    UNION ALL
    SELECT 'extra' AS kind, l.account_id || ' ' || l.payment_id AS item, l.version AS version, '' AS detail
    FROM ranked AS l
    LEFT JOIN {snapshot} AS s ON s.account_id = l.account_id AND s.payment_id = l.payment_id
    WHERE l.age = 1 AND s.version IS NULL AND l.operation NOT IN ('remove', 'expire') AND l.changed_at <= TIMESTAMP '{at}' - interval '1' minute
    UNION ALL
    SELECT 'gap' AS kind, r.account_id || ' ' || r.payment_id AS item, r.version AS version, 'after version ' || CAST(coalesce(r.before_version, 0) AS varchar) AS detail
    FROM steps AS r
    WHERE r.operation <> 'snapshot' AND r.version > coalesce(r.before_version, 0) + 1
    UNION ALL
    SELECT 'altered' AS kind, r.account_id || ' ' || r.payment_id AS item, r.before_version AS version, 'differs from the old values of the next row' AS detail
    FROM steps AS r
    WHERE r.version = r.before_version + 1 AND (r.old_status <> r.before_status
                OR r.old_attempts <> r.before_attempts)
    UNION ALL
    SELECT 'altered' AS kind, r.account_id || ' ' || r.payment_id AS item, r.version AS version, 'differs in a value that never changes' AS detail
    FROM steps AS r
    INNER JOIN {snapshot} AS s ON s.account_id = r.account_id AND s.payment_id = r.payment_id AND s.version <> r.version
    WHERE s.scheduled_at IS DISTINCT FROM r.scheduled_at
                OR s.created_at IS DISTINCT FROM r.created_at
                OR s.amount IS DISTINCT FROM r.amount
                OR s.currency IS DISTINCT FROM r.currency
                OR s.debit_account_id IS DISTINCT FROM r.debit_account_id
                OR s.credit_account_id IS DISTINCT FROM r.credit_account_id
                OR s.by_operator IS DISTINCT FROM r.by_operator
                OR s.retry_of IS DISTINCT FROM r.retry_of
    UNION ALL
    SELECT 'conflict' AS kind, r.account_id || ' ' || r.payment_id AS item, r.version AS version, 'another change has the same version' AS detail
    FROM ranked AS r
    WHERE r.place > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'repeated' AS kind, r.account_id || ' ' || r.payment_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'late' AS kind, r.account_id || ' ' || r.payment_id AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery = 1 AND r.operation <> 'snapshot'
        AND TRY_CAST(substr(r.hour, 1, 10) || ' ' || substr(r.hour, 12, 2) || ':00:00' AS timestamp) > r.changed_at + interval '2' hour
)
SELECT kind, item, version, detail
FROM findings
ORDER BY kind, item, version
