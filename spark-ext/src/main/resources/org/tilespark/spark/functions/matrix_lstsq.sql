SELECT row, col, rows, cols, transform(values, v -> round(v, 6)) AS rounded, factor FROM matrix_lstsq(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 0D, 1D, 1D, 1D, 2D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 1, array(1D, 3D, 8D)) AS b(row, col, rows, cols, values)));
-- 0	0	2	1	[0.5,3.5]	x
-- 0	0	1	1	[1.5]	residuals
-- 0	0	1	1	[2.0]	rank
-- 0	0	2	1	[2.676243,0.915272]	s
