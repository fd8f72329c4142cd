"""Search in Chinese by pairs of characters, without a dictionary of words.

Sphinx's own needs one installed, and names a stemmer that is not there.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.search.en import SearchEnglish

HAN = r"[\u4e00-\u9fff]+"


def setup(app: Any) -> dict[str, bool]:
    app.add_search_language(Chinese)
    return {"parallel_read_safe": True}


class Chinese(SearchEnglish):
    """Words of Latin letters are English ones; "张量" and "量的" stand for "张量的"."""

    lang = "zh"
    js_splitter_code = f"""
function splitQuery(query) {{
  const pieces = query.match(/{HAN}|\\w+/g) || [];
  return pieces.flatMap((piece) =>
    /^{HAN}$/.test(piece) && piece.length > 2
      ? Array.from({{ length: piece.length - 1 }}, (_, i) => piece.slice(i, i + 2))
      : [piece]
  );
}}
"""

    def split(self, input: str) -> list[str]:
        found = re.findall(rf"{HAN}|[^\W\u4e00-\u9fff]+", input)
        return [word for piece in found for word in pairs(piece)]


def pairs(piece: str) -> list[str]:
    if len(piece) <= 2 or not re.fullmatch(HAN, piece):
        return [piece]
    return [piece[i : i + 2] for i in range(len(piece) - 1)]
