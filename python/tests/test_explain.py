"""``x.explain()``: about ten lines about the operators of a plan, their backends, and what moves."""

import re

import numpy as np
import pytest
import tilespark as ts
from tilespark import _explain

LIMIT = 12  # lines


def shown(array, capsys):
    capsys.readouterr()
    array.explain()
    lines = capsys.readouterr().out.rstrip("\n").split("\n")
    assert len(lines) <= LIMIT and max(map(len, lines)) < 240, lines
    assert lines[0] == repr(array) and lines[-1] == 'the whole plan: explain("formatted")'
    assert not any(re.search(r"#\d|plan_id|/tmp|ReadSchema", line) for line in lines), lines  # nothing of Spark's
    return lines[1:-1]


def test_a_product_states_its_strategy_and_its_shuffle(spark, capsys):
    rng = np.random.default_rng(1)
    a, b = ts.from_numpy(rng.normal(size=(60, 40)), (20, 20)), ts.from_numpy(rng.normal(size=(40, 30)), (20, 20))
    product, *rest = shown(a @ b, capsys)
    name, backend, strategy, moved = product.split(" | ")
    assert name.split()[0] in ("MultiplyPanels", "MultiplyBroadcast") and "60 x 40 x 30 DOUBLE" in name
    assert re.match(r"(cpu|gpu)\b", backend)
    assert re.match(r"(cuboid\(\d+,\d+,\d+\)|broadcast\(\w+\)) .*in \d+ tasks, \S+ s predicted$", strategy)
    assert re.search(r"(shuffle|broadcast) [\d.]+ (B|KiB)", moved)
    reads, reason = rest
    assert reads.count("float64[") == 2 and reads.startswith("reads npy ")
    assert reason.startswith("why this backend: ") and len(reason) > 25


def test_operators_stand_from_the_result_down(capsys):
    x = ts.from_numpy(np.arange(600.0).reshape(20, 30), (10, 10))
    lines = shown((x @ x.T + 1).sum(0), capsys)
    operators = [line for line in lines if " | " in line]
    assert [line.split()[0] for line in operators] == ["BlockStage", "BlockStage", operators[2].split()[0]]
    assert operators[2].split()[0].startswith("Multiply") and "then v + number" in operators[2]
    assert "SUM along [0]" in operators[1]
    indents = [len(line) - len(line.lstrip()) for line in operators]
    assert indents == [2, 4, 6]


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (lambda v: ts.fft.rfftn(v), ["real transform over xyz"]),
        (lambda v: v.transpose(2, 0, 1), ["permute zxy"]),
        (lambda v: v + v.rechunk((8, 5, 6)), ["a + b"]),
        (lambda v: v.sum(0), ["SUM along [0] of each block"]),
        (lambda v: v.map_overlap(lambda b: b * 1.0, 1), ["map_blocks <lambda> | Python workers", "cpu (blocks only move)"]),
        (lambda v: ts.linalg.qr(v[0]).R, ["LAPACK"]),
        (lambda v: v, ["no operator of tilespark"]),
    ],
)
def test_each_kind_of_operator_is_named(of, words, capsys):
    v = ts.from_numpy(np.arange(480.0).reshape(8, 10, 6), (4, 5, 6))
    text = "\n".join(shown(of(v), capsys))
    for word in words:
        assert word in text, text


def test_what_is_kept_is_not_shown_again(capsys):
    x = ts.from_numpy(np.arange(6.0).reshape(2, 3))
    kept = (x * 2).persist()
    try:
        lines = shown(kept @ kept.T, capsys)
        assert any("InMemoryTableScan (kept by persist)" in line for line in lines)
        assert not any("BlockStage" in line and "v * 2" in line for line in lines)
    finally:
        kept.unpersist()


def test_long_plans_are_counted(capsys):
    x = ts.from_numpy(np.ones((4, 4)), (2, 2))
    for _ in range(9):
        x = x @ x
    lines = shown(x, capsys)
    assert any(re.match(r"  and \d+ more below: .*\d Multiply", line) for line in lines), lines


def test_modes_of_spark_show_the_whole_plan(capsys):
    x = ts.from_numpy(np.ones((4, 6)), (2, 3)).T
    words = {"simple": "Physical Plan", False: "Physical Plan", "formatted": "Backend: ", True: "Analyzed Logical"}
    for mode, word in words.items():
        x.explain(mode)  # type: ignore[arg-type]
        assert word in capsys.readouterr().out
    with pytest.raises(ts.InvalidInputError, match="formatted"):
        x.explain("short")


PLAN = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=true
+- == Final Plan ==
   ResultQueryStage 1
   +- BlockStage volume (8, 8, 8): those of all blocks along [0], of pieces (volume 8 x 8 x 8, missing=error, shuffle \
predicted at least 3145728 bytes per array into 2 blocks), into pieces (volume every 2) [backend=auto -> gpu: NVIDIA H200, and 1 more]
      +- ShuffleQueryStage 0
         +- Exchange hashpartitioning(x#1L, 2), REPARTITION_BY_NUM, [plan_id=9]
            +- PieceUnion
               :- BlockStage into pieces (volume every 2)
               :  +- *(1) BatchScan zarr s3://bucket/store/[x#1L, values#7] zarr s3://bucket/store/t float32[8, 8, 8], \
blockShape [4, 8, 8], PushedFilters: [], ReadSchema: struct<x:bigint> RuntimeFilters: []
               +- Project [block(3, (8, 8) FLOAT64, backend=cpu -> cpu (LAPACK of X), row#2L) AS values#3]
                  +- Scan ExistingRDD[row#2L]
+- == Initial Plan ==
   BlockStage never shown: it [backend=auto -> cpu (x): was replaced]
   +- Scan other[x#1L]
"""


def test_text_of_plans_that_ran_and_of_gpus():
    assert _explain.summary("title", PLAN).split("\n") == [
        "title",
        "  BlockStage volume (8, 8, 8): those of all blocks along [0] | gpu [1] | shuffle at least 3.0 MiB per array",
        "    block 3, (8, 8) FLOAT64 | cpu (LAPACK of X) [2]",
        "reads zarr t float32[8, 8, 8], blockShape [4, 8, 8]; Scan ExistingRDD",
        "[1] NVIDIA H200, and 1 more",
        "[2] spark.tilespark.backend is cpu",
        'the whole plan: explain("formatted")',
    ]
