"""Small PDF files made by hand: valid ones and hostile ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a file of `objects`, numbered from 1; the first is the catalog."""
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    data += b"trailer\n<< /Size %d /Root 1 0 R %s >>\n" % (size, trailer)
    return data + b"startxref\n%d\n%%%%EOF\n" % start


def stream(content: bytes, packed: bytes = b"", entries: bytes = b"") -> bytes:
    """Return a stream object. `packed` is data that FlateDecode unpacks to the content."""
    if packed:
        content, entries = packed, b"/Filter /FlateDecode " + entries
    head = b"<< %s/Length %d >>" % (entries, len(content))
    return head + b"\nstream\n" + content + b"\nendstream"


def pdf(*texts: str, contents: bytes = b"", pages: int = 1, trailer: bytes = b"") -> bytes:
    """Return a PDF with a page for each text, or `pages` pages with the object `contents`."""
    count = pages if contents else len(texts)
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(count))
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    objects += [b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count), font]
    for number in range(count):
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
        page += b"/Resources << /Font << /F1 3 0 R >> >> >>"
        objects.append(page % (5 + 2 * number))
        text = texts[number].encode("latin-1") if texts else b""
        objects.append(contents or stream(b"BT /F1 12 Tf 72 700 Td (%s) Tj ET" % text))
    return pdf_of(objects, trailer)


def bomb(size: int) -> bytes:
    """Return a small PDF whose page unpacks to about `size` bytes."""
    packer = zlib.compressobj(9)
    block = b"BT ET\n" * 100_000
    packed = b"".join(packer.compress(block) for _ in range(size // len(block)))
    return pdf(contents=stream(b"", packed + packer.flush()))
