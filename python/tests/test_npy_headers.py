"""Headers of .npy files: read as numpy reads them, or refused with an error of ours."""

import os
import random
import struct
import warnings

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

CASES = int(os.environ.get("TILESPARK_TEST_HEADERS", "40"))
DESCRIPTIONS = [
    "'<f8'", "'f8'", "'<d'", "'>f4'", "'=i4'", "'float64'", "'double'", '"<c16"', "'|u1'", "'?'", "'e'", "'<u2'", "'B'", "'l'",
    "'|f8'", "'<float64'", "'D8'", "'<f16'", "'<U3'", "'O'", "''", "'f8,'", "[('a', '<f8')]", "u'<f8'", "b'<f8'", "8", "None",
]  # fmt: skip
SHAPES = [
    "(3, 4)", "(3,4,)", "( 3 , 4 )", "(2, 3, 2)", "(12,)", "(0, 4)", "()", "(3L, 4L)", "[3, 4]", "(03, 4)", "(-3, 4)", "(3.0, 4)",
    "(True, 12)", "(3, 4, 1, 1)", "(18446744073709551616, 4)", "(4611686018427387904, 4)", "(3 4)", "(3,, 4)", "3", "(3, 0x4)",
]  # fmt: skip
ORDERS = ["False", "True", "0", "'False'", "None"]


def header(chosen: random.Random) -> tuple[bytes, str]:
    """A header with mostly good parts, and its text."""

    def part(parts: list[str], good: int) -> str:
        return parts[chosen.randrange(good)] if chosen.random() < 0.8 else chosen.choice(parts)

    quote = chosen.choice("''\"")
    entries = [
        f"{quote}descr{quote}{chosen.choice([':', ' : ', ': '])}{part(DESCRIPTIONS, 14)}",
        f"{quote}fortran_order{quote}: {part(ORDERS, 2)}",
        f"{quote}shape{quote}: {part(SHAPES, 4)}",
    ]
    chosen.shuffle(entries)
    if chosen.random() < 0.1:
        entries[chosen.randrange(3)] = chosen.choice(["'more': 1", "", "'shape': (3, 4)"])
    text = "{" + chosen.choice([", ", ",", " ,\n"]).join(entries) + chosen.choice([", }", "}", ",}", " }"])
    text += chosen.choice(["\n", " " * 30 + "\n", "", "  x\n"] if chosen.random() < 0.2 else ["\n"])
    version = chosen.choice([1, 1, 1, 2, 3, 3, 4])
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, chosen.choice([0] * 9 + [1])]) + length + text.encode("latin1"), text


def test_headers_are_read_as_numpys(tmp_path):
    seed = int(os.environ.get("TILESPARK_TEST_SEED", random.randrange(1 << 30)))
    chosen = random.Random(seed)
    path = tmp_path / "a.npy"
    read = 0
    for case in range(CASES):
        start, text = header(chosen)
        content = start + bytes(range(12)) * 16
        if chosen.random() < 0.1:
            content = content[: chosen.randrange(len(content))]
        # The bytes that a good header asks for, no more: blocks are not made of a longer file.
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():  # of Python 2's numbers, of sizes that overflow
                warnings.simplefilter("ignore")
                expected = np.load(path, allow_pickle=False)
            data = len(start) + expected.nbytes
            path.write_bytes(content[:data])
        except Exception:
            expected = None
        label = f"seed {seed}, case {case}: {text!r}"
        try:
            found = ts.read_npy(path).compute()
        except ts.TileSparkError:
            # Forms that numpy never writes may be refused; those that it does are read.
            plain = expected is not None and expected.ndim in (2, 3) and not any(
                odd in text for odd in ("True,", "|f8", "u'<", "0x", "x\n", "'more'", "'f8,'", "'shape': (3, 4)")
            )
            assert not plain or expected is None or expected.dtype.name not in ts._blocks._COLUMN_OF, label
            continue
        except Exception as error:
            pytest.fail(f"{label}: {type(error).__name__}: {error}")
        assert expected is not None and found.shape == expected.shape, label
        np.testing.assert_array_equal(found, expected.astype(found.dtype), err_msg=label)
        read += 1
    assert read > CASES // 10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (36893488147419103232,), }", "expected a whole number below 2"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "2.63"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }", "2.63"),
    ],
)
def test_shapes_beyond_int64(tmp_path, text, reason):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(64))
    with pytest.raises(ts.InvalidInputError, match=reason):
        ts.read_npy(path)


def test_empty_vectors(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(0, "f4"))
    found = ts.read_npy(tmp_path / "a.npy")
    assert (found.shape, found.dtype, found.compute().shape) == ((0,), np.dtype("float32"), (0,))
