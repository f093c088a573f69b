"""Follows statements: the file from top to bottom, then the functions that nothing in it called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from breakeven.lint.reading import modules
from breakeven.lint.reading.assignments import Assignments
from breakeven.lint.reading.containers import find_member
from breakeven.lint.reading.facts import Facts, Loop
from breakeven.lint.reading.state import Frame
from breakeven.lint.reading.values import (
    UNKNOWN,
    Box,
    Class,
    Clock,
    Const,
    Device,
    Duration,
    Function,
    Number,
    Ref,
    Remainder,
    Scope,
    Sometimes,
    Tensor,
    Text,
    Thing,
    Value,
    join,
)  # fmt: skip

_NO_GRAD = ("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode")
_PROFILERS = ("torch.autograd.profiler.profile", "torch.autograd.profiler.emit_nvtx", "torch.autograd.detect_anomaly")


def read_file(tree: ast.Module, statements: int, names_device: bool) -> Facts:
    """Reads one file.

    Args:
        tree: its syntax tree.
        statements: how many statements it has; the reading stops following calls at a multiple of that.
        names_device: whether its text names a GPU or a device at all.
    """
    walker = Walker(statements)
    walker.facts.device = names_device
    walker.block(tree.body)
    walker.known = False
    walker.uncalled()
    return walker.facts


class Walker(Assignments):
    """Executes statements on what names may stand for."""

    def __init__(self, statements: int) -> None:
        super().__init__(statements)
        self._functions: list[Function] = []
        self._classes: list[Class] = []
        self._assigned: dict[int, frozenset[str]] = {}

    def block(self, body: Sequence[ast.stmt]) -> bool:
        """Reads statements one after the other; whether the end of the block is never reached."""
        seldom = 0
        try:
            for statement in body:
                self.left -= 1
                handler = _STATEMENTS.get(type(statement))
                if handler is None:
                    continue
                ended = handler(self, statement)
                if ended == "rest":  # `if step % 50: continue`: what follows is reached now and then
                    self.rare += 1
                    seldom += 1
                elif ended:
                    return True
        finally:
            self.rare -= seldom
        return False

    def uncalled(self) -> None:
        """Reads what nothing in the file calls, with arguments of which nothing is known."""
        for cls in list(self._classes):
            if modules.is_module(cls):
                forward = cls.members.get("forward")
                if isinstance(forward, Function) and not forward.called:
                    self._lonely_module(cls, forward)
        for function in list(self._functions):
            if not function.called and self.left > 0:
                self._lonely(function)

    def _lonely_module(self, cls: Class, forward: Function) -> None:
        node = ast.Name("module", ast.Load(), lineno=cls.node.lineno, col_offset=cls.node.col_offset)
        count = len(forward.node.args.args) - 1
        thing = self._instance(cls, [], {}, node)
        modules.move(thing, None)
        self.forward_depth += 1
        try:
            self.escaped(self.call_function(forward, [thing, *[Tensor()] * count], {}, node))
        finally:
            self.forward_depth -= 1

    def _lonely(self, function: Function) -> None:
        spec = function.node.args
        arguments: list[object] = []
        for parameter in [*spec.posonlyargs, *spec.args]:
            hint = ast.unparse(parameter.annotation) if parameter.annotation else ""
            arguments.append(Tensor() if hint.endswith("Tensor") else UNKNOWN)
        if function.owner is not None and arguments:
            arguments[0] = Thing(function.owner.node.name, function.owner, module=modules.is_module(function.owner))
        self.escaped(self.call_function(function, arguments, {}, function.node))

    def run_body(self, function: Function, frame: Frame) -> object:
        """Reads the body of a running call, and gives what it returns."""
        if isinstance(function.node, ast.Lambda):
            return self.evaluate(function.node.body)
        self.block(function.node.body)
        result: object = None
        for value in frame.returned:
            result = value if result is None else join_returned(result, value)
        return Const(value=None) if result is None else result

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = Function(node, self.scope)
        for decorator in node.decorator_list:
            function.no_grad = function.no_grad or self._switches_off(decorator)
        self._functions.append(function)
        made: object = function
        for decorator in reversed(node.decorator_list):
            wrapper = self.evaluate(decorator) if isinstance(decorator, ast.Name) else None
            if isinstance(wrapper, Function):
                made = self.call(wrapper, [made], {}, decorator)
        self.scope.names[node.name] = made if isinstance(made, Function) else function

    def _switches_off(self, node: ast.expr) -> bool:
        """Whether a context or decorator turns autograd off; where that depends on a flag, it is taken to."""
        target = node.func if isinstance(node, ast.Call) else node
        if not isinstance(target, ast.Name | ast.Attribute):
            return False
        found = self.evaluate(target)
        path = found.path if isinstance(found, Ref) else ""
        if path.endswith("set_grad_enabled") and isinstance(node, ast.Call) and node.args:
            value = self.evaluate(node.args[0])
            return not (isinstance(value, Const) and value.value is True)
        if path.endswith("inference_mode") and isinstance(node, ast.Call) and node.args:
            value = self.evaluate(node.args[0])
            return not (isinstance(value, Const) and value.value is False)
        return path in _NO_GRAD

    def _define_class(self, node: ast.ClassDef) -> None:
        bases = tuple(self.evaluate(base) for base in node.bases)
        scope = Scope({}, self.scope)
        cls = Class(node, self.scope, bases, scope.names)
        before, self.scope = self.scope, scope
        try:
            self.block(node.body)
        finally:
            self.scope = before
        for member in scope.names.values():
            if isinstance(member, Function):
                member.owner = cls
                member.scope = before
        self._classes.append(cls)
        self.scope.names[node.name] = cls

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self.scope.names[alias.asname] = Ref(path=alias.name)
            else:
                root = alias.name.partition(".")[0]
                self.scope.names[root] = Ref(path=root)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.scope.names[alias.asname or alias.name] = Ref(path=f"{node.module or ''}.{alias.name}")

    def _expression(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _return(self, node: ast.Return) -> bool:
        if self.frames:
            self.frames[-1].returned.append(self.evaluate(node.value) if node.value else Const(value=None))
        return True

    def _raise(self, node: ast.Raise) -> bool:
        if node.exc is not None:
            with self.seldom(True):
                self.evaluate(node.exc)
        return True

    def _leave(self, node: ast.stmt) -> bool:
        return True

    def _assert(self, node: ast.Assert) -> None:
        self.truth(self.evaluate(node.test), node.test)

    def _if(self, node: ast.If) -> object:
        value = self.evaluate(node.test)
        known = self.truth(value, node.test)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        if isinstance(value, Remainder):
            value = Sometimes(rare=False)
        data = isinstance(value, Tensor)
        rare = (value.rare if isinstance(value, Sometimes) else False) or data
        rare_else = isinstance(value, Sometimes) and not value.rare
        before = dict(self.scope.names)
        with self.seldom(rare):
            ended = self.block(node.body)
        after, self.scope.names = self.scope.names, before
        with self.seldom(rare_else):
            ended_else = self.block(node.orelse)
        self._merge(after, ended, ended_else)
        if ended and ended_else:
            return True
        return "rest" if ended and rare_else and not node.orelse else False

    def _merge(self, first: dict[str, object], ended: bool, ended_else: bool) -> None:
        """What names stand for after two branches."""
        if ended:
            return
        if ended_else:
            self._replace_names(first)
            return
        names = self.scope.names
        for name, value in first.items():
            other = names.get(name)
            if other is not value:
                names[name] = join(value, other) if other is not None else value

    def _replace_names(self, names: dict[str, object]) -> None:
        """Scopes are shared with closures: the dictionary stays, its content changes."""
        self.scope.names.clear()
        self.scope.names.update(names)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        source = self.evaluate(node.iter)
        with self.looping(node) as loop:
            self._carry(loop, node)
            self.bind(node.target, self.element(source))
            self.block(node.body)
            loop.final = {name: self.scope.names.get(name) for name in loop.carried}
        self.block(node.orelse)

    def _while(self, node: ast.While) -> object:
        with self.looping(node) as loop:
            self._carry(loop, node)
            known = self.truth(self.evaluate(node.test), node.test)
            self.block(node.body)
            loop.final = {name: self.scope.names.get(name) for name in loop.carried}
        return self.block(node.orelse) if known is not True else False

    def _carry(self, loop: Loop, node: ast.For | ast.AsyncFor | ast.While) -> None:
        """Names that the body assigns keep nothing for sure but a tag: each iteration finds what the one before left."""
        for name in self._assigned_in(node):
            value = self.scope.names.get(name)
            if value is None:
                continue
            if isinstance(value, Number):  # a counter: what is taken by it is taken by the loop
                self.scope.names[name] = Number(terms=((self.symbol(), 1),), tags=value.tags | {loop.symbol})
                continue
            tag = self.symbol()
            loop.carried[name] = tag
            self.scope.names[name] = carried(value, tag)

    def _assigned_in(self, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
        found = self._assigned.get(id(node))
        if found is None:
            inside = (n for statement in node.body for n in ast.walk(statement))
            found = frozenset(name for n in inside if (name := assigned_name(n)))
            self._assigned[id(node)] = found
        return found

    def _with(self, node: ast.With | ast.AsyncWith) -> object:
        off = False
        managers: list[tuple[object, ast.expr]] = []
        for item in node.items:
            off = off or self._switches_off(item.context_expr)
            value = self.evaluate(item.context_expr)
            if (isinstance(value, Thing) and value.kind in _PROFILERS) or (
                isinstance(value, Thing) and value.kind == "noted.debug_context"
            ):
                self.note("debug", item.context_expr, name=value.kind)
            entered = self._enter(value, "__enter__", item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value if entered is None else entered)
            managers.append((value, item.context_expr))
        with self.recording(self.grad and not off):
            ended = self.block(node.body)
        for value, expression in reversed(managers):
            self._enter(value, "__exit__", expression)
        return ended

    def _enter(self, manager: object, name: str, node: ast.expr) -> object | None:
        """Runs a method of a context manager that the file defines; None where there is none."""
        member = find_member(manager.cls, name) if isinstance(manager, Thing) else None
        if not isinstance(member, Function):
            return None
        arguments: list[object] = [Const(value=None)] * 3 if name == "__exit__" else []
        return self.call_function(member, [manager, *arguments], {}, node)

    def _try(self, node: ast.Try) -> object:
        ended = self.block(node.body)
        for handler in node.handlers:
            with self.seldom(True):
                before = dict(self.scope.names)
                self.block(handler.body)
                for name, value in before.items():
                    self.scope.names[name] = value
        if not ended:
            ended = self.block(node.orelse)
        return self.block(node.finalbody) or ended

    def _match(self, node: ast.Match) -> None:
        self.evaluate(node.subject)
        for case in node.cases:
            self.block(case.body)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.scope.names.pop(target.id, None)


def assigned_name(node: ast.AST) -> str:
    """The name that is assigned to, or of which an element is; empty for other nodes."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
        return node.value.id
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ""


