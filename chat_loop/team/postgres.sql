-- The tables of a team's library; the version is in `postgres.py`. A role reads the rows of every
-- owner that it is a member of (GRANT alice TO bob), and writes its own.
CREATE SCHEMA chat_loop;
CREATE TEXT SEARCH DICTIONARY chat_loop.stem (TEMPLATE = pg_catalog.snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION chat_loop.words (PARSER = pg_catalog.default);
ALTER TEXT SEARCH CONFIGURATION chat_loop.words
    ADD MAPPING FOR asciiword, word WITH chat_loop.stem;
ALTER TEXT SEARCH CONFIGURATION chat_loop.words
    ADD MAPPING FOR numword, int, uint, float, sfloat, version, email, url, url_path, host, file
    WITH pg_catalog.simple;

CREATE TABLE chat_loop.version (number integer NOT NULL);
CREATE TABLE chat_loop.sessions (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    id text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    used double precision,      -- the date of its last record in seconds; NULL: unknown
    changed bigint NOT NULL,
    state text NOT NULL,
    agent text NOT NULL,        -- in lower case, as the next three
    project text NOT NULL,
    tags text NOT NULL,
    searched text NOT NULL,
    queries bigint,
    tokens bigint,
    parent text COLLATE "C" NOT NULL,
    merged text COLLATE "C" NOT NULL,
    listed boolean NOT NULL,    -- false for a run of -p, and for a conversation without a reply
    link text NOT NULL,
    row text NOT NULL,          -- everything that a listing shows, as JSON
    running text,               -- what it had consumed before each query, as JSON
    UNIQUE (owner, id)
);
CREATE INDEX sessions_id ON chat_loop.sessions (id);
CREATE INDEX sessions_used ON chat_loop.sessions (used DESC NULLS LAST, id DESC);
CREATE INDEX sessions_parent ON chat_loop.sessions (parent) WHERE parent <> '';
CREATE INDEX sessions_merged ON chat_loop.sessions (merged) WHERE merged <> '';
CREATE INDEX sessions_first ON chat_loop.sessions (owner) INCLUDE (listed, parent)
    WHERE listed AND parent = '';
-- The files of a folder that a session was read from; `place` is the machine and the folder.
CREATE TABLE chat_loop.copies (
    owner name NOT NULL DEFAULT current_user,
    place text NOT NULL,
    session bigint NOT NULL REFERENCES chat_loop.sessions ON DELETE CASCADE,
    changed bigint NOT NULL,
    size bigint NOT NULL,
    PRIMARY KEY (session, owner, place)
);
CREATE INDEX copies_place ON chat_loop.copies (owner, place);
CREATE TABLE chat_loop.exchanges (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    session bigint NOT NULL REFERENCES chat_loop.sessions ON DELETE CASCADE,
    position integer NOT NULL,
    number bigint NOT NULL,
    archived smallint NOT NULL, -- 1: the session's summary block covers it
    content bytea NOT NULL,     -- digest of query and reply
    at text NOT NULL,
    texts text NOT NULL,
    lines text NOT NULL,        -- the words, a line for each sentence: `terms.lines`
    UNIQUE (session, position)
);
CREATE INDEX exchanges_owner ON chat_loop.exchanges (owner);
CREATE INDEX exchanges_content ON chat_loop.exchanges (content);
CREATE TABLE chat_loop.sentences (
    exchange bigint PRIMARY KEY REFERENCES chat_loop.exchanges ON DELETE CASCADE,
    owner name NOT NULL DEFAULT current_user,
    session bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX sentences_owner ON chat_loop.sentences (owner);
CREATE INDEX sentences_words ON chat_loop.sentences USING gin (words) WITH (fastupdate = off);
CREATE TABLE chat_loop.message_summaries (
    session bigint PRIMARY KEY REFERENCES chat_loop.sessions ON DELETE CASCADE,
    owner name NOT NULL DEFAULT current_user,
    last bigint NOT NULL,
    tokens bigint NOT NULL,
    before bigint,
    after bigint,
    cost double precision
);
CREATE TABLE chat_loop.vectors (
    owner name NOT NULL DEFAULT current_user,
    content bytea NOT NULL,
    space text NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (owner, content)
);

CREATE FUNCTION chat_loop.owners(role name) RETURNS name[] LANGUAGE sql STABLE
    PARALLEL SAFE SET search_path = pg_catalog AS
$$ SELECT array(SELECT rolname FROM pg_roles WHERE pg_has_role($1, oid, 'member')) $$;

-- An operator of full text cannot use its index below row security. So these functions, which see
-- all words, count the exchanges that the caller may see, or give their keys; row security decides
-- again when they are read. A word in more than a twentieth of the newest exchanges is not counted.
CREATE FUNCTION chat_loop.frequent(query tsquery) RETURNS boolean LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = pg_catalog, chat_loop, pg_temp SET enable_indexscan = on AS
$$
    SELECT (
        SELECT count(*) = 5000 FROM (
            SELECT 1 FROM sentences WHERE owner = ANY ((SELECT owners(session_user))::name[])
            LIMIT 5000
        ) AS visible
    ) AND (
        SELECT count(*) > 100 FROM (
            SELECT words FROM sentences ORDER BY exchange DESC LIMIT 2000
        ) AS newest WHERE words @@ query
    )
$$;
REVOKE EXECUTE ON FUNCTION chat_loop.frequent FROM PUBLIC;
CREATE FUNCTION chat_loop.looked_up(query tsquery, most integer) RETURNS bigint LANGUAGE plpgsql
    STABLE SECURITY DEFINER
    SET search_path = pg_catalog, chat_loop, pg_temp SET plan_cache_mode = force_custom_plan
    -- the server overestimates words that it has no statistics of, and would read all rows
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS
$$
DECLARE
    visible name[] := owners(session_user);
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT 1 FROM sentences WHERE words @@ query AND owner = ANY (visible) LIMIT most
    ) AS few);
