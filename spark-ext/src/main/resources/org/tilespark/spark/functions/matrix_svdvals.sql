SELECT row, col, rows, cols, transform(values, v -> round(v, 6)) AS rounded FROM matrix_svdvals(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(0D, 2D, 3D, 0D, 0D, 0D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	1	[3.0,2.0]
