"""A team's library in PostgreSQL, loaded only when the config names one."""
