-- The accounts 1 to :accounts, of which the first :busy have 100 legs each. Then two merchants, of
-- which the second has grouped posting. Last, the payments that the workload retries.
INSERT INTO accounts (id, user_id, currency, allow_negative)
SELECT n, 'user-' || n, 'USD', true FROM generate_series(1, :accounts) n;
INSERT INTO accounts (id, user_id, currency, is_grouped)
VALUES (:accounts + 1, 'merchant', 'USD', false), (:accounts + 2, 'merchant', 'USD', true);
SELECT count(transfer('operator', 'history-' || n, 'payment', 1 + n % :busy,
    1 + (n % :busy + 1 + n / :busy) % :busy, 0.01, 'USD'))
FROM generate_series(0, 50 * :busy - 1) n;
SELECT count(transfer('operator', 'retry-' || n, 'payment', n, n + 1, 0.01, 'USD'))
FROM generate_series(1, :keys) n;
VACUUM ANALYZE;
