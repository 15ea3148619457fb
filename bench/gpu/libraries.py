"""torch and cupy: what their users write, over the benchmark's arrays and on its stream."""

TYPESTR = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "bf16": "<i2", "i8": "|i1", "i32": "<i4", "i64": "<i8"}


class Memory:
    """Device memory as both libraries take it."""

    def __init__(self, address, type_name, count):
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": TYPESTR[type_name], "data": (address, False),
                                         "strides": None, "version": 3}


def result_type(type_name, op):
    if op in ("argmin", "argmax") or (op == "sum" and type_name.startswith("i")):
        return "i64"
    return type_name


class PythonContender:
    """A reduction called from Python; library: Torch or Cupy."""

    def __init__(self, device, library, function, op, type_name):
        self.device, self.library, self.function, self.type = device, library, function, type_name
        self.who, self.result = library.name, result_type(type_name, op)
        self.arrays = {}
        self.replay = None  # what is captured, once: capturing is slow

    def close(self):
        self.arrays.clear()
        self.replay = None

    def array(self, address, count):
        if (address, count) not in self.arrays:
            self.arrays[address, count] = self.library.array(Memory(address, self.type, count), self.type)
        return self.arrays[address, count]

    def reduce(self, data, count):
        with self.library.on_stream():
            return self.function(self.array(data, count)).item()

    def step(self, pool, turn):
        array = self.array(pool.data + turn % pool.arrays * pool.nbytes, pool.count)
        return lambda: self.function(array)

    def time_calls(self, pool, calls, head_start_us):
        steps = [self.step(pool, turn) for turn in range(calls)]
        with self.library.on_stream():
            return self.device.time(steps, head_start_us)

    def time_graph(self, pool, nodes, replays):
        with self.library.on_stream():
            if not self.replay:
                self.replay = self.library.capture([self.step(pool, turn) for turn in range(nodes)])
            self.replay()
            return [time / nodes for time in self.device.time([self.replay] * replays)]


class Torch:
    """torch, on the benchmark's stream."""

    name = "torch"

    def __init__(self, device):
        import torch
        self.torch = torch
        self.version = torch.__version__
        self.stream = torch.cuda.ExternalStream(device.stream)

    def array(self, memory, type_name):
        tensor = self.torch.as_tensor(memory, device="cuda")
        return tensor.view(self.torch.bfloat16) if type_name == "bf16" else tensor

    def on_stream(self):
        return self.torch.cuda.stream(self.stream)

    def capture(self, steps):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=self.stream):
            for step in steps:
                step()
        return graph.replay

    def function(self, op, type_name):
        """What sums like ours: integers in 64 bits, var and std of the whole population."""
        torch = self.torch
        functions = {"sum": torch.sum, "min": torch.min, "max": torch.max, "argmin": torch.argmin,
                     "argmax": torch.argmax, "norm2": torch.linalg.vector_norm,
                     "var": lambda array: torch.var(array, correction=0),
                     "std": lambda array: torch.std(array, correction=0)}
        if op == "dot" and type_name in ("f32", "f64", "f16"):
            return lambda array: torch.dot(array[:len(array) // 2], array[len(array) // 2:])
        return functions.get(op)


class Cupy:
    """cupy: the sum and the maximum of f32, not in graphs."""

    name = "cupy"

    def __init__(self, device):
        import cupy
        self.cupy = cupy
        self.version = cupy.__version__
        self.stream = cupy.cuda.ExternalStream(device.stream)

    def array(self, memory, _):
        return self.cupy.asarray(memory)

    def on_stream(self):
        return self.stream

    def function(self, op, type_name):
        return {"sum": self.cupy.sum, "max": self.cupy.max}.get(op) if type_name == "f32" else None


def open_libraries(device):
    """Those that are here, and why the others are not."""
    found, absent = [], {}
    for library in (Torch, Cupy):
        try:
            found.append(library(device))
        except ImportError as error:
            absent[library.name] = str(error)
    return found, absent


def open_contenders(device, libraries, case):
    for library in libraries:
        function = library.function(case.op, case.type)
        if function and not (library.name == "cupy" and case.is_in_graph):
            yield PythonContender(device, library, function, case.op, case.type)
