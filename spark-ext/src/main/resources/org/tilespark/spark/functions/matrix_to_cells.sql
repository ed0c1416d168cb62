SELECT * FROM matrix_to_cells(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D)) AS m(row, col, rows, cols, values)));
-- 0	0	1.0
-- 0	1	2.0
