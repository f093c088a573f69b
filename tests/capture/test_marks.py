"""Marks in the user's source: they change neither what it does nor where its tracebacks point."""

from __future__ import annotations

import builtins
import contextlib
import io
import textwrap
import traceback
from collections.abc import Iterator

import pytest

from breakeven.capture import marks

SOURCES = {
    "docstrings and future imports": '''\
        """What it is."""
        from __future__ import annotations
        import sys
        class A:
            """A class."""
            def f(self) -> "Missing":
                """A method."""
                return 3
        print(__doc__, A.__doc__, A.f.__doc__, A().f(), A.f.__annotations__)
        ''',
    "loops of every kind": """\
        def g(n):
            for i in range(n):
                for j in range(2):
                    if j: continue
                    yield i
                else:
                    pass
            while n:
                n -= 1
                if n == 1: break
            else:
                raise KeyError
        print(list(g(3)), [x for x in g(2)])
        for a in (): pass
        else: print("empty")
        """,
    "names in classes are not mangled": """\
        class B:
            total = 0
            for i in range(3): total += i
            def h(self):
                out = 0
                for i in range(3):
                    out += i
                return out
        print(B.total, B().h(), sorted(k for k in vars(B) if not k.startswith("__")))
        """,
    "branches": """\
        def f(x):
            if x == 1: return "a"
            elif x == 2: return "b"
            else:
                try: return 1 / x
                except ZeroDivisionError: return "z"
                finally: print("end")
        with open("/dev/null") as h: print(f(1), f(2), f(0), f(4))
        x = y = 3; x += 1
        print(x, y) ; del x
        """,
    "async": """\
        import asyncio
        async def ticks(n):
            for i in range(n): yield i
        async def main():
            out = []
            async for t in ticks(3): out.append(t)
            return out
        print(asyncio.run(main()))
        """,
}


@pytest.fixture(autouse=True)
def listening() -> Iterator[list[str]]:
    """Every mark is heard and written down."""
    heard: list[str] = []
    before = set(vars(builtins))
    yield heard
    for name in set(vars(builtins)) - before:
        delattr(builtins, name)


def run(source: str, book: marks.Book, heard: list[str], *, line: int | None = None) -> str:
    code = marks.compile_marked(source.encode(), "user.py", book, line)
    for loop in book.loops:
        for name in (marks.head_name(loop.number), marks.exit_name(loop.number)):
            setattr(builtins, name, lambda name=name: heard.append(name))
    for statement in book.statements:
        name = marks.line_name(statement.number)
        setattr(builtins, name, lambda name=name: heard.append(name))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.parametrize("case", SOURCES)
def test_a_marked_script_prints_what_the_plain_one_prints(case: str, listening: list[str]) -> None:
    source = textwrap.dedent(SOURCES[case])
    plain = io.StringIO()
    with contextlib.redirect_stdout(plain):
        exec(compile(source, "user.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert run(source, marks.Book(), listening) == plain.getvalue()
    assert listening


def test_heads_are_passed_once_a_round_and_exits_once(listening: list[str]) -> None:
    run("for i in range(3):\n    for j in range(2):\n        pass\n", marks.Book(), listening)
    counts = {name: listening.count(name) for name in listening if "line" not in name}
    assert counts == {marks.head_name(0): 3, marks.head_name(1): 6, marks.exit_name(1): 3, marks.exit_name(0): 1}


def test_tracebacks_point_at_the_users_lines(listening: list[str]) -> None:
    source = "x = 1\n\nfor i in range(3):\n    y = i\n    if i == 2:\n        raise ValueError(\n            'here')\n"
    with pytest.raises(ValueError, match="here") as raised:
        run(source, marks.Book(), listening)
    assert [f.lineno for f in traceback.extract_tb(raised.value.__traceback__) if f.filename == "user.py"] == [6]


def test_the_book_knows_which_loop_a_line_is_in_and_what_is_called() -> None:
    book = marks.Book()
    marks.compile_marked(b"for a in x:\n  for b in a:\n    b.step()\n  a.cuda()\nend = 1\n", "user.py", book)
    assert [getattr(book.innermost("user.py", line), "line", None) for line in range(1, 6)] == [1, 2, 2, 1, None]
    assert {"step", "cuda", "b"} <= book.words
    assert book.names_accelerator


def test_functions_that_others_compile_are_left_alone() -> None:
    book = marks.Book()
    source = b"@numba.njit(parallel=True)\ndef f():\n  for i in x: pass\n@torch.jit.script\ndef g():\n  while 1: pass\n"
    marks.compile_marked(source, "user.py", book)
    assert book.loops == []


@pytest.mark.parametrize(("line", "times"), [(1, 3), (2, 3), (4, 6), (6, 1)])
def test_a_line_that_is_marked_by_hand_begins_a_step_each_time(line: int, times: int, listening: list[str]) -> None:
    source = "for i in range(3):\n    a = i\n    for j in range(2):\n        b = j\n\nc = 1\n"
    setattr(builtins, marks.STEP_NAME, lambda: listening.append("step"))
    run(source, marks.Book(), listening, line=line)
    assert listening.count("step") == times


def test_a_step_said_by_the_script_reaches_the_same_mark(listening: list[str]) -> None:
    import breakeven

    breakeven.step()
    setattr(builtins, marks.STEP_NAME, lambda: listening.append("step"))
    breakeven.step()
    assert listening == ["step"]
