SELECT * FROM matrix_slogdet(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(0D, 1D, 1D, 5D)) AS a(row, col, rows, cols, values)));
-- -1.0	0.0
