SELECT row, col, rows, cols, transform(values, v -> round(v, 6)) AS rounded FROM matrix_pinv(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(0D, 2D, 4D, 0D, 0D, 0D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	3	[0.0,0.25,0.0,0.5,0.0,0.0]
