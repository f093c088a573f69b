"""What calling something gives: functions and classes of the file are read with their arguments, the rest is looked up."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import library, loaders, methods, modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.containers import SHOWING, Containers, find_member
from breakeven.lint.reading.state import DEEPEST, Frame, tags, tensors
from breakeven.lint.reading.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Class,
    Const,
    Device,
    Duration,
    Function,
    Method,
    Number,
    Ref,
    Scope,
    Tensor,
    Thing,
    Value,
    graph,
)  # fmt: skip


class Calls(Containers):
    """Calls of functions, classes, methods and modules."""

    def call(self, callee: object, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """What calling something gives."""
        if isinstance(callee, Function):
            return self.call_function(callee, arguments, options, node)
        if isinstance(callee, Method):
            return self._method(callee, arguments, options, node)
        if isinstance(callee, Ref):
            return self._reference(callee.path, arguments, options, node)
        if isinstance(callee, Class):
            return self._instance(callee, arguments, options, node)
        if isinstance(callee, Thing):
            return self._call_thing(callee, arguments, options, node)
        self.escaped(*arguments, *options.values())
        return ops.unknown(callee, *arguments, *options.values())

    def call_function(self, function: Function, arguments: list[object], options: dict[str, object], node: ast.AST) -> object:
        """Reads a function of the file with these arguments, where it has not been read too often."""
        function.called = True
        active = sum(1 for frame in self.frames if frame.function is not None and frame.function.node is function.node)
        if self.left <= 0 or len(self.frames) >= DEEPEST or active > 0:
            self.escaped(*arguments, *options.values())
            return ops.unknown(*arguments, *options.values())
        names = self._bound(function, arguments, options)
        line = getattr(node, "lineno", 0)
        frame = Frame(function, Scope(names, function.scope), line)
        before = self.scope
        self.frames.append(frame)
        self.calls.append(line)
        self.scope = frame.scope
        try:
            with self.recording(self.grad and not function.no_grad):
                return self.run_body(function, frame)
        finally:
            self.scope = before
            self.frames.pop()
            self.calls.pop()

    def run_body(self, function: Function, frame: Frame) -> object:
        """Reads the body of a running call, and gives what it returns."""
        raise NotImplementedError

    def _bound(self, function: Function, arguments: list[object], options: dict[str, object]) -> dict[str, object]:
        """The parameters of a call by name."""
        spec = function.node.args
        names: dict[str, object] = {}
        parameters = [*spec.posonlyargs, *spec.args]
        defaults = dict(zip([p.arg for p in parameters[len(parameters) - len(spec.defaults) :]], spec.defaults, strict=True))
        defaults |= {p.arg: d for p, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None}
        for parameter, value in zip(parameters, arguments, strict=False):
            names[parameter.arg] = value
        left = dict(options)
        for parameter in [*parameters, *spec.kwonlyargs]:
            if parameter.arg in left:
                names[parameter.arg] = left.pop(parameter.arg)
            elif parameter.arg not in names:
                default = defaults.get(parameter.arg)
                names[parameter.arg] = self.evaluate(default) if default is not None else UNKNOWN
        if spec.vararg:
            names[spec.vararg.arg] = Box("tuple", list(arguments[len(parameters) :]))
        if spec.kwarg:
            names[spec.kwarg.arg] = Box("dict", None, dict(left.items()))
        return names

    def _instance(self, cls: Class, arguments: list[object], options: dict[str, object], node: ast.expr) -> Thing:
        """A new instance of a class of the file."""
        is_module = modules.is_module(cls)
        thing = Thing(
            cls.node.name, cls, {}, arguments, options, "cpu" if is_module else None, module=is_module, line=node.lineno
        )
        thing.device = self.default_device or thing.device
        thing.double_line = self.double
        maker = find_member(cls, "__init__")
        if isinstance(maker, Function):
            self.call_function(maker, [thing, *arguments], options, node)
        else:
            fields = [s.target.id for s in cls.node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
            thing.attrs |= dict(zip(fields, arguments, strict=False)) | options
        return thing

    def _call_thing(self, thing: Thing, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """Calling an instance: a module's forward, or `__call__`."""
        if not thing.module:
            own = find_member(thing.cls, "__call__") if thing.cls else None
            if isinstance(own, Function):
                return self.call_function(own, [thing, *arguments], options, node)
            if thing.kind in ("torch.no_grad", "torch.inference_mode") and arguments and isinstance(arguments[0], Function):
                arguments[0].no_grad = True
                return arguments[0]
            self.escaped(*arguments, *options.values())
            return ops.unknown(*arguments, *options.values())
        outermost = (
            self.forward_depth == 0
            and "Loss" not in thing.kind
            and thing.kind.removeprefix(modules.NN) not in ("ReLU", "Softmax")
        )
        event = self._forward_noted(thing, arguments, options, node) if outermost else 0
        self.forward_depth += outermost or thing.cls is not None
        try:
            forward = find_member(thing.cls, "forward") if thing.cls else None
            if isinstance(forward, Function):
                result = self.call_function(forward, [thing, *arguments], options, node)
            elif thing.cls is not None:
                result = ops.unknown(*arguments)
            else:
                result = modules.call(self, thing, arguments, options, node)
        finally:
            self.forward_depth -= outermost or thing.cls is not None
        if not event:
            return result
        return with_ids(result, frozenset({event}), thing.device) if self.grad else without_ids(result)

    def _forward_noted(self, thing: Thing, arguments: list[object], options: dict[str, object], node: ast.expr) -> int:
        """A model is called: device work."""
        if self.loops:
            self.loops[-1].forwards = True
        if thing.device != "cpu":
            self.launched()
        first = tensors(*arguments, *options.values())
        return self.note("forward", node, first[0] if first else None, name=thing.kind)

    def _method(self, method: Method, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A method of an instance, a tensor, a container, or of something unknown."""
        owner, name = method.owner, method.name
        if isinstance(owner, Tensor):
            return methods.call_method(self, owner, name, arguments, options, node)
        if isinstance(owner, Thing):
            return self._thing_method(owner, method, arguments, options, node)
        if isinstance(owner, Box):
            return self.call_on_box(owner, name, arguments, options, node)
        if isinstance(owner, Duration) and name == "total_seconds":
            return owner
        if name == "backward":
            self.stepped(graph(owner).union(*(graph(a) for a in arguments)))
            self.launched()
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):  # it is a tensor, then
                self.scope.names[func.value.id] = Tensor(ids=frozenset({0}))
            return Const(value=None)
        if name in SHOWING:
            ops.look(self, "print", node, *arguments, *options.values())
            return ops.unknown()
        if name in ("step", "minimize") and "opt" in getattr(node, "spelled", spelled(node)):
            self.stepped()
            self.launched()
            return UNKNOWN
        if name == "synchronize":
            self.synchronised()
        if name == "zero_grad":
            flag = options.get("set_to_none")
            if isinstance(flag, Const) and flag.value is False:
                self.note("zeroed", node, name=name)
        if name in ("to", "cuda") and tags(owner):  # an element of something: a tensor, most likely
            device = "cuda" if name == "cuda" else ops.device_of(arguments[0]) if arguments else None
            return Tensor(ids=graph(owner), tags=tags(owner), device=device, moved=getattr(node, "lineno", 0))
        if name in ("to", "cuda", "train", "eval", "double", "half", "cpu") and not arguments[1:]:
            return owner
        self.escaped(*arguments, *options.values())
        return ops.unknown(owner, *arguments, *options.values())

    def _thing_method(
        self, owner: Thing, method: Method, arguments: list[object], options: dict[str, object], node: ast.expr
    ) -> object:
        """A method of an instance."""
        name = method.name
        if method.function is not None:
            return self.call_function(method.function, [owner, *arguments], options, node)
        if owner.module:
            result = modules.call_own_method(self, owner, name, arguments, options, node)
            if result is not NotImplemented:
                return result
        if owner.kind.startswith("torch.optim."):
            return self._optimizer_method(owner, name, arguments, options, node)
        if owner.kind == "argparse" and name in ("parse_args", "parse_known_args"):
            return (
                Thing("namespace", attrs=owner.attrs)
                if name == "parse_args"
                else Box("tuple", [Thing("namespace", attrs=owner.attrs), UNKNOWN])
            )
        if owner.kind == "argparse" and name == "add_argument":
            return self._argument(owner, arguments, options)
        if owner.kind == "numpy.random.Generator":
            if name in ("integers", "randint", "choice") and "size" not in options and len(arguments) < 3:
                return Number(terms=((self.symbol(), 1),))
            return (
                library.numpy_floats(self, name, options, node)
                if name not in ("integers", "choice", "permutation")
                else Tensor(device="cpu", numpy=True)
            )
        if name in ("scale", "unscale_", "update", "step", "backward"):  # GradScaler, Fabric, Accelerator
            return self._scaler_method(name, arguments, node)
        if name == "synchronize":
            self.synchronised()
        self.escaped(*arguments, *options.values())
        return ops.unknown(*arguments, *options.values())

    def _scaler_method(self, name: str, arguments: list[object], node: ast.expr) -> object:
        if name == "step" and any(isinstance(a, Thing) and a.kind.startswith("torch.optim.") for a in arguments):
            self.stepped()
            self.launched()
        if name == "backward":
            self.stepped(frozenset().union(*(graph(a) for a in arguments)))
        return arguments[0] if name == "scale" and arguments else UNKNOWN

    def _optimizer_method(
        self, owner: Thing, name: str, arguments: list[object], options: dict[str, object], node: ast.expr
    ) -> object:
        """`step` and `zero_grad`; learning-rate schedules share the root of the name and are told apart by theirs."""
        if name == "zero_grad":
            flag = options.get("set_to_none", arguments[0] if arguments else None)
            if isinstance(flag, Const) and flag.value is False:
                self.note("zeroed", node, name=name)
        elif name == "step":
            for closure in arguments:
                if isinstance(closure, Function):
                    self.call(closure, [], {}, node)
            if "sched" not in spelled(node):
                self.stepped()
                if {t.device for t in tensors(*owner.arguments[:1])} != {"cpu"}:
                    self.launched()
        return UNKNOWN

    def _argument(self, parser: Thing, arguments: list[object], options: dict[str, object]) -> object:
        """`add_argument`: what the option is where nobody gives it."""
        names = [a.value for a in arguments if isinstance(a, Const) and isinstance(a.value, str)]
        if names:
            name = next((n for n in names if n.startswith("--")), names[0]).lstrip("-").replace("-", "_")
            action = options.get("action")
            flag = isinstance(action, Const) and action.value == "store_true"
            parser.attrs[name] = UNKNOWN if flag else options.get("default", UNKNOWN)
        return UNKNOWN

    def _reference(self, path: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A function of a library."""
        if path.startswith("builtins."):
            return self.builtin(path.removeprefix("builtins."), arguments, options, node)
        if (path.startswith("torch.utils.data.") and path.endswith(".DataLoader")) or path == "torch.utils.data.DataLoader":
            return loaders.note(self, arguments, options, node)
        if path == "argparse.ArgumentParser":
            return Thing("argparse")
        if path in ("collections.defaultdict", "collections.OrderedDict", "collections.deque"):
            return Box("dict" if "dict" in path.lower() else "list", None, {}, loops=len(self.loops))
        if path == "torch.utils.data.random_split" and arguments:
            return Box("list", None, element=Thing("torch.utils.data.Subset", arguments=arguments[:1]))
        return library.call(self, path, arguments, options, node)

    def builtin(self, name: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A function that is always there."""
        raise NotImplementedError


def spelled(node: ast.AST) -> str:
    """How the receiver of a method call is spelled, in small letters."""
    func = getattr(node, "func", None)
    receiver = func.value if isinstance(func, ast.Attribute) else None
    if isinstance(receiver, ast.Attribute):
        return receiver.attr.lower()
    return receiver.id.lower() if isinstance(receiver, ast.Name) else ""


def with_ids(value: object, ids: frozenset[int], device: str | None) -> object:
    """The result of a forward pass, with its record behind each tensor in it."""
    if isinstance(value, Tensor):
        return replace(value, ids=value.ids | ids)
    if isinstance(value, Box):
        items = None if value.items is None else [with_ids(i, ids, device) for i in value.items]
        element = value.element if value.element is UNKNOWN else with_ids(value.element, ids, device)
        keys = None if value.keys is None else {k: with_ids(v, ids, device) for k, v in value.keys.items()}
        return Box(value.kind, items, keys, element, value.loops, value.ids | ids)
    if isinstance(value, Const | Number):
        return value
    if isinstance(value, Value) and not isinstance(value, Device):
        return Tensor(ids=value.ids | ids, tags=value.tags, device=device)
    return value


def without_ids(value: object) -> object:
    """The result of a forward pass where autograd does not record."""
    if isinstance(value, Tensor):
        return replace(value, ids=NOTHING)
    if isinstance(value, Value) and not isinstance(value, Const | Number | Device):
        return Value(NOTHING, value.tags)
    return value
