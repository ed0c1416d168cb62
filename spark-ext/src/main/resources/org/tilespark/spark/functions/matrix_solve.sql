SELECT * FROM matrix_solve(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(2D, 0D, 1D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 1, array(6D, 11D)) AS b(row, col, rows, cols, values)));
-- 0	0	2	1	[3.0,2.0]