def carried(value: object, tag: int) -> object:
    """A value that may have come from the iteration before."""
    seen = frozenset({tag})
    if isinstance(value, Tensor):
        return replace(value, tags=value.tags | seen, origin=-tag, factory=0)
    if isinstance(value, Number):
        return Number(terms=((tag, 1),), tags=value.tags | seen)
    if isinstance(value, Box):
        items = None if value.items is None else [carried(i, tag) for i in value.items]
        if items is None:
            value.element = carried(value.element, tag) if isinstance(value.element, Tensor) else value.element
            return value
        if value.kind == "tuple" or (all(isinstance(i, Tensor) for i in items) and items):
            return Box(value.kind, items, value.keys, value.element, value.loops, value.ids)
        return value
    if isinstance(value, Clock | Duration | Device | Ref | Text | Thing | Function | Class):
        return value
    if isinstance(value, Value):
        return Value(value.ids, value.tags | seen)
    return value


def join_returned(first: object, second: object) -> object:
    """What a function returns that returns at several places: a tuple is joined item by item."""
    mine = first.items if isinstance(first, Box) else None
    other = second.items if isinstance(second, Box) else None
    if mine is not None and other is not None and len(mine) == len(other):
        return Box("tuple", [join(a, b) for a, b in zip(mine, other, strict=True)])
    return join(first, second)


# Any: each handler takes the node class that it is registered for, which the key says and a type cannot.
_Handler = Callable[..., object]
_STATEMENTS: dict[type[ast.AST], _Handler] = {
    ast.FunctionDef: Walker._define,
    ast.AsyncFunctionDef: Walker._define,
    ast.ClassDef: Walker._define_class,
    ast.Import: Walker._import,
    ast.ImportFrom: Walker._import_from,
    ast.Assign: Walker._assign,
    ast.AnnAssign: Walker._assign_annotated,
    ast.AugAssign: Walker._augment,
    ast.Expr: Walker._expression,
    ast.Return: Walker._return,
    ast.Raise: Walker._raise,
    ast.Continue: Walker._leave,
    ast.Break: Walker._leave,
    ast.Assert: Walker._assert,
    ast.If: Walker._if,
    ast.For: Walker._for,
    ast.AsyncFor: Walker._for,
    ast.While: Walker._while,
    ast.With: Walker._with,
    ast.AsyncWith: Walker._with,
    ast.Try: Walker._try,
    ast.Match: Walker._match,
    ast.Delete: Walker._delete,
}
