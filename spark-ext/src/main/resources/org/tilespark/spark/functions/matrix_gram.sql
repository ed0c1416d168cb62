SELECT * FROM matrix_gram(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[10.0,14.0,14.0,20.0]