END
$$;
CREATE FUNCTION chat_loop.holding(query tsquery, most integer) RETURNS bigint LANGUAGE sql
    STABLE SECURITY DEFINER SET search_path = pg_catalog, chat_loop, pg_temp AS
$$ SELECT CASE WHEN frequent(query) THEN most ELSE looked_up(query, most) END $$;
CREATE FUNCTION chat_loop.matching(
    queries tsquery[], weights double precision[], wanted bigint[], most integer
) RETURNS TABLE (exchange bigint, score double precision) LANGUAGE plpgsql STABLE ROWS 100
    SECURITY DEFINER SET search_path = pg_catalog, chat_loop, pg_temp
    SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS
$$
DECLARE
    visible name[] := owners(session_user);
    either tsquery := queries[1];
    is_frequent boolean;
BEGIN
    FOR at IN 2 .. cardinality(queries) LOOP
        either := either || queries[at];
    END LOOP;
    is_frequent := frequent(either);
    RETURN QUERY
        SELECT s.exchange, (
            SELECT sum(weight * (s.words @@ query)::int * (1 + ts_rank(s.words, query, 33)))
            FROM unnest(queries, weights) AS terms (query, weight)
        )
        FROM (
            SELECT exchanges.exchange, words FROM sentences exchanges
            WHERE words @@ either AND owner = ANY (visible)
                AND (wanted IS NULL OR session = ANY (wanted))
            -- the newest: of frequent words by going back in time, of others from their index
            ORDER BY CASE WHEN is_frequent THEN exchanges.exchange ELSE exchanges.exchange + 0 END
                DESC
            LIMIT most
        ) AS s;
END
$$;

CREATE FUNCTION chat_loop.protect(name text) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog AS
$$
BEGIN
    EXECUTE format('ALTER TABLE chat_loop.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY reading ON chat_loop.%I FOR SELECT USING '
        '(owner = ANY ((SELECT chat_loop.owners(current_user))::name[]))', name);
    EXECUTE format('CREATE POLICY adding ON chat_loop.%I FOR INSERT '
        'WITH CHECK (owner = current_user)', name);
    EXECUTE format('CREATE POLICY changing ON chat_loop.%I FOR UPDATE '
        'USING (owner = current_user) WITH CHECK (owner = current_user)', name);
    EXECUTE format('CREATE POLICY removing ON chat_loop.%I FOR DELETE '
        'USING (owner = current_user)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chat_loop.%I TO PUBLIC', name);
    IF name <> 'sentences' THEN  -- whose owner's function reads it
        EXECUTE format('ALTER TABLE chat_loop.%I FORCE ROW LEVEL SECURITY', name);
    END IF;
END
$$;
SELECT chat_loop.protect(name) FROM unnest(ARRAY[
    'sessions', 'copies', 'exchanges', 'sentences', 'message_summaries', 'vectors'
]) AS name;
GRANT USAGE ON SCHEMA chat_loop TO PUBLIC;
GRANT SELECT ON chat_loop.version TO PUBLIC;
