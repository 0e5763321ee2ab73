-- Posts a payment exactly once for each caller and key. A retry returns the first outcome. A key
-- with different content is an error. A rejected payment stores nothing.
CREATE FUNCTION transfer(
    p_caller text, p_key text, p_type text, p_debit bigint, p_credit bigint, p_amount numeric,
    p_currency text, p_description text DEFAULT NULL,
    OUT transaction_id bigint, OUT created_at timestamptz, OUT debit_after numeric, OUT credit_after numeric
) LANGUAGE plpgsql AS $$
DECLARE
    content bytea := sha256(convert_to(jsonb_build_array(
        p_type, p_debit, p_credit, trim_scale(p_amount), p_currency, p_description)::text, 'UTF8'));
    first_content bytea;
    is_grouped boolean;
    written bigint[];
    usable integer;
BEGIN
    IF p_debit = p_credit OR scale(trim_scale(p_amount)) > 2 THEN
        RAISE EXCEPTION 'the accounts must differ, and the amount has at most two decimals'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- A concurrent request with the same key waits here until the first one has committed.
    INSERT INTO transactions AS t
        (caller, idempotency_key, request, transaction_type, amount, currency, description)
    VALUES (p_caller, p_key, content, p_type, p_amount, p_currency, p_description)
    ON CONFLICT (caller, idempotency_key) DO NOTHING
    RETURNING t.id, t.created_at INTO transaction_id, created_at;
    IF NOT FOUND THEN
        SELECT t.id, t.created_at, t.request,
            (SELECT l.balance_after FROM legs l WHERE l.transaction_id = t.id AND l.leg_type = 'debit'),
            (SELECT l.balance_after FROM legs l WHERE l.transaction_id = t.id AND l.leg_type = 'credit')
        INTO STRICT transaction_id, created_at, first_content, debit_after, credit_after
        FROM transactions t WHERE t.caller = p_caller AND t.idempotency_key = p_key;
        IF first_content <> content THEN
            RAISE EXCEPTION 'the key belongs to another request' USING ERRCODE = 'unique_violation';
        END IF;
        RETURN;
    END IF;
    SELECT a.is_grouped INTO is_grouped FROM accounts a
    WHERE a.id = p_credit AND a.status = 'active' AND a.currency = p_currency;
    written := CASE WHEN is_grouped THEN ARRAY[p_debit] ELSE ARRAY[p_debit, p_credit] END;
    -- The locks are taken in the order of the ids, so payments do not deadlock. The foreign keys of
    -- other payments do not conflict with FOR NO KEY UPDATE.
    SELECT count(*) INTO usable FROM (
        SELECT a.status, a.currency FROM accounts a WHERE a.id = ANY (written) ORDER BY a.id FOR NO KEY UPDATE
    ) locked
    WHERE locked.status = 'active' AND locked.currency = p_currency;
    IF is_grouped IS NULL OR usable < cardinality(written) THEN
        RAISE EXCEPTION 'an account is missing, is not active or has another currency'
            USING ERRCODE = 'foreign_key_violation';
    END IF;
    -- The check sufficient_funds rejects an overdraft.
    WITH moved AS (
        UPDATE accounts a SET
            balance = a.balance + CASE a.id WHEN p_debit THEN -p_amount ELSE p_amount END,
            entries = a.entries + 1
        WHERE a.id = ANY (written)
        RETURNING a.id, a.entries, a.balance
    ), posted AS (
        INSERT INTO legs AS l (account_id, entry, transaction_id, leg_type, amount, currency, balance_after)
        SELECT m.id, m.entries, transfer.transaction_id,
            CASE m.id WHEN p_debit THEN 'debit' ELSE 'credit' END, p_amount, p_currency, m.balance
        FROM moved m
        RETURNING l.leg_type, l.balance_after
    )
    SELECT max(p.balance_after) FILTER (WHERE p.leg_type = 'debit'),
        max(p.balance_after) FILTER (WHERE p.leg_type = 'credit')
    INTO debit_after, credit_after FROM posted p;
    IF is_grouped THEN
        INSERT INTO inbox (account_id, transaction_id, amount, currency)
        VALUES (p_credit, transfer.transaction_id, p_amount, p_currency);
    END IF;
END $$;

-- Posts up to p_most credits of a grouped account, oldest first, with one update of the balance.
-- Returns the number of posted credits.
CREATE FUNCTION settle(p_account bigint, p_most integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    account accounts;
    posted bigint;
BEGIN
    SELECT * INTO STRICT account FROM accounts WHERE id = p_account FOR NO KEY UPDATE;
    WITH oldest AS (
        SELECT id FROM inbox WHERE account_id = p_account ORDER BY id LIMIT p_most
    ), taken AS (
        DELETE FROM inbox i USING oldest o WHERE i.account_id = p_account AND i.id = o.id
        RETURNING i.id, i.transaction_id, i.amount
    ), entered AS (
        INSERT INTO legs (account_id, entry, transaction_id, leg_type, amount, currency, balance_after)
        SELECT p_account, account.entries + row_number() OVER w, transaction_id, 'credit', amount,
            account.currency, account.balance + sum(amount) OVER w
        FROM taken WINDOW w AS (ORDER BY id)
        RETURNING amount
    ), total AS (
        SELECT count(*) AS legs, sum(amount) AS amount FROM entered
    )
    UPDATE accounts SET balance = balance + total.amount, entries = entries + total.legs
    FROM total WHERE id = p_account AND total.legs > 0
    RETURNING total.legs INTO posted;
    RETURN coalesce(posted, 0);
END $$;

-- Reconciles the transactions of a period, and all accounts with all their legs. The query sees
-- one snapshot, so payments can continue.
CREATE FUNCTION reconcile(p_from timestamptz, p_to timestamptz)
RETURNS TABLE (finding text, subject bigint) LANGUAGE sql STABLE AS $$
    SELECT 'unbalanced-transaction', t.id
    FROM transactions t JOIN changes c ON c.transaction_id = t.id
    WHERE t.created_at BETWEEN p_from AND p_to
    GROUP BY t.id, c.currency HAVING sum(c.change) <> 0
    UNION ALL
    SELECT 'wrong-amount', t.id
    FROM transactions t LEFT JOIN changes c ON c.transaction_id = t.id AND c.change > 0
    WHERE t.created_at BETWEEN p_from AND p_to
    GROUP BY t.id HAVING sum(c.change) IS DISTINCT FROM t.amount
    UNION ALL
    SELECT 'wrong-balance', a.id
    FROM accounts a LEFT JOIN changes c ON c.account_id = a.id AND c.is_settled
    GROUP BY a.id HAVING coalesce(sum(c.change), 0) <> a.balance OR count(c.change) <> a.entries
    UNION ALL
    SELECT DISTINCT 'broken-history', h.account_id
    FROM (
        SELECT account_id, entry, balance_after,
            CASE leg_type WHEN 'debit' THEN -amount ELSE amount END AS change,
            row_number() OVER history AS place, coalesce(lag(balance_after) OVER history, 0) AS balance_before
        FROM legs WINDOW history AS (PARTITION BY account_id ORDER BY entry)
    ) h
    WHERE h.entry <> h.place OR h.balance_after <> h.balance_before + h.change
$$;
