from test_gpu_groups import *
def test_x(pair):
    rng = random.Random("gpu uneven lanes")
    for run, large in itertools.product((1,2, 4), (505,560,700, 800, -480)):
      for shape in ((4,700),(4,2000),(40,700)):
        array = Uneven(shape, run, large, rng)
        for op in ("norm2","var"):
            try:
                pair.check(op, library.wf_groups_axes(2), [array], run, large)
                print("ok",op,run,large,shape,library.wf_handle_plan(pair.device.pointer))
            except AssertionError as e: print("BAD",op,run,large,shape,str(e)[:300])
