"""What type checkers are to accept; CI runs mypy --strict on it."""

import warpfold as wf

total = wf.sum([1.0, 2.0], axis=0, nan="omit", threads=2)
spread = wf.std([[1.0], [3.0]], (0, 1), ddof=1, keepdims=True)
stats: wf.Stats = wf.stats([1, 2, 3])
rows: wf.Stats = wf.stats([[1.0], [3.0]], axis=1, keepdims=True, where=[[True], [False]], nan="omit")
parts: wf.Stats = wf.segment_stats([1.0, 2.0], [0, 1], 2, fill=0.0)
print(rows.count, parts.nans, wf.Accumulator("sum").result("count"))
counts = wf.bincount([0, 1, 1], minlength=4)
means = wf.segment_mean([1.0, 2.0], [0, 1], 2, fill=0.0)
accumulator: wf.Accumulator = wf.Accumulator("mean", "float32").update([1.0]) + wf.Accumulator("mean", "float32")
print(total, spread, stats.mean, counts, means, accumulator.result(), accumulator.count)
columns = wf.Accumulator("sum", "float64", (2,), fill=0.0).update([[1.0, 2.0]], axis=0) - wf.Accumulator("sum", shape=2)
columns -= columns.copy().update([1.0], ids=[1])
sums = wf.Rolling(3, "sum").update([1.0, 2.0, 3.0])
run: wf.KernelRun = wf.run_kernel("kernel.ptx", (1, 2), 64, [columns], shared=64)
print(columns.shape, sums, run.counts["instructions"], run.findings)
