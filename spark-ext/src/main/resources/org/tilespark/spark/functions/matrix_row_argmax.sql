SELECT * FROM matrix_row_argmax(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 0D, 0D, 2D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 1D, 3D, 0D, 0D, 5D)) AS b(row, col, rows, cols, values)))
ORDER BY query;
-- 0	1	1	3.0
-- 1	2	1	10.0
