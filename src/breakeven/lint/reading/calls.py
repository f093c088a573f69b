"""What calling something gives: functions and classes of the file are read with their arguments, the rest is looked up."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import library, loaders, methods, modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import DEEPEST, Frame, State, tags, tensors
from breakeven.lint.reading.values import (
    NOTHING, UNKNOWN, Box, Class, Const, Device, Function, Method, Number, Ref, Scope, Tensor, Thing, Value, graph, join,
)  # fmt: skip

_SHOWING = {"set_postfix", "set_description", "add_scalar", "info", "warning", "set_postfix_str", "write", "format", "debug"}


class Calls(State):
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
            names[spec.kwarg.arg] = Box("dict", None, dict(left))
        return names

    def _instance(self, cls: Class, arguments: list[object], options: dict[str, object], node: ast.expr) -> Thing:
        """A new instance of a class of the file."""
        is_module = modules.is_module(cls)
        thing = Thing(cls.node.name, cls, {}, arguments, options, "cpu" if is_module else None, module=is_module, line=node.lineno)
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
        outermost = self.forward_depth == 0 and "Loss" not in thing.kind and thing.kind.removeprefix(modules.NN) not in ("ReLU", "Softmax")
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
            result = methods.call_method(self, owner, name, arguments, options, node)
            return result
        if isinstance(owner, Thing):
            return self._thing_method(owner, method, arguments, options, node)
        if isinstance(owner, Box):
            return self._box_method(owner, name, arguments, node)
        if name == "backward":
            self.stepped(graph(owner).union(*(graph(a) for a in arguments)))
            self.launched()
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):  # it is a tensor, then
                self.scope.names[func.value.id] = Tensor(ids=frozenset({0}))
            return Const(value=None)
        if name in _SHOWING:
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
        if name in ("to", "cuda", "train", "eval", "double", "half", "cpu") and not arguments[1:]:
            return owner
        self.escaped(*arguments, *options.values())
        return ops.unknown(owner, *arguments, *options.values())

    def _thing_method(self, owner: Thing, method: Method, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A method of an instance."""
        name = method.name
        if method.function is not None:
            return self.call_function(method.function, [owner, *arguments], options, node)
        if owner.module:
            result = modules.call_own_method(self, owner, name, arguments, options, node)
            if result is not NotImplemented:
                return result
        if owner.kind.startswith("torch.optim."):
            return self._optimizer_method(name, arguments, options, node)
        if owner.kind == "argparse" and name in ("parse_args", "parse_known_args"):
            return Thing("namespace", attrs=owner.attrs) if name == "parse_args" else Box("tuple", [Thing("namespace", attrs=owner.attrs), UNKNOWN])
        if owner.kind == "argparse" and name == "add_argument":
            return self._argument(owner, arguments, options)
        if owner.kind == "numpy.random.Generator":
            if name in ("integers", "randint", "choice") and "size" not in options and len(arguments) < 3:
                return Number(terms=((self.symbol(), 1),))
            return library.numpy_floats(name, options, node) if name not in ("integers", "choice", "permutation") else Tensor(device="cpu", numpy=True)
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

    def _optimizer_method(self, name: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
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

    def _box_method(self, box: Box, name: str, arguments: list[object], node: ast.expr) -> object:
        """Lists, dictionaries and what else holds values."""
        if name in ("append", "add", "appendleft", "extend"):
            values = [self.element(a) if name == "extend" else a for a in arguments[-1:]]
            for value in values:
                self.put(box, value, node)
            return Const(value=None)
        if name == "insert" and len(arguments) > 1:
            self.put(box, arguments[1], node)
        elif name in ("items", "values", "keys"):
            value = self.element(Box("list", None, element=self._any(box)))
            return Box("list", None, element=Box("tuple", [UNKNOWN, value]) if name == "items" else value if name == "values" else UNKNOWN)
        elif name in ("pop", "get", "popleft"):
            return self._any(box)
        elif name == "setdefault":
            return arguments[1] if len(arguments) > 1 else UNKNOWN
        elif name == "copy":
            return box
        return UNKNOWN

    def put(self, box: Box, value: object, node: ast.AST) -> None:
        """Puts a value into a container; notes one that keeps its graph beyond the iteration."""
        if isinstance(value, Tensor) and value.ids and box.loops < len(self.loops):
            event = self.note("kept", node, value, name="list")
            value = replace(value, ids=value.ids | {event})
        if box.items is not None and box.kind != "dict":
            box.element = value if not box.items else join(self._any(box), value)
            box.items = None
        else:
            box.element = value if box.element is UNKNOWN else join(box.element, value)
        box.ids |= graph(value)

    def _any(self, box: Box) -> object:
        """Any of the values in a container."""
        found: object = None
        for value in [*(box.items or ()), *(box.keys or {}).values()]:
            found = join(found, value) if found is not None else value
        if found is None:
            return box.element
        return found if box.element is UNKNOWN else join(found, box.element)

    def element(self, value: object) -> object:
        """What iterating over a value gives each time."""
        loop = self.loops[-1] if self.loops else None
        seen = frozenset({loop.symbol}) if loop else NOTHING
        if isinstance(value, Tensor):
            return replace(value, tags=value.tags | seen, factory=0, origin=0)
        if isinstance(value, Box):
            if value.kind == "range":
                return Number(terms=((loop.symbol if loop else self.symbol(), 1),), tags=seen)
            found = self._any(value)
            return tagged(found, seen) if value.kind != "parameters" else found
        if isinstance(value, Thing) and value.kind == "torch.utils.data.DataLoader":
            return tagged(self._batch(value), seen)
        if isinstance(value, Thing) and value.kind.removeprefix(modules.NN) in ("ModuleList", "Sequential"):
            inside = modules.parts(value)
            return inside[0] if inside else UNKNOWN
        if isinstance(value, Value):
            return Value(value.ids, value.tags | seen)
        return UNKNOWN

    def _batch(self, loader: Thing) -> object:
        """A batch of a loader, as far as its data set is known."""
        dataset = loader.arguments[0] if loader.arguments else loader.options.get("dataset")
        collate = loader.options.get("collate_fn")
        node = ast.Name("batch", ast.Load(), lineno=loader.line, col_offset=0)
        item: object = UNKNOWN
        if isinstance(dataset, Thing) and dataset.kind == "torch.utils.data.TensorDataset":
            item = Box("tuple", list(dataset.arguments))
        elif isinstance(dataset, Thing) and dataset.cls is not None:
            getter = find_member(dataset.cls, "__getitem__")
            if isinstance(getter, Function):
                item = self.call_function(getter, [dataset, Number(terms=((self.symbol(), 1),))], {}, node)
        if isinstance(collate, Function):
            return self.call_function(collate, [Box("list", None, element=item)], {}, node)
        return collated(item)

    def _reference(self, path: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A function of a library."""
        if path.startswith("builtins."):
            return self.builtin(path.removeprefix("builtins."), arguments, options, node)
        if path.startswith("torch.utils.data.") and path.endswith(".DataLoader") or path == "torch.utils.data.DataLoader":
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


def find_member(cls: Class | None, name: str) -> object | None:
    """A member of a class or of one of its bases in the file."""
    if cls is None:
        return None
    found = cls.members.get(name)
    if found is not None:
        return found
    for base in cls.bases:
        if isinstance(base, Class) and (inherited := find_member(base, name)) is not None:
            return inherited
    return None


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


def tagged(value: object, seen: frozenset[int]) -> object:
    """A value that was taken from what a loop runs over."""
    if isinstance(value, Tensor | Number) or type(value) is Value:
        return replace(value, tags=value.tags | seen)
    if isinstance(value, Box) and value.items is not None:
        return Box(value.kind, [tagged(i, seen) for i in value.items], value.keys, value.element, value.loops, value.ids)
    return value


def collated(item: object) -> object:
    """A batch of items: arrays and numbers become tensors on the host."""
    if isinstance(item, Tensor):
        return replace(item, numpy=False, scalar=False, factory=0, device=item.device or "cpu")
    if isinstance(item, Box):
        return Box("tuple", None if item.items is None else [collated(i) for i in item.items], element=collated(item.element))
    if isinstance(item, Const | Number):
        return Tensor(device="cpu")
    return Value(graph(item), tags(item))
