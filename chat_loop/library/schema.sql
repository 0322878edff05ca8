-- The tables of an index; its version is in `index.py`. Two processes may make them at once.
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,           -- the file's name without .md
    size INTEGER NOT NULL,      -- bytes; with `changed` it shows that the file has changed
    changed INTEGER NOT NULL,   -- the file's modification time in nanoseconds
    used REAL,                  -- the date of its last record in seconds; NULL: unknown
    state TEXT NOT NULL,
    agent TEXT NOT NULL,        -- in lower case, like the next three
    project TEXT NOT NULL,
    tags TEXT NOT NULL,         -- each between blanks
    searched TEXT NOT NULL,     -- name, id, agent, project, tags, the items of the summary block
    queries INTEGER,
    tokens INTEGER,
    link TEXT NOT NULL,         -- its ties to other sessions, as JSON
    row TEXT NOT NULL,          -- everything that a listing shows, as JSON
    running TEXT                -- what it had consumed before each query, as JSON; NULL: only its row was read
);
CREATE UNIQUE INDEX IF NOT EXISTS sessions_stamps ON sessions (id, changed, size);
CREATE INDEX IF NOT EXISTS sessions_links ON sessions (used DESC, id DESC, link);
CREATE TABLE IF NOT EXISTS exchanges (
    key INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- from 1, in the order of the file
    number INTEGER NOT NULL,    -- the query's
    archived INTEGER NOT NULL,  -- 1: the session's summary block covers it
    content BLOB NOT NULL,      -- digest of query and reply
    at TEXT NOT NULL,
    texts TEXT NOT NULL         -- who said what, as JSON: user, model, then tools and files
);
CREATE INDEX IF NOT EXISTS exchanges_content ON exchanges (content, session, position);
CREATE UNIQUE INDEX IF NOT EXISTS exchanges_place ON exchanges (session, position);
CREATE TABLE IF NOT EXISTS message_summaries (
    session INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,      -- the last query that the summary block covers
    tokens INTEGER NOT NULL,    -- of the block, estimated
    before INTEGER,             -- the tokens of the compaction that made it; NULL: there was none
    after INTEGER,
    cost REAL                   -- US dollars; NULL: unknown
);
-- The words of an exchange under its key, a line for each sentence: `terms.lines`.
CREATE VIRTUAL TABLE IF NOT EXISTS sentences USING fts5 (words, tokenize='porter ascii');
-- Kept when the index is rebuilt: they are expensive, and the digest identifies their texts.
CREATE TABLE IF NOT EXISTS vectors (
    content BLOB PRIMARY KEY,   -- as in `exchanges`
    space TEXT NOT NULL,
    data BLOB NOT NULL
);
