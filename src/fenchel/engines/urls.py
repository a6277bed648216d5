"""The file that says where owners are: a URL a line."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from fenchel.errors import InvalidData


def read_urls(path: str | os.PathLike[str]) -> list[str]:
    """The URLs of a file; # begins a comment, and empty lines do not count."""
    name, found = os.fspath(path), dict[str, int]()
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except UnicodeDecodeError as error:
        raise InvalidData(f"{name}: this is no text, but owners are listed as such") from error
    for number, line in enumerate(lines, 1):
        url = line.partition("#")[0].strip()
        if not url:
            continue
        complaint = _complaint(url)
        if url in found:
            complaint = f"the same URL stands on line {found[url]}"
        if complaint:
            raise InvalidData(f"{name}:{number}: {complaint}: {url!r}")
        found[url] = number
    if not found:
        raise InvalidData(
            f"{name}: the file names no owner; write a URL a line, as in https://127.0.0.1:8765"
        )
    return list(found)


def _complaint(url: str) -> str:
    """What keeps a text from being the URL of an owner; nothing if it is one."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is no number
    except ValueError as error:
        return f"this is no URL ({error})"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "an owner's URL begins with https:// or http:// and names a host"
    if parts.query or any(map(str.isspace, url)):
        return "an owner's URL has no query and no blanks"
    return ""
