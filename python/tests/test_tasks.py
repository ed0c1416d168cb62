"""What newcomers want to do, each in a few lines. README and the notebooks show the same lines: see test_readme_shows_them.

A task is the lines between ``# task`` and ``# end``; what is around them prepares and checks.
"""

import inspect
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

DATA = Path(__file__).parents[2] / "examples" / "data"
README = Path(__file__).parents[1] / "README.md"
LINES = 6


def close(found, expected, tolerance=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.smoke
def test_a_matrix_in_transposed_and_out():
    a = np.random.default_rng(0).random((300, 200))
    # task: A matrix in, transposed, out
    x = ts.from_numpy(a)
    b = x.T.compute()
    # end
    np.testing.assert_array_equal(b, a.T)


@pytest.mark.smoke
def test_rows_and_neighbours(spark):
    a = np.random.default_rng(0).standard_normal((120, 8)).astype("float32")
    a[110] = a[7] + 0.01
    rows = [(f"d{i:03}", row.tolist()) for i, row in enumerate(a)]
    documents = spark.createDataFrame(rows, "doc_id STRING, features ARRAY<FLOAT>")
    # task: A table with a vector in each row: covariances, neighbours with their ids, near duplicates, and back
    x = ts.from_rows(documents, "features", id="doc_id")
    covariances = ts.cov(x, rowvar=False).compute()
    nearest = ts.knn(x[:100], x, 10, "cosine").select("query", "neighbour_id", "rank", "score")
    alike = ts.pairs_above(x, x, 0.9, "cosine").where("query < neighbour").select("query_id", "neighbour_id")
    scores = ts.linalg.standardize(x).to_rows("features").join(x.row_ids(), "row")
    # end
    close(covariances, np.cov(a, rowvar=False), 1e-5)
    unit = a.astype(float) / np.linalg.norm(a.astype(float), axis=1, keepdims=True)
    found = nearest.orderBy("query", "rank").collect()
    wanted = np.argsort(-(unit[:100] @ unit.T), axis=1)[:, :10].ravel()
    assert [row.neighbour_id for row in found] == [f"d{i:03}" for i in wanted]
    near = np.argwhere(np.triu(unit @ unit.T >= 0.9, 1))
    assert sorted(tuple(row) for row in alike.collect()) == [(f"d{i:03}", f"d{j:03}") for i, j in near]
    assert ("d007", "d110") in {tuple(row) for row in alike.collect()}
    back = scores.orderBy("doc_id").collect()
    close([row.features for row in back], (a - a.mean(0)) / a.std(0), 1e-5)


def test_principal_components():
    path = str(DATA / "fashion-mnist-t10k.npy")
    # task: Principal components of a matrix
    x = ts.read_npy(path, dtype="float64")
    found = ts.linalg.pca(x, k=4)
    pictures, variance = found.components, found.explained_variance_ratio
    scores = found.scores.compute()
    # end
    a = np.load(path).astype(float)
    a -= a.mean(axis=0)
    values, vectors = np.linalg.eigh(a.T @ a)
    close(variance, values[::-1][:4] / values.sum())
    close(np.abs(np.sum(pictures.T * vectors[:, ::-1][:, :4], axis=0)), np.ones(4))
    close(scores, a @ pictures.T, 1e-8)


@pytest.mark.smoke
def test_low_pass_of_a_volume():
    from scipy import fft

    path = str(DATA / "brain-colin27.npy")
    # task: A low pass of an integer volume, and its power at each frequency
    v = ts.read_npy(path, spacing=2.0)
    spectrum = ts.fft.rfftn(v)
    smooth = ts.fft.irfftn(ts.fft.low_pass(spectrum, cutoff=0.1)).compute()
    radial = ts.fft.radial_average(spectrum)
    # end
    a = np.load(path)
    expected = fft.rfftn(a.astype(float))
    f = np.meshgrid(*(fft.fftfreq(n, 2.0) for n in a.shape[:2]), fft.rfftfreq(a.shape[2], 2.0), indexing="ij")
    kept = np.where(sum(axis**2 for axis in f) <= 0.1**2, expected, 0)
    close(smooth, fft.irfftn(kept, s=a.shape))
    assert radial.frequency[0] == 0 and radial.count.sum() == a.size
    assert radial.count[0] == 1
    close(radial.power[0], np.abs(expected[0, 0, 0]) ** 2)
    close((radial.power * radial.count).sum(), np.sum(a.astype(float) ** 2) * a.size)


@pytest.mark.smoke
def test_a_product_with_a_transpose():
    a, b = np.random.default_rng(0).random((40, 30)), np.random.default_rng(1).random((50, 30))
    # task: The product of a matrix with another one's transpose
    x, y = ts.from_numpy(a), ts.from_numpy(b)
    c = (x @ y.T).compute()
    # end
    close(c, a @ b.T)


def test_a_batch_of_products():
    a, b = np.random.default_rng(0).random((2, 500, 64, 64))
    # task: 500 products of small matrices at once
    x, y = ts.from_numpy(a, batch=True), ts.from_numpy(b, batch=True)
    c = (x @ y).compute()
    # end
    close(c, a @ b)


@pytest.mark.smoke
def test_a_function_of_numpy():
    a = np.random.default_rng(0).random((300, 200))
    # task: A function of numpy on every block
    x = ts.from_numpy(a, blocks=(64, 64))
    y = x.map_blocks(lambda block: np.log1p(block) ** 2)
    b = y.compute()
    # end
    close(b, np.log1p(a) ** 2)


@pytest.mark.smoke
def test_z_scores():
    a = np.random.default_rng(0).random((60, 7))
    # task: The z-scores of each column
    x = ts.from_numpy(a)
    z = (x - x.mean(0)) / x.std(0)
    # end
    close(z.compute(), (a - a.mean(0)) / a.std(0))


def test_a_step_of_k_means():
    a = np.random.default_rng(0).random((90, 3))
    x, centres = ts.from_numpy(a, blocks=(40, 3)), a[:4].copy()
    # task: A step of k-means: each row's nearest centre, and the mean of its rows
    nearest = ((x[:, None] - centres) ** 2).sum(-1).argmin(1)
    members = (nearest[:, None] == np.arange(len(centres))).astype(float)
    means = (members.T @ x) / members.sum(0)[:, None]
    # end
    wanted = ((a[:, None] - centres) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(nearest.compute(), wanted)
    close(means.compute(), np.stack([a[wanted == each].mean(0) for each in range(4)]))


def test_a_matrix_of_low_rank():
    a = np.random.default_rng(0).random((80, 12))
    x = ts.from_numpy(a)
    # task: The nearest matrix of rank 3
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    low = (u[:, :3] * s[:3]) @ vh[:3]
    # end
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    close(low.compute(), (u[:, :3] * s[:3]) @ vh[:3])


def test_least_squares():
    random = np.random.default_rng(0)
    a, b = random.random((200, 5)), random.random(200)
    # task: Least squares
    x, y = ts.from_numpy(a), ts.from_numpy(b)
    coefficients, squares, rank, _ = ts.linalg.lstsq(x, y)
    # end
    expected = np.linalg.lstsq(a, b, rcond=None)
    close(coefficients.compute(), expected[0])
    close(squares.compute(), expected[1])
    assert rank == 5


def test_nearest_neighbours():
    random = np.random.default_rng(0)
    a, b = random.random((20, 6)), random.random((100, 6))
    # task: The three nearest rows of another matrix, with their distances
    x, y = ts.from_numpy(a), ts.from_numpy(b)
    nearest = ts.knn(x, y, 3, "euclidean").orderBy("query", "rank").toPandas()
    # end
    distances = np.linalg.norm(a[:, None] - b, axis=-1)
    np.testing.assert_array_equal(nearest["neighbour"].to_numpy().reshape(20, 3), np.argsort(distances, axis=1)[:, :3])
    close(nearest["score"].to_numpy().reshape(20, 3), np.sort(distances, axis=1)[:, :3])


@pytest.mark.smoke
def test_some_of_the_rows():
    a = np.random.default_rng(0).random((100, 9))
    x = ts.from_numpy(a, blocks=(30, 4))
    # task: The rows whose mean is above one half
    bright = x[x.mean(1) > 0.5]
    # end
    np.testing.assert_array_equal(bright.compute(), a[a.mean(1) > 0.5])


def test_a_stack_of_images():
    images = list(np.random.default_rng(0).random((4, 20, 30)))
    # task: Images as the planes of a volume, and its mean image
    volume = ts.stack([ts.from_numpy(image) for image in images])
    mean = volume.mean(0)
    # end
    np.testing.assert_array_equal(volume.compute(), np.stack(images))
    close(mean.compute(), np.mean(images, axis=0))


def test_a_convolution_of_volumes():
    from scipy import signal

    random = np.random.default_rng(0)
    a, b = random.random((20, 18, 16)), random.random((3, 5, 4))
    # task: The convolution of two volumes
    v, kernel = ts.from_numpy(a), ts.from_numpy(b)
    blurred = ts.signal.fftconvolve(v, kernel, mode="same")
    # end
    close(blurred.compute(), signal.fftconvolve(a, b, mode="same"))


@pytest.mark.smoke
def test_a_series_of_volumes_filtered_along_time():
    a = np.random.default_rng(0).random((24, 6, 5, 4))
    series = ts.from_numpy(a)
    # task: A series of volumes, one each 2 s, without frequencies above 0.1 Hz
    kept = np.fft.rfftfreq(len(series), d=2.0) <= 0.1
    spectrum = ts.fft.rfft(series, axis=0) * kept[:, None, None, None]
    slow = ts.fft.irfft(spectrum, len(series), axis=0)
    # end
    mask = (np.fft.rfftfreq(24, d=2.0) <= 0.1)[:, None, None, None]
    close(slow.compute(), np.fft.irfft(np.fft.rfft(a, axis=0) * mask, 24, axis=0))


def test_typical_mistakes():
    a, b = np.zeros((4, 3)), np.zeros((4, 3))
    x, y = ts.from_numpy(a), ts.from_numpy(b)
    mistakes = [
        (lambda: x @ y, "matmul of shapes (4, 3) and (4, 3)"),
        (lambda: ts.fft.low_pass(x, 0.1), "expected a volume"),
        (lambda: ts.from_numpy(np.zeros(3, "uint64")), "Blocks cannot hold uint64"),
        (lambda: x[3:3], "holds none of 4 elements"),
        (lambda: ts.read_npy("/no/such/file.npy"), "/no/such/file.npy"),
    ]
    for mistake, reason in mistakes:
        with pytest.raises(ts.TileSparkError) as raised:
            mistake()
        assert reason in str(raised.value)
        assert len(str(raised.value)) < 400, "a reason, not a trace"


def tasks():
    """Title and lines of each task of this file."""
    source = inspect.getsource(inspect.getmodule(tasks))  # type: ignore[arg-type]
    found = re.findall(r"^    # task: (.*)\n((?:    .*\n|\n)*?)    # end$", source, re.MULTILINE)
    return [(title, textwrap.dedent(lines)) for title, lines in found]


@pytest.mark.parametrize(("title", "lines"), tasks(), ids=lambda text: text.splitlines()[0])
def test_readme_shows_them(title, lines):
    assert 1 <= len(lines.splitlines()) <= LINES
    assert f"{title}:\n\n```python\n{lines}```\n" in README.read_text("utf-8")
