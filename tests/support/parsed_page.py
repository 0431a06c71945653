"""Parse a page as a browser does: elements, text and rows of tables. Raises on bad nesting."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br"}
Attributes = dict[str, str | None]


@dataclass
class Parsed(HTMLParser):
    """The content of a page."""

    elements: list[tuple[str, Attributes]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            separator = "\n" if self.open[-1] == "small" else ""
            self.tables[-1][-1][-1] += separator + data

    @property
    def text(self) -> str:
        """Return all visible text."""
        return "".join(self.texts)

    def find(self, tag: str) -> list[Attributes]:
        """Return the attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def table_with(self, *names: str) -> list[list[str]]:
        """Return the first table whose head starts with these cells."""
        for table in self.tables:
            if table and tuple(table[0][: len(names)]) == names:
                return table
        raise AssertionError(f"no table starts with {names}")


def parse(text: str) -> Parsed:
    parsed = Parsed()
    parsed.feed(text)
    parsed.close()
    assert parsed.open == []
    return parsed
