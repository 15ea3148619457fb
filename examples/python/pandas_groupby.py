"""An exact groupby for pandas: the rows' order, and how pandas splits them, change no bit."""

import pandas as pd

import warpfold as wf


def groupby(frame, by, column, op="sum", **options):
    """op of a column for each value of another one, as a Series; rows whose key is missing are left out."""
    codes, keys = pd.factorize(frame[by], sort=True)
    segment = getattr(wf, f"segment_{op}")
    values = segment(frame[column], codes, len(keys), skip_bad_keys=True, **options)
    return pd.Series(values, index=pd.Index(keys, name=by), name=column)


if __name__ == "__main__":
    frame = pd.DataFrame({"key": ["a", "b", "a", "a"], "value": [1e100, 2.0, 1.0, -1e100]})
    print(groupby(frame, "key", "value"))
    print(groupby(frame[::-1], "key", "value", "mean"))
