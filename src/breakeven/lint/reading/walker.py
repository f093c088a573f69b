"""Follows statements: the file from top to bottom, then the functions that nothing in it called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from breakeven.lint.reading import modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.expressions import Expressions
from breakeven.lint.reading.facts import Facts, Loop
from breakeven.lint.reading.state import Frame, tags, tensors
from breakeven.lint.reading.values import (
    NOTHING, UNKNOWN, Box, Class, Clock, Const, Device, Duration, Function, Number, Ref, Remainder, Scope, Sometimes, Tensor,
    Text, Thing, Value, graph, join,
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


class Walker(Expressions):
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

    # Definitions.

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = Function(node, self.scope)
        for decorator in node.decorator_list:
            function.no_grad = function.no_grad or self._switches_off(decorator)
        self._functions.append(function)
        self.scope.names[node.name] = function

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

    # Assignments.

    def _assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _assign_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value))

    def bind(self, target: ast.expr, value: object) -> None:
        """Assigns to a name, a tuple, an attribute or an element."""
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Box("list", None, element=self.element(value)))
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _unpack(self, targets: list[ast.expr], value: object) -> None:
        items = value.items if isinstance(value, Box) else None
        if items is not None and len(items) == len(targets) and not any(isinstance(t, ast.Starred) for t in targets):
            for target, item in zip(targets, items, strict=True):
                self.bind(target, item)
            return
        if isinstance(value, Tensor):
            part: object = replace(value, origin=value.origin)
        elif isinstance(value, Box):
            part = self._any(value)
        else:
            part = Value(graph(value), tags(value))
        for target in targets:
            self.bind(target, part)

    def _set_attribute(self, target: ast.Attribute, value: object) -> None:
        owner = self.evaluate(target.value)
        if isinstance(owner, Thing):
            owner.attrs[target.attr] = value
        elif isinstance(owner, Ref) and owner.path == "torch.backends.cudnn" and target.attr == "benchmark":
            self.note("benchmark", target, name="on" if isinstance(value, Const) and value.value is True else "off")
        elif isinstance(owner, Tensor) and target.attr == "grad" and isinstance(value, Tensor):
            self.note("cleared", target, owner, name="grad")

    def _set_item(self, target: ast.Subscript, value: object) -> None:
        owner, index = self.evaluate(target.value), self.evaluate(target.slice)
        if isinstance(owner, Box):
            if owner.keys is not None and isinstance(index, Const):
                owner.keys[index.value] = value
            elif not (owner.items is not None and ops.index_of(index) is not None):
                self.put(owner, value, target)
            else:
                owner.items[ops.index_of(index) or 0 : (ops.index_of(index) or 0) + 1] = [value]
        elif isinstance(owner, Ref) and owner.path == "os.environ" and isinstance(index, Const):
            self._environment(target, str(index.value), value)
        elif isinstance(owner, Tensor) and isinstance(value, Tensor) and len(self.loops) > 0:
            host = value.device == "cpu" and not value.scalar
            if owner.device == "cuda" and (host or value.moved) and not value.numpy:
                self.note("joined_copies", target, value, name="item")

    def _environment(self, node: ast.AST, name: str, value: object) -> None:
        text = value.value if isinstance(value, Const) else None
        if name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") and isinstance(text, str) and text.isdigit():
            self.note("threads", node, name="count", number=int(text))
        if name == "CUDA_LAUNCH_BLOCKING" and text == "1":
            self.note("debug", node, name=name)

    def _augment(self, node: ast.AugAssign) -> None:
        before = self.evaluate(node.target)
        added = self.evaluate(node.value)
        if isinstance(before, Box) and isinstance(node.op, ast.Add) and isinstance(added, Box):
            self.put(before, self._any(added), node)
            return
        value = self.binary(node.op, before, added, node)
        if isinstance(before, Tensor) and before.parameter and isinstance(value, Tensor):
            if self.loops and any(t.gradient for t in tensors(added)):
                self.note("updated", node, before, name="in place")
            value = before
        elif isinstance(value, Tensor) and tensors(added) and value.ids and self._outlives(node.target, before):
            event = self.note("kept", node, value, name="sum")
            value = replace(value, ids=value.ids | {event})
        self.bind(node.target, value)

    def _outlives(self, target: ast.expr, before: object) -> bool:
        """Whether a sum goes on from one iteration to the next."""
        if not self.loops:
            return False
        if isinstance(target, ast.Name):
            tag = self.loops[-1].carried.get(target.id)
            return tag is not None and tag in tags(before)
        return isinstance(target, ast.Attribute | ast.Subscript)

    # Control flow.

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
            tag = self.symbol()
            loop.carried[name] = tag
            self.scope.names[name] = carried(value, tag)

    def _assigned_in(self, node: ast.For | ast.AsyncFor | ast.While) -> frozenset[str]:
        found = self._assigned.get(id(node))
        if found is None:
            inside = (n for statement in node.body for n in ast.walk(statement))
            found = frozenset(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            self._assigned[id(node)] = found
        return found

    def _with(self, node: ast.With | ast.AsyncWith) -> object:
        off = False
        for item in node.items:
            off = off or self._switches_off(item.context_expr)
            value = self.evaluate(item.context_expr)
            if isinstance(value, Thing) and value.kind in _PROFILERS or isinstance(value, Thing) and value.kind == "noted.debug_context":
                self.note("debug", item.context_expr, name=value.kind)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        with self.recording(self.grad and not off):
            return self.block(node.body)

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
        if value.kind == "tuple" or all(isinstance(i, Tensor) for i in items) and items:
            return Box(value.kind, items, value.keys, value.element, value.loops, value.ids)
        return value
    if isinstance(value, Clock | Duration | Device | Ref | Text | Thing | Function | Class):
        return value
    if isinstance(value, Value):
        return Value(value.ids, value.tags | seen)
    return value


def join_returned(first: object, second: object) -> object:
    """What a function returns that returns at several places: a tuple is joined item by item."""
    if isinstance(first, Box) and isinstance(second, Box) and first.items is not None and second.items is not None:
        if len(first.items) == len(second.items):
            return Box(first.kind, [join(a, b) for a, b in zip(first.items, second.items, strict=True)], None, UNKNOWN, 0, NOTHING)
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
