"""warpfold run: nodes of graphs that allocate memory, and those that decide what is executed."""

import json

import pytest

from cli_helpers import run
from program_helpers import SOURCES, compiled, compiling, environment, needs_nvcc

assert compiling  # a fixture

pytestmark = needs_nvcc


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    options = ["-cudart", "shared", "-lineinfo", "-gencode", "arch=compute_75,code=compute_75"]
    return compiled(tmp_path_factory.mktemp("graphs"), "graph_nodes", SOURCES / "graph_nodes.cu", *options)


def test_memory_and_conditions(program):
    done = run("run", program, env=environment())
    assert done.returncode == 0 and "no findings" in done.stderr, done
    assert done.stdout.splitlines() == [
        # results of two launches; the third one's memory is still there; used, its most, kept, its most, and all after trimming
        "1 1 cudaErrorNotSupported 14 14 cudaErrorInvalidValue 1024 2048 2048 2048 0 2048 0 2048 ",
        "1 1 cudaErrorNotSupported 14 14 1024 2048 2048 2048 0 2048 0 2048 ",
        "captured 5",
        "capturing 1 1 1 loop 14 loop 14 ",
        "4 8 10 20 cudaErrorInvalidValue",
        "told 1 1 1 1 1 1 1 1 4",
        "attributes 1 cudaErrorInvalidClusterSize 1 1 1 1 1 801",
        "clusters 1056 352 264 132 8 16 cudaErrorInvalidClusterSize cudaErrorInvalidConfiguration 1",
    ]


@pytest.mark.parametrize("fault, kernel, message", [
    ("early", "add", "loads 4 bytes of global memory at 0x700100000000: byte 0 of an allocation of 1024 that was freed"),
    ("handle", "decide", "sets the condition 0x700100000000, which is none of a graph"),
])
def test_faults(program, tmp_path, fault, kernel, message):
    report = tmp_path / "report"
    done = run("run", "--json", "--out", report, program, fault, env=environment())
    assert done.returncode == 3 and "cudaErrorIllegalAddress" in done.stdout, done
    finding = json.loads(report.read_text())["findings"][0]
    assert (finding["kind"], finding["kernel"]) == ("bounds", kernel) and message in finding["message"]


def test_kernels_of_graphs_behind_one_that_failed_for_good_are_counted(compiling, tmp_path):
    """Three of its own graph, five of the graph's second launch, and one more; what a loop would have launched is not known."""
    source = tmp_path / "behind.cu"
    source.write_text("""#include <cuda_runtime.h>
__global__ void add(int *data, int at, cudaGraphConditionalHandle handle) {
    atomicAdd(data + at, 1);
    cudaGraphSetConditional(handle, 0);
}
static void loop(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle, int *data) {
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    cudaKernelNodeParams kernel = {(void *)add, {1}, {1}};
    int at = 0;
    void *arguments[] = {&data, &at, &handle};
    cudaGraphNode_t node;
    kernel.kernelParams = arguments;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    cudaGraphAddNode(&node, graph, &after, nullptr, 1, &params);
    cudaGraphAddKernelNode(&after, params.conditional.phGraph_out[0], nullptr, 0, &kernel);
}
int main() {
    int *data;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    cudaGraphNode_t node;
    cudaMalloc(&data, 4);
    cudaMemset(data, 0, 4);
    cudaGraphCreate(&graph, 0);
    cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault);
    for (int i = 0; i < 5; i++) {
        int at = i == 1 ? 1 << 20 : 0;
        void *arguments[] = {&data, &at, &handle};
        cudaKernelNodeParams kernel = {(void *)add, {1}, {1}};
        kernel.kernelParams = arguments;
        cudaGraphAddKernelNode(&node, graph, &node, i > 0, &kernel);
        if (i == 2) loop(graph, node, handle, data);
    }
    if (cudaGraphInstantiate(&exec, graph, 0)) return 9;
    for (int i = 0; i < 2; i++) cudaGraphLaunch(exec, 0);
    add<<<1, 1>>>(data, 0, handle);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress;
}
""")
    done = run("run", "--json", "--out", tmp_path / "report", source, env=compiling)
    report = json.loads((tmp_path / "report").read_text())
    assert done.returncode == 3 and report["status"] == 1, done
    assert ([kernel["launches"] for kernel in report["kernels"]], report["refused_launches"]) == ([2], 3 + 5 + 1)
