"""What the tests of inspect share: kernels written in PTX, runs, the .npy files that they leave."""

import json
import re
import struct

from cli_helpers import run

# ---- kernels in PTX, which need no compiler ------------------------------------------------------------

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"


def kernel(name, parameters, body):
    return f".visible .entry {name}({', '.join(parameters)})\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n" \
        f".reg .b32 %r<32>;\n.reg .f32 %f<8>;\n.reg .b64 %rd<32>;\n{body}\n}}\n"


def parameters(name, *types):
    return [f".param .{type_name} {name}_param_{i}" for i, type_name in enumerate(types)]


# ---- runs and files ------------------------------------------------------------------------------------


def read_npy(path):
    """(description, shape, bytes) of a .npy file of version 1.0."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00"
    length, = struct.unpack("<H", content[8:10])
    assert (10 + length) % 64 == 0 and content[9 + length:10 + length] == b"\n"
    found = re.fullmatch(r"\{'descr': '(.*)', 'fortran_order': False, 'shape': \((\d+),\), \} *\n",
                         content[10:10 + length].decode())
    return found[1], int(found[2]), content[10 + length:]


def inspected(*arguments, status=0):
    """The report of a run, as JSON."""
    done = run("inspect", "--json", *arguments)
    assert (done.returncode, done.stderr) == (status, ""), done
    assert done.stdout.endswith("}\n") and done.stdout.count("\n") == 1
    return json.loads(done.stdout)
