SELECT * FROM matrix_cholesky(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(4D, 2D, 2D, 5D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[2.0,0.0,1.0,2.0]
