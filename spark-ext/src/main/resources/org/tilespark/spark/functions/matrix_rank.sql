SELECT * FROM matrix_rank(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 2D, 4D)) AS a(row, col, rows, cols, values)));
-- 1
