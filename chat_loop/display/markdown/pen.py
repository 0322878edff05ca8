"""What the terminal is sent: text with attributes, and the newlines and blanks between, which wait for what follows."""

from __future__ import annotations


class Pen:
    """Collects what is sent; `newlines` and `blanks` wait, `started` says whether anything was written."""

    def __init__(self) -> None:
        self.newlines = 0
        self.blanks = 0
        self.started = False
        self._out: list[str] = []
        self._style = ""
        self._dots = 0

    def put(self, text: str, style: str) -> None:
        """Write text that holds no newline, in `style`; the blanks at its end wait for what follows them.

        The blanks at its beginning belong to neither side, wherever a text was cut.
        """
        begun = text.lstrip(" ")
        self.blanks += len(text) - len(begun)
        body = begun.rstrip(" ")
        if not body:
            return
        if self._dots:
            self._out.append("\r\x1b[K")
            self._dots = 0
        if self.newlines or self.blanks:
            self._gap(style)
        if style != self._style:
            self._set(style)
        self._out.append(body)
        self.started = True
        self.blanks = len(begun) - len(body)

    def flow(self, text: str, style: str) -> str:
        """Return what is sent when `text` goes on with a line, and nothing else is to be sent before it."""
        if self.newlines or style != self._style:
            self.put(text, style)
            return self.sent()
        body = text.rstrip(" ") if text[-1] == " " else text
        if not body:
            self.blanks += len(text)
            return ""
        sent = " " * self.blanks + body if self.blanks else body
        self.blanks = len(text) - len(body)
        return sent

    def dots(self, count: int) -> str:
        """Return what makes a line of so many dots, which is taken back when something is written."""
        new, self._dots = count - self._dots, count
        sent = "\n" * self.newlines + "." * new
        self.newlines = 0
        return sent

    def plain(self) -> None:
        """End all attributes."""
        if self._style:
            self._set("")

    def sent(self) -> str:
        """Return what was collected, once."""
        sent = "".join(self._out)
        self._out.clear()
        return sent

    def _gap(self, style: str) -> None:
        """Write the newlines and the blanks that waited, with the attributes that are the same on both sides."""
        if self.newlines or style != self._style:
            self.plain()
        self._out.append("\n" * self.newlines + " " * self.blanks)
        self.newlines = self.blanks = 0

    def _set(self, style: str) -> None:
        if style != self._style:
            self._out.append(f"\x1b[{style}m" if not self._style else f"\x1b[0;{style}m" if style else "\x1b[0m")
            self._style = style
