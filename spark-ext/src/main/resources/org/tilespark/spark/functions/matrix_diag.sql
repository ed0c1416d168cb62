SELECT * FROM matrix_diag(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 2D, 3D, 2D, 5D, 2D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	1	[1.0,2.0]
