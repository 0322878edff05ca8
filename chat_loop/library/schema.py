"""The tables of the index. Another VERSION means that an index is built anew: there are no
migrations.
"""

from __future__ import annotations

from chat_loop.library import fulltext

VERSION = 6
APPLICATION = 0x43484C50
"""`application_id` of our files: "CHLP"."""

TABLES = f"""
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,          -- the file's name without .md
    header_id TEXT NOT NULL,          -- the id inside; another one in a file that was renamed or copied
    size INTEGER NOT NULL,            -- bytes, and with `changed` what tells whether the file is another one now
    changed INTEGER NOT NULL,         -- the file's modification time, nanoseconds
    used INTEGER,                     -- when its last record was written, microseconds; NULL: no record has a date
    state TEXT NOT NULL,
    created TEXT NOT NULL,
    agent TEXT NOT NULL,
    project TEXT NOT NULL,
    parent TEXT NOT NULL,
    merged TEXT NOT NULL,
    depth INTEGER NOT NULL,
    queries INTEGER,
    tokens INTEGER,
    name TEXT NOT NULL,
    compacted INTEGER NOT NULL,
    until TEXT NOT NULL,              -- the reference of its parent's last query that it goes on from; '': of all
    words TEXT NOT NULL,              -- the first line of its own first query
    mode TEXT NOT NULL,               -- 'print': only held with -p
    answered INTEGER NOT NULL,        -- 0: no reply ever came
    spent TEXT,                       -- tokens of each model, as JSON
    tags TEXT NOT NULL,               -- in their order, between blanks
    link INTEGER NOT NULL,            -- checksum of what is read of every session
    whole INTEGER NOT NULL            -- checksum of what is shown of one
);
CREATE TABLE tags (session INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (session, tag)) WITHOUT ROWID;
CREATE TABLE exchanges (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,        -- from 1, in the order of the file
    number INTEGER NOT NULL,          -- the query's
    at TEXT NOT NULL,
    query TEXT NOT NULL,              -- texts without secrets
    reply TEXT NOT NULL,
    archived INTEGER NOT NULL,        -- 1: the session's summary block covers it
    input INTEGER,                    -- tokens
    output INTEGER,
    content BLOB NOT NULL             -- digest of query and reply
);
CREATE INDEX exchanges_content ON exchanges (content);
CREATE UNIQUE INDEX exchanges_place ON exchanges (session, position);
CREATE TABLE message_summaries (
    session INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    first INTEGER NOT NULL,           -- the queries that the block covers
    last INTEGER NOT NULL,
    tokens INTEGER NOT NULL,          -- of the block, estimated
    source TEXT NOT NULL
);
CREATE TABLE compactions (
    session INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    first TEXT NOT NULL,
    last TEXT NOT NULL,
    before INTEGER NOT NULL,
    after INTEGER NOT NULL,
    why TEXT NOT NULL,
    model TEXT NOT NULL,
    cost REAL,
    seconds REAL,
    decisions INTEGER NOT NULL,
    pins INTEGER NOT NULL,
    facts INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    superseded INTEGER NOT NULL
);
CREATE TABLE facts (session INTEGER NOT NULL, section TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX facts_session ON facts (session);
{fulltext.TABLES}
CREATE TABLE IF NOT EXISTS vectors (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    content BLOB NOT NULL UNIQUE,     -- that of the exchanges whose texts they are of
    space TEXT NOT NULL,
    data BLOB NOT NULL
);
INSERT INTO sqlite_sequence SELECT 'vectors', abs(random() % 1000000000000)
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'vectors');
"""
"""No key of vectors is given twice, hardly ever in two indexes that replace each other: whoever has
read them all sees by their count and the last key that they are others.
"""
KEPT = ("vectors",)
"""Tables that stay when everything is read anew: they are dear, and their content says of what they
are.
"""
