"""Factorizations of matrices that are cut into strips, against numpy's."""

import numpy as np
import pytest

import tilespark as ts

pytestmark = pytest.mark.usefixtures("spark")

SHAPE = (150_000, 30)  # 36 MB of float64: more than one task factorizes


@pytest.fixture(scope="module")
def tall(spark):
    random = np.random.default_rng(1)
    a = random.standard_normal(SHAPE) * np.geomspace(1, 1e-6, SHAPE[1])
    x = ts.from_numpy(a, (20_000, 30)).persist()
    yield a, x
    x.unpersist()


def test_qr_and_svd_of_tall_matrices(tall):
    a, x = tall
    scale = np.linalg.norm(a, 2)
    q, r = (each.compute() for each in ts.linalg.qr(x))
    np.testing.assert_allclose(q.T @ q, np.eye(SHAPE[1]), atol=1e-12)
    np.testing.assert_allclose(q @ r, a, atol=1e-13 * scale)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    u, s, vt = (each.compute() for each in ts.linalg.svd(x))
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=1e-13 * scale)
    np.testing.assert_allclose(u.T @ u, np.eye(SHAPE[1]), atol=1e-12)
    np.testing.assert_allclose(vt @ vt.T, np.eye(SHAPE[1]), atol=1e-12)
    np.testing.assert_allclose((u * s) @ vt, a, atol=1e-13 * scale)


def test_wide_matrices(tall):
    a, x = tall
    u, s, vt = (each.compute() for each in ts.linalg.svd(x.T, k=3))
    _, expected, _ = np.linalg.svd(a, full_matrices=False)
    np.testing.assert_allclose(s, expected[:3], rtol=1e-12)
    np.testing.assert_allclose(a.T @ vt.T, u * s, atol=1e-12 * s[0])


def test_lstsq_of_tall_matrices(tall):
    a, x = tall
    b = np.random.default_rng(2).standard_normal((SHAPE[0], 2)) + a[:, :2]
    found = ts.linalg.lstsq(x, ts.from_numpy(b, (30_000, 2)))
    expected = np.linalg.lstsq(a, b, rcond=None)
    np.testing.assert_allclose(found[0].compute(), expected[0], rtol=1e-8)
    np.testing.assert_allclose(found[1].compute(), expected[1], rtol=1e-10)
    assert found[2] == expected[2]
    np.testing.assert_allclose(found[3].compute(), expected[3], rtol=1e-9)


def test_pinv_of_tall_matrices(tall):
    a, x = tall
    np.testing.assert_allclose(ts.linalg.pinv(x).compute() @ a, np.eye(SHAPE[1]), atol=1e-8)


def test_few_singular_values_of_large_matrices():
    random = np.random.default_rng(3)
    a = (random.standard_normal((700, 8)) * 2.0 ** -np.arange(8)) @ random.standard_normal((8, 900))
    a += 1e-6 * random.standard_normal(a.shape)
    expected = np.linalg.svd(a, compute_uv=False)
    for dtype, error in (("float32", 1e-5), ("float64", 1e-9)):
        for each in (a, a.T):
            x = ts.from_numpy(each.astype(dtype), (256, 256))
            u, s, vt = (factor.compute() for factor in ts.linalg.svd(x, k=6, seed=4))
            assert s.dtype == dtype
            np.testing.assert_allclose(s, expected[:6], rtol=error)
            np.testing.assert_allclose(u.T @ u, np.eye(6), atol=20 * error)
            np.testing.assert_allclose(vt @ vt.T, np.eye(6), atol=20 * error)
            assert np.linalg.norm(each - (u * s) @ vt, 2) <= 1.1 * expected[6]


def test_pca_by_products_and_by_triangles():
    random = np.random.default_rng(5)
    for shape in ((2000, 40), (900, 600), (600, 900), (20, 300)):
        a = random.standard_normal(shape) * np.geomspace(5, 1, shape[1]) + 10
        found = ts.linalg.pca(ts.from_numpy(a, (256, 256)), 4)
        centered = a - a.mean(axis=0)
        _, s, vt = np.linalg.svd(centered, full_matrices=False)
        np.testing.assert_allclose(found.explained_variance, s[:4] ** 2 / (shape[0] - 1), rtol=1e-9)
        np.testing.assert_allclose(found.explained_variance_ratio, s[:4] ** 2 / (s**2).sum(), rtol=1e-9)
        np.testing.assert_allclose(np.abs(np.sum(found.components * vt[:4], axis=1)), 1, rtol=1e-8)
        np.testing.assert_allclose(found.scores.compute(), centered @ found.components.T, atol=1e-9)


def test_pca_with_nan_gives_the_figures_of_java():
    """The figures of numpy, which PrincipalPlansTest expects of Java's and SQL's pca of this matrix, too."""
    i, j = np.indices((12, 3))
    a = (i * 7 + j * 13 + i * j) % 11 - 4 + 0.25 * j
    a[7, 1] = a[2, 2] = np.nan
    found = ts.linalg.pca(ts.from_numpy(a, (5, 3)), 3, nan="mean")
    values = np.array([13.286049976935665, 10.52239725518028, 6.7179791705359095])
    np.testing.assert_allclose(found.explained_variance, values**2 / 11, rtol=1e-13)
    components = [
        [0.7019161878340161, 0.6768033596457286, -0.22192538752656632],
        [0.5928443330900234, -0.38245575067681664, 0.7087052952372221],
        [-0.3947774841345536, 0.6290189274946238, 0.6696909189125275],
    ]
    np.testing.assert_allclose(found.components, components, atol=1e-13)


def test_pca_with_nan_and_whitened():
    a = np.random.default_rng(6).standard_normal((50, 4))
    a[3, 1] = np.nan
    filled = a.copy()
    filled[3, 1] = np.nanmean(a[:, 1])
    found = ts.linalg.pca(ts.from_numpy(a, (16, 3)), 3, whiten=True, nan="mean")
    expected = ts.linalg.pca(ts.from_numpy(filled, (16, 3)), 3)
    np.testing.assert_allclose(found.components, expected.components, atol=1e-12)
    scores = found.scores.compute()
    np.testing.assert_allclose(np.cov(scores, rowvar=False), np.eye(3), atol=1e-12)
