"""Reads one YAML document into plain values and remembers where every value stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import yaml

from fakemodel.composing import TAG, Composer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path as FilePath

__all__ = ["Document", "Path", "Problem", "SourceError", "Span", "load_file", "load_text"]

Path: TypeAlias = tuple[str | int, ...]
"""The way from the root of a document to a value: mapping keys and list positions from 0; the root is ``()``."""

MAX_VALUES = 100_000
"""Aliases can name a value many times over; a document that unfolds to more values than this is refused."""

MAX_DEPTH = 100
"""Lists and mappings inside of each other; JSON, through which values are checked, is not read much deeper."""

LONGEST_NUMBER = 100


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a document: line and column of its first character and of the one after its last, all from 1."""

    line: int
    column: int
    end_line: int
    end_column: int


START = Span(1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what (found and wanted), where, and what to do about it (``hint``, may be None)."""

    message: str
    span: Span
    hint: str | None = None


class SourceError(Exception):
    """A document that cannot be used. ``str()`` shows every problem with its source line and a caret.

    Args: the file's name as the reader knows it, the problems in the order of the document, and the
    document's text (empty when it could not be read).
    """

    def __init__(self, file: str, problems: Sequence[Problem], text: str = "") -> None:
        self.file = file
        self.problems = tuple(problems)
        self._lines = text.splitlines()
        super().__init__(file, self.problems)

    def __str__(self) -> str:
        return "\n".join(self._show(problem) for problem in self.problems)

    def _show(self, problem: Problem) -> str:
        span = problem.span
        lines = [f"{self.file}:{span.line}:{span.column}: {problem.message}"]
        if span.line <= len(self._lines):
            source = self._lines[span.line - 1].replace("\t", " ")
            end = span.end_column if span.end_line == span.line else len(source) + 1
            margin = " " * len(str(span.line))
            carets = "^" * max(1, end - span.column)
            lines += [f" {span.line} | {source}", f" {margin} | {' ' * (span.column - 1)}{carets}"]
        if problem.hint:
            lines.append(f"   {problem.hint}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document as plain values (None, bool, int, float, str, list, dict with text keys).

    ``spans`` holds the place of every value by its path, ``key_spans`` that of every mapping key by the
    path of the value under it.
    """

    file: str
    text: str
    value: Any
    spans: Mapping[Path, Span]
    key_spans: Mapping[Path, Span]

    def error(self, *problems: Problem) -> SourceError:
        """Return an error about this document that can show its lines."""
        ordered = sorted(problems, key=lambda problem: (problem.span.line, problem.span.column))
        return SourceError(self.file, ordered, self.text)

    def at(self, path: Path) -> Any:
        """Return the value at ``path``."""
        value = self.value
        for step in path:
            value = value[step]
        return value


def load_file(path: FilePath, *, shown_as: str | None = None) -> Document:
    """Read a YAML file.

    ``shown_as`` is the name that errors carry (by default the path as given). Raises SourceError when
    the file cannot be read, is not UTF-8, or is not one well-formed document.
    """
    file = str(path) if shown_as is None else shown_as
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SourceError(file, [Problem(f"the file cannot be read: {error.strerror}", START)]) from error
    except UnicodeDecodeError as error:
        raise SourceError(file, [Problem(f"the file is not UTF-8 text (byte {error.start})", START)]) from error
    return load_text(text, file)


def load_text(text: str, file: str) -> Document:
    """Read a YAML document from a string; ``file`` is the name that errors carry. Raises SourceError."""
    reader = _Reader(file, text)
    value = reader.read()
    return Document(file, text, value, reader.spans, reader.key_spans)


class _Reader:
    """Turns the node tree of one document into values and spans."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.spans: dict[Path, Span] = {}
        self.key_spans: dict[Path, Span] = {}
        self._open: set[int] = set()

    def read(self) -> Any:
        composer = None
        try:
            composer = Composer(self.text)
            node = composer.get_single_node()
            if node is None:
                self.spans[()] = START
                return None
            return self._value(node, ())
        except yaml.YAMLError as error:
            self._fail(*_explained(error, self.text))
        except RecursionError:
            mark = composer.get_mark() if composer else None
            self._too_deep(Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2) if mark else START)

    def _fail(self, message: str, span: Span, hint: str | None = None) -> NoReturn:
        raise SourceError(self.file, [Problem(message, span, hint)], self.text) from None

    def _too_deep(self, span: Span) -> NoReturn:
        self._fail(f"the document is nested more than {MAX_DEPTH} deep", span, "close some brackets")

    def _value(self, node: yaml.Node, path: Path) -> Any:
        span = _span(node)
        if id(node) in self._open:
            self._fail("an alias (*) names a value that contains it", span, "write the value out")
        if len(self.spans) >= MAX_VALUES:
            self._fail(f"the document unfolds to more than {MAX_VALUES} values", span, "use fewer aliases (*)")
        if len(path) > MAX_DEPTH:
            self._too_deep(span)
        self.spans[path] = span
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        self._open.add(id(node))
        value = self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)
        self._open.discard(id(node))
        return value

    def _sequence(self, node: yaml.Node, path: Path) -> list[Any]:
        self._check_tag(node, "seq")
        return [self._value(item, (*path, position)) for position, item in enumerate(node.value)]

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        self._check_tag(node, "map")
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key in mapping:
                first = self.key_spans[*path, key]
                message = f"the key '{key}' is there twice; the first is on line {first.line}"
                self._fail(message, _span(key_node), "keep one of them")
            self.key_spans[*path, key] = _span(key_node)
            mapping[key] = self._value(value_node, (*path, key))
        return mapping

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self._fail("a key must be text, not a list or a mapping", _span(node), "write it as 'key: value'")
        key = self._scalar(node)
        if not isinstance(key, str):
            hint = f'quote it: "{node.value}"' if node.value else "write a key before the colon"
            self._fail(f"a key must be text, got {node.value or 'nothing'}", _span(node), hint)
        return key

    def _check_tag(self, node: yaml.Node, plain: str) -> None:
        if node.tag not in (TAG + plain, "!"):
            self._fail(f"the tag {node.tag.replace(TAG, '!!')} is not known here", _span(node), "remove the tag")

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text, kind = node.value, node.tag.removeprefix(TAG)
        if kind in ("int", "float") and len(text) > LONGEST_NUMBER:
            self._fail(
                f"a number of {len(text)} characters is too long", _span(node), "write a shorter one, or quote it"
            )
        try:
            if kind == "null":
                return None
            if kind == "bool":
                return text.lower() == "true"
            if kind == "int":
                return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
            if kind == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            self._fail(f"{text!r} is no {kind}", _span(node), "remove the tag, or quote the text")
        self._check_tag(node, "str")
        try:
            # As in JSON, two escapes may make one character; half of one is none.
            return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._fail("an escape (\\u) is half of a character", _span(node), "write the character itself")


def _span(node: yaml.Node) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _explained(error: yaml.YAMLError, text: str) -> tuple[str, Span, str | None]:
    """Say in plain words what PyYAML found, where, and what to do."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        return (
            f"the character U+{ord(text[error.position]):04X} is not allowed",
            Span(line, column, line, column + 1),
            "remove it, or write it as an escape in double quotes",
        )
    assert isinstance(error, yaml.MarkedYAMLError)  # noqa: S101 - every other error of PyYAML carries a mark
    mark = error.problem_mark or error.context_mark
    if error.problem and error.context_mark and re.search(r"end of stream|<stream end>", error.problem):
        # What was opened and never closed is more use than the end of the file.
        mark = error.context_mark
    if mark is None:
        return str(error), START, None
    span = Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
    problem = error.problem or "not well-formed"
    if "'\\t'" in problem or (mark.buffer and mark.buffer[mark.pointer : mark.pointer + 1] == "\t"):
        return "a tab stands where YAML wants spaces", span, "indent with spaces"
    if "another document" in problem:
        return "a second document begins here; a file holds one", span, "remove the line '---' or make two files"
    if isinstance(error, yaml.composer.ComposerError):
        return f"YAML error: {problem}", span, "name the value with & before * uses it, or quote the text"
    return f"YAML error: {problem}" + (f" ({error.context})" if error.context else ""), span, _syntax_hint(problem)


def _syntax_hint(problem: str) -> str:
    if "mapping values are not allowed" in problem:
        return "text with ': ' in it must be quoted"
    if "could not find expected ':'" in problem:
        return "a key needs ': ' and a value after it"
    if "unexpected end of stream" in problem:
        return "a quote was opened and not closed"
    return "look at the quotes, the brackets and the indentation up to here"
