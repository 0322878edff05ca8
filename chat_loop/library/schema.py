"""The tables of the index. Another VERSION means that an index is built anew: there are no
migrations.
"""

from __future__ import annotations

VERSION = 5
APPLICATION = 0x43484C50
"""`application_id` of our files: "CHLP"."""

TABLES = """
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
    output INTEGER
);
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
CREATE VIRTUAL TABLE said USING fts5 (words, tokenize='porter ascii');
CREATE TABLE lexicon (key INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, held INTEGER NOT NULL);
CREATE INDEX lexicon_gone ON lexicon (key) WHERE held < 1;
CREATE VIRTUAL TABLE parts USING fts5 (word, columnsize=0, tokenize='trigram');
CREATE TABLE vectors (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    exchange INTEGER NOT NULL UNIQUE,
    space TEXT NOT NULL,
    data BLOB NOT NULL
);
INSERT INTO sqlite_sequence
    VALUES ('exchanges', abs(random() % 1000000000000)), ('vectors', abs(random() % 1000000000000));
"""
"""`said` holds an exchange's folded words under its key; `lexicon` every distinct word and how many
exchanges hold it, `parts` the same by their trigrams. No key of an exchange or a vector is given
twice, hardly ever in two indexes that replace each other: a vector that comes late finds no other
exchange, and whoever has read all vectors sees by their count and the last key that they are
others.
"""
