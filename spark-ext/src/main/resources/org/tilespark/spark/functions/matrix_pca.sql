SELECT row, col, rows, cols, transform(values, v -> round(v, 6)) AS numbers, factor FROM matrix_pca(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 5D, 3D, 5D, 5D, 5D)) AS a(row, col, rows, cols, values)),
  k => 1);
-- 0	0	1	2	[1.0,0.0]	components
-- 0	0	1	1	[2.828427]	singular_values
-- 0	0	1	1	[4.0]	explained_variance
-- 0	0	1	1	[1.0]	explained_variance_ratio
-- 0	0	1	2	[3.0,5.0]	mean
-- 0	0	3	1	[-2.0,0.0,2.0]	scores
