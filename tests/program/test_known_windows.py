"""The chat, `doctor` and `models` name the same window, before the first message."""

from __future__ import annotations

from pathlib import Path

from tests.support.headless import run


def test_an_embedded_model_is_listed_with_the_window_that_it_gets(tmp_path: Path) -> None:
    def lines() -> list[str]:
        listed = run(tmp_path, "models", "list").stdout.decode()
        return [line for line in listed.split("\n") if " tokens " in line]

    assert ["8K of 32K tokens" in line for line in lines()] == [True, True, False]
    assert "8K of 8K tokens" in lines()[2]
    (tmp_path / "config.yaml").write_text("providers: {local: {context: 16384}}\n")
    assert "16K of 32K tokens" in lines()[0]
