"""Names that all languages of the seen profile share: parts of paths, addresses and systems."""

COMMON = """
mod: billing, orders, export, catalog, mailer, stock
file: rounding, session, parser, invoice, cursor, ledger, backoff, mapper, filters, upload
folder: papers, home, archive, family, private, admin, paperwork, misc
site: greenleaf, hafenblick, northpier, casaluna, oldmill, birchwood, papercrane, stillwater, kupferberg, maplepost
svc: billing, search, login, reporting, shipping, checkout
tech: Postgres, Redis, Kafka, SQLite, RabbitMQ, Elastic
"""
