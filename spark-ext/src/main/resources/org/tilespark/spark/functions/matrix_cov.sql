SELECT * FROM matrix_cov(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 2D, 3D, 6D, 5D, 10D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[4.0,8.0,8.0,16.0]
