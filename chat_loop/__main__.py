"""`python -m chat_loop`."""

from chat_loop.cli import main

raise SystemExit(main())
